/*
 * What follows from a group's score vectors alone: totals, entropies and weights of its heads.
 *
 * Sums run over tokens in double and in ascending order. Four vectors that lie interleaved, a quad,
 * are summed side by side: each in its own order, in the time of one.
 */
#ifndef KVR_STATISTICS_H
#define KVR_STATISTICS_H

#include <stddef.h>

#include "replay/cell.h"

/* How many floats the quads of `heads` vectors of `count` tokens take. */
size_t kvr_quads_size(size_t heads, size_t count);

/* quads[h / 4][t][h % 4] = vectors[h][t], 0 in places of no head. */
void kvr_quads_make(const float *vectors, size_t heads, size_t count, float *quads);

/* From scored->vectors: quads, totals (NaN where a vector is not finite) and `exact`. */
void kvr_statistics_sum(struct kvr_scored *scored, size_t count);

/* After that, of finite vectors: entropies, raw entropies and weights. */
void kvr_statistics_weigh(struct kvr_scored *scored, const struct kvr_plan *plan,
                          const struct kvr_candidates *candidates);

/* The largest of `count` values, none of them NaN; 0 if there are none. */
float kvr_largest(const float *values, size_t count);

#endif
