/*
 * From score vectors to kept sets: reduce, smooth, page scores, quotas, select. It must not know
 * what is measured on the result.
 */
#include "replay/selection.h"

#include <string.h>

#include "replay/backend.h"
#include "replay/bitmap.h"
#include "replay/keep.h"

enum kvr_page_reduce kvr_selection_page_reduce(const struct kvr_plan *plan,
                                               const struct kvr_stages *stages)
{
    return stages->page_sum ? KVR_PAGE_SUM : plan->page_reduce;
}

size_t kvr_selection_smooth_length(const struct kvr_stages *stages,
                                   const struct kvr_candidates *candidates)
{
    uint64_t recent = stages->protect.recent;
    return recent < candidates->count ? candidates->count - (size_t)recent : 0;
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
    static const struct kvr_protect nothing = {0};
    *sets = (struct kvr_head_sets){.scored = scored, .pages = pages};
    uint64_t *quotas = take_quotas(cell, pages, err);
    sets->quotas = quotas;
    if (quotas == NULL)
        return KVR_NO_MEMORY;
    struct kvr_ranking ranking = {
        .scored = scored,
        .reduce = kvr_reduce_find("head"),
        .pages = pages,
        .page_reduce = cell->plan->page_reduce,
    };
    struct kvr_ranking_sets kept = {
        .protect = &nothing,
        .quotas = quotas,
        .protect_quotas = quotas,
        .count = cell->plan->budget_count,
        .counted = true,
    };
    enum kvr_status status = kvr_backend_score(cell, &ranking, err);
    if (status == KVR_OK)
        status = kvr_backend_keep(cell, &ranking, &kept, scratch, err);
    sets->unit_scores = ranking.unit_scores;
    sets->sets = kept.sets;
    sets->pairs = kept.pairs;
    sets->unions = kept.unions;
    return status;
}

/* Reduce and smooth: the vectors that the policy ranks, one or one a head. */
static enum kvr_status make_scores(const struct kvr_cell *cell, struct kvr_selection *selection,
                                   const struct kvr_allotment *allotment,
                                   struct kvr_ranking *ranking, struct kvr_error *err)
{
    const struct kvr_stages *stages = selection->stages;
    ranking->layer_vector = allotment != NULL ? allotment->layer_vector : NULL;
    ranking->smooth = stages->smooth;
    ranking->smooth_length = kvr_selection_smooth_length(stages, &cell->candidates);
    ranking->page_reduce = kvr_selection_page_reduce(cell->plan, stages);
    enum kvr_status status = kvr_backend_score(cell, ranking, err);
    selection->pooled = ranking->pooled;
    selection->vector_count = ranking->vector_count;
    selection->unit_scores = ranking->unit_scores;
    return status;
}

/* What each vector keeps at `quotas`, and in `units` the union of it. */
static enum kvr_status keep_union(const struct kvr_cell *cell, const struct kvr_ranking *ranking,
                                  struct kvr_selection *selection, const uint64_t *quotas,
                                  const uint64_t *protect_quotas, uint64_t **units,
                                  struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    size_t words = kvr_bitmap_words(selection->pages->count);
    struct kvr_ranking_sets kept = {
        .protect = &selection->stages->protect,
        .quotas = quotas,
        .protect_quotas = protect_quotas,
        .count = cell->plan->budget_count,
    };
    enum kvr_status status = kvr_backend_keep(cell, ranking, &kept, scratch, err);
    if (status != KVR_OK)
        return status;
    for (size_t b = 0; b < kept.count; b++) {
        if (ranking->vector_count == 1) {
            units[b] = kept.sets[b][0];
            continue;
        }
        memcpy(units[b], kept.sets[b][0], words * sizeof **units);
        for (size_t v = 1; v < ranking->vector_count; v++)
            kvr_bitmap_unite(units[b], kept.sets[b][v], words);
    }
    if (ranking->vector_count > 1)
        selection->own = (uint64_t *const *const *)kept.sets;
    return KVR_OK;
}

/* The same from the heads' own sets, which are at hand. */
static void unite_heads(const struct kvr_cell *cell, const struct kvr_head_sets *heads,
                        struct kvr_selection *selection, uint64_t *const *units)
{
    if (heads->scored->heads > 1)
        selection->own = (uint64_t *const *const *)heads->sets;
    size_t words = kvr_bitmap_words(heads->pages->count);
    for (size_t b = 0; b < cell->plan->budget_count; b++) {
        memcpy(units[b], heads->sets[b][0], words * sizeof **units);
        for (size_t h = 1; h < heads->scored->heads; h++)
            kvr_bitmap_unite(units[b], heads->sets[b][h], words);
    }
}

static const uint64_t *tokens_of(const struct kvr_cell *cell, const struct kvr_pages *pages,
                                 const uint64_t *units, struct kvr_error *err)
{
    if (pages->size == 1)
        return units;
    size_t words = kvr_bitmap_words(cell->candidates.count);
    uint64_t *tokens = kvr_room_take(cell->room, words, sizeof *tokens, err);
    if (tokens != NULL)
        kvr_pages_expand(pages, units, tokens);
    return tokens;
}

static enum kvr_status describe_kept(const struct kvr_cell *cell, struct kvr_selection *selection,
                                     const uint64_t *shown, const uint64_t *quotas,
                                     const uint64_t *protect_quotas, uint64_t *const *units,
                                     struct kvr_error *err)
{
    size_t budgets = cell->plan->budget_count;
    size_t words = kvr_bitmap_words(cell->candidates.count);
    struct kvr_kept *kept = kvr_room_take(cell->room, budgets, sizeof *kept, err);
    if (kept == NULL)
        return KVR_NO_MEMORY;
    for (size_t b = 0; b < budgets; b++) {
        const uint64_t *tokens = tokens_of(cell, selection->pages, units[b], err);
        if (tokens == NULL)
            return KVR_NO_MEMORY;
        kept[b] = (struct kvr_kept){
            .quota = shown[b],
            .allotted = quotas[b],
            .protect_quota = protect_quotas[b],
            .selected = kvr_bitmap_count(units[b], kvr_bitmap_words(selection->pages->count)),
            .kept_tokens = kvr_bitmap_count(tokens, words),
            .units = units[b],
            .tokens = tokens,
        };
    }
    selection->kept = kept;
    return KVR_OK;
}

enum kvr_status kvr_selection_make(const struct kvr_cell *cell, const struct kvr_scored *scored,
                                   size_t use, const struct kvr_pages *pages,
                                   const struct kvr_head_sets *heads,
                                   const struct kvr_allotment *allotment,
                                   struct kvr_select_scratch *scratch,
                                   struct kvr_selection *selection, struct kvr_error *err)
{
    const struct kvr_stages *stages = &cell->plan->policies[cell->plan->uses[use].policy];
    bool own = stages->reduce->scope == KVR_REDUCE_NOTHING;
    bool plain = own && heads != NULL && stages->smooth.kind == KVR_SMOOTH_NONE &&
                 !kvr_protect_any(&stages->protect) && !stages->page_sum;
    *selection =
        (struct kvr_selection){.scored = scored, .use = use, .stages = stages, .pages = pages};
    struct kvr_ranking ranking = {.scored = scored, .reduce = stages->reduce, .pages = pages};
    enum kvr_status status = KVR_OK;
    if (plain) {
        selection->vector_count = ranking.vector_count = scored->heads;
        selection->unit_scores = ranking.unit_scores = heads->unit_scores;
    } else {
        status = make_scores(cell, selection, allotment, &ranking, err);
    }
    uint64_t *uniform = take_quotas(cell, pages, err);
    uint64_t **units = take_sets(cell, pages->count, err);
    if (status != KVR_OK || uniform == NULL || units == NULL)
        return KVR_NO_MEMORY;

    uint64_t *quotas = kvr_room_take(cell->room, cell->plan->budget_count, sizeof *quotas, err);
    if (quotas == NULL)
        return KVR_NO_MEMORY;
    bool allotted = allotment != NULL && allotment->quotas != NULL;
    memcpy(quotas, allotted ? allotment->quotas : uniform,
           cell->plan->budget_count * sizeof *quotas);
    if (own && cell->plan->match_physical) {
        status = kvr_keep_match_union(cell, selection, quotas, scratch, err);
        if (!kvr_allocate_surveys(&stages->allocate))
            uniform = quotas; /* the quota in force is what the table shows */
    }
    if (status != KVR_OK)
        return status;
    /* Groups that compete, or keep all because the gate is closed, protect a fraction of what each
       would have had. */
    bool competes =
        stages->allocate.kind == KVR_ALLOCATE_LAYER || stages->allocate.kind == KVR_ALLOCATE_MODEL;
    bool keeps_all = allotted && allotment->closed;
    const uint64_t *protect_quotas = competes || keeps_all ? uniform : quotas;
    if (plain && !cell->plan->match_physical && !allotted)
        unite_heads(cell, heads, selection, units);
    else
        status = keep_union(cell, &ranking, selection, quotas, protect_quotas, units, scratch, err);
    return status == KVR_OK
               ? describe_kept(cell, selection, uniform, quotas, protect_quotas, units, err)
               : status;
}

/* The rank of `unit`: protected ones stand first. */
static size_t rank_of(const float *scores, struct kvr_protected protected, size_t unit)
{
    size_t rank = kvr_protected_rank(protected, unit);
    if (rank < protected.count)
        return rank;
    size_t among = kvr_rank_of(scores + protected.first, protected.last - protected.first,
                               unit - protected.first);
    return kvr_protected_count(protected) + among;
}

size_t kvr_selection_rank(const struct kvr_selection *selection, size_t budget,
                          struct kvr_range range)
{
    const struct kvr_pages *pages = selection->pages;
    struct kvr_protected protected = kvr_protect_units(&selection->stages->protect, pages,
                                                       selection->kept[budget].protect_quota);
    size_t first = kvr_pages_unit(pages, range.start);
    size_t last = kvr_pages_unit(pages, range.end - 1);
    size_t least = pages->count;
    for (size_t v = 0; v < selection->vector_count; v++) {
        const float *scores = selection->unit_scores[v];
        size_t best = first;
        for (size_t unit = first; unit <= last; unit++) {
            size_t rank = kvr_protected_rank(protected, unit);
            if (rank < least)
                least = rank;
            if (scores[unit] > scores[best] || kvr_protected_rank(protected, best) < pages->count)
                best = unit;
        }
        size_t rank = rank_of(scores, protected, best);
        if (rank < least)
            least = rank;
    }
    return least;
}
