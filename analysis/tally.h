/*
 * A tally: count, mean, spread and range of values that come one by one, each with a weight.
 *
 * NaN is what does not apply and is passed over. Values are taken in the order of the cells, so
 * that figures do not depend on threads.
 */
#ifndef KVR_TALLY_H
#define KVR_TALLY_H

#include <stdint.h>

/* Zero-initialised is empty. */
struct kvr_tally {
    uint64_t count;
    double sum;          /* of the values, without their weights */
    double weight;       /* sum of the weights */
    double mean;         /* sum(weight value) / sum(weight) */
    double squares;      /* sum of weight (value - mean)^2 */
    double least, most;
};

/* weight > 0, or the value is passed over. */
void kvr_tally_add(struct kvr_tally *tally, double value, double weight);

/* NaN where nothing was added. */
double kvr_tally_mean(const struct kvr_tally *tally);
double kvr_tally_deviation(const struct kvr_tally *tally); /* sqrt(squares / weight) */
double kvr_tally_least(const struct kvr_tally *tally);
double kvr_tally_most(const struct kvr_tally *tally);

#endif
