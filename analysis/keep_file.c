/*
 * From selections to a file of kept sets: bitmaps per cell, gathered per layer, written in the
 * order of the cells. It must not know HDF5.
 */
#include "analysis/keep_file.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/keep_writer.h"
#include "replay/bitmap.h"

/* What one use keeps of a cell. */
struct kept_sets {
    size_t rows;    /* 1, or one a query head; 0: the group is excluded or has no such score */
    uint64_t *bits; /* [page sizes][budgets][rows][words] of candidates */
};

/* The record of a cell. */
struct cell_sets {
    uint64_t first; /* position of bit 0 */
    size_t words;
    size_t use_count;
    struct kept_sets *uses; /* [use_count] */
};

struct kvr_keep_file {
    const struct kvr_plan *plan;
    struct kvr_keep_writer *writer;
    const struct kvr_sample *sample; /* that the writer is at */
    size_t group_count, group_capacity;
    struct cell_sets **groups; /* [group_count] of the layer that is being gathered */
    size_t offset_capacity, position_capacity, excluded_capacity;
    uint64_t *offsets;
    uint32_t *positions, *excluded;
};

enum kvr_status kvr_keep_file_open(const char *path, const struct kvr_plan *plan,
                                   const struct kvr_trace *trace, const char *producer,
                                   struct kvr_keep_file **out, struct kvr_error *err)
{
    struct kvr_keep_file *file = kvr_alloc(1, sizeof *file, err);
    if (file == NULL)
        return KVR_NO_MEMORY;
    file->plan = plan;
    enum kvr_status status = kvr_keep_writer_open(path, trace->name, producer, &file->writer, err);
    if (status != KVR_OK) {
        free(file);
        return status;
    }
    *out = file;
    return KVR_OK;
}

/* ---- cells */

static void discard(void *state, void *record)
{
    (void)state;
    struct cell_sets *cell = record;
    if (cell == NULL)
        return;
    for (size_t u = 0; u < cell->use_count; u++)
        free(cell->uses[u].bits);
    free(cell->uses);
    free(cell);
}

static enum kvr_status begin(void *state, const struct kvr_cell *cell, void **record,
                             struct kvr_error *err)
{
    (void)state;
    struct cell_sets *sets = kvr_alloc(1, sizeof *sets, err);
    if (sets == NULL)
        return KVR_NO_MEMORY;
    *record = sets;
    sets->first = cell->candidates.first;
    sets->words = kvr_bitmap_words(cell->candidates.count);
    sets->uses = kvr_alloc(cell->plan->use_count, sizeof *sets->uses, err);
    if (sets->uses == NULL)
        return KVR_NO_MEMORY;
    sets->use_count = cell->plan->use_count;
    return KVR_OK;
}

/* Where the rows of a budget at a page size start. */
static uint64_t *rows_at(const struct cell_sets *cell, const struct kvr_plan *plan, size_t use,
                         size_t page, size_t budget)
{
    const struct kept_sets *sets = &cell->uses[use];
    return sets->bits + (page * plan->budget_count + budget) * sets->rows * cell->words;
}

static enum kvr_status selected(void *state, void *record, const struct kvr_cell *cell,
                                const struct kvr_selection *selection, struct kvr_error *err)
{
    (void)state;
    struct cell_sets *cells = record;
    struct kept_sets *sets = &cells->uses[selection->use];
    const struct kvr_plan *plan = cell->plan;
    const struct kvr_pages *pages = selection->pages;
    size_t page = (size_t)(pages - cell->pages);
    if (sets->bits == NULL) {
        sets->rows = selection->vector_count;
        sets->bits = kvr_alloc(plan->page_size_count * plan->budget_count * sets->rows,
                               cells->words * sizeof *sets->bits, err);
        if (sets->bits == NULL)
            return KVR_NO_MEMORY;
    }
    for (size_t b = 0; b < plan->budget_count; b++) {
        uint64_t *row = rows_at(cells, plan, selection->use, page, b);
        for (size_t v = 0; v < sets->rows; v++, row += cells->words) {
            if (sets->rows == 1)
                memcpy(row, selection->kept[b].tokens, cells->words * sizeof *row);
            else if (pages->size == 1)
                memcpy(row, selection->own[b][v], cells->words * sizeof *row);
            else
                kvr_pages_expand(pages, selection->own[b][v], row);
        }
    }
    return KVR_OK;
}

/* ---- layers */

/* Adds a row to the offsets, and the positions of a bitmap (NULL: none) to the positions. */
static enum kvr_status add_row(struct kvr_keep_file *file, size_t row, const uint64_t *set,
                               size_t words, uint64_t first, struct kvr_error *err)
{
    uint64_t used = file->offsets[row];
    size_t count = set != NULL ? (size_t)kvr_bitmap_count(set, words) : 0;
    enum kvr_status status = kvr_reserve((void **)&file->positions, &file->position_capacity,
                                         (size_t)used + count, sizeof *file->positions, err);
    if (status != KVR_OK)
        return status;
    for (size_t w = 0; set != NULL && w < words; w++)
        for (uint64_t bits = set[w]; bits != 0; bits &= bits - 1)
            file->positions[used++] = (uint32_t)(first + w * 64 + (size_t)__builtin_ctzll(bits));
    file->offsets[row + 1] = used;
    return KVR_OK;
}

/* The rows of one use, page size and budget over all groups of the layer; fills *sets. */
static enum kvr_status gather(struct kvr_keep_file *file, size_t use, size_t page, size_t budget,
                              size_t rows_a_group, struct kvr_keep_sets *sets,
                              struct kvr_error *err)
{
    size_t excluded = 0;
    enum kvr_status status = kvr_reserve((void **)&file->offsets, &file->offset_capacity,
                                         sets->row_count + 1, sizeof *file->offsets, err);
    if (status == KVR_OK)
        status = kvr_reserve((void **)&file->excluded, &file->excluded_capacity, file->group_count,
                             sizeof *file->excluded, err);
    if (status != KVR_OK)
        return status;
    file->offsets[0] = 0;
    for (size_t g = 0; g < file->group_count; g++) {
        const struct cell_sets *cell = file->groups[g];
        bool there = cell->uses[use].rows > 0;
        const uint64_t *set = there ? rows_at(cell, file->plan, use, page, budget) : NULL;
        if (!there)
            file->excluded[excluded++] = (uint32_t)g;
        for (size_t v = 0; status == KVR_OK && v < rows_a_group; v++)
            status = add_row(file, g * rows_a_group + v, there ? set + v * cell->words : NULL,
                             cell->words, cell->first, err);
    }
    sets->offsets = file->offsets;
    sets->positions = file->positions;
    sets->excluded_count = excluded;
    sets->excluded = file->excluded;
    return status;
}

/* How many sets a group of the layer has under a use; 0 where no group has any. */
static size_t rows_of_use(const struct kvr_keep_file *file, size_t use)
{
    size_t rows = 0;
    for (size_t g = 0; g < file->group_count; g++)
        if (file->groups[g]->uses[use].rows > rows)
            rows = file->groups[g]->uses[use].rows;
    return rows;
}

static enum kvr_status write_use(struct kvr_keep_file *file, const struct kvr_layer *layer,
                                 size_t use, struct kvr_error *err)
{
    const struct kvr_plan *plan = file->plan;
    size_t rows = rows_of_use(file, use);
    enum kvr_status status = KVR_OK;
    for (size_t p = 0; rows > 0 && p < plan->page_size_count; p++)
        for (size_t b = 0; status == KVR_OK && b < plan->budget_count; b++) {
            const struct kvr_keep_place place = {
                .policy = plan->policies[plan->uses[use].policy].label,
                .scorer = plan->scores[plan->uses[use].score].label,
                .budget = plan->budgets[b].label,
                .page_size = plan->page_sizes[p],
                .layer = layer->number,
            };
            struct kvr_keep_sets sets = {.per_head = rows > 1,
                                         .row_count = rows * file->group_count};
            status = gather(file, use, p, b, rows, &sets, err);
            if (status == KVR_OK)
                status = kvr_keep_writer_add(file->writer, &place, &sets, err);
        }
    return status;
}

static void drop_groups(struct kvr_keep_file *file)
{
    for (size_t g = 0; g < file->group_count; g++)
        discard(NULL, file->groups[g]);
    file->group_count = 0;
}

static enum kvr_status write_layer(struct kvr_keep_file *file, const struct kvr_cell_key *key,
                                   struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    if (file->sample != key->sample)
        status = kvr_keep_writer_sample(file->writer, key->sample, err);
    file->sample = key->sample;
    for (size_t u = 0; status == KVR_OK && u < file->plan->use_count; u++)
        status = write_use(file, key->layer, u, err);
    drop_groups(file);
    return status;
}

static enum kvr_status commit(void *state, const struct kvr_cell_key *key, void *record,
                              struct kvr_error *err)
{
    struct kvr_keep_file *file = state;
    enum kvr_status status = kvr_reserve((void **)&file->groups, &file->group_capacity,
                                         file->group_count + 1, sizeof *file->groups, err);
    if (status != KVR_OK) {
        discard(state, record);
        return status;
    }
    file->groups[file->group_count++] = record;
    return key->group + 1 == key->layer->kv_heads ? write_layer(file, key, err) : KVR_OK;
}

struct kvr_observer kvr_keep_file_observer(struct kvr_keep_file *file)
{
    return (struct kvr_observer){
        .state = file,
        .begin = begin,
        .selected = selected,
        .commit = commit,
        .discard = discard,
    };
}

/* ---- the end */

static void release(struct kvr_keep_file *file)
{
    drop_groups(file);
    free(file->groups);
    free(file->offsets);
    free(file->positions);
    free(file->excluded);
    free(file);
}

enum kvr_status kvr_keep_file_commit(struct kvr_keep_file *file, struct kvr_error *err)
{
    enum kvr_status status = kvr_keep_writer_commit(file->writer, err);
    release(file);
    return status;
}

void kvr_keep_file_abandon(struct kvr_keep_file *file)
{
    if (file == NULL)
        return;
    kvr_keep_writer_abandon(file->writer);
    release(file);
}
