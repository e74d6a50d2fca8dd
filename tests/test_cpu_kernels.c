/*
 * Every kernel of every level that this processor has, against the plain one: the same bits at any
 * size and address, for ties, zeros, subnormal numbers, infinities and either sign.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/cpu/cpu_kernels.h"
#include "tests/suites.h"

enum { MOST = 1300, WORDS = MOST / 64 + 1, HEADS = 9 };

/* ------------------------------------------------------------------------- what is put in */

typedef float (*mix)(struct kvr_random *random);

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float uniform(struct kvr_random *random)
{
    return (float)kvr_random_uniform(random);
}

static float few_values(struct kvr_random *random)
{
    return 0.125f * (float)kvr_random_below(random, 4);
}

static float mostly_zero(struct kvr_random *random)
{
    uint64_t kind = kvr_random_below(random, 12);
    return kind == 0 ? uniform(random) : kind == 1 ? -0.0f : 0.0f;
}

static float signed_values(struct kvr_random *random)
{
    return (float)kvr_random_normal(random);
}

static float subnormal(struct kvr_random *random)
{
    return from_bits((uint32_t)kvr_random_bits(random) & 0x807fffffu);
}

static float any_finite_or_infinite(struct kvr_random *random)
{
    float value = from_bits((uint32_t)kvr_random_bits(random));
    return isnan(value) ? INFINITY : value;
}

/* Means of 16 half rows. */
static float dyadic(struct kvr_random *random)
{
    double x = kvr_random_uniform(random);
    return (float)floor(x * x * x * 0x1p20) * 0x1p-28f;
}

static const mix mixes[] = {uniform,   few_values, mostly_zero,           signed_values,
                            subnormal, dyadic,     any_finite_or_infinite};
enum { MIXES = sizeof mixes / sizeof *mixes, FINITE_MIXES = MIXES - 1 };

/* What is read at an odd place, as cells of a room are. */
static float room[HEADS * (MOST + 1) + 1];

static float *draw(struct kvr_random *random, mix draw_one, size_t count, size_t offset)
{
    float *values = room + offset;
    for (size_t i = 0; i < count; i++)
        values[i] = draw_one(random);
    return values;
}

static size_t next_size(size_t n)
{
    return n < 70 ? n + 1 : n < 200 ? n + 29 : n + 211;
}

/* ------------------------------------------------------------------------- levels */

static const struct kvr_kernels *const plain = &kvr_kernels_plain;
static const struct kvr_kernels *tested;

/* A test runs once for each level above the plain one and each mix; NULL where the processor lacks
   the level. */
static mix choose(int test)
{
    enum kvr_cpu level = KVR_CPU_SCALAR + 1 + (unsigned)(test / MIXES);
    tested = kvr_cpu_supports(level) ? kvr_kernels_of(level) : NULL;
    return mixes[test % MIXES];
}
enum { RUNS = (KVR_CPU_LEVELS - 1) * MIXES };

START_TEST(test_plain_is_a_level)
{
    ck_assert_ptr_eq(kvr_kernels_of(KVR_CPU_SCALAR), plain);
    ck_assert_ptr_eq(kvr_kernels(), kvr_kernels_of(kvr_cpu_level()));
    ck_assert_ptr_null(kvr_kernels_of(KVR_CPU_LEVELS));
}
END_TEST

/* ------------------------------------------------------------------------- selection */

static int32_t keys[2][MOST + KVR_KERNEL_SLACK];

START_TEST(test_keys)
{
    mix draw_one = choose(_i);
    struct kvr_random random = kvr_random_stream(21, (uint64_t)_i);
    for (size_t n = 0; tested != NULL && n <= MOST; n = next_size(n)) {
        const float *scores = draw(&random, draw_one, n, n % 3);
        int32_t one = n > 0 ? kvr_score_key(scores[n / 2]) : 0;
        const int32_t bounds[] = {INT32_MIN, INT32_MAX, 0, -1, one, one - 1};
        for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
            size_t found = plain->collect(scores, n, bounds[b], keys[0]);
            ck_assert_uint_eq(tested->collect(scores, n, bounds[b], keys[1]), found);
            ck_assert_mem_eq(keys[0], keys[1], found * sizeof **keys);
            for (size_t c = 0; c < sizeof bounds / sizeof *bounds; c++)
                ck_assert_uint_eq(tested->count_from(keys[1], found, bounds[c]),
                                  plain->count_from(keys[0], found, bounds[c]));
        }
    }
}
END_TEST

START_TEST(test_bins)
{
    static uint16_t bins[2][MOST];
    static uint32_t places[2][MOST + 1];
    mix draw_one = choose(_i);
    struct kvr_random random = kvr_random_stream(22, (uint64_t)_i);
    for (size_t n = 1; tested != NULL && n <= MOST; n = next_size(n)) {
        plain->collect(draw(&random, draw_one, n, 0), n, INT32_MIN, keys[0]);
        int32_t base = keys[0][0];
        for (size_t i = 1; i < n; i++)
            base = keys[0][i] < base ? keys[0][i] : base;
        for (unsigned shift = 0; shift < 32; shift += 7) {
            uint16_t last = shift < 16 ? 2047 : 511;
            plain->bin(keys[0], n, base, shift, last, bins[0]);
            tested->bin(keys[0], n, base, shift, last, bins[1]);
            ck_assert_mem_eq(bins[0], bins[1], n * sizeof **bins);
            const uint16_t wanted[] = {bins[0][0], last, bins[0][n / 2], 7};
            for (size_t count = 0; count <= 4; count++) {
                size_t found = plain->find_bins(bins[0], n, wanted, count, places[0]);
                ck_assert_uint_eq(tested->find_bins(bins[0], n, wanted, count, places[1]), found);
                ck_assert_mem_eq(places[0], places[1], found * sizeof **places);
            }
        }
    }
}
END_TEST

START_TEST(test_marks)
{
    enum { CUTS = 5 };
    static uint64_t sets[2][CUTS][WORDS + 1];
    mix draw_one = choose(_i);
    struct kvr_random random = kvr_random_stream(23, (uint64_t)_i);
    for (size_t n = 1; tested != NULL && n <= MOST; n = next_size(n)) {
        const float *scores = draw(&random, draw_one, n, n % 4);
        const float cuts[CUTS] = {0.0f, -INFINITY, scores[0], scores[n - 1], -0x1p-149f};
        uint64_t *rows[2][CUTS];
        memset(sets, 0x5a, sizeof sets);
        for (size_t c = 0; c < CUTS; c++) {
            rows[0][c] = sets[0][c];
            rows[1][c] = sets[1][c];
        }
        plain->mark(scores, n, cuts, CUTS, rows[0]);
        tested->mark(scores, n, cuts, CUTS, rows[1]);
        ck_assert_mem_eq(sets[0], sets[1], sizeof *sets);
        for (size_t c = 0; c < CUTS; c++) {
            ck_assert_uint_eq(tested->count_above(scores, n, cuts[c]),
                              plain->count_above(scores, n, cuts[c]));
            ck_assert_uint_eq(tested->count_at_least(scores, n, cuts[c]),
                              plain->count_at_least(scores, n, cuts[c]));
        }
    }
}
END_TEST

START_TEST(test_bitmaps)
{
    static uint64_t a[WORDS], b[WORDS], kept[2][WORDS];
    choose(_i);
    struct kvr_random random = kvr_random_stream(24, (uint64_t)_i);
    for (size_t words = 0; tested != NULL && words <= WORDS; words++) {
        uint64_t equal = 0;
        for (size_t i = 0; i < words; i++) {
            a[i] = kvr_random_bits(&random);
            b[i] = a[i] & kvr_random_bits(&random);
            equal += (uint64_t)__builtin_popcountll(a[i] & ~b[i]);
        }
        ck_assert_uint_eq(tested->count_bits(a, words), plain->count_bits(a, words));
        ck_assert_uint_eq(tested->count_common(a, b, words), plain->count_common(a, b, words));
        for (uint64_t ties = 0; ties <= equal; ties += 1 + equal / 5) {
            memcpy(kept[0], a, sizeof a);
            memcpy(kept[1], a, sizeof a);
            plain->keep_first(kept[0], b, words, ties);
            tested->keep_first(kept[1], b, words, ties);
            ck_assert_mem_eq(kept[0], kept[1], sizeof a);
            ck_assert_uint_eq(plain->count_bits(kept[0], words),
                              plain->count_bits(b, words) + ties);
        }
    }
}
END_TEST

/* ------------------------------------------------------------------------- vectors */

START_TEST(test_dyadic_sums)
{
    mix draw_one = choose(_i);
    struct kvr_random random = kvr_random_stream(25, (uint64_t)_i);
    for (size_t n = 0; tested != NULL && n <= MOST; n = next_size(n)) {
        float *values = draw(&random, draw_one, n, n % 2);
        const float odd[] = {0, 0x1p-31f, 2, -0x1p-30f, INFINITY, NAN, 0x1.fffffep0f, 0x1p-30f};
        for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
            double sums[2] = {-1, -1};
            if (n > 0)
                values[kvr_random_below(&random, n)] = odd[k];
            bool exact = plain->dyadic_sum(values, n, &sums[0]);
            ck_assert(tested->dyadic_sum(values, n, &sums[1]) == exact);
            ck_assert(!exact || memcmp(&sums[0], &sums[1], sizeof *sums) == 0);
            if (n > 0 && k >= 1 && k <= 5)
                ck_assert(!exact);
        }
    }
}
END_TEST

START_TEST(test_largest)
{
    static float largest[2][MOST];
    mix draw_one = choose(_i);
    struct kvr_random random = kvr_random_stream(26, (uint64_t)_i);
    for (size_t n = 1; tested != NULL && n <= MOST; n = next_size(n)) {
        const float *values = draw(&random, draw_one, n, n % 3);
        ck_assert(plain->largest(values, n) <= tested->largest(values, n));
        ck_assert(plain->largest(values, n) >= tested->largest(values, n));
        for (size_t width = 1; width <= n && width < 70; width++) {
            plain->page_largest(values, n / width, width, largest[0]);
            tested->page_largest(values, n / width, width, largest[1]);
            for (size_t page = 0; page < n / width; page++) /* zeros of both signs are equal */
                ck_assert(largest[0][page] <= largest[1][page] &&
                          largest[0][page] >= largest[1][page]);
        }
    }
}
END_TEST

/* Multiples of 2^-28: sums of a page are the same in any order. */
START_TEST(test_page_sums)
{
    static double sums[2][MOST];
    choose(_i);
    struct kvr_random random = kvr_random_stream(27, (uint64_t)_i);
    for (size_t n = 1; tested != NULL && n <= MOST; n = next_size(n)) {
        const float *values = draw(&random, dyadic, n, n % 3);
        for (size_t width = 1; width <= n && width < 70; width++) {
            plain->page_sums(values, n / width, width, sums[0]);
            tested->page_sums(values, n / width, width, sums[1]);
            ck_assert_mem_eq(sums[0], sums[1], n / width * sizeof **sums);
        }
    }
}
END_TEST

static void check_doubles(const double *a, const double *b, size_t count, const char *what,
                          size_t n)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0)
            ck_abort_msg("%s, n %zu, lane %zu: %.17g, expected %.17g", what, n, i, b[i], a[i]);
}

START_TEST(test_quads)
{
    static double quads[2][4 * MOST];
    mix draw_one = choose(_i);
    struct kvr_random random = kvr_random_stream(28, (uint64_t)_i);
    if (_i % MIXES >= FINITE_MIXES)
        return;
    for (size_t n = 0; tested != NULL && n <= MOST; n = next_size(n))
        for (size_t count = 1; count <= 4; count++) {
            const float *vectors[4];
            const float *values = draw(&random, draw_one, 4 * n, n % 2);
            for (size_t v = 0; v < count; v++)
                vectors[v] = values + v * n;
            plain->interleave(vectors, count, n, quads[0]);
            tested->interleave(vectors, count, n, quads[1]);
            ck_assert_mem_eq(quads[0], quads[1], 4 * n * sizeof **quads);
            double sums[2][4] = {{1, 2, 3, 4}, {1, 2, 3, 4}};
            plain->quad_sums(quads[0], n, sums[0]);
            tested->quad_sums(quads[0], n, sums[1]);
            check_doubles(sums[0], sums[1], 4, "sums", n);
            double squares[2][4] = {{0}}, divided[2][4] = {{0}};
            const double divisors[4] = {1, 0.9375 + (double)n / 7, 1e-12, 3 * (double)(n + 1)};
            plain->quad_squares(quads[0], n, divisors, squares[0], divided[0]);
            tested->quad_squares(quads[0], n, divisors, squares[1], divided[1]);
            check_doubles(squares[0], squares[1], 4, "squares", n);
            check_doubles(divided[0], divided[1], 4, "divided squares", n);
        }
}
END_TEST

/* A quotient is that of a division to the last bit, whatever the divisor: one square at a time. */
START_TEST(test_quotients)
{
    choose(_i);
    struct kvr_random random = kvr_random_stream(29, (uint64_t)_i);
    for (size_t i = 0; tested != NULL && i < 300000; i++) {
        double quad[4], divisors[4], plain_sums[4] = {0}, sums[2][4] = {{0}};
        for (size_t v = 0; v < 4; v++) {
            float value = from_bits((uint32_t)kvr_random_bits(&random) & 0x7fffffffu);
            quad[v] = isfinite(value) ? (double)value : 0x1p-149;
            uint64_t bits = kvr_random_bits(&random) >> 12; /* any mantissa, 2^-40 … 2^23 */
            if (i % 4 == 0)
                bits |= UINT64_C(0xffffffffff000);
            bits |= (uint64_t)(983 + kvr_random_below(&random, 64)) << 52;
            memcpy(&divisors[v], &bits, sizeof bits);
        }
        plain->quad_squares(quad, 1, divisors, plain_sums, sums[0]);
        tested->quad_squares(quad, 1, divisors, plain_sums, sums[1]);
        check_doubles(sums[0], sums[1], 4, "quotient", i);
    }
}
END_TEST

/* In order for any values; in any order for those whose sums are exact. */
START_TEST(test_masked_sums)
{
    static double quads[4 * KVR_QUAD_TILE];
    mix draw_one = choose(_i);
    struct kvr_random random = kvr_random_stream(30, (uint64_t)_i);
    if (_i % MIXES >= FINITE_MIXES)
        return;
    for (size_t words = 0; tested != NULL && words <= KVR_QUAD_WORDS; words++)
        for (unsigned density = 0; density < 5; density++)
            for (int any_order = 0; any_order < 2; any_order++) {
                uint64_t set[KVR_QUAD_WORDS] = {0}, former[KVR_QUAD_WORDS] = {0};
                for (size_t i = 0; i < words; i++) {
                    set[i] = density == 4 ? ~UINT64_C(0) : kvr_random_bits(&random);
                    for (unsigned thin = density; thin < 3; thin++)
                        set[i] &= kvr_random_bits(&random);
                    former[i] = set[i] & kvr_random_bits(&random);
                }
                for (size_t t = 0; t < 4 * KVR_QUAD_TILE; t++)
                    quads[t] = (double)(any_order ? dyadic(&random) : draw_one(&random));
                double sums[2][4] = {{0}};
                const uint64_t *taken = density % 2 == 0 ? former : NULL;
                plain->quad_masked_sums(quads, set, taken, words, any_order, sums[0]);
                tested->quad_masked_sums(quads, set, taken, words, any_order, sums[1]);
                check_doubles(sums[0], sums[1], 4, "masked sums", words);
            }
}
END_TEST

START_TEST(test_pooling)
{
    static float out[2][MOST];
    mix draw_one = choose(_i);
    struct kvr_random random = kvr_random_stream(31, (uint64_t)_i);
    if (_i % MIXES >= FINITE_MIXES)
        return;
    for (size_t n = 1; tested != NULL && n <= MOST; n = next_size(n))
        for (size_t heads = 1; heads <= HEADS; heads += 1 + heads / 4) {
            const float *vectors = draw(&random, draw_one, heads * (n + 1), n % 2);
            double weights[HEADS];
            for (size_t h = 0; h < heads; h++)
                weights[h] = kvr_random_uniform(&random);
            plain->pool_mean(vectors, heads, n + 1, n, (double)heads, out[0]);
            tested->pool_mean(vectors, heads, n + 1, n, (double)heads, out[1]);
            ck_assert_mem_eq(out[0], out[1], n * sizeof **out);
            plain->pool_weighted(vectors, heads, n + 1, n, weights, out[0]);
            tested->pool_weighted(vectors, heads, n + 1, n, weights, out[1]);
            ck_assert_mem_eq(out[0], out[1], n * sizeof **out);
            plain->pool_max(vectors, heads, n + 1, n, out[0]);
            tested->pool_max(vectors, heads, n + 1, n, out[1]);
            ck_assert_mem_eq(out[0], out[1], n * sizeof **out);
        }
}
END_TEST

Suite *kvr_suite_cpu_kernels(void)
{
    Suite *suite = suite_create("cpu_kernels");
    TCase *levels = tcase_create("levels");
    tcase_add_test(levels, test_plain_is_a_level);
    suite_add_tcase(suite, levels);
    TCase *selection = tcase_create("selection");
    tcase_add_loop_test(selection, test_keys, 0, RUNS);
    tcase_add_loop_test(selection, test_bins, 0, RUNS);
    tcase_add_loop_test(selection, test_marks, 0, RUNS);
    tcase_add_loop_test(selection, test_bitmaps, 0, RUNS);
    suite_add_tcase(suite, selection);
    TCase *vectors = tcase_create("vectors");
    tcase_add_loop_test(vectors, test_dyadic_sums, 0, RUNS);
    tcase_add_loop_test(vectors, test_largest, 0, RUNS);
    tcase_add_loop_test(vectors, test_page_sums, 0, RUNS);
    tcase_add_loop_test(vectors, test_quads, 0, RUNS);
    tcase_add_loop_test(vectors, test_quotients, 0, RUNS);
    tcase_add_loop_test(vectors, test_masked_sums, 0, RUNS);
    tcase_add_loop_test(vectors, test_pooling, 0, RUNS);
    suite_add_tcase(suite, vectors);
    return suite;
}
