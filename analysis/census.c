/*
 * The census of a group's heads.
 */
#include "analysis/census.h"

#include <math.h>

#include "replay/entropy.h"
#include "replay/scored.h"

const char *kvr_head_class_name(enum kvr_head_class class)
{
    static const char *const names[KVR_HEAD_CLASSES] = {"sink", "retrieval", "contextual"};
    return names[class];
}

static double sum_over(const float *vector, size_t start, size_t end)
{
    double sum = 0;
    for (size_t t = start; t < end; t++)
        sum += (double)vector[t];
    return sum;
}

/* True if position lies in one of the first `count` needles. */
static bool in_needle(const struct kvr_sample *sample, size_t count, uint64_t position)
{
    for (size_t i = 0; i < count; i++)
        if (position >= sample->needles[i].start && position < sample->needles[i].end)
            return true;
    return false;
}

/* Needles may overlap, and a window layer may hold a part of one: each candidate counts once. */
static double needle_mass(const struct kvr_cell *cell, const float *vector)
{
    const struct kvr_sample *sample = cell->key.sample;
    uint64_t first = cell->candidates.first, end = first + cell->candidates.count;
    if (sample->needle_count == 0)
        return NAN;
    double mass = 0;
    for (size_t i = 0; i < sample->needle_count; i++) {
        uint64_t start = sample->needles[i].start, stop = sample->needles[i].end;
        for (uint64_t p = start > first ? start : first; p < stop && p < end; p++)
            if (!in_needle(sample, i, p))
                mass += (double)vector[p - first];
    }
    return mass;
}

static enum kvr_head_class class_of(const struct kvr_plan *plan, const struct kvr_census *census)
{
    if (census->sink_mass >= plan->sink_threshold)
        return KVR_HEAD_SINK;
    bool retrieval = isnan(census->needle_mass)
                         ? exp(census->entropy_isolated) <= plan->retrieval_support
                         : census->needle_mass >= plan->retrieval_mass;
    return retrieval ? KVR_HEAD_RETRIEVAL : KVR_HEAD_CONTEXTUAL;
}

enum kvr_status kvr_census_of(const struct kvr_cell *cell, const struct kvr_scored *scored,
                              struct kvr_census *census, struct kvr_error *err)
{
    const struct kvr_plan *plan = cell->plan;
    size_t count = cell->candidates.count, sinks = cell->candidates.sinks;
    double *raw = kvr_room_take(cell->room, scored->heads * 2, sizeof *raw, err);
    if (raw == NULL)
        return KVR_NO_MEMORY;
    for (size_t h = 0; h < scored->heads; h++) {
        const float *vector = scored->vectors + h * count;
        raw[h] = scored->raw_entropies != NULL ? scored->raw_entropies[h]
                                               : kvr_entropy_raw(&plan->entropy, vector, count);
        census[h] = (struct kvr_census){
            .sink_mass = sum_over(vector, 0, sinks),
            .entropy_raw = raw[h],
            .entropy_isolated = scored->entropies[h],
            .weight_isolated = scored->weights[h],
            .max_probability = (double)kvr_largest(vector + sinks, count - sinks),
            .needle_mass = needle_mass(cell, vector),
        };
        census[h].class = class_of(plan, &census[h]);
    }
    double *weights = raw + scored->heads;
    kvr_entropy_weights(raw, scored->heads, plan->tau, weights);
    for (size_t h = 0; h < scored->heads; h++)
        census[h].weight_raw = weights[h];
    return KVR_OK;
}
