/*
 * Sums over rows of stored elements: conversion and addition in one pass, so that a row is read
 * once and a sum is written once per block of rows. Every variant gives the same bits.
 */
#include <stdbool.h>
#include <string.h>

#include "formats/element.h"
#include "formats/base/cpu.h"

enum { TILE = 256 }; /* columns that are converted at once */

/* The plain variant, for every element type. */
static void add_tile(struct kvr_element_type type, const unsigned char *stored, size_t stride,
                     size_t rows, size_t count, double *sums, double *squares)
{
    double values[TILE];
    for (size_t row = 0; row < rows; row++) {
        kvr_element_decode(type, stored + row * stride, count, values);
        for (size_t t = 0; t < count; t++)
            sums[t] += values[t];
        for (size_t t = 0; squares != NULL && t < count; t++)
            squares[t] += values[t] * values[t];
    }
}

static void add_plain(struct kvr_element_type type, const unsigned char *stored, size_t rows,
                      size_t first, size_t count, double *sums, double *squares)
{
    size_t size = kvr_element_size(type.kind), stride = count * size;
    for (size_t t = first; t < count; t += TILE) {
        size_t width = count - t < TILE ? count - t : TILE;
        add_tile(type, stored + t * size, stride, rows, width, sums + t,
                 squares != NULL ? squares + t : NULL);
    }
}

#if KVR_CPU_X86
#include <immintrin.h>

/* Eight columns of little-endian halves; their sums stay in registers over all rows. */
__attribute__((target("avx,f16c"))) static size_t
add_halves_f16c(const unsigned char *stored, size_t rows, size_t count, double *sums)
{
    size_t t = 0;
    for (; t + 8 <= count; t += 8) {
        __m256d low = _mm256_loadu_pd(sums + t), high = _mm256_loadu_pd(sums + t + 4);
        const unsigned char *at = stored + 2 * t;
        for (size_t row = 0; row < rows; row++, at += 2 * count) {
            __m256 values = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)at));
            low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(values)));
            high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1)));
        }
        _mm256_storeu_pd(sums + t, low);
        _mm256_storeu_pd(sums + t + 4, high);
    }
    return t;
}

__attribute__((target("avx,f16c"))) static size_t add_half_squares_f16c(const unsigned char *stored,
                                                                        size_t rows, size_t count,
                                                                        double *sums,
                                                                        double *squares)
{
    size_t t = 0;
    for (; t + 4 <= count; t += 4) {
        __m256d sum = _mm256_loadu_pd(sums + t), square = _mm256_loadu_pd(squares + t);
        const unsigned char *at = stored + 2 * t;
        for (size_t row = 0; row < rows; row++, at += 2 * count) {
            __m128i bits = _mm_loadl_epi64((const __m128i *)(const void *)at);
            __m256d value = _mm256_cvtps_pd(_mm_cvtph_ps(bits));
            sum = _mm256_add_pd(sum, value);
            square = _mm256_add_pd(square, _mm256_mul_pd(value, value));
        }
        _mm256_storeu_pd(sums + t, sum);
        _mm256_storeu_pd(squares + t, square);
    }
    return t;
}
#endif

void kvr_element_add_rows(struct kvr_element_type type, const void *stored, size_t rows,
                          size_t count, double *sums)
{
    size_t done = 0;
#if KVR_CPU_X86
    if (type.kind == KVR_HALF && !type.big_endian && kvr_cpu_level() >= KVR_CPU_AVX2)
        done = add_halves_f16c(stored, rows, count, sums);
#endif
    add_plain(type, stored, rows, done, count, sums, NULL);
}

void kvr_element_add_squares(struct kvr_element_type type, const void *stored, size_t rows,
                             size_t count, double *sums, double *squares)
{
    size_t done = 0;
#if KVR_CPU_X86
    if (type.kind == KVR_HALF && !type.big_endian && kvr_cpu_level() >= KVR_CPU_AVX2)
        done = add_half_squares_f16c(stored, rows, count, sums, squares);
#endif
    add_plain(type, stored, rows, done, count, sums, squares);
}
