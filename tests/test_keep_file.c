/*
 * Files of kept sets: what stands in them, whose it is, and that a file is whole or absent. That
 * the sets give every number of the tables is the oracle's to check.
 */
#include <check.h>
#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/keep_file.h"
#include "formats/base/random.h"
#include "replay/engine.h"
#include "tests/made_trace.h"
#include "tests/scratch.h"
#include "tests/suites.h"

enum { HEADS = 6, GROUPS = 2, RATIO = 3, TOKENS = 30, PROMPT = 28, PAD = 3, ROWS = 4 };
enum { LAYERS = 3, WINDOW = 17, NAN_LAYER = 1 };

static struct kvr_plan plan;
static struct kvr_trace *trace;
static double last_rows[LAYERS][HEADS][TOKENS]; /* of the last prompt row */

static void add_layer(struct made_trace *made, const struct kvr_sample *sample, uint32_t number,
                      struct kvr_random *random)
{
    static double rows[HEADS][ROWS][TOKENS];
    struct kvr_layer layer = made_layer(number, sample);
    layer.sliding_window = number == 2 ? WINDOW : 0;
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q < ROWS; q++)
            for (size_t t = 0; t < TOKENS; t++)
                rows[h][q][t] = (double)kvr_random_below(random, 12) / 64; /* many ties */
    if (number == NAN_LAYER)
        rows[RATIO][1][9] = NAN; /* the second group */
    for (size_t h = 0; h < HEADS; h++)
        memcpy(last_rows[number][h], rows[h][1], sizeof rows[h][1]);
    made_trace_layer(made, &layer);
    made_trace_data(made, "attention", KVR_HALF, HEADS, ROWS, TOKENS, rows[0][0]);
}

static void start(void)
{
    scratch_setup();
    static char name[] = "s";
    uint64_t positions[ROWS] = {26, 27, 28, 29};
    const struct kvr_sample sample = {
        .name = name,
        .context_length = TOKENS,
        .prompt_length = PROMPT,
        .pad = PAD,
        .query_heads = HEADS,
        .kv_heads = GROUPS,
        .query_count = ROWS,
        .query_positions = positions,
    };
    struct kvr_random random = kvr_random_stream(7, 0);
    struct made_trace made;
    made_trace_start(&made, "t.h5");
    made_trace_sample(&made, &sample);
    for (uint32_t l = 0; l < LAYERS; l++)
        add_layer(&made, &sample, l, &random);
    trace = made_trace_finish(&made);
    plan = kvr_plan_default();
    static const char *const policies[] = {"independent", "mean", "a/%b=last/max", ".=last/mean"};
    ck_assert_int_eq(kvr_plan_add_score(&plan, "last", NULL), KVR_OK);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(kvr_plan_add_policy(&plan, policies[i], NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_budget(&plan, "0.30", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_budget(&plan, "1", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "1", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "4", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_settle(&plan, &trace, 1, NULL), KVR_OK);
}

static void end(void)
{
    kvr_trace_close(trace);
    kvr_plan_free(&plan);
    scratch_teardown();
}

static enum kvr_status write_keep(const char *name, unsigned threads, struct kvr_error *err)
{
    struct kvr_keep_file *file = NULL;
    enum kvr_status status =
        kvr_keep_file_open(scratch_path(name), &plan, trace, "test", &file, err);
    if (status != KVR_OK)
        return status;
    const struct kvr_observer observer = kvr_keep_file_observer(file);
    plan.threads = threads;
    status = kvr_replay_trace(&plan, trace, &observer, 1, NULL, err);
    if (status == KVR_OK)
        return kvr_keep_file_commit(file, err);
    kvr_keep_file_abandon(file);
    return status;
}

/* ---- reading back */

static size_t read_numbers(hid_t group, const char *name, unsigned long long *values, size_t room)
{
    hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    ck_assert_int_ge(dataset, 0);
    hid_t space = H5Dget_space(dataset);
    size_t count = (size_t)H5Sget_simple_extent_npoints(space);
    ck_assert_uint_le(count, room);
    if (count > 0)
        ck_assert_int_ge(H5Dread(dataset, H5T_NATIVE_ULLONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
                         0);
    H5Sclose(space);
    H5Dclose(dataset);
    return count;
}

static void expect_text(hid_t object, const char *name, const char *expected)
{
    char *text = NULL;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    ck_assert_int_ge(attribute, 0);
    hid_t type = H5Aget_type(attribute);
    ck_assert_int_ge(H5Aread(attribute, type, &text), 0);
    ck_assert_str_eq(text, expected);
    H5free_memory(text);
    H5Tclose(type);
    H5Aclose(attribute);
}

/* Rank by falling value, ties to the lower index, among [first, count) of a row. */
static size_t rank_of(const double *values, size_t first, size_t count, size_t t)
{
    size_t rank = 0;
    for (size_t i = first; i < count; i++)
        rank += values[i] > values[t] || (!(values[i] < values[t]) && i < t);
    return rank;
}

/* What a head keeps by itself at a page size, from its row; returns how many. */
static size_t own_set(const double *row, size_t first, size_t page_size, size_t quota,
                      unsigned long long *positions)
{
    double pages[TOKENS] = {0};
    size_t begin = first / page_size, end_page = (PROMPT - 1) / page_size + 1, count = 0;
    for (size_t t = first; t < PROMPT; t++)
        pages[t / page_size] = fmax(pages[t / page_size], row[t]);
    for (size_t t = first; t < PROMPT; t++)
        if (rank_of(pages, begin, end_page, t / page_size) < quota)
            positions[count++] = t;
    return count;
}

START_TEST(heads_keep_their_own_sets)
{
    static const struct {
        const char *path;
        uint32_t layer;
        size_t first, page_size, quota;
    } cases[] = {
        /* 0.3 of 25 candidates: 7 tokens, 1 page; in the window layer of 17: 5 and 1 */
        {"/samples/s/independent/last/p1/b0.30/layers/0", 0, PAD, 1, 7},
        {"/samples/s/independent/last/p4/b0.30/layers/0", 0, PAD, 4, 1},
        {"/samples/s/independent/last/p1/b1/layers/0", 0, PAD, 1, 25},
        {"/samples/s/independent/last/p4/b1/layers/0", 0, PAD, 4, 6},
        {"/samples/s/independent/last/p1/b0.30/layers/2", 2, PROMPT - WINDOW, 1, 5},
        {"/samples/s/independent/last/p4/b0.30/layers/2", 2, PROMPT - WINDOW, 4, 1},
    };
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(write_keep("k.h5", 2, &err) == KVR_OK, "%s", err.message);
    hid_t file = H5Fopen(scratch_path("k.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t group = H5Gopen2(file, cases[_i].path, H5P_DEFAULT);
    unsigned long long offsets[HEADS + 1], positions[HEADS * TOKENS], expected[TOKENS];
    expect_text(group, "per", "head");
    ck_assert_uint_eq(read_numbers(group, "offsets", offsets, HEADS + 1), HEADS + 1);
    size_t total = read_numbers(group, "positions", positions, HEADS * TOKENS);
    ck_assert_uint_eq(offsets[0], 0);
    ck_assert_uint_eq(offsets[HEADS], total);
    for (size_t h = 0; h < HEADS; h++) {
        size_t count = own_set(last_rows[cases[_i].layer][h], cases[_i].first, cases[_i].page_size,
                               cases[_i].quota, expected);
        ck_assert_uint_eq(offsets[h + 1] - offsets[h], count);
        ck_assert_mem_eq(positions + offsets[h], expected, count * sizeof *expected);
    }
    H5Gclose(group);
    H5Fclose(file);
}
END_TEST

START_TEST(excluded_groups_are_named_and_empty)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(write_keep("k.h5", 1, &err) == KVR_OK, "%s", err.message);
    hid_t file = H5Fopen(scratch_path("k.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t group = H5Gopen2(file, "/samples/s/mean/last/p1/b1/layers/1", H5P_DEFAULT);
    unsigned long long offsets[GROUPS + 1], excluded[GROUPS];
    expect_text(group, "per", "group");
    ck_assert_uint_eq(read_numbers(group, "offsets", offsets, GROUPS + 1), GROUPS + 1);
    ck_assert_uint_eq(offsets[1], PROMPT - PAD);
    ck_assert_uint_eq(offsets[2], PROMPT - PAD);
    ck_assert_uint_eq(read_numbers(group, "excluded", excluded, GROUPS), 1);
    ck_assert_uint_eq(excluded[0], 1);
    H5Gclose(group);
    group = H5Gopen2(file, "/samples/s/mean/last/p1/b1/layers/0", H5P_DEFAULT);
    ck_assert_int_eq(H5Lexists(group, "excluded", H5P_DEFAULT), 0);
    H5Gclose(group);
    H5Fclose(file);
}
END_TEST

START_TEST(names_become_links)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(write_keep("k.h5", 1, &err) == KVR_OK, "%s", err.message);
    hid_t file = H5Fopen(scratch_path("k.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    expect_text(file, "format", "kvreplay-keep");
    expect_text(file, "trace", "t.h5");
    hid_t group = H5Gopen2(file, "/samples/s/a%2F%25b", H5P_DEFAULT);
    ck_assert_int_ge(group, 0);
    expect_text(group, "policy", "a/%b");
    H5Gclose(group);
    group = H5Gopen2(file, "/samples/s/%2E/last", H5P_DEFAULT);
    ck_assert_int_ge(group, 0);
    expect_text(group, "scorer", "last");
    H5Gclose(group);
    H5Fclose(file);
}
END_TEST

/* ---- whole or absent */

START_TEST(threads_do_not_change_the_bytes)
{
    struct kvr_error err = KVR_ERROR_NONE;
    size_t one, many;
    ck_assert_msg(write_keep("one.h5", 1, &err) == KVR_OK, "%s", err.message);
    ck_assert_msg(write_keep("many.h5", 5, &err) == KVR_OK, "%s", err.message);
    char *a = scratch_read("one.h5", &one), *b = scratch_read("many.h5", &many);
    ck_assert_uint_eq(one, many);
    ck_assert_mem_eq(a, b, one);
    free(a);
    free(b);
}
END_TEST

/* A replay that fails after two of three layers: nothing stays, and nothing leaks. */
START_TEST(failed_replay_leaves_nothing)
{
    struct kvr_error err = KVR_ERROR_NONE;
    plan.nan = KVR_NAN_FAIL;
    ck_assert_int_eq(write_keep("k.h5", 1, &err), KVR_BAD_INPUT);
    ck_assert(!scratch_exists("k.h5") && !scratch_exists("k.h5.tmp"));
    ck_assert_int_eq(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_FILE), 1); /* the trace */
}
END_TEST

static enum kvr_status write_limited(rlim_t most, struct kvr_error *err)
{
    struct rlimit old, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = most;
    signal(SIGXFSZ, SIG_IGN); /* the write itself then fails */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum kvr_status status = write_keep("k.h5", 1, err);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    return status;
}

START_TEST(full_disk_is_told_and_leaves_nothing)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct stat info;
    ck_assert_msg(write_keep("k.h5", 1, &err) == KVR_OK, "%s", err.message);
    ck_assert_int_eq(stat(scratch_path("k.h5"), &info), 0);
    unlink(scratch_path("k.h5"));
    size_t size = (size_t)info.st_size;
    const size_t limits[] = {0, 1, size / 3, size - 100, size - 1};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        err = KVR_ERROR_NONE;
        ck_assert_int_eq(write_limited(limits[i], &err), KVR_IO);
        ck_assert_ptr_nonnull(strstr(err.message, "k.h5\": cannot be written: File too large"));
        ck_assert(!scratch_exists("k.h5") && !scratch_exists("k.h5.tmp"));
    }
    ck_assert_int_eq(write_limited(size, &err), KVR_OK);
}
END_TEST

Suite *kvr_suite_keep_file(void)
{
    Suite *suite = suite_create("keep_file");
    TCase *sets = tcase_create("sets");
    tcase_add_checked_fixture(sets, start, end);
    tcase_add_loop_test(sets, heads_keep_their_own_sets, 0, 6);
    tcase_add_test(sets, excluded_groups_are_named_and_empty);
    tcase_add_test(sets, names_become_links);
    suite_add_tcase(suite, sets);
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, start, end);
    tcase_add_test(files, threads_do_not_change_the_bytes);
    tcase_add_test(files, failed_replay_leaves_nothing);
    tcase_add_test(files, full_disk_is_told_and_leaves_nothing);
    suite_add_tcase(suite, files);
    return suite;
}
