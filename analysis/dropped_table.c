/*
 * dropped.csv: the curve m(k) of every group under every policy that pools attention, at token
 * granularity. A policy's allotted quotas are among the k, so each allocation lies on its curve.
 */
#include "analysis/curve.h"
#include "analysis/dropped.h"
#include "analysis/result_tables.h"

static bool is_budget(const struct kvr_cell *cell, const struct kvr_selection *selection,
                      uint64_t quota)
{
    for (size_t b = 0; b < cell->plan->budget_count; b++)
        if (selection->kept[b].allotted == quota)
            return true;
    return false;
}

static void add_rows(struct kvr_text *text, const struct kvr_cell *cell,
                     const struct kvr_selection *selection, const struct kvr_text *start,
                     struct kvr_dropped *dropped)
{
    size_t tokens = selection->pages->count;
    uint64_t next = 1;
    while (dropped->quota < tokens) {
        kvr_dropped_step(dropped);
        uint64_t quota = dropped->quota;
        bool wanted = cell->plan->curve == KVR_CURVE_ALL || quota == tokens;
        if (quota == next) {
            next = kvr_curve_next(next);
            wanted = true;
        }
        if (!wanted && !is_budget(cell, selection, quota))
            continue;
        kvr_text_bytes(text, start->data, start->length);
        kvr_csv_unsigned(text, quota);
        kvr_csv_figure(text, kvr_dropped_mass(dropped));
        kvr_csv_end(text);
    }
}

/* Groups that compete protect a fraction of what each would have had, whatever they get: then what
   they keep is no function of the quota alone. */
static bool has_curve(const struct kvr_selection *selection)
{
    const struct kvr_stages *stages = selection->stages;
    bool competes =
        stages->allocate.kind == KVR_ALLOCATE_LAYER || stages->allocate.kind == KVR_ALLOCATE_MODEL;
    return selection->pages->size == 1 && selection->pooled != NULL &&
           selection->scored->score->scorer->mass && !(competes && stages->protect.has_fraction);
}

static enum kvr_status selected(void *sink, void *record, const struct kvr_cell *cell,
                                const struct kvr_selection *selection, struct kvr_error *err)
{
    (void)sink;
    if (!has_curve(selection))
        return KVR_OK;
    struct kvr_text start = {0};
    kvr_rows_start(&start, cell, selection->scored->score);
    kvr_csv_string(&start, selection->stages->label);
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    struct kvr_select_scratch scratch = {0};
    struct kvr_dropped dropped;
    enum kvr_status status = kvr_text_check(&start, err);
    if (status == KVR_OK)
        status = kvr_dropped_start(&selection->stages->protect, selection->pages,
                                   selection->unit_scores[0], selection->pooled, cell->room,
                                   &scratch, &dropped, err);
    if (status == KVR_OK)
        add_rows(&((struct kvr_rows *)record)->text, cell, selection, &start, &dropped);
    kvr_select_scratch_free(&scratch);
    kvr_text_free(&start);
    kvr_room_return(cell->room, mark);
    return status;
}

static bool is_wanted(const struct kvr_plan *plan)
{
    return plan->curve != KVR_CURVE_NONE;
}

const struct kvr_result_table kvr_dropped_table = {
    .name = "dropped.csv",
    .header = "trace,sample,layer,group,scorer,policy,k,dropped_mass",
    .wanted = is_wanted,
    .observer =
        {
            .begin = kvr_rows_begin,
            .selected = selected,
            .commit = kvr_rows_commit,
            .discard = kvr_rows_discard,
        },
};
