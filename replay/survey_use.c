/*
 * One policy's part of a survey: what is kept of each cell, and the quotas that follow. It must not
 * know how cells are loaded or in which order.
 */
#include "replay/survey_use.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "replay/bitmap.h"
#include "replay/keep.h"

enum kvr_status survey_use_open(struct survey_use *use, size_t cell_count, size_t page_count,
                                struct kvr_error *err)
{
    *use = (struct survey_use){.page_count = page_count};
    use->cells = kvr_alloc(cell_count, sizeof *use->cells, err);
    if (use->cells == NULL)
        return KVR_NO_MEMORY;
    use->cell_count = cell_count;
    for (size_t c = 0; c < cell_count; c++) {
        use->cells[c].quotas = kvr_alloc(page_count, sizeof *use->cells[c].quotas, err);
        if (use->cells[c].quotas == NULL)
            return KVR_NO_MEMORY;
    }
    return KVR_OK;
}

void survey_use_close(struct survey_use *use)
{
    const float *freed = NULL;
    for (size_t c = 0; c < use->cell_count; c++) {
        struct survey_cell *cell = &use->cells[c];
        for (size_t p = 0; cell->quotas != NULL && p < use->page_count; p++)
            free(cell->quotas[p]);
        free(cell->quotas);
        free(cell->vectors);
        if (cell->layer_vector != freed) { /* shared by neighbours */
            freed = cell->layer_vector;
            free(cell->layer_vector);
        }
    }
    free(use->cells);
    *use = (struct survey_use){0};
}

/* Only competition ranks by scores; the other quotas depend on counts. */
static bool competes(const struct kvr_stages *stages)
{
    return stages->allocate.kind == KVR_ALLOCATE_LAYER ||
           stages->allocate.kind == KVR_ALLOCATE_MODEL;
}

enum kvr_status survey_use_take(struct survey_use *use, size_t index, const struct kvr_cell *cell,
                                const struct kvr_scored *scored, size_t use_index,
                                struct kvr_error *err)
{
    const struct kvr_stages *stages = &cell->plan->policies[cell->plan->uses[use_index].policy];
    struct survey_cell *taken = &use->cells[index];
    size_t count = cell->candidates.count;
    taken->finite = true;
    bool pooled = stages->reduce->scope != KVR_REDUCE_LAYER;
    if (pooled && !competes(stages))
        return KVR_OK;
    taken->heads = pooled ? 1 : scored->heads;
    taken->vectors = kvr_alloc_vector(taken->heads * count, sizeof *taken->vectors, err);
    if (taken->vectors == NULL)
        return KVR_NO_MEMORY;
    if (!pooled) {
        memcpy(taken->vectors, scored->vectors, taken->heads * count * sizeof *taken->vectors);
        return KVR_OK;
    }
    float *vector = kvr_room_take(cell->room, count, sizeof *vector, err);
    if (vector == NULL)
        return KVR_NO_MEMORY;
    stages->reduce->pool(scored->vectors, scored->heads, count, scored->weights, vector);
    kvr_smooth_apply(stages->smooth, vector, kvr_selection_smooth_length(stages, &cell->candidates),
                     count, taken->vectors);
    return KVR_OK;
}

/* The cells [begin, end) of one layer. */
struct layer_span {
    size_t begin, end;
    struct kvr_candidates candidates;
    bool takes_part; /* full attention, and some group is finite */
};

static struct layer_span layer_at(const struct kvr_survey *survey, const struct survey_use *use,
                                  size_t begin)
{
    const struct kvr_cell_key *key = &survey->cells[begin];
    struct layer_span span = {
        begin, begin, kvr_candidates_of(key->sample, key->layer, survey->plan->sinks), false};
    while (span.end < survey->cell_count && survey->cells[span.end].layer == key->layer)
        span.takes_part |= use->cells[span.end++].finite;
    span.takes_part = span.takes_part && key->layer->sliding_window == 0;
    return span;
}

/* Reduce `layer`: the mean over all heads of the layer's finite groups, in head order; then the
   groups' own vectors, where they compete, become that vector, smoothed. */
static enum kvr_status pool_layer(const struct survey_use *use, const struct kvr_stages *stages,
                                  const struct layer_span *span, struct kvr_error *err)
{
    size_t count = span->candidates.count, heads = 0;
    double *sum = kvr_alloc(count, sizeof *sum, err);
    float *pooled = kvr_alloc_vector(count, sizeof *pooled, err);
    if (sum == NULL || pooled == NULL) {
        free(sum);
        free(pooled);
        return KVR_NO_MEMORY;
    }
    for (size_t c = span->begin; c < span->end; c++) {
        const struct survey_cell *cell = &use->cells[c];
        for (size_t h = 0; cell->finite && h < cell->heads; h++, heads++)
            for (size_t t = 0; t < count; t++)
                sum[t] += (double)cell->vectors[h * count + t];
    }
    for (size_t t = 0; t < count; t++)
        pooled[t] = (float)(sum[t] / (double)heads);
    for (size_t c = span->begin; c < span->end; c++) {
        struct survey_cell *cell = &use->cells[c];
        cell->layer_vector = pooled;
        free(cell->vectors); /* as many as the group has heads */
        cell->vectors = NULL;
    }
    free(sum);
    enum kvr_status status = KVR_OK;
    for (size_t c = span->begin; status == KVR_OK && c < span->end && competes(stages); c++) {
        struct survey_cell *cell = &use->cells[c];
        if (!cell->finite)
            continue;
        cell->vectors = kvr_alloc_vector(count, sizeof *cell->vectors, err);
        if (cell->vectors == NULL)
            status = KVR_NO_MEMORY;
        else
            kvr_smooth_apply(stages->smooth, pooled,
                             kvr_selection_smooth_length(stages, &span->candidates), count,
                             cell->vectors);
    }
    return status;
}

enum kvr_status survey_use_taken(const struct kvr_survey *survey, struct survey_use *use,
                                 size_t use_index, size_t index, struct kvr_error *err)
{
    const struct kvr_plan *plan = survey->plan;
    const struct kvr_stages *stages = &plan->policies[plan->uses[use_index].policy];
    const struct kvr_layer *layer = survey->cells[index].layer;
    bool last = index + 1 == survey->cell_count || survey->cells[index + 1].layer != layer;
    if (!last || stages->reduce->scope != KVR_REDUCE_LAYER)
        return KVR_OK;
    size_t begin = index;
    while (begin > 0 && survey->cells[begin - 1].layer == layer)
        begin--;
    struct layer_span span = layer_at(survey, use, begin);
    for (size_t c = span.begin; c < span.end; c++)
        if (use->cells[c].finite)
            return pool_layer(use, stages, &span, err);
    return KVR_OK;
}

/* What settling one use at one page size needs. */
struct settling {
    const struct kvr_survey *survey;
    struct survey_use *use;
    const struct kvr_stages *stages;
    size_t page; /* index into the plan's page sizes */
    struct kvr_select_scratch *scratch;
};

static enum kvr_status give(const struct settling *settling, size_t cell, size_t budget,
                            uint64_t quota, struct kvr_error *err)
{
    uint64_t **quotas = &settling->use->cells[cell].quotas[settling->page];
    if (*quotas == NULL)
        *quotas = kvr_alloc(settling->survey->plan->budget_count, sizeof **quotas, err);
    if (*quotas == NULL)
        return KVR_NO_MEMORY;
    (*quotas)[budget] = quota;
    return KVR_OK;
}

static struct kvr_pages pages_at(const struct settling *settling, const struct layer_span *span)
{
    return kvr_pages_of(&span->candidates, settling->survey->plan->page_sizes[settling->page]);
}

static uint64_t uniform_quota(const struct settling *settling, const struct kvr_pages *pages,
                              size_t budget)
{
    return kvr_budget_quota(settling->survey->plan->budgets[budget].fraction, pages);
}

/* The same quota for every group of layer `span`. */
static enum kvr_status give_layer(const struct settling *settling, const struct layer_span *span,
                                  size_t budget, uint64_t quota, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t c = span->begin; status == KVR_OK && c < span->end; c++)
        if (settling->use->cells[c].finite)
            status = give(settling, c, budget, quota, err);
    return status;
}

static enum kvr_status settle_pyramid(const struct settling *settling,
                                      const struct layer_span *spans, size_t span_count,
                                      size_t budget, struct kvr_error *err)
{
    if (span_count == 0)
        return KVR_OK;
    struct kvr_pages pages = pages_at(settling, &spans[0]);
    const struct kvr_protect recent = {.recent = settling->stages->protect.recent};
    uint64_t *quotas = kvr_alloc(span_count, sizeof *quotas, err);
    if (quotas == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_allocate_pyramid(
        settling->stages->allocate.parameter, uniform_quota(settling, &pages, budget),
        kvr_protected_count(kvr_protect_units(&recent, &pages, 0)), pages.count, span_count, quotas,
        err);
    for (size_t i = 0; status == KVR_OK && i < span_count; i++)
        status = give_layer(settling, &spans[i], budget, quotas[i], err);
    free(quotas);
    return status;
}

/* The groups that compete, with their scores and what they have for certain. */
struct competitors {
    size_t count;
    size_t *cells;
    float **scores;
    uint64_t **secured;
    uint64_t *quotas;
};

static void free_competitors(struct competitors *rivals)
{
    for (size_t i = 0; i < rivals->count; i++) {
        if (rivals->scores != NULL)
            free(rivals->scores[i]);
        if (rivals->secured != NULL)
            free(rivals->secured[i]);
    }
    free(rivals->cells);
    free(rivals->scores);
    free(rivals->secured);
    free(rivals->quotas);
}

static enum kvr_status enter(const struct settling *settling, const struct kvr_pages *pages,
                             size_t cell, size_t budget, struct competitors *rivals,
                             struct kvr_error *err)
{
    const struct kvr_stages *stages = settling->stages;
    uint64_t quota = uniform_quota(settling, pages, budget);
    struct kvr_protected protected = kvr_protect_units(&stages->protect, pages, quota);
    uint64_t secured = kvr_decimal_floor(stages->allocate.parameter, quota, 1);
    uint64_t held = kvr_protected_count(protected);
    if (secured < (held < quota ? held : quota))
        secured = held < quota ? held : quota;

    size_t i = rivals->count++;
    rivals->cells[i] = cell;
    rivals->scores[i] = kvr_alloc_vector(pages->count, sizeof **rivals->scores, err);
    rivals->secured[i] = kvr_alloc(kvr_bitmap_words(pages->count), sizeof **rivals->secured, err);
    if (rivals->scores[i] == NULL || rivals->secured[i] == NULL)
        return KVR_NO_MEMORY;
    if (pages->size == 1)
        memcpy(rivals->scores[i], settling->use->cells[cell].vectors,
               pages->count * sizeof **rivals->scores);
    else
        kvr_pages_score(pages, kvr_selection_page_reduce(settling->survey->plan, stages),
                        settling->use->cells[cell].vectors, rivals->scores[i]);
    struct kvr_room room = {0};
    enum kvr_status status =
        kvr_keep_first(&stages->protect, pages, rivals->scores[i], &secured, &quota, 1,
                       &rivals->secured[i], &room, settling->scratch, err);
    kvr_room_free(&room);
    return status;
}

/* Groups of the layers [spans, spans + span_count) compete with each other. */
static enum kvr_status settle_competition(const struct settling *settling,
                                          const struct layer_span *spans, size_t span_count,
                                          size_t budget, struct kvr_error *err)
{
    if (span_count == 0)
        return KVR_OK;
    size_t most = spans[span_count - 1].end - spans[0].begin;
    struct kvr_pages pages = pages_at(settling, &spans[0]);
    struct competitors rivals = {
        .cells = kvr_alloc(most, sizeof(size_t), err),
        .scores = kvr_alloc(most, sizeof(float *), err),
        .secured = kvr_alloc(most, sizeof(uint64_t *), err),
        .quotas = kvr_alloc(most, sizeof(uint64_t), err),
    };
    bool failed = rivals.cells == NULL || rivals.scores == NULL || rivals.secured == NULL ||
                  rivals.quotas == NULL;
    enum kvr_status status = failed ? KVR_NO_MEMORY : KVR_OK;
    for (size_t s = 0; s < span_count; s++)
        for (size_t c = spans[s].begin; status == KVR_OK && c < spans[s].end; c++)
            if (settling->use->cells[c].finite)
                status = enter(settling, &pages, c, budget, &rivals, err);
    if (status == KVR_OK)
        status = kvr_allocate_compete((const float *const *)rivals.scores,
                                      (const uint64_t *const *)rivals.secured, rivals.count,
                                      pages.count, uniform_quota(settling, &pages, budget),
                                      rivals.quotas, settling->scratch, err);
    for (size_t i = 0; status == KVR_OK && i < rivals.count; i++)
        status = give(settling, rivals.cells[i], budget, rivals.quotas[i], err);
    free_competitors(&rivals);
    return status;
}

static enum kvr_status settle_budget(const struct settling *settling,
                                     const struct layer_span *spans, size_t span_count, bool closed,
                                     size_t budget, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    if (closed) {
        for (size_t i = 0; status == KVR_OK && i < span_count; i++)
            status =
                give_layer(settling, &spans[i], budget, pages_at(settling, &spans[i]).count, err);
        return status;
    }
    switch (settling->stages->allocate.kind) {
    case KVR_ALLOCATE_UNIFORM:
        return KVR_OK;
    case KVR_ALLOCATE_PYRAMID:
        return settle_pyramid(settling, spans, span_count, budget, err);
    case KVR_ALLOCATE_LAYER:
        for (size_t i = 0; status == KVR_OK && i < span_count; i++)
            status = settle_competition(settling, &spans[i], 1, budget, err);
        return status;
    case KVR_ALLOCATE_MODEL:
        return settle_competition(settling, spans, span_count, budget, err);
    }
    return KVR_INTERNAL;
}

/* Lists the layers that allocations count; returns how many. */
static size_t list_layers(const struct kvr_survey *survey, const struct survey_use *use,
                          struct layer_span *spans)
{
    size_t span_count = 0;
    for (size_t c = 0; c < use->cell_count;) {
        struct layer_span span = layer_at(survey, use, c);
        if (span.takes_part)
            spans[span_count++] = span;
        c = span.end;
    }
    return span_count;
}

enum kvr_status survey_use_settle(const struct kvr_survey *survey, struct survey_use *use,
                                  size_t use_index, bool closed, struct kvr_select_scratch *scratch,
                                  struct kvr_error *err)
{
    const struct kvr_plan *plan = survey->plan;
    struct settling settling = {
        .survey = survey,
        .use = use,
        .stages = &plan->policies[plan->uses[use_index].policy],
        .scratch = scratch,
    };
    use->closed = closed;
    struct layer_span *spans = kvr_alloc(use->cell_count, sizeof *spans, err);
    if (spans == NULL)
        return KVR_NO_MEMORY;
    size_t span_count = list_layers(survey, use, spans);
    enum kvr_status status = KVR_OK;
    for (; status == KVR_OK && settling.page < plan->page_size_count; settling.page++)
        for (size_t b = 0; status == KVR_OK && b < plan->budget_count; b++)
            status = settle_budget(&settling, spans, span_count, closed, b, err);
    for (size_t c = 0; c < use->cell_count; c++) { /* quotas and layer vectors are what is left */
        free(use->cells[c].vectors);
        use->cells[c].vectors = NULL;
    }
    free(spans);
    return status;
}
