/*
 * The list of result tables, and starting them all.
 */
#include "analysis/result_tables.h"

static const struct kvr_result_table *const all_tables[KVR_RESULT_TABLES] = {
    &kvr_measures_table,  &kvr_bounds_table,     &kvr_heads_table,    &kvr_needles_table,
    &kvr_premises_table,  &kvr_layers_table,     &kvr_excluded_table, &kvr_gate_table,
    &kvr_agreement_table, &kvr_allocation_table, &kvr_curves_table,   &kvr_dropped_table,
};

static enum kvr_status open_table(struct kvr_results *results, const struct kvr_result_table *table,
                                  struct kvr_tables *tables, struct kvr_summary *summary,
                                  struct kvr_error *err)
{
    struct kvr_rows_sink *sink = &results->sinks[results->count];
    *sink = (struct kvr_rows_sink){
        .fact_size = table->fact_size,
        .add = table->add_fact,
        .target = summary,
    };
    struct kvr_observer *observer = &results->observers[results->count];
    *observer = table->observer;
    observer->state = sink;
    results->tables[results->count++] = table;
    return kvr_tables_add(tables, table->name, table->header, &sink->file, err);
}

enum kvr_status kvr_results_open(struct kvr_results *results, struct kvr_tables *tables,
                                 struct kvr_summary *summary, struct kvr_error *err)
{
    *results = (struct kvr_results){0};
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < KVR_RESULT_TABLES; i++)
        if (all_tables[i]->wanted == NULL || all_tables[i]->wanted(summary->plan))
            status = open_table(results, all_tables[i], tables, summary, err);
        else
            status = kvr_tables_drop(tables, all_tables[i]->name, err);
    return status;
}

void kvr_results_free(struct kvr_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->tables[i]->release != NULL)
            results->tables[i]->release(&results->sinks[i]);
    *results = (struct kvr_results){0};
}
