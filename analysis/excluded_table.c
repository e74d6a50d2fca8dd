/*
 * excluded.csv: the groups that a scorer leaves out because a head's vector is not finite.
 */
#include "analysis/result_tables.h"

static enum kvr_status scored_group(void *sink, void *record, const struct kvr_cell *cell,
                                    const struct kvr_scored *scored, struct kvr_error *err)
{
    (void)sink;
    struct kvr_rows *rows = record;
    if (scored->not_finite > 0) {
        kvr_rows_start(&rows->text, cell, scored->score);
        kvr_csv_unsigned(&rows->text, scored->not_finite);
        kvr_csv_end(&rows->text);
    }
    const struct kvr_group_fact fact = {
        .score = kvr_rows_score(cell, scored),
        .excluded = scored->not_finite > 0,
        .replaced = scored->replaced,
    };
    return kvr_rows_add_fact(rows, &fact, err);
}

const struct kvr_result_table kvr_excluded_table = {
    .name = "excluded.csv",
    .header = "trace,sample,layer,group,scorer,heads",
    .fact_size = sizeof(struct kvr_group_fact),
    .add_fact = kvr_summary_add_group,
    .observer =
        {
            .begin = kvr_rows_begin,
            .scored = scored_group,
            .commit = kvr_rows_commit,
            .discard = kvr_rows_discard,
        },
};
