/*
 * The check of traces: every kind of fault in a small trace, with its kind, place and count; and
 * sound traces, in which nothing may be found. Every trace is checked with one and three threads.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/trace_check.h"
#include "tests/scratch.h"
#include "tests/small_trace.h"
#include "tests/suites.h"

enum { TOKENS = 48, PROMPT = 44, MOST_SEEN = 64 };

#define ATTENTION "/samples/0/layers/0/attention"
#define ACCUMULATED "/samples/0/layers/0/accumulated"
#define ANYWHERE KVR_NOWHERE

struct seen {
    size_t count;
    struct kvr_finding items[MOST_SEEN];
    char places[MOST_SEEN][128], messages[MOST_SEEN][512];
};

static struct small_trace trace;
static struct seen seen;
static size_t told; /* findings that the test has named so far */

static void setup(void)
{
    scratch_setup();
    small_begin(&trace, TOKENS, PROMPT);
}

static enum kvr_status see(void *context, const struct kvr_finding *finding, struct kvr_error *err)
{
    (void)err;
    struct seen *list = context;
    ck_assert_uint_lt(list->count, MOST_SEEN);
    size_t i = list->count++;
    list->items[i] = *finding;
    snprintf(list->places[i], sizeof list->places[i], "%s", finding->place);
    snprintf(list->messages[i], sizeof list->messages[i], "%s", finding->message);
    return KVR_OK;
}

static void check_file(const char *path, const struct kvr_check_options *options,
                       struct seen *list, struct kvr_check_extent *extent)
{
    struct kvr_trace *opened = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    memset(list, 0, sizeof *list);
    ck_assert_msg(kvr_trace_open(path, NULL, &opened, &err) == KVR_OK, "%s", err.message);
    ck_assert_msg(kvr_trace_check(opened, options, see, list, extent, &err) == KVR_OK, "%s",
                  err.message);
    kvr_trace_close(opened);
}

/* Writes the trace and checks it, twice. */
static void check_trace(void)
{
    static struct seen again;
    const char *path = scratch_path("t.h5");
    small_write(&trace, path);
    check_file(path, &(struct kvr_check_options){.threads = 1}, &seen, NULL);
    check_file(path, &(struct kvr_check_options){.threads = 3}, &again, NULL);
    ck_assert_uint_eq(seen.count, again.count);
    for (size_t i = 0; i < seen.count; i++) {
        ck_assert_str_eq(seen.places[i], again.places[i]);
        ck_assert_str_eq(seen.messages[i], again.messages[i]);
    }
    told = 0;
}

/* The next finding; head and row ANYWHERE: it has none. Its message must contain `words`. */
static void expect(enum kvr_finding_kind kind, enum kvr_finding_level level, const char *place,
                   uint64_t count, uint64_t head, uint64_t row, const char *words)
{
    ck_assert_msg(told < seen.count, "expected %s, found nothing more", kvr_finding_name(kind));
    const struct kvr_finding *finding = &seen.items[told];
    const char *message = seen.messages[told];
    ck_assert_msg(finding->kind == kind, "expected %s, found %s: %s", kvr_finding_name(kind),
                  kvr_finding_name(finding->kind), message);
    ck_assert_msg(finding->level == level, "%s: %s", kvr_finding_level_name(finding->level),
                  message);
    ck_assert_str_eq(seen.places[told], place);
    ck_assert_msg(finding->count == count, "expected %llu, found %llu: %s",
                  (unsigned long long)count, (unsigned long long)finding->count, message);
    ck_assert_uint_eq(finding->head, head);
    ck_assert_uint_eq(finding->row, row);
    ck_assert_msg(strstr(message, words) != NULL, "expected \"%s\" in \"%s\"", words, message);
    told++;
}

static void expect_no_more(void)
{
    ck_assert_msg(told == seen.count, "unexpected %s: %s",
                  told < seen.count ? kvr_finding_name(seen.items[told].kind) : "",
                  told < seen.count ? seen.messages[told] : "");
}

static void without_vectors(void)
{
    trace.query = trace.key = trace.value = false;
}

/* A trace of `tokens` tokens, one row for each, without the notes that short prompts get. */
static void only_rows(uint64_t tokens)
{
    small_begin(&trace, tokens, tokens);
    without_vectors();
    trace.accumulated = trace.gate = false;
}

/* The notes of a prompt that is shorter than the window and has no decode rows. */
static void expect_short_prompt_notes(void)
{
    expect(KVR_FOUND_SHORT_WINDOW, KVR_NOTE, "/samples/0/query_positions", 1, ANYWHERE, ANYWHERE,
           "instead of 32");
    expect(KVR_FOUND_NO_DECODE, KVR_NOTE, "/samples/0/query_positions", 1, ANYWHERE, ANYWHERE,
           "future mass");
}

static const struct small_truth plain = {.scale = 0.35355339059327379};

/* ---------------------------------------------------------------------------- sound traces */

START_TEST(test_nothing_in_a_sound_trace)
{
    trace.storage.type.kind = (enum kvr_element)_i;
    trace.samples = 2;
    trace.layers = 3;
    trace.needle_count = 1;
    trace.needles[0] = (struct kvr_span){5, 9};
    check_trace();
    expect_no_more();
}
END_TEST

START_TEST(test_nothing_in_any_storage)
{
    static const uint64_t chunks[][KVR_DATASET_RANK] = {
        {1, 1, 1}, {4, 48, 48}, {2, 7, 5}, {3, 64, 1}};
    memcpy(trace.storage.chunk, chunks[_i], sizeof trace.storage.chunk);
    check_trace();
    expect_no_more();
    trace.storage.contiguous = true;
    check_trace();
    expect_no_more();
}
END_TEST

START_TEST(test_nothing_in_a_declared_window)
{
    trace.window = 10;
    small_compute(&trace, &(struct small_truth){.window = 10, .scale = plain.scale});
    check_trace();
    expect_no_more();
}
END_TEST

START_TEST(test_declared_padding_is_counted_only)
{
    small_compute(&trace, &(struct small_truth){.pad = 5, .scale = plain.scale});
    trace.pad = 5;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < 5; q++) /* not finite, 0 or uniform, as frameworks do */
            for (size_t t = 0; t < TOKENS; t++)
                trace.row[h][q][t] = _i == 0 ? NAN : _i == 1 ? 0 : 1.0 / TOKENS;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        trace.sums[h][3] = _i == 0 ? NAN : 0;
    check_trace();
    expect(KVR_FOUND_PADDING, KVR_NOTE, "/samples/0", 1, ANYWHERE, ANYWHERE,
           "left padding of 5; query rows of padding that are skipped: 5");
    if (_i == 0)
        expect(KVR_FOUND_NOT_FINITE, KVR_NOTE, ACCUMULATED, 4, 0, ANYWHERE,
               "where no scorer reads them: 4");
    expect_no_more();
}
END_TEST

/* ---------------------------------------------------------------------------- single values */

START_TEST(test_one_value_that_is_not_finite)
{
    trace.layers = 2;
    trace.row[2][40][7] = _i == 0 ? (double)NAN : (double)INFINITY;
    check_trace();
    for (int layer = 0; layer < 2; layer++) {
        char place[64];
        snprintf(place, sizeof place, "/samples/0/layers/%d/attention", layer);
        expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, place, 1, 2, 40,
               "head 2, row 40 (position 40): values not finite: 1; groups lost: window 1 of 2");
    }
    expect_no_more();
}
END_TEST

START_TEST(test_last_and_decode_rows_that_are_not_finite)
{
    trace.row[0][43][0] = trace.row[1][46][0] = NAN;
    check_trace();
    expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, ATTENTION, 2, 0, 43,
           "heads 0-1: 2 of 96 rows, first head 0, row 43 (position 43): values not finite: 2; "
           "groups lost: last 1 of 2, window 1 of 2, future mass 1 of 2");
    expect_no_more();
}
END_TEST

START_TEST(test_whole_layer_that_is_not_finite)
{
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < TOKENS; q++)
            for (size_t t = 0; t < TOKENS; t++)
                trace.row[h][q][t] = NAN;
    check_trace();
    expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, ATTENTION, 4 * 48, 0, 0,
           "all 4 heads, all 48 rows: values not finite: 9216");
    expect_no_more();
}
END_TEST

START_TEST(test_values_that_no_scorer_reads)
{
    small_compute(&trace, &(struct small_truth){.pad = 2, .scale = plain.scale});
    trace.pad = 2;
    trace.row[3][20][1] = NAN; /* on padding */
    trace.row[3][30][45] = NAN; /* on a decoded token */
    check_trace();
    expect(KVR_FOUND_PADDING, KVR_NOTE, "/samples/0", 1, ANYWHERE, ANYWHERE, "left padding of 2");
    expect(KVR_FOUND_NOT_FINITE, KVR_NOTE, ATTENTION, 2, 3, 20,
           "head 3: 2 of 46 rows, first row 20 (position 20): values not finite, where no scorer");
    expect_no_more();
}
END_TEST

START_TEST(test_vectors_that_are_not_finite)
{
    trace.queries[1][9][0] = NAN;
    trace.keys[1][11][7] = INFINITY;
    trace.values[0][12][3] = NAN;
    trace.gates[3][13] = NAN; /* a candidate */
    trace.gates[0][47] = NAN; /* a decoded token */
    check_trace();
    expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/0/query", 1, 1, 9, "row 9");
    expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/0/key", 1, 1, 11,
           "head 1, token 11: values not finite: 1");
    expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/0/value", 1, 0, 12, "token 12");
    expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/0/scores/gate", 1, 3, ANYWHERE,
           "head 3: values not finite: 1");
    expect(KVR_FOUND_NOT_FINITE, KVR_NOTE, "/samples/0/layers/0/scores/gate", 1, 0, ANYWHERE,
           "no scorer reads");
    expect_no_more();
}
END_TEST

START_TEST(test_negative_values)
{
    trace.row[1][33][4] -= 0.25;
    trace.row[1][33][5] += 0.25;
    trace.row[1][34][3] = trace.row[1][34][2] + trace.row[1][34][3] + 0.5;
    trace.row[1][34][2] = -0.5;
    trace.accumulated = false;
    check_trace();
    expect(KVR_FOUND_NEGATIVE, KVR_ERROR, ATTENTION, 2, 1, 33,
           "head 1: 2 of 48 rows, first row 33 (position 33): negative values: 2, down to -0.5");
    expect_no_more();
}
END_TEST

START_TEST(test_rows_of_zeros)
{
    memset(trace.row[2][35], 0, sizeof trace.row[2][35]);
    memset(trace.keys[1][6], 0, sizeof trace.keys[1][6]);
    small_compute(&trace, &plain);
    memset(trace.row[2][35], 0, sizeof trace.row[2][35]);
    small_sum(&trace, 0);
    check_trace();
    expect(KVR_FOUND_ZERO_ROW, KVR_WARNING, ATTENTION, 1, 2, 35, "every weight is 0");
    expect(KVR_FOUND_TOTAL, KVR_WARNING, ACCUMULATED, 1, 2, ANYWHERE, "add up to 43, expected 44");
    expect(KVR_FOUND_ZERO_ROW, KVR_WARNING, "/samples/0/layers/0/key", 1, 1, 6,
           "every component is 0");
    expect_no_more();
}
END_TEST

START_TEST(test_layer_without_weights)
{
    memset(trace.row, 0, sizeof trace.row);
    memset(trace.values, 0, sizeof trace.values);
    memset(trace.gates, 0, sizeof trace.gates);
    trace.accumulated = false;
    check_trace();
    expect(KVR_FOUND_EMPTY, KVR_ERROR, ATTENTION, 4 * 48, 0, 0,
           "all 4 heads, all 48 rows: no weight was recorded");
    expect(KVR_FOUND_EMPTY, KVR_ERROR, "/samples/0/layers/0/value", 2 * 48, 0, 0,
           "all 2 heads, all 48 tokens: every value is 0");
    expect(KVR_FOUND_EMPTY, KVR_ERROR, "/samples/0/layers/0/scores/gate", 4, 0, ANYWHERE,
           "every value is 0");
    expect_no_more();
}
END_TEST

/* ---------------------------------------------------------------------------- masks */

START_TEST(test_causal_mask_forgotten)
{
    only_rows(4);
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < 4; q++)
            for (size_t t = 0; t < 4; t++)
                trace.row[h][q][t] = 0.25;
    check_trace();
    expect_short_prompt_notes();
    expect(KVR_FOUND_ABOVE_DIAGONAL, KVR_ERROR, ATTENTION, 4 * 3, 0, 0,
           "up to 0.75 of a row lies above the diagonal, as far as 3 positions");
    expect_no_more();
}
END_TEST

START_TEST(test_traces_of_a_finite_mask)
{
    trace.row[0][20][21] = 1e-6;
    check_trace();
    expect(KVR_FOUND_ABOVE_DIAGONAL, KVR_WARNING, ATTENTION, 1, 0, 20, "1e-06 of a row");
    expect_no_more();
}
END_TEST

START_TEST(test_mass_outside_the_window)
{
    trace.window = 9;
    small_compute(&trace, &(struct small_truth){.window = 10, .scale = plain.scale});
    check_trace();
    expect(KVR_FOUND_OUTSIDE_WINDOW, KVR_ERROR, ATTENTION, 4 * 39, 0, 9,
           "outside the sliding window of 9; rows reach back 10 positions");
    expect(KVR_FOUND_RECOMPUTED, KVR_WARNING, ATTENTION, seen.items[1].count, seen.items[1].head,
           seen.items[1].row, "total variation");
    expect_no_more();
}
END_TEST

START_TEST(test_window_that_is_not_declared)
{
    trace.window = _i == 0 ? 0 : 20;
    small_compute(&trace, &(struct small_truth){.window = 10, .scale = plain.scale});
    without_vectors();
    check_trace();
    expect(KVR_FOUND_UNDECLARED_WINDOW, KVR_WARNING, ATTENTION, 4 * 48, ANYWHERE, ANYWHERE,
           "no row looks back more than 10 positions: sliding_window = 10?");
    expect_no_more();
}
END_TEST

START_TEST(test_window_of_few_rows_is_not_declared)
{
    small_keep_rows_from(&trace, 42);
    small_compute(&trace, &(struct small_truth){.window = 10, .scale = plain.scale});
    without_vectors();
    trace.accumulated = false;
    check_trace();
    expect(KVR_FOUND_SHORT_WINDOW, KVR_NOTE, "/samples/0/query_positions", 1, ANYWHERE, ANYWHERE,
           "prefill rows: 2;");
    expect(KVR_FOUND_UNDECLARED_WINDOW, KVR_WARNING, ATTENTION, 4 * 6, ANYWHERE, ANYWHERE,
           "sliding_window = 10?");
    expect_no_more();
}
END_TEST

START_TEST(test_padding_that_is_not_declared)
{
    small_compute(&trace, &(struct small_truth){.pad = 5, .scale = plain.scale});
    without_vectors();
    trace.accumulated = false;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < 5; q++)
            for (size_t t = 0; t < TOKENS; t++)
                trace.row[h][q][t] = _i == 0 ? NAN : _i == 1 ? 0 : t <= q ? 1.0 / (double)(q + 1)
                                                                          : 0;
    check_trace();
    if (_i == 0)
        expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, ATTENTION, 4 * 5, 0, 0, "20 of 192 rows");
    if (_i == 1)
        expect(KVR_FOUND_ZERO_ROW, KVR_WARNING, ATTENTION, 4 * 5, 0, 0, "20 of 192 rows");
    expect(KVR_FOUND_UNDECLARED_PADDING, KVR_WARNING, ATTENTION, 5, ANYWHERE, ANYWHERE,
           "no row of any head looks at the first 5 tokens: pad = 5?");
    expect_no_more();
}
END_TEST

START_TEST(test_useless_rows_at_the_front)
{
    without_vectors();
    trace.accumulated = false;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        trace.row[h][0][0] = trace.row[h][1][0] = trace.row[h][1][1] = NAN;
    check_trace();
    expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, ATTENTION, 8, 0, 0, "values not finite: 12");
    expect(KVR_FOUND_UNDECLARED_PADDING, KVR_WARNING, ATTENTION, 2, ANYWHERE, ANYWHERE,
           "only the rows of the first 2 tokens are useless, in every head: pad = 2?");
    expect_no_more();
}
END_TEST

START_TEST(test_mass_on_padding)
{
    trace.pad = 5;
    trace.accumulated = false;
    without_vectors();
    check_trace();
    expect(KVR_FOUND_PADDING, KVR_NOTE, "/samples/0", 1, ANYWHERE, ANYWHERE, "left padding of 5");
    expect(KVR_FOUND_PADDING_MASS, KVR_WARNING, ATTENTION, 4 * 43, 0, 5,
           "all 4 heads, all 43 rows");
    expect_no_more();
}
END_TEST

START_TEST(test_positions_that_are_too_large)
{
    without_vectors();
    trace.accumulated = false;
    trace.rows = TOKENS - 1;
    for (size_t q = 0; q < trace.rows; q++)
        trace.positions[q] = q + 1;
    check_trace();
    expect(KVR_FOUND_SHIFTED_ROWS, KVR_WARNING, ATTENTION, 4 * 47, ANYWHERE, ANYWHERE,
           "mass ends at least 1 before it");
    expect_no_more();
}
END_TEST

/* ---------------------------------------------------------------------------- sums */

START_TEST(test_softmax_applied_twice)
{
    only_rows(3);
    for (size_t h = 0; h < SMALL_HEADS; h++)
        memcpy(trace.row[h][0], (double[]){0.54, 0.23, 0.23}, 3 * sizeof(double));
    trace.rows = 1;
    trace.positions[0] = 2;
    check_trace();
    expect_short_prompt_notes();
    expect(KVR_FOUND_SOFTMAX_TWICE, KVR_WARNING, ATTENTION, 4, ANYWHERE, ANYWHERE, "entropy");
    expect_no_more();
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
    trace.storage.type.kind = _i % 2 == 0 ? KVR_HALF : KVR_BFLOAT16;
    without_vectors();
    trace.accumulated = false;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < TOKENS; q++)
            softmax_again(trace.row[h][q], masked ? q + 1 : TOKENS);
    check_trace();
    if (!masked)
        expect(KVR_FOUND_ABOVE_DIAGONAL, KVR_ERROR, ATTENTION, 4 * 47, 0, 0, "as far as 47");
    expect(KVR_FOUND_SOFTMAX_TWICE, KVR_WARNING, ATTENTION, seen.items[masked ? 0 : 1].count,
           ANYWHERE, ANYWHERE, "all rows of all heads");
    ck_assert_uint_ge(seen.items[masked ? 0 : 1].count, 4 * 40);
    expect_no_more();
}
END_TEST

START_TEST(test_one_peaked_head_is_not_softmax_twice)
{
    without_vectors();
    trace.accumulated = false;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < TOKENS; q++)
            if (h != 3)
                softmax_again(trace.row[h][q], q + 1);
    check_trace();
    expect_no_more();
}
END_TEST

START_TEST(test_dropout_left_on)
{
    only_rows(3);
    trace.rows = 1;
    trace.positions[0] = 2;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        memcpy(trace.row[h][0], h == 1 ? (double[]){1.25, 0, 0} : (double[]){0.7, 0.2, 0.1},
               3 * sizeof(double));
    check_trace();
    expect_short_prompt_notes();
    expect(KVR_FOUND_DROPOUT, KVR_WARNING, ATTENTION, 1, 1, 0,
           "head 1, row 0 (position 2): sums from 1 to 1.25");
    expect_no_more();
}
END_TEST

START_TEST(test_sums_that_are_off)
{
    without_vectors();
    trace.accumulated = false;
    for (size_t t = 0; t < TOKENS; t++)
        trace.row[3][30][t] *= 1.03;
    check_trace();
    expect(KVR_FOUND_ROW_SUM, KVR_WARNING, ATTENTION, 1, 3, 30, "sums from 1 to 1.03");
    expect_no_more();
}
END_TEST

START_TEST(test_sink_logits)
{
    trace.sink_logits = _i == 1;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < TOKENS; q++)
            for (size_t t = 0; t < TOKENS; t++)
                trace.row[h][q][t] *= h % 2 == 0 ? 0.75 : 0.5;
    small_sum(&trace, 0);
    check_trace();
    expect(KVR_FOUND_SINK_LOGITS, _i == 1 ? KVR_NOTE : KVR_WARNING, ATTENTION, 4 * 48, 0, 0,
           "sums from 0.5 to 0.75, on average 0.375 is missing");
    if (_i == 0)
        expect(KVR_FOUND_TOTAL, KVR_WARNING, ACCUMULATED, 4, 0, ANYWHERE, "expected 44");
    expect_no_more(); /* recomputation compares shares: sinks make no difference */
}
END_TEST

/* ---------------------------------------------------------------------------- column sums */

START_TEST(test_column_sums_that_are_not_finite)
{
    trace.sums[1][7] = INFINITY;
    trace.sums[3][0] = trace.sums[3][1] = NAN;
    trace.sums[0][45] = NAN;
    check_trace();
    expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, ACCUMULATED, 2, 1, ANYWHERE,
           "heads 1, 3: sums not finite: 3; groups lost: accumulated 2 of 2");
    expect(KVR_FOUND_NOT_FINITE, KVR_NOTE, ACCUMULATED, 1, 0, ANYWHERE, "no scorer reads them: 1");
    expect_no_more();
}
END_TEST

START_TEST(test_column_sums_that_are_negative)
{
    small_keep_rows_from(&trace, 20);
    trace.sums[2][3] = -0.125;
    check_trace();
    expect(KVR_FOUND_SHORT_WINDOW, KVR_NOTE, "/samples/0/query_positions", 1, ANYWHERE, ANYWHERE,
           "prefill rows: 24;");
    ck_assert_uint_gt(seen.count, 1);
    expect(KVR_FOUND_NEGATIVE, KVR_ERROR, ACCUMULATED, 1, 2, ANYWHERE,
           "head 2: negative sums: 1, down to -0.125");
}
END_TEST

/* Running sums as half-precision code forms them. */
static double half_sum(double sum, double value)
{
    return (double)kvr_half_to_float(kvr_half_from_double(sum + value));
}

START_TEST(test_running_sums_that_drift)
{
    /* Every row puts 0.99 on the first token: from 16 on, half steps are 1/64. */
    for (size_t h = 0; h < SMALL_HEADS; h++) {
        for (size_t q = 0; q < TOKENS; q++) {
            memset(trace.row[h][q], 0, sizeof trace.row[h][q]);
            trace.row[h][q][0] = q == 0 ? 1 : 0.992;
            if (q > 0)
                trace.row[h][q][q] = 0.008;
        }
    }
    small_sum(&trace, 0);
    trace.sums[2][0] = 0;
    for (size_t q = 0; q < PROMPT; q++)
        trace.sums[2][0] = half_sum(trace.sums[2][0], trace.row[2][q][0]);
    without_vectors();
    check_trace();
    expect(KVR_FOUND_DRIFT, KVR_WARNING, ACCUMULATED, 1, 2, ANYWHERE,
           "sums other than those of the recorded rows: 1, most in head 2: token 0 has");
    expect_no_more();
}
END_TEST

START_TEST(test_decoded_rows_in_the_column_sums)
{
    trace.attention = true;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = PROMPT; q < TOKENS; q++)
            for (size_t t = 0; t < TOKENS; t++)
                trace.sums[h][t] += trace.row[h][q][t];
    small_keep_rows_from(&trace, 10); /* so that only the sums themselves can tell */
    memmove(&trace.row[0][0], &trace.row[0][10], sizeof trace.row[0] - sizeof trace.row[0][0] * 10);
    for (size_t h = 1; h < SMALL_HEADS; h++)
        memmove(&trace.row[h][0], &trace.row[h][10],
                sizeof trace.row[0] - sizeof trace.row[0][0] * 10);
    without_vectors();
    check_trace();
    expect(KVR_FOUND_DECODE_MASS, KVR_WARNING, ACCUMULATED, 4, 0, ANYWHERE, "from 44 on");
    expect(KVR_FOUND_TOTAL, KVR_WARNING, ACCUMULATED, 4, 0, ANYWHERE, "expected 44");
    expect_no_more();
}
END_TEST

START_TEST(test_column_sums_above_their_bound)
{
    trace.attention = false;
    without_vectors();
    for (size_t t = 0; t < TOKENS; t++)
        trace.sums[1][t] *= 3;
    trace.sums[1][40] = 7; /* of the rows 40 … 43 */
    check_trace();
    expect(KVR_FOUND_COLUMN_BOUND, KVR_WARNING, ACCUMULATED, 1, 1, ANYWHERE,
           "token 40 has 7 of at most 4");
    expect(KVR_FOUND_TOTAL, KVR_WARNING, ACCUMULATED, 1, 1, ANYWHERE, "expected 44");
    expect_no_more();
}
END_TEST

START_TEST(test_totals_that_tell_what_was_summed)
{
    small_keep_rows_from(&trace, 8); /* 36 prefill rows */
    small_compute(&trace, &plain);
    without_vectors();
    if (_i == 1)
        for (size_t h = 0; h < SMALL_HEADS; h++)
            for (size_t t = 0; t < TOKENS; t++)
                trace.sums[h][t] /= 36;
    check_trace();
    expect(KVR_FOUND_TOTAL, _i == 1 ? KVR_NOTE : KVR_WARNING, ACCUMULATED, 4, 0, ANYWHERE,
           _i == 1 ? "already divided by their total"
                   : "sums add up to 36, expected 44, one for each prefill row (-18.18 %): only the "
                     "recorded rows were summed");
    expect_no_more();
}
END_TEST

/* ---------------------------------------------------------------------------- recomputation */

START_TEST(test_tiled_kv_heads)
{
    small_compute(&trace, &(struct small_truth){.scale = plain.scale, .tiled = true});
    check_trace();
    /* Heads 0 and 3 have the same KV head either way. */
    expect(KVR_FOUND_RECOMPUTED, KVR_WARNING, ATTENTION, 6, 1, 22,
           "they fit KV head h mod 2 instead of h / 2: tiled, not repeated");
    ck_assert_ptr_nonnull(strstr(seen.messages[0], "heads 1-2, all 3 tried rows"));
    expect_no_more();
}
END_TEST

START_TEST(test_wrong_scale)
{
    trace.scale = 0.125;
    check_trace();
    expect(KVR_FOUND_RECOMPUTED, KVR_WARNING, ATTENTION, seen.items[0].count, 0, 22,
           "they fit a scale of 0.3536 instead of 0.125");
    expect_no_more();
}
END_TEST

START_TEST(test_queries_of_something_else)
{
    for (size_t q = 0; q < TOKENS; q++)
        for (size_t d = 0; d < SMALL_DIM / 2; d++) { /* as before rotary embedding */
            double first = trace.queries[2][q][d], angle = (double)q;
            double second = trace.queries[2][q][d + SMALL_DIM / 2];
            trace.queries[2][q][d] = first * cos(angle) - second * sin(angle);
            trace.queries[2][q][d + SMALL_DIM / 2] = first * sin(angle) + second * cos(angle);
        }
    check_trace();
    expect(KVR_FOUND_RECOMPUTED, KVR_WARNING, ATTENTION, 3, 2, 22, "they fit the keys of no KV "
                                                                   "head");
    expect_no_more();
}
END_TEST

/* ---------------------------------------------------------------------------- samples */

START_TEST(test_needles_and_tokens)
{
    trace.samples = 3;
    trace.needle_count = 2;
    trace.needles[0] = (struct kvr_span){40, 46};
    trace.needles[1] = (struct kvr_span){44, 45};
    trace.ids[5] = -100;
    trace.ids[6] = -1;
    check_trace();
    expect(KVR_FOUND_NEEDLE, KVR_WARNING, "/samples/0/needles", 3, ANYWHERE, ANYWHERE,
           "needle 0 is [40, 46), expected a span inside the prompt, 0 to 44, and 1 more like it "
           "(and 2 more samples)");
    expect(KVR_FOUND_TOKENS, KVR_WARNING, "/samples/0/tokens", 3, ANYWHERE, ANYWHERE,
           "token 5 is -100, expected an id of at least 0, and 1 more like it");
    expect_no_more();
    trace.needle_count = 1;
    trace.needles[0].end = 44;
    trace.with_ids = false;
    check_trace();
    expect(KVR_FOUND_NEEDLE, KVR_NOTE, "/samples/0/needles", 3, ANYWHERE, ANYWHERE, "are not");
    expect_no_more();
}
END_TEST

START_TEST(test_rows_that_are_missing)
{
    without_vectors();
    trace.accumulated = false;
    trace.rows = 43; /* positions 0 … 42 of a prompt of 44 */
    check_trace();
    expect(KVR_FOUND_LAST_ROW, KVR_NOTE, "/samples/0/query_positions", 1, ANYWHERE, ANYWHERE,
           "that of position 42, not of the prompt's last token 43");
    expect(KVR_FOUND_NO_DECODE, KVR_NOTE, "/samples/0/query_positions", 1, ANYWHERE, ANYWHERE, "");
    expect_no_more();

    small_keep_rows_from(&trace, PROMPT);
    small_compute(&trace, &plain);
    check_trace();
    expect(KVR_FOUND_NO_PREFILL, KVR_WARNING, "/samples/0/query_positions", 1, ANYWHERE, ANYWHERE,
           "last and window have nothing to read");
    expect_no_more();

    trace.attention = false; /* then rows are not missed */
    trace.accumulated = true;
    trace.rows = 0;
    small_begin(&trace, TOKENS, PROMPT);
    trace.attention = trace.query = false;
    check_trace();
    expect_no_more();
}
END_TEST

/* ---------------------------------------------------------------------------- the run */

START_TEST(test_damaged_chunk_does_not_hide_the_rest)
{
    trace.layers = 2;
    trace.storage.deflate_level = 0;
    trace.storage.shuffle = false;
    trace.storage.fletcher32 = true;
    trace.values[1][2][3] = NAN;
    const char *path = scratch_path("damaged.h5");
    small_write(&trace, path);
    size_t length;
    char *bytes = scratch_read("damaged.h5", &length);
    char *at = memmem(bytes, length, &trace.row[2][40][0], 41 * sizeof(double));
    ck_assert_ptr_nonnull(at); /* of layer 0, which is written first */
    at[3] ^= 1;
    scratch_write("damaged.h5", bytes, length);
    free(bytes);
    check_file(path, &(struct kvr_check_options){.threads = 2}, &seen, NULL);
    told = 0;
    expect(KVR_FOUND_UNREADABLE, KVR_ERROR, ATTENTION, 1, ANYWHERE, ANYWHERE, "chunk");
    expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/0/value", 1, 1, 2, "token 2");
    expect(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/1/value", 1, 1, 2, "token 2");
    expect_no_more();
}
END_TEST

START_TEST(test_only_what_is_asked_for)
{
    trace.samples = 3;
    trace.layers = 4;
    trace.row[0][0][0] = NAN;
    small_write(&trace, scratch_path("t.h5"));
    const bool samples[] = {false, true, true};
    const uint32_t layers[] = {3, 1};
    struct kvr_check_extent extent;
    check_file(scratch_path("t.h5"),
               &(struct kvr_check_options){
                   .threads = 2, .samples = samples, .layers = layers, .layer_count = 2},
               &seen, &extent);
    ck_assert_uint_eq(extent.samples, 2);
    ck_assert_uint_eq(extent.layers, 4);
    ck_assert_uint_gt(extent.bytes, 0);
    ck_assert_uint_eq(seen.count, 4);
    ck_assert_str_eq(seen.places[0], "/samples/1/layers/1/attention");
    ck_assert_str_eq(seen.places[1], "/samples/1/layers/3/attention");
    ck_assert_str_eq(seen.places[2], "/samples/2/layers/1/attention");
    ck_assert_str_eq(seen.places[3], "/samples/2/layers/3/attention");
}
END_TEST

static enum kvr_status refuse(void *context, const struct kvr_finding *finding,
                              struct kvr_error *err)
{
    (void)finding;
    ++*(int *)context;
    return kvr_fail(err, KVR_IO, "no room");
}

START_TEST(test_callback_ends_the_check)
{
    trace.layers = 4;
    trace.row[0][0][0] = NAN;
    small_write(&trace, scratch_path("t.h5"));
    struct kvr_trace *opened = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    int calls = 0;
    ck_assert_int_eq(kvr_trace_open(scratch_path("t.h5"), NULL, &opened, &err), KVR_OK);
    ck_assert_int_eq(kvr_trace_check(opened, &(struct kvr_check_options){.threads = 3}, refuse,
                                     &calls, NULL, &err),
                     KVR_IO);
    ck_assert_int_eq(calls, 1);
    ck_assert_str_eq(err.message, "no room");
    kvr_trace_close(opened);
}
END_TEST

START_TEST(test_every_kind_has_a_name_and_a_hint)
{
    for (int kind = 0; kind < KVR_FINDING_KINDS; kind++) {
        ck_assert_ptr_nonnull(kvr_finding_name((enum kvr_finding_kind)kind));
        ck_assert_ptr_nonnull(kvr_finding_hint((enum kvr_finding_kind)kind));
        for (int other = 0; other < kind; other++)
            ck_assert_str_ne(kvr_finding_name((enum kvr_finding_kind)kind),
                             kvr_finding_name((enum kvr_finding_kind)other));
    }
}
END_TEST

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, setup, scratch_teardown);
    suite_add_tcase(suite, tcase);
    return tcase;
}

Suite *kvr_suite_trace_check(void)
{
    Suite *suite = suite_create("trace_check");
    TCase *tcase = add_case(suite, "sound");
    tcase_add_loop_test(tcase, test_nothing_in_a_sound_trace, KVR_HALF, KVR_DOUBLE + 1);
    tcase_add_loop_test(tcase, test_nothing_in_any_storage, 0, 4);
    tcase_add_test(tcase, test_nothing_in_a_declared_window);
    tcase_add_loop_test(tcase, test_declared_padding_is_counted_only, 0, 3);
    tcase = add_case(suite, "values");
    tcase_add_loop_test(tcase, test_one_value_that_is_not_finite, 0, 2);
    tcase_add_test(tcase, test_last_and_decode_rows_that_are_not_finite);
    tcase_add_test(tcase, test_whole_layer_that_is_not_finite);
    tcase_add_test(tcase, test_values_that_no_scorer_reads);
    tcase_add_test(tcase, test_vectors_that_are_not_finite);
    tcase_add_test(tcase, test_negative_values);
    tcase_add_test(tcase, test_rows_of_zeros);
    tcase_add_test(tcase, test_layer_without_weights);
    tcase = add_case(suite, "masks");
    tcase_add_test(tcase, test_causal_mask_forgotten);
    tcase_add_test(tcase, test_traces_of_a_finite_mask);
    tcase_add_test(tcase, test_mass_outside_the_window);
    tcase_add_loop_test(tcase, test_window_that_is_not_declared, 0, 2);
    tcase_add_test(tcase, test_window_of_few_rows_is_not_declared);
    tcase_add_loop_test(tcase, test_padding_that_is_not_declared, 0, 3);
    tcase_add_test(tcase, test_useless_rows_at_the_front);
    tcase_add_test(tcase, test_mass_on_padding);
    tcase_add_test(tcase, test_positions_that_are_too_large);
    tcase = add_case(suite, "sums");
    tcase_add_test(tcase, test_softmax_applied_twice);
    tcase_add_loop_test(tcase, test_softmax_applied_twice_to_long_rows, 0, 4);
    tcase_add_test(tcase, test_one_peaked_head_is_not_softmax_twice);
    tcase_add_test(tcase, test_dropout_left_on);
    tcase_add_test(tcase, test_sums_that_are_off);
    tcase_add_loop_test(tcase, test_sink_logits, 0, 2);
    tcase = add_case(suite, "column sums");
    tcase_add_test(tcase, test_column_sums_that_are_not_finite);
    tcase_add_test(tcase, test_column_sums_that_are_negative);
    tcase_add_test(tcase, test_running_sums_that_drift);
    tcase_add_test(tcase, test_decoded_rows_in_the_column_sums);
    tcase_add_test(tcase, test_column_sums_above_their_bound);
    tcase_add_loop_test(tcase, test_totals_that_tell_what_was_summed, 0, 2);
    tcase = add_case(suite, "recomputation");
    tcase_add_test(tcase, test_tiled_kv_heads);
    tcase_add_test(tcase, test_wrong_scale);
    tcase_add_test(tcase, test_queries_of_something_else);
    tcase = add_case(suite, "samples");
    tcase_add_test(tcase, test_needles_and_tokens);
    tcase_add_test(tcase, test_rows_that_are_missing);
    tcase = add_case(suite, "run");
    tcase_add_test(tcase, test_damaged_chunk_does_not_hide_the_rest);
    tcase_add_test(tcase, test_only_what_is_asked_for);
    tcase_add_test(tcase, test_callback_ends_the_check);
    tcase_add_test(tcase, test_every_kind_has_a_name_and_a_hint);
    return suite;
}
