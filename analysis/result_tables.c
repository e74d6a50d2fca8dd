/*
 * The list of result tables, and starting them all.
 */
#include "analysis/result_tables.h"

static const struct kvr_result_table *const all_tables[KVR_RESULT_TABLES] = {
    &kvr_measures_table, &kvr_bounds_table, &kvr_heads_table,    &kvr_needles_table,
    &kvr_premises_table, &kvr_layers_table, &kvr_excluded_table, &kvr_curves_table,
};

enum kvr_status kvr_results_open(struct kvr_results *results, struct kvr_tables *tables,
                                 struct kvr_summary *summary, struct kvr_error *err)
{
    *results = (struct kvr_results){0};
    for (size_t i = 0; i < KVR_RESULT_TABLES; i++) {
        const struct kvr_result_table *table = all_tables[i];
        if (table->is_wanted != NULL && !table->is_wanted(summary->plan))
            continue;
        struct kvr_rows_sink *sink = &results->sinks[results->count];
        sink->fact_size = table->fact_size;
        sink->add = table->add_fact;
        sink->target = summary;
        enum kvr_status status =
            kvr_tables_add(tables, table->name, table->header, &sink->file, err);
        if (status != KVR_OK)
            return status;
        results->tables[results->count] = table;
        results->observers[results->count] = table->observer;
        results->observers[results->count++].state = sink;
    }
    return KVR_OK;
}

void kvr_results_free(struct kvr_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->tables[i]->release != NULL)
            results->tables[i]->release(&results->sinks[i]);
    *results = (struct kvr_results){0};
}
