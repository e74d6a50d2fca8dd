/*
 * A spread: count, mean, spread and range of values that come one by one, each with a weight.
 *
 * NaN is what does not apply and is passed over. Values are taken in the order of the cells, so
 * that figures do not depend on threads.
 */
#ifndef KVR_SPREAD_H
#define KVR_SPREAD_H

#include <stdint.h>

/* Zero-initialised is empty. */
struct kvr_spread {
    uint64_t count;
    double sum;     /* of the values, without their weights */
    double weight;  /* sum of the weights */
    double mean;    /* sum(weight value) / sum(weight) */
    double squares; /* sum of weight (value - mean)^2 */
    double least, most;
};

/* weight > 0, or the value is passed over. */
void kvr_spread_add(struct kvr_spread *spread, double value, double weight);

/* NaN where nothing was added. */
double kvr_spread_mean(const struct kvr_spread *spread);
double kvr_spread_deviation(const struct kvr_spread *spread); /* sqrt(squares / weight) */
double kvr_spread_least(const struct kvr_spread *spread);
double kvr_spread_most(const struct kvr_spread *spread);

#endif
