/*
 * Rows of one table, collected per cell and written in the order of the cells.
 */
#include "analysis/rows_record.h"

#include <stdlib.h>

#include "formats/base/memory.h"

static enum kvr_status begin(void *state, const struct kvr_cell *cell, void **record,
                             struct kvr_error *err)
{
    (void)state;
    (void)cell;
    *record = kvr_alloc(1, sizeof(struct kvr_text), err);
    return *record != NULL ? KVR_OK : KVR_NO_MEMORY;
}

static void discard(void *state, void *record)
{
    (void)state;
    if (record != NULL)
        kvr_text_free(record);
    free(record);
}

static enum kvr_status commit(void *state, const struct kvr_cell_key *key, void *record,
                              struct kvr_error *err)
{
    (void)key;
    const struct kvr_text *rows = record;
    enum kvr_status status = kvr_text_check(rows, err);
    if (status == KVR_OK && rows->length > 0)
        status = kvr_outfile_write(state, rows->data, rows->length, err);
    discard(state, record);
    return status;
}

struct kvr_observer kvr_rows_observer(struct kvr_outfile *file)
{
    return (struct kvr_observer){
        .state = file, .begin = begin, .commit = commit, .discard = discard};
}

void kvr_rows_start(struct kvr_text *rows, const struct kvr_cell *cell,
                    const struct kvr_score *score)
{
    kvr_csv_string(rows, cell->key.trace->name);
    kvr_csv_string(rows, cell->key.sample->name);
    kvr_csv_unsigned(rows, cell->key.layer->number);
    kvr_csv_unsigned(rows, cell->key.group);
    kvr_csv_string(rows, score->label);
}

void kvr_rows_start_kept(struct kvr_text *rows, const struct kvr_cell *cell,
                         const struct kvr_selection *selection, size_t budget)
{
    kvr_rows_start(rows, cell, selection->scored->score);
    kvr_csv_string(rows, selection->policy->policy->name);
    kvr_csv_unsigned(rows, selection->pages->size);
    kvr_csv_string(rows, cell->plan->budgets[budget].label);
}
