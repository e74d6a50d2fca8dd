/*
 * Sums over everything that policies keep of a cell under one score. It must not know what is made
 * of them.
 */
#include "replay/kept_sums.h"

#include <math.h>

#include "replay/mass.h"

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

enum kvr_status kvr_kept_sums_make(const struct kvr_cell *cell, struct kvr_selection *selections,
                                   size_t count, struct kvr_error *err)
{
    if (count == 0)
        return KVR_OK;
    const struct kvr_scored *scored = selections[0].scored;
    const struct kvr_kept_sums_row row = kvr_kept_sums_row(cell, scored);
    size_t budgets = cell->plan->budget_count;
    double *sums = kvr_room_take(cell->room, count * budgets * row.width, sizeof *sums, err);
    const uint64_t **sets = kvr_room_take(cell->room, count * budgets, sizeof *sets, err);
    if (sums == NULL || sets == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        selections[i].sums = sums + i * budgets * row.width;
        for (size_t b = 0; b < budgets; b++)
            sets[i * budgets + b] = selections[i].kept[b].tokens;
    }
    const double *const future[] = {cell->future.mass, cell->future.peak};
    const struct kvr_mass_vectors vectors = {
        .count = cell->candidates.count,
        .float_count = row.heads,
        .floats = scored->vectors,
        .floats_exact = scored->exact,
        .double_count = row.future ? 2 : 0,
        .doubles = future,
        .doubles_exact = cell->future.exact,
    };
    kvr_mass_sums(&vectors, sets, count * budgets, sums);
    return KVR_OK;
}
