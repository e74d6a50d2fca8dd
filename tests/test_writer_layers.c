/*
 * The trace writer with datasets of several layers open at once, as a model needs it that is run
 * batch by batch and computes every layer again and again.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "formats/trace_writer.h"
#include "tests/scratch.h"
#include "tests/suites.h"

enum { LAYERS = 3, HEADS = 2, TOKENS = 40, SIZE = 5, BATCH = 16 };

static struct kvr_error err;

#define ASSERT_OK(call) ck_assert_msg((call) == KVR_OK, "%s", err.message)

/* A small whole number, exact in half, that is another for every key. */
static double key_value(uint64_t layer, uint64_t head, uint64_t token, uint64_t i)
{
    return (double)(((layer * HEADS + head) * TOKENS + token) * SIZE + i);
}

static void start_sample(struct kvr_trace_writer *writer, const char *name)
{
    static uint64_t positions[] = {TOKENS - 1};
    char copy[8];
    snprintf(copy, sizeof copy, "%s", name);
    const struct kvr_sample sample = {
        .name = copy,
        .context_length = TOKENS,
        .prompt_length = TOKENS,
        .query_heads = HEADS,
        .kv_heads = HEADS,
        .query_count = 1,
        .query_positions = positions,
    };
    ASSERT_OK(kvr_trace_writer_sample(writer, &sample, &err));
}

static struct kvr_dataset_writer *start_dataset(struct kvr_trace_writer *writer, const char *name,
                                                uint64_t rows, uint64_t chunk)
{
    const uint64_t shape[] = {HEADS, rows, SIZE};
    struct kvr_storage storage = kvr_storage_default();
    storage.chunk[0] = HEADS;
    storage.chunk[1] = chunk;
    storage.chunk[2] = SIZE;
    struct kvr_dataset_writer *dataset = NULL;
    ASSERT_OK(kvr_trace_writer_dataset(writer, name, 3, shape, &storage, &dataset, &err));
    return dataset;
}

static void start_layers(struct kvr_trace_writer *writer, uint64_t chunk,
                         struct kvr_dataset_writer *keys[LAYERS])
{
    for (uint32_t l = 0; l < LAYERS; l++) {
        const struct kvr_layer layer = {
            .number = l, .query_heads = HEADS, .kv_heads = HEADS, .scale = NAN, .softcap = NAN};
        ASSERT_OK(kvr_trace_writer_layer(writer, &layer, &err));
        keys[l] = start_dataset(writer, "key", TOKENS, chunk);
        start_dataset(writer, "query", 1, 1); /* never written: all 0 */
    }
}

static void write_batch(struct kvr_dataset_writer *keys, uint64_t layer, uint64_t first)
{
    double block[HEADS * BATCH * SIZE];
    const uint64_t rows = first + BATCH < TOKENS ? BATCH : TOKENS - first;
    const uint64_t start[] = {0, first, 0}, count[] = {HEADS, rows, SIZE};
    size_t used = 0;
    for (uint64_t h = 0; h < HEADS; h++)
        for (uint64_t t = 0; t < rows; t++)
            for (uint64_t i = 0; i < SIZE; i++)
                block[used++] = key_value(layer, h, first + t, i);
    ASSERT_OK(kvr_dataset_writer_write(keys, start, count, block, &err));
}

static void check_keys(struct kvr_trace *trace, const struct kvr_layer *layer)
{
    double values[HEADS * TOKENS * SIZE];
    const uint64_t start[] = {0, 0, 0};
    ASSERT_OK(kvr_trace_read(trace, layer->key, start, layer->key->shape, values, &err));
    size_t used = 0;
    for (uint64_t h = 0; h < HEADS; h++)
        for (uint64_t t = 0; t < TOKENS; t++)
            for (uint64_t i = 0; i < SIZE; i++)
                ck_assert_double_eq(values[used++], key_value(layer->number, h, t, i));
}

/* Chunks that are batches, and chunks that batches straddle. */
static const uint64_t chunks[] = {BATCH, 7};

START_TEST(layers_are_written_in_turns)
{
    struct kvr_trace_writer *writer = NULL;
    struct kvr_dataset_writer *keys[LAYERS];
    ASSERT_OK(kvr_trace_writer_open(scratch_path("t.h5"), "model", "test", &writer, &err));
    for (int sample = 0; sample < 2; sample++) { /* the second one closes the first one's */
        start_sample(writer, sample == 0 ? "0" : "1");
        start_layers(writer, chunks[_i], keys);
        for (uint64_t first = 0; first < TOKENS; first += BATCH)
            for (uint64_t l = 0; l < LAYERS; l++)
                write_batch(keys[l], l, first);
    }
    ASSERT_OK(kvr_trace_writer_commit(writer, &err));

    struct kvr_trace *trace = NULL;
    ASSERT_OK(kvr_trace_open(scratch_path("t.h5"), NULL, &trace, &err));
    ck_assert_uint_eq(trace->sample_count, 2);
    for (size_t s = 0; s < 2; s++) {
        ck_assert_uint_eq(trace->samples[s].layer_count, LAYERS);
        for (size_t l = 0; l < LAYERS; l++)
            check_keys(trace, &trace->samples[s].layers[l]);
    }
    kvr_trace_close(trace);
}
END_TEST

START_TEST(open_datasets_of_all_layers_are_abandoned)
{
    struct kvr_trace_writer *writer = NULL;
    struct kvr_dataset_writer *keys[LAYERS];
    ASSERT_OK(kvr_trace_writer_open(scratch_path("t.h5"), NULL, NULL, &writer, &err));
    start_sample(writer, "0");
    start_layers(writer, 7, keys);
    write_batch(keys[1], 1, 0);
    kvr_trace_writer_abandon(writer);
    ck_assert_uint_eq(scratch_entries(), 0);
}
END_TEST

Suite *kvr_suite_writer_layers(void)
{
    Suite *suite = suite_create("writer_layers");
    TCase *turns = tcase_create("turns");
    tcase_add_checked_fixture(turns, scratch_setup, scratch_teardown);
    tcase_add_loop_test(turns, layers_are_written_in_turns, 0, sizeof chunks / sizeof *chunks);
    tcase_add_test(turns, open_datasets_of_all_layers_are_abandoned);
    suite_add_tcase(suite, turns);
    return suite;
}
