/*
 * heads.csv: the sink census, a row per query head and scorer; per KV head for a column that is
 * recorded so.
 */
#include "analysis/census.h"
#include "analysis/result_tables.h"

static void add_row(struct kvr_text *text, const struct kvr_cell *cell,
                    const struct kvr_scored *scored, size_t head, const struct kvr_census *census)
{
    kvr_csv_string(text, cell->key.trace->name);
    kvr_csv_string(text, cell->key.sample->name);
    kvr_csv_unsigned(text, cell->key.layer->number);
    kvr_csv_unsigned(text, cell->key.group);
    kvr_csv_unsigned(text, (uint64_t)cell->key.group * scored->heads + head);
    kvr_csv_string(text, scored->score->label);
    kvr_csv_figure(text, census->sink_mass);
    kvr_csv_figure(text, census->entropy_raw);
    kvr_csv_figure(text, census->entropy_isolated);
    kvr_csv_figure(text, census->weight_raw);
    kvr_csv_figure(text, census->weight_isolated);
    kvr_csv_figure(text, census->max_probability);
    kvr_csv_figure(text, census->needle_mass);
    kvr_csv_string(text, kvr_head_class_name(census->class));
    kvr_csv_end(text);
}

static enum kvr_status scored_group(void *sink, void *record, const struct kvr_cell *cell,
                                    const struct kvr_scored *scored, struct kvr_error *err)
{
    (void)sink;
    struct kvr_rows *rows = record;
    if (!scored->score->asked || scored->not_finite > 0)
        return KVR_OK;
    struct kvr_census *census = kvr_room_take(cell->room, scored->heads, sizeof *census, err);
    if (census == NULL || kvr_census_of(cell, scored, census, err) != KVR_OK)
        return KVR_NO_MEMORY;
    enum kvr_status status = KVR_OK;
    for (size_t h = 0; status == KVR_OK && h < scored->heads; h++) {
        add_row(&rows->text, cell, scored, h, &census[h]);
        const struct kvr_head_fact fact = {
            .score = kvr_rows_score(cell, scored),
            .class = census[h].class,
            .weight_raw = census[h].weight_raw,
            .weight_isolated = census[h].weight_isolated,
            .total = scored->totals[h],
        };
        status = kvr_rows_add_fact(rows, &fact, err);
    }
    return status;
}

const struct kvr_result_table kvr_heads_table = {
    .name = "heads.csv",
    .header = "trace,sample,layer,group,head,scorer,sink_mass,h2_raw,h2_isolated,weight_raw,"
              "weight_isolated,max_prob,needle_mass,class",
    .fact_size = sizeof(struct kvr_head_fact),
    .add_fact = kvr_summary_add_head,
    .observer =
        {
            .begin = kvr_rows_begin,
            .scored = scored_group,
            .commit = kvr_rows_commit,
            .discard = kvr_rows_discard,
        },
};
