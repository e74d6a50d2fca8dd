/*
 * What the tables of a replay say, by setting and by sample: what claims are judged by, policies
 * compared by and figures drawn from.
 *
 * A setting is a row of options (scorer, policy, page size, budget). Its samples are the unit over
 * which intervals are formed, so every figure is first brought to one number a sample (MEASURES §9:
 * pooled over the sample's layers and groups). The tables are read once, row by row.
 */
#ifndef KVR_REPLAY_RESULTS_H
#define KVR_REPLAY_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/census.h"
#include "formats/base/names.h"
#include "formats/base/status.h"

/* Of run.json: how the replay was made. */
struct kvr_replay_run {
    bool match_physical; /* --match physical: independent has equal memory */
    bool nan_zero;       /* --nan zero: values were replaced, groups not excluded */
};

/* bounds.csv: groups with two vectors or more, in one sample. */
struct kvr_sample_overlap {
    size_t sample; /* index into the results' names, as everywhere */
    uint64_t groups;
    double uor_sum;
    double disagreement_sum; /* D = 1 - J */
    double share_sum;        /* (UOR - 1) / (r - 1): 0 at consensus, 1 where sets are disjoint */
    uint64_t above_one;      /* groups with UOR > 1 */
    uint64_t twofold;        /* UOR >= 2 */
    uint64_t certified_1, certified_t; /* by cert_1, by cert_T */
    uint64_t certified;                /* by one of them or both */
    uint64_t certified_wrongly;        /* of those, UOR below 2 */
};

struct kvr_overlap_setting {
    size_t scorer, budget;
    uint64_t page_size;
    size_t count, capacity;
    struct kvr_sample_overlap *samples; /* [count], in order */
};

/* measures.csv and needles.csv: what a policy keeps in one sample. */
struct kvr_sample_kept {
    size_t sample;
    uint64_t retained_groups;
    double retained_sum;
    double mass, mass_weight, peak, peak_weight; /* sums of ratio * weight, and of weight */
};
struct kvr_needle_kept {
    size_t sample;
    uint64_t needle;
    uint64_t rows;     /* (layer, group) that hold it */
    uint64_t whole;    /* that keep it whole */
    double pooled_sum; /* pooled mass over the rows; NaN for reduce `head` */
};

struct kvr_kept_setting {
    size_t scorer, policy, budget;
    uint64_t page_size;
    size_t count, capacity;
    struct kvr_sample_kept *samples;
    size_t needle_count, needle_capacity;
    struct kvr_needle_kept *needles;
};

/* heads.csv: query heads by class, in one sample under one scorer. */
struct kvr_sample_census {
    size_t sample;
    uint64_t heads[KVR_HEAD_CLASSES];
    double raw[KVR_HEAD_CLASSES], isolated[KVR_HEAD_CLASSES]; /* sums of weights */
};
struct kvr_census_setting {
    size_t scorer;
    size_t count, capacity;
    struct kvr_sample_census *samples;
};

/* A statement about every row of a table that is exact: how many rows, how many break it. */
struct kvr_exact_check {
    uint64_t rows, broken;
    char first[320]; /* the first row that breaks it */
};

/* Groups under one scorer. */
struct kvr_group_count {
    size_t scorer;
    uint64_t measured; /* in bounds.csv, once a group */
    uint64_t excluded; /* in excluded.csv */
    uint64_t excluded_heads;
};

struct kvr_replay_results {
    struct kvr_replay_run run;
    struct kvr_names traces, samples, scorers, policies, budgets;
    size_t overlap_count, overlap_capacity;
    struct kvr_overlap_setting *overlaps;
    size_t kept_count, kept_capacity;
    struct kvr_kept_setting *kept;
    size_t census_count, census_capacity;
    struct kvr_census_setting *census;
    size_t group_count, group_capacity;
    struct kvr_group_count *groups;

    struct kvr_exact_check pooled_uor;  /* pooled policies: UOR exactly 1 */
    struct kvr_exact_check cardinality; /* and exactly the quota of MEASURES §2 */
    struct kvr_exact_check page_union;  /* PUR in [1, H_KV], prop. 4 */
    double least_pur, most_pur;         /* NaN without rows */

    struct kvr_names layer_names; /* private: (sample, layer) and its number of groups */
    uint64_t *layer_groups;
    size_t layer_capacity;
    bool *policy_pools; /* private: [pools_known] whether a policy pools the group */
    size_t pools_known, pools_capacity;
};

/* Reads run.json and the tables of `folder`; release in any case with kvr_replay_results_free. */
enum kvr_status kvr_replay_results_read(const char *folder, struct kvr_replay_results *results,
                                        struct kvr_error *err);
void kvr_replay_results_free(struct kvr_replay_results *results);

/* The setting of these options, NULL if the replay has none. */
const struct kvr_kept_setting *kvr_results_kept(const struct kvr_replay_results *results,
                                                size_t scorer, const char *policy,
                                                uint64_t page_size, size_t budget);

/* What a sample gives under a setting. */
enum kvr_kept_figure {
    KVR_RETAINED_MASS,   /* mean over layers and groups; a policy's own score flatters it */
    KVR_FUTURE_MASS,     /* pooled */
    KVR_FUTURE_PEAK,     /* pooled */
    KVR_NEEDLE_FRACTION, /* share of (layer, group) that keep the needle whole, mean over needles */
    KVR_NEEDLE_MASS,     /* the pooled vector's mass on the needle, mean over the same */
};

/* values[results->samples.count]: the figure of every sample, NaN where it does not apply. */
void kvr_results_values(const struct kvr_replay_results *results,
                        const struct kvr_kept_setting *setting, enum kvr_kept_figure figure,
                        double *values);

#endif
