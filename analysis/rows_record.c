/*
 * Rows and facts of one table, collected per cell and taken in the order of the cells.
 */
#include "analysis/rows_record.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"

enum kvr_status kvr_rows_begin(void *state, const struct kvr_cell *cell, void **record,
                               struct kvr_error *err)
{
    (void)cell;
    const struct kvr_rows_sink *sink = state;
    struct kvr_rows *rows = kvr_alloc(1, sizeof *rows, err);
    *record = rows;
    if (rows == NULL)
        return KVR_NO_MEMORY;
    rows->fact_size = sink->fact_size;
    return KVR_OK;
}

void kvr_rows_discard(void *state, void *record)
{
    (void)state;
    struct kvr_rows *rows = record;
    if (rows == NULL)
        return;
    kvr_text_free(&rows->text);
    free(rows->facts);
    free(rows);
}

enum kvr_status kvr_rows_add_fact(struct kvr_rows *rows, const void *fact, struct kvr_error *err)
{
    enum kvr_status status =
        kvr_reserve(&rows->facts, &rows->fact_capacity, rows->fact_count + 1, rows->fact_size, err);
    if (status == KVR_OK)
        memcpy((char *)rows->facts + rows->fact_count++ * rows->fact_size, fact, rows->fact_size);
    return status;
}

static enum kvr_status write_rows(const struct kvr_rows_sink *sink, const struct kvr_text *text,
                                  struct kvr_error *err)
{
    enum kvr_status status = kvr_text_check(text, err);
    if (status != KVR_OK || text->length == 0)
        return status;
    return sink->part != NULL ? kvr_part_add(*sink->part, KVR_PART_ROWS, sink->table, text->data,
                                             text->length, err)
                              : kvr_outfile_write(sink->file, text->data, text->length, err);
}

enum kvr_status kvr_rows_write(const struct kvr_rows_sink *sink, struct kvr_text *text,
                               struct kvr_error *err)
{
    enum kvr_status status = write_rows(sink, text, err);
    kvr_text_free(text);
    return status;
}

enum kvr_status kvr_rows_sum_facts(const struct kvr_rows_sink *sink, const struct kvr_cell_key *key,
                                   const void *facts, size_t length, struct kvr_error *err)
{
    if (sink->target == NULL)
        return KVR_OK;
    if (sink->fact_size == 0 || length % sink->fact_size != 0)
        return kvr_fail(err, KVR_BAD_INPUT, "expected whole facts of %zu bytes, found %zu bytes",
                        sink->fact_size, length);
    enum kvr_status status = KVR_OK;
    for (size_t at = 0; status == KVR_OK && at < length; at += sink->fact_size)
        status = sink->add(sink->target, key, (const char *)facts + at, err);
    return status;
}

enum kvr_status kvr_rows_commit(void *state, const struct kvr_cell_key *key, void *record,
                                struct kvr_error *err)
{
    const struct kvr_rows_sink *sink = state;
    const struct kvr_rows *rows = record;
    if (rows == NULL) /* a table that writes no rows of cells */
        return KVR_OK;
    size_t length = rows->fact_count * rows->fact_size;
    enum kvr_status status = write_rows(sink, &rows->text, err);
    if (status == KVR_OK && length > 0)
        status = sink->part != NULL ? kvr_part_add(*sink->part, KVR_PART_FACTS, sink->table,
                                                   rows->facts, length, err)
                                    : kvr_rows_sum_facts(sink, key, rows->facts, length, err);
    kvr_rows_discard(state, record);
    return status;
}

void kvr_rows_start(struct kvr_text *text, const struct kvr_cell *cell,
                    const struct kvr_score *score)
{
    kvr_csv_string(text, cell->key.trace->name);
    kvr_csv_string(text, cell->key.sample->name);
    kvr_csv_unsigned(text, cell->key.layer->number);
    kvr_csv_unsigned(text, cell->key.group);
    kvr_csv_string(text, score->label);
}

void kvr_rows_start_kept(struct kvr_text *text, const struct kvr_cell *cell,
                         const struct kvr_selection *selection, size_t budget)
{
    kvr_rows_start(text, cell, selection->scored->score);
    kvr_csv_string(text, selection->stages->label);
    kvr_csv_unsigned(text, selection->pages->size);
    kvr_csv_string(text, cell->plan->budgets[budget].label);
}

size_t kvr_rows_score(const struct kvr_cell *cell, const struct kvr_scored *scored)
{
    return (size_t)(scored->score - cell->plan->scores);
}

struct kvr_place kvr_rows_place(const struct kvr_cell *cell, const struct kvr_selection *selection,
                                size_t budget)
{
    return (struct kvr_place){
        .score = kvr_rows_score(cell, selection->scored),
        .use = selection->use,
        .page = (size_t)(selection->pages - cell->pages),
        .budget = budget,
    };
}

struct kvr_place kvr_rows_heads_place(const struct kvr_cell *cell, const struct kvr_head_sets *sets,
                                      size_t budget)
{
    return (struct kvr_place){
        .score = kvr_rows_score(cell, sets->scored),
        .page = (size_t)(sets->pages - cell->pages),
        .budget = budget,
    };
}
