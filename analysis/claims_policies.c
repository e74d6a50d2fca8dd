/*
 * Statements about what policies keep: exact sizes, needles, and masses at equal memory.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/claims_judge.h"

static const char entropy_policy[] = "page-entrokv";

/* ------------------------------------------------------------ exact statements */

static enum kvr_status judge_pooled(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    const struct kvr_exact_check *check = &judge->results->pooled_uor;
    kvr_judge_exact(judge, check->rows, check->broken, "rows", check->first,
                    "the replay has no pooled policy with the uniform quota");
    return KVR_OK;
}

static enum kvr_status judge_cardinality(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    const struct kvr_exact_check *check = &judge->results->cardinality;
    kvr_judge_exact(judge, check->rows, check->broken, "sizes", check->first,
                    "the replay has no pooled policy with the uniform quota");
    return KVR_OK;
}

static enum kvr_status judge_page_union(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    const struct kvr_replay_results *results = judge->results;
    const struct kvr_exact_check *check = &results->page_union;
    char rows_are[64];
    snprintf(rows_are, sizeof rows_are, "rows, from %.4g to %.4g", results->least_pur,
             results->most_pur);
    kvr_judge_exact(judge, check->rows, check->broken, rows_are, check->first,
                    "layers.csv has no rows");
    return KVR_OK;
}

static enum kvr_status judge_needle_bound(struct kvr_judge *judge,
                                          const struct kvr_claim_kind *kind)
{
    (void)kind;
    uint64_t rows = 0, broken = 0;
    for (size_t i = 0; i < judge->bounds->needle_count; i++)
        if (!judge->bounds->needles[i].signed_scores) {
            rows += judge->bounds->needles[i].rows;
            broken += judge->bounds->needles[i].rows - judge->bounds->needles[i].held;
        }
    kvr_judge_exact(judge, rows, broken, "needles (by layer, group, scorer)",
                    "\"kvreplay bounds\" lists them", "no needle was recorded");
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ comparisons */

static bool has_policy(const struct kvr_replay_results *results, const char *policy)
{
    for (size_t i = 0; i < results->policies.count; i++)
        if (strcmp(results->policies.items[i], policy) == 0)
            return true;
    return false;
}

static bool is_independent(const char *policy)
{
    return policy != NULL && strcmp(policy, "independent") == 0;
}

/* Leaves the statement open and returns true if page-entrokv and `against` cannot be compared. */
static bool is_incomparable(struct kvr_judge *judge, const char *against)
{
    const char *const needed[] = {entropy_policy, against};
    for (size_t i = 0; i < 2; i++)
        if (!has_policy(judge->results, needed[i])) {
            kvr_judge_open(judge, "the replay has no rows of %s", needed[i]);
            return true;
        }
    if (!is_independent(against) || judge->results->run.match_physical)
        return false;
    kvr_judge_open(judge, "independent holds up to r times the quota here: replay with --match "
                          "physical");
    return true;
}

/* Means over the samples that have both figures; false if there is none. */
static bool paired_means(const struct kvr_judge *judge, double *left, double *right)
{
    size_t count = 0;
    *left = *right = 0;
    for (size_t i = 0; i < judge->results->samples.count; i++)
        if (!isnan(judge->left[i]) && !isnan(judge->right[i])) {
            *left += judge->left[i];
            *right += judge->right[i];
            count++;
        }
    *left /= (double)count;
    *right /= (double)count;
    return count > 0;
}

/* Compares the setting with that of the other policy; adds no line if there is nothing to. */
static enum kvr_status compare_setting(struct kvr_judge *judge, const struct kvr_claim_kind *kind,
                                       const struct kvr_kept_setting *setting)
{
    const struct kvr_replay_results *results = judge->results;
    const struct kvr_kept_setting *other = kvr_results_kept(results, setting->scorer, kind->against,
                                                            setting->page_size, setting->budget);
    struct kvr_claim_line line = {
        .scorer = setting->scorer, .budget = setting->budget, .page_size = setting->page_size};
    if (other == NULL)
        return KVR_OK;
    kvr_results_values(results, setting, kind->figure, judge->left);
    kvr_results_values(results, other, kind->figure, judge->right);
    if (!paired_means(judge, &line.figures[1], &line.figures[2]))
        return KVR_OK;
    bool by_ratio = kind->figure == KVR_NEEDLE_MASS;
    if (by_ratio) /* a mass of the vectors: neither page size nor budget touches it */
        line.page_size = 0;
    enum kvr_status status =
        by_ratio ? kvr_judge_ratio(judge, false, &line) : kvr_judge_difference(judge, &line);
    return status == KVR_OK ? kvr_judge_add(judge, &line) : status;
}

static bool is_judged(const struct kvr_claim *claim, size_t scorer)
{
    for (size_t i = 0; i < claim->line_count; i++)
        if (claim->lines[i].scorer == scorer)
            return true;
    return false;
}

static enum kvr_status judge_comparison(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    const struct kvr_replay_results *results = judge->results;
    enum kvr_status status = KVR_OK;
    if (is_incomparable(judge, kind->against))
        return KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < results->kept_count; i++) {
        const struct kvr_kept_setting *setting = &results->kept[i];
        bool once = kind->figure == KVR_NEEDLE_MASS;
        if (strcmp(results->policies.items[setting->policy], entropy_policy) == 0 &&
            !(once && is_judged(judge->claim, setting->scorer)))
            status = compare_setting(judge, kind, setting);
    }
    if (status == KVR_OK && judge->claim->line_count == 0) {
        bool needles = kind->figure == KVR_NEEDLE_FRACTION || kind->figure == KVR_NEEDLE_MASS;
        bool retained = kind->figure == KVR_RETAINED_MASS;
        kvr_judge_open(judge, "%s",
                       needles    ? "no needle was recorded"
                       : retained ? "no scorer is attention"
                                  : "no decode row was recorded");
    }
    return status;
}

/* ------------------------------------------------------------------------------ the list */

#define EXACT(name, sentence, from, judge_it)                                                      \
    {                                                                                              \
        .statement = {.id = (name), .text = (sentence), .source = (from)}, .judge = (judge_it)     \
    }
#define COMPARE(name, sentence, from, what, other, kept)                                           \
    {                                                                                              \
        .statement = {.id = (name),                                                                \
                      .text = (sentence),                                                          \
                      .source = (from),                                                            \
                      .measure = (what),                                                           \
                      .keys = {"difference", "page_entrokv", "other"},                             \
                      .decimals = 3},                                                              \
        .judge = judge_comparison, .against = (other), .figure = (kept)                            \
    }

const struct kvr_claim_kind kvr_policy_claims[] = {
    EXACT("pooled-uor", "Pooled policies hold exactly their quota: UOR = 1", "def. 1",
          judge_pooled),
    EXACT("cardinality", "That quota is exactly max(1, floor(b T / B)) pages", "exact cardinality",
          judge_cardinality),
    EXACT("page-union", "The groups of a layer share pages: PUR in [1, H_KV]", "prop. 4",
          judge_page_union),
    EXACT("needle-bound", "The needle's peak keeps the pooled mass that cor. 2 promises",
          "thm. 4, cor. 2", judge_needle_bound),
    {.statement = {"needle-mass",
                   "Entropy pooling gives needles more mass than mean pooling",
                   "thm. 4: mean pooling dilutes",
                   "pooled needle mass, page-entrokv / mean",
                   {"ratio", "page_entrokv", "other"},
                   1,
                   3},
     .judge = judge_comparison,
     .against = "mean",
     .figure = KVR_NEEDLE_MASS},
    COMPARE("needle-vs-mean", "Entropy pooling keeps more needles whole than mean pooling",
            "equal budget", "share of (layer, group) that keep the needle, page-entrokv - mean",
            "mean", KVR_NEEDLE_FRACTION),
    COMPARE("needle-vs-max", "Entropy pooling keeps more needles whole than max pooling",
            "equal budget", "share of (layer, group) that keep the needle, page-entrokv - max",
            "max", KVR_NEEDLE_FRACTION),
    COMPARE("peak-vs-mean", "Entropy pooling keeps more future peak than mean pooling",
            "equal memory", "pooled future peak, page-entrokv - mean", "mean", KVR_FUTURE_PEAK),
    COMPARE("peak-vs-max", "Entropy pooling keeps more future peak than max pooling",
            "equal memory", "pooled future peak, page-entrokv - max", "max", KVR_FUTURE_PEAK),
    COMPARE("peak-vs-independent", "Entropy pooling keeps more future peak than independent heads",
            "equal memory", "pooled future peak, page-entrokv - independent", "independent",
            KVR_FUTURE_PEAK),
    COMPARE("future-vs-mean", "Entropy pooling keeps more future mass than mean pooling",
            "equal memory", "pooled future mass, page-entrokv - mean", "mean", KVR_FUTURE_MASS),
    COMPARE("future-vs-max", "Entropy pooling keeps more future mass than max pooling",
            "equal memory", "pooled future mass, page-entrokv - max", "max", KVR_FUTURE_MASS),
    COMPARE("future-vs-independent",
            "Entropy pooling keeps more future mass than independent heads", "equal memory",
            "pooled future mass, page-entrokv - independent", "independent", KVR_FUTURE_MASS),
    COMPARE("retained-vs-mean", "Entropy pooling retains more of the scores than mean pooling",
            "equal memory", "retained mass, page-entrokv - mean", "mean", KVR_RETAINED_MASS),
    COMPARE("retained-vs-max", "Entropy pooling retains more of the scores than max pooling",
            "equal memory", "retained mass, page-entrokv - max", "max", KVR_RETAINED_MASS),
    COMPARE("retained-vs-independent",
            "Entropy pooling retains more of the scores than independent heads", "equal memory",
            "retained mass, page-entrokv - independent", "independent", KVR_RETAINED_MASS),
    {.judge = NULL},
};
