/*
 * Sets of tokens or pages as bitmaps: bit i of word i/64 is unit i.
 *
 * Unions and intersections of kept sets are OR, AND and a population count. Bits beyond the length
 * are zero, which every function here keeps so.
 */
#ifndef KVR_BITMAP_H
#define KVR_BITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words that hold `bits` bits. */
static inline size_t kvr_bitmap_words(size_t bits)
{
    return bits / 64 + (bits % 64 != 0);
}

static inline bool kvr_bitmap_has(const uint64_t *set, size_t bit)
{
    return (set[bit / 64] >> (bit % 64)) & 1;
}

static inline void kvr_bitmap_add(uint64_t *set, size_t bit)
{
    set[bit / 64] |= UINT64_C(1) << (bit % 64);
}

/* Adds the bits [start, end). */
void kvr_bitmap_add_span(uint64_t *set, size_t start, size_t end);

/* |a|, |a and b|. */
uint64_t kvr_bitmap_count(const uint64_t *a, size_t words);
uint64_t kvr_bitmap_count_and(const uint64_t *a, const uint64_t *b, size_t words);

/* |set and [start, end)|. */
uint64_t kvr_bitmap_count_span(const uint64_t *set, size_t start, size_t end);

/* into |= set. */
void kvr_bitmap_unite(uint64_t *into, const uint64_t *set, size_t words);

/* Sum of values[t] over the set, in ascending order of t. */
double kvr_bitmap_sum_float(const uint64_t *set, size_t words, const float *values);
double kvr_bitmap_sum_double(const uint64_t *set, size_t words, const double *values);

#endif
