/*
 * What follows from a group's score vectors alone: totals, entropies and weights of its heads.
 *
 * Sums run over tokens in double and in ascending order. Four heads are summed side by side, each
 * in its own order, in the time of one.
 */
#ifndef KVR_SCORED_H
#define KVR_SCORED_H

#include <stddef.h>
#include <stdint.h>

#include "replay/cell.h"

/*
 * From scored->vectors: totals, `exact`, not_finite, replaced; where every vector is finite and the
 * score is weighted, entropies and weights, too.
 */
void kvr_scored_finish(const struct kvr_cell *cell, struct kvr_scored *scored);

/* Whether double sums of a finite vector's values are exact in any order; then totals are filled.
 */
bool kvr_scored_total_exactly(struct kvr_scored *scored, size_t count);

/* Whether entropies follow from sums of squares, as weigh_four in scored.c and devices find them.
 */
bool kvr_scored_by_squares(const struct kvr_cell *cell);

/* Entropies of a head from three sums: of what stands outside the sinks, of all squares, and of
   squares outside the sinks when they are divided by the first. */
void kvr_scored_from_squares(struct kvr_scored *scored, size_t head, double rest, double squares,
                             double isolated);

/* --nan zero: replaces by 0 what is not finite, and counts it. */
void kvr_replace_not_finite(float *vector, size_t count, uint64_t *replaced);

/* The largest of `count` values, none of them NaN; 0 if there are none. */
float kvr_largest(const float *values, size_t count);

#endif
