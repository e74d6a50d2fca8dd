/*
 * Quantiles and densities of plain arrays, and a growing array of values.
 */
#ifndef KVR_STATISTICS_H
#define KVR_STATISTICS_H

#include <stddef.h>

#include "formats/base/status.h"

/* Zero-initialised is empty. */
struct kvr_values {
    double *items;
    size_t count, capacity;
};

enum kvr_status kvr_values_add(struct kvr_values *values, double value, struct kvr_error *err);
void kvr_values_sort(struct kvr_values *values);
void kvr_values_free(struct kvr_values *values);

/* The q-quantile of sorted values, linear between neighbours (type 7 of Hyndman and Fan); NaN if
   there are none. */
double kvr_quantile(const struct kvr_values *sorted, double q);

double kvr_values_mean(const struct kvr_values *values);

/*
 * A Gaussian kernel density of the values at `points` equally spaced places of [least, most], mass
 * beyond either end reflected into it. The kernel's width is Silverman's rule, at least one step.
 * Beyond 4096 values, near ones are taken together.
 */
enum kvr_status kvr_density(const struct kvr_values *sorted, double least, double most,
                            size_t points, double *density, struct kvr_error *err);

#endif
