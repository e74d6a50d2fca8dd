/*
 * Rows and column sums from query and key against the definition in double, within the bound that
 * is promised; that they depend on nothing but the row; and what is not finite.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/attention.h"
#include "tests/qk_layer.h"
#include "tests/suites.h"

static struct kvr_room room;
static struct kvr_attention attention;

static void start(void)
{
    qk_start();
    room = (struct kvr_room){0};
}

static void end(void)
{
    kvr_room_free(&room);
    qk_end();
}

static void open_group(uint32_t group, size_t row)
{
    struct kvr_error err = KVR_ERROR_NONE;
    const struct kvr_sample *sample = &qk_trace->samples[0];
    kvr_room_reset(&room);
    ck_assert_msg(kvr_attention_open(qk_trace, sample, &sample->layers[0], group, row, &room,
                                     &attention, &err) == KVR_OK,
                  "%s", err.message);
}

static void rows_of(size_t head, size_t row, size_t rows, size_t token, size_t tokens, float *out)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_attention_rows(&attention, head, row, rows, token, tokens, out, &err) ==
                      KVR_OK,
                  "%s", err.message);
}

static void add_rows(size_t head, size_t row, size_t rows, size_t token, size_t tokens,
                     double *sums)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_attention_add(&attention, head, row, rows, token, tokens, sums, &err) ==
                      KVR_OK,
                  "%s", err.message);
}

/* What the header promises of a weight. */
static double bound_of(double weight, double size)
{
    double cap = isnan(qk.layer.softcap) ? 0 : qk.layer.softcap;
    double terms = 4 * (double)(qk.width + 8) * size + 48 + 16 * cap;
    double rounded = qk.kind == KVR_DOUBLE ? 4 * size : 0;
    return weight * 0x1p-24 * (terms + rounded) + exp(-87);
}

static float found[QK_TOKENS * QK_TOKENS], part[QK_TOKENS * QK_TOKENS];

/* All rows of all heads. */
static void expect_defined_rows(void)
{
    size_t ratio = qk.sample.query_heads / qk.sample.kv_heads, rows = qk.sample.query_count;
    size_t tokens = qk.sample.context_length;
    double row[QK_TOKENS];
    for (size_t h = 0; h < qk.sample.query_heads; h++) {
        if (h % ratio == 0)
            open_group((uint32_t)(h / ratio), 0);
        rows_of(h, 0, rows, 0, tokens, found);
        for (size_t q = 0; q < rows; q++) {
            double size = qk_row(h, q, row);
            for (size_t t = 0; t < tokens; t++) {
                double value = (double)found[q * tokens + t], bound = bound_of(row[t], size);
                bool seen = row[t] > 0 || fabs(row[t]) > 0;
                bool right = seen ? fabs(value - row[t]) <= bound : !(fabs(value) > 0);
                if (!right) /* an assertion a token would take most of the time */
                    ck_abort_msg("head %zu, row %zu, token %zu: %.9g for %.9g", h, q, t, value,
                                 row[t]);
            }
        }
    }
}

static void draw_shape(struct kvr_random *random, uint32_t ratio)
{
    uint32_t groups = ratio > QK_HEADS / 2 ? 1 : 2;
    uint64_t tokens = 1 + kvr_random_below(random, ratio > 4 ? QK_TOKENS / 3 : QK_TOKENS);
    uint64_t prompt = tokens - kvr_random_below(random, tokens < 5 ? tokens : 5);
    qk_shape(ratio * groups, groups, tokens, prompt, 1 + kvr_random_below(random, QK_WIDTH),
             (enum kvr_element)kvr_random_below(random, 4));
    if (kvr_random_below(random, 2) == 0)
        qk.sample.pad = kvr_random_below(random, prompt);
    if (kvr_random_below(random, 2) == 0)
        qk.layer.sliding_window = 1 + kvr_random_below(random, tokens + 3);
    if (kvr_random_below(random, 2) == 0)
        qk.layer.softcap = 0.5 + 30 * kvr_random_uniform(random);
    if (kvr_random_below(random, 2) == 0)
        qk.layer.scale = kvr_random_uniform(random);
    if (kvr_random_below(random, 2) == 0)
        qk_thin_rows(random, kvr_random_uniform(random));
    qk_draw(random, exp(3 * kvr_random_uniform(random) - 1));
}

START_TEST(test_rows_are_as_defined)
{
    for (uint64_t round = 0; round < 4; round++) {
        struct kvr_random random = kvr_random_stream(11, 100 * round + (uint64_t)_i);
        draw_shape(&random, (uint32_t)_i);
        qk_write();
        expect_defined_rows();
    }
}
END_TEST

/* Any part of the rows is what it is among all of them, bit for bit. */
START_TEST(test_rows_depend_on_nothing_else)
{
    struct kvr_random random = kvr_random_stream(12, (uint64_t)_i);
    draw_shape(&random, 2);
    qk_write();
    size_t rows = qk.sample.query_count, tokens = qk.sample.context_length;
    open_group(0, 0);
    rows_of(1, 0, rows, 0, tokens, found);
    for (int round = 0; round < 20; round++) {
        size_t row = (size_t)kvr_random_below(&random, rows);
        size_t count = 1 + (size_t)kvr_random_below(&random, rows - row);
        size_t token = (size_t)kvr_random_below(&random, tokens);
        size_t width = 1 + (size_t)kvr_random_below(&random, tokens - token);
        open_group(0, kvr_random_below(&random, 2) == 0 ? row : row / 2);
        rows_of(1, row, count, token, width, part);
        for (size_t i = 0; i < count; i++)
            ck_assert_mem_eq(part + i * width, found + (row + i) * tokens + token,
                             width * sizeof *part);
    }
}
END_TEST

START_TEST(test_sums_add_the_rows_in_order)
{
    struct kvr_random random = kvr_random_stream(13, (uint64_t)_i);
    draw_shape(&random, 3);
    qk_write();
    size_t rows = qk.sample.query_count, tokens = qk.sample.context_length;
    size_t row = (size_t)kvr_random_below(&random, rows);
    size_t token = (size_t)kvr_random_below(&random, tokens);
    double sums[QK_TOKENS], expected[QK_TOKENS];
    open_group(0, 0);
    rows_of(2, 0, rows, 0, tokens, found);
    for (size_t t = 0; t < QK_TOKENS; t++)
        sums[t] = expected[t] = (double)t;
    for (size_t q = row; q < rows; q++)
        for (size_t t = token; t < tokens; t++)
            expected[t - token] += (double)found[q * tokens + t];
    add_rows(2, row, rows - row, token, tokens - token, sums);
    ck_assert_mem_eq(sums, expected, sizeof sums);
}
END_TEST

START_TEST(test_loops_give_the_same_rows)
{
    struct kvr_random random = kvr_random_stream(14, (uint64_t)_i);
    draw_shape(&random, 2);
    qk_write();
    size_t rows = qk.sample.query_count, tokens = qk.sample.context_length;
    open_group(0, 0);
    rows_of(0, 0, rows, 0, tokens, found);
    setenv("KVREPLAY_CPU", "scalar", 1);
    open_group(0, 0);
    unsetenv("KVREPLAY_CPU");
    rows_of(0, 0, rows, 0, tokens, part);
    ck_assert_mem_eq(part, found, rows * tokens * sizeof *part);
}
END_TEST

/* ------------------------------------------------------------------------- not finite */

/* 120 rows in a window of 50 after 3 of padding. */
static void write_plain(void)
{
    struct kvr_random random = kvr_random_stream(15, 0);
    qk_shape(2, 1, 120, 118, 20, KVR_FLOAT);
    qk.sample.pad = 3;
    qk.layer.sliding_window = 50;
    qk_draw(&random, 1);
}

/* Rows of head 1: NaN at all that they see if they see `token` or have that query, else defined. */
static void expect_nan(uint64_t token, size_t query)
{
    double row[QK_TOKENS];
    for (size_t q = 0; q < 120; q++) {
        bool broken = q == query || (token <= q && q < token + 50 && token >= 3 && q >= 3);
        uint64_t first = q > 52 ? q - 49 : 3;
        if (!broken)
            qk_row(1, q, row);
        for (uint64_t t = 0; t < 120; t++) {
            float value = found[q * 120 + t];
            if (t < first || t > q)
                ck_assert_float_eq(value, 0);
            else if (broken)
                ck_assert_float_nan(value);
            else
                ck_assert_double_eq_tol((double)value, row[t], 1e-5);
        }
    }
}

START_TEST(test_nan_in_a_query)
{
    write_plain();
    qk.query[1][70][19] = _i == 0 ? (double)NAN : (double)INFINITY;
    qk_write();
    open_group(0, 0);
    rows_of(1, 0, 120, 0, 120, found);
    expect_nan(1000, 70);
    double sums[120] = {0};
    add_rows(1, 0, 120, 0, 120, sums);
    for (size_t t = 0; t < 120; t++)
        ck_assert(isnan(sums[t]) == (t > 20 && t <= 70));
}
END_TEST

START_TEST(test_nan_in_a_key)
{
    write_plain();
    qk.key[0][33][0] = NAN;
    qk_write();
    open_group(0, 0);
    rows_of(1, 0, 120, 0, 120, found);
    expect_nan(33, 1000);
}
END_TEST

START_TEST(test_nan_in_padding)
{
    write_plain();
    for (size_t t = 0; t < 3; t++)
        qk.key[0][t][5] = qk.query[1][t][5] = NAN;
    qk_write();
    open_group(0, 0);
    rows_of(1, 0, 120, 0, 120, found);
    expect_nan(1000, 1000);
}
END_TEST

/* Logits up to 10^5: one token has it all, or several share it. */
START_TEST(test_enormous_logits)
{
    struct kvr_random random = kvr_random_stream(16, 0);
    qk_shape(1, 1, 40, 40, 16, KVR_FLOAT);
    qk_draw(&random, 1e5);
    memcpy(qk.key[0][31], qk.key[0][30], sizeof qk.key[0][31]);
    memcpy(qk.key[0][35], qk.key[0][30], sizeof qk.key[0][31]);
    qk_write();
    open_group(0, 0);
    rows_of(0, 0, 40, 0, 40, found);
    for (size_t q = 0; q < 40; q++) {
        double total = 0;
        for (size_t t = 0; t < 40; t++)
            total += (double)found[q * 40 + t];
        ck_assert_double_eq_tol(total, 1, 1e-6);
        ck_assert(q < 31 || memcmp(&found[q * 40 + 30], &found[q * 40 + 31], 4) == 0);
    }
}
END_TEST

Suite *kvr_suite_attention(void)
{
    Suite *suite = suite_create("attention");
    TCase *rows = tcase_create("rows");
    tcase_add_checked_fixture(rows, start, end);
    tcase_set_timeout(rows, 60);
    tcase_add_loop_test(rows, test_rows_are_as_defined, 1, QK_HEADS + 1);
    tcase_add_loop_test(rows, test_rows_depend_on_nothing_else, 0, 8);
    tcase_add_loop_test(rows, test_sums_add_the_rows_in_order, 0, 12);
    tcase_add_loop_test(rows, test_loops_give_the_same_rows, 0, 8);
    suite_add_tcase(suite, rows);
    TCase *broken = tcase_create("not finite");
    tcase_add_checked_fixture(broken, start, end);
    tcase_add_loop_test(broken, test_nan_in_a_query, 0, 2);
    tcase_add_test(broken, test_nan_in_a_key);
    tcase_add_test(broken, test_nan_in_padding);
    tcase_add_test(broken, test_enormous_logits);
    suite_add_tcase(suite, broken);
    return suite;
}
