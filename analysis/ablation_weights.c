/*
 * Ablations of the weighting: temperature, order, sinks, entropy window. The same measures for
 * each; a table shows those that its setting moves.
 */
#include <math.h>

#include "analysis/ablation_record.h"
#include "analysis/census.h"
#include "replay/bitmap.h"

/* What the next setting of a grid is compared with. */
struct before {
    double *entropies; /* [heads]; NULL before the first setting */
    double max_weight;
};

static const double tolerance = 1e-9;

/* How many candidates an entropy looks at. */
static size_t support_of(const struct kvr_variant *variant)
{
    const struct kvr_candidates *candidates = &variant->cell.candidates;
    uint64_t window = variant->plan.entropy.window;
    size_t start = candidates->sinks;
    if (window > 0 && window < candidates->count && candidates->count - window > start)
        start = (size_t)(candidates->count - window);
    return candidates->count - start;
}

static enum kvr_status add_head(const struct kvr_ablation_place *place, double entropy, double most,
                                const double *before)
{
    bool empty = entropy >= KVR_ENTROPY_EMPTY;
    enum kvr_status status = kvr_ablation_add(place, KVR_MEASURE_EMPTY, empty);
    if (status != KVR_OK || empty)
        return status;
    bool outside = entropy < -tolerance || entropy > most + tolerance;
    status = kvr_ablation_add(place, KVR_MEASURE_ENTROPY, entropy);
    if (status == KVR_OK)
        status = kvr_ablation_add(place, KVR_MEASURE_OUTSIDE, outside);
    if (status == KVR_OK && before != NULL)
        status = kvr_ablation_add(place, KVR_MEASURE_ENTROPY_RISES, entropy > *before + tolerance);
    return status;
}

static enum kvr_status add_entropies(const struct kvr_ablation_place *place,
                                     const struct kvr_variant *variant, const struct before *before)
{
    double most = log((double)support_of(variant));
    enum kvr_status status = KVR_OK;
    for (size_t h = 0; status == KVR_OK && h < variant->scored.heads; h++)
        status = add_head(place, variant->scored.entropies[h], most,
                          before->entropies != NULL ? &before->entropies[h] : NULL);
    return status;
}

static double largest_weight(const struct kvr_scored *scored)
{
    double most = scored->weights[0];
    for (size_t h = 1; h < scored->heads; h++)
        most = fmax(most, scored->weights[h]);
    return most;
}

static enum kvr_status add_weights(const struct kvr_ablation_place *place,
                                   const struct kvr_variant *variant, const struct before *before)
{
    double most = largest_weight(&variant->scored);
    enum kvr_status status = kvr_ablation_add(place, KVR_MEASURE_MAX_WEIGHT, most);
    if (status == KVR_OK)
        status = kvr_ablation_add(place, KVR_MEASURE_ABOVE_UNIFORM,
                                  most - 1 / (double)variant->scored.heads);
    if (status == KVR_OK && before->entropies != NULL)
        status = kvr_ablation_add(place, KVR_MEASURE_WEIGHT_RISES,
                                  most > before->max_weight + tolerance);
    return status;
}

/* The paper isolates by dividing by 1 - sink mass; where a row does not sum to 1 as stored, that is
   another number than the sum of what is left, and may even be negative. */
static bool divisor_is_off(const struct kvr_variant *variant, size_t head, double sink_mass)
{
    const struct kvr_candidates *candidates = &variant->cell.candidates;
    const float *vector = variant->scored.vectors + head * candidates->count;
    double rest = 0;
    for (size_t t = candidates->sinks; t < candidates->count; t++)
        rest += (double)vector[t];
    return fabs(1 - sink_mass - rest) > 0.01 * rest;
}

static enum kvr_status add_census(const struct kvr_ablation_place *place,
                                  const struct kvr_variant *variant)
{
    size_t heads = variant->scored.heads;
    struct kvr_census *census =
        kvr_room_take(variant->cell.room, heads, sizeof *census, place->err);
    if (census == NULL ||
        kvr_census_of(&variant->cell, &variant->scored, census, place->err) != KVR_OK)
        return KVR_NO_MEMORY;
    enum kvr_status status = KVR_OK;
    for (size_t h = 0; status == KVR_OK && h < heads; h++) {
        double weight = census[h].weight_isolated;
        status = kvr_ablation_add(place, KVR_MEASURE_SINK_MASS, census[h].sink_mass);
        if (status == KVR_OK)
            status = kvr_ablation_add(place, KVR_MEASURE_DIVISOR_OFF,
                                      divisor_is_off(variant, h, census[h].sink_mass));
        if (status == KVR_OK && census[h].class == KVR_HEAD_SINK)
            status = kvr_ablation_add(place, KVR_MEASURE_SINK_WEIGHT, weight);
        if (status == KVR_OK && census[h].class == KVR_HEAD_CONTEXTUAL)
            status = kvr_ablation_add(place, KVR_MEASURE_CONTEXT_WEIGHT, weight);
    }
    return status;
}

/* The pages that entropy pooling keeps under the variant. */
static enum kvr_status keep_pooled(const struct kvr_ablation *ablation,
                                   const struct kvr_variant *variant,
                                   struct kvr_ablation_kept *kept, struct kvr_error *err)
{
    const struct kvr_scored *scored = &variant->scored;
    size_t count = variant->cell.candidates.count;
    float *pooled = kvr_room_take(variant->cell.room, count, sizeof *pooled, err);
    if (pooled == NULL)
        return KVR_NO_MEMORY;
    kvr_reduce_find("entropy")->pool(scored->vectors, scored->heads, count, scored->weights,
                                     pooled);
    return kvr_ablation_keep(&variant->cell, pooled, ablation->kept_page_size,
                             ablation->plan->page_reduce, kept, err);
}

static enum kvr_status add_setting(const struct kvr_ablation_place *place,
                                   const struct kvr_variant *variant, const struct before *before,
                                   const struct kvr_ablation_kept *base)
{
    struct kvr_ablation_kept kept;
    enum kvr_status status = add_entropies(place, variant, before);
    if (status == KVR_OK)
        status = add_weights(place, variant, before);
    if (status == KVR_OK)
        status = add_census(place, variant);
    if (status == KVR_OK)
        status = keep_pooled(place->record->ablation, variant, &kept, place->err);
    if (status != KVR_OK)
        return status;
    size_t words = kvr_bitmap_words(kept.pages.count);
    double same = (double)kvr_bitmap_count_and(kept.units, base->units, words);
    status = kvr_ablation_add(place, KVR_MEASURE_SAME_PAGES, same / (double)kept.quota);
    return status == KVR_OK ? kvr_ablation_add_kept(place, &variant->cell, &variant->scored, &kept)
                            : status;
}

static enum kvr_status add_grid(struct kvr_ablation_place *place, const struct kvr_cell *cell,
                                const struct kvr_scored *scored,
                                const struct kvr_ablation_kept *base)
{
    const struct kvr_weighting_grid *grid = &place->record->ablation->grids[place->table];
    struct before before = {NULL, 0};
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < grid->count; i++) {
        struct kvr_variant variant;
        place->setting = i;
        status = kvr_variant_make(cell, scored, &grid->weightings[i], &variant, place->err);
        if (status == KVR_OK)
            status = add_setting(place, &variant, &before, base);
        before.entropies = variant.scored.entropies;
        before.max_weight = largest_weight(&variant.scored);
    }
    return status;
}

enum kvr_status kvr_ablate_weightings(struct kvr_ablation_record *record, size_t score,
                                      const struct kvr_cell *cell, const struct kvr_scored *scored,
                                      struct kvr_error *err)
{
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    const struct kvr_weighting own = kvr_weighting_of(cell->plan);
    struct kvr_variant variant;
    struct kvr_ablation_kept base;
    enum kvr_status status = kvr_variant_make(cell, scored, &own, &variant, err);
    if (status == KVR_OK)
        status = keep_pooled(record->ablation, &variant, &base, err);
    for (int table = 0; status == KVR_OK && table < KVR_ABLATE_GRIDS; table++) {
        struct kvr_ablation_place place = {record, (enum kvr_ablation_table)table, score, 0, err};
        struct kvr_room_mark grid = kvr_room_mark(cell->room);
        status = add_grid(&place, cell, scored, &base);
        kvr_room_return(cell->room, grid);
    }
    kvr_room_return(cell->room, mark);
    return status;
}
