/*
 * Ablations of pages: operator x page size x page reduction, and where in a kept page the pooled
 * mass lies (MEASURES §8).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ablation_record.h"
#include "formats/base/memory.h"
#include "replay/bitmap.h"

enum kvr_status kvr_ablation_keep(const struct kvr_cell *cell, const float *pooled,
                                  uint64_t page_size, enum kvr_page_reduce reduce,
                                  struct kvr_ablation_kept *kept, struct kvr_error *err)
{
    kept->pages = kvr_pages_of(&cell->candidates, page_size);
    kept->quota = kvr_budget_quota(cell->plan->budgets[0].fraction, &kept->pages);
    size_t units = kvr_bitmap_words(kept->pages.count);
    size_t tokens = kvr_bitmap_words(cell->candidates.count);
    float *scores = kvr_room_take(cell->room, kept->pages.count, sizeof *scores, err);
    kept->units = kvr_room_take(cell->room, units, sizeof *kept->units, err);
    kept->tokens = kvr_room_take_zeroed(cell->room, tokens, sizeof *kept->tokens, err);
    if (scores == NULL || kept->units == NULL || kept->tokens == NULL)
        return KVR_NO_MEMORY;
    struct kvr_select_scratch scratch = {0};
    kvr_pages_score(&kept->pages, reduce, pooled, scores);
    enum kvr_status status =
        kvr_select_top(scores, kept->pages.count, &kept->quota, 1, &kept->units, &scratch, err);
    kvr_select_scratch_free(&scratch);
    if (status == KVR_OK)
        kvr_pages_expand(&kept->pages, kept->units, kept->tokens);
    return status;
}

static double retained_mass(const struct kvr_cell *cell, const struct kvr_scored *scored,
                            const uint64_t *tokens)
{
    size_t count = cell->candidates.count, words = kvr_bitmap_words(count);
    double sum = 0;
    if (!scored->score->scorer->mass)
        return NAN;
    for (size_t h = 0; h < scored->heads; h++)
        if (fabs(scored->totals[h]) > 0)
            sum += kvr_bitmap_sum_float(tokens, words, scored->vectors + h * count) /
                   scored->totals[h];
    return sum / (double)scored->heads;
}

enum kvr_status kvr_ablation_add_kept(const struct kvr_ablation_place *place,
                                      const struct kvr_cell *cell, const struct kvr_scored *scored,
                                      const struct kvr_ablation_kept *kept)
{
    size_t words = kvr_bitmap_words(cell->candidates.count);
    double peak_total = cell->future.peak_total;
    enum kvr_status status =
        kvr_ablation_add(place, KVR_MEASURE_RETAINED, retained_mass(cell, scored, kept->tokens));
    if (status == KVR_OK && !isnan(peak_total))
        status = kvr_ablation_add_weighted(
            place, KVR_MEASURE_PEAK,
            kvr_bitmap_sum_double(kept->tokens, words, cell->future.peak) / peak_total, peak_total);
    for (size_t n = 0; status == KVR_OK && n < cell->needle_count; n++)
        if (kvr_cell_holds_needle(cell, n)) {
            struct kvr_range range = cell->needles[n];
            uint64_t held = kvr_bitmap_count_span(kept->tokens, range.start, range.end);
            status = kvr_ablation_add(place, KVR_MEASURE_NEEDLE,
                                      (double)held / (double)(range.end - range.start));
        }
    return status;
}

/* ------------------------------------------------------------------------------------- pages */

/* The record keeps a copy of the units until the layer is whole. */
static enum kvr_status remember_pages(struct kvr_ablation_record *record, size_t score,
                                      size_t setting, const struct kvr_ablation_kept *kept,
                                      struct kvr_error *err)
{
    void *pages = record->pages;
    enum kvr_status status = kvr_reserve(&pages, &record->page_capacity, record->page_count + 1,
                                         sizeof *record->pages, err);
    record->pages = pages;
    if (status != KVR_OK)
        return status;
    size_t words = kvr_bitmap_words(kept->pages.count);
    uint64_t *units = kvr_alloc(words, sizeof *units, err);
    if (units == NULL)
        return KVR_NO_MEMORY;
    memcpy(units, kept->units, words * sizeof *units);
    record->pages[record->page_count++] =
        (struct kvr_ablation_pages){score, setting, words, kept->quota, units};
    return KVR_OK;
}

static enum kvr_status add_pages(const struct kvr_ablation_place *place,
                                 const struct kvr_cell *cell, const struct kvr_scored *scored,
                                 const struct kvr_ablation_kept *kept)
{
    uint64_t pages = kvr_bitmap_count(kept->units, kvr_bitmap_words(kept->pages.count));
    uint64_t tokens = kvr_bitmap_count(kept->tokens, kvr_bitmap_words(cell->candidates.count));
    enum kvr_status status = kvr_ablation_add(place, KVR_MEASURE_INEXACT, pages != kept->quota);
    if (status == KVR_OK)
        status = kvr_ablation_add(place, KVR_MEASURE_TOKENS, (double)tokens);
    if (status == KVR_OK)
        status = kvr_ablation_add_kept(place, cell, scored, kept);
    return status == KVR_OK
               ? remember_pages(place->record, place->score, place->setting, kept, place->err)
               : status;
}

/* Pooled mass on the kept tokens from `first` on, by slot; returns the sum. */
static double sum_slots(const struct kvr_cell *cell, const float *pooled,
                        const struct kvr_ablation_kept *kept, size_t first, double *mass)
{
    size_t slots = (size_t)kept->pages.size;
    double total = 0;
    memset(mass, 0, slots * sizeof *mass);
    for (size_t t = first; t < cell->candidates.count; t++)
        if (kvr_bitmap_has(kept->tokens, t)) {
            mass[(cell->candidates.first + t) % slots] += (double)pooled[t];
            total += (double)pooled[t];
        }
    return total;
}

/* place.setting is that of the page size's slot 0. */
static enum kvr_status add_slots(struct kvr_ablation_place place, const struct kvr_cell *cell,
                                 const float *pooled, const struct kvr_ablation_kept *kept)
{
    static const enum kvr_ablation_measure measures[] = {KVR_MEASURE_SHARE, KVR_MEASURE_SHARE_REST};
    const size_t firsts[] = {0, cell->candidates.sinks};
    size_t slots = (size_t)kept->pages.size, base = place.setting;
    double *mass = kvr_room_take(cell->room, slots, sizeof *mass, place.err);
    enum kvr_status status = mass == NULL ? KVR_NO_MEMORY : KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sizeof firsts / sizeof *firsts; i++) {
        double total = sum_slots(cell, pooled, kept, firsts[i], mass);
        for (size_t slot = 0; status == KVR_OK && total > 0 && slot < slots; slot++) {
            place.setting = base + slot;
            status = kvr_ablation_add(&place, measures[i], mass[slot] / total);
        }
    }
    return status;
}

/* One pooled vector at every page size; settings count on from those of the operator's first. */
static enum kvr_status add_pooled(struct kvr_ablation_place pages, struct kvr_ablation_place slots,
                                  const struct kvr_cell *cell, const struct kvr_scored *scored,
                                  const float *pooled)
{
    const struct kvr_plan *plan = cell->plan;
    enum kvr_status status = KVR_OK;
    for (size_t p = 0; p < plan->page_size_count; p++) {
        for (size_t reduce = 0; status == KVR_OK && kvr_page_reduce_names[reduce] != NULL;
             reduce++, pages.setting++) {
            struct kvr_room_mark mark = kvr_room_mark(cell->room);
            struct kvr_ablation_kept kept;
            status = kvr_ablation_keep(cell, pooled, plan->page_sizes[p],
                                       (enum kvr_page_reduce)reduce, &kept, pages.err);
            if (status == KVR_OK)
                status = add_pages(&pages, cell, scored, &kept);
            if (status == KVR_OK && (enum kvr_page_reduce)reduce == plan->page_reduce)
                status = add_slots(slots, cell, pooled, &kept);
            kvr_room_return(cell->room, mark);
        }
        slots.setting += (size_t)plan->page_sizes[p];
    }
    return status;
}

enum kvr_status kvr_ablate_pages(struct kvr_ablation_record *record, size_t score,
                                 const struct kvr_cell *cell, const struct kvr_scored *scored,
                                 struct kvr_error *err)
{
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    const struct kvr_weighting own = kvr_weighting_of(cell->plan);
    struct kvr_variant variant;
    size_t count = cell->candidates.count, operators = 0;
    float *pooled = kvr_room_take(cell->room, count, sizeof *pooled, err);
    enum kvr_status status =
        pooled == NULL ? KVR_NO_MEMORY : kvr_variant_make(cell, scored, &own, &variant, err);
    while (kvr_ablation_operators[operators] != NULL)
        operators++;
    for (size_t i = 0; status == KVR_OK && i < operators; i++) {
        const size_t *settings = record->ablation->setting_counts;
        struct kvr_ablation_place pages = {record, KVR_ABLATE_PAGES, score,
                                           i * settings[KVR_ABLATE_PAGES] / operators, err};
        struct kvr_ablation_place slots = {record, KVR_ABLATE_SLOTS, score,
                                           i * settings[KVR_ABLATE_SLOTS] / operators, err};
        kvr_reduce_find(kvr_ablation_operators[i])
            ->pool(scored->vectors, scored->heads, count, variant.scored.weights, pooled);
        status = add_pooled(pages, slots, cell, scored, pooled);
    }
    kvr_room_return(cell->room, mark);
    return status;
}

/* ------------------------------------------------------------------------------------ layers */

/* Both list the same settings of every score that is not excluded in one of them. */
void kvr_ablate_unite(struct kvr_ablation_record *into, const struct kvr_ablation_record *record)
{
    size_t next = 0;
    for (size_t i = 0; i < into->page_count; i++) {
        struct kvr_ablation_pages *pages = &into->pages[i];
        while (next < record->page_count && record->pages[next].score < pages->score)
            next++;
        if (next < record->page_count && record->pages[next].score == pages->score &&
            record->pages[next].setting == pages->setting)
            kvr_bitmap_unite(pages->units, record->pages[next++].units, pages->words);
    }
    for (size_t s = 0; s < into->ablation->plan->score_count; s++)
        into->excluded[s] = into->excluded[s] || record->excluded[s];
}

void kvr_ablate_layer(struct kvr_ablation *ablation, const struct kvr_ablation_record *layer,
                      uint32_t kv_heads)
{
    for (size_t i = 0; i < layer->page_count; i++) {
        const struct kvr_ablation_pages *pages = &layer->pages[i];
        if (layer->excluded[pages->score])
            continue;
        double both = (double)kvr_bitmap_count(pages->units, pages->words);
        double ratio = both / (double)pages->quota;
        kvr_spread_add(kvr_ablation_tally(ablation, KVR_ABLATE_PAGES, pages->score, pages->setting,
                                          KVR_MEASURE_PUR),
                       ratio, 1);
        kvr_spread_add(kvr_ablation_tally(ablation, KVR_ABLATE_PAGES, pages->score, pages->setting,
                                          KVR_MEASURE_PUR_OUTSIDE),
                       ratio < 1 || ratio > kv_heads, 1);
    }
}
