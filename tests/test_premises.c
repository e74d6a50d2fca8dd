/*
 * The premises of theorem 4 and the bound of corollary 2: the golden values of MEASURES, the
 * formula in long double, its limits, and the theorem itself on random heads.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/premises.h"
#include "formats/base/random.h"
#include "replay/reduce.h"
#include "tests/made_cell.h"
#include "tests/suites.h"

/* ------------------------------------------------------------------------- Delta */

static double ratio_of(double found, double expected)
{
    return found / expected;
}

/* r = 8, tau = 1/2, eta = ln 2, no slack, 1 - eps = 0.95, S = 4: C = 1/4, D = 7 / (T-4)^2. */
START_TEST(test_golden_values)
{
    const struct {
        double others, delta;
    } cases[] = {{4092, 1.59e-6}, {131068, 1.55e-9}};
    const double slacks[7] = {0}, disagreement[] = {4.18e-7, 4.07e-10};
    for (size_t i = 0; i < 2; i++) {
        double d = 7 / (cases[i].others * cases[i].others);
        ck_assert_double_eq_tol(ratio_of(d, disagreement[i]), 1, 2e-3);
        double delta = kvr_premises_delta(0.95, log(2), slacks, 7, (size_t)cases[i].others, 0.5);
        ck_assert_double_eq_tol(ratio_of(delta, 0.95 * d / (0.25 + d)), 1, 1e-12);
        ck_assert_double_eq_tol(ratio_of(delta, cases[i].delta), 1, 2e-3);
    }
}
END_TEST

START_TEST(test_delta_is_as_defined)
{
    struct kvr_random random = kvr_random_stream(61, 0);
    for (int round = 0; round < 1000; round++) {
        double slacks[15], tau = 0.1 + 3 * kvr_random_uniform(&random);
        size_t siblings = 1 + kvr_random_below(&random, 15);
        size_t others = 1 + kvr_random_below(&random, 100000);
        double mass = kvr_random_uniform(&random), eta = 8 * kvr_random_uniform(&random);
        long double c = expl(-(long double)eta / tau), d = 0;
        for (size_t j = 0; j < siblings; j++) {
            slacks[j] = round % 3 == 0 ? 0 : 5 * kvr_random_uniform(&random);
            d += expl((long double)slacks[j] / tau) * powl((long double)others, -1 / tau);
        }
        double expected = (double)((long double)mass * d / (c + d));
        double found = kvr_premises_delta(mass, eta, slacks, siblings, others, tau);
        ck_assert_double_eq_tol(ratio_of(found, expected), 1, 1e-10);
    }
}
END_TEST

START_TEST(test_limits_of_delta)
{
    const double none[] = {0, 0, 0}, large[] = {700, 0, 1};
    /* No siblings: nothing dilutes the owner. No other candidates: nothing is left of it. */
    ck_assert_double_eq(kvr_premises_delta(0.95, 1, NULL, 0, 1000, 0.5), 0);
    ck_assert_double_eq(kvr_premises_delta(0.95, 1, NULL, 0, 0, 0.5), 0);
    ck_assert_double_eq(kvr_premises_delta(0.95, 1, none, 3, 0, 0.5), 0.95);
    ck_assert_double_eq_tol(kvr_premises_delta(0.95, 0, none, 3, 1, 0.5), 0.95 * 3 / 4, 1e-15);
    /* A cold softmax gives all to the owner, or all to siblings of lower entropy. */
    ck_assert_double_eq(kvr_premises_delta(0.95, log(999), none, 3, 1000, 1e-6), 0);
    ck_assert_double_eq(kvr_premises_delta(0.95, log(1001), none, 3, 1000, 1e-6), 0.95);
    /* Equal entropies share at any temperature; a hot softmax shares whatever they are. */
    ck_assert_double_eq_tol(kvr_premises_delta(0.95, log(1000), none, 3, 1000, 1e-6), 0.95 * 3 / 4,
                            1e-6);
    ck_assert_double_eq_tol(kvr_premises_delta(0.95, log(1000), none, 3, 1000, 0.5), 0.95 * 3 / 4,
                            1e-12);
    ck_assert_double_eq_tol(kvr_premises_delta(0.95, 2, none, 3, 1000, 1e9), 0.95 * 3 / 4, 1e-6);
    /* exp(700 / 1e-6) would overflow. */
    ck_assert_double_eq(kvr_premises_delta(0.95, 1, large, 3, 1000, 1e-6), 0.95);
    ck_assert_double_eq(kvr_premises_delta(0, 1, none, 3, 1000, 0.5), 0);
    /* Entropy of a head without anything but sinks as owner. */
    ck_assert_double_eq_tol(kvr_premises_delta(0.1, KVR_ENTROPY_EMPTY, none, 3, 1000, 0.5), 0.1,
                            1e-12);
}
END_TEST

/* ------------------------------------------------------------------------- of a cell */

static struct kvr_premises premises_of(struct made_cell *made, size_t start, size_t end)
{
    double slacks[64];
    made_cell_finish(made);
    return kvr_premises_of(&made->cell, &made->scored, (struct kvr_range){start, end}, slacks);
}

/* Seven sink heads with an even rest beside a head that owns the needle: mean pooling leaves an
   eighth, entropy pooling nearly all. */
START_TEST(test_needle_of_one_owner)
{
    struct made_cell made;
    made_cell_start(&made, 8, 4096, 4);
    for (size_t h = 0; h < 8; h++)
        for (size_t t = 0; t < 4096; t++)
            made_cell_head(&made, h)[t] = t < 4 ? 0.25f : h == 3 ? 0 : 1e-6f;
    memset(made_cell_head(&made, 3), 0, 4096 * sizeof(float));
    made_cell_head(&made, 3)[0] = 0.05f;
    made_cell_head(&made, 3)[2000] = 0.95f;
    struct kvr_premises premises = premises_of(&made, 1998, 2002);
    ck_assert_uint_eq(premises.owner, 3);
    ck_assert_uint_eq(premises.peak, 2000);
    ck_assert_double_eq(premises.owner_mass, (double)0.95f);
    ck_assert_double_eq_tol(premises.owner_entropy, 0, 1e-12);
    ck_assert_double_eq_tol(premises.largest_slack, 0, 1e-12);
    double d = 7.0 / (4092.0 * 4092.0), owner = 1 / (1 + d), others = (1 - owner) * 1e-6;
    ck_assert_double_eq_tol(premises.pooled_mass, (double)0.95f * owner + others, 1e-9);
    ck_assert_double_eq_tol(premises.bound, (double)0.95f * (1 - d / (1 + d)), 1e-12);
    ck_assert(premises.holds);
    ck_assert_double_ge(premises.pooled_mass, premises.bound);

    float mean[4096];
    kvr_reduce_find("mean")->pool(made.scored.vectors, 8, 4096, NULL, mean);
    ck_assert_double_eq_tol((double)mean[2000], 0.11875, 1e-6);
    made_cell_free(&made);
}
END_TEST

START_TEST(test_ties_go_to_the_lower_head_and_position)
{
    struct made_cell made;
    made_cell_start(&made, 3, 20, 2);
    for (size_t h = 0; h < 3; h++)
        for (size_t t = 0; t < 20; t++)
            made_cell_head(&made, h)[t] = 0.01f;
    made_cell_head(&made, 0)[4] = 0.9f; /* outside the needle */
    made_cell_head(&made, 1)[8] = made_cell_head(&made, 1)[9] = 0.5f;
    made_cell_head(&made, 2)[7] = 0.5f;
    struct kvr_premises premises = premises_of(&made, 6, 11);
    ck_assert_uint_eq(premises.owner, 1);
    ck_assert_uint_eq(premises.peak, 8);
    made_cell_free(&made);

    made_cell_start(&made, 2, 20, 2); /* all equal: the first of all */
    premises = premises_of(&made, 6, 11);
    ck_assert_uint_eq(premises.owner, 0);
    ck_assert_uint_eq(premises.peak, 6);
    made_cell_free(&made);

    made_cell_start(&made, 2, 20, 2); /* a column may be negative */
    for (size_t t = 0; t < 40; t++)
        made_cell_head(&made, 0)[t] = -1;
    made_cell_head(&made, 1)[7] = -0.5f;
    premises = premises_of(&made, 6, 11);
    ck_assert_uint_eq(premises.owner, 1);
    ck_assert_uint_eq(premises.peak, 7);
    ck_assert_double_eq(premises.owner_mass, -0.5);
    made_cell_free(&made);
}
END_TEST

START_TEST(test_group_of_one_head)
{
    struct made_cell made;
    made_cell_start(&made, 1, 10, 2);
    for (size_t t = 0; t < 10; t++)
        made_cell_head(&made, 0)[t] = 0.1f;
    struct kvr_premises premises = premises_of(&made, 3, 5);
    ck_assert_double_nan(premises.largest_slack);
    ck_assert_double_eq(premises.pooled_mass, (double)0.1f);
    ck_assert_double_eq(premises.bound, (double)0.1f);
    ck_assert(premises.holds);
    made_cell_free(&made);
}
END_TEST

/* Two siblings: one even over four tokens has slack ln(16 / 4), one even over all has none. */
START_TEST(test_slack_of_siblings)
{
    struct made_cell made;
    made_cell_start(&made, 3, 18, 2);
    made_cell_head(&made, 0)[10] = 1;
    for (size_t t = 2; t < 18; t++) {
        made_cell_head(&made, 1)[t] = t < 6 ? 0.25f : 0;
        made_cell_head(&made, 2)[t] = 0.0625f;
    }
    struct kvr_premises premises = premises_of(&made, 10, 11);
    ck_assert_double_eq_tol(premises.largest_slack, log(4), 1e-12);
    /* D = (e^(2 ln 4) + 1) / 16^2 = 17/256, C = 1. */
    ck_assert_double_eq_tol(premises.bound, 1 - 17.0 / 273, 1e-12);
    /* Weights 1 : 1/16 : 1/256. */
    ck_assert_double_eq_tol(premises.pooled_mass, (1 + 0.0625 / 256) / (273.0 / 256), 1e-12);
    ck_assert(premises.holds);
    made_cell_free(&made);
}
END_TEST

START_TEST(test_no_candidates_but_sinks)
{
    struct made_cell made;
    made_cell_start(&made, 2, 4, 4);
    for (size_t t = 0; t < 8; t++)
        made_cell_head(&made, 0)[t] = 0.25f;
    struct kvr_premises premises = premises_of(&made, 1, 3);
    ck_assert_double_eq(premises.owner_entropy, KVR_ENTROPY_EMPTY);
    ck_assert_double_eq(premises.largest_slack, 0);
    ck_assert_double_eq(premises.bound, 0);
    ck_assert_double_eq(premises.pooled_mass, 0.25);
    ck_assert(premises.holds);
    made_cell_free(&made);
}
END_TEST

/* The theorem: of distributions the bound always holds, at any temperature. */
START_TEST(test_bound_holds_for_random_heads)
{
    static const double taus[] = {1e-3, 0.1, 0.5, 2, 100}, alphas[] = {0.5, 1, 2, 3, HUGE_VAL};
    struct kvr_random random = kvr_random_stream(62, (uint64_t)_i);
    for (int round = 0; round < 300; round++) {
        struct made_cell made;
        size_t heads = 1 + kvr_random_below(&random, 8);
        size_t count = 5 + kvr_random_below(&random, 100);
        made_cell_start(&made, heads, count, kvr_random_below(&random, 5));
        made.plan.tau = taus[_i];
        made.plan.entropy.alpha = alphas[round % 5];
        for (size_t h = 0; h < heads; h++) {
            double sharpness = 5 * kvr_random_uniform(&random);
            for (size_t t = 0; t < count; t++)
                made_cell_head(&made, h)[t] =
                    (float)(exp(sharpness * kvr_random_normal(&random)) / (double)count);
        }
        size_t start = kvr_random_below(&random, count);
        struct kvr_premises premises =
            premises_of(&made, start, start + 1 + kvr_random_below(&random, count - start));
        ck_assert_msg(premises.holds, "pooled %.17g, bound %.17g", premises.pooled_mass,
                      premises.bound);
        made_cell_free(&made);
    }
}
END_TEST

/* Entropies that do not belong to the vectors break the bound, and that is seen. */
START_TEST(test_broken_bound_is_seen)
{
    struct made_cell made;
    made_cell_start(&made, 2, 100, 4);
    made_cell_head(&made, 0)[50] = 1;
    for (size_t t = 0; t < 100; t++)
        made_cell_head(&made, 1)[t] = 0.01f;
    made_cell_finish(&made);
    double slacks[2];
    struct kvr_range needle = {50, 51};
    ck_assert(kvr_premises_of(&made.cell, &made.scored, needle, slacks).holds);
    made.scored.weights[0] = 0.5;
    made.scored.weights[1] = 0.5;
    ck_assert(!kvr_premises_of(&made.cell, &made.scored, needle, slacks).holds);
    made_cell_free(&made);
}
END_TEST

Suite *kvr_suite_premises(void)
{
    Suite *suite = suite_create("premises");
    TCase *delta = tcase_create("delta");
    tcase_add_test(delta, test_golden_values);
    tcase_add_test(delta, test_delta_is_as_defined);
    tcase_add_test(delta, test_limits_of_delta);
    suite_add_tcase(suite, delta);
    TCase *cells = tcase_create("cells");
    tcase_add_test(cells, test_needle_of_one_owner);
    tcase_add_test(cells, test_ties_go_to_the_lower_head_and_position);
    tcase_add_test(cells, test_group_of_one_head);
    tcase_add_test(cells, test_slack_of_siblings);
    tcase_add_test(cells, test_no_candidates_but_sinks);
    tcase_add_loop_test(cells, test_bound_holds_for_random_heads, 0, 5);
    tcase_add_test(cells, test_broken_bound_is_seen);
    suite_add_tcase(suite, cells);
    return suite;
}
