/*
 * Sums over kept sets. It must not know what the vectors mean.
 */
#include "replay/mass.h"

#include <stdbool.h>
#include <string.h>

#include "replay/bitmap.h"

static bool holds(const uint64_t *set, const uint64_t *former, size_t words)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < words; i++)
        missing |= former[i] & ~set[i];
    return missing == 0;
}

/* Word i of what a set adds to the former one; of the set itself where there is none. */
static inline uint64_t added(const uint64_t *set, const uint64_t *former, size_t i)
{
    return former != NULL ? set[i] & ~former[i] : set[i];
}

/* Adds up to four vectors from `first` on: independent sums hide the latency of each addition. */
static void add_floats(const struct kvr_mass_vectors *vectors, size_t first, const uint64_t *set,
                       const uint64_t *former, size_t words, double *sums)
{
    size_t left = vectors->float_count - first;
    const float *a = vectors->floats[first];
    const float *b = left > 1 ? vectors->floats[first + 1] : a;
    const float *c = left > 2 ? vectors->floats[first + 2] : a;
    const float *d = left > 3 ? vectors->floats[first + 3] : a;
    double sum_a = 0, sum_b = 0, sum_c = 0, sum_d = 0;
    for (size_t i = 0; i < words; i++)
        for (uint64_t bits = added(set, former, i); bits != 0; bits &= bits - 1) {
            size_t t = i * 64 + (size_t)__builtin_ctzll(bits);
            sum_a += (double)a[t];
            sum_b += (double)b[t];
            sum_c += (double)c[t];
            sum_d += (double)d[t];
        }
    const double all[] = {sum_a, sum_b, sum_c, sum_d};
    for (size_t v = 0; v < left && v < 4; v++)
        sums[first + v] += all[v];
}

static void add_doubles(const struct kvr_mass_vectors *vectors, size_t first, const uint64_t *set,
                        const uint64_t *former, size_t words, double *sums)
{
    size_t left = vectors->double_count - first;
    const double *a = vectors->doubles[first];
    const double *b = left > 1 ? vectors->doubles[first + 1] : a;
    double sum_a = 0, sum_b = 0;
    for (size_t i = 0; i < words; i++)
        for (uint64_t bits = added(set, former, i); bits != 0; bits &= bits - 1) {
            size_t t = i * 64 + (size_t)__builtin_ctzll(bits);
            sum_a += a[t];
            sum_b += b[t];
        }
    sums[vectors->float_count + first] += sum_a;
    if (left > 1)
        sums[vectors->float_count + first + 1] += sum_b;
}

void kvr_mass_sums(const struct kvr_mass_vectors *vectors, const uint64_t *const *sets,
                   size_t set_count, double *sums)
{
    size_t words = kvr_bitmap_words(vectors->count);
    size_t width = vectors->float_count + vectors->double_count;
    for (size_t s = 0; s < set_count; s++) {
        const uint64_t *former = s > 0 && holds(sets[s], sets[s - 1], words) ? sets[s - 1] : NULL;
        double *own = sums + s * width;
        if (former != NULL)
            memcpy(own, own - width, width * sizeof *own);
        else
            memset(own, 0, width * sizeof *own);
        for (size_t v = 0; v < vectors->float_count; v += 4)
            add_floats(vectors, v, sets[s], former, words, own);
        for (size_t v = 0; v < vectors->double_count; v += 2)
            add_doubles(vectors, v, sets[s], former, words, own);
    }
}
