/*
 * Means in the cells of small maps: rows, columns and maps are numbers, many values may fall into
 * one cell. For figures that are panels of heat maps.
 */
#ifndef KVR_HEAT_MAP_H
#define KVR_HEAT_MAP_H

#include <stdint.h>

#include "plots/draft.h"

struct kvr_heat_cell {
    double sum;
    uint64_t count;
};

/* A map grows as values come. Zero-initialised is empty. */
struct kvr_heat_map {
    size_t rows, columns; /* one more than the highest seen */
    size_t row_room, column_room;
    struct kvr_heat_cell *cells; /* [row_room][column_room] */
};

enum { KVR_HEAT_MOST_SIDE = 4096 };

/* NaN is dropped, as is what lies beyond KVR_HEAT_MOST_SIDE. */
enum kvr_status kvr_heat_map_add(struct kvr_heat_map *map, uint64_t row, uint64_t column,
                                 double value, struct kvr_error *err);

/* Rows of `column row mean count` for a full grid of rows x columns. */
void kvr_heat_map_write(const struct kvr_heat_map *map, size_t rows, size_t columns,
                        struct kvr_draft *draft);

/* The least and the largest mean; NaN if there is none. */
void kvr_heat_map_range(const struct kvr_heat_map *map, double *least, double *most);

void kvr_heat_map_free(struct kvr_heat_map *map);

#endif
