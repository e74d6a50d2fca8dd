/*
 * curves.csv: union overhead, agreement and bounds at many quotas or at all of them, from one
 * ranking a head. A row at the quota of a budget says what bounds.csv says there.
 */
#include "analysis/bounds.h"
#include "analysis/curve.h"
#include "analysis/result_tables.h"
#include "replay/backend.h"

static enum kvr_status rank_heads(const struct kvr_cell *cell, const struct kvr_head_sets *sets,
                                  uint32_t **orders, struct kvr_error *err)
{
    size_t units = sets->pages->count, heads = sets->scored->heads;
    uint32_t *all = kvr_room_take(cell->room, heads * units, sizeof *all, err);
    if (all == NULL)
        return KVR_NO_MEMORY;
    for (size_t h = 0; h < heads; h++)
        orders[h] = all + h * units;
    struct kvr_orders wanted = {heads, units, sets->unit_scores, orders};
    return kvr_backend_order(cell, &wanted, err);
}

/* trace … ratio: what all rows of a curve start with. */
static void start_rows(struct kvr_text *text, const struct kvr_cell *cell,
                       const struct kvr_head_sets *sets)
{
    kvr_rows_start(text, cell, sets->scored->score);
    kvr_csv_unsigned(text, sets->pages->size);
    kvr_csv_unsigned(text, cell->key.ratio);
}

static void add_row(struct kvr_text *text, const struct kvr_text *start,
                    const struct kvr_overlap *overlap)
{
    struct kvr_bounds bounds = kvr_bounds_of(overlap);
    kvr_text_bytes(text, start->data, start->length);
    kvr_csv_unsigned(text, overlap->quota);
    kvr_csv_exact(text, kvr_overlap_uor(overlap));
    kvr_csv_exact(text, overlap->jaccard_mean);
    kvr_csv_exact(text, overlap->jaccard_most);
    kvr_csv_exact(text, bounds.bonferroni_lower);
    kvr_csv_exact(text, bounds.sandwich_lower);
    kvr_csv_exact(text, bounds.sandwich_upper);
    kvr_csv_exact(text, bounds.cauchy_lower);
    kvr_csv_exact(text, bounds.decaen_lower);
    kvr_csv_exact(text, bounds.dawson_sankoff_lower);
    kvr_csv_exact(text, bounds.hunter_upper);
    kvr_csv_end(text);
}

static bool is_budget(const struct kvr_cell *cell, const struct kvr_head_sets *sets, uint64_t quota)
{
    for (size_t b = 0; b < cell->plan->budget_count; b++)
        if (sets->quotas[b] == quota)
            return true;
    return false;
}

static enum kvr_status add_rows(struct kvr_text *text, const struct kvr_cell *cell,
                                const struct kvr_head_sets *sets, struct kvr_curve *curve,
                                struct kvr_error *err)
{
    struct kvr_text start = {0};
    start_rows(&start, cell, sets);
    enum kvr_status status = kvr_text_check(&start, err);
    uint64_t next = 1;
    while (status == KVR_OK && curve->quota < curve->units) {
        kvr_curve_step(curve);
        bool wanted = cell->plan->curve == KVR_CURVE_ALL || curve->quota == curve->units;
        if (curve->quota == next) {
            next = kvr_curve_next(next);
            wanted = true;
        }
        if (wanted || is_budget(cell, sets, curve->quota)) {
            struct kvr_overlap overlap = kvr_curve_overlap(curve);
            add_row(text, &start, &overlap);
        }
    }
    kvr_text_free(&start);
    return status;
}

static enum kvr_status heads(void *sink, void *record, const struct kvr_cell *cell,
                             const struct kvr_head_sets *sets, struct kvr_error *err)
{
    (void)sink;
    struct kvr_rows *rows = record;
    size_t count = sets->scored->heads;
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    struct kvr_curve curve;
    uint32_t **orders = kvr_room_take(cell->room, count, sizeof *orders, err);
    if (orders == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = rank_heads(cell, sets, orders, err);
    if (status == KVR_OK)
        status = kvr_curve_start((const uint32_t *const *)orders, count, sets->pages->count,
                                 cell->room, &curve, err);
    if (status == KVR_OK)
        status = add_rows(&rows->text, cell, sets, &curve, err);
    kvr_room_return(cell->room, mark);
    return status;
}

static bool is_wanted(const struct kvr_plan *plan)
{
    return plan->curve != KVR_CURVE_NONE;
}

const struct kvr_result_table kvr_curves_table = {
    .name = "curves.csv",
    .header = "trace,sample,layer,group,scorer,page_size,ratio,k,uor,j_mean,j_max,"
              "bonferroni_lower,sandwich_lower,sandwich_upper,cauchy_lower,decaen_lower,"
              "dawson_sankoff_lower,hunter_upper",
    .wanted = is_wanted,
    .observer =
        {
            .begin = kvr_rows_begin,
            .heads = heads,
            .commit = kvr_rows_commit,
            .discard = kvr_rows_discard,
        },
};
