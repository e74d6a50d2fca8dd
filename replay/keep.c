/*
 * Select order: protected units first, then falling score. It must not know where scores or quotas
 * come from.
 */
#include "replay/keep.h"

#include <math.h>
#include <string.h>

#include "replay/bitmap.h"

void kvr_keep_protected(struct kvr_protected protected, uint64_t quota, uint64_t *set)
{
    size_t recent = protected.count - protected.last;
    size_t first = quota < protected.first ? (size_t)quota : protected.first;
    uint64_t left = quota - first;
    size_t newest = left < recent ? (size_t)left : recent;
    kvr_bitmap_add_span(set, 0, first);
    kvr_bitmap_add_span(set, protected.count - newest, protected.count);
}

/* The scores with the protected units out of the way. */
static void mask_protected(struct kvr_protected protected, const float *scores, float *masked)
{
    memcpy(masked, scores, protected.count * sizeof *masked);
    for (size_t u = 0; u < protected.first; u++)
        masked[u] = -INFINITY;
    for (size_t u = protected.last; u < protected.count; u++)
        masked[u] = -INFINITY;
}

static enum kvr_status keep_masked(struct kvr_protected protected, const float *scores,
                                   const uint64_t *quotas, size_t count, uint64_t *const *sets,
                                   struct kvr_room *room, struct kvr_select_scratch *scratch,
                                   struct kvr_error *err)
{
    size_t held = kvr_protected_count(protected);
    float *masked = kvr_room_take(room, protected.count, sizeof *masked, err);
    uint64_t *free_quotas = kvr_room_take(room, count, sizeof *free_quotas, err);
    if (masked == NULL || free_quotas == NULL)
        return KVR_NO_MEMORY;
    mask_protected(protected, scores, masked);
    for (size_t i = 0; i < count; i++)
        free_quotas[i] = quotas[i] > held ? quotas[i] - held : 0;
    enum kvr_status status =
        kvr_select_top(masked, protected.count, free_quotas, count, sets, scratch, err);
    for (size_t i = 0; status == KVR_OK && i < count; i++)
        kvr_keep_protected(protected, quotas[i], sets[i]);
    return status;
}

enum kvr_status kvr_keep_first(const struct kvr_protect *protect, const struct kvr_pages *pages,
                               const float *scores, const uint64_t *quotas,
                               const uint64_t *protect_quotas, size_t count, uint64_t *const *sets,
                               struct kvr_room *room, struct kvr_select_scratch *scratch,
                               struct kvr_error *err)
{
    if (!kvr_protect_any(protect))
        return kvr_select_top(scores, pages->count, quotas, count, sets, scratch, err);
    struct kvr_room_mark mark = kvr_room_mark(room);
    enum kvr_status status = KVR_OK;
    if (protect->has_fraction) {
        for (size_t i = 0; status == KVR_OK && i < count; i++)
            status = keep_masked(kvr_protect_units(protect, pages, protect_quotas[i]), scores,
                                 &quotas[i], 1, &sets[i], room, scratch, err);
    } else {
        status = keep_masked(kvr_protect_units(protect, pages, 0), scores, quotas, count, sets,
                             room, scratch, err);
    }
    kvr_room_return(room, mark);
    return status;
}

uint64_t kvr_largest_union_within(uint32_t *const *orders, size_t heads, size_t n, uint64_t limit,
                                  uint64_t *seen)
{
    uint64_t held = 0;
    for (size_t k = 0; k < n; k++) {
        for (size_t h = 0; h < heads; h++) {
            held += !kvr_bitmap_has(seen, orders[h][k]);
            kvr_bitmap_add(seen, orders[h][k]);
        }
        if (held > limit)
            return k;
    }
    return n;
}

/* The whole select order of one vector whose protected units do not depend on the quota. */
static enum kvr_status order_of(struct kvr_protected protected, const float *scores,
                                uint32_t *order, struct kvr_room *room,
                                struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    size_t held = kvr_protected_count(protected);
    uint32_t *ranked = kvr_room_take(room, protected.count, sizeof *ranked, err);
    float *masked = kvr_room_take(room, protected.count, sizeof *masked, err);
    if (ranked == NULL || masked == NULL)
        return KVR_NO_MEMORY;
    mask_protected(protected, scores, masked);
    for (size_t rank = 0; rank < held; rank++)
        order[rank] = (uint32_t)kvr_protected_at(protected, rank);
    enum kvr_status status = kvr_rank(masked, protected.count, ranked, scratch, err);
    if (status == KVR_OK)
        memcpy(order + held, ranked, (protected.count - held) * sizeof *order);
    return status;
}

/* One ranking per vector answers every budget, because the kept sets are nested. */
static enum kvr_status match_nested(const struct kvr_cell *cell,
                                    const struct kvr_selection *selection, uint64_t *quotas,
                                    struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    size_t n = selection->pages->count, count = selection->vector_count;
    struct kvr_protected protected =
        kvr_protect_units(&selection->stages->protect, selection->pages, 0);
    uint32_t **orders = kvr_room_take(cell->room, count, sizeof *orders, err);
    uint64_t *seen = kvr_room_take(cell->room, kvr_bitmap_words(n), sizeof *seen, err);
    if (orders == NULL || seen == NULL)
        return KVR_NO_MEMORY;
    for (size_t v = 0; v < count; v++) {
        orders[v] = kvr_room_take(cell->room, n, sizeof **orders, err);
        if (orders[v] == NULL)
            return KVR_NO_MEMORY;
        enum kvr_status status =
            order_of(protected, selection->unit_scores[v], orders[v], cell->room, scratch, err);
        if (status != KVR_OK)
            return status;
    }
    for (size_t b = 0; b < cell->plan->budget_count; b++) {
        memset(seen, 0, kvr_bitmap_words(n) * sizeof *seen);
        quotas[b] = kvr_largest_union_within(orders, count, n, quotas[b], seen);
    }
    return KVR_OK;
}

/* Where a fraction of the quota is protected, sets are not nested: every k' is tried. */
static enum kvr_status match_by_trial(const struct kvr_cell *cell,
                                      const struct kvr_selection *selection, uint64_t *quota,
                                      struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    size_t words = kvr_bitmap_words(selection->pages->count);
    uint64_t *own = kvr_room_take(cell->room, words, sizeof *own, err);
    uint64_t *together = kvr_room_take(cell->room, words, sizeof *together, err);
    if (own == NULL || together == NULL)
        return KVR_NO_MEMORY;
    uint64_t limit = *quota;
    for (uint64_t trial = limit; trial > 0; trial--) {
        memset(together, 0, words * sizeof *together);
        for (size_t v = 0; v < selection->vector_count; v++) {
            enum kvr_status status = kvr_keep_first(&selection->stages->protect, selection->pages,
                                                    selection->unit_scores[v], &trial, &trial, 1,
                                                    &own, cell->room, scratch, err);
            if (status != KVR_OK)
                return status;
            kvr_bitmap_unite(together, own, words);
        }
        if (kvr_bitmap_count(together, words) <= limit) {
            *quota = trial;
            return KVR_OK;
        }
    }
    *quota = 0;
    return KVR_OK;
}

enum kvr_status kvr_keep_match_union(const struct kvr_cell *cell,
                                     const struct kvr_selection *selection, uint64_t *quotas,
                                     struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    enum kvr_status status = KVR_OK;
    if (!selection->stages->protect.has_fraction)
        status = match_nested(cell, selection, quotas, scratch, err);
    else
        for (size_t b = 0; status == KVR_OK && b < cell->plan->budget_count; b++)
            status = match_by_trial(cell, selection, &quotas[b], scratch, err);
    kvr_room_return(cell->room, mark);
    return status;
}
