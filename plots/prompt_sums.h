/*
 * Sums by setting and prompt, and means with intervals from them.
 *
 * A mean over thousands of groups has few independent parts: the prompts. So every figure of a
 * table is kept as sums per prompt, and its interval comes from drawing prompts. It must not know
 * which tables there are.
 */
#ifndef KVR_PROMPT_SUMS_H
#define KVR_PROMPT_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/bootstrap.h"
#include "formats/base/status.h"

/* What a line of a table is about; indices into lists of names, KVR_NO_NAME where a line is not
   about such a thing. */
#define KVR_NO_NAME SIZE_MAX
struct kvr_setting {
    size_t scorer, policy, budget;
    uint64_t page_size; /* 0: not about one */
};

/* A mean in parts: sum of (weighted) values over sum of weights. */
struct kvr_ratio {
    double over, under;
};

/* The sums of one setting. */
struct kvr_series {
    struct kvr_setting setting;
    uint64_t cells; /* rows of the replay's table */
    double most;    /* the largest value that was offered; NaN without one */
    size_t prompt_count, capacity;
    struct kvr_ratio *ratios; /* [prompt_count][quantities] */
};

/* Zero-initialised but for `quantities` is empty; series keep the order of their first rows. */
struct kvr_sums {
    size_t quantities;
    size_t count, capacity;
    struct kvr_series *series;
    size_t last; /* the series found last: tables repeat settings in one order */
};

/* Counts a row: *ratios, [quantities], are the sums of its setting and prompt to add to. They and
 *series stay valid until the next call. */
enum kvr_status kvr_sums_row(struct kvr_sums *sums, const struct kvr_setting *setting,
                             size_t prompt, struct kvr_series **series, struct kvr_ratio **ratios,
                             struct kvr_error *err);

/* Adds value * weight, unless the value is NaN: it does not apply. */
void kvr_ratio_add(struct kvr_ratio *ratio, double value, double weight);

/* Raises series->most. */
void kvr_series_offer(struct kvr_series *series, double value);

/* The series of a setting, NULL if there is none. */
const struct kvr_series *kvr_sums_find(const struct kvr_sums *sums,
                                       const struct kvr_setting *setting);

void kvr_sums_free(struct kvr_sums *sums);

enum kvr_pooling {
    KVR_POOL_CELLS,   /* sum of all over / sum of all under: every cell counts the same */
    KVR_POOL_PROMPTS, /* the mean of the prompts' own ratios */
};

/* A figure: the means of up to four quantities, multiplied or divided. */
enum { KVR_MOST_TERMS = 4 };
struct kvr_formula {
    enum kvr_pooling pooling;
    double factor; /* 100 for percent */
    size_t count;
    struct {
        size_t quantity;
        bool divides;
    } terms[KVR_MOST_TERMS];
};

/* The figure with its interval over the prompts that have it. */
enum kvr_status kvr_series_estimate(const struct kvr_sums *sums, const struct kvr_series *series,
                                    const struct kvr_formula *formula,
                                    const struct kvr_bootstrap *bootstrap,
                                    struct kvr_interval *interval, struct kvr_error *err);

#endif
