/*
 * Synthetic traces as files: the same options give the same one, odd shapes work, wrong options do
 * not.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/scratch.h"
#include "tests/suites.h"
#include "tests/synth_fixture.h"

static struct kvr_error err;

static char *make_bytes(const struct kvr_synth_options *options, size_t *length)
{
    kvr_trace_close(synth_trace(options));
    return scratch_read("s.h5", length);
}

START_TEST(same_options_give_the_same_file)
{
    struct kvr_synth_options options = synth_small_options();
    size_t lengths[3];
    options.qkv = _i == 1;
    options.columns = true;
    options.tokens = options.qkv ? 500 : 9000; /* several tiles and blocks */
    options.query_heads = 4;
    options.layers = 2;
    char *first = make_bytes(&options, &lengths[0]);
    options.threads = 3;
    char *second = make_bytes(&options, &lengths[1]);
    ck_assert_uint_eq(lengths[0], lengths[1]);
    ck_assert_mem_eq(first, second, lengths[0]);
    options.seed++;
    char *third = make_bytes(&options, &lengths[2]);
    ck_assert(lengths[0] != lengths[2] || memcmp(first, third, lengths[0]) != 0);
    free(first);
    free(second);
    free(third);
}
END_TEST

/* The values do not depend on how they are stored. */
START_TEST(storage_does_not_change_values)
{
    struct kvr_synth_options options = synth_small_options();
    double *values[2];
    options.samples = options.layers = 1;
    options.tokens = 70000; /* rows longer than a chunk */
    options.rows = 2;
    options.decode = 1;
    for (unsigned i = 0; i < 2; i++) {
        options.storage.contiguous = i == 0;
        options.storage.shuffle = options.storage.fletcher32 = i == 1;
        options.storage.deflate_level = i;
        struct kvr_trace *trace = synth_trace(&options);
        const struct kvr_dataset *data = trace->samples[0].layers[0].attention;
        ck_assert(data->chunked == (i == 1));
        values[i] = synth_read(trace, data);
        kvr_trace_close(trace);
    }
    ck_assert_mem_eq(values[0], values[1], 8 * 3 * 70001 * sizeof(double));
    free(values[0]);
    free(values[1]);
}
END_TEST

START_TEST(small_and_odd_shapes)
{
    static const struct {
        uint64_t tokens, decode, rows, pad, needles;
        uint32_t query_heads, kv_heads;
        bool accumulated;
    } shapes[] = {
        {1, 0, 1, 0, 0, 1, 1, true},    {2, 1, 0, 1, 0, 3, 3, true},
        {5, 0, 5, 0, 0, 7, 1, false},   {40, 0, 0, 0, 1, 2, 1, true},
        {4096, 1, 1, 0, 1, 2, 2, true}, {4097, 0, 2, 7, 3, 2, 1, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct kvr_synth_options options = kvr_synth_defaults();
        options.tokens = shapes[i].tokens;
        options.decode = shapes[i].decode;
        options.rows = shapes[i].rows;
        options.pad = shapes[i].pad;
        options.needles = shapes[i].needles;
        options.query_heads = shapes[i].query_heads;
        options.kv_heads = shapes[i].kv_heads;
        options.accumulated = shapes[i].accumulated;
        options.layers = 2;
        options.window = 3;
        double tolerance = 6e-4;
        struct kvr_trace *trace = synth_trace(&options);
        if (shapes[i].rows + shapes[i].decode > 0)
            synth_each_row(trace, synth_assert_row, &tolerance);
        else
            ck_assert_ptr_null(trace->samples[0].layers[0].attention);
        kvr_trace_close(trace);
    }
}
END_TEST

static void assert_refused(const struct kvr_synth_options *options, const char *words)
{
    ck_assert_int_eq(kvr_synth_write(scratch_path("s.h5"), options, NULL, &err), KVR_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, words) != NULL, "%s", err.message);
    ck_assert_uint_eq(scratch_entries(), 0);
}

START_TEST(options_that_do_not_fit_are_refused)
{
    struct kvr_synth_options options = synth_small_options();
    options.rows = 298;
    assert_refused(&options, "rows: expected 0 ... 297, found 298");
    options = synth_small_options();
    options.kv_heads = 3;
    assert_refused(&options, "query heads: expected a multiple of the 3 KV heads, found 8");
    options = synth_small_options();
    options.needles = 50;
    assert_refused(&options, "needles: expected at most 277 tokens in all");
    options = synth_small_options();
    options.depth = 1.5;
    assert_refused(&options, "depth: expected 0 ... 1, found 1.5");
    options = synth_small_options();
    options.nan_fraction = -1;
    assert_refused(&options, "NaN fraction: expected 0 ... 1, found -1");
    options = synth_small_options();
    options.rows = options.decode = 0;
    options.accumulated = false;
    assert_refused(&options, "rows: expected at least one row");
    options = synth_small_options();
    options.qkv = options.ties = true;
    assert_refused(&options, "found ties");
    options.ties = false;
    options.tokens = 100000;
    assert_refused(&options, "tokens and decode rows with query, key and value");
}
END_TEST

Suite *kvr_suite_synth_files(void)
{
    Suite *suite = suite_create("synth_files");
    TCase *tcase = tcase_create("synth_files");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_loop_test(tcase, same_options_give_the_same_file, 0, 2);
    tcase_add_test(tcase, storage_does_not_change_values);
    tcase_add_test(tcase, small_and_odd_shapes);
    tcase_add_test(tcase, options_that_do_not_fit_are_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
