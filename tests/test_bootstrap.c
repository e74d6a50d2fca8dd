/*
 * Bootstrap intervals: reproducible, of the right width, and none where there is too little.
 */
#include <check.h>
#include <math.h>

#include "analysis/bootstrap.h"
#include "formats/base/random.h"
#include "tests/suites.h"

static struct kvr_interval mean_interval(const double *values, size_t count, uint64_t seed)
{
    struct kvr_bootstrap bootstrap = kvr_bootstrap_default();
    struct kvr_interval interval;
    struct kvr_error err = KVR_ERROR_NONE;
    bootstrap.seed = seed;
    if (kvr_bootstrap_mean(&bootstrap, values, count, &interval, &err) != KVR_OK)
        ck_abort_msg("%s", err.message);
    return interval;
}

/* The mean of 4 draws from {0, 0, 0, 1} is binomial: P(0) = 0.32, P(<= 2/4) = 0.949,
   P(<= 3/4) = 0.996, so the middle 95 % is [0, 3/4] but for an absurd seed. */
START_TEST(test_an_interval_that_is_known)
{
    const double values[] = {0, 1, 0, 0};
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct kvr_interval interval = mean_interval(values, 4, seed);
        ck_assert_uint_eq(interval.samples, 4);
        ck_assert_double_eq(interval.estimate, 0.25);
        ck_assert_double_eq(interval.low, 0);
        ck_assert_double_eq(interval.high, 0.75);
    }
}
END_TEST

START_TEST(test_the_same_seed_gives_the_same_interval)
{
    double values[40], shifted[40];
    struct kvr_random random = kvr_random_stream(4, 30);
    for (size_t i = 0; i < 40; i++) {
        values[i] = kvr_random_normal(&random);
        shifted[i] = values[i] + 8;
    }
    struct kvr_interval first = mean_interval(values, 40, 1), again = mean_interval(values, 40, 1);
    struct kvr_interval other = mean_interval(values, 40, 2);
    struct kvr_interval higher = mean_interval(shifted, 40, 1);
    ck_assert_double_eq(first.low, again.low);
    ck_assert_double_eq(first.high, again.high);
    ck_assert_double_ne(first.low, other.low);
    ck_assert_double_eq_tol(first.low, other.low, 0.03);
    ck_assert_double_eq_tol(first.low + 8, higher.low, 1e-12); /* the same draws */
}
END_TEST

START_TEST(test_intervals_cover_the_truth)
{
    enum { TRIALS = 400, COUNT = 30 };
    struct kvr_bootstrap bootstrap = {.seed = 3, .draws = 1000, .level = 0.95};
    struct kvr_random random = kvr_random_stream(4, 31);
    size_t covered = 0;
    double width = 0;
    for (int t = 0; t < TRIALS; t++) {
        double values[COUNT];
        struct kvr_interval interval;
        for (size_t i = 0; i < COUNT; i++)
            values[i] = 5 + 2 * kvr_random_normal(&random);
        ck_assert_int_eq(kvr_bootstrap_mean(&bootstrap, values, COUNT, &interval, NULL), KVR_OK);
        covered += kvr_interval_side(&interval, 5) == 0;
        width += interval.high - interval.low;
    }
    /* 2 * 1.96 * 2 / sqrt(30) = 1.43, a little less with the sample's own spread. */
    ck_assert_double_eq_tol(width / TRIALS, 1.39, 0.05);
    ck_assert_uint_ge(covered, TRIALS * 90 / 100);
    ck_assert_uint_le(covered, TRIALS * 98 / 100);
}
END_TEST

START_TEST(test_too_few_samples_have_no_interval)
{
    const double values[] = {1, NAN, 3, NAN, NAN};
    struct kvr_interval interval = mean_interval(values, 5, 0);
    ck_assert_uint_eq(interval.samples, 2);
    ck_assert_double_eq(interval.estimate, 2);
    ck_assert(!kvr_interval_exists(&interval));
    ck_assert_int_eq(kvr_interval_side(&interval, -100), 0);
    interval = mean_interval(values + 3, 2, 0);
    ck_assert_uint_eq(interval.samples, 0);
    ck_assert(isnan(interval.estimate));
    interval = mean_interval(values, 0, 0);
    ck_assert(!kvr_interval_exists(&interval));
}
END_TEST

START_TEST(test_differences_are_paired)
{
    double left[20], right[20];
    struct kvr_bootstrap bootstrap = kvr_bootstrap_default();
    struct kvr_interval interval;
    struct kvr_random random = kvr_random_stream(4, 32);
    for (size_t i = 0; i < 20; i++) {
        right[i] = 100 * kvr_random_normal(&random); /* prompts differ a hundredfold more */
        left[i] = right[i] + 0.5 + 0.1 * kvr_random_normal(&random);
    }
    left[3] = right[7] = NAN;
    ck_assert_int_eq(kvr_bootstrap_difference(&bootstrap, left, right, 20, &interval, NULL),
                     KVR_OK);
    ck_assert_uint_eq(interval.samples, 18);
    ck_assert_double_eq_tol(interval.estimate, 0.5, 0.1);
    ck_assert_int_eq(kvr_interval_side(&interval, 0), 1);
    ck_assert_int_eq(kvr_interval_side(&interval, 1), -1);
    ck_assert_int_eq(kvr_interval_side(&interval, interval.estimate), 0);
    ck_assert_int_eq(kvr_bootstrap_difference(&bootstrap, right, right, 7, &interval, NULL),
                     KVR_OK);
    ck_assert_double_eq(interval.low, 0);
    ck_assert_double_eq(interval.high, 0);
    ck_assert_int_eq(kvr_interval_side(&interval, 0), 0);
}
END_TEST

/* A ratio whose denominator is 0 in the draws without sample 0. */
static double first_over_first(const void *data, const uint32_t *times, size_t count)
{
    (void)data;
    (void)count;
    return times[0] > 0 ? 1 : NAN;
}

START_TEST(test_statistics_that_many_draws_lack)
{
    struct kvr_bootstrap bootstrap = kvr_bootstrap_default();
    struct kvr_interval interval;
    ck_assert_int_eq(
        kvr_bootstrap_interval(&bootstrap, first_over_first, NULL, 10, &interval, NULL), KVR_OK);
    ck_assert_double_eq(interval.estimate, 1);
    ck_assert(!kvr_interval_exists(&interval)); /* 0.9^10 = 35 % of the draws */
    ck_assert_int_eq(kvr_bootstrap_interval(&bootstrap, first_over_first, NULL, 3, &interval, NULL),
                     KVR_OK);
    ck_assert(!kvr_interval_exists(&interval));
}
END_TEST

Suite *kvr_suite_bootstrap(void)
{
    Suite *suite = suite_create("bootstrap");
    TCase *intervals = tcase_create("intervals");
    tcase_add_test(intervals, test_an_interval_that_is_known);
    tcase_add_test(intervals, test_the_same_seed_gives_the_same_interval);
    tcase_add_test(intervals, test_intervals_cover_the_truth);
    tcase_add_test(intervals, test_too_few_samples_have_no_interval);
    tcase_add_test(intervals, test_differences_are_paired);
    tcase_add_test(intervals, test_statistics_that_many_draws_lack);
    suite_add_tcase(suite, intervals);
    return suite;
}
