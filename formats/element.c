/*
 * Stored elements to doubles and back. It must not know where elements come from.
 *
 * The scalar loops are the reference. Halves also have F16C versions that are chosen once, when
 * the processor has it and KVREPLAY_CPU is not "scalar"; both give the same bits.
 */
#include "formats/element.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/cpu.h"
#include "formats/element_wide.h"

#if KVR_CPU_X86
#include <immintrin.h>
#endif

size_t kvr_element_size(enum kvr_element kind)
{
    switch (kind) {
    case KVR_HALF:
    case KVR_BFLOAT16:
        return 2;
    case KVR_FLOAT:
        return 4;
    case KVR_DOUBLE:
        return 8;
    }
    return 0;
}

const char *kvr_element_name(enum kvr_element kind)
{
    switch (kind) {
    case KVR_HALF:
        return "half";
    case KVR_BFLOAT16:
        return "bfloat16";
    case KVR_FLOAT:
        return "float";
    case KVR_DOUBLE:
        return "double";
    }
    return "unknown";
}

/* One value. */

static float float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double double_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float kvr_half_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t rest = bits & 0x7fffu;
    if (rest >= 0x7c00u) /* infinity or NaN: the largest exponent of a float as well */
        return float_from_bits(sign | 0x7f800000u | (rest << 13));
    /* With the fields in place only the exponent's bias differs, by 127 - 15. The product is exact
       and makes subnormal halves, which are subnormal floats here, what they mean. */
    float magnitude = float_from_bits(rest << 13) * 0x1p112f;
    return sign != 0 ? -magnitude : magnitude;
}

float kvr_bfloat16_to_float(uint16_t bits)
{
    return float_from_bits((uint32_t)bits << 16);
}

/*
 * The 16-bit float with `mantissa` bits after the point that is nearest to value, ties to even.
 * One rounding, from the double itself: through float, 1 + 2^-11 + 2^-40 would become a tie first.
 */
static uint16_t narrow(double value, unsigned mantissa)
{
    const unsigned exponent_bits = 15 - mantissa;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa;

    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = (uint32_t)(bits >> 48) & 0x8000u;
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);

    if (exponent == 1024 && fraction != 0) /* NaN: keep the payload's top, make it quiet */
        return (uint16_t)(sign | infinity | 1u << (mantissa - 1) | fraction >> (52 - mantissa));
    if (exponent > bias)
        return (uint16_t)(sign | infinity);

    /* Below the smallest normal number the last kept bit stays where it is: drop more bits. */
    int deficit = exponent < 1 - bias ? 1 - bias - exponent : 0;
    unsigned drop = 52 - mantissa + (unsigned)deficit;
    if (drop > 54) /* less than half of the smallest subnormal number */
        return (uint16_t)sign;
    uint64_t whole = fraction | UINT64_C(1) << 52;
    uint64_t kept = whole >> drop;
    uint64_t rest = whole & ((UINT64_C(1) << drop) - 1);
    uint64_t half = UINT64_C(1) << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1) != 0);

    /* `kept` still holds the leading one, which counts as one step of the exponent; a carry out of
       the mantissa is another, up to infinity. Subnormal numbers have no leading one. */
    uint64_t steps = deficit > 0 ? 0 : (uint64_t)(exponent + bias - 1) << mantissa;
    return (uint16_t)(sign | (steps + kept));
}

uint16_t kvr_half_from_double(double value)
{
    return narrow(value, 10);
}

uint16_t kvr_bfloat16_from_double(double value)
{
    return narrow(value, 7);
}

/* Many values. Loads and stores go through memcpy, as stored bytes may lie at any address. */

static uint16_t load16(const unsigned char *at, bool swap)
{
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return swap ? __builtin_bswap16(bits) : bits;
}

static uint32_t load32(const unsigned char *at, bool swap)
{
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    return swap ? __builtin_bswap32(bits) : bits;
}

static uint64_t load64(const unsigned char *at, bool swap)
{
    uint64_t bits;
    memcpy(&bits, at, sizeof bits);
    return swap ? __builtin_bswap64(bits) : bits;
}

static void decode_halves(const unsigned char *stored, bool swap, size_t count, double *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (double)kvr_half_to_float(load16(stored + 2 * i, swap));
}

#if KVR_CPU_X86
__attribute__((target("avx,f16c"))) static void
decode_halves_f16c(const unsigned char *stored, bool swap, size_t count, double *values)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m128i bits = _mm_loadu_si128((const __m128i *)(const void *)(stored + 2 * i));
        if (swap)
            bits = _mm_or_si128(_mm_slli_epi16(bits, 8), _mm_srli_epi16(bits, 8));
        __m256 floats = _mm256_cvtph_ps(bits);
        _mm256_storeu_pd(values + i, _mm256_cvtps_pd(_mm256_castps256_ps128(floats)));
        _mm256_storeu_pd(values + i + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(floats, 1)));
    }
    decode_halves(stored + 2 * i, swap, count - i, values + i);
}

#endif

static void decode_bfloat16s(const unsigned char *stored, bool swap, size_t count, double *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (double)kvr_bfloat16_to_float(load16(stored + 2 * i, swap));
}

static void decode_floats(const unsigned char *stored, bool swap, size_t count, double *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (double)float_from_bits(load32(stored + 4 * i, swap));
}

static void decode_doubles(const unsigned char *stored, bool swap, size_t count, double *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = double_from_bits(load64(stored + 8 * i, swap));
}

void kvr_element_decode(struct kvr_element_type type, const void *stored, size_t count,
                        double *values)
{
    const bool swap = kvr_element_must_swap(type);
    switch (type.kind) {
    case KVR_HALF:
#if KVR_CPU_X86
        if (kvr_cpu_level() >= KVR_CPU_AVX2) {
            decode_halves_f16c(stored, swap, count, values);
            return;
        }
#endif
        decode_halves(stored, swap, count, values);
        return;
    case KVR_BFLOAT16:
        decode_bfloat16s(stored, swap, count, values);
        return;
    case KVR_FLOAT:
        decode_floats(stored, swap, count, values);
        return;
    case KVR_DOUBLE:
        decode_doubles(stored, swap, count, values);
        return;
    }
}

static void encode_16(unsigned mantissa, bool swap, const double *values, size_t count,
                      unsigned char *stored)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t bits = narrow(values[i], mantissa);
        bits = swap ? __builtin_bswap16(bits) : bits;
        memcpy(stored + 2 * i, &bits, sizeof bits);
    }
}

#if KVR_CPU_X86
/*
 * Four doubles to floats rounded to odd: cut off, with the last bit set if anything was lost. A
 * float has so many more bits than a half that rounding it to the nearest half is then the same as
 * rounding the double. What is lost beyond the range of floats is infinity or 0 as a half, too.
 */
__attribute__((target("avx2,f16c"))) static __m128 round_to_odd(const double *values)
{
    const __m256i cut = _mm256_set1_epi64x((INT64_C(1) << 29) - 1);
    __m256i bits = _mm256_castpd_si256(_mm256_loadu_pd(values));
    __m256i exact = _mm256_cmpeq_epi64(_mm256_and_si256(bits, cut), _mm256_setzero_si256());
    __m256i odd = _mm256_andnot_si256(exact, _mm256_set1_epi64x(INT64_C(1) << 29));
    return _mm256_cvtpd_ps(
        _mm256_castsi256_pd(_mm256_or_si256(_mm256_andnot_si256(cut, bits), odd)));
}

__attribute__((target("avx2,f16c"))) static void
encode_halves_f16c(bool swap, const double *values, size_t count, unsigned char *stored)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256 floats = _mm256_set_m128(round_to_odd(values + i + 4), round_to_odd(values + i));
        __m128i bits = _mm256_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT);
        if (swap)
            bits = _mm_or_si128(_mm_slli_epi16(bits, 8), _mm_srli_epi16(bits, 8));
        _mm_storeu_si128((__m128i *)(void *)(stored + 2 * i), bits);
    }
    encode_16(10, swap, values + i, count - i, stored + 2 * i);
}
#endif

static void encode_floats(bool swap, const double *values, size_t count, unsigned char *stored)
{
    for (size_t i = 0; i < count; i++) {
        float value = (float)values[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits = swap ? __builtin_bswap32(bits) : bits;
        memcpy(stored + 4 * i, &bits, sizeof bits);
    }
}

static void encode_doubles(bool swap, const double *values, size_t count, unsigned char *stored)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits = swap ? __builtin_bswap64(bits) : bits;
        memcpy(stored + 8 * i, &bits, sizeof bits);
    }
}

void kvr_element_encode(struct kvr_element_type type, const double *values, size_t count,
                        void *stored)
{
    const bool swap = kvr_element_must_swap(type);
    switch (type.kind) {
    case KVR_HALF:
#if KVR_CPU_X86
        if (kvr_cpu_level() >= KVR_CPU_AVX2) {
            encode_halves_f16c(swap, values, count, stored);
            return;
        }
#endif
        encode_16(10, swap, values, count, stored);
        return;
    case KVR_BFLOAT16:
        encode_16(7, swap, values, count, stored);
        return;
    case KVR_FLOAT:
        encode_floats(swap, values, count, stored);
        return;
    case KVR_DOUBLE:
        encode_doubles(swap, values, count, stored);
        return;
    }
}
