/*
 * Seeded bootstrap intervals over samples: how far a figure would move with other prompts.
 *
 * Samples are drawn with replacement and the statistic is computed again; the interval spans the
 * middle 95 % of its values (percentile method). The same seed and number of samples give the same
 * draws, on every machine and for every statistic. With few samples such intervals are too narrow
 * rather than too wide, and below three there is none.
 */
#ifndef KVR_BOOTSTRAP_H
#define KVR_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

enum { KVR_LEAST_SAMPLES = 3 };

struct kvr_bootstrap {
    uint64_t seed;
    size_t draws;
    double level; /* 0.95: the middle 95 % */
};

/* Seed 0, 10,000 draws, 95 %. */
struct kvr_bootstrap kvr_bootstrap_default(void);

struct kvr_interval {
    size_t samples;   /* that the estimate is from */
    double estimate;  /* the statistic of the samples; NaN without any */
    double low, high; /* NaN: no interval, there are fewer than KVR_LEAST_SAMPLES samples */
};

/* A statistic of samples 0 … count-1 of which sample i was drawn times[i] times. NaN if these do
   not have it, as a ratio whose denominator is 0. */
typedef double (*kvr_statistic)(const void *data, const uint32_t *times, size_t count);

/* Draws in which the statistic is NaN are left out; if they are over 5 % there is no interval. */
enum kvr_status kvr_bootstrap_interval(const struct kvr_bootstrap *bootstrap,
                                       kvr_statistic statistic, const void *data, size_t count,
                                       struct kvr_interval *interval, struct kvr_error *err);

/* Of the mean of the values that are not NaN. */
enum kvr_status kvr_bootstrap_mean(const struct kvr_bootstrap *bootstrap, const double *values,
                                   size_t count, struct kvr_interval *interval,
                                   struct kvr_error *err);

/* Of the mean of left[i] - right[i], over the samples where neither is NaN: paired, because
   prompts differ more than policies do. */
enum kvr_status kvr_bootstrap_difference(const struct kvr_bootstrap *bootstrap, const double *left,
                                         const double *right, size_t count,
                                         struct kvr_interval *interval, struct kvr_error *err);

/* True if there is an interval; 1 if it lies above `value`, -1 below, 0 if it holds it or is
   none. */
bool kvr_interval_exists(const struct kvr_interval *interval);
int kvr_interval_side(const struct kvr_interval *interval, double value);

#endif
