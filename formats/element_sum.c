/*
 * Sums over rows of stored elements: conversion and addition in one pass, so that a row is read
 * once and a sum is written once per block of rows. Every variant gives the same bits.
 */
#include <stdbool.h>
#include <string.h>

#include "formats/element.h"
#include "formats/element_wide.h"

enum { TILE = 256 }; /* columns that are converted at once */

/* The plain variant, for every element type; columns from `first` on. */
static void add_plain(struct kvr_element_type type, const void *const *stored, size_t rows,
                      size_t first, size_t count, double *sums, double *squares)
{
    size_t size = kvr_element_size(type.kind);
    double values[TILE];
    for (size_t t = first; t < count; t += TILE) {
        size_t width = count - t < TILE ? count - t : TILE;
        for (size_t row = 0; row < rows; row++) {
            const unsigned char *at = stored[row];
            kvr_element_decode(type, at + t * size, width, values);
            for (size_t i = 0; i < width; i++)
                sums[t + i] += values[i];
            for (size_t i = 0; squares != NULL && i < width; i++)
                squares[t + i] += values[i] * values[i];
        }
    }
}

#if KVR_CPU_X86
/* Eight columns; their sums stay in registers over all rows. */
KVR_TARGET_AVX2 static inline __attribute__((always_inline)) size_t
add_wide(enum kvr_element kind, const void *const *stored, size_t rows, size_t count, double *sums,
         double *squares)
{
    const size_t size = kvr_element_size(kind);
    size_t t = 0;
    for (; t + 8 <= count; t += 8) {
        __m256d low = _mm256_loadu_pd(sums + t), high = _mm256_loadu_pd(sums + t + 4);
        __m256d low_square = low, high_square = high;
        if (squares != NULL) {
            low_square = _mm256_loadu_pd(squares + t);
            high_square = _mm256_loadu_pd(squares + t + 4);
        }
        for (size_t row = 0; row < rows; row++) {
            __m256 values = kvr_element_wide(kind, (const unsigned char *)stored[row] + size * t);
            __m256d a = _mm256_cvtps_pd(_mm256_castps256_ps128(values));
            __m256d b = _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1));
            low = _mm256_add_pd(low, a);
            high = _mm256_add_pd(high, b);
            if (squares != NULL) {
                low_square = _mm256_add_pd(low_square, _mm256_mul_pd(a, a));
                high_square = _mm256_add_pd(high_square, _mm256_mul_pd(b, b));
            }
        }
        _mm256_storeu_pd(sums + t, low);
        _mm256_storeu_pd(sums + t + 4, high);
        if (squares != NULL) {
            _mm256_storeu_pd(squares + t, low_square);
            _mm256_storeu_pd(squares + t + 4, high_square);
        }
    }
    return t;
}

/* The kind is a constant in each of the calls. */
KVR_TARGET_AVX2 static size_t add_by_kind(enum kvr_element kind, const void *const *stored,
                                          size_t rows, size_t count, double *sums, double *squares)
{
    if (kind == KVR_HALF)
        return squares == NULL ? add_wide(KVR_HALF, stored, rows, count, sums, NULL)
                               : add_wide(KVR_HALF, stored, rows, count, sums, squares);
    if (kind == KVR_BFLOAT16)
        return squares == NULL ? add_wide(KVR_BFLOAT16, stored, rows, count, sums, NULL)
                               : add_wide(KVR_BFLOAT16, stored, rows, count, sums, squares);
    return squares == NULL ? add_wide(KVR_FLOAT, stored, rows, count, sums, NULL)
                           : add_wide(KVR_FLOAT, stored, rows, count, sums, squares);
}
#else
static size_t add_by_kind(enum kvr_element kind, const void *const *stored, size_t rows,
                          size_t count, double *sums, double *squares)
{
    (void)kind, (void)stored, (void)rows, (void)count, (void)sums, (void)squares;
    return 0;
}
#endif

void kvr_element_add_rows(struct kvr_element_type type, const void *const *rows, size_t row_count,
                          size_t count, double *sums)
{
    kvr_element_add_squares(type, rows, row_count, count, sums, NULL);
}

void kvr_element_add_squares(struct kvr_element_type type, const void *const *rows,
                             size_t row_count, size_t count, double *sums, double *squares)
{
    size_t done = 0;
    if (kvr_element_is_wide(type))
        done = add_by_kind(type.kind, rows, row_count, count, sums, squares);
    add_plain(type, rows, row_count, done, count, sums, squares);
}
