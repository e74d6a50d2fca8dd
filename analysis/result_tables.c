/*
 * The list of result tables, and starting them all.
 */
#include "analysis/result_tables.h"

const struct kvr_result_table *const kvr_result_tables[KVR_RESULT_TABLES] = {
    &kvr_measures_table,  &kvr_bounds_table,     &kvr_heads_table,    &kvr_needles_table,
    &kvr_premises_table,  &kvr_layers_table,     &kvr_excluded_table, &kvr_gate_table,
    &kvr_agreement_table, &kvr_allocation_table, &kvr_curves_table,   &kvr_dropped_table,
};

uint32_t kvr_result_tables_wanted(const struct kvr_plan *plan)
{
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < KVR_RESULT_TABLES; i++)
        if (kvr_result_tables[i]->wanted == NULL || kvr_result_tables[i]->wanted(plan))
            wanted |= UINT32_C(1) << i;
    return wanted;
}

static struct kvr_rows_sink *add_table(struct kvr_results *results, uint32_t index)
{
    const struct kvr_result_table *table = kvr_result_tables[index];
    struct kvr_rows_sink *sink = &results->sinks[results->count];
    *sink = (struct kvr_rows_sink){
        .fact_size = table->fact_size,
        .add = table->add_fact,
        .table = index,
    };
    struct kvr_observer *observer = &results->observers[results->count];
    *observer = table->observer;
    observer->state = sink;
    results->tables[results->count++] = table;
    return sink;
}

static enum kvr_status open_tables(struct kvr_results *results, struct kvr_tables *tables,
                                   uint32_t wanted, struct kvr_summary *summary,
                                   struct kvr_error *err)
{
    *results = (struct kvr_results){0};
    enum kvr_status status = KVR_OK;
    for (uint32_t i = 0; status == KVR_OK && i < KVR_RESULT_TABLES; i++) {
        const struct kvr_result_table *table = kvr_result_tables[i];
        if ((wanted >> i & 1) == 0) {
            status = kvr_tables_drop(tables, table->name, err);
            continue;
        }
        struct kvr_rows_sink *sink = add_table(results, i);
        sink->target = summary;
        status = kvr_tables_add(tables, table->name, table->header, &sink->file, err);
    }
    return status;
}

enum kvr_status kvr_results_open(struct kvr_results *results, struct kvr_tables *tables,
                                 struct kvr_summary *summary, struct kvr_error *err)
{
    return open_tables(results, tables, kvr_result_tables_wanted(summary->plan), summary, err);
}

enum kvr_status kvr_results_open_wanted(struct kvr_results *results, struct kvr_tables *tables,
                                        uint32_t wanted, struct kvr_error *err)
{
    return open_tables(results, tables, wanted, NULL, err);
}

void kvr_results_open_part(struct kvr_results *results, const struct kvr_plan *plan,
                           struct kvr_part_writer **part)
{
    uint32_t wanted = kvr_result_tables_wanted(plan);
    *results = (struct kvr_results){0};
    for (uint32_t i = 0; i < KVR_RESULT_TABLES; i++)
        if ((wanted >> i & 1) != 0)
            add_table(results, i)->part = part;
}

void kvr_results_free(struct kvr_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->tables[i]->release != NULL)
            results->tables[i]->release(&results->sinks[i]);
    *results = (struct kvr_results){0};
}
