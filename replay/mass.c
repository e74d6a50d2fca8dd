/*
 * Sums over kept sets. It must not know what the vectors mean.
 *
 * Tokens pass in tiles: a tile of four vectors, interleaved, stays in the nearest cache while every
 * set visits it.
 */
#include "replay/mass.h"

#include <string.h>

#include "replay/bitmap.h"
#include "replay/cpu/cpu_kernels.h"

/* Some tokens of the vectors, and where they are summed. */
struct tile {
    const struct kvr_mass_vectors *vectors;
    size_t start, words; /* tokens from `start`, a multiple of 64, on */
    const uint64_t *const *sets;
    size_t set_count;
    double *sums;
    size_t width; /* of a row of sums */
};

/* Of set s what must be visited: where sums are exact, only what it has beyond the set before it,
   if it has all of that. Then *former is that set, else NULL. */
static const uint64_t *words_of(const struct tile *tile, size_t s, bool exact,
                                const uint64_t **former)
{
    const uint64_t *set = tile->sets[s] + tile->start / 64;
    const uint64_t *before = s > 0 && exact ? tile->sets[s - 1] + tile->start / 64 : NULL;
    uint64_t missing = 0;
    for (size_t i = 0; before != NULL && i < tile->words; i++)
        missing |= before[i] & ~set[i];
    *former = missing == 0 ? before : NULL;
    return set;
}

/* Up to four float vectors from `first` on. */
static void add_floats(const struct tile *tile, size_t first)
{
    const struct kvr_mass_vectors *vectors = tile->vectors;
    const size_t count = vectors->float_count - first < 4 ? vectors->float_count - first : 4;
    const size_t left = vectors->count - tile->start,
                 tokens = left < KVR_QUAD_TILE ? left : KVR_QUAD_TILE;
    const bool exact = vectors->floats_exact;
    const float *rows[4];
    double quads[4 * KVR_QUAD_TILE];
    double here[4] = {0}; /* sums over the tile, of the set before */
    for (size_t v = 0; v < count; v++)
        rows[v] = vectors->floats + (first + v) * vectors->count + tile->start;
    kvr_kernels()->interleave(rows, count, tokens, quads);
    for (size_t s = 0; s < tile->set_count; s++) {
        const uint64_t *former, *set = words_of(tile, s, exact, &former);
        double *sums = tile->sums + s * tile->width + first;
        if (former == NULL)
            memset(here, 0, sizeof here);
        if (!exact) /* goes on where the tile before ended */
            memcpy(here, sums, count * sizeof *sums);
        kvr_kernels()->quad_masked_sums(quads, set, former, tile->words, exact, here);
        for (size_t v = 0; v < count; v++)
            sums[v] = exact ? sums[v] + here[v] : here[v];
    }
}

/* Up to two double vectors from `first` on: independent sums hide the latency of each addition. */
static void add_doubles(const struct tile *tile, size_t first)
{
    const struct kvr_mass_vectors *vectors = tile->vectors;
    const size_t two = vectors->double_count - first > 1 ? 1 : 0;
    const double *a = vectors->doubles[first] + tile->start;
    const double *b = vectors->doubles[first + two] + tile->start;
    const bool exact = vectors->doubles_exact;
    double here_a = 0, here_b = 0;
    for (size_t s = 0; s < tile->set_count; s++) {
        const uint64_t *former, *set = words_of(tile, s, exact, &former);
        double *sums = tile->sums + s * tile->width + vectors->float_count + first;
        if (former == NULL)
            here_a = here_b = 0;
        if (!exact) {
            here_a = sums[0];
            here_b = sums[two];
        }
        for (size_t i = 0; i < tile->words; i++) {
            uint64_t bits = former != NULL ? set[i] & ~former[i] : set[i];
            for (; bits != 0; bits &= bits - 1) {
                size_t t = i * 64 + (size_t)__builtin_ctzll(bits);
                here_a += a[t];
                here_b += b[t];
            }
        }
        sums[two] = exact ? sums[two] + here_b : here_b;
        sums[0] = two == 0 ? sums[0] : exact ? sums[0] + here_a : here_a;
    }
}

void kvr_mass_sums(const struct kvr_mass_vectors *vectors, const uint64_t *const *sets,
                   size_t set_count, double *sums)
{
    struct tile tile = {
        .vectors = vectors,
        .sets = sets,
        .set_count = set_count,
        .sums = sums,
        .width = vectors->float_count + vectors->double_count,
    };
    const size_t words = kvr_bitmap_words(vectors->count);
    memset(sums, 0, set_count * tile.width * sizeof *sums);
    for (size_t word = 0; word < words; word += KVR_QUAD_WORDS) {
        tile.start = word * 64;
        tile.words = words - word < KVR_QUAD_WORDS ? words - word : KVR_QUAD_WORDS;
        for (size_t v = 0; v < vectors->float_count; v += 4)
            add_floats(&tile, v);
        for (size_t v = 0; v < vectors->double_count; v += 2)
            add_doubles(&tile, v);
    }
}
