/*
 * A grid of sums that grows.
 */
#include "plots/heat_map.h"

#include <math.h>
#include <stdlib.h>

#include "formats/base/memory.h"

static size_t grown(size_t room, size_t needed)
{
    size_t most = room > 0 ? room : 8;
    while (most < needed)
        most *= 2;
    return most;
}

static enum kvr_status make_room(struct kvr_heat_map *map, size_t rows, size_t columns,
                                 struct kvr_error *err)
{
    if (rows <= map->row_room && columns <= map->column_room)
        return KVR_OK;
    size_t row_room = grown(map->row_room, rows), column_room = grown(map->column_room, columns);
    struct kvr_heat_cell *cells = kvr_alloc(row_room * column_room, sizeof *cells, err);
    if (cells == NULL)
        return KVR_NO_MEMORY;
    for (size_t r = 0; r < map->rows; r++)
        for (size_t c = 0; c < map->columns; c++)
            cells[r * column_room + c] = map->cells[r * map->column_room + c];
    free(map->cells);
    map->cells = cells;
    map->row_room = row_room;
    map->column_room = column_room;
    return KVR_OK;
}

enum kvr_status kvr_heat_map_add(struct kvr_heat_map *map, uint64_t row, uint64_t column,
                                 double value, struct kvr_error *err)
{
    if (isnan(value) || row >= KVR_HEAT_MOST_SIDE || column >= KVR_HEAT_MOST_SIDE)
        return KVR_OK;
    enum kvr_status status = make_room(map, (size_t)row + 1, (size_t)column + 1, err);
    if (status != KVR_OK)
        return status;
    map->rows = row >= map->rows ? (size_t)row + 1 : map->rows;
    map->columns = column >= map->columns ? (size_t)column + 1 : map->columns;
    struct kvr_heat_cell *cell = &map->cells[row * map->column_room + column];
    cell->sum += value;
    cell->count++;
    return KVR_OK;
}

void kvr_heat_map_write(const struct kvr_heat_map *map, size_t rows, size_t columns,
                        struct kvr_draft *draft)
{
    static const struct kvr_heat_cell nothing;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) {
            const struct kvr_heat_cell *cell = r < map->rows && c < map->columns
                                                   ? &map->cells[r * map->column_room + c]
                                                   : &nothing;
            kvr_draft_value(draft, (double)c);
            kvr_draft_value(draft, (double)r);
            kvr_draft_value(draft, cell->count > 0 ? cell->sum / (double)cell->count : NAN);
            kvr_draft_value(draft, (double)cell->count);
            kvr_draft_end(draft);
        }
}

void kvr_heat_map_range(const struct kvr_heat_map *map, double *least, double *most)
{
    *least = *most = NAN;
    for (size_t r = 0; r < map->rows; r++)
        for (size_t c = 0; c < map->columns; c++) {
            const struct kvr_heat_cell *cell = &map->cells[r * map->column_room + c];
            if (cell->count > 0) {
                *least = fmin(*least, cell->sum / (double)cell->count);
                *most = fmax(*most, cell->sum / (double)cell->count);
            }
        }
}

void kvr_heat_map_free(struct kvr_heat_map *map)
{
    free(map->cells);
    *map = (struct kvr_heat_map){0};
}
