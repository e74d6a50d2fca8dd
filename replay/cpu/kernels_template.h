/*
 * The kernels in words of vectors: included once by every variant, after the words and quads. What
 * is left over at the end of an array is done by the plain kernels.
 */
#ifndef KVR_KERNELS_TEMPLATE_H
#define KVR_KERNELS_TEMPLATE_H

KVR_TARGET static size_t collect(const float *scores, size_t n, int32_t bound, int32_t *keys)
{
    const ints least = all_ints(bound);
    size_t found = 0, i = 0;
    for (; i + LANES <= n; i += LANES) {
        ints key = keys_of(load_floats(scores + i));
        found += store_chosen(keys + found, key, larger_int_bits(key, least));
    }
    return found + kvr_kernels_plain.collect(scores + i, n - i, bound, keys + found);
}

KVR_TARGET static size_t count_from(const int32_t *keys, size_t n, int32_t least)
{
    const ints limit = all_ints(least);
    ints below = all_ints(0), below_too = below;
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        below = count_larger_ints(below, limit, load_ints(keys + i));
        below_too = count_larger_ints(below_too, limit, load_ints(keys + i + LANES));
    }
    return i - sum_of_lanes(below) - sum_of_lanes(below_too) +
           kvr_kernels_plain.count_from(keys + i, n - i, least);
}

KVR_TARGET static void bin(const int32_t *keys, size_t n, int32_t base, unsigned shift,
                           uint16_t last, uint16_t *bins)
{
    const ints from = all_ints(base), most = all_ints(last);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        ints at = shifted_right(minus(load_ints(keys + i), from), shift);
        store_as_shorts(bins + i, smaller_unsigned(at, most));
    }
    kvr_kernels_plain.bin(keys + i, n - i, base, shift, last, bins + i);
}

KVR_TARGET static size_t find_bins(const uint16_t *bins, size_t n, const uint16_t *wanted,
                                   size_t count, uint32_t *places)
{
    size_t found = 0, i = 0;
    for (; i + SHORT_LANES <= n; i += SHORT_LANES) {
        uint64_t bits = equal_short_bits(load_shorts(bins + i), wanted, count);
        for (; bits != 0; bits &= bits - 1) {
            places[found++] = (uint32_t)(i + (size_t)__builtin_ctzll(bits) / SHORT_STEP);
            bits &= SHORT_STEP == 2 ? bits - 1 : bits;
        }
    }
    size_t more = kvr_kernels_plain.find_bins(bins + i, n - i, wanted, count, places + found);
    for (size_t k = 0; k < more; k++)
        places[found + k] += (uint32_t)i;
    return found + more;
}

KVR_TARGET static void mark(const float *scores, size_t n, const float *cuts, size_t count,
                            uint64_t *const *sets)
{
    size_t whole = n / 64;
    for (size_t word = 0; word < whole; word++)
        for (size_t c = 0; c < count; c++)
            sets[c][word] = above_64(scores + 64 * word, all_floats(cuts[c]));
    for (size_t c = 0; c < count && whole * 64 < n; c++) {
        uint64_t *last = sets[c] + whole;
        kvr_kernels_plain.mark(scores + whole * 64, n - whole * 64, cuts + c, 1, &last);
    }
}

KVR_TARGET static void keep_first(uint64_t *set, const uint64_t *above, size_t words, uint64_t ties)
{
    for (size_t i = 0; i < words; i++) {
        uint64_t equal = set[i] & ~above[i];
        uint64_t here = (uint64_t)__builtin_popcountll(equal);
        if (here <= ties) {
            ties -= here;
            continue;
        }
        for (; ties > 0; ties--)
            equal &= equal - 1;
        set[i] &= ~equal;
    }
}

KVR_TARGET static size_t count_above(const float *scores, size_t n, float score)
{
    const floats limit = all_floats(score);
    ints counts = all_ints(0);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        counts = count_larger(counts, load_floats(scores + i), limit);
    return sum_of_lanes(counts) + kvr_kernels_plain.count_above(scores + i, n - i, score);
}

KVR_TARGET static size_t count_at_least(const float *scores, size_t n, float score)
{
    const floats limit = all_floats(score);
    ints counts = all_ints(0);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        counts = count_not_smaller(counts, load_floats(scores + i), limit);
    return sum_of_lanes(counts) + kvr_kernels_plain.count_at_least(scores + i, n - i, score);
}

KVR_TARGET static bool dyadic_sum(const float *values, size_t n, double *sum)
{
    const floats scale = all_floats(1 / KVR_DYADIC_STEP);
    wides total = all_wides(0), total_too = total;
    ints bad = all_ints(0);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        ints steps;
        bad = either(bad, not_whole(times(load_floats(values + i), scale), &steps));
        bad = either(bad, steps);
        total = plus_wides(total, load_wides(values + i));
        total_too = plus_wides(total_too, load_wides(values + i + WIDE_LANES));
    }
    double rest;
    if (any_negative(bad) || !kvr_kernels_plain.dyadic_sum(values + i, n - i, &rest))
        return false;
    *sum = sum_of_wides(total) + sum_of_wides(total_too) + rest;
    return *sum < 0x1p22;
}

KVR_TARGET static float largest(const float *values, size_t n)
{
    if (n < LANES)
        return kvr_kernels_plain.largest(values, n);
    floats best = load_floats(values);
    for (size_t i = LANES; i + LANES <= n; i += LANES)
        best = larger(load_floats(values + i), best);
    best = larger(load_floats(values + n - LANES), best); /* some of them a second time */
    return largest_lane(best);
}

KVR_TARGET static void page_largest(const float *values, size_t pages, size_t width, float *out)
{
    if (width == 16) /* the usual size, known here: no loop within a page */
        for (size_t page = 0; page < pages; page++)
            out[page] = largest(values + page * 16, 16);
    else
        for (size_t page = 0; page < pages; page++)
            out[page] = largest(values + page * width, width);
}

KVR_TARGET static void page_sums(const float *values, size_t pages, size_t width, double *sums)
{
    for (size_t page = 0; page < pages; page++) {
        const float *at = values + page * width;
        wides sum = all_wides(0);
        size_t i = 0;
        for (; i + WIDE_LANES <= width; i += WIDE_LANES)
            sum = plus_wides(sum, load_wides(at + i));
        double rest = 0;
        for (; i < width; i++)
            rest += (double)at[i];
        sums[page] = sum_of_wides(sum) + rest;
    }
}

/* Multiplying by the reciprocal is dividing where that is exact: by powers of two. */
static bool is_power_of_two(double value)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits << 12 == 0;
}

KVR_TARGET static void pool_mean(const float *vectors, size_t heads, size_t stride, size_t n,
                                 double divisor, float *out)
{
    const bool exact = is_power_of_two(divisor);
    const wides by = all_wides(exact ? 1 / divisor : divisor);
    size_t t = 0;
    for (; t + WIDE_LANES <= n; t += WIDE_LANES) {
        wides sum = all_wides(0);
        for (size_t h = 0; h < heads; h++)
            sum = plus_wides(sum, load_wides(vectors + h * stride + t));
        store_narrow(out + t, exact ? times_wides(sum, by) : over_wides(sum, by));
    }
    kvr_kernels_plain.pool_mean(vectors + t, heads, stride, n - t, divisor, out + t);
}

KVR_TARGET static void pool_weighted(const float *vectors, size_t heads, size_t stride, size_t n,
                                     const double *weights, float *out)
{
    size_t t = 0;
    for (; t + WIDE_LANES <= n; t += WIDE_LANES) {
        wides sum = all_wides(0);
        for (size_t h = 0; h < heads; h++)
            sum = plus_wides(
                sum, times_wides(all_wides(weights[h]), load_wides(vectors + h * stride + t)));
        store_narrow(out + t, sum);
    }
    kvr_kernels_plain.pool_weighted(vectors + t, heads, stride, n - t, weights, out + t);
}

KVR_TARGET static void pool_max(const float *vectors, size_t heads, size_t stride, size_t n,
                                float *out)
{
    size_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        floats best = load_floats(vectors + t);
        for (size_t h = 1; h < heads; h++)
            best = larger(load_floats(vectors + h * stride + t), best);
        store_floats(out + t, best);
    }
    kvr_kernels_plain.pool_max(vectors + t, heads, stride, n - t, out + t);
}

KVR_TARGET static uint64_t count_bits(const uint64_t *a, size_t words)
{
    uint64_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += (uint64_t)__builtin_popcountll(a[i]);
    return count;
}

KVR_TARGET static uint64_t count_common(const uint64_t *a, const uint64_t *b, size_t words)
{
    uint64_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += (uint64_t)__builtin_popcountll(a[i] & b[i]);
    return count;
}

#define KVR_KERNELS                                                                                \
    {                                                                                              \
        .collect = collect, .count_from = count_from, .bin = bin, .find_bins = find_bins,          \
        .mark = mark, .keep_first = keep_first, .count_above = count_above,                        \
        .count_at_least = count_at_least, .dyadic_sum = dyadic_sum, .largest = largest,            \
        .page_largest = page_largest, .interleave = interleave, .page_sums = page_sums,            \
        .quad_sums = quad_sums, .quad_squares = quad_squares,                                      \
        .quad_masked_sums = quad_masked_sums, .pool_mean = pool_mean,                              \
        .pool_weighted = pool_weighted, .pool_max = pool_max, .count_bits = count_bits,            \
        .count_common = count_common,                                                              \
    }

#endif
