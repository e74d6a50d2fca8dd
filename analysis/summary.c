/*
 * Adding up facts. It must not know how a fact is computed or how the summary is shown.
 */
#include "analysis/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"

/* What must be complete over a sample before it can enter the summary. */
struct kvr_sample_sums {
    const struct kvr_sample *sample; /* NULL: none */
    double *mass, *mass_weight;      /* [kept entries] */
    double *peak, *peak_weight;
    size_t needle_count;
    uint32_t *needle_rows, *needle_whole; /* [kept entries][needle_count] */
};

static size_t overlap_count(const struct kvr_plan *plan)
{
    return plan->score_count * plan->page_size_count * plan->budget_count;
}

static size_t kept_count(const struct kvr_plan *plan)
{
    return plan->use_count * plan->page_size_count * plan->budget_count;
}

static size_t kept_index(const struct kvr_plan *plan, struct kvr_place place)
{
    size_t row = place.use * plan->page_size_count + place.page;
    return row * plan->budget_count + place.budget;
}

struct kvr_overlap_summary *kvr_summary_overlap(const struct kvr_summary *summary,
                                                struct kvr_place place)
{
    const struct kvr_plan *plan = summary->plan;
    size_t row = place.score * plan->page_size_count + place.page;
    return &summary->overlaps[row * plan->budget_count + place.budget];
}

struct kvr_kept_summary *kvr_summary_kept(const struct kvr_summary *summary, struct kvr_place place)
{
    return &summary->kept[kept_index(summary->plan, place)];
}

enum kvr_status kvr_summary_open(const struct kvr_plan *plan, struct kvr_summary *summary,
                                 struct kvr_error *err)
{
    size_t count = kept_count(plan);
    *summary = (struct kvr_summary){.plan = plan};
    summary->overlaps = kvr_alloc(overlap_count(plan), sizeof *summary->overlaps, err);
    summary->census = kvr_alloc(plan->score_count, sizeof *summary->census, err);
    summary->kept = kvr_alloc(count, sizeof *summary->kept, err);
    struct kvr_sample_sums *sample = kvr_alloc(1, sizeof *sample, err);
    summary->sample = sample;
    if (summary->overlaps == NULL || summary->census == NULL || summary->kept == NULL ||
        sample == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < plan->score_count; i++)
        summary->census[i].least_total = summary->census[i].most_total = NAN;
    sample->mass = kvr_alloc(count, sizeof(double), err);
    sample->mass_weight = kvr_alloc(count, sizeof(double), err);
    sample->peak = kvr_alloc(count, sizeof(double), err);
    sample->peak_weight = kvr_alloc(count, sizeof(double), err);
    if (sample->mass == NULL || sample->mass_weight == NULL || sample->peak == NULL ||
        sample->peak_weight == NULL)
        return KVR_NO_MEMORY;
    return KVR_OK;
}

static enum kvr_status refuse(struct kvr_error *err)
{
    return kvr_fail(err, KVR_BAD_INPUT, "a fact is about no score, policy or budget of this run");
}

static bool has_score(const struct kvr_plan *plan, uint64_t score)
{
    return score < plan->score_count;
}

static bool has_page_and_budget(const struct kvr_plan *plan, const struct kvr_place *place)
{
    return place->page < plan->page_size_count && place->budget < plan->budget_count;
}

static bool has_kept(const struct kvr_plan *plan, const struct kvr_place *place)
{
    return place->use < plan->use_count && has_page_and_budget(plan, place);
}

static unsigned depth_of(const struct kvr_sample *sample, size_t needle)
{
    uint64_t depth = sample->needles[needle].start * KVR_DEPTHS / sample->prompt_length;
    return depth < KVR_DEPTHS ? (unsigned)depth : KVR_DEPTHS - 1;
}

static void end_needles(const struct kvr_sample_sums *sample, size_t entry,
                        struct kvr_kept_summary *kept)
{
    for (size_t n = 0; n < sample->needle_count; n++) {
        uint32_t rows = sample->needle_rows[entry * sample->needle_count + n];
        uint32_t whole = sample->needle_whole[entry * sample->needle_count + n];
        if (rows == 0)
            continue;
        unsigned depth = depth_of(sample->sample, n);
        double fraction = (double)whole / (double)rows;
        kept->needles++;
        kept->needles_any += whole > 0;
        kept->needles_strict += whole == rows;
        kept->needle_fraction_sum += fraction;
        kept->depth_needles[depth]++;
        kept->depth_fraction_sum[depth] += fraction;
    }
}

static void end_sample(struct kvr_summary *summary)
{
    struct kvr_sample_sums *sample = summary->sample;
    if (sample == NULL || sample->sample == NULL)
        return;
    size_t count = kept_count(summary->plan);
    for (size_t i = 0; i < count; i++) {
        struct kvr_kept_summary *kept = &summary->kept[i];
        if (sample->mass_weight[i] > 0 && sample->peak_weight[i] > 0) {
            kept->future_samples++;
            kept->future_mass_sum += sample->mass[i] / sample->mass_weight[i];
            kept->future_peak_sum += sample->peak[i] / sample->peak_weight[i];
        }
        end_needles(sample, i, kept);
    }
    memset(sample->mass, 0, count * sizeof(double));
    memset(sample->mass_weight, 0, count * sizeof(double));
    memset(sample->peak, 0, count * sizeof(double));
    memset(sample->peak_weight, 0, count * sizeof(double));
    free(sample->needle_rows);
    free(sample->needle_whole);
    sample->needle_rows = sample->needle_whole = NULL;
    sample->needle_count = 0;
    sample->sample = NULL;
}

/* The sums of the cell's sample; those of another one are ended first. */
static struct kvr_sample_sums *sample_of(struct kvr_summary *summary,
                                         const struct kvr_cell_key *key, struct kvr_error *err)
{
    struct kvr_sample_sums *sample = summary->sample;
    if (sample->sample == key->sample)
        return sample;
    end_sample(summary);
    size_t count = kept_count(summary->plan) * key->sample->needle_count;
    sample->needle_rows = kvr_alloc(count, sizeof(uint32_t), err);
    sample->needle_whole = kvr_alloc(count, sizeof(uint32_t), err);
    if (sample->needle_rows == NULL || sample->needle_whole == NULL)
        return NULL;
    sample->needle_count = key->sample->needle_count;
    sample->sample = key->sample;
    return sample;
}

enum kvr_status kvr_summary_add_kept(void *opaque, const struct kvr_cell_key *key,
                                     const void *opaque_fact, struct kvr_error *err)
{
    struct kvr_summary *summary = opaque;
    const struct kvr_kept_fact *fact = opaque_fact;
    if (!has_kept(summary->plan, &fact->place))
        return refuse(err);
    struct kvr_sample_sums *sample = sample_of(summary, key, err);
    if (sample == NULL)
        return KVR_NO_MEMORY;
    size_t entry = kept_index(summary->plan, fact->place);
    if (!isnan(fact->retained_mass)) {
        summary->kept[entry].retained_groups++;
        summary->kept[entry].retained_sum += fact->retained_mass;
    }
    if (!isnan(fact->future_mass)) {
        sample->mass[entry] += fact->future_mass * fact->future_weight;
        sample->mass_weight[entry] += fact->future_weight;
        sample->peak[entry] += fact->future_peak * fact->peak_weight;
        sample->peak_weight[entry] += fact->peak_weight;
    }
    return KVR_OK;
}

enum kvr_status kvr_summary_add_needle(void *opaque, const struct kvr_cell_key *key,
                                       const void *opaque_fact, struct kvr_error *err)
{
    struct kvr_summary *summary = opaque;
    const struct kvr_needle_fact *fact = opaque_fact;
    if (!has_kept(summary->plan, &fact->place) || fact->needle >= key->sample->needle_count)
        return refuse(err);
    struct kvr_sample_sums *sample = sample_of(summary, key, err);
    if (sample == NULL)
        return KVR_NO_MEMORY;
    size_t entry = kept_index(summary->plan, fact->place);
    sample->needle_rows[entry * sample->needle_count + fact->needle]++;
    sample->needle_whole[entry * sample->needle_count + fact->needle] += (uint32_t)fact->whole;
    return KVR_OK;
}

enum kvr_status kvr_summary_add_overlap(void *opaque, const struct kvr_cell_key *key,
                                        const void *opaque_fact, struct kvr_error *err)
{
    (void)key;
    const struct kvr_summary *summary = opaque;
    const struct kvr_overlap_fact *fact = opaque_fact;
    if (!has_score(summary->plan, fact->place.score) ||
        !has_page_and_budget(summary->plan, &fact->place))
        return refuse(err);
    struct kvr_overlap_summary *sums = kvr_summary_overlap(summary, fact->place);
    sums->groups++;
    sums->uor_sum += fact->uor;
    sums->uor_most = fmax(sums->uor_most, fact->uor);
    if (!isnan(fact->jaccard_mean)) {
        sums->pair_groups++;
        sums->disagreement_sum += 1 - fact->jaccard_mean;
    }
    sums->certified_bonferroni += fact->certified_bonferroni;
    sums->certified_sandwich += fact->certified_sandwich;
    sums->violations += fact->violations;
    return KVR_OK;
}

enum kvr_status kvr_summary_add_head(void *opaque, const struct kvr_cell_key *key,
                                     const void *opaque_fact, struct kvr_error *err)
{
    (void)key;
    const struct kvr_head_fact *fact = opaque_fact;
    struct kvr_summary *summary = opaque;
    if (!has_score(summary->plan, fact->score) || fact->class >= KVR_HEAD_CLASSES)
        return refuse(err);
    struct kvr_census_summary *sums = &summary->census[fact->score];
    sums->heads[fact->class]++;
    sums->weight_raw[fact->class] += fact->weight_raw;
    sums->weight_isolated[fact->class] += fact->weight_isolated;
    sums->least_total = fmin(sums->least_total, fact->total);
    sums->most_total = fmax(sums->most_total, fact->total);
    return KVR_OK;
}

enum kvr_status kvr_summary_add_premise(void *opaque, const struct kvr_cell_key *key,
                                        const void *opaque_fact, struct kvr_error *err)
{
    (void)key;
    (void)err;
    const struct kvr_premise_fact *fact = opaque_fact;
    struct kvr_summary *summary = opaque;
    summary->premises++;
    summary->premises_held += fact->holds;
    return KVR_OK;
}

enum kvr_status kvr_summary_add_group(void *opaque, const struct kvr_cell_key *key,
                                      const void *opaque_fact, struct kvr_error *err)
{
    (void)key;
    const struct kvr_group_fact *fact = opaque_fact;
    struct kvr_summary *summary = opaque;
    if (!has_score(summary->plan, fact->score))
        return refuse(err);
    struct kvr_census_summary *sums = &summary->census[fact->score];
    sums->groups++;
    sums->excluded += fact->excluded;
    sums->replaced += fact->replaced;
    return KVR_OK;
}

void kvr_summary_finish(struct kvr_summary *summary)
{
    end_sample(summary);
}

void kvr_summary_free(struct kvr_summary *summary)
{
    struct kvr_sample_sums *sample = summary->sample;
    if (sample != NULL) {
        free(sample->mass);
        free(sample->mass_weight);
        free(sample->peak);
        free(sample->peak_weight);
        free(sample->needle_rows);
        free(sample->needle_whole);
    }
    free(sample);
    free(summary->overlaps);
    free(summary->census);
    free(summary->kept);
    *summary = (struct kvr_summary){0};
}

double kvr_summary_masquerade(const struct kvr_census_summary *census, const double *weights)
{
    uint64_t sinks = census->heads[KVR_HEAD_SINK];
    uint64_t contextual = census->heads[KVR_HEAD_CONTEXTUAL];
    if (sinks == 0 || contextual == 0)
        return NAN;
    return (weights[KVR_HEAD_SINK] / (double)sinks) /
           (weights[KVR_HEAD_CONTEXTUAL] / (double)contextual);
}
