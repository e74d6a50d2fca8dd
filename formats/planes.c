/*
 * Joining and splitting pairs of bytes. It must not know what an element means.
 */
#include "formats/planes.h"

#if defined(__SSE2__)
#include <emmintrin.h>

static size_t join_wide(const unsigned char *first, const unsigned char *second, size_t count,
                        unsigned char *pairs)
{
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        __m128i low = _mm_loadu_si128((const __m128i *)(const void *)(first + i));
        __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(second + i));
        __m128i *at = (__m128i *)(void *)(pairs + 2 * i);
        _mm_storeu_si128(at, _mm_unpacklo_epi8(low, high));
        _mm_storeu_si128(at + 1, _mm_unpackhi_epi8(low, high));
    }
    return i;
}
#else
static size_t join_wide(const unsigned char *first, const unsigned char *second, size_t count,
                        unsigned char *pairs)
{
    (void)first, (void)second, (void)count, (void)pairs;
    return 0;
}
#endif

void kvr_planes_join(const unsigned char *first, const unsigned char *second, size_t count,
                     unsigned char *pairs)
{
    for (size_t i = join_wide(first, second, count, pairs); i < count; i++) {
        pairs[2 * i] = first[i];
        pairs[2 * i + 1] = second[i];
    }
}

void kvr_planes_split(const unsigned char *pairs, size_t count, unsigned char *first,
                      unsigned char *second)
{
    for (size_t i = 0; i < count; i++) {
        first[i] = pairs[2 * i];
        second[i] = pairs[2 * i + 1];
    }
}
