/*
 * The tile loops for processors with AVX2 and FMA: eight columns at a time, otherwise step by step
 * what attention_tile.c does. A tile's 96 sums stay in registers.
 */
#include "replay/attention_tile.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define FMA __attribute__((target("avx2,fma")))

enum { Q = KVR_TILE_QUERIES, K = KVR_TILE_KEYS, LANES = KVR_TILE_LANES };

/* The sums of one query. */
struct pair {
    __m256 low, high;
};

FMA static inline struct pair step(struct pair sum, const float *query, __m256 low, __m256 high)
{
    __m256 q = _mm256_broadcast_ss(query);
    return (struct pair){_mm256_fmadd_ps(q, low, sum.low), _mm256_fmadd_ps(q, high, sum.high)};
}

FMA static inline void store(float *out, struct pair sum, __m256 scale)
{
    _mm256_storeu_ps(out, _mm256_mul_ps(sum.low, scale));
    _mm256_storeu_ps(out + LANES, _mm256_mul_ps(sum.high, scale));
}

FMA static void logits(const float *queries, const float *keys, size_t width, float scale,
                       float *out, size_t stride)
{
    const struct pair zero = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    struct pair a = zero, b = zero, c = zero, d = zero, e = zero, f = zero;
    for (size_t i = 0; i < width; i++, queries += Q, keys += K) {
        __m256 low = _mm256_load_ps(keys), high = _mm256_load_ps(keys + LANES);
        a = step(a, queries, low, high);
        b = step(b, queries + 1, low, high);
        c = step(c, queries + 2, low, high);
        d = step(d, queries + 3, low, high);
        e = step(e, queries + 4, low, high);
        f = step(f, queries + 5, low, high);
    }
    __m256 factor = _mm256_set1_ps(scale);
    store(out, a, factor);
    store(out + stride, b, factor);
    store(out + 2 * stride, c, factor);
    store(out + 3 * stride, d, factor);
    store(out + 4 * stride, e, factor);
    store(out + 5 * stride, f, factor);
}

/* exp(x) of x <= 0, see attention_tile.c; comparisons are false for NaN, which passes through. */
FMA static inline __m256 exponential(__m256 x)
{
    const __m256 shift = _mm256_set1_ps(0x1.8p23F);
    __m256 shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(0x1.715476p0F), shift);
    __m256 n = _mm256_sub_ps(shifted, shift);
    __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0x1.63p-1F), x);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(0x1.bd0106p-13F), r);
    __m256 p = _mm256_fmadd_ps(_mm256_set1_ps(1.0F / 5040), r, _mm256_set1_ps(1.0F / 720));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 120));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 24));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 6));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1));
    __m256i bits = _mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(127));
    __m256 power = _mm256_castsi256_ps(_mm256_slli_epi32(bits, 23));
    __m256 small = _mm256_cmp_ps(x, _mm256_set1_ps(KVR_TILE_LEAST_EXPONENT), _CMP_LT_OQ);
    return _mm256_andnot_ps(small, _mm256_mul_ps(p, power));
}

FMA static void cap(float *values, size_t count, float softcap)
{
    const __m256 sign = _mm256_set1_ps(-0.0F), one = _mm256_set1_ps(1);
    const __m256 inverse = _mm256_set1_ps(1 / softcap), factor = _mm256_set1_ps(softcap);
    for (size_t t = 0; t < count; t += LANES) {
        __m256 x = _mm256_loadu_ps(values + t);
        __m256 size = _mm256_andnot_ps(sign, _mm256_mul_ps(x, inverse));
        __m256 e = exponential(_mm256_mul_ps(size, _mm256_set1_ps(-2)));
        __m256 tanh = _mm256_div_ps(_mm256_sub_ps(one, e), _mm256_add_ps(one, e));
        tanh = _mm256_or_ps(_mm256_andnot_ps(sign, tanh), _mm256_and_ps(sign, x));
        _mm256_storeu_ps(values + t, _mm256_mul_ps(tanh, factor));
    }
}

FMA static float greatest(const float *values, size_t count)
{
    __m256 most = _mm256_set1_ps(KVR_TILE_LEAST_LOGIT);
    for (size_t t = 0; t < count; t += LANES) /* of NaN and a number, max gives the second */
        most = _mm256_max_ps(_mm256_loadu_ps(values + t), most);
    float lanes[LANES];
    _mm256_storeu_ps(lanes, most);
    for (size_t i = 1; i < LANES; i++)
        lanes[0] = lanes[i] > lanes[0] ? lanes[i] : lanes[0];
    return lanes[0];
}

FMA static double weigh(float *values, size_t count, float most)
{
    __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
    const __m256 subtract = _mm256_set1_ps(most);
    for (size_t t = 0; t < count; t += LANES) {
        __m256 e = exponential(_mm256_sub_ps(_mm256_loadu_ps(values + t), subtract));
        _mm256_storeu_ps(values + t, e);
        low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(e)));
        high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(e, 1)));
    }
    double sums[4];
    _mm256_storeu_pd(sums, _mm256_add_pd(low, high));
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

FMA static void add(const struct kvr_tile_rows *rows, size_t columns, double *sums)
{
    size_t t = 0;
    for (; t + LANES <= columns; t += LANES) {
        __m256d low = _mm256_loadu_pd(sums + t), high = _mm256_loadu_pd(sums + t + 4);
        for (size_t i = 0; i < rows->count; i++) {
            __m256 w = _mm256_loadu_ps(rows->weights + i * rows->stride + t);
            w = _mm256_mul_ps(w, _mm256_broadcast_ss(rows->factors + i));
            low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(w)));
            high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(w, 1)));
        }
        _mm256_storeu_pd(sums + t, low);
        _mm256_storeu_pd(sums + t + 4, high);
    }
    struct kvr_tile_rows rest = *rows;
    rest.weights += t;
    kvr_attention_tile_plain.add(&rest, columns - t, sums + t);
}

static const struct kvr_attention_tile variant = {"fma", logits, cap, greatest, weigh, add};

const struct kvr_attention_tile *kvr_attention_tile_fma(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &variant : NULL;
}

#else

const struct kvr_attention_tile *kvr_attention_tile_fma(void)
{
    return NULL;
}

#endif
