/*
 * premises.csv: theorem 4's premises and corollary 2's bound per group, scorer and needle. The
 * theorem speaks of non-negative vectors of query heads: a group whose recorded column has a negative
 * value, or only one vector for the KV head, has no rows.
 */
#include <math.h>

#include "analysis/premises.h"
#include "analysis/result_tables.h"
#include "analysis/rows_record.h"

static void add_row(struct kvr_text *rows, const struct kvr_cell *cell,
                    const struct kvr_scored *scored, size_t needle,
                    const struct kvr_premises *premises)
{
    kvr_rows_start(rows, cell, scored->score);
    kvr_csv_unsigned(rows, needle);
    kvr_csv_unsigned(rows, (uint64_t)cell->key.group * cell->key.ratio + premises->owner);
    kvr_csv_unsigned(rows, cell->candidates.first + premises->peak);
    kvr_csv_exact(rows, premises->owner_mass);
    kvr_csv_figure(rows, premises->owner_entropy);
    kvr_csv_figure(rows, premises->largest_slack);
    kvr_csv_exact(rows, premises->pooled_mass);
    kvr_csv_exact(rows, premises->bound);
    kvr_csv_unsigned(rows, premises->holds);
    kvr_csv_end(rows);
}

static bool has_negative(const float *values, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= values[i] < 0;
    return found;
}

static enum kvr_status scored_group(void *state, void *record, const struct kvr_cell *cell,
                                    const struct kvr_scored *scored, struct kvr_error *err)
{
    (void)state;
    if (scored->not_finite > 0 || scored->heads != cell->key.ratio ||
        has_negative(scored->vectors, scored->heads * cell->candidates.count))
        return KVR_OK;
    double *slacks = kvr_room_take(cell->room, scored->heads, sizeof *slacks, err);
    if (slacks == NULL)
        return KVR_NO_MEMORY;
    for (size_t n = 0; n < cell->needle_count; n++)
        if (kvr_cell_holds_needle(cell, n)) {
            struct kvr_premises premises =
                kvr_premises_of(cell, scored, cell->needles[n], slacks);
            add_row(record, cell, scored, n, &premises);
        }
    return KVR_OK;
}

enum kvr_status kvr_premises_table(struct kvr_outfile *file, struct kvr_observer *out,
                                   struct kvr_error *err)
{
    (void)err;
    *out = kvr_rows_observer(file);
    out->scored = scored_group;
    return KVR_OK;
}
