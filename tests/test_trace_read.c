/*
 * Reading blocks: every element type in every kind of storage gives the values that were written.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/attention_fixture.h"
#include "tests/scratch.h"
#include "tests/suites.h"

static const struct kvr_element_type types[] = {
    {KVR_HALF, false, false},    {KVR_HALF, true, false},     {KVR_BFLOAT16, false, false},
    {KVR_BFLOAT16, true, false}, {KVR_BFLOAT16, false, true}, {KVR_BFLOAT16, true, true},
    {KVR_FLOAT, false, false},   {KVR_FLOAT, true, false},    {KVR_DOUBLE, false, false},
    {KVR_DOUBLE, true, false},
};

/* Filters as in attention_properties; NULL: not chunked. */
static const struct {
    const char *filters;
    hsize_t chunk[3];
} storages[] = {
    {NULL, {0, 0, 0}},   {"", {2, 3, 60}},     {"", {3, 2, 7}},     {"", {64, 64, 64}},
    {"d", {2, 3, 60}},   {"s", {3, 2, 7}},     {"sd", {1, 2, 17}},  {"sd", {4, 3, 60}},
    {"f", {2, 3, 60}},   {"sdf", {3, 2, 7}},   {"fsd", {2, 2, 31}}, {"fd", {2, 1, 60}},
    {"dfs", {1, 3, 60}}, {"sd", {64, 64, 64}}, {"dd", {2, 3, 60}},  {"n", {2, 3, 60}},
    {"z", {2, 3, 60}},
};
enum {
    TYPES = sizeof types / sizeof *types,
    STORAGES = sizeof storages / sizeof *storages,
};

START_TEST(every_type_reads_back_from_every_storage)
{
    static unsigned char stored[ATTENTION_BYTES];
    static double values[ATTENTION_ELEMENTS];
    const struct kvr_element_type type = types[_i % TYPES];
    const char *filters = storages[_i / TYPES].filters;
    const char *path = scratch_path("t.h5");
    if (filters != NULL && *filters == 'z' && H5Zfilter_avail(H5Z_FILTER_SZIP) <= 0)
        return;
    attention_elements(type, (uint64_t)_i, stored, values);
    attention_write(path, type, attention_properties(filters, storages[_i / TYPES].chunk), stored);

    struct kvr_trace *trace = fixture_trace(path);
    const struct kvr_dataset *dataset = attention_of(trace);
    ck_assert_int_eq(dataset->type.kind, type.kind);
    ck_assert_int_eq(dataset->type.big_endian, type.big_endian);
    ck_assert_int_eq(dataset->type.as_uint16, type.as_uint16);
    ck_assert_int_eq(dataset->chunked, filters != NULL);
    ck_assert_int_eq(dataset->deflate, filters != NULL && strchr(filters, 'd') != NULL);
    ck_assert_int_eq(dataset->shuffle, filters != NULL && strchr(filters, 's') != NULL);
    ck_assert_int_eq(dataset->fletcher32, filters != NULL && strchr(filters, 'f') != NULL);
    ck_assert_int_eq(dataset->other_filters, filters != NULL && strpbrk(filters, "nz") != NULL);
    kvr_trace_close(trace);
    attention_check_blocks(path, values, 40);
}
END_TEST

START_TEST(a_short_dimension_in_a_long_chunk)
{
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    fixture_attention(&fixture);
    hid_t sample = fixture_group(fixture.samples, "1"), layers = fixture_group(sample, "layers");
    hid_t layer = fixture_group(layers, "0");
    fixture_integer(sample, "context_length", 3);
    fixture_integer(sample, "query_heads", 1);
    fixture_integer(sample, "kv_heads", 1);
    const hsize_t shape[2] = {1, 3}, chunk[2] = {1, 64};
    const float stored[3] = {0.5F, 0.25F, 0.125F};
    hid_t properties = fixture_chunks(2, chunk);
    ck_assert_int_ge(H5Pset_shuffle(properties), 0);
    ck_assert_int_ge(H5Pset_deflate(properties, 1), 0);
    fixture_dataset(layer, "accumulated", H5T_NATIVE_FLOAT, 2, shape, properties, stored);
    H5Pclose(properties);
    H5Gclose(layer);
    H5Gclose(layers);
    H5Gclose(sample);
    fixture_close(&fixture);

    struct kvr_trace *trace = fixture_trace(path);
    const struct kvr_dataset *dataset = trace->samples[1].layers[0].accumulated;
    ck_assert_uint_eq(dataset->rank, 2);
    ck_assert_uint_eq(dataset->chunk[1], 64);
    double values[2];
    const uint64_t start[3] = {0, 1, 0}, count[3] = {1, 2, 1};
    ck_assert_int_eq(kvr_trace_read(trace, dataset, start, count, values, NULL), KVR_OK);
    ck_assert_double_eq(values[0], 0.25);
    ck_assert_double_eq(values[1], 0.125);
    kvr_trace_close(trace);
}
END_TEST

START_TEST(compact_data_and_a_user_block)
{
    static unsigned char stored[ATTENTION_BYTES];
    static double values[ATTENTION_ELEMENTS];
    const char *path = scratch_path("t.h5");
    hid_t creation = H5Pcreate(H5P_FILE_CREATE), properties = H5Pcreate(H5P_DATASET_CREATE);
    ck_assert_int_ge(H5Pset_userblock(creation, 2048), 0);
    if (_i == 1)
        ck_assert_int_ge(H5Pset_layout(properties, H5D_COMPACT), 0);
    attention_elements(types[6], 1, stored, values);
    struct trace_fixture fixture = fixture_create_with(path, creation, H5P_DEFAULT);
    fixture_dataset(fixture.layer, "attention", H5T_IEEE_F32LE, 3, fixture_shape, properties,
                    stored);
    fixture_close(&fixture);
    H5Pclose(properties);
    H5Pclose(creation);
    attention_check_blocks(path, values, 40);
}
END_TEST

START_TEST(newer_indexes_and_edges_without_filters)
{
    static unsigned char stored[ATTENTION_BYTES];
    static double values[ATTENTION_ELEMENTS];
    const char *path = scratch_path("t.h5");
    const hsize_t chunk[3] = {3, 2, 7};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    ck_assert_int_ge(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110), 0);
    hid_t properties = attention_properties("sd", chunk);
    if (_i == 1)
        ck_assert_int_ge(H5Pset_chunk_opts(properties, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS), 0);
    attention_elements(types[6], 1, stored, values);
    struct trace_fixture fixture = fixture_create_with(path, H5P_DEFAULT, access);
    fixture_dataset(fixture.layer, "attention", H5T_IEEE_F32LE, 3, fixture_shape, properties,
                    stored);
    fixture_close(&fixture);
    H5Pclose(properties);
    H5Pclose(access);
    attention_check_blocks(path, values, 40);
}
END_TEST

/* Chunks of one head each, so that chunk h is head h. */
static const hsize_t head_chunk[3] = {1, FIXTURE_ROWS, FIXTURE_TOKENS};
enum { HEAD_ELEMENTS = FIXTURE_ROWS * FIXTURE_TOKENS, HEAD_BYTES = 2 * HEAD_ELEMENTS };
static const struct kvr_element_type half = {KVR_HALF, false, false};

START_TEST(chunks_stored_with_filters_left_out)
{
    static unsigned char stored[ATTENTION_BYTES];
    static double values[ATTENTION_ELEMENTS];
    const char *path = scratch_path("t.h5");
    hid_t dataset;
    attention_elements(half, 5, stored, values);
    struct trace_fixture fixture =
        attention_begin(path, half, attention_properties("sd", head_chunk), stored, &dataset);
    /* Head 2 raw, both filters left out; head 3 shuffled, deflate left out. */
    hsize_t corner[3] = {2, 0, 0};
    ck_assert_int_ge(
        H5Dwrite_chunk(dataset, H5P_DEFAULT, 3, corner, HEAD_BYTES, stored + 2 * HEAD_BYTES), 0);
    unsigned char planes[HEAD_BYTES];
    for (size_t i = 0; i < HEAD_ELEMENTS; i++) {
        planes[i] = stored[3 * HEAD_BYTES + 2 * i];
        planes[HEAD_ELEMENTS + i] = stored[3 * HEAD_BYTES + 2 * i + 1];
    }
    corner[0] = 3;
    ck_assert_int_ge(H5Dwrite_chunk(dataset, H5P_DEFAULT, 2, corner, HEAD_BYTES, planes), 0);
    attention_end(&fixture, dataset);
    attention_check_blocks(path, values, 40);
}
END_TEST

/* Storage and whether a fill value of 0.5 is set; nothing is written but head 1. */
START_TEST(absent_chunks_hold_the_fill_value)
{
    static const char *const filters[] = {"", "sd", NULL};
    static unsigned char stored[ATTENTION_BYTES];
    static double values[ATTENTION_ELEMENTS];
    const char *path = scratch_path("t.h5");
    const bool filled = _i % 2 != 0;
    const char *chosen = filters[_i / 2];
    const uint16_t fill = 0x3800;
    hid_t properties = attention_properties(chosen, head_chunk), type = fixture_type(half), dataset;
    if (filled)
        ck_assert_int_ge(H5Pset_fill_value(properties, type, &fill), 0);
    attention_elements(half, 5, stored, values);
    struct trace_fixture fixture = attention_begin(path, half, properties, NULL, &dataset);
    const hsize_t start[3] = {1, 0, 0};
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(3, head_chunk, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, head_chunk, NULL);
    bool written = chosen != NULL; /* contiguous data are there as a whole or not at all */
    if (written)
        ck_assert_int_ge(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, stored + HEAD_BYTES),
                         0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Tclose(type);
    attention_end(&fixture, dataset);
    for (size_t i = 0; i < ATTENTION_ELEMENTS; i++)
        if (!written || i / HEAD_ELEMENTS != 1)
            values[i] = filled ? 0.5 : 0;
    attention_check_blocks(path, values, 40);
}
END_TEST

START_TEST(blocks_outside_are_refused_and_empty_ones_are_not)
{
    const char *path = scratch_path("t.h5");
    fixture_plain_trace(path);
    struct kvr_trace *trace = fixture_trace(path);
    double values[2] = {7, 7};
    const uint64_t none[3] = {0, 1, 1}, end[3] = {FIXTURE_HEADS, 0, 0};
    const uint64_t two[3] = {1, 1, 2}, last[3] = {0, 0, FIXTURE_TOKENS - 1};
    const uint64_t far[3] = {0, 0, UINT64_MAX};
    const struct kvr_dataset *dataset = attention_of(trace);
    ck_assert_int_eq(kvr_trace_read(trace, dataset, end, none, values, NULL), KVR_OK);
    ck_assert_int_eq(kvr_trace_read(trace, dataset, last, two, values, NULL), KVR_INTERNAL);
    ck_assert_int_eq(kvr_trace_read(trace, dataset, far, two, values, NULL), KVR_INTERNAL);
    ck_assert_double_eq(values[0], 7);
    kvr_trace_close(trace);
}
END_TEST

/* Rows that are larger than what is read at once, in a chunk larger than HDF5's chunk cache. */
START_TEST(long_rows)
{
    enum { LONG = 300000 };
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    fixture_integer(fixture.sample, "context_length", LONG);
    const hsize_t shape[2] = {FIXTURE_HEADS, LONG};
    float *stored = malloc(sizeof(float) * FIXTURE_HEADS * LONG);
    double *values = malloc(sizeof(double) * FIXTURE_HEADS * LONG);
    ck_assert(stored != NULL && values != NULL);
    for (size_t i = 0; i < FIXTURE_HEADS * LONG; i++)
        stored[i] = (float)i;
    hid_t properties = H5P_DEFAULT;
    if (_i > 0) {
        properties = fixture_chunks(2, shape);
        ck_assert_int_ge(H5Pset_shuffle(properties), 0);
    }
    fixture_dataset(fixture.layer, "accumulated", H5T_NATIVE_FLOAT, 2, shape, properties, stored);
    fixture_close(&fixture);

    struct kvr_trace *trace = fixture_trace(path);
    const struct kvr_dataset *dataset = trace->samples[0].layers[0].accumulated;
    const uint64_t start[3] = {1, 11, 0}, count[3] = {3, LONG - 11, 1};
    ck_assert_int_eq(kvr_trace_read(trace, dataset, start, count, values, NULL), KVR_OK);
    size_t wrong = 0;
    for (size_t head = 1; head < FIXTURE_HEADS; head++) {
        const double *row = values + (head - 1) * (LONG - 11);
        for (size_t i = 11; i < LONG; i++)
            wrong += row[i - 11] < (double)stored[head * LONG + i] ||
                     row[i - 11] > (double)stored[head * LONG + i];
    }
    ck_assert_uint_eq(wrong, 0);
    kvr_trace_close(trace);
    free(stored);
    free(values);
}
END_TEST

Suite *kvr_suite_trace_read(void)
{
    Suite *suite = suite_create("trace_read");
    TCase *tcase = tcase_create("trace_read");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_loop_test(tcase, every_type_reads_back_from_every_storage, 0, TYPES * STORAGES);
    tcase_add_test(tcase, a_short_dimension_in_a_long_chunk);
    tcase_add_loop_test(tcase, compact_data_and_a_user_block, 0, 2);
    tcase_add_loop_test(tcase, newer_indexes_and_edges_without_filters, 0, 2);
    tcase_add_test(tcase, chunks_stored_with_filters_left_out);
    tcase_add_loop_test(tcase, absent_chunks_hold_the_fill_value, 0, 6);
    tcase_add_test(tcase, blocks_outside_are_refused_and_empty_ones_are_not);
    tcase_add_loop_test(tcase, long_rows, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
