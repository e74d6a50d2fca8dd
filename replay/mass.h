/*
 * Sums of vectors over the kept sets of several budgets.
 *
 * Kept sets mostly grow with the budget. Then only what a budget adds is visited, and all vectors
 * are summed side by side, so that many budgets cost as much as the largest one.
 */
#ifndef KVR_MASS_H
#define KVR_MASS_H

#include <stddef.h>
#include <stdint.h>

/* Vectors over the same `count` tokens. */
struct kvr_mass_vectors {
    size_t count;
    size_t float_count;
    const float *const *floats; /* [float_count] of [count] */
    size_t double_count;
    const double *const *doubles; /* [double_count] of [count] */
};

/*
 * sums[s][v] = sum over set s of vector v, floats first, in double: in ascending order within what
 * a set adds to the one before it, or within the set where it does not hold that one. `sets`
 * [set_count] are bitmaps of vectors->count bits; `sums` is [set_count][float_count +
 * double_count].
 */
void kvr_mass_sums(const struct kvr_mass_vectors *vectors, const uint64_t *const *sets,
                   size_t set_count, double *sums);

#endif
