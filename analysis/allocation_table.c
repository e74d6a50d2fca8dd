/*
 * allocation.csv: what each allocator gave to each layer and group, and the share of the group's
 * own pooled mass that this drops. Only for policies whose quotas are not uniform.
 */
#include <math.h>

#include "analysis/result_tables.h"
#include "replay/bitmap.h"

static bool has_allocation(const struct kvr_plan *plan)
{
    for (size_t p = 0; p < plan->policy_count; p++)
        if (kvr_allocate_surveys(&plan->policies[p].allocate))
            return true;
    return false;
}

/* 1 - kept / all of the pooled vector; NaN where there is none or it is no mass. */
static double dropped_mass(const struct kvr_cell *cell, const struct kvr_selection *selection,
                           const uint64_t *tokens)
{
    if (selection->pooled == NULL || !selection->scored->score->scorer->mass)
        return NAN;
    size_t count = cell->candidates.count;
    double all = 0;
    for (size_t t = 0; t < count; t++)
        all += (double)selection->pooled[t];
    double kept = kvr_bitmap_sum_float(tokens, kvr_bitmap_words(count), selection->pooled);
    return all > 0 ? 1 - kept / all : NAN;
}

static enum kvr_status selected(void *sink, void *record, const struct kvr_cell *cell,
                                const struct kvr_selection *selection, struct kvr_error *err)
{
    (void)sink;
    (void)err;
    struct kvr_text *text = &((struct kvr_rows *)record)->text;
    if (kvr_selection_uniform(selection))
        return KVR_OK;
    for (size_t b = 0; b < cell->plan->budget_count; b++) {
        const struct kvr_kept *kept = &selection->kept[b];
        kvr_rows_start_kept(text, cell, selection, b);
        kvr_csv_unsigned(text, kept->quota);
        kvr_csv_unsigned(text, kept->allotted);
        kvr_csv_exact(text, (double)kept->allotted / (double)kept->quota);
        kvr_csv_figure(text, dropped_mass(cell, selection, kept->tokens));
        kvr_csv_end(text);
    }
    return KVR_OK;
}

const struct kvr_result_table kvr_allocation_table = {
    .name = "allocation.csv",
    .header = "trace,sample,layer,group,scorer,policy,page_size,budget,quota,allotted,share,"
              "dropped_mass",
    .wanted = has_allocation,
    .observer =
        {
            .begin = kvr_rows_begin,
            .selected = selected,
            .commit = kvr_rows_commit,
            .discard = kvr_rows_discard,
        },
};
