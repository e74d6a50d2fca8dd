/*
 * Policies side by side: what the tables of replays say of them at equal memory.
 *
 * Every figure is first brought to one number a sample (MEASURES §9: pooled over the sample's
 * layers and groups), then averaged over samples; intervals are formed over samples. Differences
 * are paired: both policies are pooled over the units that both have. A policy that holds more than
 * the budget is shown and never paired. Nothing is compared across page sizes. Nothing is printed.
 */
#ifndef KVR_COMPARE_H
#define KVR_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/bootstrap.h"
#include "analysis/compare_metric.h"
#include "formats/base/status.h"

/* Items that rows must match; none: every row does. */
struct kvr_compare_filter {
    size_t count;
    char **items;
};

struct kvr_compare_options {
    enum kvr_metric metric;
    bool any_metric; /* the next one that the tables have a value of, if they have none of it */
    const char *baseline; /* "random", or "last/mean" where a policy has several scorers; NULL */
    struct kvr_compare_filter scorers, policies, budgets;
    size_t page_size_count;
    uint64_t *page_sizes;
    struct kvr_bootstrap bootstrap;
    uint64_t element_bytes; /* of a key's or value's element in the cache */
};

/* The fifths of the prompt that needles are counted by. */
enum { KVR_COMPARE_DEPTHS = 5 };

/* A share of the budget that memory may exceed it by and still count as equal. */
#define KVR_COMPARE_SLACK 0.01

enum kvr_pairing {
    KVR_PAIRED,
    KVR_PAIR_BASELINE,    /* it is the baseline */
    KVR_PAIR_MORE_MEMORY, /* it, or the baseline, holds over 1 % more than the budget */
    KVR_PAIR_NOTHING,     /* no unit has a value in both */
};

/* One policy at one budget. */
struct kvr_compared {
    bool present;   /* the tables have rows of it */
    uint64_t cells; /* (sample, layer, group) that it has rows for */
    double tokens;  /* kept, mean over cells */
    double bytes;   /* kept by a sample, mean over samples; NaN if a head size is not known */
    double memory;  /* units held / units of the uniform quota */
    double means[KVR_METRICS];        /* mean over samples; NaN where it does not apply */
    double needle_any, needle_strict; /* share of needles kept whole in one, in every cell */
    uint64_t samples;                 /* behind the mean of the chosen measure */

    enum kvr_pairing pairing;       /* what follows is of pairs, NaN or 0 else */
    struct kvr_interval difference; /* policy - baseline, in the measure's own units */
    uint64_t wins, ties, losses;    /* of units */
    double regret; /* what clairvoyant does better, over shared units; NaN without clairvoyant */
    size_t layer_count; /* that both have */
    size_t losing_count;
    uint64_t *losing_layers; /* ascending: mean difference over samples is for the worse */
    bool depth_known[KVR_COMPARE_DEPTHS], depth_lost[KVR_COMPARE_DEPTHS]; /* by needle kept */
};

/* A row: a policy under a scorer. */
struct kvr_compare_use {
    char *scorer, *policy;
    bool named; /* by its policy alone: the policy brings its own score */
};

/* The first use that `text` names, as POLICY or SCORER/POLICY; `count` if there is none. */
size_t kvr_compare_find(const struct kvr_compare_use *uses, size_t count, const char *text);

/* KVR_BAD_ARGUMENT: the baseline `text` is none of the uses, which the message lists. */
enum kvr_status kvr_compare_no_baseline(const struct kvr_compare_use *uses, size_t count,
                                        const char *text, struct kvr_error *err);

struct kvr_comparison {
    enum kvr_metric metric;
    struct kvr_bootstrap bootstrap;
    size_t traces, samples, layers, needles;
    uint64_t cells;
    uint64_t token_bytes; /* 2 * head size * element bytes; 0: not known, or not one for all */
    size_t use_count, page_count, budget_count;
    struct kvr_compare_use *uses; /* in the order of the tables */
    uint64_t *page_sizes;
    char **budgets;
    double
        *budget_units; /* [pages][budgets] tokens or pages of the uniform quota, mean over cells */
    size_t baseline;   /* use; use_count: none can be */
    bool baseline_asked;
    size_t ceiling;                /* the use clairvoyant; use_count: there is none */
    struct kvr_compared *compared; /* see kvr_compared_at */
};

/*
 * Reads the folders' tables and compares. KVR_BAD_INPUT where tables contradict each other or are
 * missing, KVR_BAD_ARGUMENT where a filter leaves no row or the baseline is none of the rows.
 * comparison->metric is the measure in force. Release with kvr_comparison_free in any case.
 */
enum kvr_status kvr_compare(const char *const *folders, size_t folder_count,
                            const struct kvr_compare_options *options,
                            struct kvr_comparison *comparison, struct kvr_error *err);
void kvr_comparison_free(struct kvr_comparison *comparison);

static inline struct kvr_compared *kvr_compared_at(const struct kvr_comparison *comparison,
                                                   size_t page, size_t use, size_t budget)
{
    return &comparison->compared[(page * comparison->use_count + use) * comparison->budget_count +
                                 budget];
}

/* True if memory is above or below the budget's by more than the slack. */
static inline bool kvr_compared_over(const struct kvr_compared *compared)
{
    return compared->memory > 1 + KVR_COMPARE_SLACK;
}
static inline bool kvr_compared_under(const struct kvr_compared *compared)
{
    return compared->memory < 1 - KVR_COMPARE_SLACK;
}

#endif
