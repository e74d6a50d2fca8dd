/*
 * heads.csv: the sink census, a row per query head and scorer. Scores that are recorded per KV
 * head say nothing about query heads and have no rows.
 */
#include "analysis/census.h"
#include "analysis/result_tables.h"
#include "analysis/rows_record.h"

static void add_row(struct kvr_text *rows, const struct kvr_cell *cell,
                    const struct kvr_scored *scored, size_t head,
                    const struct kvr_census *census)
{
    kvr_csv_string(rows, cell->key.trace->name);
    kvr_csv_string(rows, cell->key.sample->name);
    kvr_csv_unsigned(rows, cell->key.layer->number);
    kvr_csv_unsigned(rows, cell->key.group);
    kvr_csv_unsigned(rows, (uint64_t)cell->key.group * cell->key.ratio + head);
    kvr_csv_string(rows, scored->score->label);
    kvr_csv_figure(rows, census->sink_mass);
    kvr_csv_figure(rows, census->entropy_raw);
    kvr_csv_figure(rows, census->entropy_isolated);
    kvr_csv_figure(rows, census->weight_raw);
    kvr_csv_figure(rows, census->weight_isolated);
    kvr_csv_figure(rows, census->max_probability);
    kvr_csv_figure(rows, census->needle_mass);
    kvr_csv_string(rows, kvr_head_class_name(census->class));
    kvr_csv_end(rows);
}

static enum kvr_status scored_group(void *state, void *record, const struct kvr_cell *cell,
                                    const struct kvr_scored *scored, struct kvr_error *err)
{
    (void)state;
    if (scored->not_finite > 0 || scored->heads != cell->key.ratio)
        return KVR_OK;
    struct kvr_census *census =
        kvr_room_take(cell->room, scored->heads, sizeof *census, err);
    if (census == NULL || kvr_census_of(cell, scored, census, err) != KVR_OK)
        return KVR_NO_MEMORY;
    for (size_t h = 0; h < scored->heads; h++)
        add_row(record, cell, scored, h, &census[h]);
    return KVR_OK;
}

enum kvr_status kvr_heads_table(struct kvr_outfile *file, struct kvr_observer *out,
                                struct kvr_error *err)
{
    (void)err;
    *out = kvr_rows_observer(file);
    out->scored = scored_group;
    return KVR_OK;
}
