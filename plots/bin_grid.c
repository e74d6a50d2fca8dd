/*
 * Counting points in cells.
 */
#include "plots/bin_grid.h"

#include <math.h>
#include <stdlib.h>

#include "formats/base/memory.h"

enum kvr_status kvr_bin_grid_open(struct kvr_bin_grid *grid, struct kvr_error *err)
{
    grid->count = 0;
    grid->bins = kvr_alloc(grid->columns * grid->rows, sizeof *grid->bins, err);
    return grid->bins == NULL ? KVR_NO_MEMORY : KVR_OK;
}

void kvr_bin_grid_free(struct kvr_bin_grid *grid)
{
    free(grid->bins);
    grid->bins = NULL;
}

static size_t cell_of(double value, double least, double most, size_t cells)
{
    double place = (value - least) / (most - least) * (double)cells;
    if (!(place > 0))
        return 0;
    return place < (double)cells ? (size_t)place : cells - 1;
}

void kvr_bin_grid_add(struct kvr_bin_grid *grid, double x, double y)
{
    if (isnan(x) || isnan(y))
        return;
    size_t column = cell_of(x, grid->x_least, grid->x_most, grid->columns);
    size_t row = cell_of(y, grid->y_least, grid->y_most, grid->rows);
    struct kvr_bin *bin = &grid->bins[row * grid->columns + column];
    bin->count++;
    bin->x += x;
    bin->y += y;
    grid->count++;
}

void kvr_bin_grid_write(const struct kvr_bin_grid *grid, struct kvr_draft *draft)
{
    for (size_t i = 0; i < grid->columns * grid->rows; i++) {
        const struct kvr_bin *bin = &grid->bins[i];
        if (bin->count == 0)
            continue;
        kvr_draft_value(draft, bin->x / (double)bin->count);
        kvr_draft_value(draft, bin->y / (double)bin->count);
        kvr_draft_value(draft, (double)bin->count);
        kvr_draft_end(draft);
    }
}
