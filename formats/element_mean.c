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
#include "formats/planes.h"

enum {
    TILE = 64,
    HALVES_TILE = 4096, /* columns whose float sums wait for further rows */
    TOGETHER = 4,       /* rows */
};

/* Rows of stored elements; `planes` as of kvr_element_mean_planes. */
struct rows {
    struct kvr_element_type type;
    const void *const *at;
    size_t planes;
    size_t count;
};

/* `width` values of a row from column t on, at most TILE. */
static void decode_tile(const struct rows *rows, size_t row, size_t t, size_t width, double *values)
{
    const unsigned char *at = rows->at[row];
    unsigned char pairs[2 * TILE];
    if (rows->planes > 0) {
        kvr_planes_join(at + t, at + rows->planes + t, width, pairs);
        at = pairs;
    } else {
        at += t * kvr_element_size(rows->type.kind);
    }
    kvr_element_decode(rows->type, at, width, values);
}

/* The plain variant, for every element type; columns from `first` on. */
static void mean_plain(const struct rows *rows, size_t first, size_t count, float *means)
{
    for (size_t t = first; t < count; t += TILE) {
        size_t width = count - t < TILE ? count - t : TILE;
        double sums[TILE] = {0}, values[TILE];
        for (size_t row = 0; row < rows->count; row++) {
            decode_tile(rows, row, t, width, values);
            for (size_t i = 0; i < width; i++)
                sums[i] += values[i];
        }
        for (size_t i = 0; i < width; i++)
            means[t + i] = (float)(sums[i] / (double)rows->count);
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

/* 32 halves of a row from column t on, in order, 16 and 16. */
KVR_TARGET_AVX2 static inline __attribute__((always_inline)) void
load_32_halves(const struct rows *rows, size_t row, size_t t, bool planes, __m256i halves[2])
{
    const unsigned char *at = (const unsigned char *)rows->at[row] + (planes ? t : 2 * t);
    halves[0] = _mm256_loadu_si256((const __m256i *)(const void *)at);
    if (!planes) {
        _mm_prefetch((const char *)at + AHEAD, _MM_HINT_T0);
        halves[1] = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32));
        return;
    }
    __m256i second = _mm256_loadu_si256((const __m256i *)(const void *)(at + rows->planes));
    __m256i low = _mm256_unpacklo_epi8(halves[0], second); /* 0-7 and 16-23 */
    __m256i high = _mm256_unpackhi_epi8(halves[0], second);
    halves[0] = _mm256_permute2x128_si256(low, high, 0x20);
    halves[1] = _mm256_permute2x128_si256(low, high, 0x31);
}

/*
 * Adds rows first … end-1 to the float sums of `width` columns from t on; all bits of the halves go
 * into *bits. Rows often lie a power of two apart: more than TOGETHER at once would push each other
 * out of the processor's cache.
 */
KVR_TARGET_AVX2 static inline __attribute__((always_inline)) void
add_halves(const struct rows *rows, size_t first, size_t end, size_t t, size_t width, bool planes,
           float *sums, __m256i *bits)
{
    for (size_t column = 0; column < width; column += 32) {
        __m256 sum[4];
        for (size_t i = 0; i < 4; i++)
            sum[i] = _mm256_load_ps(sums + column + 8 * i);
        for (size_t row = first; row < end; row++) {
            __m256i halves[2];
            load_32_halves(rows, row, t + column, planes, halves);
            for (size_t i = 0; i < 2; i++) {
                __m128i low = _mm256_castsi256_si128(halves[i]);
                __m128i high = _mm256_extracti128_si256(halves[i], 1);
                sum[2 * i] = _mm256_add_ps(sum[2 * i], _mm256_cvtph_ps(low));
                sum[2 * i + 1] = _mm256_add_ps(sum[2 * i + 1], _mm256_cvtph_ps(high));
            }
            *bits = _mm256_or_si256(*bits, _mm256_or_si256(halves[0], halves[1]));
        }
        for (size_t i = 0; i < 4; i++)
            _mm256_store_ps(sums + column + 8 * i, sum[i]);
    }
}

/* Means of 32 columns from their sums; false if the sums are not sure to be exact. */
KVR_TARGET_AVX2 static inline bool divide_32(const float *sums, size_t rows, float *means)
{
    const __m256 one = _mm256_set1_ps(1);
    __m256 below = _mm256_cmp_ps(_mm256_load_ps(sums), one, _CMP_LT_OQ);
    for (size_t i = 1; i < 4; i++) /* NaN is not below 1 */
        below = _mm256_and_ps(below, _mm256_cmp_ps(_mm256_load_ps(sums + 8 * i), one, _CMP_LT_OQ));
    if (_mm256_movemask_ps(below) != 0xff)
        return false;
    for (size_t i = 0; i < 4; i++)
        _mm256_storeu_ps(means + 8 * i, over_rows(_mm256_load_ps(sums + 8 * i), rows));
    return true;
}

KVR_TARGET_AVX2 static inline __attribute__((always_inline)) size_t
mean_halves(const struct rows *rows, size_t count, bool planes, float *means)
{
    _Alignas(32) float sums[HALVES_TILE];
    const size_t whole = count / 32 * 32;
    for (size_t t = 0; t < whole; t += HALVES_TILE) {
        const size_t width = whole - t < HALVES_TILE ? whole - t : HALVES_TILE;
        __m256i bits = _mm256_setzero_si256();
        memset(sums, 0, width * sizeof *sums);
        for (size_t row = 0; row < rows->count; row += TOGETHER) {
            size_t end = rows->count - row < TOGETHER ? rows->count : row + TOGETHER;
            add_halves(rows, row, end, t, width, planes, sums, &bits);
        }
        /* Partial sums grow towards the whole where nothing is negative. */
        bool negative = (_mm256_movemask_epi8(bits) & (int)0xaaaaaaaau) != 0;
        for (size_t i = 0; i < width; i += 32)
            if (negative || !divide_32(sums + i, rows->count, means + t + i))
                mean_plain(rows, t + i, t + i + 32, means);
    }
    return whole;
}

/* Eight columns in double. */
KVR_TARGET_AVX2 static inline __attribute__((always_inline)) size_t
mean_wide(enum kvr_element kind, const struct rows *rows, size_t count, float *means)
{
    const size_t size = kvr_element_size(kind);
    const __m256d divisor = _mm256_set1_pd((double)rows->count);
    size_t t = 0;
    for (; t + 8 <= count; t += 8) {
        __m256d low = _mm256_setzero_pd(), high = low;
        for (size_t row = 0; row < rows->count; row++) {
            const unsigned char *at = (const unsigned char *)rows->at[row] + size * t;
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

KVR_TARGET_AVX2 static size_t mean_by_kind(const struct rows *rows, size_t count, float *means)
{
    if (rows->type.kind == KVR_HALF && rows->planes > 0)
        return mean_halves(rows, count, true, means);
    if (rows->type.kind == KVR_HALF)
        return mean_halves(rows, count, false, means);
    if (rows->planes > 0)
        return 0;
    if (rows->type.kind == KVR_BFLOAT16)
        return mean_wide(KVR_BFLOAT16, rows, count, means);
    return mean_wide(KVR_FLOAT, rows, count, means);
}
#else
static size_t mean_by_kind(const struct rows *rows, size_t count, float *means)
{
    (void)rows, (void)count, (void)means;
    return 0;
}
#endif

void kvr_element_mean_planes(struct kvr_element_type type, const void *const *rows, size_t planes,
                             size_t row_count, size_t count, float *means)
{
    const struct rows all = {type, rows, planes, row_count};
    size_t done = 0;
    if (kvr_element_is_wide(type))
        done = mean_by_kind(&all, count, means);
    mean_plain(&all, done, count, means);
}

void kvr_element_mean_rows(struct kvr_element_type type, const void *const *rows, size_t row_count,
                           size_t count, float *means)
{
    kvr_element_mean_planes(type, rows, 0, row_count, count, means);
}
