/*
 * measures.csv: what a policy keeps of a group and what that holds (MEASURES §4, §9).
 */
#include <math.h>

#include "analysis/output_error.h"
#include "analysis/result_tables.h"
#include "replay/kept_sums.h"

static enum kvr_status begin(void *sink, const struct kvr_cell *cell, void **record,
                             struct kvr_error *err)
{
    enum kvr_status status = kvr_rows_begin(sink, cell, record, err);
    if (status != KVR_OK)
        return status;
    struct kvr_output_error *judge = kvr_room_take(cell->room, 1, sizeof *judge, err);
    if (judge == NULL)
        return KVR_NO_MEMORY;
    ((struct kvr_rows *)*record)->cell_data = judge;
    return kvr_output_error_load(cell, judge, err);
}

static struct kvr_kept_fact fact_of(const struct kvr_cell *cell,
                                    const struct kvr_selection *selection, size_t budget)
{
    const struct kvr_scored *scored = selection->scored;
    const struct kvr_future *future = &cell->future;
    struct kvr_kept_fact fact = {
        .place = kvr_rows_place(cell, selection, budget),
        .retained_mass = NAN,
        .future_mass = NAN,
        .future_weight = future->mass_total,
        .future_peak = NAN,
        .peak_weight = future->peak_total,
    };
    const struct kvr_kept_sums_row row = kvr_kept_sums_row(cell, scored);
    const double *sums = selection->sums + budget * row.width;
    if (row.heads > 0) { /* mean over the heads; one without mass has 0 */
        double sum = 0;
        for (size_t h = 0; h < row.heads; h++)
            if (fabs(scored->totals[h]) > 0)
                sum += sums[h] / scored->totals[h];
        fact.retained_mass = sum / (double)row.heads;
    }
    if (row.future) {
        fact.future_mass = sums[row.heads] / future->mass_total;
        fact.future_peak = sums[row.heads + 1] / future->peak_total;
    }
    return fact;
}

static void add_row(struct kvr_text *text, const struct kvr_cell *cell,
                    const struct kvr_selection *selection, const struct kvr_kept_fact *fact,
                    double output_error)
{
    const struct kvr_kept *kept = &selection->kept[fact->place.budget];
    kvr_rows_start_kept(text, cell, selection, fact->place.budget);
    kvr_csv_unsigned(text, cell->candidates.count);
    kvr_csv_unsigned(text, cell->key.ratio);
    kvr_csv_unsigned(text, kept->quota);
    kvr_csv_unsigned(text, kept->selected);
    bool ratio = kept->quota > 0 && kvr_selection_uniform(selection);
    kvr_csv_exact(text, ratio ? (double)kept->selected / (double)kept->quota : NAN);
    kvr_csv_unsigned(text, kept->kept_tokens);
    kvr_csv_figure(text, fact->retained_mass);
    kvr_csv_figure(text, fact->future_mass);
    kvr_csv_figure(text, fact->future_weight);
    kvr_csv_figure(text, fact->future_peak);
    kvr_csv_figure(text, fact->peak_weight);
    kvr_csv_figure(text, output_error);
    kvr_csv_end(text);
}

static enum kvr_status selected(void *sink, void *record, const struct kvr_cell *cell,
                                const struct kvr_selection *selection, struct kvr_error *err)
{
    (void)sink;
    struct kvr_rows *rows = record;
    enum kvr_status status = KVR_OK;
    for (size_t b = 0; status == KVR_OK && b < cell->plan->budget_count; b++) {
        struct kvr_kept_fact fact = fact_of(cell, selection, b);
        double output_error = kvr_output_error_of(cell, rows->cell_data, selection->kept[b].tokens);
        add_row(&rows->text, cell, selection, &fact, output_error);
        status = kvr_rows_add_fact(rows, &fact, err);
    }
    return status;
}

const struct kvr_result_table kvr_measures_table = {
    .name = "measures.csv",
    .header = "trace,sample,layer,group,scorer,policy,page_size,budget,context,ratio,quota,"
              "selected,uor,kept_tokens,retained_mass,future_mass,future_weight,future_peak,"
              "peak_weight,output_error",
    .fact_size = sizeof(struct kvr_kept_fact),
    .add_fact = kvr_summary_add_kept,
    .observer =
        {
            .reads_sums = true,
            .begin = begin,
            .selected = selected,
            .commit = kvr_rows_commit,
            .discard = kvr_rows_discard,
        },
};
