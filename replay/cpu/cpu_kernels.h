/*
 * The inner loops of a replay, one table of them for each level of the processor.
 *
 * Every entry computes the same bits in every table: kernels_plain.c is the reference, the others
 * come from one template. Kernels know arrays and counts, not what a token, a head or a policy is.
 * No pointer need be aligned unless it says so.
 */
#ifndef KVR_CPU_KERNELS_H
#define KVR_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/cpu.h"

/* What kvr_keys… and collect may write behind the last element that counts. */
enum { KVR_KERNEL_SLACK = 16 };

/*
 * The key of a score: signed integers in the order of the floats, -0 with 0. NaN has none.
 */
static inline int32_t kvr_score_key(float score)
{
    int32_t bits;
    score += 0.0f; /* -0 becomes 0 */
    __builtin_memcpy(&bits, &score, sizeof bits);
    return bits ^ (bits < 0 ? INT32_MAX : 0);
}

static inline float kvr_score_of_key(int32_t key)
{
    int32_t bits = key ^ (key < 0 ? INT32_MAX : 0);
    float score;
    __builtin_memcpy(&score, &bits, sizeof score);
    return score;
}

/* Tokens of four vectors, interleaved, that stay in the nearest cache; as words of a bitmap. */
enum { KVR_QUAD_TILE = 512, KVR_QUAD_WORDS = KVR_QUAD_TILE / 64 };

/* Multiples of this are what an exact sum is made of: the mean of 64 half rows is one. */
#define KVR_DYADIC_STEP 0x1p-30f

struct kvr_kernels {
    /* -------------------------------------------------------------------- selection */

    /* keys[0 … result-1] = the keys above `bound` of scores[0 … n-1], in order. `keys` has room for
       n + KVR_KERNEL_SLACK. */
    size_t (*collect)(const float *scores, size_t n, int32_t bound, int32_t *keys);

    /* How many of keys[0 … n-1] are at least `least`. */
    size_t (*count_from)(const int32_t *keys, size_t n, int32_t least);

    /* bins[i] = min((keys[i] - base) >> shift, last) of keys not below `base`. */
    void (*bin)(const int32_t *keys, size_t n, int32_t base, unsigned shift, uint16_t last,
                uint16_t *bins);

    /* The indices of bins[0 … n-1] that are one of wanted[0 … count-1], in order; their number. */
    size_t (*find_bins)(const uint16_t *bins, size_t n, const uint16_t *wanted, size_t count,
                        uint32_t *places);

    /* Bit i of sets[c] = scores[i] > cuts[c]; whole words, bits from n on are 0. */
    void (*mark)(const float *scores, size_t n, const float *cuts, size_t count,
                 uint64_t *const *sets);

    /* Takes out of `set` what is not in `above` either, but for the first `ties` bits of that. */
    void (*keep_first)(uint64_t *set, const uint64_t *above, size_t words, uint64_t ties);

    /* How many of scores[0 … n-1] are above, and how many are at least, `score`. */
    size_t (*count_above)(const float *scores, size_t n, float score);
    size_t (*count_at_least)(const float *scores, size_t n, float score);

    /* -------------------------------------------------------------------- vectors */

    /* True if all values are multiples of KVR_DYADIC_STEP in [0, 2) with a sum below 2^22, so that
       double sums of them are exact in any order; then *sum is theirs. */
    bool (*dyadic_sum)(const float *values, size_t n, double *sum);

    /* The largest value; n > 0, no NaN. Of zeros of both signs either. */
    float (*largest)(const float *values, size_t n);

    /* Page scores: out[p] = the largest of values[p * width … p * width + width - 1]. */
    void (*page_largest)(const float *values, size_t pages, size_t width, float *out);

    /* quads[t][v] = vectors[v][t] for `count` <= 4 vectors, 0 for the others. */
    void (*interleave)(const float *const *vectors, size_t count, size_t n, double *quads);

    /* sums[p] = the sum of values[p * width … p * width + width - 1], in any order. */
    void (*page_sums)(const float *values, size_t pages, size_t width, double *sums);

    /* Of each lane, in double and in ascending order of t: its sum, added to sums; or the sums of
       v^2 and of (v / divisor)^2, added to plain and to divided. quads are [n][4]. */
    void (*quad_sums)(const double *quads, size_t n, double sums[4]);
    void (*quad_squares)(const double *quads, size_t n, const double divisors[4], double plain[4],
                         double divided[4]);

    /* Sum of the lanes over the bits of set & ~former (NULL: of set), added to sums; in ascending
       order unless `any_order`. At most KVR_QUAD_WORDS words. */
    void (*quad_masked_sums)(const double *quads, const uint64_t *set, const uint64_t *former,
                             size_t words, bool any_order, double sums[4]);

    /* Pooling of vectors [heads][stride] at n tokens: in double in head order, rounded once. */
    void (*pool_mean)(const float *vectors, size_t heads, size_t stride, size_t n, double divisor,
                      float *out);
    void (*pool_weighted)(const float *vectors, size_t heads, size_t stride, size_t n,
                          const double *weights, float *out);
    void (*pool_max)(const float *vectors, size_t heads, size_t stride, size_t n, float *out);

    /* -------------------------------------------------------------------- bitmaps */

    uint64_t (*count_bits)(const uint64_t *a, size_t words);
    uint64_t (*count_common)(const uint64_t *a, const uint64_t *b, size_t words);
};

/* The table of the level in force. Thread-safe. */
const struct kvr_kernels *kvr_kernels(void);

/* The table of a level that this build has, else NULL: for tests. */
const struct kvr_kernels *kvr_kernels_of(enum kvr_cpu level);

/* Private to this folder: the tables themselves. */
extern const struct kvr_kernels kvr_kernels_plain;
#if KVR_CPU_X86
extern const struct kvr_kernels kvr_kernels_avx2, kvr_kernels_avx512;
#endif

#endif
