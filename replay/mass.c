/*
 * Sums over kept sets. It must not know what the vectors mean.
 */
#include "replay/mass.h"

#include <string.h>

#include "replay/bitmap.h"
#include "replay/cpu/kernels.h"

static bool holds(const uint64_t *set, const uint64_t *former, size_t words)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < words; i++)
        missing |= former[i] & ~set[i];
    return missing == 0;
}

/* Adds to sums what the set adds to the former one; all of the set where there is none. */
static void add_floats(const struct kvr_mass_vectors *vectors, const uint64_t *set,
                       const uint64_t *former, double *sums)
{
    for (size_t first = 0; first < vectors->float_count; first += 4) {
        size_t width = vectors->float_count - first < 4 ? vectors->float_count - first : 4;
        double four[4] = {0};
        memcpy(four, sums + first, width * sizeof *four);
        kvr_kernels()->quad_masked_sums(vectors->quads + first * vectors->count, set, former,
                                        kvr_bitmap_words(vectors->count), vectors->floats_exact,
                                        four);
        memcpy(sums + first, four, width * sizeof *four);
    }
}

/* The same, two vectors side by side: independent sums hide the latency of each addition. */
static void add_doubles(const struct kvr_mass_vectors *vectors, const uint64_t *set,
                        const uint64_t *former, double *sums)
{
    for (size_t first = 0; first < vectors->double_count; first += 2) {
        bool two = vectors->double_count - first > 1;
        const double *a = vectors->doubles[first], *b = vectors->doubles[first + two];
        double sum_a = sums[first], sum_b = sums[first + two];
        for (size_t i = 0; i < kvr_bitmap_words(vectors->count); i++) {
            uint64_t bits = former != NULL ? set[i] & ~former[i] : set[i];
            for (; bits != 0; bits &= bits - 1) {
                size_t t = i * 64 + (size_t)__builtin_ctzll(bits);
                sum_a += a[t];
                sum_b += b[t];
            }
        }
        sums[first + two] = sum_b;
        sums[first] = sum_a;
    }
}

void kvr_mass_sums(const struct kvr_mass_vectors *vectors, const uint64_t *const *sets,
                   size_t set_count, double *sums)
{
    size_t words = kvr_bitmap_words(vectors->count);
    size_t width = vectors->float_count + vectors->double_count;
    memset(sums, 0, set_count * width * sizeof *sums);
    for (size_t s = 0; s < set_count; s++) {
        double *floats = sums + s * width, *doubles = floats + vectors->float_count;
        bool grows = s > 0 && holds(sets[s], sets[s - 1], words);
        bool more_floats = grows && vectors->floats_exact;
        bool more_doubles = grows && vectors->doubles_exact;
        if (more_floats)
            memcpy(floats, floats - width, vectors->float_count * sizeof *floats);
        if (more_doubles)
            memcpy(doubles, doubles - width, vectors->double_count * sizeof *doubles);
        add_floats(vectors, sets[s], more_floats ? sets[s - 1] : NULL, floats);
        add_doubles(vectors, sets[s], more_doubles ? sets[s - 1] : NULL, doubles);
    }
}
