/*
 * Coverage of a model, spreads with weights, and the closed form of corollary 2.
 */
#include <check.h>
#include <math.h>

#include "analysis/coverage.h"
#include "analysis/premises.h"
#include "analysis/scaling.h"
#include "analysis/spread.h"
#include "formats/base/random.h"
#include "tests/suites.h"

START_TEST(test_coverage)
{
    struct kvr_layer first[] = {{.number = 3, .kv_heads = 2, .query_heads = 4},
                                {.number = 7, .kv_heads = 1, .query_heads = 4}};
    struct kvr_layer second[] = {{.number = 3, .kv_heads = 2, .query_heads = 4},
                                 {.number = 9, .kv_heads = 2, .query_heads = 4}};
    struct kvr_sample samples[] = {
        {.name = "a", .kv_heads = 2, .layer_count = 2, .layers = first},
        {.name = "b", .kv_heads = 2, .layer_count = 2, .layers = second},
    };
    const struct kvr_trace trace = {.sample_count = 2, .samples = samples};
    struct kvr_plan plan = kvr_plan_default();
    struct kvr_coverage coverage;
    ck_assert_int_eq(kvr_coverage_of(&plan, &trace, 0, &coverage, NULL), KVR_OK);
    ck_assert_uint_eq(coverage.samples, 2);
    ck_assert_uint_eq(coverage.groups, 7);
    ck_assert_uint_eq(coverage.pairs, 5);
    ck_assert_uint_eq(coverage.layers, 3);
    ck_assert_uint_eq(coverage.model_layers, 10);
    ck_assert_uint_eq(coverage.model_pairs, 5 + 7 * 2);
    char *only[] = {"b"};
    plan.samples = only;
    plan.sample_count = 1;
    ck_assert_int_eq(kvr_coverage_of(&plan, &trace, 32, &coverage, NULL), KVR_OK);
    ck_assert_uint_eq(coverage.groups, 4);
    ck_assert_uint_eq(coverage.pairs, 4);
    ck_assert_uint_eq(coverage.model_layers, 32);
    ck_assert_uint_eq(coverage.model_pairs, 5 + 29 * 2);
}
END_TEST

/* Mean and deviation by their definitions, in two passes. */
START_TEST(test_spread)
{
    struct kvr_random random = kvr_random_stream(71, (uint64_t)_i);
    enum { VALUES = 50 };
    double values[VALUES], weights[VALUES], sum = 0, weight = 0, mean = 0, squares = 0;
    struct kvr_spread spread = {0};
    ck_assert(isnan(kvr_spread_mean(&spread)) && isnan(kvr_spread_deviation(&spread)));
    ck_assert(isnan(kvr_spread_least(&spread)) && isnan(kvr_spread_most(&spread)));
    for (size_t i = 0; i < VALUES; i++) {
        values[i] = 1000 + kvr_random_normal(&random);
        weights[i] = 0.1 + kvr_random_uniform(&random);
        sum += values[i];
        weight += weights[i];
        mean += values[i] * weights[i];
        kvr_spread_add(&spread, values[i], weights[i]);
        kvr_spread_add(&spread, NAN, 1);
        kvr_spread_add(&spread, 5, 0);
    }
    mean /= weight;
    for (size_t i = 0; i < VALUES; i++)
        squares += weights[i] * (values[i] - mean) * (values[i] - mean);
    ck_assert_uint_eq(spread.count, VALUES);
    ck_assert_double_eq_tol(spread.sum, sum, 1e-9);
    ck_assert_double_eq_tol(kvr_spread_mean(&spread), mean, 1e-9);
    ck_assert_double_eq_tol(kvr_spread_deviation(&spread), sqrt(squares / weight), 1e-9);
    for (size_t i = 0; i < VALUES; i++)
        ck_assert(values[i] >= kvr_spread_least(&spread) && values[i] <= kvr_spread_most(&spread));
}
END_TEST

static const struct kvr_scaling paper = {
    .ratio = 8, .sinks = 4, .tau = 0.5, .owner_mass = 0.95, .owner_entropy = 0.69314718055994531};

/* With tau = 1/2 and eta = ln 2: D = 7 / (T-4)^2, C = 1/4. */
START_TEST(test_scaling_is_as_defined)
{
    for (uint64_t context = 4096; context <= 1048576; context *= 2) {
        struct kvr_scaling_row row = kvr_scaling_at(&paper, context);
        double others = (double)(context - 4), d = 7 / others / others;
        ck_assert_double_eq_tol(row.siblings / d, 1, 1e-12);
        ck_assert_double_eq_tol(row.delta / (0.95 * d / (0.25 + d)), 1, 1e-12);
        ck_assert_double_eq_tol(row.bound, 0.95 - row.delta, 1e-15);
        ck_assert_double_eq_tol(row.mean, 0.11875, 1e-15);
    }
}
END_TEST

/* What a replay measures of needles is the same formula. */
START_TEST(test_scaling_agrees_with_premises)
{
    struct kvr_random random = kvr_random_stream(73, 0);
    for (int round = 0; round < 500; round++) {
        double slacks[15];
        struct kvr_scaling scaling = {
            .ratio = 2 + kvr_random_below(&random, 15),
            .sinks = kvr_random_below(&random, 8),
            .tau = 0.05 + 3 * kvr_random_uniform(&random),
            .owner_mass = kvr_random_uniform(&random),
            .owner_entropy = 6 * kvr_random_uniform(&random),
            .slack = round % 3 == 0 ? 0 : 4 * kvr_random_uniform(&random),
        };
        for (size_t j = 0; j < 15; j++)
            slacks[j] = scaling.slack;
        uint64_t context = scaling.sinks + 1 + kvr_random_below(&random, 1000000);
        double expected = kvr_premises_delta(scaling.owner_mass, scaling.owner_entropy, slacks,
                                             (size_t)scaling.ratio - 1,
                                             (size_t)(context - scaling.sinks), scaling.tau);
        struct kvr_scaling_row row = kvr_scaling_at(&scaling, context);
        ck_assert_double_eq_tol(row.delta, expected, 1e-12);
    }
}
END_TEST

Suite *kvr_suite_coverage(void)
{
    Suite *suite = suite_create("coverage");
    TCase *tcase = tcase_create("figures");
    tcase_add_test(tcase, test_coverage);
    tcase_add_loop_test(tcase, test_spread, 0, 5);
    tcase_add_test(tcase, test_scaling_is_as_defined);
    tcase_add_test(tcase, test_scaling_agrees_with_premises);
    suite_add_tcase(suite, tcase);
    return suite;
}
