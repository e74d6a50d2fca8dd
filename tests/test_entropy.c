/*
 * Renyi entropy and entropy weights against known values, the definition in long double, and the
 * limits of alpha and tau.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/entropy.h"
#include "tests/suites.h"

enum { MOST = 4096 };

/* At an alpha of 7 the guard of 1e-12 caps entropies at 4.6 nats: it comes last, and is left out
   where that would show. */
static const double alphas[] = {0.5, 1, 1.5, 2, 3, HUGE_VAL, 7};
enum { ALPHAS = sizeof alphas / sizeof *alphas, UNCAPPED = ALPHAS - 1 };

static struct kvr_entropy_options at(double alpha)
{
    return (struct kvr_entropy_options){.alpha = alpha};
}

/* The definition, word for word, of a vector that is divided by `divisor`. */
static double defined(double alpha, const float *vector, size_t count, long double divisor)
{
    const long double guard = 1e-12L;
    long double sum = 0, shannon = 0, most = 0;
    for (size_t t = 0; t < count; t++) {
        long double p = (long double)vector[t] / divisor;
        if (p > 0) {
            shannon -= p * logl(p);
            sum += powl(p, (long double)alpha);
        }
        most = fmaxl(most, p);
    }
    if (alpha == 1)
        return (double)shannon;
    if (isinf(alpha))
        return (double)-logl(fmaxl(most, guard));
    return (double)(logl(fmaxl(sum, guard)) / (1 - (long double)alpha));
}

static long double sum_of(const float *vector, size_t count)
{
    long double sum = 0;
    for (size_t t = 0; t < count; t++)
        sum += (long double)vector[t];
    return sum;
}

/* Positive values, some of them much larger than the rest, that sum to about `total`. */
static void draw(struct kvr_random *random, float *vector, size_t count, double total)
{
    double sharpness = 6 * kvr_random_uniform(random), sum = 0;
    double values[MOST];
    for (size_t t = 0; t < count; t++) {
        values[t] = exp(sharpness * kvr_random_normal(random));
        sum += values[t];
    }
    for (size_t t = 0; t < count; t++)
        vector[t] = (float)(values[t] / sum * total);
}

/* ------------------------------------------------------------------------- known values */

START_TEST(test_uniform_is_the_logarithm_of_the_number)
{
    static const size_t counts[] = {1, 2, 64, 1024, 4096};
    struct kvr_entropy_options options = at(alphas[_i]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        float vector[MOST];
        for (size_t t = 0; t < counts[i]; t++)
            vector[t] = 1.0f / (float)counts[i]; /* a power of two: exact */
        double expected = log((double)counts[i]);
        ck_assert_double_eq_tol(kvr_entropy_raw(&options, vector, counts[i]), expected, 1e-12);
        ck_assert_double_eq_tol(kvr_entropy_isolated(&options, vector, counts[i], 0), expected,
                                1e-12);
    }
}
END_TEST

/* Isolation divides, so that it does not matter what equal values sum to. */
START_TEST(test_isolated_uniform_of_any_number)
{
    struct kvr_entropy_options options = at(alphas[_i]);
    float vector[MOST];
    for (size_t t = 0; t < MOST; t++)
        vector[t] = 0.3f;
    for (size_t count = 5; count < MOST; count = count * 3 / 2 + 1)
        ck_assert_double_eq_tol(kvr_entropy_isolated(&options, vector, count, 4),
                                log((double)(count - 4)), 1e-12);
}
END_TEST

/* One value holds all: 0, and not the negative zero that would be printed as "-0". */
START_TEST(test_one_value_has_no_entropy)
{
    struct kvr_entropy_options options = at(alphas[_i]);
    float vector[100] = {0};
    vector[50] = 1;
    double raw = kvr_entropy_raw(&options, vector, 100);
    double isolated = kvr_entropy_isolated(&options, vector, 100, 4);
    ck_assert_double_eq(raw, 0);
    ck_assert_double_eq(isolated, 0);
    ck_assert_msg(!signbit(raw) && !signbit(isolated), "alpha %g: -0", alphas[_i]);
}
END_TEST

START_TEST(test_head_without_anything_but_sinks)
{
    struct kvr_entropy_options options = at(alphas[_i]);
    float vector[64] = {0.25f, 0.25f, 0.25f, 0.25f};
    ck_assert_double_eq(kvr_entropy_isolated(&options, vector, 64, 4), KVR_ENTROPY_EMPTY);
    ck_assert_double_eq_tol(KVR_ENTROPY_EMPTY, -log(1e-12), 1e-14);
    /* No candidate is left. */
    ck_assert_double_eq(kvr_entropy_isolated(&options, vector, 4, 4), KVR_ENTROPY_EMPTY);
    ck_assert_double_eq(kvr_entropy_isolated(&options, vector, 1, 1), KVR_ENTROPY_EMPTY);
    /* The limit is 1e-12: what is above it is divided by its own sum, however small. */
    vector[10] = 0.9e-12f;
    ck_assert_double_eq(kvr_entropy_isolated(&options, vector, 64, 4), KVR_ENTROPY_EMPTY);
    vector[10] = vector[11] = 0.6e-12f;
    ck_assert_double_eq_tol(kvr_entropy_isolated(&options, vector, 64, 4), log(2), 1e-12);
    /* A column may be negative. */
    vector[10] = -1;
    ck_assert_double_eq(kvr_entropy_isolated(&options, vector, 64, 4), KVR_ENTROPY_EMPTY);
}
END_TEST

/* Theorem 2: a head that leaves its rest spread evenly has ln(T - S), however little that rest. */
START_TEST(test_sink_head_with_an_even_rest)
{
    struct kvr_entropy_options options = at(alphas[_i]);
    static const size_t counts[] = {64, 1024, 4096};
    for (size_t i = 0; i < 3; i++) {
        float vector[MOST];
        for (size_t t = 0; t < counts[i]; t++)
            vector[t] = t < 4 ? 0.2499f : 1e-7f;
        ck_assert_double_eq_tol(kvr_entropy_isolated(&options, vector, counts[i], 4),
                                log((double)(counts[i] - 4)), 1e-12);
    }
}
END_TEST

START_TEST(test_small_vectors_by_hand)
{
    const float vector[] = {0.5f, 0.25f, 0.125f, 0.125f};
    struct kvr_entropy_options options = at(1);
    ck_assert_double_eq_tol(kvr_entropy_raw(&options, vector, 4), 1.75 * log(2), 1e-15);
    options.alpha = 2; /* 1/4 + 1/16 + 2/64 = 11/32 */
    ck_assert_double_eq_tol(kvr_entropy_raw(&options, vector, 4), log(32.0 / 11), 1e-15);
    options.alpha = 3; /* 1/8 + 1/64 + 2/512 = 37/256 */
    ck_assert_double_eq_tol(kvr_entropy_raw(&options, vector, 4), log(256.0 / 37) / 2, 1e-15);
    options.alpha = HUGE_VAL;
    ck_assert_double_eq_tol(kvr_entropy_raw(&options, vector, 4), log(2), 1e-15);
    /* Without its first entry: 1/2, 1/4, 1/4. */
    options.alpha = 1;
    ck_assert_double_eq_tol(kvr_entropy_isolated(&options, vector, 4, 1), 1.5 * log(2), 1e-15);
    options.alpha = 2;
    ck_assert_double_eq_tol(kvr_entropy_isolated(&options, vector, 4, 1), log(8.0 / 3), 1e-15);
}
END_TEST

/* ------------------------------------------------------------------------- the definition */

START_TEST(test_entropies_are_as_defined)
{
    struct kvr_entropy_options options = at(alphas[_i]);
    struct kvr_random random = kvr_random_stream(31, (uint64_t)_i);
    for (int round = 0; round < 60; round++) {
        float vector[MOST];
        size_t count = 1 + kvr_random_below(&random, 500);
        size_t sinks = kvr_random_below(&random, 5);
        if (sinks > count)
            sinks = count;
        draw(&random, vector, count, 0.2 + kvr_random_uniform(&random));
        double raw = defined(options.alpha, vector, count, 1);
        ck_assert_double_eq_tol(kvr_entropy_raw(&options, vector, count), raw, 1e-11);
        long double rest = sum_of(vector + sinks, count - sinks);
        double isolated = rest < 1e-12L
                              ? KVR_ENTROPY_EMPTY
                              : defined(options.alpha, vector + sinks, count - sinks, rest);
        ck_assert_double_eq_tol(kvr_entropy_isolated(&options, vector, count, sinks), isolated,
                                1e-11);
    }
}
END_TEST

/* Of one distribution, H falls as alpha rises. */
START_TEST(test_entropy_falls_as_alpha_rises)
{
    struct kvr_random random = kvr_random_stream(32, 0);
    for (int round = 0; round < 100; round++) {
        float vector[MOST];
        size_t count = 2 + kvr_random_below(&random, 300);
        draw(&random, vector, count, 1);
        double before = INFINITY;
        for (size_t a = 0; a < UNCAPPED; a++) {
            struct kvr_entropy_options options = at(alphas[a]);
            double found = kvr_entropy_isolated(&options, vector, count, 0);
            ck_assert_double_le(found, before + 1e-12);
            ck_assert_double_le(found, log((double)count) + 1e-12);
            before = found;
        }
        ck_assert_double_ge(before, 0);
    }
}
END_TEST

/* The raw vector is not divided: half the values, sum of squares a quarter. */
START_TEST(test_raw_entropy_takes_the_vector_as_it_is)
{
    const float whole[] = {0.5f, 0.25f, 0.25f}, half[] = {0.25f, 0.125f, 0.125f};
    struct kvr_entropy_options options = at(2);
    double difference = kvr_entropy_raw(&options, half, 3) - kvr_entropy_raw(&options, whole, 3);
    ck_assert_double_eq_tol(difference, 2 * log(2), 1e-14);
    ck_assert_double_eq_tol(kvr_entropy_isolated(&options, half, 3, 0),
                            kvr_entropy_isolated(&options, whole, 3, 0), 1e-15);
}
END_TEST

START_TEST(test_guard_is_inside_the_logarithm)
{
    float vector[10];
    for (size_t t = 0; t < 10; t++)
        vector[t] = 1e-7f; /* squares sum to 1e-13 */
    struct kvr_entropy_options options = at(2);
    ck_assert_double_eq(kvr_entropy_raw(&options, vector, 10), -log(1e-12));
    options.alpha = 3; /* cubes to 1e-20 */
    ck_assert_double_eq(kvr_entropy_raw(&options, vector, 10), log(1e-12) / -2);
    for (size_t t = 0; t < 10; t++)
        vector[t] = 0;
    for (size_t a = 0; a < ALPHAS; a++) {
        options.alpha = alphas[a];
        double found = kvr_entropy_raw(&options, vector, 10);
        ck_assert_double_eq_tol(found, defined(alphas[a], vector, 10, 1), 1e-14);
        ck_assert(isfinite(found));
    }
}
END_TEST

/* ------------------------------------------------------------------------- windows */

START_TEST(test_window_is_a_shorter_vector_renormalised)
{
    struct kvr_random random = kvr_random_stream(33, (uint64_t)_i);
    for (int round = 0; round < 60; round++) {
        float vector[MOST];
        size_t count = 10 + kvr_random_below(&random, 300);
        draw(&random, vector, count, 1);
        struct kvr_entropy_options options = at(alphas[_i]);
        options.window = 1 + kvr_random_below(&random, count + 20);
        size_t start = options.window < count ? count - options.window : 0;
        double raw = defined(options.alpha, vector + start, count - start,
                             sum_of(vector + start, count - start));
        ck_assert_double_eq_tol(kvr_entropy_raw(&options, vector, count), raw, 1e-11);
        for (size_t sinks = 0; sinks < 5; sinks++) {
            size_t from = sinks > start ? sinks : start;
            double isolated = defined(options.alpha, vector + from, count - from,
                                      sum_of(vector + from, count - from));
            ck_assert_double_eq_tol(kvr_entropy_isolated(&options, vector, count, sinks), isolated,
                                    1e-11);
        }
    }
}
END_TEST

START_TEST(test_windows_by_hand)
{
    const float vector[] = {0.5f, 0.25f, 0.125f, 0.125f};
    struct kvr_entropy_options options = {.alpha = 2, .window = 2};
    ck_assert_double_eq_tol(kvr_entropy_raw(&options, vector, 4), log(2), 1e-15);
    ck_assert_double_eq_tol(kvr_entropy_isolated(&options, vector, 4, 1), log(2), 1e-15);
    ck_assert_double_eq(kvr_entropy_isolated(&options, vector, 4, 3), 0); /* a sink inside it */
    ck_assert_double_eq(kvr_entropy_isolated(&options, vector, 4, 4), KVR_ENTROPY_EMPTY);
    options.window = 400; /* more than there are: all of them */
    ck_assert_double_eq_tol(kvr_entropy_raw(&options, vector, 4), log(32.0 / 11), 1e-15);
    options.window = UINT64_MAX;
    ck_assert_double_eq_tol(kvr_entropy_raw(&options, vector, 4), log(32.0 / 11), 1e-15);
}
END_TEST

/* ------------------------------------------------------------------------- weights */

static void check_weights(const double *entropies, size_t heads, double tau)
{
    double weights[64], total = 0;
    long double least = INFINITY, sum = 0;
    kvr_entropy_weights(entropies, heads, tau, weights);
    for (size_t h = 0; h < heads; h++)
        least = fminl(least, (long double)entropies[h]);
    for (size_t h = 0; h < heads; h++)
        sum += expl((least - (long double)entropies[h]) / (long double)tau);
    for (size_t h = 0; h < heads; h++) {
        double expected =
            (double)(expl((least - (long double)entropies[h]) / (long double)tau) / sum);
        ck_assert_msg(fabs(weights[h] - expected) <= 1e-12, "tau %g, head %zu: %g, expected %g",
                      tau, h, weights[h], expected);
        total += weights[h];
    }
    ck_assert_double_eq_tol(total, 1, 1e-14);
}

START_TEST(test_weights_are_a_softmax)
{
    static const double taus[] = {1e-6, 0.01, 0.5, 1, 10, 1e6};
    struct kvr_random random = kvr_random_stream(34, 0);
    for (int round = 0; round < 200; round++) {
        double entropies[64];
        size_t heads = 1 + kvr_random_below(&random, 64);
        for (size_t h = 0; h < heads; h++)
            entropies[h] = KVR_ENTROPY_EMPTY * kvr_random_uniform(&random);
        check_weights(entropies, heads, taus[round % 6]);
    }
}
END_TEST

START_TEST(test_limits_of_tau)
{
    const double entropies[] = {3, 2, 2, KVR_ENTROPY_EMPTY};
    double weights[4];
    kvr_entropy_weights(entropies, 4, 1e-6, weights); /* the least take all, ties share */
    const double cold[] = {0, 0.5, 0.5, 0};
    ck_assert_mem_eq(weights, cold, sizeof cold);
    kvr_entropy_weights(entropies, 4, 1e12, weights);
    for (size_t h = 0; h < 4; h++)
        ck_assert_double_eq_tol(weights[h], 0.25, 1e-9);
    const double far[] = {-1e300, 1e300};
    kvr_entropy_weights(far, 2, 1e-6, weights);
    ck_assert_double_eq(weights[0], 1);
    ck_assert_double_eq(weights[1], 0);
}
END_TEST

START_TEST(test_equal_entropies_have_equal_weights)
{
    for (size_t heads = 1; heads <= 16; heads++) {
        double entropies[16], weights[16];
        for (size_t h = 0; h < heads; h++)
            entropies[h] = 6.2;
        kvr_entropy_weights(entropies, heads, 0.5, weights);
        for (size_t h = 0; h < heads; h++)
            ck_assert_double_eq(weights[h], 1 / (double)heads);
    }
}
END_TEST

/* Theorem 2: against a head with entropy 0, a pure sink head has the factor (T-S)^(-1/tau). */
START_TEST(test_suppression_of_sink_heads)
{
    static const double taus[] = {0.25, 0.5, 1, 2};
    for (size_t i = 0; i < 4; i++) {
        float sink[1024], sharp[1024] = {0};
        for (size_t t = 0; t < 1024; t++)
            sink[t] = t < 4 ? 0.25f : 1e-8f;
        sharp[500] = 1;
        struct kvr_entropy_options options = at(2);
        const double entropies[] = {kvr_entropy_isolated(&options, sink, 1024, 4),
                                    kvr_entropy_isolated(&options, sharp, 1024, 4)};
        double weights[2];
        kvr_entropy_weights(entropies, 2, taus[i], weights);
        double expected = pow(1020, -1 / taus[i]);
        ck_assert_double_eq_tol(weights[0] / weights[1] / expected, 1, 1e-10);
    }
}
END_TEST

Suite *kvr_suite_entropy(void)
{
    Suite *suite = suite_create("entropy");
    TCase *known = tcase_create("known values");
    tcase_add_loop_test(known, test_uniform_is_the_logarithm_of_the_number, 0, UNCAPPED);
    tcase_add_loop_test(known, test_isolated_uniform_of_any_number, 0, UNCAPPED);
    tcase_add_loop_test(known, test_one_value_has_no_entropy, 0, ALPHAS);
    tcase_add_loop_test(known, test_head_without_anything_but_sinks, 0, ALPHAS);
    tcase_add_loop_test(known, test_sink_head_with_an_even_rest, 0, UNCAPPED);
    tcase_add_test(known, test_small_vectors_by_hand);
    suite_add_tcase(suite, known);
    TCase *definition = tcase_create("definition");
    tcase_add_loop_test(definition, test_entropies_are_as_defined, 0, ALPHAS);
    tcase_add_test(definition, test_entropy_falls_as_alpha_rises);
    tcase_add_test(definition, test_raw_entropy_takes_the_vector_as_it_is);
    tcase_add_test(definition, test_guard_is_inside_the_logarithm);
    tcase_add_loop_test(definition, test_window_is_a_shorter_vector_renormalised, 0, ALPHAS);
    tcase_add_test(definition, test_windows_by_hand);
    suite_add_tcase(suite, definition);
    TCase *weights = tcase_create("weights");
    tcase_add_test(weights, test_weights_are_a_softmax);
    tcase_add_test(weights, test_limits_of_tau);
    tcase_add_test(weights, test_equal_entropies_have_equal_weights);
    tcase_add_test(weights, test_suppression_of_sink_heads);
    suite_add_tcase(suite, weights);
    return suite;
}
