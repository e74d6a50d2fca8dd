/*
 * Spearman's rank correlation: whether two lists order the same things alike.
 *
 * Equal values share the mean of their ranks (mid-ranks), and rho is Pearson's correlation of the
 * ranks. All sums are of integers, so the result does not depend on the order of the lists.
 */
#ifndef KVR_SPEARMAN_H
#define KVR_SPEARMAN_H

#include <stddef.h>

#include "formats/base/status.h"

/* Below so many pairs there is no rho. */
enum { KVR_LEAST_RANKED = 3 };

struct kvr_ranked {
    double value;
    size_t place;
};

/* Room for lists of up to `most` values; one thread at a time. */
struct kvr_spearman_room {
    size_t most;
    struct kvr_ranked *sorted;
    double *left, *right; /* twice the ranks */
};

enum kvr_status kvr_spearman_room_open(struct kvr_spearman_room *room, size_t most,
                                       struct kvr_error *err);
void kvr_spearman_room_close(struct kvr_spearman_room *room);

/* doubled[i] = twice the mid-rank (from 1) of values[i], none of which is NaN. */
void kvr_mid_ranks(const double *values, size_t count, struct kvr_ranked *sorted, double *doubled);

/* NaN for fewer than KVR_LEAST_RANKED pairs, and where one list is constant. No value is NaN. */
double kvr_spearman(const double *left, const double *right, size_t count,
                    const struct kvr_spearman_room *room);

#endif
