/*
 * Observers that write one table: rows of text and the facts they were made from, collected per
 * cell, then written and summed in the order of the cells, or kept together in a part file.
 */
#ifndef KVR_ROWS_RECORD_H
#define KVR_ROWS_RECORD_H

#include "analysis/summary.h"
#include "formats/base/outfile.h"
#include "formats/base/text.h"
#include "formats/part_file.h"
#include "formats/table.h"
#include "replay/observer.h"

/* The record of a cell. */
struct kvr_rows {
    struct kvr_text text;
    void *facts;
    size_t fact_count, fact_capacity, fact_size;
    void *cell_data; /* what a table computes once a cell; memory of the cell */
};

/* The state of the observer: where rows and facts go. */
struct kvr_rows_sink {
    struct kvr_outfile *file; /* of the rows; unused where there is a part */
    size_t fact_size;         /* 0: no facts */
    enum kvr_status (*add)(void *target, const struct kvr_cell_key *key, const void *fact,
                           struct kvr_error *err);
    void *target;                  /* NULL: facts are passed over */
    uint32_t table;                /* how a part calls the table */
    struct kvr_part_writer **part; /* takes rows and facts; NULL: they go to file and target */
    void *carry;                   /* what a table keeps from cell to cell */
};

/* Takes rows that no cell has alone; releases the text. */
enum kvr_status kvr_rows_write(const struct kvr_rows_sink *sink, struct kvr_text *text,
                               struct kvr_error *err);

/* Adds `length` bytes of facts to the sink's target. KVR_BAD_INPUT if they are not whole facts. */
enum kvr_status kvr_rows_sum_facts(const struct kvr_rows_sink *sink, const struct kvr_cell_key *key,
                                   const void *facts, size_t length, struct kvr_error *err);

/* begin, commit and discard of an observer whose state is a struct kvr_rows_sink and whose record
   is a struct kvr_rows. */
enum kvr_status kvr_rows_begin(void *sink, const struct kvr_cell *cell, void **rows,
                               struct kvr_error *err);
enum kvr_status kvr_rows_commit(void *sink, const struct kvr_cell_key *key, void *rows,
                                struct kvr_error *err);
void kvr_rows_discard(void *sink, void *rows);

/* Adds a fact of the sink's size. */
enum kvr_status kvr_rows_add_fact(struct kvr_rows *rows, const void *fact, struct kvr_error *err);

/* Starts a row: trace, sample, layer, group, scorer. */
void kvr_rows_start(struct kvr_text *text, const struct kvr_cell *cell,
                    const struct kvr_score *score);

/* Starts a row: the above, policy, page_size, budget. */
void kvr_rows_start_kept(struct kvr_text *text, const struct kvr_cell *cell,
                         const struct kvr_selection *selection, size_t budget);

/* Where a score, a selection and heads' sets stand in the plan. */
size_t kvr_rows_score(const struct kvr_cell *cell, const struct kvr_scored *scored);
struct kvr_place kvr_rows_place(const struct kvr_cell *cell, const struct kvr_selection *selection,
                                size_t budget);
struct kvr_place kvr_rows_heads_place(const struct kvr_cell *cell, const struct kvr_head_sets *sets,
                                      size_t budget);

#endif
