/*
 * The tables of a replay: what each is called, its columns (analysis/MEASURES.md §11), what fills
 * it.
 */
#ifndef KVR_RESULT_TABLES_H
#define KVR_RESULT_TABLES_H

#include "analysis/rows_record.h"
#include "analysis/summary.h"
#include "formats/table.h"
#include "replay/observer.h"

/* A table is data: a file and an observer whose state is its struct kvr_rows_sink. */
struct kvr_result_table {
    const char *name;                            /* "measures.csv" */
    const char *header;                          /* comma-separated columns */
    bool (*wanted)(const struct kvr_plan *plan); /* NULL: always */
    size_t fact_size;                            /* of what it adds to the summary, 0: nothing */
    enum kvr_status (*add_fact)(void *summary, const struct kvr_cell_key *key, const void *fact,
                                struct kvr_error *err);
    struct kvr_observer observer;                /* without its state */
    void (*release)(struct kvr_rows_sink *sink); /* of what the sink carries; NULL: nothing */
};

extern const struct kvr_result_table kvr_measures_table;
extern const struct kvr_result_table kvr_bounds_table;
extern const struct kvr_result_table kvr_heads_table;
extern const struct kvr_result_table kvr_needles_table;
extern const struct kvr_result_table kvr_premises_table;
extern const struct kvr_result_table kvr_layers_table;
extern const struct kvr_result_table kvr_excluded_table;
extern const struct kvr_result_table kvr_gate_table;
extern const struct kvr_result_table kvr_agreement_table;
extern const struct kvr_result_table kvr_allocation_table;
extern const struct kvr_result_table kvr_curves_table;
extern const struct kvr_result_table kvr_dropped_table;

enum { KVR_RESULT_TABLES = 12 };

/* Every table, in the order of their files; parts call a table by its place here. */
extern const struct kvr_result_table *const kvr_result_tables[KVR_RESULT_TABLES];

/* Bit t: the plan wants kvr_result_tables[t]. */
uint32_t kvr_result_tables_wanted(const struct kvr_plan *plan);

/* The tables of one replay while it runs. */
struct kvr_results {
    size_t count; /* tables that the plan wants */
    const struct kvr_result_table *tables[KVR_RESULT_TABLES];
    struct kvr_rows_sink sinks[KVR_RESULT_TABLES];
    struct kvr_observer observers[KVR_RESULT_TABLES];
};

/* Starts every table that summary->plan wants in `tables`; facts go to `summary`. Release with
   kvr_results_free before the summary is freed. The files belong to `tables`. */
enum kvr_status kvr_results_open(struct kvr_results *results, struct kvr_tables *tables,
                                 struct kvr_summary *summary, struct kvr_error *err);

/* The same for a set of tables, without a summary: for rows that were made elsewhere. */
enum kvr_status kvr_results_open_wanted(struct kvr_results *results, struct kvr_tables *tables,
                                        uint32_t wanted, struct kvr_error *err);

/* Rows and facts go to *part, which must be there whenever a cell is committed. */
void kvr_results_open_part(struct kvr_results *results, const struct kvr_plan *plan,
                           struct kvr_part_writer **part);

void kvr_results_free(struct kvr_results *results);

#endif
