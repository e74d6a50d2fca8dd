/*
 * Sums of vectors over kept sets: many sets in one pass over the vectors.
 *
 * Kept sets of one policy mostly grow with the budget. Where sums are exact in any order, only what
 * a set adds to the one before it is visited, so that many budgets cost as much as the largest one;
 * else each set is summed in ascending order. Either way a sum does not depend on the other sets.
 */
#ifndef KVR_MASS_H
#define KVR_MASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Vectors over the same `count` tokens. */
struct kvr_mass_vectors {
    size_t count;
    size_t float_count;
    const float *floats; /* [float_count][count] */
    bool floats_exact;   /* double sums of them are exact in any order */
    size_t double_count;
    const double *const *doubles; /* [double_count] of [count] */
    bool doubles_exact;
};

/*
 * sums[s][v] = sum over set s of vector v, floats first, in double and in ascending order. `sets`
 * [set_count] are bitmaps of vectors->count bits; `sums` is [set_count][float_count +
 * double_count].
 */
void kvr_mass_sums(const struct kvr_mass_vectors *vectors, const uint64_t *const *sets,
                   size_t set_count, double *sums);

#endif
