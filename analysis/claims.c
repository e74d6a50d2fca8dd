/*
 * Judging the list of statements and folding verdicts of settings into verdicts of statements. It
 * must not know what any statement is about, nor how claims are shown.
 */
#include "analysis/claims.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/claims_judge.h"
#include "formats/base/memory.h"

const char *kvr_verdict_name(enum kvr_verdict verdict)
{
    static const char *const names[KVR_VERDICTS] = {"cannot be judged", "holds", "does not hold"};
    return names[verdict];
}

/* ------------------------------------------------------------------------------ for judges */

enum kvr_status kvr_judge_add(struct kvr_judge *judge, const struct kvr_claim_line *line)
{
    struct kvr_claim *claim = judge->claim;
    void *lines = claim->lines;
    enum kvr_status status = kvr_reserve(&lines, &claim->line_capacity, claim->line_count + 1,
                                         sizeof *claim->lines, judge->err);
    claim->lines = lines;
    if (status != KVR_OK)
        return status;
    claim->lines[claim->line_count++] = *line;
    claim->counts[line->verdict]++;
    return KVR_OK;
}

static enum kvr_verdict verdict_of(const struct kvr_interval *interval, double threshold,
                                   bool below)
{
    int side = kvr_interval_side(interval, threshold);
    if (side == 0)
        return KVR_OPEN;
    return (side > 0) != below ? KVR_HOLDS : KVR_FAILS;
}

struct ratio {
    const double *left, *right;
};

static double ratio_of_sums(const void *data, const uint32_t *times, size_t count)
{
    const struct ratio *ratio = data;
    double left = 0, right = 0;
    for (size_t i = 0; i < count; i++) {
        left += times[i] * ratio->left[i];
        right += times[i] * ratio->right[i];
    }
    return right > 0 ? left / right : NAN;
}

enum kvr_status kvr_judge_ratio(struct kvr_judge *judge, bool below, struct kvr_claim_line *line)
{
    size_t kept = 0;
    for (size_t i = 0; i < judge->results->samples.count; i++)
        if (!isnan(judge->left[i]) && judge->right[i] > 0) {
            judge->left[kept] = judge->left[i];
            judge->right[kept++] = judge->right[i];
        }
    const struct ratio ratio = {judge->left, judge->right};
    enum kvr_status status = kvr_bootstrap_interval(judge->bootstrap, ratio_of_sums, &ratio, kept,
                                                    &line->interval, judge->err);
    line->figures[0] = line->interval.estimate;
    line->verdict = verdict_of(&line->interval, judge->claim->statement->threshold, below);
    return status;
}

enum kvr_status kvr_judge_difference(struct kvr_judge *judge, struct kvr_claim_line *line)
{
    enum kvr_status status =
        kvr_bootstrap_difference(judge->bootstrap, judge->left, judge->right,
                                 judge->results->samples.count, &line->interval, judge->err);
    line->figures[0] = line->interval.estimate;
    line->verdict = verdict_of(&line->interval, judge->claim->statement->threshold, false);
    return status;
}

void kvr_judge_open(struct kvr_judge *judge, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(judge->claim->reason, sizeof judge->claim->reason, format, args);
    va_end(args);
    judge->claim->verdict = KVR_OPEN;
}

void kvr_judge_exact(struct kvr_judge *judge, uint64_t rows, uint64_t broken, const char *rows_are,
                     const char *first, const char *none)
{
    struct kvr_claim *claim = judge->claim;
    claim->rows = rows;
    claim->broken = broken;
    if (rows == 0) {
        kvr_judge_open(judge, "%s", none);
        return;
    }
    claim->verdict = broken == 0 ? KVR_HOLDS : KVR_FAILS;
    snprintf(claim->reason, sizeof claim->reason, "%llu of %llu %s%s%s",
             (unsigned long long)(rows - broken), (unsigned long long)rows, rows_are,
             broken > 0 && first[0] != '\0' ? "; " : "", broken > 0 ? first : "");
}

/* ------------------------------------------------------------------------------ folding */

static size_t most_samples(const struct kvr_claim *claim)
{
    size_t most = 0;
    for (size_t i = 0; i < claim->line_count; i++)
        if (claim->lines[i].interval.samples > most)
            most = claim->lines[i].interval.samples;
    return most;
}

/* The verdict on a statement from those on its settings. */
static void fold(struct kvr_claim *claim)
{
    uint64_t open = claim->counts[KVR_OPEN], holds = claim->counts[KVR_HOLDS];
    uint64_t fails = claim->counts[KVR_FAILS], all = open + holds + fails;
    size_t samples = most_samples(claim);
    char *reason = claim->reason;
    if (all == 0)
        return; /* exact, or open with a reason of its own */
    claim->verdict = fails > 0 ? KVR_FAILS : open > 0 ? KVR_OPEN : KVR_HOLDS;
    if (open == all && samples < KVR_LEAST_SAMPLES)
        snprintf(reason, sizeof claim->reason, "%zu sample%s, an interval needs %d", samples,
                 samples == 1 ? "" : "s", KVR_LEAST_SAMPLES);
    else if (open == all)
        snprintf(reason, sizeof claim->reason, "%s",
                 all == 1 ? "the one setting's interval leaves it open"
                          : "every setting's interval leaves it open");
    else if (holds == all && all == 1)
        snprintf(reason, sizeof claim->reason, "in the one setting");
    else if (holds == all)
        snprintf(reason, sizeof claim->reason, "in all %llu settings", (unsigned long long)all);
    else if (all == 1)
        snprintf(reason, sizeof claim->reason, "fails in the one setting");
    else
        snprintf(reason, sizeof claim->reason,
                 "holds in %llu of %llu settings, fails in %llu, open in %llu",
                 (unsigned long long)holds, (unsigned long long)all, (unsigned long long)fails,
                 (unsigned long long)open);
}

static enum kvr_status judge_list(struct kvr_judge *judge, const struct kvr_claim_kind *kinds,
                                  struct kvr_claims *claims)
{
    for (size_t i = 0; kinds[i].statement.id != NULL; i++) {
        judge->claim = &claims->claims[claims->count++];
        *judge->claim = (struct kvr_claim){.statement = &kinds[i].statement};
        enum kvr_status status = kinds[i].judge(judge, &kinds[i]);
        if (status != KVR_OK)
            return status;
        fold(judge->claim);
    }
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ not finite */

/* With `excluded` groups counted as consensus beside those of the setting. */
static enum kvr_status add_nan_line(struct kvr_claims *claims,
                                    const struct kvr_overlap_setting *setting, uint64_t excluded,
                                    struct kvr_error *err)
{
    struct kvr_nan_line line = {
        .scorer = setting->scorer,
        .budget = setting->budget,
        .page_size = setting->page_size,
        .excluded = excluded,
    };
    double uor = 0, disagreement = 0;
    for (size_t i = 0; i < setting->count; i++) {
        line.groups += setting->samples[i].groups;
        uor += setting->samples[i].uor_sum;
        disagreement += setting->samples[i].disagreement_sum;
    }
    double groups = (double)line.groups, all = groups + (double)excluded;
    line.uor = uor / groups;
    line.disagreement = disagreement / groups;
    line.uor_careless = (uor + (double)excluded) / all;
    line.disagreement_careless = disagreement / all;
    if (line.groups == 0)
        return KVR_OK;
    void *lines = claims->nan_lines;
    enum kvr_status status = kvr_reserve(&lines, &claims->nan_capacity, claims->nan_count + 1,
                                         sizeof *claims->nan_lines, err);
    claims->nan_lines = lines;
    if (status == KVR_OK)
        claims->nan_lines[claims->nan_count++] = line;
    return status;
}

static enum kvr_status tell_nan(const struct kvr_replay_results *results, struct kvr_claims *claims,
                                struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < results->overlap_count; i++)
        for (size_t g = 0; status == KVR_OK && g < results->group_count; g++)
            if (results->groups[g].scorer == results->overlaps[i].scorer &&
                results->groups[g].excluded > 0)
                status =
                    add_nan_line(claims, &results->overlaps[i], results->groups[g].excluded, err);
    return status;
}

/* ------------------------------------------------------------------------------ all */

static size_t length_of(const struct kvr_claim_kind *kinds)
{
    size_t count = 0;
    while (kinds[count].statement.id != NULL)
        count++;
    return count;
}

enum kvr_status kvr_claims_judge(const struct kvr_replay_results *results,
                                 const struct kvr_bounds_report *bounds,
                                 const struct kvr_bootstrap *bootstrap, struct kvr_claims *claims,
                                 struct kvr_error *err)
{
    struct kvr_judge judge = {
        .results = results, .bounds = bounds, .bootstrap = bootstrap, .err = err};
    size_t count = length_of(kvr_overlap_claims) + length_of(kvr_policy_claims);
    *claims = (struct kvr_claims){.claims = kvr_alloc(count, sizeof *claims->claims, err)};
    judge.left = kvr_alloc(results->samples.count, sizeof *judge.left, err);
    judge.right = kvr_alloc(results->samples.count, sizeof *judge.right, err);
    enum kvr_status status = KVR_NO_MEMORY;
    if (claims->claims != NULL && judge.left != NULL && judge.right != NULL)
        status = judge_list(&judge, kvr_overlap_claims, claims);
    if (status == KVR_OK)
        status = judge_list(&judge, kvr_policy_claims, claims);
    if (status == KVR_OK)
        status = tell_nan(results, claims, err);
    free(judge.left);
    free(judge.right);
    return status;
}

void kvr_claims_free(struct kvr_claims *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        free(claims->claims[i].lines);
    free(claims->claims);
    free(claims->nan_lines);
    *claims = (struct kvr_claims){.count = 0};
}
