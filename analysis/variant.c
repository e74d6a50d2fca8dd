/*
 * Other weightings of a loaded group. It must not know why one asks.
 */
#include "analysis/variant.h"

struct kvr_weighting kvr_weighting_of(const struct kvr_plan *plan)
{
    return (struct kvr_weighting){plan->tau, plan->entropy, plan->sinks};
}

enum kvr_status kvr_variant_make(const struct kvr_cell *cell, const struct kvr_scored *scored,
                                 const struct kvr_weighting *weighting, struct kvr_variant *variant,
                                 struct kvr_error *err)
{
    variant->plan = *cell->plan;
    variant->plan.tau = weighting->tau;
    variant->plan.entropy = weighting->entropy;
    variant->plan.sinks = weighting->sinks;
    variant->cell = *cell;
    variant->cell.plan = &variant->plan;
    variant->cell.candidates =
        kvr_candidates_of(cell->key.sample, cell->key.layer, weighting->sinks);
    variant->scored = *scored;
    struct kvr_scored *own = &variant->scored;
    own->entropies = kvr_room_take(cell->room, own->heads, sizeof *own->entropies, err);
    own->weights = kvr_room_take(cell->room, own->heads, sizeof *own->weights, err);
    own->raw_entropies = NULL; /* those are of the plan's options */
    if (own->entropies == NULL || own->weights == NULL)
        return KVR_NO_MEMORY;
    const struct kvr_candidates *candidates = &variant->cell.candidates;
    for (size_t h = 0; h < own->heads; h++)
        own->entropies[h] =
            kvr_entropy_isolated(&weighting->entropy, own->vectors + h * candidates->count,
                                 candidates->count, candidates->sinks);
    kvr_entropy_weights(own->entropies, own->heads, weighting->tau, own->weights);
    return KVR_OK;
}
