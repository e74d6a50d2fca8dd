/*
 * bounds.csv: measured union overhead, agreement and every bound, per group, page size and budget.
 */
#include "analysis/bound_kinds.h"
#include "analysis/bounds.h"
#include "analysis/overlap.h"
#include "analysis/result_tables.h"
#include "replay/bitmap.h"

static void add_row(struct kvr_text *text, const struct kvr_cell *cell,
                    const struct kvr_head_sets *sets, size_t budget,
                    const struct kvr_overlap *overlap, const struct kvr_bounds *bounds)
{
    kvr_rows_start(text, cell, sets->scored->score);
    kvr_csv_unsigned(text, sets->pages->size);
    kvr_csv_string(text, cell->plan->budgets[budget].label);
    kvr_csv_unsigned(text, cell->key.ratio);
    kvr_csv_unsigned(text, overlap->quota);
    kvr_csv_exact(text, kvr_overlap_uor(overlap));
    kvr_csv_exact(text, overlap->jaccard_mean);
    kvr_csv_exact(text, overlap->jaccard_most);
    kvr_csv_exact(text, bounds->bonferroni_lower);
    kvr_csv_exact(text, bounds->sandwich_lower);
    kvr_csv_exact(text, bounds->sandwich_upper);
    kvr_csv_exact(text, bounds->cauchy_lower);
    kvr_csv_exact(text, bounds->decaen_lower);
    kvr_csv_exact(text, bounds->dawson_sankoff_lower);
    kvr_csv_exact(text, bounds->hunter_upper);
    kvr_csv_end(text);
}

static enum kvr_status add_facts(struct kvr_rows *rows, const struct kvr_cell *cell,
                                 const struct kvr_head_sets *sets, size_t budget,
                                 const struct kvr_overlap *overlap, const struct kvr_bounds *bounds,
                                 struct kvr_error *err)
{
    double uor = kvr_overlap_uor(overlap);
    const struct kvr_overlap_fact fact = {
        .place = kvr_rows_heads_place(cell, sets, budget),
        .uor = uor,
        .jaccard_mean = overlap->jaccard_mean,
        .certified_bonferroni = kvr_bound_certifies(bounds->bonferroni_lower),
        .certified_sandwich = kvr_bound_certifies(bounds->sandwich_lower),
        .violations = kvr_bounds_violations(bounds, uor),
    };
    return kvr_rows_add_fact(rows, &fact, err);
}

static enum kvr_status heads(void *sink, void *record, const struct kvr_cell *cell,
                             const struct kvr_head_sets *sets, struct kvr_error *err)
{
    (void)sink;
    struct kvr_rows *rows = record;
    size_t count = sets->scored->heads, words = kvr_bitmap_words(sets->pages->count);
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    uint64_t *pairs = kvr_room_take(cell->room, count * count, sizeof *pairs, err);
    uint64_t *together = kvr_room_take(cell->room, words, sizeof *together, err);
    if (pairs == NULL || together == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = KVR_OK;
    for (size_t b = 0; status == KVR_OK && b < cell->plan->budget_count; b++) {
        struct kvr_overlap overlap =
            sets->pairs != NULL
                ? kvr_overlap_from_pairs(sets->pairs + b * count * count, count, sets->quotas[b],
                                         sets->unions[b])
                : kvr_overlap_of(sets->sets[b], count, words, sets->quotas[b], pairs, together);
        struct kvr_bounds bounds = kvr_bounds_of(&overlap);
        add_row(&rows->text, cell, sets, b, &overlap, &bounds);
        status = add_facts(rows, cell, sets, b, &overlap, &bounds, err);
    }
    kvr_room_return(cell->room, mark);
    return status;
}

const struct kvr_result_table kvr_bounds_table = {
    .name = "bounds.csv",
    .header = "trace,sample,layer,group,scorer,page_size,budget,ratio,quota,uor,j_mean,j_max,"
              "bonferroni_lower,sandwich_lower,sandwich_upper,cauchy_lower,decaen_lower,"
              "dawson_sankoff_lower,hunter_upper",
    .fact_size = sizeof(struct kvr_overlap_fact),
    .add_fact = kvr_summary_add_overlap,
    .observer =
        {
            .begin = kvr_rows_begin,
            .heads = heads,
            .commit = kvr_rows_commit,
            .discard = kvr_rows_discard,
        },
};
