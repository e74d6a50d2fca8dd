/*
 * The vector words that kernels_template.h is written in, for AVX2: 8 floats or integers, 4
 * doubles, 16 short integers. Bit i of a result of `…_bits` speaks of lane i.
 */
#ifndef KVR_VECTOR_AVX2_H
#define KVR_VECTOR_AVX2_H

#include <immintrin.h>

#define KVR_TARGET KVR_TARGET_AVX2
#define WORD static inline KVR_TARGET

enum { LANES = 8, WIDE_LANES = 4, SHORT_LANES = 16 };

typedef __m256 floats;
typedef __m256i ints;
typedef __m256d wides;
typedef __m256i shorts;

WORD floats load_floats(const float *at)
{
    return _mm256_loadu_ps(at);
}

WORD floats all_floats(float value)
{
    return _mm256_set1_ps(value);
}

WORD void store_floats(float *at, floats a)
{
    _mm256_storeu_ps(at, a);
}

WORD floats times(floats a, floats b)
{
    return _mm256_mul_ps(a, b);
}

/* a > b ? a : b */
WORD floats larger(floats a, floats b)
{
    return _mm256_max_ps(a, b);
}

WORD float largest_lane(floats a)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/* The lanes where a > b, or a >= b, counted in each lane of the result. */
WORD ints count_larger(ints counts, floats a, floats b)
{
    return _mm256_sub_epi32(counts, _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GT_OQ)));
}

WORD ints count_not_smaller(ints counts, floats a, floats b)
{
    return _mm256_sub_epi32(counts, _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GE_OQ)));
}

WORD ints count_larger_ints(ints counts, ints a, ints b)
{
    return _mm256_sub_epi32(counts, _mm256_cmpgt_epi32(a, b));
}

WORD uint64_t sum_of_lanes(ints counts)
{
    uint32_t lane[LANES];
    uint64_t sum = 0;
    _mm256_storeu_si256((__m256i *)(void *)lane, counts);
    for (int i = 0; i < LANES; i++)
        sum += lane[i];
    return sum;
}

WORD ints load_ints(const int32_t *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

WORD ints all_ints(int32_t value)
{
    return _mm256_set1_epi32(value);
}

WORD ints minus(ints a, ints b)
{
    return _mm256_sub_epi32(a, b);
}

WORD ints either(ints a, ints b)
{
    return _mm256_or_si256(a, b);
}

WORD ints shifted_right(ints a, unsigned bits)
{
    return _mm256_srl_epi32(a, _mm_cvtsi32_si128((int)bits));
}

WORD ints smaller_unsigned(ints a, ints b)
{
    return _mm256_min_epu32(a, b);
}

WORD uint32_t larger_int_bits(ints a, ints b)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b)));
}

WORD bool any_negative(ints a)
{
    return _mm256_movemask_ps(_mm256_castsi256_ps(a)) != 0;
}

/* The keys of scores, as kvr_score_key. */
WORD ints keys_of(floats scores)
{
    ints bits = _mm256_castps_si256(_mm256_add_ps(scores, _mm256_setzero_ps()));
    return _mm256_xor_si256(bits, _mm256_srli_epi32(_mm256_srai_epi32(bits, 31), 1));
}

/* What is left of a float after its whole part is taken off: all bits 0 where it is whole and in
   the range of the integers, which are returned in *whole. */
WORD ints not_whole(floats a, ints *whole)
{
    *whole = _mm256_cvttps_epi32(a);
    return _mm256_castps_si256(_mm256_cmp_ps(_mm256_cvtepi32_ps(*whole), a, _CMP_NEQ_UQ));
}

/* For each set of lanes, where each of its lanes lies: byte k is the number of the k-th one. */
#define LANE_AT(set, lane)                                                                         \
    ((set) >> (lane)&1 ? (uint64_t)(lane) << 8 * __builtin_popcount((set) & ((1 << (lane)) - 1))   \
                       : 0)
#define LANES_OF(set)                                                                              \
    LANE_AT(set, 0) | LANE_AT(set, 1) | LANE_AT(set, 2) | LANE_AT(set, 3) | LANE_AT(set, 4) |      \
        LANE_AT(set, 5) | LANE_AT(set, 6) | LANE_AT(set, 7)
#define LANES_OF_4(set) LANES_OF(set), LANES_OF((set) + 1), LANES_OF((set) + 2), LANES_OF((set) + 3)
#define LANES_OF_16(set)                                                                           \
    LANES_OF_4(set), LANES_OF_4((set) + 4), LANES_OF_4((set) + 8), LANES_OF_4((set) + 12)
#define LANES_OF_64(set)                                                                           \
    LANES_OF_16(set), LANES_OF_16((set) + 16), LANES_OF_16((set) + 32), LANES_OF_16((set) + 48)
static const uint64_t chosen_lanes[256] = {LANES_OF_64(0), LANES_OF_64(64), LANES_OF_64(128),
                                           LANES_OF_64(192)};

/* Stores the lanes of `bits` side by side, and rubbish behind them; returns their number. */
WORD size_t store_chosen(int32_t *at, ints a, uint32_t bits)
{
    __m128i lanes = _mm_cvtsi64_si128((long long)chosen_lanes[bits]);
    ints chosen = _mm256_permutevar8x32_epi32(a, _mm256_cvtepu8_epi32(lanes));
    _mm256_storeu_si256((__m256i *)(void *)at, chosen);
    return (size_t)__builtin_popcount(bits);
}

/* Integers below 2^15 as short ones. */
WORD void store_as_shorts(uint16_t *at, ints a)
{
    __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    _mm_storeu_si128((__m128i *)(void *)at, packed);
}

WORD shorts load_shorts(const uint16_t *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

/* The lanes that equal one of wanted[0 … count-1], two bits a lane: SHORT_STEP. */
enum { SHORT_STEP = 2 };
WORD uint64_t equal_short_bits(shorts a, const uint16_t *wanted, size_t count)
{
    shorts any = _mm256_setzero_si256();
    for (size_t w = 0; w < count; w++)
        any = _mm256_or_si256(any, _mm256_cmpeq_epi16(a, _mm256_set1_epi16((short)wanted[w])));
    return (uint32_t)_mm256_movemask_epi8(any);
}

WORD ints floats_above(const float *at, floats cut)
{
    return _mm256_castps_si256(_mm256_cmp_ps(_mm256_loadu_ps(at), cut, _CMP_GT_OQ));
}

WORD uint64_t above_32(const float *at, floats cut)
{
    __m256i a = _mm256_packs_epi32(floats_above(at, cut), floats_above(at + 8, cut));
    __m256i b = _mm256_packs_epi32(floats_above(at + 16, cut), floats_above(at + 24, cut));
    /* Packing works on each half of the register: fours of lanes come out in another order. */
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), order);
    return (uint32_t)_mm256_movemask_epi8(bytes);
}

/* Bit i: at[i] > cut, of 64 floats. */
WORD uint64_t above_64(const float *at, floats cut)
{
    return above_32(at, cut) | above_32(at + 32, cut) << 32;
}

/* WIDE_LANES floats as doubles, and back. */
WORD wides load_wides(const float *at)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(at));
}

WORD void store_narrow(float *at, wides a)
{
    _mm_storeu_ps(at, _mm256_cvtpd_ps(a));
}

WORD wides all_wides(double value)
{
    return _mm256_set1_pd(value);
}

WORD wides plus_wides(wides a, wides b)
{
    return _mm256_add_pd(a, b);
}

WORD wides times_wides(wides a, wides b)
{
    return _mm256_mul_pd(a, b);
}

WORD wides over_wides(wides a, wides b)
{
    return _mm256_div_pd(a, b);
}

WORD double sum_of_wides(wides a)
{
    double lane[WIDE_LANES];
    _mm256_storeu_pd(lane, a);
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

#endif
