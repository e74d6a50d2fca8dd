/*
 * The vector words that kernels_template.h is written in, for AVX-512: 16 floats or integers, 8
 * doubles, 32 short integers. Bit i of a result of `…_bits` speaks of lane i.
 */
#ifndef KVR_VECTOR_AVX512_H
#define KVR_VECTOR_AVX512_H

#include <immintrin.h>

#define KVR_TARGET KVR_TARGET_AVX512
#define WORD static inline KVR_TARGET

enum { LANES = 16, WIDE_LANES = 8, SHORT_LANES = 32 };

typedef __m512 floats;
typedef __m512i ints;
typedef __m512d wides;
typedef __m512i shorts;

WORD floats load_floats(const float *at)
{
    return _mm512_loadu_ps(at);
}

WORD floats all_floats(float value)
{
    return _mm512_set1_ps(value);
}

WORD void store_floats(float *at, floats a)
{
    _mm512_storeu_ps(at, a);
}

WORD floats times(floats a, floats b)
{
    return _mm512_mul_ps(a, b);
}

/* a > b ? a : b */
WORD floats larger(floats a, floats b)
{
    return _mm512_max_ps(a, b);
}

WORD float largest_lane(floats a)
{
    return _mm512_reduce_max_ps(a);
}

/* The lanes where a > b, or a >= b, counted in each lane of the result. */
WORD ints count_larger(ints counts, floats a, floats b)
{
    return _mm512_mask_add_epi32(counts, _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), counts,
                                 _mm512_set1_epi32(1));
}

WORD ints count_not_smaller(ints counts, floats a, floats b)
{
    return _mm512_mask_add_epi32(counts, _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ), counts,
                                 _mm512_set1_epi32(1));
}

WORD ints count_larger_ints(ints counts, ints a, ints b)
{
    return _mm512_mask_add_epi32(counts, _mm512_cmpgt_epi32_mask(a, b), counts,
                                 _mm512_set1_epi32(1));
}

WORD uint64_t sum_of_lanes(ints counts)
{
    uint32_t lane[LANES];
    uint64_t sum = 0;
    _mm512_storeu_si512(lane, counts);
    for (int i = 0; i < LANES; i++)
        sum += lane[i];
    return sum;
}

WORD ints load_ints(const int32_t *at)
{
    return _mm512_loadu_si512(at);
}

WORD ints all_ints(int32_t value)
{
    return _mm512_set1_epi32(value);
}

WORD ints minus(ints a, ints b)
{
    return _mm512_sub_epi32(a, b);
}

WORD ints either(ints a, ints b)
{
    return _mm512_or_si512(a, b);
}

WORD ints shifted_right(ints a, unsigned bits)
{
    return _mm512_srl_epi32(a, _mm_cvtsi32_si128((int)bits));
}

WORD ints smaller_unsigned(ints a, ints b)
{
    return _mm512_min_epu32(a, b);
}

WORD uint32_t larger_int_bits(ints a, ints b)
{
    return _mm512_cmpgt_epi32_mask(a, b);
}

WORD bool any_negative(ints a)
{
    return _mm512_movepi32_mask(a) != 0;
}

/* The keys of scores, as kvr_score_key. */
WORD ints keys_of(floats scores)
{
    ints bits = _mm512_castps_si512(_mm512_add_ps(scores, _mm512_setzero_ps()));
    return _mm512_xor_si512(bits, _mm512_srli_epi32(_mm512_srai_epi32(bits, 31), 1));
}

/* What is left of a float after its whole part is taken off: all bits 0 where it is whole and in
   the range of the integers, which are returned in *whole. */
WORD ints not_whole(floats a, ints *whole)
{
    *whole = _mm512_cvttps_epi32(a);
    return _mm512_movm_epi32(_mm512_cmp_ps_mask(_mm512_cvtepi32_ps(*whole), a, _CMP_NEQ_UQ));
}

/* Stores the lanes of `bits` side by side, and rubbish behind them; returns their number. */
WORD size_t store_chosen(int32_t *at, ints a, uint32_t bits)
{
    _mm512_storeu_si512(at, _mm512_maskz_compress_epi32((__mmask16)bits, a));
    return (size_t)__builtin_popcount(bits);
}

/* Integers below 2^15 as short ones. */
WORD void store_as_shorts(uint16_t *at, ints a)
{
    _mm256_storeu_si256((__m256i *)(void *)at, _mm512_cvtepi32_epi16(a));
}

WORD shorts load_shorts(const uint16_t *at)
{
    return _mm512_loadu_si512(at);
}

/* The lanes that equal one of wanted[0 … count-1], one bit a lane: SHORT_STEP. */
enum { SHORT_STEP = 1 };
WORD uint64_t equal_short_bits(shorts a, const uint16_t *wanted, size_t count)
{
    uint64_t any = 0;
    for (size_t w = 0; w < count; w++)
        any |= _mm512_cmpeq_epi16_mask(a, _mm512_set1_epi16((short)wanted[w]));
    return any;
}

/* Bit i: at[i] > cut, of 64 floats. */
WORD uint64_t above_64(const float *at, floats cut)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < 64; i += LANES)
        word |= (uint64_t)_mm512_cmp_ps_mask(_mm512_loadu_ps(at + i), cut, _CMP_GT_OQ) << i;
    return word;
}

/* WIDE_LANES floats as doubles, and back. */
WORD wides load_wides(const float *at)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(at));
}

WORD void store_narrow(float *at, wides a)
{
    _mm256_storeu_ps(at, _mm512_cvtpd_ps(a));
}

WORD wides all_wides(double value)
{
    return _mm512_set1_pd(value);
}

WORD wides plus_wides(wides a, wides b)
{
    return _mm512_add_pd(a, b);
}

WORD wides times_wides(wides a, wides b)
{
    return _mm512_mul_pd(a, b);
}

WORD wides over_wides(wides a, wides b)
{
    return _mm512_div_pd(a, b);
}

WORD double sum_of_wides(wides a)
{
    return _mm512_reduce_add_pd(a);
}

#endif
