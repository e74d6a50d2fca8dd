/*
 * One trace shared by reads and threads: what is fetched once, what stays open, what damage says.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/attention_fixture.h"
#include "tests/scratch.h"
#include "tests/suites.h"

static const struct kvr_element_type half = {KVR_HALF, false, false};

static void flip_byte(const char *path, haddr_t address)
{
    FILE *stream = fopen(path, "r+b");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_eq(fseek(stream, (long)address, SEEK_SET), 0);
    int byte = fgetc(stream);
    ck_assert_int_ne(byte, EOF);
    ck_assert_int_eq(fseek(stream, (long)address, SEEK_SET), 0);
    ck_assert_int_eq(fputc(byte ^ 0x10, stream), byte ^ 0x10);
    ck_assert_int_eq(fclose(stream), 0);
}

/* Writes eight chunks (4 heads, 2 halves of the tokens) and spoils a byte of chunk 3. */
static const char *damaged_trace(const char *filters, double *values)
{
    static unsigned char stored[ATTENTION_BYTES];
    const hsize_t chunk[3] = {1, FIXTURE_ROWS, 30}, corner[3] = {1, 0, 30};
    const char *path = scratch_path("t.h5");
    unsigned mask;
    haddr_t address;
    hsize_t size;
    hid_t dataset;
    attention_elements(half, 5, stored, values);
    struct trace_fixture fixture =
        attention_begin(path, half, attention_properties(filters, chunk), stored, &dataset);
    ck_assert_int_ge(H5Dflush(dataset), 0);
    ck_assert_int_ge(H5Dget_chunk_info_by_coord(dataset, corner, &mask, &address, &size), 0);
    attention_end(&fixture, dataset);
    flip_byte(path, address + size / 2);
    return path;
}

START_TEST(a_damaged_chunk_is_named_with_what_it_covers)
{
    static const char *const filters[] = {"f", "d", "sd", "sdf"};
    static double values[ATTENTION_ELEMENTS], found[ATTENTION_ELEMENTS];
    const char *path = damaged_trace(filters[_i], values);
    struct kvr_trace *trace = fixture_trace(path);
    struct kvr_error err = KVR_ERROR_NONE;
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(kvr_trace_read(trace, attention_of(trace), attention_whole.start,
                                        attention_whole.count, found, &err),
                         KVR_BAD_INPUT);
        ck_assert_msg(strstr(err.message, "t.h5\": /samples/0/layers/0/attention: chunk 3 (heads "
                                          "1-1, rows 0-2, tokens 30-59): damaged") != NULL,
                      "%s", err.message);
    }
    const struct attention_block before = {{0, 0, 0}, {2, 3, 30}}, after = {{2, 0, 0}, {2, 3, 60}};
    attention_check_block(trace, &before, values);
    attention_check_block(trace, &after, values);
    kvr_trace_close(trace);
}
END_TEST

START_TEST(what_filters_of_hdf5_find_damaged_is_named_too)
{
    static double values[ATTENTION_ELEMENTS], found[ATTENTION_ELEMENTS];
    const char *path = damaged_trace("ddf", values);
    struct kvr_trace *trace = fixture_trace(path);
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_trace_read(trace, attention_of(trace), attention_whole.start,
                                    attention_whole.count, found, &err),
                     KVR_BAD_INPUT);
    ck_assert_msg(strstr(err.message, "chunk 3 (") != NULL &&
                      strstr(err.message, "Fletcher32") != NULL,
                  "%s", err.message);
    kvr_trace_close(trace);
}
END_TEST

START_TEST(rows_of_one_chunk_fetch_it_once)
{
    static unsigned char stored[ATTENTION_BYTES];
    static double values[ATTENTION_ELEMENTS];
    const char *path = scratch_path("t.h5");
    const hsize_t chunk[3] = {FIXTURE_HEADS, FIXTURE_ROWS, FIXTURE_TOKENS};
    attention_elements(half, 5, stored, values);
    attention_write(path, half, attention_properties(_i == 0 ? "sd" : "n", chunk), stored);
    /* A cache of one byte keeps nothing; the usual one keeps this chunk. */
    for (int small = 0; small < 2; small++) {
        struct kvr_trace_options options = {.cache_bytes = small ? 1 : 0};
        struct kvr_trace *trace = NULL;
        ck_assert_int_eq(kvr_trace_open(path, &options, &trace, NULL), KVR_OK);
        ck_assert_uint_eq(kvr_trace_bytes_read(trace), 0);
        for (uint64_t head = 0; head < FIXTURE_HEADS; head++) {
            const struct attention_block rows = {{head, 0, 0}, {1, FIXTURE_ROWS, FIXTURE_TOKENS}};
            attention_check_block(trace, &rows, values);
        }
        uint64_t once =
            _i == 0 ? attention_of(trace)->stored_bytes : sizeof(uint16_t) * ATTENTION_ELEMENTS;
        ck_assert_uint_eq(kvr_trace_bytes_read(trace), small ? once * FIXTURE_HEADS : once);
        kvr_trace_close(trace);
    }
}
END_TEST

struct reader {
    struct kvr_trace *trace;
    const double *expected;
    uint64_t seed;
    char wrong[256];
};

static void *read_at_random(void *argument)
{
    struct reader *reader = argument;
    struct kvr_random random = kvr_random_stream(23, reader->seed);
    struct kvr_error err = KVR_ERROR_NONE;
    for (int i = 0; i < 300 && reader->wrong[0] == '\0'; i++) {
        struct attention_block block = attention_random_block(&random);
        const char *wrong = attention_wrong_block(reader->trace, &block, reader->expected, &err);
        if (wrong != NULL)
            snprintf(reader->wrong, sizeof reader->wrong, "%s", wrong);
    }
    return NULL;
}

START_TEST(threads_read_the_same_values)
{
    enum { THREADS = 4 };
    static const char *const filters[] = {"sd", NULL, "dd"};
    static unsigned char stored[ATTENTION_BYTES];
    static double values[ATTENTION_ELEMENTS];
    const char *path = scratch_path("t.h5");
    const hsize_t chunk[3] = {2, 2, 17};
    attention_elements(half, 5, stored, values);
    attention_write(path, half, attention_properties(filters[_i], chunk), stored);
    /* Room for a few of the 16 chunks: they come and go. */
    struct kvr_trace_options options = {.cache_bytes = 1200};
    struct kvr_trace *trace = NULL;
    ck_assert_int_eq(kvr_trace_open(path, &options, &trace, NULL), KVR_OK);
    struct reader readers[THREADS];
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){.trace = trace, .expected = values, .seed = i};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_at_random, &readers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_msg(readers[i].wrong[0] == '\0', "%s", readers[i].wrong);
    }
    kvr_trace_close(trace);
}
END_TEST

/* More datasets than are kept open. */
START_TEST(many_small_datasets)
{
    enum { LAYERS = 200 };
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    const hsize_t shape[2] = {FIXTURE_HEADS, FIXTURE_TOKENS}, chunk[2] = {1, FIXTURE_TOKENS};
    static float stored[FIXTURE_HEADS][FIXTURE_TOKENS];
    hid_t properties = fixture_chunks(2, chunk);
    ck_assert_int_ge(H5Pset_deflate(properties, 1), 0);
    H5Gclose(fixture.layer);
    for (int number = 0; number < LAYERS; number++) {
        char name[16];
        snprintf(name, sizeof name, "%d", number);
        hid_t layer = number == 0 ? H5Gopen2(fixture.layers, "0", H5P_DEFAULT)
                                  : fixture_group(fixture.layers, name);
        stored[3][59] = (float)number;
        fixture_dataset(layer, "accumulated", H5T_NATIVE_FLOAT, 2, shape, properties, stored);
        H5Gclose(layer);
    }
    fixture.layer = H5Gopen2(fixture.layers, "0", H5P_DEFAULT);
    H5Pclose(properties);
    fixture_close(&fixture);

    struct kvr_trace_options options = {.cache_bytes = 1};
    struct kvr_trace *trace = NULL;
    ck_assert_int_eq(kvr_trace_open(path, &options, &trace, NULL), KVR_OK);
    ck_assert_uint_eq(trace->samples[0].layer_count, LAYERS);
    const uint64_t start[3] = {3, 59, 0}, count[3] = {1, 1, 1};
    for (unsigned step = 0; step < 3 * LAYERS; step++) {
        const struct kvr_layer *layer = &trace->samples[0].layers[step * 7 % LAYERS];
        double value = -1;
        ck_assert_int_eq(kvr_trace_read(trace, layer->accumulated, start, count, &value, NULL),
                         KVR_OK);
        ck_assert_double_eq(value, (double)layer->number);
    }
    kvr_trace_close(trace);
}
END_TEST

START_TEST(a_file_that_shrinks_while_it_is_read)
{
    const char *path = scratch_path("t.h5");
    static double values[ATTENTION_ELEMENTS];
    fixture_plain_trace(path);
    struct kvr_trace *trace = fixture_trace(path);
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(truncate(path, 2048), 0);
    ck_assert_int_eq(kvr_trace_read(trace, attention_of(trace), attention_whole.start,
                                    attention_whole.count, values, &err),
                     KVR_IO);
    ck_assert_msg(strstr(err.message, "attention: ") != NULL &&
                      strstr(err.message, "cut off") != NULL,
                  "%s", err.message);
    kvr_trace_close(trace);
}
END_TEST

Suite *kvr_suite_trace_sharing(void)
{
    Suite *suite = suite_create("trace_sharing");
    TCase *tcase = tcase_create("trace_sharing");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_loop_test(tcase, a_damaged_chunk_is_named_with_what_it_covers, 0, 4);
    tcase_add_test(tcase, what_filters_of_hdf5_find_damaged_is_named_too);
    tcase_add_loop_test(tcase, rows_of_one_chunk_fetch_it_once, 0, 2);
    tcase_add_loop_test(tcase, threads_read_the_same_values, 0, 3);
    tcase_add_test(tcase, many_small_datasets);
    tcase_add_test(tcase, a_file_that_shrinks_while_it_is_read);
    suite_add_tcase(suite, tcase);
    return suite;
}
