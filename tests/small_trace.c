/*
 * Computing and writing small traces. It knows attention, not what a check makes of it.
 */
#include "tests/small_trace.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/random.h"

static void fill_normal(double *values, size_t count, uint64_t cell)
{
    struct kvr_random random = kvr_random_stream(7, cell);
    for (size_t i = 0; i < count; i++)
        values[i] = 1.4 * kvr_random_normal(&random);
}

void small_begin(struct small_trace *trace, uint64_t tokens, uint64_t prompt)
{
    ck_assert_uint_le(tokens, SMALL_TOKENS);
    memset(trace, 0, sizeof *trace);
    trace->samples = trace->layers = 1;
    trace->tokens = tokens;
    trace->prompt = prompt;
    trace->scale = NAN;
    trace->storage = kvr_storage_default();
    trace->storage.type.kind = KVR_DOUBLE;
    trace->with_ids = true;
    trace->attention = trace->accumulated = trace->gate = true;
    trace->query = trace->key = trace->value = true;
    fill_normal(&trace->queries[0][0][0], sizeof trace->queries / sizeof(double), 0);
    fill_normal(&trace->keys[0][0][0], sizeof trace->keys / sizeof(double), 1);
    fill_normal(&trace->values[0][0][0], sizeof trace->values / sizeof(double), 2);
    fill_normal(&trace->gates[0][0], sizeof trace->gates / sizeof(double), 3);
    for (size_t i = 0; i < SMALL_TOKENS; i++)
        trace->ids[i] = (int32_t)(100 + i);
    small_keep_rows_from(trace, 0);
    small_compute(trace, &(struct small_truth){.scale = 1 / sqrt(SMALL_DIM)});
}

void small_keep_rows_from(struct small_trace *trace, uint64_t first)
{
    trace->rows = (size_t)(trace->tokens - first);
    for (size_t q = 0; q < trace->rows; q++)
        trace->positions[q] = first + q;
}

static void compute_row(struct small_trace *trace, const struct small_truth *truth, size_t head,
                        size_t q)
{
    size_t r = SMALL_HEADS / SMALL_KV_HEADS;
    size_t group = truth->tiled ? head % SMALL_KV_HEADS : head / r;
    uint64_t position = trace->positions[q], start = truth->pad;
    if (truth->window > 0 && position + 1 > truth->window + truth->pad)
        start = position + 1 - truth->window;
    double *row = trace->row[head][q], sum = 0;
    memset(row, 0, sizeof trace->row[head][q]);
    for (uint64_t t = start; t <= position; t++) {
        double logit = 0;
        for (size_t d = 0; d < SMALL_DIM; d++)
            logit += trace->queries[head][q][d] * trace->keys[group][t][d];
        row[t] = exp(truth->scale * logit);
        sum += row[t];
    }
    for (uint64_t t = start; t <= position; t++)
        row[t] /= sum;
}

void small_compute(struct small_trace *trace, const struct small_truth *truth)
{
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < trace->rows; q++)
            compute_row(trace, truth, h, q);
    small_sum(trace, truth->pad);
}

void small_sum(struct small_trace *trace, uint64_t pad)
{
    memset(trace->sums, 0, sizeof trace->sums);
    for (size_t h = 0; h < SMALL_HEADS; h++)
        for (size_t q = 0; q < trace->rows; q++)
            for (uint64_t t = 0; t < trace->tokens; t++)
                if (trace->positions[q] >= pad && trace->positions[q] < trace->prompt)
                    trace->sums[h][t] += trace->row[h][q][t];
}

/* A dataset whose rows lie `stride` doubles apart, and its heads head_stride. */
static void write_rows(struct kvr_trace_writer *writer, const struct small_trace *trace,
                       const char *name, unsigned rank, const uint64_t *shape, const double *values,
                       size_t head_stride, size_t stride)
{
    struct kvr_dataset_writer *dataset = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    enum kvr_status status =
        kvr_trace_writer_dataset(writer, name, rank, shape, &trace->storage, &dataset, &err);
    ck_assert_msg(status == KVR_OK, "%s", err.message);
    uint64_t rows = rank == 2 ? 1 : shape[1];
    for (uint64_t h = 0; h < shape[0]; h++) {
        for (uint64_t q = 0; q < rows; q++) {
            const uint64_t start[KVR_DATASET_RANK] = {h, rank == 2 ? 0 : q, 0};
            const uint64_t count[KVR_DATASET_RANK] = {1, rank == 2 ? shape[1] : 1,
                                                      rank == 2 ? 1 : shape[2]};
            status = kvr_dataset_writer_write(dataset, start, count,
                                              values + h * head_stride + q * stride, &err);
            ck_assert_msg(status == KVR_OK, "%s", err.message);
        }
    }
    status = kvr_dataset_writer_close(dataset, &err);
    ck_assert_msg(status == KVR_OK, "%s", err.message);
}

static void write_layer(struct kvr_trace_writer *writer, const struct small_trace *trace,
                        uint32_t number)
{
    const struct kvr_layer layer = {
        .number = number,
        .query_heads = SMALL_HEADS,
        .kv_heads = SMALL_KV_HEADS,
        .sliding_window = trace->window,
        .sink_logits = trace->sink_logits,
        .scale = trace->scale,
        .softcap = NAN,
    };
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_trace_writer_layer(writer, &layer, &err) == KVR_OK, "%s", err.message);
    const uint64_t n = trace->tokens, rows = trace->rows;
    const size_t row = SMALL_TOKENS, head = SMALL_TOKENS * SMALL_TOKENS;
    const size_t vector = SMALL_DIM, vectors = SMALL_TOKENS * SMALL_DIM;
    if (trace->attention)
        write_rows(writer, trace, "attention", 3, (uint64_t[]){SMALL_HEADS, rows, n},
                   &trace->row[0][0][0], head, row);
    if (trace->accumulated)
        write_rows(writer, trace, "accumulated", 2, (uint64_t[]){SMALL_HEADS, n, 1},
                   &trace->sums[0][0], row, 0);
    if (trace->query)
        write_rows(writer, trace, "query", 3, (uint64_t[]){SMALL_HEADS, rows, SMALL_DIM},
                   &trace->queries[0][0][0], vectors, vector);
    if (trace->key)
        write_rows(writer, trace, "key", 3, (uint64_t[]){SMALL_KV_HEADS, n, SMALL_DIM},
                   &trace->keys[0][0][0], vectors, vector);
    if (trace->value)
        write_rows(writer, trace, "value", 3, (uint64_t[]){SMALL_KV_HEADS, n, SMALL_DIM},
                   &trace->values[0][0][0], vectors, vector);
    if (trace->gate)
        write_rows(writer, trace, "scores/gate", 2, (uint64_t[]){SMALL_HEADS, n, 1},
                   &trace->gates[0][0], row, 0);
}

static void write_sample(struct kvr_trace_writer *writer, const struct small_trace *trace,
                         size_t index)
{
    char name[24];
    snprintf(name, sizeof name, "%zu", index);
    struct kvr_sample sample = {
        .name = name,
        .context_length = trace->tokens,
        .prompt_length = trace->prompt,
        .pad = trace->pad,
        .query_heads = SMALL_HEADS,
        .kv_heads = SMALL_KV_HEADS,
        .token_count = trace->with_ids ? (size_t)trace->tokens : 0,
        .tokens = (int32_t *)trace->ids,
        .query_count = trace->rows,
        .query_positions = (uint64_t *)trace->positions,
        .needle_count = trace->needle_count,
        .needles = (struct kvr_span *)trace->needles,
    };
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_trace_writer_sample(writer, &sample, &err) == KVR_OK, "%s", err.message);
    for (size_t l = 0; l < trace->layers; l++)
        write_layer(writer, trace, (uint32_t)l);
}

void small_write(const struct small_trace *trace, const char *path)
{
    struct kvr_trace_writer *writer = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_trace_writer_open(path, NULL, NULL, &writer, &err) == KVR_OK, "%s",
                  err.message);
    for (size_t s = 0; s < trace->samples; s++)
        write_sample(writer, trace, s);
    ck_assert_msg(kvr_trace_writer_commit(writer, &err) == KVR_OK, "%s", err.message);
}
