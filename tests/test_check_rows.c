/*
 * The check of attention rows: every kind of fault in a small trace, with its kind, place and
 * count.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check_expect.h"
#include "tests/scratch.h"
#include "tests/suites.h"

/* ---------------------------------------------------------------------------- single values */

START_TEST(test_one_value_that_is_not_finite)
{
    small.layers = 2;
    small.row[2][40][7] = _i == 0 ? (double)NAN : (double)INFINITY;
    check_small();
    for (int layer = 0; layer < 2; layer++) {
        char place[64];
        snprintf(place, sizeof place, "/samples/0/layers/%d/attention", layer);
        expect_finding(
            KVR_FOUND_NOT_FINITE, KVR_ERROR, place, 1, 2, 40,
            "head 2, row 40 (position 40): values not finite: 1; groups lost: window 1 of 2");
    }
    expect_no_more_findings();
}
END_TEST

START_TEST(test_last_and_decode_rows_that_are_not_finite)
{
    small.row[0][43][0] = small.row[1][46][0] = NAN;
    check_small();
    expect_finding(
        KVR_FOUND_NOT_FINITE, KVR_ERROR, ATTENTION, 2, 0, 43,
        "heads 0-1: 2 of 96 rows, first head 0, row 43 (position 43): values not finite: 2; "
        "groups lost: last 1 of 2, window 1 of 2, future mass 1 of 2");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_whole_layer_that_is_not_finite)
{
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < CHECK_TOKENS; q++)
            for (size_t t = 0; t < CHECK_TOKENS; t++)
                small.row[h][q][t] = NAN;
    check_small();
    expect_finding(KVR_FOUND_NOT_FINITE, KVR_ERROR, ATTENTION, 4 * 48, 0, 0,
                   "all 4 heads, all 48 rows: values not finite: 9216");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_values_that_no_scorer_reads)
{
    small_compute(&small, &(struct small_truth){.pad = 2, .scale = small_plain.scale});
    small.pad = 2;
    small.row[3][20][1] = NAN;  /* on padding */
    small.row[3][30][45] = NAN; /* on a decoded token */
    check_small();
    expect_finding(KVR_FOUND_PADDING, KVR_NOTE, "/samples/0", 1, NOWHERE, NOWHERE,
                   "left padding of 2");
    expect_finding(
        KVR_FOUND_NOT_FINITE, KVR_NOTE, ATTENTION, 2, 3, 20,
        "head 3: 2 of 46 rows, first row 20 (position 20): values not finite, where no scorer");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_vectors_that_are_not_finite)
{
    small.queries[1][9][0] = NAN;
    small.keys[1][11][7] = INFINITY;
    small.values[0][12][3] = NAN;
    small.gates[3][13] = NAN; /* a candidate */
    small.gates[0][47] = NAN; /* a decoded token */
    check_small();
    expect_finding(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/0/query", 1, 1, 9, "row 9");
    expect_finding(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/0/key", 1, 1, 11,
                   "head 1, token 11: values not finite: 1");
    expect_finding(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/0/value", 1, 0, 12,
                   "token 12");
    expect_finding(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/0/scores/gate", 1, 3,
                   NOWHERE, "head 3: values not finite: 1");
    expect_finding(KVR_FOUND_NOT_FINITE, KVR_NOTE, "/samples/0/layers/0/scores/gate", 1, 0, NOWHERE,
                   "no scorer reads");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_negative_values)
{
    small.row[1][33][4] -= 0.25;
    small.row[1][33][5] += 0.25;
    small.row[1][34][3] = small.row[1][34][2] + small.row[1][34][3] + 0.5;
    small.row[1][34][2] = -0.5;
    small.accumulated = false;
    check_small();
    expect_finding(
        KVR_FOUND_NEGATIVE, KVR_ERROR, ATTENTION, 2, 1, 33,
        "head 1: 2 of 48 rows, first row 33 (position 33): negative values: 2, down to -0.5");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_rows_of_zeros)
{
    memset(small.row[2][35], 0, sizeof small.row[2][35]);
    memset(small.keys[1][6], 0, sizeof small.keys[1][6]);
    small_compute(&small, &small_plain);
    memset(small.row[2][35], 0, sizeof small.row[2][35]);
    small_sum(&small, 0);
    check_small();
    expect_finding(KVR_FOUND_ZERO_ROW, KVR_WARNING, ATTENTION, 1, 2, 35, "every weight is 0");
    expect_finding(KVR_FOUND_TOTAL, KVR_WARNING, ACCUMULATED, 1, 2, NOWHERE,
                   "add up to 43, expected 44");
    expect_finding(KVR_FOUND_ZERO_ROW, KVR_WARNING, "/samples/0/layers/0/key", 1, 1, 6,
                   "every component is 0");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_layer_without_weights)
{
    memset(small.row, 0, sizeof small.row);
    memset(small.values, 0, sizeof small.values);
    memset(small.gates, 0, sizeof small.gates);
    small.accumulated = false;
    check_small();
    expect_finding(KVR_FOUND_EMPTY, KVR_ERROR, ATTENTION, 4 * 48, 0, 0,
                   "all 4 heads, all 48 rows: no weight was recorded");
    expect_finding(KVR_FOUND_EMPTY, KVR_ERROR, "/samples/0/layers/0/value", 2 * 48, 0, 0,
                   "all 2 heads, all 48 tokens: every value is 0");
    expect_finding(KVR_FOUND_EMPTY, KVR_ERROR, "/samples/0/layers/0/scores/gate", 4, 0, NOWHERE,
                   "every value is 0");
    expect_no_more_findings();
}
END_TEST

/* ---------------------------------------------------------------------------- masks */

START_TEST(test_causal_mask_forgotten)
{
    small_rows_only(4);
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < 4; q++)
            for (size_t t = 0; t < 4; t++)
                small.row[h][q][t] = 0.25;
    check_small();
    expect_short_prompt_notes();
    expect_finding(KVR_FOUND_ABOVE_DIAGONAL, KVR_ERROR, ATTENTION, 4 * 3, 0, 0,
                   "up to 0.75 of a row lies above the diagonal, as far as 3 positions");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_traces_of_a_finite_mask)
{
    small.row[0][20][21] = 1e-6;
    check_small();
    expect_finding(KVR_FOUND_ABOVE_DIAGONAL, KVR_WARNING, ATTENTION, 1, 0, 20, "1e-06 of a row");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_mass_outside_the_window)
{
    small.window = 9;
    small_compute(&small, &(struct small_truth){.window = 10, .scale = small_plain.scale});
    small_without_vectors();
    check_small();
    expect_finding(KVR_FOUND_OUTSIDE_WINDOW, KVR_ERROR, ATTENTION, 4 * 39, 0, 9,
                   "outside the sliding window of 9; rows reach back 10 positions");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_window_that_is_not_declared)
{
    small.window = _i == 0 ? 0 : 20;
    small_compute(&small, &(struct small_truth){.window = 10, .scale = small_plain.scale});
    small_without_vectors();
    check_small();
    expect_finding(KVR_FOUND_UNDECLARED_WINDOW, KVR_WARNING, ATTENTION, 4 * 48, NOWHERE, NOWHERE,
                   "no row looks back more than 10 positions: sliding_window = 10?");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_window_of_few_rows_is_not_declared)
{
    small_keep_rows_from(&small, 42);
    small_compute(&small, &(struct small_truth){.window = 10, .scale = small_plain.scale});
    small_without_vectors();
    small.accumulated = false;
    check_small();
    expect_finding(KVR_FOUND_SHORT_WINDOW, KVR_NOTE, "/samples/0/query_positions", 1, NOWHERE,
                   NOWHERE, "prefill rows: 2;");
    expect_finding(KVR_FOUND_UNDECLARED_WINDOW, KVR_WARNING, ATTENTION, 4 * 6, NOWHERE, NOWHERE,
                   "sliding_window = 10?");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_padding_that_is_not_declared)
{
    small_compute(&small, &(struct small_truth){.pad = 5, .scale = small_plain.scale});
    small_without_vectors();
    small.accumulated = false;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < 5; q++)
            for (size_t t = 0; t < CHECK_TOKENS; t++)
                small.row[h][q][t] = _i == 0   ? NAN
                                     : _i == 1 ? 0
                                     : t <= q  ? 1.0 / (double)(q + 1)
                                               : 0;
    check_small();
    if (_i == 0)
        expect_finding(KVR_FOUND_NOT_FINITE, KVR_ERROR, ATTENTION, 4 * 5, 0, 0, "20 of 192 rows");
    if (_i == 1)
        expect_finding(KVR_FOUND_ZERO_ROW, KVR_WARNING, ATTENTION, 4 * 5, 0, 0, "20 of 192 rows");
    expect_finding(KVR_FOUND_UNDECLARED_PADDING, KVR_WARNING, ATTENTION, 5, NOWHERE, NOWHERE,
                   "no row of any head looks at the first 5 tokens: pad = 5?");
    expect_no_more_findings();
}
END_TEST

/* Four tokens, of which two are padding, in the three forms that frameworks leave behind. */
START_TEST(test_short_padding_that_is_not_declared)
{
    small_rows_only(4);
    small_compute(&small, &(struct small_truth){.pad = 2, .scale = small_plain.scale});
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < 2; q++)
            for (size_t t = 0; t < 4; t++)
                small.row[h][q][t] = _i == 0 ? NAN : _i == 1 ? 0 : 0.25;
    check_small();
    expect_short_prompt_notes();
    if (_i == 0)
        expect_finding(KVR_FOUND_NOT_FINITE, KVR_ERROR, ATTENTION, 8, 0, 0, "not finite: 32");
    if (_i == 1)
        expect_finding(KVR_FOUND_ZERO_ROW, KVR_WARNING, ATTENTION, 8, 0, 0, "8 of 16 rows");
    if (_i == 2)
        expect_finding(KVR_FOUND_ABOVE_DIAGONAL, KVR_ERROR, ATTENTION, 8, 0, 0, "up to 0.75");
    expect_finding(KVR_FOUND_UNDECLARED_PADDING, KVR_WARNING, ATTENTION, 2, NOWHERE, NOWHERE,
                   "pad = 2?");
    expect_no_more_findings();
    small.pad = 2;
    check_small();
    expect_finding(KVR_FOUND_PADDING, KVR_NOTE, "/samples/0", 1, NOWHERE, NOWHERE, "skipped: 2");
    expect_short_prompt_notes();
    expect_no_more_findings();
}
END_TEST

START_TEST(test_useless_rows_at_the_front)
{
    small_without_vectors();
    small.accumulated = false;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        small.row[h][0][0] = small.row[h][1][0] = small.row[h][1][1] = NAN;
    check_small();
    expect_finding(KVR_FOUND_NOT_FINITE, KVR_ERROR, ATTENTION, 8, 0, 0, "values not finite: 12");
    expect_finding(KVR_FOUND_UNDECLARED_PADDING, KVR_WARNING, ATTENTION, 2, NOWHERE, NOWHERE,
                   "only the rows of the first 2 tokens are useless, in every head: pad = 2?");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_mass_on_padding)
{
    small.pad = 5;
    small.accumulated = false;
    small_without_vectors();
    check_small();
    expect_finding(KVR_FOUND_PADDING, KVR_NOTE, "/samples/0", 1, NOWHERE, NOWHERE,
                   "left padding of 5");
    expect_finding(KVR_FOUND_PADDING_MASS, KVR_WARNING, ATTENTION, 4 * 43, 0, 5,
                   "all 4 heads, all 43 rows");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_positions_that_are_too_large)
{
    small_without_vectors();
    small.accumulated = false;
    small.rows = CHECK_TOKENS - 1;
    for (size_t q = 0; q < small.rows; q++)
        small.positions[q] = q + 1;
    check_small();
    expect_finding(KVR_FOUND_SHIFTED_ROWS, KVR_WARNING, ATTENTION, 4 * 47, NOWHERE, NOWHERE,
                   "mass ends at least 1 before it");
    expect_no_more_findings();
}
END_TEST

/* ---------------------------------------------------------------------------- sums */

START_TEST(test_softmax_applied_twice)
{
    small_rows_only(3);
    for (size_t h = 0; h < SMALL_HEADS; h++)
        memcpy(small.row[h][0], (double[]){0.54, 0.23, 0.23}, 3 * sizeof(double));
    small.rows = 1;
    small.positions[0] = 2;
    check_small();
    expect_short_prompt_notes();
    expect_finding(KVR_FOUND_SOFTMAX_TWICE, KVR_WARNING, ATTENTION, 4, NOWHERE, NOWHERE, "entropy");
    expect_no_more_findings();
}
END_TEST

static void softmax_again(double *row, uint64_t n)
{
    double sum = 0;
    for (uint64_t t = 0; t < n; t++)
        sum += row[t] = exp(row[t]);
    for (uint64_t t = 0; t < n; t++)
        row[t] /= sum;
}

START_TEST(test_softmax_applied_twice_to_long_rows)
{
    bool masked = _i < 2;
    small.storage.type.kind = _i % 2 == 0 ? KVR_HALF : KVR_BFLOAT16;
    small_without_vectors();
    small.accumulated = false;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < CHECK_TOKENS; q++)
            softmax_again(small.row[h][q], masked ? q + 1 : CHECK_TOKENS);
    check_small();
    if (!masked)
        expect_finding(KVR_FOUND_ABOVE_DIAGONAL, KVR_ERROR, ATTENTION, 4 * 47, 0, 0,
                       "as far as 47");
    expect_finding(KVR_FOUND_SOFTMAX_TWICE, KVR_WARNING, ATTENTION,
                   seen.items[masked ? 0 : 1].count, NOWHERE, NOWHERE, "all rows of all heads");
    ck_assert_uint_ge(seen.items[masked ? 0 : 1].count, 4 * 40);
    expect_no_more_findings();
}
END_TEST

START_TEST(test_one_peaked_head_is_not_softmax_twice)
{
    small_without_vectors();
    small.accumulated = false;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < CHECK_TOKENS; q++)
            if (h != 3)
                softmax_again(small.row[h][q], q + 1);
    check_small();
    expect_no_more_findings();
}
END_TEST

START_TEST(test_dropout_left_on)
{
    small_rows_only(3);
    small.rows = 1;
    small.positions[0] = 2;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        memcpy(small.row[h][0], h == 1 ? (double[]){1.25, 0, 0} : (double[]){0.7, 0.2, 0.1},
               3 * sizeof(double));
    check_small();
    expect_short_prompt_notes();
    expect_finding(
        KVR_FOUND_DROPOUT, KVR_WARNING, ATTENTION, 1, 1, 0,
        "head 1, row 0 (position 2): sums 1 to 1.25, with zeros among the visible tokens");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_sums_that_are_off)
{
    small_without_vectors();
    small.accumulated = false;
    for (size_t t = 0; t < CHECK_TOKENS; t++)
        small.row[3][30][t] *= 1.03;
    check_small();
    expect_finding(KVR_FOUND_ROW_SUM, KVR_WARNING, ATTENTION, 1, 3, 30, "sums 1 to 1.03");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_sink_logits)
{
    small.sink_logits = _i == 1;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < CHECK_TOKENS; q++)
            for (size_t t = 0; t < CHECK_TOKENS; t++)
                small.row[h][q][t] *= h % 2 == 0 ? 0.75 : 0.5;
    small_sum(&small, 0);
    check_small();
    expect_finding(KVR_FOUND_SINK_LOGITS, _i == 1 ? KVR_NOTE : KVR_WARNING, ATTENTION, 4 * 48, 0, 0,
                   "sums 0.5 to 0.75, on average 0.375 is missing");
    if (_i == 0)
        expect_finding(KVR_FOUND_TOTAL, KVR_WARNING, ACCUMULATED, 4, 0, NOWHERE, "expected 44");
    expect_no_more_findings(); /* recomputation compares shares: sinks make no difference */
}
END_TEST

Suite *kvr_suite_check_rows(void)
{
    Suite *suite = suite_create("check_rows");
    TCase *tcase = check_case(suite, "values");
    tcase_add_loop_test(tcase, test_one_value_that_is_not_finite, 0, 2);
    tcase_add_test(tcase, test_last_and_decode_rows_that_are_not_finite);
    tcase_add_test(tcase, test_whole_layer_that_is_not_finite);
    tcase_add_test(tcase, test_values_that_no_scorer_reads);
    tcase_add_test(tcase, test_vectors_that_are_not_finite);
    tcase_add_test(tcase, test_negative_values);
    tcase_add_test(tcase, test_rows_of_zeros);
    tcase_add_test(tcase, test_layer_without_weights);
    tcase = check_case(suite, "masks");
    tcase_add_test(tcase, test_causal_mask_forgotten);
    tcase_add_test(tcase, test_traces_of_a_finite_mask);
    tcase_add_test(tcase, test_mass_outside_the_window);
    tcase_add_loop_test(tcase, test_window_that_is_not_declared, 0, 2);
    tcase_add_test(tcase, test_window_of_few_rows_is_not_declared);
    tcase_add_loop_test(tcase, test_padding_that_is_not_declared, 0, 3);
    tcase_add_loop_test(tcase, test_short_padding_that_is_not_declared, 0, 3);
    tcase_add_test(tcase, test_useless_rows_at_the_front);
    tcase_add_test(tcase, test_mass_on_padding);
    tcase_add_test(tcase, test_positions_that_are_too_large);
    tcase = check_case(suite, "sums");
    tcase_add_test(tcase, test_softmax_applied_twice);
    tcase_add_loop_test(tcase, test_softmax_applied_twice_to_long_rows, 0, 4);
    tcase_add_test(tcase, test_one_peaked_head_is_not_softmax_twice);
    tcase_add_test(tcase, test_dropout_left_on);
    tcase_add_test(tcase, test_sums_that_are_off);
    tcase_add_loop_test(tcase, test_sink_logits, 0, 2);
    return suite;
}
