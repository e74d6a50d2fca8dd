/*
 * What follows from the score vectors of a group alone: totals, which are finite, entropy weights.
 */
#ifndef KVR_SCORED_H
#define KVR_SCORED_H

#include "replay/cell.h"

/*
 * Fills totals, not_finite, replaced, entropies and weights of *scored from its vectors; under
 * `--nan zero` values that are not finite become 0. Sums run in double in ascending position.
 */
void kvr_scored_finish(const struct kvr_cell *cell, struct kvr_scored *scored);

/* The paper's rule: replaces values that are not finite by 0 and counts them. */
void kvr_replace_not_finite(float *vector, size_t count, uint64_t *replaced);

#endif
