/*
 * The kernels in plain C: the reference for all others, and what runs where there are no others.
 */
#include <math.h>
#include <string.h>

#include "replay/cpu/cpu_kernels.h"

static size_t collect(const float *scores, size_t n, int32_t bound, int32_t *keys)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) { /* without a branch: which scores pass is anyone's guess */
        int32_t key = kvr_score_key(scores[i]);
        keys[found] = key;
        found += key > bound;
    }
    return found;
}

static size_t count_from(const int32_t *keys, size_t n, int32_t least)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += keys[i] >= least;
    return count;
}

static void bin(const int32_t *keys, size_t n, int32_t base, unsigned shift, uint16_t last,
                uint16_t *bins)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t at = ((uint32_t)keys[i] - (uint32_t)base) >> shift;
        bins[i] = (uint16_t)(at < last ? at : last);
    }
}

static size_t find_bins(const uint16_t *bins, size_t n, const uint16_t *wanted, size_t count,
                        uint32_t *places)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        bool any = false;
        for (size_t w = 0; w < count; w++)
            any |= bins[i] == wanted[w];
        places[found] = (uint32_t)i;
        found += any;
    }
    return found;
}

static void mark(const float *scores, size_t n, const float *cuts, size_t count,
                 uint64_t *const *sets)
{
    for (size_t start = 0; start < n; start += 64)
        for (size_t c = 0; c < count; c++) {
            uint64_t word = 0;
            for (size_t i = start; i < n && i < start + 64; i++)
                word |= (uint64_t)(scores[i] > cuts[c]) << (i - start);
            sets[c][start / 64] = word;
        }
}

static void keep_first(uint64_t *set, const uint64_t *above, size_t words, uint64_t ties)
{
    for (size_t i = 0; i < words; i++) {
        uint64_t equal = set[i] & ~above[i];
        uint64_t here = (uint64_t)__builtin_popcountll(equal);
        if (here <= ties) {
            ties -= here;
            continue;
        }
        for (; ties > 0; ties--)
            equal &= equal - 1;
        set[i] &= ~equal;
    }
}

static size_t count_above(const float *scores, size_t n, float score)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += scores[i] > score;
    return count;
}

static size_t count_at_least(const float *scores, size_t n, float score)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += scores[i] >= score;
    return count;
}

static bool dyadic_sum(const float *values, size_t n, double *sum)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(values[i] >= 0 && values[i] < 2))
            return false;
        float steps = values[i] * (1 / KVR_DYADIC_STEP); /* exact, and below 2^31 */
        if ((float)(int32_t)steps < steps)
            return false;
        total += (double)values[i];
    }
    *sum = total;
    return total < 0x1p22;
}

static float largest(const float *values, size_t n)
{
    float best = values[0];
    for (size_t i = 1; i < n; i++)
        best = values[i] > best ? values[i] : best;
    return best;
}

static void page_largest(const float *values, size_t pages, size_t width, float *out)
{
    for (size_t page = 0; page < pages; page++)
        out[page] = largest(values + page * width, width);
}

static void page_sums(const float *values, size_t pages, size_t width, double *sums)
{
    for (size_t page = 0; page < pages; page++) {
        double sum = 0;
        for (size_t i = 0; i < width; i++)
            sum += (double)values[page * width + i];
        sums[page] = sum;
    }
}

static void interleave(const float *const *vectors, size_t count, size_t n, double *quads)
{
    for (size_t t = 0; t < n; t++)
        for (size_t v = 0; v < 4; v++)
            quads[4 * t + v] = v < count ? (double)vectors[v][t] : 0;
}

static void quad_sums(const double *quads, size_t n, double sums[4])
{
    for (size_t t = 0; t < n; t++)
        for (size_t v = 0; v < 4; v++)
            sums[v] += quads[4 * t + v];
}

static void quad_squares(const double *quads, size_t n, const double divisors[4], double plain[4],
                         double divided[4])
{
    for (size_t t = 0; t < n; t++)
        for (size_t v = 0; v < 4; v++) {
            double p = quads[4 * t + v];
            plain[v] += p * p;
            p /= divisors[v];
            divided[v] += p * p;
        }
}

static void quad_masked_sums(const double *quads, const uint64_t *set, const uint64_t *former,
                             size_t words, bool any_order, double sums[4])
{
    (void)any_order; /* ascending is one */
    for (size_t i = 0; i < words; i++)
        for (uint64_t bits = former != NULL ? set[i] & ~former[i] : set[i]; bits != 0;
             bits &= bits - 1)
            quad_sums(quads + 4 * (i * 64 + (size_t)__builtin_ctzll(bits)), 1, sums);
}

/* Sums of a few tokens over all heads stay in the cache while the heads pass. */
enum { TILE = 512 };

static void sum_heads(const float *vectors, size_t heads, size_t stride, size_t n,
                      const double *weights, double *sums)
{
    memset(sums, 0, n * sizeof *sums);
    for (size_t h = 0; h < heads; h++) {
        const float *vector = vectors + h * stride;
        if (weights == NULL)
            for (size_t t = 0; t < n; t++)
                sums[t] += (double)vector[t];
        else
            for (size_t t = 0; t < n; t++)
                sums[t] += weights[h] * (double)vector[t];
    }
}

static void pool(const float *vectors, size_t heads, size_t stride, size_t n, const double *weights,
                 double divisor, float *out)
{
    double sums[TILE];
    for (size_t start = 0; start < n; start += TILE) {
        size_t width = n - start < TILE ? n - start : TILE;
        sum_heads(vectors + start, heads, stride, width, weights, sums);
        for (size_t t = 0; t < width; t++)
            out[start + t] = (float)(sums[t] / divisor);
    }
}

static void pool_mean(const float *vectors, size_t heads, size_t stride, size_t n, double divisor,
                      float *out)
{
    pool(vectors, heads, stride, n, NULL, divisor, out);
}

static void pool_weighted(const float *vectors, size_t heads, size_t stride, size_t n,
                          const double *weights, float *out)
{
    pool(vectors, heads, stride, n, weights, 1, out);
}

static void pool_max(const float *vectors, size_t heads, size_t stride, size_t n, float *out)
{
    memcpy(out, vectors, n * sizeof *out);
    for (size_t h = 1; h < heads; h++) {
        const float *vector = vectors + h * stride;
        for (size_t t = 0; t < n; t++)
            out[t] = vector[t] > out[t] ? vector[t] : out[t];
    }
}

static uint64_t count_bits(const uint64_t *a, size_t words)
{
    uint64_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += (uint64_t)__builtin_popcountll(a[i]);
    return count;
}

static uint64_t count_common(const uint64_t *a, const uint64_t *b, size_t words)
{
    uint64_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += (uint64_t)__builtin_popcountll(a[i] & b[i]);
    return count;
}

const struct kvr_kernels kvr_kernels_plain = {
    .collect = collect,
    .count_from = count_from,
    .bin = bin,
    .find_bins = find_bins,
    .mark = mark,
    .keep_first = keep_first,
    .count_above = count_above,
    .count_at_least = count_at_least,
    .dyadic_sum = dyadic_sum,
    .largest = largest,
    .page_largest = page_largest,
    .page_sums = page_sums,
    .interleave = interleave,
    .quad_sums = quad_sums,
    .quad_squares = quad_squares,
    .quad_masked_sums = quad_masked_sums,
    .pool_mean = pool_mean,
    .pool_weighted = pool_weighted,
    .pool_max = pool_max,
    .count_bits = count_bits,
    .count_common = count_common,
};
