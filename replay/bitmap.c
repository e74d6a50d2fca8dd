/*
 * Set operations on bitmaps. It must not know what the bits stand for.
 */
#include "replay/bitmap.h"

#include "replay/cpu/cpu_kernels.h"

static unsigned lowest_bit(uint64_t word)
{
    return (unsigned)__builtin_ctzll(word);
}

/* Ones at bits [start, end) of one word, start < end <= 64. */
static uint64_t span_mask(size_t start, size_t end)
{
    return (~UINT64_C(0) << start) & (~UINT64_C(0) >> (64 - end));
}

void kvr_bitmap_add_span(uint64_t *set, size_t start, size_t end)
{
    while (start < end) {
        size_t word = start / 64;
        size_t stop = end < (word + 1) * 64 ? end : (word + 1) * 64;
        set[word] |= span_mask(start - word * 64, stop - word * 64);
        start = stop;
    }
}

uint64_t kvr_bitmap_count(const uint64_t *a, size_t words)
{
    return kvr_kernels()->count_bits(a, words);
}

uint64_t kvr_bitmap_count_and(const uint64_t *a, const uint64_t *b, size_t words)
{
    return kvr_kernels()->count_common(a, b, words);
}

uint64_t kvr_bitmap_count_span(const uint64_t *set, size_t start, size_t end)
{
    uint64_t count = 0;
    while (start < end) {
        size_t word = start / 64;
        size_t stop = end < (word + 1) * 64 ? end : (word + 1) * 64;
        uint64_t mask = span_mask(start - word * 64, stop - word * 64);
        count += (uint64_t)__builtin_popcountll(set[word] & mask);
        start = stop;
    }
    return count;
}

void kvr_bitmap_unite(uint64_t *into, const uint64_t *set, size_t words)
{
    for (size_t i = 0; i < words; i++)
        into[i] |= set[i];
}

double kvr_bitmap_sum_float(const uint64_t *set, size_t words, const float *values)
{
    double sum = 0;
    for (size_t i = 0; i < words; i++)
        for (uint64_t word = set[i]; word != 0; word &= word - 1)
            sum += (double)values[i * 64 + lowest_bit(word)];
    return sum;
}

double kvr_bitmap_sum_double(const uint64_t *set, size_t words, const double *values)
{
    double sum = 0;
    for (size_t i = 0; i < words; i++)
        for (uint64_t word = set[i]; word != 0; word &= word - 1)
            sum += values[i * 64 + lowest_bit(word)];
    return sum;
}
