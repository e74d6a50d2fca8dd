/*
 * Means over rows of stored elements that are all at hand: each row is read once and nothing but
 * the means is written. Every variant gives the same bits.
 *
 * Halves are multiples of 2^-24, so a sum of them below 1 is exact in float; the few columns that
 * hold more, or anything odd, are summed once more in double.
 */
#include <stdbool.h>
#include <string.h>

#include "formats/element.h"
#include "formats/element_wide.h"

enum { TILE = 64 };

/* The plain variant, for every element type; columns from `first` on. */
static void mean_plain(struct kvr_element_type type, const void *const *stored, size_t rows,
                       size_t first, size_t count, float *means)
{
    size_t size = kvr_element_size(type.kind);
    for (size_t t = first; t < count; t += TILE) {
        size_t width = count - t < TILE ? count - t : TILE;
        double sums[TILE] = {0}, values[TILE];
        for (size_t row = 0; row < rows; row++) {
            const unsigned char *at = stored[row];
            kvr_element_decode(type, at + t * size, width, values);
            for (size_t i = 0; i < width; i++)
                sums[i] += values[i];
        }
        for (size_t i = 0; i < width; i++)
            means[t + i] = (float)(sums[i] / (double)rows);
    }
}

#if KVR_CPU_X86
/* Rows are far apart: the processor does not see which bytes come next. */
enum { AHEAD = 512 };

/* sums / rows, each rounded once. A power of two is exact in float. */
KVR_TARGET_AVX2 static inline __m256 over_rows(__m256 sums, size_t rows)
{
    if ((rows & (rows - 1)) == 0)
        return _mm256_mul_ps(sums, _mm256_set1_ps(1 / (float)rows));
    const __m256d divisor = _mm256_set1_pd((double)rows);
    __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(sums));
    __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(sums, 1));
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_div_pd(high, divisor)),
                           _mm256_cvtpd_ps(_mm256_div_pd(low, divisor)));
}

/* 32 columns of halves from t on, summed in float; false if that is not sure to be exact. */
KVR_TARGET_AVX2 static inline bool mean_32_halves(const void *const *stored, size_t rows, size_t t,
                                                  float *means)
{
    __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                      _mm256_setzero_ps()};
    __m256i signs = _mm256_setzero_si256();
    for (size_t row = 0; row < rows; row++) {
        const unsigned char *at = (const unsigned char *)stored[row] + 2 * t;
        _mm_prefetch((const char *)at + AHEAD, _MM_HINT_T0);
        for (size_t i = 0; i < 4; i++)
            sums[i] = _mm256_add_ps(sums[i], kvr_element_wide(KVR_HALF, at + 16 * i));
        signs = _mm256_or_si256(signs, _mm256_loadu_si256((const __m256i *)(const void *)at));
        signs =
            _mm256_or_si256(signs, _mm256_loadu_si256((const __m256i *)(const void *)(at + 32)));
    }
    /* Partial sums grow towards the whole where nothing is negative; NaN is not below 1. */
    __m256 most = _mm256_max_ps(_mm256_max_ps(sums[1], sums[0]), _mm256_max_ps(sums[3], sums[2]));
    __m256 sum = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
    __m256 one = _mm256_set1_ps(1);
    __m256 below =
        _mm256_and_ps(_mm256_cmp_ps(most, one, _CMP_LT_OQ), _mm256_cmp_ps(sum, sum, _CMP_ORD_Q));
    bool negative = (_mm256_movemask_epi8(signs) & (int)0xaaaaaaaau) != 0;
    if (negative || _mm256_movemask_ps(below) != 0xff)
        return false;
    for (size_t i = 0; i < 4; i++)
        _mm256_storeu_ps(means + t + 8 * i, over_rows(sums[i], rows));
    return true;
}

KVR_TARGET_AVX2 static size_t mean_halves(struct kvr_element_type type, const void *const *stored,
                                          size_t rows, size_t count, float *means)
{
    size_t t = 0;
    for (; t + 32 <= count; t += 32)
        if (!mean_32_halves(stored, rows, t, means))
            mean_plain(type, stored, rows, t, t + 32, means);
    return t;
}

/* Eight columns in double. */
KVR_TARGET_AVX2 static inline __attribute__((always_inline)) size_t
mean_wide(enum kvr_element kind, const void *const *stored, size_t rows, size_t count, float *means)
{
    const size_t size = kvr_element_size(kind);
    const __m256d divisor = _mm256_set1_pd((double)rows);
    size_t t = 0;
    for (; t + 8 <= count; t += 8) {
        __m256d low = _mm256_setzero_pd(), high = low;
        for (size_t row = 0; row < rows; row++) {
            const unsigned char *at = (const unsigned char *)stored[row] + size * t;
            _mm_prefetch((const char *)at + AHEAD, _MM_HINT_T0);
            __m256 values = kvr_element_wide(kind, at);
            low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(values)));
            high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1)));
        }
        _mm_storeu_ps(means + t, _mm256_cvtpd_ps(_mm256_div_pd(low, divisor)));
        _mm_storeu_ps(means + t + 4, _mm256_cvtpd_ps(_mm256_div_pd(high, divisor)));
    }
    return t;
}

KVR_TARGET_AVX2 static size_t mean_by_kind(struct kvr_element_type type, const void *const *stored,
                                           size_t rows, size_t count, float *means)
{
    if (type.kind == KVR_HALF)
        return mean_halves(type, stored, rows, count, means);
    if (type.kind == KVR_BFLOAT16)
        return mean_wide(KVR_BFLOAT16, stored, rows, count, means);
    return mean_wide(KVR_FLOAT, stored, rows, count, means);
}
#else
static size_t mean_by_kind(struct kvr_element_type type, const void *const *stored, size_t rows,
                           size_t count, float *means)
{
    (void)type, (void)stored, (void)rows, (void)count, (void)means;
    return 0;
}
#endif

void kvr_element_mean_rows(struct kvr_element_type type, const void *const *rows, size_t row_count,
                           size_t count, float *means)
{
    size_t done = 0;
    if (kvr_element_is_wide(type))
        done = mean_by_kind(type, rows, row_count, count, means);
    mean_plain(type, rows, row_count, done, count, means);
}
