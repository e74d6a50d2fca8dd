/*
 * Ranking on the CPU: reduce, smooth, page scores; then select, vector by vector. It must not know
 * where quotas come from.
 */
#include "replay/ranking.h"

#include "replay/bitmap.h"
#include "replay/keep.h"

/* Scores per unit of one vector: the vector itself at page size 1. */
static float *unit_scores_of(const struct kvr_cell *cell, const struct kvr_ranking *ranking,
                             float *vector, struct kvr_error *err)
{
    if (ranking->pages->size == 1)
        return vector;
    float *scores = kvr_room_take(cell->room, ranking->pages->count, sizeof *scores, err);
    if (scores != NULL)
        kvr_pages_score(ranking->pages, ranking->page_reduce, vector, scores);
    return scores;
}

/* The vector as it is ranked at token granularity. */
static float *smoothed(const struct kvr_cell *cell, const struct kvr_ranking *ranking,
                       float *vector, struct kvr_error *err)
{
    if (ranking->smooth.kind == KVR_SMOOTH_NONE)
        return vector;
    float *out = kvr_room_take(cell->room, cell->candidates.count, sizeof *out, err);
    if (out != NULL)
        kvr_smooth_apply(ranking->smooth, vector, ranking->smooth_length, cell->candidates.count,
                         out);
    return out;
}

enum kvr_status kvr_ranking_score(const struct kvr_cell *cell, struct kvr_ranking *ranking,
                                  struct kvr_error *err)
{
    const struct kvr_scored *scored = ranking->scored;
    size_t count = cell->candidates.count;
    float *vectors = scored->vectors;
    ranking->vector_count = scored->heads;
    if (ranking->reduce->scope != KVR_REDUCE_NOTHING) {
        ranking->pooled = ranking->layer_vector;
        if (ranking->pooled == NULL) {
            ranking->pooled = kvr_room_take(cell->room, count, sizeof *vectors, err);
            if (ranking->pooled == NULL)
                return KVR_NO_MEMORY;
            ranking->reduce->pool(vectors, scored->heads, count, scored->weights, ranking->pooled);
        }
        vectors = ranking->pooled;
        ranking->vector_count = 1;
    }
    ranking->unit_scores =
        kvr_room_take(cell->room, ranking->vector_count, sizeof *ranking->unit_scores, err);
    if (ranking->unit_scores == NULL)
        return KVR_NO_MEMORY;
    for (size_t v = 0; v < ranking->vector_count; v++) {
        float *vector = smoothed(cell, ranking, vectors + v * count, err);
        ranking->unit_scores[v] =
            vector != NULL ? unit_scores_of(cell, ranking, vector, err) : NULL;
        if (ranking->unit_scores[v] == NULL)
            return KVR_NO_MEMORY;
    }
    return KVR_OK;
}

enum kvr_status kvr_ranking_take_sets(const struct kvr_cell *cell,
                                      const struct kvr_ranking *ranking,
                                      struct kvr_ranking_sets *sets, struct kvr_error *err)
{
    size_t vectors = ranking->vector_count;
    size_t words = kvr_bitmap_words(ranking->pages->count);
    uint64_t *all = kvr_room_take(cell->room, vectors * sets->count * words, sizeof *all, err);
    uint64_t **each = kvr_room_take(cell->room, vectors * sets->count, sizeof *each, err);
    sets->sets = kvr_room_take(cell->room, sets->count, sizeof *sets->sets, err);
    if (all == NULL || each == NULL || sets->sets == NULL)
        return KVR_NO_MEMORY;
    for (size_t b = 0; b < sets->count; b++) {
        sets->sets[b] = each + b * vectors;
        for (size_t v = 0; v < vectors; v++)
            sets->sets[b][v] = all + (v * sets->count + b) * words;
    }
    return KVR_OK;
}

enum kvr_status kvr_ranking_keep(const struct kvr_cell *cell, const struct kvr_ranking *ranking,
                                 struct kvr_ranking_sets *sets, struct kvr_select_scratch *scratch,
                                 struct kvr_error *err)
{
    enum kvr_status status = kvr_ranking_take_sets(cell, ranking, sets, err);
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    uint64_t **own = kvr_room_take(cell->room, sets->count, sizeof *own, err);
    if (status != KVR_OK || own == NULL)
        return KVR_NO_MEMORY;
    for (size_t v = 0; status == KVR_OK && v < ranking->vector_count; v++) {
        for (size_t b = 0; b < sets->count; b++)
            own[b] = sets->sets[b][v];
        status =
            kvr_keep_first(sets->protect, ranking->pages, ranking->unit_scores[v], sets->quotas,
                           sets->protect_quotas, sets->count, own, cell->room, scratch, err);
    }
    kvr_room_return(cell->room, mark);
    return status;
}

enum kvr_status kvr_ranking_order(const struct kvr_cell *cell, struct kvr_orders *orders,
                                  struct kvr_error *err)
{
    (void)cell;
    struct kvr_select_scratch scratch = {0};
    enum kvr_status status = KVR_OK;
    for (size_t v = 0; status == KVR_OK && v < orders->vectors; v++)
        status = kvr_rank(orders->scores[v], orders->units, orders->orders[v], &scratch, err);
    kvr_select_scratch_free(&scratch);
    return status;
}
