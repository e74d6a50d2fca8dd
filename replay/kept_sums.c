/*
 * Sums over everything that policies keep of a cell under one score. It must not know what is made
 * of them.
 *
 * Where sums are exact in any order, those over pages come from sums of each page, which there are
 * far fewer of than tokens.
 */
#include "replay/kept_sums.h"

#include <math.h>

#include "replay/mass.h"
#include "replay/cpu/cpu_kernels.h"

struct kvr_kept_sums_row kvr_kept_sums_row(const struct kvr_cell *cell,
                                           const struct kvr_scored *scored)
{
    struct kvr_kept_sums_row row = {
        .heads = scored->score->scorer->mass ? scored->heads : 0,
        .future = !isnan(cell->future.mass_total),
    };
    row.width = row.heads + (row.future ? 2 : 0);
    return row;
}

/* What is summed, over tokens or over units. */
static struct kvr_mass_vectors token_vectors(const struct kvr_cell *cell,
                                             const struct kvr_scored *scored,
                                             struct kvr_kept_sums_row row,
                                             const double *const future[2])
{
    return (struct kvr_mass_vectors){
        .count = cell->candidates.count,
        .float_count = row.heads,
        .floats = scored->vectors,
        .floats_exact = scored->exact,
        .double_count = row.future ? 2 : 0,
        .doubles = future,
        .doubles_exact = cell->future.exact,
    };
}

/* Sums of each page, of which the first and the last may be short. */
static void sum_pages(const struct kvr_pages *pages, const float *vector, double *sums)
{
    size_t last = pages->count - 1, size = 1;
    for (size_t page = 0; page <= last; page += size) {
        struct kvr_range range = kvr_pages_tokens(pages, page);
        size = page > 0 && page < last ? last - page : 1;
        kvr_kernels()->page_sums(vector + range.start, size, range.end - range.start, sums + page);
    }
}

static void sum_pages_of_doubles(const struct kvr_pages *pages, const double *vector, double *sums)
{
    for (size_t page = 0; page < pages->count; page++) {
        struct kvr_range range = kvr_pages_tokens(pages, page);
        sums[page] = 0;
        for (size_t t = range.start; t < range.end; t++)
            sums[page] += vector[t];
    }
}

/* The same vectors, summed over the tokens of each page: all as doubles. */
static enum kvr_status page_vectors(const struct kvr_cell *cell, const struct kvr_pages *pages,
                                    struct kvr_mass_vectors *vectors, struct kvr_error *err)
{
    size_t count = vectors->float_count + vectors->double_count;
    const double **rows = kvr_room_take(cell->room, count, sizeof *rows, err);
    double *sums = kvr_room_take(cell->room, count * pages->count, sizeof *sums, err);
    if (rows == NULL || sums == NULL)
        return KVR_NO_MEMORY;
    for (size_t v = 0; v < count; v++, sums += pages->count) {
        rows[v] = sums;
        if (v < vectors->float_count)
            sum_pages(pages, vectors->floats + v * vectors->count, sums);
        else
            sum_pages_of_doubles(pages, vectors->doubles[v - vectors->float_count], sums);
    }
    *vectors = (struct kvr_mass_vectors){
        .count = pages->count,
        .double_count = count,
        .doubles = rows,
        .doubles_exact = true,
    };
    return KVR_OK;
}

/* Gives those of the selections that are at `pages` their sums. */
static enum kvr_status sum_at(const struct kvr_cell *cell, const struct kvr_pages *pages,
                              struct kvr_selection *selections, size_t count, struct kvr_error *err)
{
    const struct kvr_scored *scored = selections[0].scored;
    const struct kvr_kept_sums_row row = kvr_kept_sums_row(cell, scored);
    const double *const future[] = {cell->future.mass, cell->future.peak};
    struct kvr_mass_vectors vectors = token_vectors(cell, scored, row, future);
    bool by_pages =
        pages->size > 1 && (row.heads == 0 || scored->exact) && (!row.future || cell->future.exact);
    size_t budgets = cell->plan->budget_count, found = 0;
    const uint64_t **sets = kvr_room_take(cell->room, count * budgets, sizeof *sets, err);
    double *sums = kvr_room_take(cell->room, count * budgets * row.width, sizeof *sums, err);
    if (sets == NULL || sums == NULL)
        return KVR_NO_MEMORY;
    if (by_pages && page_vectors(cell, pages, &vectors, err) != KVR_OK)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (selections[i].pages != pages)
            continue;
        selections[i].sums = sums + found * row.width;
        for (size_t b = 0; b < budgets; b++) {
            const struct kvr_kept *kept = &selections[i].kept[b];
            sets[found++] = by_pages ? kept->units : kept->tokens;
        }
    }
    kvr_mass_sums(&vectors, sets, found, sums);
    return KVR_OK;
}

enum kvr_status kvr_kept_sums_make(const struct kvr_cell *cell, struct kvr_selection *selections,
                                   size_t count, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t p = 0; count > 0 && status == KVR_OK && p < cell->plan->page_size_count; p++)
        status = sum_at(cell, &cell->pages[p], selections, count, err);
    return status;
}
