/*
 * Reproducible random numbers from (seed, cell): no state is shared and no clock is read, so that
 * results do not depend on threads or order.
 */
#ifndef KVR_RANDOM_H
#define KVR_RANDOM_H

#include <stdint.h>

/* One stream; copy it freely. */
struct kvr_random {
    uint64_t state;
};

/* The stream of `cell` under `seed`. Different pairs give unrelated streams. */
struct kvr_random kvr_random_stream(uint64_t seed, uint64_t cell);

uint64_t kvr_random_bits(struct kvr_random *random);

/* Uniform in [0, 1), a multiple of 2^-53. */
double kvr_random_uniform(struct kvr_random *random);

/* Uniform in [0, bound), without bias; bound > 0. */
uint64_t kvr_random_below(struct kvr_random *random, uint64_t bound);

/* Standard normal. */
double kvr_random_normal(struct kvr_random *random);

#endif
