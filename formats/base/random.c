/*
 * SplitMix64 (Steele, Lea, Flood 2014), seeded by hashing the seed and the cell.
 */
#include "formats/base/random.h"

#include <math.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static const uint64_t golden_gamma = UINT64_C(0x9e3779b97f4a7c15);

struct kvr_random kvr_random_stream(uint64_t seed, uint64_t cell)
{
    /* mix is a bijection: under one seed no two cells share a state. */
    return (struct kvr_random){mix(mix(seed + golden_gamma) + cell)};
}

uint64_t kvr_random_bits(struct kvr_random *random)
{
    random->state += golden_gamma;
    return mix(random->state);
}

double kvr_random_uniform(struct kvr_random *random)
{
    return (double)(kvr_random_bits(random) >> 11) * 0x1p-53;
}

uint64_t kvr_random_below(struct kvr_random *random, uint64_t bound)
{
    /* Reject the first 2^64 mod bound values, so that every remainder is equally likely. */
    uint64_t reject = (0 - bound) % bound;
    uint64_t bits;
    do
        bits = kvr_random_bits(random);
    while (bits < reject);
    return bits % bound;
}

double kvr_random_normal(struct kvr_random *random)
{
    const double two_pi = 6.283185307179586476925;
    double radius = sqrt(-2.0 * log(1.0 - kvr_random_uniform(random)));
    return radius * cos(two_pi * kvr_random_uniform(random));
}
