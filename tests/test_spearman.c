/*
 * Rank correlation against a slow one by counting, at ties, and where there is none.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/spearman.h"
#include "formats/base/random.h"
#include "tests/suites.h"

enum { MOST = 64 };

/* Mid-rank from 1: those below, and half of the others that are equal. */
static double slow_rank(const double *values, size_t count, size_t i)
{
    double below = 0, equal = 0;
    for (size_t j = 0; j < count; j++) {
        below += values[j] < values[i];
        equal += j != i && values[j] >= values[i] && values[j] <= values[i];
    }
    return 1 + below + equal / 2;
}

/* Pearson's correlation of the ranks, as it is printed in books; NaN without one. */
static double slow_spearman(const double *x, const double *y, size_t count)
{
    double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0, n = (double)count;
    if (count < 3)
        return NAN;
    for (size_t i = 0; i < count; i++) {
        double a = slow_rank(x, count, i), b = slow_rank(y, count, i);
        sx += a;
        sy += b;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    double below = (n * xx - sx * sx) * (n * yy - sy * sy);
    return below > 0 ? (n * xy - sx * sy) / sqrt(below) : NAN;
}

static double rho(const double *x, const double *y, size_t count)
{
    struct kvr_spearman_room room;
    ck_assert_int_eq(kvr_spearman_room_open(&room, MOST, NULL), KVR_OK);
    double result = kvr_spearman(x, y, count, &room);
    kvr_spearman_room_close(&room);
    return result;
}

START_TEST(test_known_values)
{
    const double x[] = {1, 2, 3, 4, 5}, up[] = {-1, 0, 0.5, 100, 1e9}, down[] = {5, 4, 3, 2, 1};
    const double one_swap[] = {2, 1, 3, 4, 5}; /* 1 - 6 * 2 / (5 * 24) */
    ck_assert_double_eq(rho(x, up, 5), 1);
    ck_assert_double_eq(rho(x, down, 5), -1);
    ck_assert_double_eq_tol(rho(x, one_swap, 5), 0.9, 1e-15);
    /* Ranks 1.5 1.5 3 4 against 1 2 3.5 3.5: covariance 4 / sqrt(4.5 * 4.5). */
    const double a[] = {7, 7, 8, 9}, b[] = {1, 2, 3, 3};
    ck_assert_double_eq_tol(rho(a, b, 4), 4 / 4.5, 1e-15);
    ck_assert_double_eq(rho(a, a, 4), 1);
}
END_TEST

START_TEST(test_mid_ranks)
{
    const double values[] = {3, -0.0, 0.0, 3, 3, 7};
    struct kvr_ranked sorted[6];
    double doubled[6];
    kvr_mid_ranks(values, 6, sorted, doubled);
    const double expected[] = {8, 3, 3, 8, 8, 12};
    for (size_t i = 0; i < 6; i++)
        ck_assert_double_eq(doubled[i], expected[i]);
}
END_TEST

START_TEST(test_where_there_is_none)
{
    const double rising[] = {1, 2, 3, 4}, constant[] = {0.1, 0.1, 0.1, 0.1};
    ck_assert(isnan(rho(rising, constant, 4)));
    ck_assert(isnan(rho(constant, rising, 4)));
    ck_assert(isnan(rho(constant, constant, 4)));
    for (size_t count = 0; count < 3; count++)
        ck_assert(isnan(rho(rising, rising, count)));
    ck_assert_double_eq(rho(rising, rising, 3), 1);
}
END_TEST

/* Few levels make many ties; many make few. */
START_TEST(test_against_counting)
{
    struct kvr_random random = kvr_random_stream(11, (uint64_t)_i);
    size_t undefined = 0;
    for (int round = 0; round < 400; round++) {
        double x[MOST], y[MOST];
        size_t count = 1 + (size_t)kvr_random_below(&random, MOST);
        uint64_t levels = (uint64_t[]){2, 3, 7, 1000}[_i];
        for (size_t i = 0; i < count; i++) {
            x[i] = (double)kvr_random_below(&random, levels) / 7 - 0.3;
            y[i] = (double)kvr_random_below(&random, levels) + (round % 2 ? x[i] : 0);
        }
        double slow = slow_spearman(x, y, count), fast = rho(x, y, count);
        ck_assert_int_eq(isnan(slow), isnan(fast));
        undefined += isnan(slow) ? 1 : 0;
        if (!isnan(slow))
            ck_assert_double_eq_tol(fast, slow, 1e-12);
        ck_assert(isnan(fast) || (fast >= -1 && fast <= 1));
    }
    ck_assert_uint_lt(undefined, 200);
}
END_TEST

/* Any order of the pairs gives the same bits, and rising maps of the values do not matter. */
START_TEST(test_what_does_not_matter)
{
    struct kvr_random random = kvr_random_stream(12, 0);
    double x[MOST], y[MOST], mapped[MOST];
    for (size_t i = 0; i < MOST; i++) {
        x[i] = kvr_random_normal(&random);
        y[i] = x[i] + kvr_random_normal(&random);
        mapped[i] = exp(x[i]) - 5;
    }
    double first = rho(x, y, MOST);
    ck_assert_double_eq(rho(mapped, y, MOST), first);
    ck_assert_double_eq(rho(y, x, MOST), first);
    for (size_t i = 0; i < MOST / 2; i++) {
        double a = x[i], b = y[i];
        x[i] = x[MOST - 1 - i];
        y[i] = y[MOST - 1 - i];
        x[MOST - 1 - i] = a;
        y[MOST - 1 - i] = b;
    }
    ck_assert_double_eq(rho(x, y, MOST), first);
}
END_TEST

Suite *kvr_suite_spearman(void)
{
    Suite *suite = suite_create("spearman");
    TCase *ranks = tcase_create("ranks");
    tcase_add_test(ranks, test_known_values);
    tcase_add_test(ranks, test_mid_ranks);
    tcase_add_test(ranks, test_where_there_is_none);
    tcase_add_loop_test(ranks, test_against_counting, 0, 4);
    tcase_add_test(ranks, test_what_does_not_matter);
    suite_add_tcase(suite, ranks);
    return suite;
}
