/*
 * The error of a head's output against double loops that say what it is, and against the identity
 * o - o' = d / (1 - d) (o_dropped - o) for a dropped share d of a row.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/output_error.h"
#include "formats/base/random.h"
#include "replay/bitmap.h"
#include "tests/recorded_layer.h"
#include "tests/suites.h"

static struct kvr_output_error judge;
static uint64_t kept[REC_TOKENS / 64 + 1];

static void start(void)
{
    recorded_start();
    memset(kept, 0, sizeof kept);
}

/* Rows at the last positions, and values of `width` numbers. */
static void set_shape(uint32_t heads, uint32_t kv_heads, uint64_t tokens, uint64_t prompt,
                      size_t rows, size_t width)
{
    recorded_shape(heads, kv_heads, tokens, prompt, rows);
    recorded.width = width;
    for (size_t h = 0; h < kv_heads; h++)
        for (size_t t = 0; t < tokens; t++)
            recorded.keys[h][t][0] = 1; /* not looked at */
}

static double error_of(uint32_t group)
{
    struct kvr_error err = KVR_ERROR_NONE;
    recorded_load(group);
    ck_assert_msg(kvr_output_error_load(&recorded_cell, &judge, &err) == KVR_OK, "%s", err.message);
    return kvr_output_error_of(&recorded_cell, &judge, kept);
}

/* ------------------------------------------------------------------------- the definition */

static bool is_kept(uint64_t position)
{
    if (position >= recorded.sample.prompt_length)
        return true;
    return position >= recorded_cell.candidates.first &&
           kvr_bitmap_has(kept, position - recorded_cell.candidates.first);
}

/* sum a v / sum a over all positions or the kept ones; 0 where the sum is. */
static void output_of(size_t head, size_t group, size_t row, bool all, double *out)
{
    double total = 0;
    memset(out, 0, recorded.width * sizeof *out);
    for (uint64_t p = 0; p < recorded.sample.context_length; p++)
        if (all || is_kept(p)) {
            total += recorded.rows[head][row][p];
            for (size_t d = 0; d < recorded.width; d++)
                out[d] += recorded.rows[head][row][p] * recorded.values[group][p][d];
        }
    for (size_t d = 0; d < recorded.width; d++)
        out[d] = total > 0 ? out[d] / total : 0;
}

static double norm_of(const double *vector)
{
    double sum = 0;
    for (size_t d = 0; d < recorded.width; d++)
        sum += vector[d] * vector[d];
    return sqrt(sum);
}

static double defined_error(size_t group, size_t first_row)
{
    size_t ratio = recorded.sample.query_heads / recorded.sample.kv_heads, count = 0;
    double sum = 0;
    for (size_t h = group * ratio; h < (group + 1) * ratio; h++)
        for (size_t q = first_row; q < recorded.sample.query_count; q++, count++) {
            double full[REC_WIDTH], some[REC_WIDTH], difference[REC_WIDTH];
            output_of(h, group, q, true, full);
            output_of(h, group, q, false, some);
            for (size_t d = 0; d < recorded.width; d++)
                difference[d] = full[d] - some[d];
            sum += norm_of(difference) / norm_of(full);
        }
    return sum / (double)count;
}

static void draw_trace(struct kvr_random *random, uint64_t decode)
{
    uint32_t kv_heads = 1 + (uint32_t)kvr_random_below(random, 3);
    uint32_t ratio = 1 + (uint32_t)kvr_random_below(random, REC_HEADS / kv_heads);
    uint64_t tokens = 10 + kvr_random_below(random, REC_TOKENS - 10);
    set_shape(ratio * kv_heads, kv_heads, tokens, tokens - decode, 1 + kvr_random_below(random, 6),
              1 + kvr_random_below(random, REC_WIDTH));
    recorded.sample.pad = kvr_random_below(random, 3);
    recorded.layer.sliding_window = kvr_random_below(random, 2) == 0 ? 7 : 0;
    for (size_t h = 0; h < REC_HEADS; h++)
        for (uint64_t t = 0; t < tokens; t++) {
            for (size_t q = 0; q < recorded.sample.query_count; q++)
                recorded.rows[h][q][t] = (double)(float)kvr_random_uniform(random);
            for (size_t d = 0; d < recorded.width; d++)
                recorded.values[h][t][d] = (double)(float)kvr_random_normal(random);
        }
    for (size_t word = 0; word < sizeof kept / sizeof *kept; word++) {
        uint64_t half = kvr_random_bits(random);
        kept[word] = half & kvr_random_bits(random);
    }
}

/* The sets may only hold bits of candidates. */
static void trim_kept(size_t count)
{
    for (size_t bit = count; bit < sizeof kept * 8; bit++)
        kept[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}

START_TEST(test_errors_are_as_defined)
{
    struct kvr_random random = kvr_random_stream(101, (uint64_t)_i);
    for (int round = 0; round < 30; round++) {
        draw_trace(&random, (uint64_t)_i);
        recorded_write(KVR_FLOAT);
        size_t rows = recorded.sample.query_count, decode = (size_t)_i < rows ? (size_t)_i : rows;
        for (uint32_t group = 0; group < recorded.sample.kv_heads; group++) {
            error_of(group); /* only for the number of candidates */
            trim_kept(recorded_cell.candidates.count);
            ck_assert_uint_eq(judge.row_count, decode > 0 ? decode : 1);
            double found = error_of(group);
            double expected = defined_error(group, rows - judge.row_count);
            ck_assert_double_eq_tol(found, expected, 1e-12);
        }
    }
}
END_TEST

/* One row, one head: what dropping does is known without computing o'. */
START_TEST(test_identity_of_dropped_mass)
{
    struct kvr_random random = kvr_random_stream(102, 0);
    set_shape(1, 1, 40, 40, 1, 3);
    for (size_t t = 0; t < 40; t++) {
        recorded.rows[0][0][t] = (double)(float)kvr_random_uniform(&random);
        for (size_t d = 0; d < 3; d++)
            recorded.values[0][t][d] = (double)(float)kvr_random_normal(&random);
    }
    recorded_write(KVR_FLOAT);
    for (size_t dropped = 1; dropped < 40; dropped += 3) {
        kept[0] = 0;
        kvr_bitmap_add_span(kept, dropped, 40);
        double all[3], gone[3] = {0}, total = 0, mass = 0, difference[3];
        output_of(0, 0, 0, true, all);
        for (size_t t = 0; t < 40; t++) {
            total += recorded.rows[0][0][t];
            mass += t < dropped ? recorded.rows[0][0][t] : 0;
            for (size_t d = 0; t < dropped && d < 3; d++)
                gone[d] += recorded.rows[0][0][t] * recorded.values[0][t][d];
        }
        double share = mass / total;
        for (size_t d = 0; d < 3; d++)
            difference[d] = share / (1 - share) * (gone[d] / mass - all[d]);
        ck_assert_double_eq_tol(error_of(0), norm_of(difference) / norm_of(all), 1e-12);
    }
}
END_TEST

/* ------------------------------------------------------------------------- by hand */

/* Four tokens with values 1, 1, 3, 3 and even attention; the last is decoded. */
static void set_small(size_t rows)
{
    static const double values[] = {1, 1, 3, 3};
    set_shape(1, 1, 4, 3, rows, 1);
    for (size_t t = 0; t < 4; t++) {
        recorded.values[0][t][0] = values[t];
        for (size_t q = 0; q < rows; q++)
            recorded.rows[0][q][t] = 0.25;
    }
}

START_TEST(test_small_errors)
{
    const struct {
        uint64_t kept;
        double error;
    } cases[] = {
        {7, 0},       /* everything */
        {3, 1.0 / 6}, /* without the 3: (1 + 1 + 3) / 3 = 5/3 for 2 */
        {6, 1.0 / 6}, /* 7/3 */
        {0, 0.5},     /* the decoded position stays: 3 */
        {4, 0.5},     /* 3 */
        {1, 0},       /* 1 and 3: by luck the same */
    };
    set_small(1);
    recorded_write(KVR_FLOAT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kept[0] = cases[i].kept;
        ck_assert_double_eq_tol(error_of(0), cases[i].error, 1e-15);
    }
}
END_TEST

/* Rows at positions below P are judged only if there is no other, and then only the last. */
START_TEST(test_decode_rows_are_judged)
{
    set_small(3); /* positions 1, 2 and 3 */
    recorded.rows[0][0][0] = 100;
    recorded.rows[0][1][2] = 100;
    recorded_write(KVR_FLOAT);
    kept[0] = 3;
    ck_assert_double_eq_tol(error_of(0), 1.0 / 6, 1e-15);
    ck_assert_uint_eq(judge.row_count, 1);

    recorded.sample.prompt_length = 4; /* no decode row: the last of the prompt */
    recorded_write(KVR_FLOAT);
    ck_assert_double_eq_tol(error_of(0), 0.5, 1e-15); /* 1 for 2 */
    ck_assert_uint_eq(judge.row_count, 1);
}
END_TEST

START_TEST(test_nothing_is_left_of_a_row)
{
    set_small(1);
    recorded.sample.prompt_length = 4;
    recorded_write(KVR_FLOAT);
    kept[0] = 0;
    ck_assert_double_eq(error_of(0), 1); /* o' is 0 */
    recorded.rows[0][0][3] = 0;
    recorded_write(KVR_FLOAT);
    kept[0] = 8; /* kept, but without attention */
    ck_assert_double_eq(error_of(0), 1);
}
END_TEST

/* A window layer's candidates begin at 1: what lies before is never kept, but seen by o. */
START_TEST(test_positions_before_a_window)
{
    set_small(1);
    recorded.layer.sliding_window = 2;
    recorded_write(KVR_FLOAT);
    kept[0] = 3;                                          /* positions 1 and 2: all candidates */
    ck_assert_double_eq_tol(error_of(0), 1.0 / 6, 1e-15); /* 7/3 for 2 */
}
END_TEST

START_TEST(test_errors_that_do_not_apply)
{
    kept[0] = 3;
    set_small(1);
    recorded.width = 0; /* no values */
    recorded_write(KVR_FLOAT);
    ck_assert_double_nan(error_of(0));
    ck_assert_uint_eq(judge.row_count, 0);
    recorded.width = 1;

    recorded.rows[0][0][2] = NAN;
    recorded_write(KVR_FLOAT);
    ck_assert_double_nan(error_of(0));

    recorded.rows[0][0][2] = 0.25;
    recorded.values[0][1][0] = INFINITY;
    recorded_write(KVR_FLOAT);
    ck_assert_double_nan(error_of(0));

    recorded.values[0][1][0] = -7; /* the output is 0: no relative error */
    recorded_write(KVR_FLOAT);
    ck_assert_double_nan(error_of(0));

    recorded.values[0][1][0] = 1;
    for (size_t t = 0; t < 4; t++)
        recorded.rows[0][0][t] = 0; /* a row without mass */
    recorded_write(KVR_FLOAT);
    ck_assert_double_nan(error_of(0));
}
END_TEST

/* Query heads of a group share the values of their KV head. */
START_TEST(test_groups_have_their_own_values)
{
    set_shape(4, 2, 2, 2, 1, 1);
    for (size_t h = 0; h < 4; h++) {
        recorded.rows[h][0][0] = 0.25;
        recorded.rows[h][0][1] = 0.75;
    }
    recorded.values[0][0][0] = recorded.values[0][1][0] = 1;
    recorded.values[1][0][0] = 1;
    recorded.values[1][1][0] = 5;
    recorded_write(KVR_FLOAT);
    kept[0] = 1;
    ck_assert_double_eq(error_of(0), 0);
    ck_assert_double_eq_tol(error_of(1), 0.75, 1e-15); /* 1 for 4 */
}
END_TEST

Suite *kvr_suite_output_error(void)
{
    Suite *suite = suite_create("output_error");
    TCase *definition = tcase_create("definition");
    tcase_add_checked_fixture(definition, start, recorded_end);
    tcase_add_loop_test(definition, test_errors_are_as_defined, 0, 4);
    tcase_add_test(definition, test_identity_of_dropped_mass);
    suite_add_tcase(suite, definition);
    TCase *hand = tcase_create("by hand");
    tcase_add_checked_fixture(hand, start, recorded_end);
    tcase_add_test(hand, test_small_errors);
    tcase_add_test(hand, test_decode_rows_are_judged);
    tcase_add_test(hand, test_nothing_is_left_of_a_row);
    tcase_add_test(hand, test_positions_before_a_window);
    tcase_add_test(hand, test_errors_that_do_not_apply);
    tcase_add_test(hand, test_groups_have_their_own_values);
    suite_add_tcase(suite, hand);
    return suite;
}
