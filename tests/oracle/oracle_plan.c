/*
 * What a row keeps: score, reduce, smooth, protect, allocate and select for every layer and group
 * of a sample, page size and budget, one stage after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

/* -- reduce and smooth -- */

static void reduce_group(const struct options *o, const struct row *row, struct layer_plan *layer,
                         long g)
{
    const struct vectors *v = &layer->vectors;
    struct group_plan *group = &layer->groups[g];
    if (row->reduce == REDUCE_HEAD) {
        group->count = v->per_group;
        group->tokens = room(group->count * v->tokens, sizeof(float));
        memcpy(group->tokens, group_vectors(v, g),
               (size_t)(group->count * v->tokens) * sizeof(float));
        return;
    }
    group->count = 1;
    group->pooled = room(v->tokens, sizeof(float));
    group->tokens = room(v->tokens, sizeof(float));
    if (row->reduce == REDUCE_LAYER) {
        float *all = room(v->groups * v->per_group * v->tokens, sizeof *all);
        long heads = 0;
        for (long other = 0; other < v->groups; other++)
            for (long h = 0; h < v->per_group && layer->groups[other].present; h++)
                memcpy(&all[heads++ * v->tokens], group_vectors(v, other) + h * v->tokens,
                       (size_t)v->tokens * sizeof *all);
        reduce_vectors(o, &layer->candidates, REDUCE_LAYER, all, heads, group->pooled);
        free(all);
    } else {
        reduce_vectors(o, &layer->candidates, row->reduce, group_vectors(v, g), v->per_group,
                       group->pooled);
    }
    memcpy(group->tokens, group->pooled, (size_t)v->tokens * sizeof(float));
}

static void smooth_group(const struct row *row, const struct layer_plan *layer,
                         struct group_plan *group)
{
    long tokens = layer->candidates.count, range = tokens - row->protect_recent;
    for (long v = 0; v < group->count; v++)
        smooth_vector(row->smooth, row->smooth_width, range < 0 ? 0 : range, tokens,
                      &group->tokens[v * tokens]);
}

static void prepare_layer(const struct options *o, const struct sample *sample, long l,
                          const struct row *row, struct layer_plan *plan)
{
    const struct layer *layer = &sample->layers[l];
    plan->candidates = candidates_of(o, sample, layer);
    plan->full_attention = layer->window == 0;
    plan->vectors = vectors_of(o, sample, layer, &row->score);
    plan->group_count = layer->kv_heads;
    plan->groups = room(plan->group_count, sizeof *plan->groups);
    for (long g = 0; g < plan->group_count; g++) {
        plan->groups[g].present = plan->vectors.exist && !plan->vectors.bad[g];
        if (plan->groups[g].present && plan->full_attention)
            plan->counted = true;
    }
    for (long g = 0; g < plan->group_count; g++) {
        struct group_plan *group = &plan->groups[g];
        if (!group->present)
            continue;
        reduce_group(o, row, plan, g);
        smooth_group(row, plan, group);
        group->decisions = room(o->page_count * o->budget_count, sizeof *group->decisions);
    }
}

/* -- one cell: a page size and a budget -- */

/* What a cell works with in one group. */
struct cell_group {
    struct cut cut;
    long quota; /* in force here */
    long protected_count;
    float *scores; /* [count][pages] */
    long *orders;  /* [count][pages] */
    bool *kept;    /* [pages] */
    struct group_plan *group;
    long layer, index;
    bool counted; /* takes part in the allocation */
};

/* Scores of pages, and the select order at the group's quota. */
static void order_group(const struct options *o, const struct row *row, struct cell_group *cell)
{
    const struct cut *cut = &cell->cut;
    enum page_reduce how = row->pages_by_sum ? PAGE_SUM : o->page_reduce;
    long *protected = room(cut->pages, sizeof *protected);
    cell->protected_count = protected_pages(row, cut, cell->quota, protected);
    for (long v = 0; v < cell->group->count; v++) {
        float *scores = &cell->scores[v * cut->pages];
        page_scores(cut, how, &cell->group->tokens[v * cut->tokens], scores);
        select_order(scores, cut->pages, protected, cell->protected_count,
                     &cell->orders[v * cut->pages]);
    }
    free(protected);
}

/* --match physical: the largest quota whose union fits, tried from the top. */
static void match_physically(const struct options *o, const struct row *row,
                             struct cell_group *cell)
{
    long room_for = cell->quota;
    order_group(o, row, cell);
    while (union_of(cell->orders, cell->group->count, cell->cut.pages, cell->quota, cell->kept) >
           room_for) {
        cell->quota--;
        if (row->recent_is_fraction) /* then the order itself depends on the quota */
            order_group(o, row, cell);
    }
}

/* Pages that hold one of the last N candidates; 0 where a fraction is protected. */
static long recent_pages(const struct row *row, const struct cut *cut)
{
    struct row recent_only = {.protect_recent = row->protect_recent};
    long *pages = room(cut->pages, sizeof *pages);
    long count = protected_pages(&recent_only, cut, 0, pages);
    free(pages);
    return count;
}

static void set_pyramid(const struct plan *plan, struct cell_group *cells, long count)
{
    const struct row *row = plan->row;
    long layers = 0, seen = -1;
    for (long l = 0; l < plan->layer_count; l++)
        layers += plan->layers[l].counted;
    long *quotas = room(layers, sizeof *quotas), last_layer = -1;
    for (long i = 0; i < count; i++) {
        if (!cells[i].counted)
            continue;
        if (seen < 0) /* all full-attention layers have the same candidates */
            allocate_pyramid(layers, cells[i].quota, recent_pages(row, &cells[i].cut),
                             cells[i].cut.pages, row->allocate_value, quotas);
        if (cells[i].layer != last_layer)
            seen++;
        last_layer = cells[i].layer;
        cells[i].quota = quotas[seen];
    }
    free(quotas);
}

/* layer:alpha (one layer's groups) or model:alpha (layer < 0: all). */
static void compete(const struct row *row, struct cell_group *cells, long count, long layer)
{
    struct share *shares = room(count, sizeof *shares);
    long sharing = 0, quota = 0;
    for (long i = 0; i < count; i++) {
        struct cell_group *cell = &cells[i];
        if (!cell->counted || (layer >= 0 && cell->layer != layer))
            continue;
        quota = cell->quota;
        shares[sharing++] =
            (struct share){cell->layer,  cell->index,  cell->cut.pages, cell->protected_count,
                           cell->scores, cell->orders, cell->kept};
    }
    allocate_by_score(shares, sharing, quota, row->allocate_value);
    free(shares);
}

static long best_rank(const struct cell_group *cell, struct span needle)
{
    const struct cut *cut = &cell->cut;
    long best = -1;
    for (long v = 0; v < cell->group->count; v++)
        for (long i = 0; i < cut->pages; i++)
            for (long t = needle.start - cut->first; t < needle.end - cut->first; t++)
                if (page_of_token(cut, t) == cell->orders[v * cut->pages + i] &&
                    (best < 0 || i < best))
                    best = i;
    return best;
}

static void decide(const struct sample *sample, const struct candidates *c,
                   const struct cell_group *cell, long quota, struct decision *decision)
{
    decision->quota = quota;
    for (long p = 0; p < cell->cut.pages; p++)
        decision->selected += cell->kept[p];
    decision->kept = room(cell->cut.tokens, sizeof(bool));
    for (long t = 0; t < cell->cut.tokens; t++)
        decision->kept[t] = cell->kept[page_of_token(&cell->cut, t)];
    decision->rank = room(sample->needle_count, sizeof(long));
    for (long i = 0; i < sample->needle_count; i++)
        decision->rank[i] =
            holds_needle(c, sample->needles[i]) ? best_rank(cell, sample->needles[i]) : -1;
}

static struct cell_group *open_cell(const struct options *o, struct plan *plan, long page,
                                    long budget, long *count)
{
    long all = 0;
    for (long l = 0; l < plan->layer_count; l++)
        all += plan->layers[l].group_count;
    struct cell_group *cells = room(all, sizeof *cells);
    *count = 0;
    for (long l = 0; l < plan->layer_count; l++)
        for (long g = 0; g < plan->layers[l].group_count; g++) {
            struct layer_plan *layer = &plan->layers[l];
            struct cell_group *cell = &cells[*count];
            if (!layer->groups[g].present)
                continue;
            ++*count;
            cell->group = &layer->groups[g];
            cell->layer = l;
            cell->index = g;
            cell->counted = layer->counted;
            cell->cut = cut_of(&layer->candidates, o->page_sizes[page]);
            cell->quota = uniform_quota(decimal_of(o->budgets[budget]), cell->cut.tokens,
                                        o->page_sizes[page]);
            cell->scores = room(cell->group->count * cell->cut.pages, sizeof(float));
            cell->orders = room(cell->group->count * cell->cut.pages, sizeof(long));
            cell->kept = room(cell->cut.pages, sizeof(bool));
        }
    return cells;
}

static void close_cell(struct cell_group *cells, long count)
{
    for (long i = 0; i < count; i++) {
        free(cells[i].scores);
        free(cells[i].orders);
        free(cells[i].kept);
    }
    free(cells);
}

/* The quota in force fills one group. */
static void select_group(const struct options *o, const struct plan *plan, struct cell_group *cell)
{
    bool shut = plan->row->gated && !plan->gate.open && plan->layers[cell->layer].full_attention;
    if (o->physical && plan->row->reduce == REDUCE_HEAD && !shut) {
        match_physically(o, plan->row, cell);
        return;
    }
    order_group(o, plan->row, cell);
    union_of(cell->orders, cell->group->count, cell->cut.pages,
             shut ? cell->cut.pages : cell->quota, cell->kept);
}

static void plan_cell(const struct options *o, const struct sample *sample, struct plan *plan,
                      long page, long budget)
{
    const struct row *row = plan->row;
    bool shut = row->gated && !plan->gate.open;
    long count;
    struct cell_group *cells = open_cell(o, plan, page, budget, &count);
    long *uniform = room(count, sizeof *uniform);
    for (long i = 0; i < count; i++)
        uniform[i] = cells[i].quota;
    if (row->allocate == ALLOCATE_PYRAMID && !shut)
        set_pyramid(plan, cells, count);
    for (long i = 0; i < count; i++)
        select_group(o, plan, &cells[i]);
    if (row->allocate == ALLOCATE_MODEL && !shut)
        compete(row, cells, count, -1);
    for (long l = 0; l < plan->layer_count && row->allocate == ALLOCATE_LAYER && !shut; l++)
        compete(row, cells, count, l);
    for (long i = 0; i < count; i++) {
        struct cell_group *cell = &cells[i];
        bool own_quota = row->allocate == ALLOCATE_UNIFORM; /* physical may have changed it */
        struct decision *decision = &cell->group->decisions[page * o->budget_count + budget];
        decide(sample, &plan->layers[cell->layer].candidates, cell,
               own_quota ? cell->quota : uniform[i], decision);
        bool by_score = row->allocate == ALLOCATE_MODEL || row->allocate == ALLOCATE_LAYER;
        decision->allotted = cell->quota;
        if (shut && plan->layers[cell->layer].full_attention)
            decision->allotted = cell->cut.pages;
        else if (by_score && cell->counted)
            decision->allotted = decision->selected;
    }
    free(uniform);
    close_cell(cells, count);
}

/* -- the whole row -- */

struct plan plan_row(const struct options *o, const struct sample *sample, const struct row *row)
{
    struct plan plan = {.row = row, .layer_count = sample->layer_count};
    plan.layers = room(plan.layer_count, sizeof *plan.layers);
    for (long l = 0; l < plan.layer_count; l++)
        prepare_layer(o, sample, l, row, &plan.layers[l]);
    if (row->gated)
        plan.gate = gate_of(o, sample, &plan);
    for (long page = 0; page < o->page_count; page++)
        for (long budget = 0; budget < o->budget_count; budget++)
            plan_cell(o, sample, &plan, page, budget);
    return plan;
}

static void free_group(const struct options *o, struct group_plan *group)
{
    for (long i = 0; group->decisions && i < o->page_count * o->budget_count; i++) {
        free(group->decisions[i].kept);
        free(group->decisions[i].rank);
    }
    free(group->decisions);
    free(group->pooled);
    free(group->tokens);
}

void plan_free(const struct options *o, struct plan *plan)
{
    for (long l = 0; l < plan->layer_count; l++) {
        struct layer_plan *layer = &plan->layers[l];
        for (long g = 0; g < layer->group_count; g++)
            free_group(o, &layer->groups[g]);
        free(layer->groups);
        vectors_free(&layer->vectors);
    }
    free(plan->layers);
    free(plan->gate.has_agreement);
    free(plan->gate.agreement);
    free(plan->gate.agreement_without_sinks);
}
