/*
 * From score vectors to kept sets: reduce, page scores, quotas, select. It must not know what is
 * measured on the result.
 */
#include "replay/selection.h"

#include <string.h>

#include "replay/bitmap.h"

/* Scores per unit of one vector: the vector itself at page size 1. */
static float *unit_scores_of(const struct kvr_cell *cell, const struct kvr_pages *pages,
                             float *vector, struct kvr_error *err)
{
    if (pages->size == 1)
        return vector;
    float *scores = kvr_room_take(cell->room, pages->count, sizeof *scores, err);
    if (scores != NULL)
        kvr_pages_score(pages, cell->plan->page_reduce, vector, scores);
    return scores;
}

/* [budgets] bitmaps of `bits` bits, uninitialised. */
static uint64_t **take_sets(const struct kvr_cell *cell, size_t bits, struct kvr_error *err)
{
    size_t count = cell->plan->budget_count, words = kvr_bitmap_words(bits);
    uint64_t **sets = kvr_room_take(cell->room, count, sizeof *sets, err);
    uint64_t *all = kvr_room_take(cell->room, count * words, sizeof *all, err);
    if (sets == NULL || all == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        sets[i] = all + i * words;
    return sets;
}

static uint64_t *take_quotas(const struct kvr_cell *cell, const struct kvr_pages *pages,
                             struct kvr_error *err)
{
    const struct kvr_plan *plan = cell->plan;
    uint64_t *quotas = kvr_room_take(cell->room, plan->budget_count, sizeof *quotas, err);
    for (size_t i = 0; quotas != NULL && i < plan->budget_count; i++)
        quotas[i] = kvr_budget_quota(plan->budgets[i].fraction, pages);
    return quotas;
}

enum kvr_status kvr_head_sets_make(const struct kvr_cell *cell, const struct kvr_scored *scored,
                                   const struct kvr_pages *pages,
                                   struct kvr_select_scratch *scratch, struct kvr_head_sets *sets,
                                   struct kvr_error *err)
{
    size_t budgets = cell->plan->budget_count, heads = scored->heads;
    *sets = (struct kvr_head_sets){.scored = scored, .pages = pages};
    uint64_t *quotas = take_quotas(cell, pages, err);
    sets->quotas = quotas;
    sets->unit_scores = kvr_room_take(cell->room, heads, sizeof *sets->unit_scores, err);
    sets->sets = kvr_room_take(cell->room, budgets, sizeof *sets->sets, err);
    if (quotas == NULL || sets->unit_scores == NULL || sets->sets == NULL)
        return KVR_NO_MEMORY;
    for (size_t b = 0; b < budgets; b++) {
        sets->sets[b] = kvr_room_take(cell->room, heads, sizeof **sets->sets, err);
        if (sets->sets[b] == NULL)
            return KVR_NO_MEMORY;
    }
    for (size_t h = 0; h < heads; h++) {
        float *vector = scored->vectors + h * cell->candidates.count;
        sets->unit_scores[h] = unit_scores_of(cell, pages, vector, err);
        uint64_t **own = take_sets(cell, pages->count, err);
        if (sets->unit_scores[h] == NULL || own == NULL)
            return KVR_NO_MEMORY;
        enum kvr_status status = kvr_select_top(sets->unit_scores[h], pages->count, quotas,
                                                budgets, own, scratch, err);
        if (status != KVR_OK)
            return status;
        for (size_t b = 0; b < budgets; b++)
            sets->sets[b][h] = own[b];
    }
    return KVR_OK;
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

/* At equal memory every quota becomes the largest k' whose union fits the nominal one. */
static enum kvr_status match_physical(const struct kvr_cell *cell,
                                      const struct kvr_head_sets *heads, uint64_t *quotas,
                                      struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    size_t n = heads->pages->count, count = heads->scored->heads;
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    uint32_t **orders = kvr_room_take(cell->room, count, sizeof *orders, err);
    uint64_t *seen = kvr_room_take(cell->room, kvr_bitmap_words(n), sizeof *seen, err);
    if (orders == NULL || seen == NULL)
        return KVR_NO_MEMORY;
    for (size_t h = 0; h < count; h++) {
        orders[h] = kvr_room_take(cell->room, n, sizeof **orders, err);
        if (orders[h] == NULL)
            return KVR_NO_MEMORY;
        enum kvr_status status = kvr_rank(heads->unit_scores[h], n, orders[h], scratch, err);
        if (status != KVR_OK)
            return status;
    }
    for (size_t b = 0; b < cell->plan->budget_count; b++) {
        memset(seen, 0, kvr_bitmap_words(n) * sizeof *seen);
        quotas[b] = kvr_largest_union_within(orders, count, n, quotas[b], seen);
    }
    kvr_room_return(cell->room, mark);
    return KVR_OK;
}

/* Reduce `head`: the union of the heads' sets. */
static enum kvr_status keep_union(const struct kvr_cell *cell, const struct kvr_head_sets *heads,
                                  uint64_t *quotas, uint64_t *const *units,
                                  struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    size_t budgets = cell->plan->budget_count, words = kvr_bitmap_words(heads->pages->count);
    for (size_t b = 0; b < budgets; b++)
        memset(units[b], 0, words * sizeof **units);
    if (!cell->plan->match_physical) {
        for (size_t b = 0; b < budgets; b++)
            for (size_t h = 0; h < heads->scored->heads; h++)
                kvr_bitmap_unite(units[b], heads->sets[b][h], words);
        return KVR_OK;
    }
    enum kvr_status status = match_physical(cell, heads, quotas, scratch, err);
    uint64_t **own = take_sets(cell, heads->pages->count, err);
    if (status != KVR_OK || own == NULL)
        return KVR_NO_MEMORY;
    for (size_t h = 0; h < heads->scored->heads; h++) {
        status = kvr_select_top(heads->unit_scores[h], heads->pages->count, quotas, budgets, own,
                                scratch, err);
        if (status != KVR_OK)
            return status;
        for (size_t b = 0; b < budgets; b++)
            kvr_bitmap_unite(units[b], own[b], words);
    }
    return KVR_OK;
}

static enum kvr_status keep_pooled(const struct kvr_cell *cell, struct kvr_selection *selection,
                                   const uint64_t *quotas, uint64_t *const *units,
                                   struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    const struct kvr_scored *scored = selection->scored;
    size_t count = cell->candidates.count;
    float *pooled = kvr_room_take(cell->room, count, sizeof *pooled, err);
    float **scores = kvr_room_take(cell->room, 1, sizeof *scores, err);
    if (pooled == NULL || scores == NULL)
        return KVR_NO_MEMORY;
    selection->policy->reduce->pool(scored->vectors, scored->heads, count, scored->weights,
                                    pooled);
    scores[0] = unit_scores_of(cell, selection->pages, pooled, err);
    if (scores[0] == NULL)
        return KVR_NO_MEMORY;
    selection->vector_count = 1;
    selection->pooled = pooled;
    selection->unit_scores = scores;
    return kvr_select_top(scores[0], selection->pages->count, quotas, cell->plan->budget_count,
                          units, scratch, err);
}

static const uint64_t *tokens_of(const struct kvr_cell *cell, const struct kvr_pages *pages,
                                 const uint64_t *units, struct kvr_error *err)
{
    if (pages->size == 1)
        return units;
    size_t words = kvr_bitmap_words(cell->candidates.count);
    uint64_t *tokens = kvr_room_take_zeroed(cell->room, words, sizeof *tokens, err);
    if (tokens != NULL)
        kvr_pages_expand(pages, units, tokens);
    return tokens;
}

enum kvr_status kvr_selection_make(const struct kvr_cell *cell, const struct kvr_head_sets *heads,
                                   const struct kvr_policy_use *policy,
                                   struct kvr_select_scratch *scratch,
                                   struct kvr_selection *selection, struct kvr_error *err)
{
    const struct kvr_pages *pages = heads->pages;
    size_t budgets = cell->plan->budget_count;
    *selection = (struct kvr_selection){
        .scored = heads->scored,
        .policy = policy,
        .pages = pages,
        .vector_count = heads->scored->heads,
        .unit_scores = heads->unit_scores,
    };
    struct kvr_kept *kept = kvr_room_take(cell->room, budgets, sizeof *kept, err);
    uint64_t *quotas = take_quotas(cell, pages, err);
    uint64_t **units = take_sets(cell, pages->count, err);
    if (kept == NULL || quotas == NULL || units == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status =
        policy->reduce->pool == NULL
            ? keep_union(cell, heads, quotas, units, scratch, err)
            : keep_pooled(cell, selection, quotas, units, scratch, err);
    if (status != KVR_OK)
        return status;
    for (size_t b = 0; b < budgets; b++) {
        const uint64_t *tokens = tokens_of(cell, pages, units[b], err);
        if (tokens == NULL)
            return KVR_NO_MEMORY;
        size_t words = kvr_bitmap_words(cell->candidates.count);
        kept[b] = (struct kvr_kept){
            .quota = quotas[b],
            .selected = kvr_bitmap_count(units[b], kvr_bitmap_words(pages->count)),
            .kept_tokens = kvr_bitmap_count(tokens, words),
            .units = units[b],
            .tokens = tokens,
        };
    }
    selection->kept = kept;
    return KVR_OK;
}

size_t kvr_selection_rank(const struct kvr_selection *selection, struct kvr_range range)
{
    const struct kvr_pages *pages = selection->pages;
    size_t first = kvr_pages_unit(pages, range.start);
    size_t last = kvr_pages_unit(pages, range.end - 1);
    size_t least = pages->count;
    for (size_t v = 0; v < selection->vector_count; v++) {
        const float *scores = selection->unit_scores[v];
        size_t best = first;
        for (size_t unit = first + 1; unit <= last; unit++)
            if (scores[unit] > scores[best])
                best = unit;
        size_t rank = kvr_rank_of(scores, pages->count, best);
        if (rank < least)
            least = rank;
    }
    return least;
}
