/*
 * Statements about what the heads of a group agree on, and about the weights that pool them.
 */
#include <math.h>

#include "analysis/claims_judge.h"

typedef double (*overlap_sum)(const struct kvr_sample_overlap *sums);

static double uor_sum(const struct kvr_sample_overlap *sums)
{
    return sums->uor_sum;
}

static double share_sum(const struct kvr_sample_overlap *sums)
{
    return sums->share_sum;
}

static double twofold(const struct kvr_sample_overlap *sums)
{
    return (double)sums->twofold;
}

static double certified(const struct kvr_sample_overlap *sums)
{
    return (double)sums->certified;
}

static double certified_1(const struct kvr_sample_overlap *sums)
{
    return (double)sums->certified_1;
}

static double certified_t(const struct kvr_sample_overlap *sums)
{
    return (double)sums->certified_t;
}

static double above_one(const struct kvr_sample_overlap *sums)
{
    return (double)sums->above_one;
}

static uint64_t groups_of(const struct kvr_overlap_setting *setting)
{
    uint64_t groups = 0;
    for (size_t i = 0; i < setting->count; i++)
        groups += setting->samples[i].groups;
    return groups;
}

/* Mean over all groups of the setting. */
static double mean_of(const struct kvr_overlap_setting *setting, overlap_sum sum)
{
    double all = 0;
    for (size_t i = 0; i < setting->count; i++)
        all += sum(&setting->samples[i]);
    return all / (double)groups_of(setting);
}

static struct kvr_claim_line line_of(const struct kvr_overlap_setting *setting)
{
    return (struct kvr_claim_line){
        .scorer = setting->scorer, .budget = setting->budget, .page_size = setting->page_size};
}

/* Fills the line with the mean over groups and its interval over samples. */
static enum kvr_status judge_mean(struct kvr_judge *judge,
                                  const struct kvr_overlap_setting *setting, overlap_sum sum,
                                  struct kvr_claim_line *line)
{
    for (size_t i = 0; i < judge->results->samples.count; i++)
        judge->left[i] = judge->right[i] = 0;
    for (size_t i = 0; i < setting->count; i++) {
        judge->left[setting->samples[i].sample] = sum(&setting->samples[i]);
        judge->right[setting->samples[i].sample] = (double)setting->samples[i].groups;
    }
    return kvr_judge_ratio(judge, false, line);
}

/* What is asked of every setting that has groups with pairs. */
typedef enum kvr_status (*judge_setting)(struct kvr_judge *judge,
                                         const struct kvr_overlap_setting *setting,
                                         struct kvr_claim_line *line);

/* Adds a line for each setting that `one` gives a figure; `none` says why there is none. */
static enum kvr_status judge_settings(struct kvr_judge *judge, judge_setting one, const char *none)
{
    const struct kvr_replay_results *results = judge->results;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < results->overlap_count; i++) {
        const struct kvr_overlap_setting *setting = &results->overlaps[i];
        struct kvr_claim_line line = line_of(setting);
        if (groups_of(setting) == 0)
            continue;
        status = one(judge, setting, &line);
        if (status == KVR_OK && !isnan(line.figures[0]))
            status = kvr_judge_add(judge, &line);
    }
    if (status == KVR_OK && judge->claim->line_count == 0)
        kvr_judge_open(judge, "%s", none);
    return status;
}

static const char no_pairs[] = "no group has two query heads or more";

/* The UOR is at least 1 by definition, so its mean is above 1 as soon as two heads differ once. */
static enum kvr_status overhead_of(struct kvr_judge *judge,
                                   const struct kvr_overlap_setting *setting,
                                   struct kvr_claim_line *line)
{
    enum kvr_status status = judge_mean(judge, setting, uor_sum, line);
    line->figures[1] = mean_of(setting, above_one);
    line->figures[2] = (double)groups_of(setting);
    line->verdict = line->figures[1] > 0 ? KVR_HOLDS : KVR_FAILS;
    return status;
}

static enum kvr_status judge_overhead(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    return judge_settings(judge, overhead_of, no_pairs);
}

static enum kvr_status nearness_of(struct kvr_judge *judge,
                                   const struct kvr_overlap_setting *setting,
                                   struct kvr_claim_line *line)
{
    line->figures[1] = mean_of(setting, uor_sum);
    return judge_mean(judge, setting, share_sum, line);
}

static enum kvr_status judge_nearness(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    return judge_settings(judge, nearness_of, no_pairs);
}

static enum kvr_status twofold_of(struct kvr_judge *judge,
                                  const struct kvr_overlap_setting *setting,
                                  struct kvr_claim_line *line)
{
    return judge_mean(judge, setting, twofold, line);
}

static enum kvr_status judge_twofold(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    return judge_settings(judge, twofold_of, no_pairs);
}

/* Exact in each setting that has groups to certify: is one certified? */
static enum kvr_status reach_of(struct kvr_judge *judge, const struct kvr_overlap_setting *setting,
                                struct kvr_claim_line *line)
{
    enum kvr_status status = judge_mean(judge, setting, certified, line);
    line->figures[1] = mean_of(setting, twofold);
    line->figures[2] = mean_of(setting, certified_1);
    line->figures[3] = mean_of(setting, certified_t);
    line->verdict = line->figures[0] > 0 ? KVR_HOLDS : KVR_FAILS;
    if (!(line->figures[1] > 0)) /* nothing to certify */
        line->figures[0] = NAN;
    return status;
}

static enum kvr_status judge_reach(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    return judge_settings(judge, reach_of, "no group has twofold overhead");
}

/* ------------------------------------------------------------ exact statements */

static enum kvr_status judge_soundness(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    uint64_t all = 0, wrong = 0;
    for (size_t i = 0; i < judge->results->overlap_count; i++)
        for (size_t s = 0; s < judge->results->overlaps[i].count; s++) {
            all += judge->results->overlaps[i].samples[s].certified;
            wrong += judge->results->overlaps[i].samples[s].certified_wrongly;
        }
    kvr_judge_exact(judge, all, wrong, "certified cells", "", "no group is certified");
    return KVR_OK;
}

static enum kvr_status judge_bounds(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    const struct kvr_bounds_tally *all = &judge->bounds->all;
    uint64_t violated = all->bounds[KVR_BONFERRONI_LOWER].violated +
                        all->bounds[KVR_SANDWICH_LOWER].violated +
                        all->bounds[KVR_SANDWICH_UPPER].violated;
    kvr_judge_exact(judge, 3 * all->cells, violated, "bounds (three a cell)",
                    "\"kvreplay bounds\" lists them", "no group has two query heads or more");
    return KVR_OK;
}

static enum kvr_status judge_identity(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    kvr_judge_exact(judge, judge->bounds->pairs, judge->bounds->violated[KVR_VIOLATES_IDENTITY],
                    "cells, to 1e-12", "\"kvreplay bounds\" lists them", "no group has r = 2");
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ masquerade */

struct census {
    const struct kvr_sample_census *samples;
    bool isolated;
};

/* Mean weight of sink heads over that of contextual heads. */
static double masquerade(const void *data, const uint32_t *times, size_t count)
{
    const struct census *census = data;
    double weights[KVR_HEAD_CLASSES] = {0}, heads[KVR_HEAD_CLASSES] = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < KVR_HEAD_CLASSES; c++) {
            const struct kvr_sample_census *sample = &census->samples[i];
            weights[c] += times[i] * (census->isolated ? sample->isolated[c] : sample->raw[c]);
            heads[c] += times[i] * (double)sample->heads[c];
        }
    return weights[KVR_HEAD_SINK] / heads[KVR_HEAD_SINK] /
           (weights[KVR_HEAD_CONTEXTUAL] / heads[KVR_HEAD_CONTEXTUAL]);
}

static enum kvr_status census_line(struct kvr_judge *judge,
                                   const struct kvr_census_setting *setting, bool isolated,
                                   struct kvr_claim_line *line)
{
    struct census census = {setting->samples, isolated};
    struct kvr_interval other;
    uint64_t sinks = 0, contextual = 0;
    enum kvr_status status = kvr_bootstrap_interval(judge->bootstrap, masquerade, &census,
                                                    setting->count, &line->interval, judge->err);
    census.isolated = !isolated;
    if (status == KVR_OK)
        status = kvr_bootstrap_interval(judge->bootstrap, masquerade, &census, setting->count,
                                        &other, judge->err);
    if (status != KVR_OK)
        return status;
    for (size_t i = 0; i < setting->count; i++) {
        sinks += setting->samples[i].heads[KVR_HEAD_SINK];
        contextual += setting->samples[i].heads[KVR_HEAD_CONTEXTUAL];
    }
    double raw = isolated ? other.estimate : line->interval.estimate;
    line->figures[0] = line->interval.estimate;
    line->figures[1] = raw / (isolated ? line->interval.estimate : other.estimate);
    line->figures[2] = (double)sinks;
    line->figures[3] = (double)contextual;
    int side = kvr_interval_side(&line->interval, 1);
    line->verdict = side == 0 ? KVR_OPEN : (side > 0) != isolated ? KVR_HOLDS : KVR_FAILS;
    return KVR_OK;
}

static enum kvr_status judge_census(struct kvr_judge *judge, bool isolated)
{
    const struct kvr_replay_results *results = judge->results;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < results->census_count; i++) {
        struct kvr_claim_line line = {.scorer = results->census[i].scorer};
        status = census_line(judge, &results->census[i], isolated, &line);
        if (status == KVR_OK && !isnan(line.figures[0]))
            status = kvr_judge_add(judge, &line);
    }
    if (status == KVR_OK && judge->claim->line_count == 0)
        kvr_judge_open(judge, "no scorer has both sink heads and contextual heads");
    return status;
}

static enum kvr_status judge_raw(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    return judge_census(judge, false);
}

static enum kvr_status judge_isolated(struct kvr_judge *judge, const struct kvr_claim_kind *kind)
{
    (void)kind;
    return judge_census(judge, true);
}

/* ------------------------------------------------------------------------------ the list */

#define SETTINGS(name, sentence, from, what, limit, judge_it, ...)                                 \
    {                                                                                              \
        .statement = {(name), (sentence), (from), (what), {__VA_ARGS__}, (limit), 3},              \
        .judge = (judge_it)                                                                        \
    }
#define EXACT(name, sentence, from, judge_it)                                                      \
    {                                                                                              \
        .statement = {.id = (name), .text = (sentence), .source = (from)}, .judge = (judge_it)     \
    }

const struct kvr_claim_kind kvr_overlap_claims[] = {
    SETTINGS("union-overhead", "Independent heads make a group hold more than its quota", "def. 1",
             "UOR, mean over groups", 1, judge_overhead, "uor", "share_above_1", "groups"),
    SETTINGS("near-r", "The union overhead is nearer to its worst case r than to 1", "asked here",
             "(UOR - 1) / (r - 1), mean over groups", 0.5, judge_nearness, "share", "uor"),
    SETTINGS("twofold", "Most groups hold at least twice their quota", "asked here",
             "share of groups with UOR >= 2", 0.5, judge_twofold, "twofold"),
    SETTINGS("certificates-reach",
             "Pairwise agreement certifies groups of twofold overhead where there are any",
             "cor. 1, thm. 1", "share of groups that cert_1 or cert_T certifies", 0, judge_reach,
             "certified", "twofold", "cert_1", "cert_T"),
    EXACT("certificates-sound", "A group that is certified does have twofold overhead",
          "cor. 1, thm. 1", judge_soundness),
    EXACT("bounds", "The UOR lies within the bounds of cor. 1 and thm. 1", "cor. 1, thm. 1",
          judge_bounds),
    EXACT("identity", "For r = 2 the UOR is 2/(2-D)", "prop. 1", judge_identity),
    SETTINGS("masquerade", "By raw entropy sink heads outweigh contextual heads", "pilot: 2.10",
             "mean weight of sink heads / of contextual heads, raw", 1, judge_raw, "m_raw",
             "raw_over_isolated", "sink_heads", "contextual_heads"),
    SETTINGS("isolation", "Sink isolation removes it: contextual heads outweigh sink heads",
             "pilot: 0.66 (v2), 13x removed (v1)",
             "mean weight of sink heads / of contextual heads, sink-isolated", 1, judge_isolated,
             "m_isolated", "raw_over_isolated", "sink_heads", "contextual_heads"),
    {.judge = NULL},
};
