/*
 * The check of traces: sound ones, in which nothing may be found, and faults of column sums,
 * vectors and samples; and what the check does as a whole.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check_expect.h"
#include "tests/scratch.h"
#include "tests/suites.h"

/* ---------------------------------------------------------------------------- sound traces */

START_TEST(test_nothing_in_a_sound_trace)
{
    small.storage.type.kind = (enum kvr_element)_i;
    small.samples = 2;
    small.layers = 3;
    small.needle_count = 1;
    small.needles[0] = (struct kvr_span){5, 9};
    check_small();
    expect_no_more_findings();
}
END_TEST

START_TEST(test_nothing_in_any_storage)
{
    static const uint64_t chunks[][KVR_DATASET_RANK] = {
        {1, 1, 1}, {4, 48, 48}, {2, 7, 5}, {3, 64, 1}};
    memcpy(small.storage.chunk, chunks[_i], sizeof small.storage.chunk);
    check_small();
    expect_no_more_findings();
    small.storage = (struct kvr_storage){.type = small.storage.type, .contiguous = true};
    check_small();
    expect_no_more_findings();
}
END_TEST

START_TEST(test_nothing_in_a_declared_window)
{
    small.window = 10;
    small_compute(&small, &(struct small_truth){.window = 10, .scale = small_plain.scale});
    check_small();
    expect_no_more_findings();
}
END_TEST

START_TEST(test_declared_padding_is_counted_only)
{
    small_compute(&small, &(struct small_truth){.pad = 5, .scale = small_plain.scale});
    small.pad = 5;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < 5; q++) /* not finite, 0 or uniform, as frameworks do */
            for (size_t t = 0; t < CHECK_TOKENS; t++)
                small.row[h][q][t] = _i == 0 ? NAN : _i == 1 ? 0 : 1.0 / CHECK_TOKENS;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        small.sums[h][3] = _i == 0 ? NAN : 0;
    check_small();
    expect_finding(KVR_FOUND_PADDING, KVR_NOTE, "/samples/0", 1, NOWHERE, NOWHERE,
                   "left padding of 5; query rows of padding that are skipped: 5");
    if (_i == 0)
        expect_finding(KVR_FOUND_NOT_FINITE, KVR_NOTE, ACCUMULATED, 4, 0, NOWHERE,
                       "where no scorer reads them: 4");
    expect_no_more_findings();
}
END_TEST

/* ---------------------------------------------------------------------------- column sums */

START_TEST(test_column_sums_that_are_not_finite)
{
    small.sums[1][7] = INFINITY;
    small.sums[3][0] = small.sums[3][1] = NAN;
    small.sums[0][45] = NAN;
    check_small();
    expect_finding(KVR_FOUND_NOT_FINITE, KVR_ERROR, ACCUMULATED, 2, 1, NOWHERE,
                   "heads 1, 3: sums not finite: 3; groups lost: accumulated 2 of 2");
    expect_finding(KVR_FOUND_NOT_FINITE, KVR_NOTE, ACCUMULATED, 1, 0, NOWHERE,
                   "no scorer reads them: 1");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_column_sums_that_are_negative)
{
    small.attention = false;
    small_without_vectors();
    small.sums[2][40] = -0.125;
    check_small();
    expect_finding(KVR_FOUND_NEGATIVE, KVR_ERROR, ACCUMULATED, 1, 2, NOWHERE,
                   "head 2: negative sums: 1, down to -0.125");
    expect_no_more_findings();
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
        for (size_t q = 0; q < CHECK_TOKENS; q++) {
            memset(small.row[h][q], 0, sizeof small.row[h][q]);
            small.row[h][q][0] = q == 0 ? 1 : 0.992;
            if (q > 0)
                small.row[h][q][q] = 0.008;
        }
    }
    small_sum(&small, 0);
    small.sums[2][0] = 0;
    for (size_t q = 0; q < CHECK_PROMPT; q++)
        small.sums[2][0] = half_sum(small.sums[2][0], small.row[2][q][0]);
    small_without_vectors();
    check_small();
    expect_finding(KVR_FOUND_DRIFT, KVR_WARNING, ACCUMULATED, 1, 2, NOWHERE,
                   "sums other than those of the recorded rows: 1, most in head 2: token 0 has");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_decoded_rows_in_the_column_sums)
{
    small.attention = true;
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = CHECK_PROMPT; q < CHECK_TOKENS; q++)
            for (size_t t = 0; t < CHECK_TOKENS; t++)
                small.sums[h][t] += small.row[h][q][t];
    small_keep_rows_from(&small, 10); /* so that only the sums themselves can tell */
    memmove(&small.row[0][0], &small.row[0][10], sizeof small.row[0] - sizeof small.row[0][0] * 10);
    for (size_t h = 1; h < SMALL_HEADS; h++)
        memmove(&small.row[h][0], &small.row[h][10],
                sizeof small.row[0] - sizeof small.row[0][0] * 10);
    small_without_vectors();
    check_small();
    expect_finding(KVR_FOUND_DECODE_MASS, KVR_WARNING, ACCUMULATED, 4, 0, NOWHERE, "from 44 on");
    expect_finding(KVR_FOUND_TOTAL, KVR_WARNING, ACCUMULATED, 4, 0, NOWHERE, "expected 44");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_column_sums_above_their_bound)
{
    small.attention = false;
    small_without_vectors();
    for (size_t t = 0; t < CHECK_TOKENS; t++)
        small.sums[1][t] *= 3;
    small.sums[1][40] = 7; /* of the rows 40 … 43 */
    check_small();
    expect_finding(KVR_FOUND_COLUMN_BOUND, KVR_WARNING, ACCUMULATED, 1, 1, NOWHERE,
                   "token 40 has 7 of at most 4");
    expect_finding(KVR_FOUND_TOTAL, KVR_WARNING, ACCUMULATED, 1, 1, NOWHERE, "expected 44");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_totals_that_tell_what_was_summed)
{
    small_keep_rows_from(&small, 8); /* 36 prefill rows */
    small_compute(&small, &small_plain);
    small_without_vectors();
    if (_i == 1)
        for (size_t h = 0; h < SMALL_HEADS; h++)
            for (size_t t = 0; t < CHECK_TOKENS; t++)
                small.sums[h][t] /= 36;
    check_small();
    expect_finding(
        KVR_FOUND_TOTAL, _i == 1 ? KVR_NOTE : KVR_WARNING, ACCUMULATED, 4, 0, NOWHERE,
        _i == 1 ? "already divided by their total"
                : "sums add up to 36, expected 44, one for each prefill row (-18.18 %): only the "
                  "recorded rows were summed");
    expect_no_more_findings();
}
END_TEST

/* ---------------------------------------------------------------------------- recomputation */

START_TEST(test_tiled_kv_heads)
{
    small_compute(&small, &(struct small_truth){.scale = small_plain.scale, .tiled = true});
    check_small();
    /* Heads 0 and 3 have the same KV head either way. */
    expect_finding(KVR_FOUND_RECOMPUTED, KVR_WARNING, ATTENTION, 6, 1, 22,
                   "they fit KV head h mod 2 instead of h / 2: tiled, not repeated");
    ck_assert_ptr_nonnull(strstr(seen.messages[0], "heads 1-2, all 3 tried rows"));
    expect_no_more_findings();
}
END_TEST

START_TEST(test_wrong_scale)
{
    small.scale = 0.125;
    check_small();
    expect_finding(KVR_FOUND_RECOMPUTED, KVR_WARNING, ATTENTION, seen.items[0].count, 0, 22,
                   "they fit a scale of 0.3536 instead of 0.125");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_queries_of_something_else)
{
    for (size_t q = 0; q < CHECK_TOKENS; q++)
        for (size_t d = 0; d < SMALL_DIM / 2; d++) { /* as before rotary embedding */
            double first = small.queries[2][q][d], angle = (double)q;
            double second = small.queries[2][q][d + SMALL_DIM / 2];
            small.queries[2][q][d] = first * cos(angle) - second * sin(angle);
            small.queries[2][q][d + SMALL_DIM / 2] = first * sin(angle) + second * cos(angle);
        }
    check_small();
    expect_finding(KVR_FOUND_RECOMPUTED, KVR_WARNING, ATTENTION, 3, 2, 22,
                   "they fit the keys of no KV "
                   "head");
    expect_no_more_findings();
}
END_TEST

/* ---------------------------------------------------------------------------- samples */

START_TEST(test_needles_and_tokens)
{
    small.samples = 3;
    small.needle_count = 2;
    small.needles[0] = (struct kvr_span){40, 46};
    small.needles[1] = (struct kvr_span){44, 45};
    small.ids[5] = -100;
    small.ids[6] = -1;
    check_small();
    expect_finding(
        KVR_FOUND_NEEDLE, KVR_WARNING, "/samples/0/needles", 3, NOWHERE, NOWHERE,
        "needle 0 is [40, 46), expected a span inside the prompt, 0 to 44, and 1 more like it "
        "(and 2 more samples)");
    expect_finding(KVR_FOUND_TOKENS, KVR_WARNING, "/samples/0/tokens", 3, NOWHERE, NOWHERE,
                   "token 5 is -100, expected an id of at least 0, and 1 more like it");
    expect_no_more_findings();
    small.needle_count = 1;
    small.needles[0].end = 44;
    small.with_ids = false;
    check_small();
    expect_finding(KVR_FOUND_NEEDLE, KVR_NOTE, "/samples/0/needles", 3, NOWHERE, NOWHERE,
                   "are not");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_rows_that_are_missing)
{
    small_without_vectors();
    small.accumulated = false;
    small.rows = 43; /* positions 0 … 42 of a prompt of 44 */
    check_small();
    expect_finding(KVR_FOUND_LAST_ROW, KVR_NOTE, "/samples/0/query_positions", 1, NOWHERE, NOWHERE,
                   "that of position 42, not of the prompt's last token 43");
    expect_finding(KVR_FOUND_NO_DECODE, KVR_NOTE, "/samples/0/query_positions", 1, NOWHERE, NOWHERE,
                   "");
    expect_no_more_findings();

    small_keep_rows_from(&small, CHECK_PROMPT);
    small_compute(&small, &small_plain);
    check_small();
    expect_finding(KVR_FOUND_NO_PREFILL, KVR_WARNING, "/samples/0/query_positions", 1, NOWHERE,
                   NOWHERE, "last and window have nothing to read");
    expect_no_more_findings();

    small.attention = false; /* then rows are not missed */
    small.accumulated = true;
    small.rows = 0;
    small_begin(&small, CHECK_TOKENS, CHECK_PROMPT);
    small.attention = small.query = false;
    check_small();
    expect_no_more_findings();
}
END_TEST

/* ---------------------------------------------------------------------------- the run */

START_TEST(test_damaged_chunk_does_not_hide_the_rest)
{
    small.layers = 2;
    small.storage.deflate_level = 0;
    small.storage.shuffle = false;
    small.storage.fletcher32 = true;
    small.values[1][2][3] = NAN;
    const char *path = scratch_path("damaged.h5");
    small_write(&small, path);
    size_t length;
    char *bytes = scratch_read("damaged.h5", &length);
    char *at = memmem(bytes, length, &small.row[2][40][0], 41 * sizeof(double));
    ck_assert_ptr_nonnull(at); /* of layer 0, which is written first */
    at[3] ^= 1;
    scratch_write("damaged.h5", bytes, length);
    free(bytes);
    check_small_file(path, &(struct kvr_check_options){.threads = (unsigned)_i}, NULL);
    expect_finding(KVR_FOUND_UNREADABLE, KVR_ERROR, ATTENTION, 1, NOWHERE, NOWHERE, "chunk");
    expect_finding(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/0/value", 1, 1, 2,
                   "token 2");
    expect_finding(KVR_FOUND_NOT_FINITE, KVR_ERROR, "/samples/0/layers/1/value", 1, 1, 2,
                   "token 2");
    expect_no_more_findings();
}
END_TEST

START_TEST(test_only_what_is_asked_for)
{
    small.samples = 3;
    small.layers = 4;
    small.row[0][0][0] = NAN;
    small_write(&small, scratch_path("t.h5"));
    const bool samples[] = {false, true, true};
    const uint32_t layers[] = {3, 1};
    struct kvr_check_extent extent;
    check_small_file(scratch_path("t.h5"),
                     &(struct kvr_check_options){
                         .threads = 2, .samples = samples, .layers = layers, .layer_count = 2},
                     &extent);
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
    small.layers = 4;
    small.row[0][0][0] = NAN;
    small_write(&small, scratch_path("t.h5"));
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

Suite *kvr_suite_trace_check(void)
{
    Suite *suite = suite_create("trace_check");
    TCase *tcase = check_case(suite, "sound");
    tcase_add_loop_test(tcase, test_nothing_in_a_sound_trace, KVR_HALF, KVR_DOUBLE + 1);
    tcase_add_loop_test(tcase, test_nothing_in_any_storage, 0, 4);
    tcase_add_test(tcase, test_nothing_in_a_declared_window);
    tcase_add_loop_test(tcase, test_declared_padding_is_counted_only, 0, 3);
    tcase = check_case(suite, "column sums");
    tcase_add_test(tcase, test_column_sums_that_are_not_finite);
    tcase_add_test(tcase, test_column_sums_that_are_negative);
    tcase_add_test(tcase, test_running_sums_that_drift);
    tcase_add_test(tcase, test_decoded_rows_in_the_column_sums);
    tcase_add_test(tcase, test_column_sums_above_their_bound);
    tcase_add_loop_test(tcase, test_totals_that_tell_what_was_summed, 0, 2);
    tcase = check_case(suite, "recomputation");
    tcase_add_test(tcase, test_tiled_kv_heads);
    tcase_add_test(tcase, test_wrong_scale);
    tcase_add_test(tcase, test_queries_of_something_else);
    tcase = check_case(suite, "samples");
    tcase_add_test(tcase, test_needles_and_tokens);
    tcase_add_test(tcase, test_rows_that_are_missing);
    tcase = check_case(suite, "run");
    tcase_add_loop_test(tcase, test_damaged_chunk_does_not_hide_the_rest, 1, 3);
    tcase_add_test(tcase, test_only_what_is_asked_for);
    tcase_add_test(tcase, test_callback_ends_the_check);
    tcase_add_test(tcase, test_every_kind_has_a_name_and_a_hint);
    return suite;
}
