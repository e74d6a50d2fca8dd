/*
 * Loading a cell: geometry first, then the recorded rows, then what follows from the vectors.
 */
#include "replay/cell.h"

#include <math.h>
#include <string.h>

#include "replay/backend.h"
#include "replay/recompute.h"

static enum kvr_status lay_out(struct kvr_cell *cell, struct kvr_error *err)
{
    const struct kvr_plan *plan = cell->plan;
    const struct kvr_sample *sample = cell->key.sample;
    cell->candidates = kvr_candidates_of(sample, cell->key.layer, plan->sinks);
    cell->needle_count = sample->needle_count;
    cell->pages = kvr_room_take(cell->room, plan->page_size_count, sizeof *cell->pages, err);
    cell->needles =
        kvr_room_take_zeroed(cell->room, cell->needle_count, sizeof *cell->needles, err);
    cell->scored = kvr_room_take_zeroed(cell->room, plan->score_count, sizeof *cell->scored, err);
    if (cell->pages == NULL || cell->needles == NULL || cell->scored == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < plan->page_size_count; i++)
        cell->pages[i] = kvr_pages_of(&cell->candidates, plan->page_sizes[i]);
    for (size_t i = 0; i < cell->needle_count; i++)
        kvr_candidates_needle(&cell->candidates, sample->needles[i], &cell->needles[i]);
    return KVR_OK;
}

static enum kvr_status take_vectors(struct kvr_cell *cell, const bool *wanted,
                                    struct kvr_error *err)
{
    const struct kvr_layer *layer = cell->key.layer;
    size_t count = cell->candidates.count;
    for (size_t i = 0; i < cell->plan->score_count; i++) {
        const struct kvr_score *score = &cell->plan->scores[i];
        if ((wanted != NULL && !wanted[i]) || !kvr_score_available(score, cell->key.sample, layer))
            continue;
        struct kvr_scored *scored = &cell->scored[cell->scored_count++];
        scored->score = score;
        scored->heads = kvr_score_vectors(score, layer);
        size_t values = scored->heads * count;
        scored->vectors = kvr_room_take(cell->room, values, sizeof *scored->vectors, err);
        scored->totals = kvr_room_take(cell->room, scored->heads, sizeof(double), err);
        scored->entropies = kvr_room_take(cell->room, scored->heads, sizeof(double), err);
        scored->weights = kvr_room_take(cell->room, scored->heads, sizeof(double), err);
        scored->raw_entropies = kvr_room_take(cell->room, scored->heads, sizeof(double), err);
        if (scored->vectors == NULL || scored->totals == NULL || scored->entropies == NULL ||
            scored->weights == NULL || scored->raw_entropies == NULL)
            return KVR_NO_MEMORY;
    }
    return KVR_OK;
}

static void total_future(struct kvr_future *future, size_t count)
{
    double mass = 0, peak = 0;
    future->mass_total = future->peak_total = NAN;
    if (future->row_count == 0 || !future->finite)
        return;
    /* Adding and taking off that much rounds to multiples of 2^-24 and 2^-48: what sums and sums of
       squares of halves are made of. */
    const double to_sum = 0x1.8p52 * 0x1p-24, to_square = 0x1.8p52 * 0x1p-48;
    size_t odd = 0;
    for (size_t t = 0; t < count; t++) {
        odd += future->mass[t] < 0;
        odd += (future->mass[t] + to_sum) - to_sum != future->mass[t];
        odd += (future->peak[t] + to_square) - to_square != future->peak[t];
        mass += future->mass[t];
        peak += future->peak[t];
    }
    if (fabs(mass) > 0) {
        future->mass_total = mass;
        future->peak_total = peak;
    }
    /* Nothing is negative then: no part of a sum is larger than the whole. */
    future->exact = odd == 0 && mass < 0x1p28 && peak < 0x1p4;
}

static enum kvr_status refuse_not_finite(const struct kvr_cell *cell,
                                         const struct kvr_scored *scored, struct kvr_error *err)
{
    size_t head = 0;
    while (!isnan(scored->totals[head]))
        head++;
    kvr_fail(err, KVR_BAD_INPUT,
             "\"%s\": /samples/%s/layers/%u: %s head %zu is not finite under scorer %s",
             cell->key.trace->path, cell->key.sample->name, cell->key.layer->number,
             scored->heads == cell->key.ratio ? "query" : "KV",
             (size_t)cell->key.group * scored->heads + head, scored->score->label);
    return kvr_hint(err, "--nan exclude leaves such groups out, --nan zero replaces the values");
}

enum kvr_status kvr_cell_load(const struct kvr_plan *plan, const bool *wanted,
                              struct kvr_trace *trace, const struct kvr_cell_key *key,
                              struct kvr_room *room, struct kvr_cell *cell, struct kvr_error *err)
{
    *cell = (struct kvr_cell){.key = *key, .plan = plan, .trace = trace, .room = room};
    enum kvr_status status = lay_out(cell, err);
    if (status == KVR_OK)
        status = take_vectors(cell, wanted, err);
    if (status == KVR_OK && plan->compute != NULL)
        status = plan->compute->backend->enter(plan->compute, cell, err);
    if (status == KVR_OK)
        status = kvr_recompute_load(cell, err);
    if (status == KVR_OK)
        status = kvr_backend_rows(cell, err);
    if (status == KVR_OK)
        total_future(&cell->future, cell->candidates.count);
    for (size_t i = 0; status == KVR_OK && i < cell->scored_count; i++) {
        struct kvr_scored *scored = &cell->scored[i];
        if (scored->score->scorer->compute != NULL)
            status = scored->score->scorer->compute(cell, scored, err);
        if (status != KVR_OK)
            break;
        status = kvr_backend_statistics(cell, scored, err);
        if (status == KVR_OK && scored->not_finite > 0 && plan->nan == KVR_NAN_FAIL)
            status = refuse_not_finite(cell, scored, err);
    }
    if (status != KVR_OK)
        kvr_cell_unload(cell);
    return status;
}

void kvr_cell_unload(struct kvr_cell *cell)
{
    if (cell->lane != NULL)
        cell->lane->backend->leave(cell->lane);
    cell->lane = NULL;
}
