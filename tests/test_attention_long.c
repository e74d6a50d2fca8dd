/*
 * Rows of many blocks: the definition in double at every token, any part of them the same bits, and
 * memory that grows with the tokens, not with their square.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/attention.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include "traces/synth.h"

enum { WIDTH = 20, MOST_TOKENS = 20000, ROWS = 150 };

static struct kvr_room room;
static struct kvr_trace *trace;
static struct kvr_attention attention;

static double query[ROWS][WIDTH], key[MOST_TOKENS][WIDTH], defined[MOST_TOKENS];
static float found[ROWS * MOST_TOKENS], part[ROWS * MOST_TOKENS];

static void start(void)
{
    scratch_setup();
    room = (struct kvr_room){0};
    trace = NULL;
}

static void end(void)
{
    kvr_room_free(&room);
    kvr_trace_close(trace);
    scratch_teardown();
}

/* One head's last rows, of a layer with this window. */
static void write_trace(uint64_t tokens, uint64_t window, double softcap)
{
    struct kvr_synth_options options = kvr_synth_defaults();
    struct kvr_error err = KVR_ERROR_NONE;
    options.layers = options.query_heads = options.kv_heads = 1;
    options.tokens = tokens - 5;
    options.decode = 5;
    options.rows = ROWS - 5;
    options.pad = 3;
    options.window = window;
    options.softcap = softcap;
    options.qkv = true;
    options.attention = options.accumulated = false;
    options.head_dim = WIDTH;
    options.storage.type.kind = KVR_FLOAT;
    const char *path = scratch_path("long.h5");
    ck_assert_msg(kvr_synth_write(path, &options, NULL, &err) == KVR_OK, "%s", err.message);
    ck_assert_msg(kvr_trace_open(path, NULL, &trace, &err) == KVR_OK, "%s", err.message);
    const struct kvr_layer *layer = &trace->samples[0].layers[0];
    const uint64_t at[] = {0, 0, 0}, rows[] = {1, ROWS, WIDTH}, all[] = {1, tokens, WIDTH};
    ck_assert_int_eq(kvr_trace_read(trace, layer->query, at, rows, query[0], &err), KVR_OK);
    ck_assert_int_eq(kvr_trace_read(trace, layer->key, at, all, key[0], &err), KVR_OK);
}

static void open_rows(size_t row)
{
    struct kvr_error err = KVR_ERROR_NONE;
    const struct kvr_sample *sample = &trace->samples[0];
    kvr_room_reset(&room);
    ck_assert_int_eq(
        kvr_attention_open(trace, sample, &sample->layers[0], 0, row, &room, &attention, &err),
        KVR_OK);
}

static void rows_of(size_t row, size_t rows, size_t token, size_t tokens, float *out)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_attention_rows(&attention, 0, row, rows, token, tokens, out, &err),
                     KVR_OK);
}

/* The row into `defined`; returns what the header's bound of a weight is, in parts of it. */
static double define_row(size_t row, uint64_t window, double softcap)
{
    uint64_t position = trace->samples[0].query_positions[row], first = 3;
    double greatest = -INFINITY, total = 0, size = 0;
    if (window > 0 && position + 1 > first + window)
        first = position + 1 - window;
    memset(defined, 0, sizeof defined);
    for (uint64_t t = first; t <= position; t++) {
        double sum = 0, sizes = 0;
        for (size_t d = 0; d < WIDTH; d++) {
            sum += query[row][d] * key[t][d];
            sizes += fabs(query[row][d] * key[t][d]);
        }
        sum /= sqrt(WIDTH);
        defined[t] = softcap > 0 ? softcap * tanh(sum / softcap) : sum;
        greatest = fmax(greatest, defined[t]);
        size = fmax(size, sizes / sqrt(WIDTH));
    }
    for (uint64_t t = first; t <= position; t++)
        total += defined[t] = exp(defined[t] - greatest);
    for (uint64_t t = first; t <= position; t++)
        defined[t] /= total;
    return 0x1p-24 * (4 * (WIDTH + 8) * size + 48 + 16 * softcap);
}

static const struct {
    uint64_t tokens, window;
    double softcap;
} cases[] = {
    {1024, 0, 0}, {1025, 0, 0},    {3000, 0, 20},     {5000, 1000, 0},
    {5000, 1, 0}, {7000, 2048, 5}, {20000, 12345, 0},
};

START_TEST(test_long_rows_are_as_defined)
{
    size_t tokens = (size_t)cases[_i].tokens;
    write_trace(tokens, cases[_i].window, cases[_i].softcap);
    open_rows(0);
    rows_of(0, ROWS, 0, tokens, found);
    for (size_t q = 0; q < ROWS; q += 7) {
        double bound = define_row(q, cases[_i].window, cases[_i].softcap);
        for (size_t t = 0; t < tokens; t++) {
            double value = (double)found[q * tokens + t];
            ck_assert_msg(fabs(value - defined[t]) <= bound * defined[t] + exp(-87),
                          "row %zu, token %zu: %.9g for %.9g", q, t, value, defined[t]);
        }
    }
}
END_TEST

START_TEST(test_parts_are_the_same_bits)
{
    size_t tokens = (size_t)cases[_i].tokens;
    struct kvr_random random = kvr_random_stream(31, (uint64_t)_i);
    double sums[MOST_TOKENS], expected[MOST_TOKENS] = {0};
    write_trace(tokens, cases[_i].window, cases[_i].softcap);
    open_rows(0);
    rows_of(0, ROWS, 0, tokens, found);
    for (int round = 0; round < 8; round++) {
        size_t row = (size_t)kvr_random_below(&random, ROWS);
        size_t rows = 1 + (size_t)kvr_random_below(&random, ROWS - row);
        size_t token = (size_t)kvr_random_below(&random, tokens);
        size_t width = 1 + (size_t)kvr_random_below(&random, tokens - token);
        open_rows(row);
        rows_of(row, rows, token, width, part);
        memset(sums, 0, sizeof sums);
        memset(expected, 0, sizeof expected);
        for (size_t i = 0; i < rows; i++) {
            const float *whole = found + (row + i) * tokens + token;
            ck_assert_mem_eq(part + i * width, whole, width * sizeof *part);
            for (size_t t = 0; t < width; t++)
                expected[t] += (double)whole[t];
        }
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_int_eq(kvr_attention_add(&attention, 0, row, rows, token, width, sums, &err),
                         KVR_OK);
        ck_assert_mem_eq(sums, expected, sizeof sums);
    }
}
END_TEST

START_TEST(test_memory_grows_with_the_tokens)
{
    static double sums[MOST_TOKENS];
    struct kvr_error err = KVR_ERROR_NONE;
    write_trace(MOST_TOKENS, 0, 0);
    open_rows(0);
    ck_assert_int_eq(kvr_attention_add(&attention, 0, 0, ROWS, 0, MOST_TOKENS, sums, &err), KVR_OK);
    /* A key and a strip's column per token; the room rounds up what it asks for. */
    size_t per_token = (WIDTH + 80) * sizeof(float), fixed = (size_t)1 << 20;
    ck_assert_uint_lt(room.peak, 2 * per_token * MOST_TOKENS + fixed);
}
END_TEST

Suite *kvr_suite_attention_long(void)
{
    Suite *suite = suite_create("attention_long");
    TCase *tests = tcase_create("long");
    tcase_add_checked_fixture(tests, start, end);
    tcase_add_loop_test(tests, test_long_rows_are_as_defined, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tests, test_parts_are_the_same_bits, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, test_memory_grows_with_the_tokens);
    suite_add_tcase(suite, tests);
    return suite;
}
