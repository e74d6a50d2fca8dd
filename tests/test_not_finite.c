/*
 * Values that are not finite: which heads they touch under which score, and the three rules.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/recorded_layer.h"
#include "tests/suites.h"

/* Two groups of two heads, rows at positions 4 … 9 of which 8 and 9 are decode rows; candidates are
   2 … 7. Row q is (q + 1) / 16 everywhere, sums are 2. */
static void set_plain_values(void)
{
    recorded_shape(4, 2, 10, 8, 6);
    recorded.sample.pad = 2;
    for (size_t h = 0; h < 4; h++)
        for (size_t t = 0; t < 10; t++) {
            for (size_t q = 0; q < 6; q++)
                recorded.rows[h][q][t] = (double)(q + 1) / 16;
            recorded.sums[h][t] = 2;
            recorded.gates[h][t] = 1;
        }
}

static void ask_for_all(void)
{
    recorded_score("last");
    recorded_score("window:2");
    recorded_score("accumulated");
    recorded_score("column:gate");
}

static void assert_not_finite(const size_t expected[4])
{
    ck_assert_uint_eq(recorded_cell.scored_count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_msg(recorded_cell.scored[i].not_finite == expected[i], "%s: %zu, expected %zu",
                      recorded_cell.scored[i].score->label, recorded_cell.scored[i].not_finite,
                      expected[i]);
}

/* What a scorer does not read does not matter to it. */
START_TEST(test_only_what_is_read_matters)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        set_plain_values();
        recorded.rows[0][3][1] = bad[i]; /* last prefill row, but padding */
        recorded.rows[0][3][8] = bad[i]; /* a decoded position */
        recorded.rows[0][1][4] = bad[i]; /* a row before the window */
        recorded.sums[0][0] = recorded.sums[1][9] = bad[i];
        recorded.gates[0][1] = recorded.gates[0][8] = bad[i];
        recorded.rows[0][5][9] = recorded.rows[0][5][0] = bad[i]; /* a decode row, no candidate */
        recorded_write(KVR_FLOAT);
        if (i == 0)
            ask_for_all();
        recorded_load(0);
        assert_not_finite((const size_t[]){0, 0, 0, 0});
        ck_assert(recorded_cell.future.finite);
        ck_assert_double_eq_tol(recorded_cell.future.mass_total, 2 * 6 * 11.0 / 16, 1e-12);
    }
}
END_TEST

START_TEST(test_heads_that_are_not_finite_are_counted)
{
    set_plain_values();
    recorded.rows[1][2][5] = NAN; /* the window of head 1 */
    recorded.sums[0][2] = NAN;
    recorded.sums[1][7] = INFINITY;
    recorded.gates[0][7] = -INFINITY;
    recorded_write(KVR_FLOAT);
    ask_for_all();
    recorded_load(0);
    assert_not_finite((const size_t[]){0, 1, 2, 1});
    recorded_load(1); /* the other group is whole */
    assert_not_finite((const size_t[]){0, 0, 0, 0});
}
END_TEST

/* A finite double beyond the largest float is not finite as a score. */
START_TEST(test_scores_that_overflow)
{
    set_plain_values();
    recorded.rows[2][3][6] = 1e39;
    recorded.gates[1][6] = -1e39;
    recorded_write(KVR_DOUBLE);
    ask_for_all();
    recorded_load(1);
    assert_not_finite((const size_t[]){1, 1, 0, 1});
}
END_TEST

START_TEST(test_zero_rule_replaces_and_counts)
{
    set_plain_values();
    recorded_plan.nan = KVR_NAN_ZERO;
    recorded.rows[0][3][5] = NAN; /* read by last and by the window */
    recorded.rows[0][2][6] = INFINITY;
    recorded.rows[1][2][6] = -INFINITY;
    recorded.sums[0][3] = NAN; /* the total is NaN, and every quotient */
    recorded.gates[0][2] = NAN;
    recorded_write(KVR_FLOAT);
    ask_for_all();
    recorded_load(0);
    assert_not_finite((const size_t[]){0, 0, 0, 0});
    ck_assert_uint_eq(recorded_cell.scored[0].replaced, 1);
    ck_assert_uint_eq(recorded_cell.scored[1].replaced, 3);
    ck_assert_uint_eq(recorded_cell.scored[2].replaced, 6);
    ck_assert_uint_eq(recorded_cell.scored[3].replaced, 1);
    const float last[] = {0.25f, 0.25f, 0.25f, 0, 0.25f, 0.25f};
    const float window[] = {0.21875f, 0.21875f, 0.21875f, 0, 0, 0.21875f};
    ck_assert_mem_eq(recorded_cell.scored[0].vectors, last, sizeof last);
    ck_assert_mem_eq(recorded_cell.scored[1].vectors, window, sizeof window);
    ck_assert_double_eq(recorded_cell.scored[0].totals[0], 1.25);
    ck_assert_double_eq(recorded_cell.scored[2].totals[0], 0);
    recorded_load(1);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(recorded_cell.scored[i].replaced, 0);
}
END_TEST

/* The message names file, place, head and scorer; per KV head where the score is. */
START_TEST(test_fail_rule_names_the_place)
{
    const struct {
        const char *scorer, *message;
    } cases[] = {
        {"window:2", "/samples/0/layers/0: query head 3 is not finite under scorer window:2"},
        {"accumulated", "/samples/0/layers/0: query head 2 is not finite under scorer accumulated"},
        {"column:gate", "/samples/0/layers/0: KV head 1 is not finite under scorer column:gate"},
    };
    set_plain_values();
    recorded.rows[3][2][5] = NAN;
    recorded.sums[2][5] = recorded.sums[3][5] = NAN;
    recorded.gates[1][3] = NAN;
    recorded_write(KVR_FLOAT);
    for (size_t i = 0; i < 3; i++) {
        struct kvr_error err = KVR_ERROR_NONE;
        struct kvr_cell_key key = made_key(recorded_trace, 0, 0, 1);
        const bool wanted[] = {true, true};
        kvr_plan_free(&recorded_plan);
        recorded_plan = kvr_plan_default();
        recorded_plan.nan = KVR_NAN_FAIL;
        recorded_score("last");
        recorded_score(cases[i].scorer);
        kvr_room_reset(&recorded_room);
        ck_assert_int_eq(kvr_cell_load(&recorded_plan, wanted, recorded_trace, &key, &recorded_room,
                                       &recorded_cell, &err),
                         KVR_BAD_INPUT);
        ck_assert_msg(strstr(err.message, cases[i].message) != NULL, "%s", err.message);
        ck_assert_ptr_nonnull(strstr(err.message, "t.h5\": "));
        ck_assert_ptr_nonnull(strstr(err.hint, "--nan exclude"));
        recorded_load(0); /* the other group passes */
    }
}
END_TEST

START_TEST(test_futures_that_do_not_apply)
{
    set_plain_values();
    recorded.rows[1][5][4] = NAN; /* a decode row at a candidate, in group 0 */
    for (size_t h = 2; h < 4; h++)
        for (size_t q = 4; q < 6; q++)
            for (size_t t = 2; t < 8; t++)
                recorded.rows[h][q][t] = 0; /* nothing looks at the prompt in group 1 */
    recorded_write(KVR_FLOAT);
    recorded_score("last");
    recorded_load(0);
    ck_assert(!recorded_cell.future.finite);
    ck_assert_double_nan(recorded_cell.future.mass_total);
    ck_assert_double_nan(recorded_cell.future.peak_total);
    ck_assert_uint_eq(recorded_cell.scored[0].not_finite, 0); /* no score reads decode rows */
    recorded_load(1);
    ck_assert(recorded_cell.future.finite);
    ck_assert_double_nan(recorded_cell.future.mass_total);
    ck_assert_double_nan(recorded_cell.future.peak_total);
}
END_TEST

/* Decode rows are read where no scorer over rows is asked for. */
START_TEST(test_future_without_scorers_over_rows)
{
    set_plain_values();
    recorded_write(KVR_FLOAT);
    recorded_score("column:gate");
    recorded_load(1);
    ck_assert_uint_eq(recorded_cell.future.row_count, 2);
    ck_assert_double_eq_tol(recorded_cell.future.mass_total, 2 * 6 * 11.0 / 16, 1e-12);
}
END_TEST

/* Quotients by zero: a key without length has no direction, keys that cancel have no mean, sums
   that are all zero no shares. */
START_TEST(test_divisions_by_zero)
{
    set_plain_values();
    recorded.width = 2;
    for (size_t t = 0; t < 10; t++)
        recorded.keys[0][t][0] = recorded.keys[1][t][t % 2] = 1;
    recorded_policy_score("key-norm");
    recorded_policy_score("key-diff");
    recorded_policy_score("accumulated");
    recorded_policy_score("observed");
    recorded.keys[0][1][0] = 0; /* padding does not count */
    recorded_write(KVR_FLOAT);
    recorded_load(0);
    assert_not_finite((const size_t[]){0, 0, 0, 0});
    recorded.keys[0][4][0] = 0;
    for (size_t t = 0; t < 10; t++) {
        recorded.keys[1][t][0] = t < 5 ? 3 : -1;
        recorded.keys[1][t][1] = 0;
        recorded.sums[3][t] = 0;
    }
    recorded_write(KVR_FLOAT);
    recorded_load(0);
    assert_not_finite((const size_t[]){0, 1, 0, 0});
    ck_assert_float_eq(recorded_cell.scored[0].vectors[2], 0); /* candidate 2 is position 4 */
    recorded_load(1);
    assert_not_finite((const size_t[]){0, 1, 1, 1});
}
END_TEST

Suite *kvr_suite_not_finite(void)
{
    Suite *suite = suite_create("not_finite");
    TCase *all = tcase_create("not finite");
    tcase_add_checked_fixture(all, recorded_start, recorded_end);
    tcase_add_test(all, test_only_what_is_read_matters);
    tcase_add_test(all, test_heads_that_are_not_finite_are_counted);
    tcase_add_test(all, test_scores_that_overflow);
    tcase_add_test(all, test_zero_rule_replaces_and_counts);
    tcase_add_test(all, test_fail_rule_names_the_place);
    tcase_add_test(all, test_futures_that_do_not_apply);
    tcase_add_test(all, test_future_without_scorers_over_rows);
    tcase_add_test(all, test_divisions_by_zero);
    suite_add_tcase(suite, all);
    return suite;
}
