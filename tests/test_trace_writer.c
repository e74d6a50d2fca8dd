/*
 * The trace writer: the stored bits, the filters, the structure, and files that are whole or
 * absent.
 */
#include <check.h>
#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "formats/trace_writer.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include "tests/trace_fixture.h"

enum { HEADS = 4, KV_HEADS = 2, ROWS = 5, TOKENS = 37, ELEMENTS = HEADS * ROWS * TOKENS };

static const uint64_t shape[KVR_DATASET_RANK] = {HEADS, ROWS, TOKENS};
static uint64_t positions[ROWS] = {30, 31, 32, 35, 36};
static const struct kvr_layer plain_layer = {
    .number = 3, .query_heads = HEADS, .kv_heads = KV_HEADS, .scale = NAN, .softcap = NAN};

/* Of the call under test; each test runs in a process of its own. */
static struct kvr_error err;

#define ASSERT_OK(call) ck_assert_msg((call) == KVR_OK, "%s", err.message)

static struct kvr_sample plain_sample(void)
{
    static char name[] = "0";
    return (struct kvr_sample){.name = name,
                               .context_length = TOKENS,
                               .prompt_length = 35,
                               .query_heads = HEADS,
                               .kv_heads = KV_HEADS,
                               .query_count = ROWS,
                               .query_positions = positions};
}

/* A writer whose layer waits for datasets. */
static struct kvr_trace_writer *start_trace(const char *path)
{
    struct kvr_trace_writer *writer = NULL;
    struct kvr_sample sample = plain_sample();
    ASSERT_OK(kvr_trace_writer_open(path, "model", "test", &writer, &err));
    ASSERT_OK(kvr_trace_writer_sample(writer, &sample, &err));
    ASSERT_OK(kvr_trace_writer_layer(writer, &plain_layer, &err));
    return writer;
}

static void write_block(struct kvr_dataset_writer *dataset, const uint64_t start[3],
                        const uint64_t count[3], const double *all)
{
    double block[ELEMENTS];
    size_t used = 0;
    for (uint64_t h = 0; h < count[0]; h++)
        for (uint64_t q = 0; q < count[1]; q++)
            for (uint64_t t = 0; t < count[2]; t++)
                block[used++] = all[((start[0] + h) * ROWS + start[1] + q) * TOKENS + start[2] + t];
    ASSERT_OK(kvr_dataset_writer_write(dataset, start, count, block, &err));
}

/* Writes attention from `all` in blocks of this size; the last block first, so that order is no
   help. */
static void write_trace(const char *path, const struct kvr_storage *storage, const uint64_t step[3],
                        const double *all)
{
    struct kvr_trace_writer *writer = start_trace(path);
    struct kvr_dataset_writer *dataset = NULL;
    ASSERT_OK(kvr_trace_writer_dataset(writer, "attention", 3, shape, storage, &dataset, &err));
    for (uint64_t h = (HEADS - 1) / step[0] * step[0] + step[0]; h >= step[0]; h -= step[0])
        for (uint64_t q = 0; q < ROWS; q += step[1])
            for (uint64_t t = 0; t < TOKENS; t += step[2]) {
                uint64_t start[3] = {h - step[0], q, t}, count[3];
                for (unsigned axis = 0; axis < 3; axis++)
                    count[axis] = start[axis] + step[axis] > shape[axis] ? shape[axis] - start[axis]
                                                                         : step[axis];
                write_block(dataset, start, count, all);
            }
    ASSERT_OK(kvr_dataset_writer_close(dataset, &err));
    ASSERT_OK(kvr_trace_writer_commit(writer, &err));
}

/* Values of every size, with those at which HDF5's own rounding to half goes wrong. */
static void make_values(double *values)
{
    static const double special[] = {0,         1,         -1,        1.5249286e-05, 65504,
                                     65519.9,   65520,     1e300,     0x1p-24,       0x1p-25,
                                     0x1.8p-25, 0x1.004p0, 0x1.00cp0, 0x1.01p0,      0.1};
    unsigned state = 1;
    for (size_t i = 0; i < ELEMENTS; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = ldexp((double)(state >> 8), -24 - (int)(state % 26));
    }
    memcpy(values, special, sizeof special);
    values[20] = NAN;
    values[21] = INFINITY;
    values[22] = -INFINITY;
}

static const uint64_t whole[3] = {HEADS, ROWS, TOKENS};
static const char attention_path[] = "/samples/0/layers/3/attention";

/* The stored bytes of attention, read by HDF5 with the very type that the file has. */
static void read_stored(const char *path, unsigned char *bytes, size_t size)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, attention_path, H5P_DEFAULT);
    hid_t type = H5Dget_type(dataset);
    ck_assert_int_ge(dataset, 0);
    ck_assert_uint_eq(H5Tget_size(type) * ELEMENTS, size);
    ck_assert_int_ge(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes), 0);
    H5Tclose(type);
    H5Dclose(dataset);
    H5Fclose(file);
}

static const struct kvr_element_type types[] = {
    {KVR_HALF, false, false},    {KVR_HALF, true, false},     {KVR_BFLOAT16, false, false},
    {KVR_BFLOAT16, true, false}, {KVR_BFLOAT16, false, true}, {KVR_BFLOAT16, true, true},
    {KVR_FLOAT, false, false},   {KVR_FLOAT, true, false},    {KVR_DOUBLE, false, false},
    {KVR_DOUBLE, true, false},
};
enum { TYPES = sizeof types / sizeof *types };

/* Contiguous, plain chunks, and every filter; chunks that fit the shape and such that do not. */
static const struct kvr_storage storages[] = {
    {.contiguous = true},
    {.chunk = {2, 5, 16}},
    {.chunk = {3, 2, 37}, .shuffle = true, .deflate_level = 1},
    {.chunk = {2, 5, 16}, .shuffle = true, .deflate_level = 6, .fletcher32 = true},
    {.chunk = {4, 1, 10}, .fletcher32 = true},
    {.chunk = {4, 1, 7}, .shuffle = true, .fletcher32 = true},
    {.chunk = {4, 5, 37}, .deflate_level = 9},
    {.shuffle = true, .deflate_level = 1},
};
enum { STORAGES = sizeof storages / sizeof *storages };

START_TEST(stored_bits_are_the_rounded_values)
{
    double values[ELEMENTS];
    unsigned char expected[ELEMENTS * 8], found[ELEMENTS * 8];
    make_values(values);
    for (size_t t = 0; t < TYPES; t++) {
        struct kvr_storage storage = storages[_i];
        storage.type = types[t];
        size_t size = ELEMENTS * kvr_element_size(types[t].kind);
        kvr_element_encode(types[t], values, ELEMENTS, expected);
        write_trace(scratch_path("t.h5"), &storage, whole, values);
        read_stored(scratch_path("t.h5"), found, size);
        ck_assert_msg(memcmp(found, expected, size) == 0, "type %zu", t);
    }
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

/* Blocks that cover chunks, parts of chunks, single rows. */
static const uint64_t steps[][3] = {{4, 5, 37}, {2, 5, 16}, {1, 1, 37}, {1, 2, 5}, {3, 3, 10}};
enum { STEPS = sizeof steps / sizeof *steps };

START_TEST(blocks_of_any_size_give_the_same_values)
{
    double values[ELEMENTS];
    unsigned char expected[ELEMENTS * 2], found[ELEMENTS * 2];
    make_values(values);
    kvr_element_encode(types[0], values, ELEMENTS, expected);
    for (size_t s = 0; s < STORAGES; s++) {
        struct kvr_storage storage = storages[s];
        storage.type = types[0];
        write_trace(scratch_path("t.h5"), &storage, steps[_i], values);
        read_stored(scratch_path("t.h5"), found, sizeof found);
        ck_assert_msg(memcmp(found, expected, sizeof found) == 0, "storage %zu", s);
    }
}
END_TEST

/* By hand, so that the writer and the element code cannot be wrong together. */
START_TEST(rounding_is_to_nearest_even_and_not_that_of_hdf5)
{
    static const struct {
        double value;
        uint16_t half, bfloat16;
    } known[] = {
        {1.5249286e-05, 0x0100, 0x3780}, {0x1.002p0, 0x3c00, 0x3f80},
        {0x1.006p0, 0x3c02, 0x3f80},     {0x1.01p0, 0x3c04, 0x3f80},
        {0x1.03p0, 0x3c0c, 0x3f82},      {65520, 0x7c00, 0x4780},
        {0x1p-25, 0x0000, 0x3300},       {0x1.8p-24, 0x0002, 0x33c0},
        {0.1, 0x2e66, 0x3dcd},           {-2, 0xc000, 0xc000},
    };
    double values[ELEMENTS] = {0};
    unsigned char found[ELEMENTS * 2];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        values[i] = known[i].value;
    for (size_t t = 0; t < 6; t++) {
        struct kvr_storage storage = {.type = types[t]};
        write_trace(scratch_path("t.h5"), &storage, whole, values);
        read_stored(scratch_path("t.h5"), found, sizeof found);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            unsigned bits = types[t].big_endian ? (unsigned)found[2 * i] << 8 | found[2 * i + 1]
                                                : (unsigned)found[2 * i + 1] << 8 | found[2 * i];
            unsigned expected = types[t].kind == KVR_HALF ? known[i].half : known[i].bfloat16;
            ck_assert_msg(bits == expected, "type %zu, value %g: 0x%04x", t, known[i].value, bits);
        }
    }
}
END_TEST

START_TEST(storage_is_as_asked)
{
    static const double values[ELEMENTS];
    struct kvr_storage storage = {.type = types[1],
                                  .chunk = {2, 9, 16},
                                  .shuffle = true,
                                  .deflate_level = 4,
                                  .fletcher32 = true};
    write_trace(scratch_path("t.h5"), &storage, whole, values);
    struct kvr_trace *trace = fixture_trace(scratch_path("t.h5"));
    const struct kvr_dataset *data = trace->samples[0].layers[0].attention;
    ck_assert(data->chunked && data->shuffle && data->deflate && data->fletcher32);
    ck_assert_uint_eq(data->deflate_level, 4);
    ck_assert_uint_eq(data->chunk[0], 2);
    ck_assert_uint_eq(data->chunk[1], ROWS); /* cut to the shape */
    ck_assert_uint_eq(data->chunk[2], 16);
    ck_assert(data->type.kind == KVR_HALF && data->type.big_endian);
    ck_assert_uint_lt(data->stored_bytes, ELEMENTS / 4); /* zeros deflate well */
    kvr_trace_close(trace);
}
END_TEST

START_TEST(chosen_chunks_hold_whole_groups)
{
    static const struct {
        uint64_t shape[3], heads, chunk[3];
        enum kvr_element kind;
        unsigned rank;
    } cases[] = {
        {{9, 15, 1031}, 3, {9, 15, 1031}, KVR_HALF, 3},     /* small: all of it */
        {{32, 16, 4096}, 4, {4, 16, 4096}, KVR_HALF, 3},    /* 512 KiB: one group */
        {{32, 40, 4096}, 4, {4, 14, 4096}, KVR_HALF, 3},    /* 40 rows in three even pieces */
        {{16, 16, 1048576}, 4, {4, 1, 65536}, KVR_HALF, 3}, /* rows cut */
        {{16, 16, 1048576}, 4, {4, 1, 16384}, KVR_DOUBLE, 3},
        {{9, 100000}, 1, {1, 100000, 1}, KVR_FLOAT, 2},
        {{8, 200000}, 1, {1, 100000, 1}, KVR_FLOAT, 2},
        {{1, 1, 1}, 1, {1, 1, 1}, KVR_HALF, 3},
        {{1024, 2, 1000000}, 1024, {1024, 1, 256}, KVR_HALF, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kvr_storage storage = {.type = {.kind = cases[i].kind}};
        kvr_storage_choose_chunk(&storage, cases[i].rank, cases[i].shape, cases[i].heads);
        for (unsigned axis = 0; axis < 3; axis++)
            ck_assert_msg(storage.chunk[axis] == cases[i].chunk[axis], "case %zu, axis %u: %llu", i,
                          axis, (unsigned long long)storage.chunk[axis]);
    }
}
END_TEST

/* Structure. */

START_TEST(what_was_given_is_read_back)
{
    static char name[] = "a", task[] = "niah", generated[] = " 7 – done";
    static int32_t tokens[TOKENS] = {5, -1, 70000};
    static struct kvr_span needles[] = {{4, 9}, {20, 21}};
    struct kvr_sample sample = plain_sample();
    sample.name = name;
    sample.task = task;
    sample.generated = generated;
    sample.pad = 2;
    sample.head_dim = 64;
    sample.tokens = tokens;
    sample.token_count = TOKENS;
    sample.needles = needles;
    sample.needle_count = 2;
    const struct kvr_layer layer = {.number = 17,
                                    .query_heads = 6,
                                    .kv_heads = 1,
                                    .sliding_window = 512,
                                    .sink_logits = true,
                                    .scale = 0.125,
                                    .softcap = 50};
    const uint64_t columns[][3] = {{6, TOKENS, 1}, {1, TOKENS, 1}};
    double values[6 * TOKENS];
    for (size_t i = 0; i < 6 * TOKENS; i++)
        values[i] = (double)i;
    struct kvr_trace_writer *writer = NULL;
    struct kvr_storage storage = kvr_storage_default();
    ASSERT_OK(kvr_trace_writer_open(scratch_path("t.h5"), "möbius", NULL, &writer, &err));
    ASSERT_OK(kvr_trace_writer_sample(writer, &sample, &err));
    ASSERT_OK(kvr_trace_writer_layer(writer, &layer, &err));
    static const char *const names[] = {"scores/b", "scores/a"};
    for (size_t i = 0; i < 2; i++) {
        struct kvr_dataset_writer *dataset = NULL;
        const uint64_t start[3] = {0, 0, 0};
        ASSERT_OK(
            kvr_trace_writer_dataset(writer, names[i], 2, columns[i], &storage, &dataset, &err));
        ASSERT_OK(kvr_dataset_writer_write(dataset, start, columns[i], values, &err));
    } /* datasets may be left to the commit */
    ASSERT_OK(kvr_trace_writer_commit(writer, &err));

    struct kvr_trace *trace = fixture_trace(scratch_path("t.h5"));
    const struct kvr_sample *found = &trace->samples[0];
    const struct kvr_layer *read = &found->layers[0];
    ck_assert_str_eq(trace->model, "möbius");
    ck_assert_ptr_null(trace->producer);
    ck_assert_str_eq(found->name, "a");
    ck_assert_str_eq(found->task, "niah");
    ck_assert_str_eq(found->generated, " 7 – done");
    ck_assert_ptr_null(found->subset);
    ck_assert_uint_eq(found->context_length, TOKENS);
    ck_assert_uint_eq(found->prompt_length, 35);
    ck_assert_uint_eq(found->pad, 2);
    ck_assert_uint_eq(found->head_dim, 64);
    ck_assert_mem_eq(found->tokens, tokens, sizeof tokens);
    ck_assert_mem_eq(found->query_positions, positions, sizeof positions);
    ck_assert_uint_eq(found->needle_count, 2);
    ck_assert_mem_eq(found->needles, needles, sizeof needles);
    ck_assert_uint_eq(read->number, 17);
    ck_assert_uint_eq(read->query_heads, 6);
    ck_assert_uint_eq(read->kv_heads, 1);
    ck_assert_uint_eq(read->sliding_window, 512);
    ck_assert(read->sink_logits);
    ck_assert_double_eq(read->scale, 0.125);
    ck_assert_double_eq(read->softcap, 50);
    ck_assert_uint_eq(read->column_count, 2);
    ck_assert_str_eq(read->columns[0].name, "a");
    ck_assert(read->columns[0].per_kv_head && !read->columns[1].per_kv_head);
    double back[6 * TOKENS];
    const uint64_t start[3] = {0, 0, 0}, count[3] = {6, TOKENS, 1};
    ASSERT_OK(kvr_trace_read(trace, &read->columns[1].data, start, count, back, &err));
    ck_assert_mem_eq(back, values, sizeof values);
    kvr_trace_close(trace);
}
END_TEST

START_TEST(same_calls_give_the_same_bytes)
{
    double values[ELEMENTS];
    make_values(values);
    struct kvr_storage storage = kvr_storage_default();
    write_trace(scratch_path("a.h5"), &storage, whole, values);
    time_t start = time(NULL);
    while (time(NULL) == start) /* the time of day must not show */
        usleep(20000);
    write_trace(scratch_path("b.h5"), &storage, whole, values);
    size_t lengths[2];
    char *a = scratch_read("a.h5", &lengths[0]), *b = scratch_read("b.h5", &lengths[1]);
    ck_assert_uint_eq(lengths[0], lengths[1]);
    ck_assert_mem_eq(a, b, lengths[0]);
    free(a);
    free(b);
}
END_TEST

START_TEST(what_cannot_be_a_trace_is_refused)
{
    struct kvr_sample sample = plain_sample();
    struct kvr_trace_writer *writer = start_trace(scratch_path("t.h5"));
    struct kvr_dataset_writer *dataset = NULL;
    struct kvr_storage storage = kvr_storage_default();
    const uint64_t other[3] = {HEADS, ROWS, TOKENS + 1};
    ck_assert_int_eq(
        kvr_trace_writer_dataset(writer, "attention", 3, other, &storage, &dataset, &err),
        KVR_INTERNAL);
    ck_assert_int_eq(
        kvr_trace_writer_dataset(writer, "attentions", 3, shape, &storage, &dataset, &err),
        KVR_INTERNAL);
    storage.contiguous = true; /* and filters */
    ck_assert_int_eq(
        kvr_trace_writer_dataset(writer, "attention", 3, shape, &storage, &dataset, &err),
        KVR_BAD_ARGUMENT);
    kvr_trace_writer_abandon(writer);

    writer = start_trace(scratch_path("t.h5"));
    ck_assert_int_eq(kvr_trace_writer_layer(writer, &plain_layer, &err), KVR_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "/samples/0/layers/3") != NULL, "%s", err.message);
    ck_assert_int_eq(kvr_trace_writer_commit(writer, &err), KVR_BAD_ARGUMENT); /* remembered */

    writer = start_trace(scratch_path("t.h5"));
    ck_assert_int_eq(kvr_trace_writer_sample(writer, &sample, &err), KVR_BAD_ARGUMENT);
    kvr_trace_writer_abandon(writer);
    ck_assert_uint_eq(scratch_entries(), 0);
}
END_TEST

/* Whole files or none. */

START_TEST(abandoned_traces_leave_nothing)
{
    static const double values[ELEMENTS];
    struct kvr_trace_writer *writer = start_trace(scratch_path("t.h5"));
    struct kvr_dataset_writer *dataset = NULL;
    struct kvr_storage storage = kvr_storage_default();
    ASSERT_OK(kvr_trace_writer_dataset(writer, "attention", 3, shape, &storage, &dataset, &err));
    const uint64_t start[3] = {0, 0, 0}, part[3] = {1, 2, 3};
    ASSERT_OK(kvr_dataset_writer_write(dataset, start, part, values, &err));
    ck_assert(scratch_exists("t.h5.tmp"));
    kvr_trace_writer_abandon(writer);
    kvr_trace_writer_abandon(NULL);
    ck_assert_uint_eq(scratch_entries(), 0);
    ck_assert_int_eq(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}
END_TEST

START_TEST(the_old_file_stays_until_the_commit)
{
    double values[ELEMENTS];
    unsigned char found[ELEMENTS * 2], expected[ELEMENTS * 2];
    make_values(values);
    struct kvr_storage storage = kvr_storage_default();
    kvr_element_encode(storage.type, values, ELEMENTS, expected);
    write_trace(scratch_path("t.h5"), &storage, whole, values);

    struct kvr_trace_writer *writer = start_trace(scratch_path("t.h5"));
    read_stored(scratch_path("t.h5"), found, sizeof found);
    ck_assert_mem_eq(found, expected, sizeof found);
    struct kvr_dataset_writer *dataset = NULL;
    ASSERT_OK(kvr_trace_writer_dataset(writer, "attention", 3, shape, &storage, &dataset, &err));
    ASSERT_OK(kvr_trace_writer_commit(writer, &err));
    read_stored(scratch_path("t.h5"), found, sizeof found);
    for (size_t i = 0; i < sizeof found; i++)
        ck_assert_uint_eq(found[i], 0); /* what was never written */
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

START_TEST(a_second_writer_is_refused)
{
    struct kvr_trace_writer *first = start_trace(scratch_path("t.h5")), *second = NULL;
    ck_assert_int_eq(kvr_trace_writer_open(scratch_path("t.h5"), NULL, NULL, &second, &err),
                     KVR_IO);
    ck_assert_msg(strstr(err.message, "in use") != NULL, "%s", err.message);
    ck_assert(scratch_exists("t.h5.tmp")); /* not the second one's to remove */
    ASSERT_OK(kvr_trace_writer_commit(first, &err));
    second = start_trace(scratch_path("t.h5"));
    kvr_trace_writer_abandon(second);
    ck_assert(scratch_exists("t.h5"));
}
END_TEST

START_TEST(targets_that_are_no_files_are_refused)
{
    struct kvr_trace_writer *writer = NULL;
    ck_assert_int_eq(mkdir(scratch_path("folder"), 0777), 0);
    static const char *const bad[] = {"folder", "missing/t.h5"};
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(kvr_trace_writer_open(scratch_path(bad[i]), NULL, NULL, &writer, &err),
                         KVR_IO);
    ck_assert_int_eq(kvr_trace_writer_open("/dev/null", NULL, NULL, &writer, &err), KVR_IO);
    ck_assert_msg(strstr(err.message, "device") != NULL, "%s", err.message);
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

/* A sample, a layer, all of attention. No assertions: a child process calls it, too. */
static enum kvr_status add_sample(struct kvr_trace_writer *writer, unsigned number,
                                  const struct kvr_storage *storage, const double *values)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    struct kvr_sample sample = plain_sample();
    sample.name = name;
    struct kvr_dataset_writer *dataset = NULL;
    const uint64_t start[3] = {0, 0, 0};
    enum kvr_status status = kvr_trace_writer_sample(writer, &sample, &err);
    if (status == KVR_OK)
        status = kvr_trace_writer_layer(writer, &plain_layer, &err);
    if (status == KVR_OK)
        status = kvr_trace_writer_dataset(writer, "attention", 3, shape, storage, &dataset, &err);
    if (status == KVR_OK)
        status = kvr_dataset_writer_write(dataset, start, shape, values, &err);
    return status;
}

static enum kvr_status write_samples(const struct kvr_storage *storage, unsigned count,
                                     const double *values)
{
    struct kvr_trace_writer *writer = NULL;
    enum kvr_status status = kvr_trace_writer_open(scratch_path("t.h5"), NULL, NULL, &writer, &err);
    for (unsigned number = 0; status == KVR_OK && number < count; number++)
        status = add_sample(writer, number, storage, values);
    if (status == KVR_OK)
        return kvr_trace_writer_commit(writer, &err);
    kvr_trace_writer_abandon(writer);
    return status;
}

/* Writes a large trace into a file that may not grow beyond `most` bytes. */
static enum kvr_status write_limited(rlim_t most, bool contiguous)
{
    const struct kvr_storage storage = {.type = {.kind = KVR_DOUBLE}, .contiguous = contiguous};
    double values[ELEMENTS];
    struct rlimit old, limit;
    make_values(values);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = most;
    signal(SIGXFSZ, SIG_IGN); /* the write itself then fails */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum kvr_status status = write_samples(&storage, 40, values);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    return status;
}

/* Room runs out at the first byte, in the middle, and close to the end, where only HDF5's closing
   writes: at every place one error, nothing left, HDF5 none the worse. */
START_TEST(a_full_disk_is_told_and_leaves_nothing)
{
    ck_assert_int_eq(write_limited(RLIM_INFINITY, _i % 2 == 0), KVR_OK);
    struct stat info;
    ck_assert_int_eq(stat(scratch_path("t.h5"), &info), 0);
    size_t size = (size_t)info.st_size;
    unlink(scratch_path("t.h5"));
    const size_t limits[] = {0, 1, 3000, size / 3, size - 4096, size - 100, size - 1};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        err = KVR_ERROR_NONE;
        ck_assert_int_eq(write_limited(limits[i], _i % 2 == 0), KVR_IO);
        ck_assert_msg(strstr(err.message, "t.h5\": cannot be written: File too large") != NULL,
                      "limit %zu: %s", limits[i], err.message);
        ck_assert_uint_eq(scratch_entries(), 0);
        ck_assert_int_eq(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    }
    ck_assert_int_eq(write_limited(size, _i % 2 == 0), KVR_OK);
}
END_TEST

static void write_again_and_again(double value)
{
    const struct kvr_storage storage = kvr_storage_default();
    double values[ELEMENTS];
    for (size_t i = 0; i < ELEMENTS; i++)
        values[i] = value;
    while (write_samples(&storage, 1, values) == KVR_OK)
        continue;
    _exit(1);
}

START_TEST(a_killed_writer_leaves_a_whole_file)
{
    double old[ELEMENTS] = {0};
    unsigned char found[ELEMENTS * 2];
    struct kvr_storage storage = kvr_storage_default();
    write_trace(scratch_path("t.h5"), &storage, whole, old);
    for (unsigned i = 0; i < 20; i++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            write_again_and_again(1 + i);
        usleep(1000 + 700 * i);
        kill(child, SIGKILL);
        int status = 0;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFSIGNALED(status)); /* and it had not failed before */
        read_stored(scratch_path("t.h5"), found, sizeof found);
        for (size_t k = 2; k < sizeof found; k++) /* all values are the same one */
            ck_assert_uint_eq(found[k], found[k - 2]);
    }
    /* What the killed one left under its temporary name is no hindrance. */
    write_trace(scratch_path("t.h5"), &storage, whole, old);
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

Suite *kvr_suite_trace_writer(void)
{
    Suite *suite = suite_create("trace_writer");
    TCase *values = tcase_create("values");
    tcase_add_checked_fixture(values, scratch_setup, scratch_teardown);
    tcase_add_loop_test(values, stored_bits_are_the_rounded_values, 0, STORAGES);
    tcase_add_loop_test(values, blocks_of_any_size_give_the_same_values, 0, STEPS);
    tcase_add_test(values, rounding_is_to_nearest_even_and_not_that_of_hdf5);
    tcase_add_test(values, storage_is_as_asked);
    tcase_add_test(values, chosen_chunks_hold_whole_groups);
    suite_add_tcase(suite, values);

    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, scratch_setup, scratch_teardown);
    tcase_add_test(files, what_was_given_is_read_back);
    tcase_add_test(files, same_calls_give_the_same_bytes);
    tcase_add_test(files, what_cannot_be_a_trace_is_refused);
    tcase_add_test(files, abandoned_traces_leave_nothing);
    tcase_add_test(files, the_old_file_stays_until_the_commit);
    tcase_add_test(files, a_second_writer_is_refused);
    tcase_add_test(files, targets_that_are_no_files_are_refused);
    tcase_add_loop_test(files, a_full_disk_is_told_and_leaves_nothing, 0, 2);
    tcase_add_test(files, a_killed_writer_leaves_a_whole_file);
    suite_add_tcase(suite, files);
    return suite;
}
