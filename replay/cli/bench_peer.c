/*
 * Running a peer and comparing its table with ours. How either computes it must not know.
 */
#include "replay/cli/bench_peer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/table_reader.h"

/* Masses of two programs that add in different orders. */
static const double MASS_TOLERANCE = 1e-6;

struct row {
    const char *sample, *policy, *budget;
    uint64_t layer, group, page_size, selected, kept_tokens;
    double retained_mass;
};

static const struct kvr_field fields[] = {
    {KVR_FIELD(struct row, sample, KVR_FIELD_STRING)},
    {KVR_FIELD(struct row, policy, KVR_FIELD_STRING)},
    {KVR_FIELD(struct row, budget, KVR_FIELD_STRING)},
    {KVR_FIELD(struct row, layer, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct row, group, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct row, page_size, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct row, selected, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct row, kept_tokens, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct row, retained_mass, KVR_FIELD_NUMBER)},
};

/* A row without what names its cell. */
struct found {
    char cell[160]; /* "sample 0, layer 3, group 1, mean, pages of 16, budget 0.1" */
    uint64_t selected, kept_tokens;
    double retained_mass;
};

struct list {
    struct row row;
    size_t count, capacity;
    struct found *items;
};

static enum kvr_status take(void *state, const struct kvr_table_reader *reader,
                            struct kvr_error *err)
{
    struct list *list = state;
    const struct row *row = &list->row;
    (void)reader;
    enum kvr_status status = kvr_reserve((void **)&list->items, &list->capacity, list->count + 1,
                                         sizeof *list->items, err);
    if (status != KVR_OK)
        return status;
    struct found *found = &list->items[list->count++];
    snprintf(found->cell, sizeof found->cell,
             "sample %.40s, layer %llu, group %llu, %.40s, pages of %llu, budget %.20s",
             row->sample, (unsigned long long)row->layer, (unsigned long long)row->group,
             row->policy, (unsigned long long)row->page_size, row->budget);
    found->selected = row->selected;
    found->kept_tokens = row->kept_tokens;
    found->retained_mass = row->retained_mass;
    return KVR_OK;
}

static int by_cell(const void *left, const void *right)
{
    return strcmp(((const struct found *)left)->cell, ((const struct found *)right)->cell);
}

static enum kvr_status load(const char *folder, const char *name, struct list *list,
                            struct kvr_error *err)
{
    enum kvr_status status = kvr_table_each(folder, name, fields, sizeof fields / sizeof *fields,
                                            &list->row, take, list, err);
    if (status == KVR_OK && list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_cell);
    return status;
}

static enum kvr_status compare_lists(const struct list *ours, const struct list *theirs,
                                     const char *table, struct kvr_error *err)
{
    if (ours->count != theirs->count)
        return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected %zu cells, found %zu", table,
                        ours->count, theirs->count);
    for (size_t i = 0; i < ours->count; i++) {
        const struct found *a = &ours->items[i], *b = &theirs->items[i];
        if (strcmp(a->cell, b->cell) != 0)
            return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected %s, found %s", table, a->cell,
                            b->cell);
        bool same = a->selected == b->selected && a->kept_tokens == b->kept_tokens &&
                    fabs(a->retained_mass - b->retained_mass) <= MASS_TOLERANCE;
        if (!same)
            return kvr_fail(err, KVR_BAD_INPUT,
                            "\"%s\": %s: expected %llu selected, %llu tokens, mass %.9g, found "
                            "%llu, %llu, %.9g",
                            table, a->cell, (unsigned long long)a->selected,
                            (unsigned long long)a->kept_tokens, a->retained_mass,
                            (unsigned long long)b->selected, (unsigned long long)b->kept_tokens,
                            b->retained_mass);
    }
    return KVR_OK;
}

enum kvr_status kvr_bench_peer_compare(const char *ours, const char *folder, const char *name,
                                       size_t *cells, struct kvr_error *err)
{
    struct list own = {0}, other = {0};
    enum kvr_status status = load(ours, "measures.csv", &own, err);
    if (status == KVR_OK)
        status = load(folder, name, &other, err);
    if (status == KVR_OK)
        status = compare_lists(&own, &other, name, err);
    *cells = own.count;
    free(own.items);
    free(other.items);
    return status;
}

bool kvr_bench_peer_available(const char *python)
{
    const char *const words[] = {python, "-c",
                                 "import importlib.util as u, sys\n"
                                 "sys.exit(not (u.find_spec('numpy') and u.find_spec('h5py')))",
                                 NULL};
    struct kvr_bench_usage usage;
    return kvr_bench_process(words, NULL, &usage, NULL) == KVR_OK;
}

enum kvr_status kvr_bench_peer_run(const char *python, const char *peers, const char *script,
                                   const char *trace, uint64_t rows, const char *table,
                                   struct kvr_bench_usage *usage, struct kvr_error *err)
{
    char digits[24];
    char *path = kvr_join_path(peers, script, err);
    if (path == NULL)
        return KVR_NO_MEMORY;
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)rows);
    const char *const words[] = {python, path, trace, digits, NULL};
    enum kvr_status status = kvr_bench_process(words, table, usage, err);
    free(path);
    return status;
}
