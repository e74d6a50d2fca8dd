/*
 * premises.csv: theorem 4's premises and corollary 2's bound per group, scorer and needle. The
 * theorem speaks of distributions: recorded columns with negative values may break it.
 */
#include <math.h>

#include "analysis/premises.h"
#include "analysis/result_tables.h"

static void add_row(struct kvr_text *text, const struct kvr_cell *cell,
                    const struct kvr_scored *scored, size_t needle,
                    const struct kvr_premises *premises)
{
    kvr_rows_start(text, cell, scored->score);
    kvr_csv_unsigned(text, needle);
    kvr_csv_unsigned(text, (uint64_t)cell->key.group * scored->heads + premises->owner);
    kvr_csv_unsigned(text, cell->candidates.first + premises->peak);
    kvr_csv_exact(text, premises->owner_mass);
    kvr_csv_figure(text, premises->owner_entropy);
    kvr_csv_figure(text, premises->largest_slack);
    kvr_csv_exact(text, premises->pooled_mass);
    kvr_csv_exact(text, premises->bound);
    kvr_csv_unsigned(text, premises->holds);
    kvr_csv_end(text);
}

static enum kvr_status scored_group(void *sink, void *record, const struct kvr_cell *cell,
                                    const struct kvr_scored *scored, struct kvr_error *err)
{
    (void)sink;
    struct kvr_rows *rows = record;
    if (!scored->score->asked || scored->not_finite > 0)
        return KVR_OK;
    double *slacks = kvr_room_take(cell->room, scored->heads, sizeof *slacks, err);
    if (slacks == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = KVR_OK;
    for (size_t n = 0; status == KVR_OK && n < cell->needle_count; n++)
        if (kvr_cell_holds_needle(cell, n)) {
            struct kvr_premises premises = kvr_premises_of(cell, scored, cell->needles[n], slacks);
            add_row(&rows->text, cell, scored, n, &premises);
            const struct kvr_premise_fact fact = {.holds = premises.holds};
            status = kvr_rows_add_fact(rows, &fact, err);
        }
    return status;
}

const struct kvr_result_table kvr_premises_table = {
    .name = "premises.csv",
    .header = "trace,sample,layer,group,scorer,needle,owner,peak,owner_mass,owner_entropy,"
              "largest_slack,pooled_mass,bound,holds",
    .fact_size = sizeof(struct kvr_premise_fact),
    .add_fact = kvr_summary_add_premise,
    .observer =
        {
            .begin = kvr_rows_begin,
            .scored = scored_group,
            .commit = kvr_rows_commit,
            .discard = kvr_rows_discard,
        },
};
