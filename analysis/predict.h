/*
 * Does a replay predict the model? Rank correlation between what a replay measures of kept sets and
 * what the model does with exactly these (MEASURES §9).
 *
 * Measure and live figure are averaged over samples for each setting, and settings are ranked by
 * both. Settings are told apart by page size, since tokens that come along in a page count whether
 * they matter or not, and ranked over all budgets together, within each budget, and within each
 * among those that hold equal memory. Intervals are formed over samples. Nothing is printed.
 */
#ifndef KVR_PREDICT_H
#define KVR_PREDICT_H

#include "analysis/bootstrap.h"
#include "analysis/predict_data.h"

struct kvr_predict_options {
    struct kvr_predict_filters filters;
    struct kvr_bootstrap bootstrap;
    bool mix_pages;   /* also a section of all page sizes together */
    double slack;     /* equal memory: within this share of the uniform quota's */
    unsigned threads; /* the result does not depend on it */
};

enum kvr_predict_scope {
    KVR_OVER_ALL,            /* every setting of the section in one ranking */
    KVR_WITHIN_BUDGET,       /* the settings of one budget */
    KVR_WITHIN_BUDGETS,      /* the mean of those correlations over the budgets */
    KVR_EQUAL_MEMORY_BUDGET, /* the settings of one budget that hold its memory */
    KVR_EQUAL_MEMORY,        /* the mean of those */
};

/* A ranking and its agreement. */
struct kvr_correlation {
    /* rho, so oriented that + means that the better by the measure is the better live. NaN for
       fewer than three settings, or where one side is constant. */
    struct kvr_interval rho;
    size_t settings;        /* ranked */
    size_t sparse_settings; /* left out: less than half of the samples have both sides */
    size_t partial_samples; /* left out: some setting lacks them */
};

/* A measure that ranks best: in the scope equal memory, or within budgets where nothing is equal.
 */
struct kvr_best {
    enum kvr_predict_scope scope;
    enum kvr_predictor best, second; /* KVR_PREDICTORS: there is none */
    struct kvr_interval lead; /* rho of the best - rho of the second, over the samples of both */
};

/* Settings of one page size, or of all together. */
struct kvr_predict_section {
    bool mixed;
    size_t page; /* index; unless mixed */
    size_t budget_count;
    /* [2 budgets + 3][KVR_PREDICTORS][KVR_LIVES], see kvr_correlation_at */
    struct kvr_correlation *correlations;
    struct kvr_best best[KVR_LIVES];
    size_t settings, samples; /* that have live rows */
    size_t floor, ceiling;    /* of these settings: every answer wrong, every answer right */
    size_t same;              /* divergence below 1e-6: nothing that matters was evicted */
};

/* What a setting does live: means over its samples. */
struct kvr_live_means {
    struct kvr_interval figures[KVR_LIVES];
    double offline[KVR_PREDICTORS]; /* over the samples with live rows that have the measure */
};

/* Two settings of one page size and budget, over the samples that both have. */
struct kvr_live_pair {
    size_t left, right;                        /* settings, in the order of the tables */
    struct kvr_interval difference[KVR_LIVES]; /* left - right, in the figure's units */
};

struct kvr_prediction {
    struct kvr_predict_data data;
    struct kvr_bootstrap bootstrap;
    double slack;
    size_t section_count;
    struct kvr_predict_section *sections;
    struct kvr_live_means *means; /* [data.setting_count] */
    size_t pair_count;
    struct kvr_live_pair *pairs;
};

/* Reads, joins and correlates; release in any case. Errors are those of kvr_predict_data_read. */
enum kvr_status kvr_predict(const char *const *folders, size_t folder_count, const char *live,
                            const struct kvr_predict_options *options,
                            struct kvr_prediction *prediction, struct kvr_error *err);
void kvr_prediction_free(struct kvr_prediction *prediction);

/* The place of a scope in a section; `budget` counts only for scopes of one budget. */
static inline size_t kvr_scope_index(const struct kvr_predict_section *section,
                                     enum kvr_predict_scope scope, size_t budget)
{
    switch (scope) {
    case KVR_WITHIN_BUDGET:
        return 3 + budget;
    case KVR_EQUAL_MEMORY_BUDGET:
        return 3 + section->budget_count + budget;
    case KVR_WITHIN_BUDGETS:
        return 1;
    case KVR_EQUAL_MEMORY:
        return 2;
    case KVR_OVER_ALL:
        break;
    }
    return 0;
}
static inline size_t kvr_scope_count(const struct kvr_predict_section *section)
{
    return 3 + 2 * section->budget_count;
}

static inline struct kvr_correlation *kvr_correlation_at(const struct kvr_predict_section *section,
                                                         size_t scope_index,
                                                         enum kvr_predictor predictor,
                                                         enum kvr_live live)
{
    return &section->correlations[(scope_index * KVR_PREDICTORS + predictor) * KVR_LIVES + live];
}

/* "future peak, pooled"; "kept tokens" where bytes are not known. */
const char *kvr_predict_heading(const struct kvr_predict_data *data, enum kvr_predictor predictor);

/* True if the setting holds the memory of its budget, to the slack. */
bool kvr_predict_equal_memory(const struct kvr_predict_setting *setting, double slack);

#endif
