/*
 * Kernels over quads, four vectors side by side: a lane of doubles each, so that the sum of every
 * vector runs in ascending order while four of them run at once. 256 bits in every variant.
 */
#ifndef KVR_QUADS_X86_H
#define KVR_QUADS_X86_H

WORD __m256d load_quad(const double *quads, size_t t)
{
    return _mm256_loadu_pd(quads + 4 * t);
}

KVR_TARGET static void interleave(const float *const *vectors, size_t count, size_t n,
                                  double *quads)
{
    size_t t = 0;
    for (; count == 4 && t + 4 <= n; t += 4) {
        __m128 a = _mm_loadu_ps(vectors[0] + t), b = _mm_loadu_ps(vectors[1] + t);
        __m128 c = _mm_loadu_ps(vectors[2] + t), d = _mm_loadu_ps(vectors[3] + t);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm256_storeu_pd(quads + 4 * t, _mm256_cvtps_pd(a));
        _mm256_storeu_pd(quads + 4 * t + 4, _mm256_cvtps_pd(b));
        _mm256_storeu_pd(quads + 4 * t + 8, _mm256_cvtps_pd(c));
        _mm256_storeu_pd(quads + 4 * t + 12, _mm256_cvtps_pd(d));
    }
    const float *rest[4] = {NULL};
    for (size_t v = 0; v < count; v++)
        rest[v] = vectors[v] + t;
    kvr_kernels_plain.interleave(rest, count, n - t, quads + 4 * t);
}

KVR_TARGET static void quad_sums(const double *quads, size_t n, double sums[4])
{
    __m256d sum = _mm256_loadu_pd(sums);
    for (size_t t = 0; t < n; t++)
        sum = _mm256_add_pd(sum, load_quad(quads, t));
    _mm256_storeu_pd(sums, sum);
}

/*
 * a / b, rounded as a division rounds, by the reciprocal of b: two corrections of the quotient by
 * its remainder, which FMA gives exactly (Markstein 1990). For a of float's range and b where
 * neither 1 / b nor a quotient leaves the normal numbers.
 */
WORD __m256d divide(__m256d a, __m256d b, __m256d reciprocal)
{
    __m256d quotient = _mm256_mul_pd(a, reciprocal);
    __m256d remainder = _mm256_fnmadd_pd(quotient, b, a);
    quotient = _mm256_fmadd_pd(remainder, reciprocal, quotient);
    remainder = _mm256_fnmadd_pd(quotient, b, a);
    return _mm256_fmadd_pd(remainder, reciprocal, quotient);
}

KVR_TARGET static void quad_squares(const double *quads, size_t n, const double divisors[4],
                                    double plain[4], double divided[4])
{
    const __m256d divisor = _mm256_loadu_pd(divisors);
    const __m256d reciprocal = _mm256_div_pd(_mm256_set1_pd(1), divisor);
    __m256d sum = _mm256_loadu_pd(plain), sum_divided = _mm256_loadu_pd(divided);
    for (size_t t = 0; t < n; t++) {
        __m256d p = load_quad(quads, t);
        sum = _mm256_add_pd(sum, _mm256_mul_pd(p, p));
        p = divide(p, divisor, reciprocal);
        sum_divided = _mm256_add_pd(sum_divided, _mm256_mul_pd(p, p));
    }
    _mm256_storeu_pd(plain, sum);
    _mm256_storeu_pd(divided, sum_divided);
}

/* Bits are listed first, as offsets of their quads, then summed: adding them one by one as they are
   found would guess wrongly at the end of every word. For the same reason `step` of them, about as
   many as a word has, are listed at a time; up to step - 1 too many, of no bit. */
WORD __attribute__((always_inline)) size_t list_bits(uint64_t bits, size_t word, size_t step,
                                                     uint32_t *offsets)
{
    size_t count = (size_t)__builtin_popcountll(bits), i = 0;
    do
        for (size_t k = 0; k < step; k++, i++) {
            uint32_t offset = 4 * (uint32_t)(64 * word + _tzcnt_u64(bits));
            bits &= bits - 1;
            __asm__("" : "+r"(offset)); /* gathering four for one store is slower than four */
            offsets[i] = offset;
        }
    while (i < count);
    return count;
}

WORD __attribute__((always_inline)) size_t list_words(const uint64_t *set, const uint64_t *former,
                                                      size_t words, size_t step, uint32_t *offsets)
{
    size_t count = 0;
    for (size_t word = 0; word < words; word++)
        count += list_bits(former != NULL ? set[word] & ~former[word] : set[word], word, step,
                           offsets + count);
    return count;
}

KVR_TARGET static void quad_masked_sums(const double *quads, const uint64_t *set,
                                        const uint64_t *former, size_t words, bool any_order,
                                        double sums[4])
{
    uint32_t offsets[KVR_QUAD_TILE + 16];
    size_t bits = 0, count, i = 0;
    for (size_t word = 0; word < words; word++)
        bits +=
            (size_t)__builtin_popcountll(former != NULL ? set[word] & ~former[word] : set[word]);
    if (bits <= 2 * words)
        count = list_words(set, former, words, 4, offsets);
    else if (bits <= 6 * words)
        count = list_words(set, former, words, 8, offsets);
    else
        count = list_words(set, former, words, 16, offsets);
    /* One sum keeps the order; four hide the latency of the additions. */
    __m256d sum = _mm256_loadu_pd(sums);
    if (any_order) {
        __m256d b = _mm256_setzero_pd(), c = b, d = b;
        for (; i + 4 <= count; i += 4) {
            sum = _mm256_add_pd(sum, _mm256_loadu_pd(quads + offsets[i]));
            b = _mm256_add_pd(b, _mm256_loadu_pd(quads + offsets[i + 1]));
            c = _mm256_add_pd(c, _mm256_loadu_pd(quads + offsets[i + 2]));
            d = _mm256_add_pd(d, _mm256_loadu_pd(quads + offsets[i + 3]));
        }
        sum = _mm256_add_pd(_mm256_add_pd(sum, b), _mm256_add_pd(c, d));
    }
    for (; i < count; i++)
        sum = _mm256_add_pd(sum, _mm256_loadu_pd(quads + offsets[i]));
    _mm256_storeu_pd(sums, sum);
}

#endif
