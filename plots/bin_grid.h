/*
 * Points of a scatter plot gathered in the cells of a grid, so that a million of them make a small
 * picture. A cell is drawn at the mean of its points: a point alone stays where it is.
 */
#ifndef KVR_BIN_GRID_H
#define KVR_BIN_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "plots/draft.h"

struct kvr_bin {
    uint64_t count;
    double x, y; /* sums */
};

struct kvr_bin_grid {
    size_t columns, rows;
    double x_least, x_most, y_least, y_most;
    uint64_t count; /* points in it */
    struct kvr_bin *bins;
};

/* *grid with everything but count and bins filled in. Release with kvr_bin_grid_free. */
enum kvr_status kvr_bin_grid_open(struct kvr_bin_grid *grid, struct kvr_error *err);
void kvr_bin_grid_free(struct kvr_bin_grid *grid);

/* A point outside goes to the nearest cell; one that is NaN is dropped. */
void kvr_bin_grid_add(struct kvr_bin_grid *grid, double x, double y);

/* Rows x, y, count of every occupied cell. */
void kvr_bin_grid_write(const struct kvr_bin_grid *grid, struct kvr_draft *draft);

#endif
