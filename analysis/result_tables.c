/*
 * The list of result tables, and starting them all.
 */
#include "analysis/result_tables.h"

static const struct kvr_result_table *const all_tables[KVR_RESULT_TABLES] = {
    &kvr_measures_table, &kvr_bounds_table, &kvr_heads_table,    &kvr_needles_table,
    &kvr_premises_table, &kvr_layers_table, &kvr_excluded_table,
};

enum kvr_status kvr_results_open(struct kvr_results *results, struct kvr_tables *tables,
                                 struct kvr_summary *summary, struct kvr_error *err)
{
    *results = (struct kvr_results){0};
    for (size_t i = 0; i < KVR_RESULT_TABLES; i++) {
        const struct kvr_result_table *table = all_tables[i];
        struct kvr_rows_sink *sink = &results->sinks[i];
        sink->fact_size = table->fact_size;
        sink->add = table->add_fact;
        sink->target = summary;
        enum kvr_status status =
            kvr_tables_add(tables, table->name, table->header, &sink->file, err);
        if (status != KVR_OK)
            return status;
        results->observers[i] = table->observer;
        results->observers[i].state = sink;
    }
    return KVR_OK;
}

void kvr_results_free(struct kvr_results *results)
{
    for (size_t i = 0; i < KVR_RESULT_TABLES; i++)
        if (all_tables[i]->release != NULL)
            all_tables[i]->release(&results->sinks[i]);
    *results = (struct kvr_results){0};
}
