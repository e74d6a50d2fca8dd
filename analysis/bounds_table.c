/*
 * bounds.csv: measured union overhead, agreement and every bound, per group, page size and budget.
 */
#include "analysis/bounds.h"
#include "analysis/overlap.h"
#include "analysis/result_tables.h"
#include "analysis/rows_record.h"
#include "replay/bitmap.h"

static void add_row(struct kvr_text *rows, const struct kvr_cell *cell,
                    const struct kvr_head_sets *sets, size_t budget,
                    const struct kvr_overlap *overlap)
{
    struct kvr_bounds bounds = kvr_bounds_of(overlap);
    kvr_rows_start(rows, cell, sets->scored->score);
    kvr_csv_unsigned(rows, sets->pages->size);
    kvr_csv_string(rows, cell->plan->budgets[budget].label);
    kvr_csv_unsigned(rows, cell->key.ratio);
    kvr_csv_unsigned(rows, overlap->quota);
    kvr_csv_exact(rows, kvr_overlap_uor(overlap));
    kvr_csv_exact(rows, overlap->jaccard_mean);
    kvr_csv_exact(rows, overlap->jaccard_most);
    kvr_csv_exact(rows, bounds.bonferroni_lower);
    kvr_csv_exact(rows, bounds.sandwich_lower);
    kvr_csv_exact(rows, bounds.sandwich_upper);
    kvr_csv_exact(rows, bounds.cauchy_lower);
    kvr_csv_exact(rows, bounds.decaen_lower);
    kvr_csv_exact(rows, bounds.dawson_sankoff_lower);
    kvr_csv_exact(rows, bounds.hunter_upper);
    kvr_csv_end(rows);
}

static enum kvr_status heads(void *state, void *record, const struct kvr_cell *cell,
                             const struct kvr_head_sets *sets, struct kvr_error *err)
{
    (void)state;
    size_t count = sets->scored->heads, words = kvr_bitmap_words(sets->pages->count);
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    uint64_t *pairs = kvr_room_take(cell->room, count * count, sizeof *pairs, err);
    uint64_t *together = kvr_room_take(cell->room, words, sizeof *together, err);
    if (pairs == NULL || together == NULL)
        return KVR_NO_MEMORY;
    for (size_t b = 0; b < cell->plan->budget_count; b++) {
        struct kvr_overlap overlap = kvr_overlap_of(sets->sets[b], count, words,
                                                    sets->quotas[b], pairs, together);
        add_row(record, cell, sets, b, &overlap);
    }
    kvr_room_return(cell->room, mark);
    return KVR_OK;
}

enum kvr_status kvr_bounds_table(struct kvr_outfile *file, struct kvr_observer *out,
                                 struct kvr_error *err)
{
    (void)err;
    *out = kvr_rows_observer(file);
    out->heads = heads;
    return KVR_OK;
}
