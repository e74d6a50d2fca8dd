/*
 * Eight stored elements to floats at once, for the sums over rows. Private to formats/element_*.c.
 */
#ifndef KVR_ELEMENT_WIDE_H
#define KVR_ELEMENT_WIDE_H

#include <string.h>

#include "formats/base/cpu.h"
#include "formats/element.h"

/* Whether stored bytes stand in the other order than this machine's. */
static inline bool kvr_element_must_swap(struct kvr_element_type type)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return type.big_endian == (first == 1);
}

/* True if kvr_element_wide knows the type and this processor can. */
static inline bool kvr_element_is_wide(struct kvr_element_type type)
{
    return type.kind != KVR_DOUBLE && !kvr_element_must_swap(type) &&
           kvr_cpu_level() >= KVR_CPU_AVX2;
}

#if KVR_CPU_X86
#include <immintrin.h>

KVR_TARGET_AVX2 static inline __attribute__((always_inline)) __m256
kvr_element_wide(enum kvr_element kind, const unsigned char *at)
{
    if (kind == KVR_FLOAT)
        return _mm256_loadu_ps((const float *)(const void *)at);
    __m128i bits = _mm_loadu_si128((const __m128i *)(const void *)at);
    if (kind == KVR_HALF)
        return _mm256_cvtph_ps(bits);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
#endif

#endif
