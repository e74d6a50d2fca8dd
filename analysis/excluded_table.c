/*
 * excluded.csv: the groups that a scorer leaves out because a head's vector is not finite.
 */
#include "analysis/result_tables.h"
#include "analysis/rows_record.h"

static enum kvr_status scored_group(void *state, void *record, const struct kvr_cell *cell,
                                    const struct kvr_scored *scored, struct kvr_error *err)
{
    (void)state;
    (void)err;
    if (scored->not_finite == 0)
        return KVR_OK;
    kvr_rows_start(record, cell, scored->score);
    kvr_csv_unsigned(record, scored->not_finite);
    kvr_csv_end(record);
    return KVR_OK;
}

enum kvr_status kvr_excluded_table(struct kvr_outfile *file, struct kvr_observer *out,
                                   struct kvr_error *err)
{
    (void)err;
    *out = kvr_rows_observer(file);
    out->scored = scored_group;
    return KVR_OK;
}
