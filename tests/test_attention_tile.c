/*
 * The tile loops: what the plain ones compute against double, and that the fast ones give the same
 * bits.
 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/random.h"
#include "replay/attention_tile.h"
#include "tests/suites.h"

enum { Q = KVR_TILE_QUERIES, K = KVR_TILE_KEYS, MOST_WIDTH = 300, MOST_TOKENS = 512 };

static const struct kvr_attention_tile *const plain = &kvr_attention_tile_plain;

static float draw(struct kvr_random *random, double deviation)
{
    return (float)(deviation * kvr_random_normal(random));
}

/* ------------------------------------------------------------------------- what is computed */

static void expect_scaled_products(size_t width)
{
    static float queries[MOST_WIDTH * Q], keys[MOST_WIDTH * K], out[Q * 20];
    struct kvr_random random = kvr_random_stream(1, width);
    float scale = draw(&random, 1);
    for (size_t i = 0; i < width * Q; i++)
        queries[i] = draw(&random, 1);
    for (size_t i = 0; i < width * K; i++)
        keys[i] = draw(&random, 1);
    plain->logits(queries, keys, width, scale, out, 20);
    for (size_t i = 0; i < Q; i++)
        for (size_t j = 0; j < K; j++) {
            double sum = 0, sizes = 0;
            for (size_t d = 0; d < width; d++) {
                double product = (double)queries[d * Q + i] * (double)keys[d * K + j];
                sum += product;
                sizes += fabs(product);
            }
            double bound = fabs((double)scale) * sizes * (double)(width + 1) * FLT_EPSILON / 2;
            ck_assert_double_le(fabs((double)out[i * 20 + j] - (double)scale * sum), bound);
        }
}

START_TEST(test_logits_are_scaled_products)
{
    for (size_t width = 0; width < 40; width++)
        expect_scaled_products(width);
    expect_scaled_products(MOST_WIDTH);
}
END_TEST

START_TEST(test_weights_are_exponentials)
{
    float values[8];
    double worst = 0;
    for (int i = 0; i < 20000; i++) {
        double sum = 0;
        float least = -87 * (float)i / 20000;
        for (int j = 0; j < 8; j++)
            values[j] = least * (float)j / 7;
        float before[8];
        memcpy(before, values, sizeof before);
        double found = plain->weigh(values, 8, 0);
        for (int j = 0; j < 8; j++) {
            double exact = exp((double)before[j]);
            worst = fmax(worst, fabs((double)values[j] - exact) / exact);
            sum += (double)values[j];
        }
        ck_assert_double_eq_tol(found, sum, 1e-14 * sum);
    }
    ck_assert_double_lt(worst, 0x1p-22);
}
END_TEST

START_TEST(test_weights_of_the_extremes)
{
    float values[] = {0, -86.9F, -87.1F, -1000, -INFINITY, -FLT_MAX, 1e-40F, -1e-7F};
    plain->weigh(values, 8, 0);
    ck_assert_float_eq(values[0], 1);
    ck_assert_float_gt(values[1], FLT_MIN);
    for (int i = 2; i < 6; i++)
        ck_assert_float_eq(values[i], 0);
    ck_assert_float_eq(values[6], 1);
    float broken[8] = {0, NAN, -INFINITY, -1, -2, -3, -4, -5};
    ck_assert_double_nan(plain->weigh(broken, 8, 0));
    ck_assert_float_nan(broken[1]);
    ck_assert_float_eq(broken[2], 0);
    float infinite[8] = {INFINITY, 1, 2, 3, 4, 5, 6, 7};
    ck_assert_double_nan(plain->weigh(infinite, 8, plain->greatest(infinite, 8)));
    float nothing[8] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    ck_assert_double_nan(plain->weigh(nothing, 8, plain->greatest(nothing, 8)));
}
END_TEST

START_TEST(test_capped_logits)
{
    static const float caps[] = {0.5F, 30, 50, 1000};
    float values[8], before[8];
    for (size_t c = 0; c < 4; c++)
        for (int i = -2000; i < 2000; i++) {
            for (int j = 0; j < 8; j++)
                before[j] = values[j] = caps[c] * (float)(i * 8 + j) / 2000;
            plain->cap(values, 8, caps[c]);
            for (int j = 0; j < 8; j++) {
                double cap = (double)caps[c], exact = cap * tanh((double)before[j] / cap);
                ck_assert_double_eq_tol((double)values[j], exact, cap * 0x1p-21);
            }
        }
    float extremes[8] = {INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, NAN, 0, -0.0F, 1e-40F};
    plain->cap(extremes, 8, 30);
    ck_assert_float_eq(extremes[0], 30);
    ck_assert_float_eq(extremes[1], -30);
    ck_assert_float_eq(extremes[2], 30);
    ck_assert_float_eq(extremes[3], -30);
    ck_assert_float_nan(extremes[4]);
    ck_assert_float_eq(extremes[5], 0);
}
END_TEST

START_TEST(test_sums_are_of_rounded_weights)
{
    const float weights[] = {1, 2, 3, 10, 20, 30}, factors[] = {0.1F, 0.3F};
    const struct kvr_tile_rows rows = {weights, 3, 2, factors};
    double sums[4] = {100, 200, 300, 7};
    plain->add(&rows, 3, sums);
    for (size_t t = 0; t < 3; t++) {
        float first = weights[t] * 0.1F, second = weights[3 + t] * 0.3F;
        ck_assert_double_eq(sums[t], 100.0 * (double)(t + 1) + (double)first + (double)second);
    }
    ck_assert_double_eq(sums[3], 7);
}
END_TEST

/* ------------------------------------------------------------------------- the same bits */

static const struct kvr_attention_tile *fast;

/* Logits of any size, some of them not numbers. */
static void draw_logits(struct kvr_random *random, float *values, size_t count)
{
    static const float special[] = {0, -0.0F, INFINITY, -INFINITY, NAN, FLT_MAX, -FLT_MAX, 1e-42F};
    double deviation = exp(8 * kvr_random_uniform(random) - 3);
    double chance = kvr_random_below(random, 2) == 0 ? 0 : 0.02;
    for (size_t t = 0; t < count; t++)
        values[t] = kvr_random_uniform(random) < chance ? special[kvr_random_below(random, 8)]
                                                        : draw(random, deviation);
}

static void same_floats(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool both_nan = isnan(a[i]) && isnan(b[i]); /* which NaN is nobody's business */
        ck_assert_msg(both_nan || memcmp(&a[i], &b[i], sizeof a[i]) == 0, "%zu: %a and %a", i,
                      (double)a[i], (double)b[i]);
    }
}

static void same_double(double a, double b)
{
    ck_assert_msg((isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0, "%a and %a", a, b);
}

static void expect_same_products(uint64_t round)
{
    struct kvr_random random = kvr_random_stream(2, round);
    size_t width = (size_t)kvr_random_below(&random, MOST_WIDTH) + 1, stride = 16 + 3;
    float *queries = kvr_alloc_vector(width * Q, sizeof *queries, NULL);
    float *keys = kvr_alloc_vector(width * K, sizeof *keys, NULL);
    float a[Q * 19] = {0}, b[Q * 19] = {0};
    draw_logits(&random, queries, width * Q);
    draw_logits(&random, keys, width * K);
    plain->logits(queries, keys, width, 0.3F, a, stride);
    fast->logits(queries, keys, width, 0.3F, b, stride);
    same_floats(a, b, Q * stride);
    free(queries);
    free(keys);
}

START_TEST(test_products_have_the_same_bits)
{
    for (uint64_t round = 0; round < 50; round++)
        expect_same_products(round);
}
END_TEST

static void expect_same_rows(uint64_t round)
{
    static float a[MOST_TOKENS], b[MOST_TOKENS];
    struct kvr_random random = kvr_random_stream(3, round);
    size_t count = 8 * (1 + (size_t)kvr_random_below(&random, MOST_TOKENS / 8));
    draw_logits(&random, a, count);
    memcpy(b, a, sizeof b);
    if (round % 2 == 1) {
        plain->cap(a, count, 7);
        fast->cap(b, count, 7);
        same_floats(a, b, count);
    }
    float most = plain->greatest(a, count), other = fast->greatest(b, count);
    same_floats(&most, &other, 1);
    same_double(plain->weigh(a, count, most), fast->weigh(b, count, most));
    same_floats(a, b, count);
}

START_TEST(test_rows_have_the_same_bits)
{
    for (uint64_t round = 0; round < 200; round++)
        expect_same_rows(round);
}
END_TEST

static void expect_same_sums(uint64_t round)
{
    static float weights[7 * MOST_TOKENS];
    static double a[MOST_TOKENS], b[MOST_TOKENS];
    struct kvr_random random = kvr_random_stream(4, round);
    size_t columns = (size_t)kvr_random_below(&random, MOST_TOKENS - 3), offset = (size_t)round % 4;
    float factors[7];
    draw_logits(&random, weights, 7 * MOST_TOKENS);
    draw_logits(&random, factors, 7);
    for (size_t t = 0; t < MOST_TOKENS; t++)
        a[t] = b[t] = kvr_random_normal(&random);
    const struct kvr_tile_rows rows = {weights + offset, MOST_TOKENS - 3, 7, factors};
    plain->add(&rows, columns, a + offset);
    fast->add(&rows, columns, b + offset);
    for (size_t t = 0; t < MOST_TOKENS; t++)
        same_double(a[t], b[t]);
}

START_TEST(test_sums_have_the_same_bits)
{
    for (uint64_t round = 0; round < 50; round++)
        expect_same_sums(round);
}
END_TEST

START_TEST(test_environment_asks_for_the_plain_loops)
{
    setenv("KVREPLAY_CPU", "scalar", 1);
    ck_assert_ptr_eq(kvr_attention_tile(), plain);
    unsetenv("KVREPLAY_CPU");
    ck_assert_ptr_eq(kvr_attention_tile(), fast != NULL ? fast : plain);
}
END_TEST

Suite *kvr_suite_attention_tile(void)
{
    Suite *suite = suite_create("attention_tile");
    TCase *defined = tcase_create("what is computed");
    tcase_add_test(defined, test_logits_are_scaled_products);
    tcase_add_test(defined, test_weights_are_exponentials);
    tcase_add_test(defined, test_weights_of_the_extremes);
    tcase_add_test(defined, test_capped_logits);
    tcase_add_test(defined, test_sums_are_of_rounded_weights);
    suite_add_tcase(suite, defined);
    fast = kvr_attention_tile_fma();
    TCase *same = tcase_create("the same bits");
    if (fast != NULL) {
        tcase_add_test(same, test_products_have_the_same_bits);
        tcase_add_test(same, test_rows_have_the_same_bits);
        tcase_add_test(same, test_sums_have_the_same_bits);
    }
    tcase_add_test(same, test_environment_asks_for_the_plain_loops);
    suite_add_tcase(suite, same);
    return suite;
}
