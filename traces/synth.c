/*
 * Writing a synthetic trace: samples, layers, datasets, blocks. It must not know how values come
 * about; sources (synth_source.h) make them, in parallel, and they are written in order.
 */
#include "traces/synth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/parallel.h"
#include "traces/synth_source.h"

struct job {
    const struct kvr_synth_options *options;
    const struct kvr_synth_progress *progress;
    struct kvr_trace_writer *writer;
    struct kvr_synth_broad *broad;
    struct kvr_synth_plan plan;
    struct kvr_synth_source source;
    struct kvr_synth_head *heads; /* of the current layer */
};

struct kvr_synth_options kvr_synth_defaults(void)
{
    return (struct kvr_synth_options){
        .samples = 1,
        .layers = 4,
        .query_heads = 8,
        .kv_heads = 2,
        .tokens = 1024,
        .decode = 8,
        .rows = 32,
        .storage = kvr_storage_default(),
        .needles = 1,
        .needle_length = 6,
        .depth = NAN,
        .window_every = 2,
        .attention = true,
        .accumulated = true,
        .head_dim = 32,
        .threads = 1,
    };
}

/* `part` of the current layer is done. */
static void report(const struct job *job, double part)
{
    if (job->progress == NULL || job->progress->report == NULL)
        return;
    double layers = (double)job->options->layers;
    double done = (double)job->plan.sample_number * layers + job->plan.layer.number + part;
    job->progress->report(job->progress->context, done / (layers * (double)job->options->samples));
}

static struct kvr_storage storage_of(const struct job *job)
{
    struct kvr_storage storage = job->options->storage;
    memset(storage.chunk, 0, sizeof storage.chunk);
    return storage;
}

/* Attention. */

struct attention {
    struct job *job;
    struct kvr_dataset_writer *dataset;
    uint64_t shape[KVR_DATASET_RANK];
    uint64_t step[KVR_DATASET_RANK]; /* of the blocks */
    size_t blocks[KVR_DATASET_RANK]; /* how many along each axis */
    size_t total;
};

static struct kvr_synth_block block_at(const struct attention *attention, size_t index)
{
    struct kvr_synth_block block;
    for (unsigned axis = KVR_DATASET_RANK; axis-- > 0;) {
        block.start[axis] = index % attention->blocks[axis] * attention->step[axis];
        index /= attention->blocks[axis];
        uint64_t left = attention->shape[axis] - block.start[axis];
        block.count[axis] = left < attention->step[axis] ? left : attention->step[axis];
    }
    return block;
}

/* Damaged rows are NaN from end to end, masked columns too, as eager kernels leave them. */
static void damage_rows(const struct job *job, const struct kvr_synth_block *block, double *values)
{
    for (uint64_t h = 0; h < block->count[0]; h++) {
        for (uint64_t q = 0; q < block->count[1]; q++, values += block->count[2]) {
            if (!kvr_synth_row_damaged(&job->plan, &job->heads[block->start[0] + h],
                                       (size_t)(block->start[1] + q)))
                continue;
            for (uint64_t t = 0; t < block->count[2]; t++)
                values[t] = NAN;
        }
    }
}

static enum kvr_status make_block(void *context, size_t index, unsigned thread, void **result,
                                  struct kvr_error *err)
{
    (void)thread;
    const struct attention *attention = context;
    const struct job *job = attention->job;
    struct kvr_synth_block block = block_at(attention, index);
    size_t count = (size_t)(block.count[0] * block.count[1] * block.count[2]);
    double *values = kvr_alloc(count, sizeof *values, err);
    if (values == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = job->source.fill(job->source.context, &block, values, err);
    if (status != KVR_OK) {
        free(values);
        return status;
    }
    damage_rows(job, &block, values);
    *result = values;
    return KVR_OK;
}

static enum kvr_status write_block(void *context, size_t index, void *result, struct kvr_error *err)
{
    const struct attention *attention = context;
    struct kvr_synth_block block = block_at(attention, index);
    enum kvr_status status =
        kvr_dataset_writer_write(attention->dataset, block.start, block.count, result, err);
    free(result);
    report(attention->job, 0.9 * (double)(index + 1) / (double)attention->total);
    return status;
}

static void discard_block(void *context, void *result)
{
    (void)context;
    free(result);
}

static enum kvr_status write_blocks(struct attention *attention, struct kvr_error *err)
{
    attention->total = 1;
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++) {
        uint64_t step = attention->step[axis];
        attention->blocks[axis] = (size_t)((attention->shape[axis] + step - 1) / step);
        attention->total *= attention->blocks[axis];
    }
    const struct kvr_tasks tasks = {
        .count = attention->total,
        .context = attention,
        .work = make_block,
        .commit = write_block,
        .discard = discard_block,
    };
    return kvr_run_ordered(attention->job->options->threads, &tasks, err);
}

static enum kvr_status write_attention(struct job *job, struct kvr_error *err)
{
    const struct kvr_sample *sample = &job->plan.sample;
    const struct kvr_layer *layer = &job->plan.layer;
    struct attention attention = {
        .job = job,
        .shape = {layer->query_heads, sample->query_count, sample->context_length},
    };
    if (sample->query_count == 0 || !job->options->attention)
        return KVR_OK;
    /* A block is a chunk; in contiguous storage, a run of one head's rows as long as a chunk. */
    struct kvr_storage storage = storage_of(job);
    uint64_t heads = storage.contiguous ? 1 : layer->query_heads / layer->kv_heads;
    kvr_storage_choose_chunk(&storage, KVR_DATASET_RANK, attention.shape, heads);
    memcpy(attention.step, storage.chunk, sizeof attention.step);
    enum kvr_status status =
        kvr_trace_writer_dataset(job->writer, "attention", KVR_DATASET_RANK, attention.shape,
                                 &storage, &attention.dataset, err);
    if (status == KVR_OK)
        status = write_blocks(&attention, err);
    if (status == KVR_OK)
        status = kvr_dataset_writer_close(attention.dataset, err);
    return status;
}

/* Datasets of one vector per head and position or per head: [heads][N] or [heads][rows][D]. */

/* Makes the values of one head. */
typedef enum kvr_status (*head_function)(struct job *job, uint32_t head, double *values,
                                         struct kvr_error *err);

static enum kvr_status write_heads(struct job *job, const char *name, unsigned rank,
                                   const uint64_t *shape, struct kvr_storage storage,
                                   head_function make, struct kvr_error *err)
{
    size_t count = (size_t)(rank == 3 ? shape[1] * shape[2] : shape[1]);
    double *values = kvr_alloc(count, sizeof *values, err);
    if (values == NULL)
        return KVR_NO_MEMORY;
    struct kvr_dataset_writer *dataset = NULL;
    kvr_storage_choose_chunk(&storage, rank, shape, 1);
    enum kvr_status status =
        kvr_trace_writer_dataset(job->writer, name, rank, shape, &storage, &dataset, err);
    for (uint32_t head = 0; status == KVR_OK && head < shape[0]; head++) {
        uint64_t start[KVR_DATASET_RANK] = {head, 0, 0};
        uint64_t block[KVR_DATASET_RANK] = {1, shape[1], rank == 3 ? shape[2] : 1};
        status = make(job, head, values, err);
        if (status == KVR_OK)
            status = kvr_dataset_writer_write(dataset, start, block, values, err);
    }
    if (status == KVR_OK)
        status = kvr_dataset_writer_close(dataset, err);
    free(values);
    return status;
}

static enum kvr_status make_sums(struct job *job, uint32_t head, double *values,
                                 struct kvr_error *err)
{
    if (job->heads[head].damage != KVR_DAMAGE_ALL)
        return job->source.column_sums(job->source.context, head, values, err);
    for (uint64_t t = 0; t < job->plan.sample.context_length; t++)
        values[t] = NAN;
    return KVR_OK;
}

/* Sums exceed what a half can hold, and drift in it: they are float, or double if all is. */
static enum kvr_status write_accumulated(struct job *job, struct kvr_error *err)
{
    const uint64_t shape[] = {job->plan.layer.query_heads, job->plan.sample.context_length};
    struct kvr_storage storage = storage_of(job);
    if (storage.type.kind != KVR_DOUBLE)
        storage.type.kind = KVR_FLOAT;
    return write_heads(job, "accumulated", 2, shape, storage, make_sums, err);
}

/* A gate in (0, 1) from weights whose mean is 1; needle tokens are kept by any good gate. */
static void make_gate(const struct job *job, double *values)
{
    const struct kvr_sample *sample = &job->plan.sample;
    for (uint64_t t = 0; t < sample->context_length; t++)
        values[t] = values[t] / (1 + values[t]);
    for (size_t i = 0; i < sample->needle_count; i++)
        for (uint64_t t = sample->needles[i].start; t < sample->needles[i].end; t++)
            values[t] = 1 - (1 - values[t]) / 16;
}

static enum kvr_status gate_of(struct job *job, uint32_t head, bool per_query_head, double *values)
{
    uint64_t end = job->plan.sample.context_length;
    for (uint64_t start = 0, stop; start < end; start = stop) {
        stop = start + KVR_SYNTH_TILE < end ? start + KVR_SYNTH_TILE : end;
        if (per_query_head)
            kvr_synth_lasting(job->broad, &job->plan, head, start, stop, values + start);
        else
            kvr_synth_shared(job->broad, &job->plan, head, start, stop, values + start);
    }
    make_gate(job, values);
    return KVR_OK;
}

static enum kvr_status make_group_gate(struct job *job, uint32_t group, double *values,
                                       struct kvr_error *err)
{
    (void)err;
    return gate_of(job, group, false, values);
}

static enum kvr_status make_head_gate(struct job *job, uint32_t head, double *values,
                                      struct kvr_error *err)
{
    (void)err;
    return gate_of(job, head, true, values);
}

static enum kvr_status write_columns(struct job *job, struct kvr_error *err)
{
    const struct kvr_layer *layer = &job->plan.layer;
    const uint64_t group_shape[] = {layer->kv_heads, job->plan.sample.context_length};
    const uint64_t head_shape[] = {layer->query_heads, job->plan.sample.context_length};
    struct kvr_storage storage = storage_of(job);
    enum kvr_status status =
        write_heads(job, "scores/gate", 2, group_shape, storage, make_group_gate, err);
    if (status == KVR_OK)
        status = write_heads(job, "scores/head-gate", 2, head_shape, storage, make_head_gate, err);
    return status;
}

/* Query, key and value. */

/* Where rows are not written, it is their queries that are damaged. */
static enum kvr_status make_queries(struct job *job, uint32_t head, double *values,
                                    struct kvr_error *err)
{
    (void)err;
    const struct kvr_sample *sample = &job->plan.sample;
    uint32_t dim = job->options->head_dim;
    for (size_t row = 0; row < sample->query_count; row++, values += dim) {
        kvr_synth_qkv_vector(&job->plan, KVR_SYNTH_QUERY, head, sample->query_positions[row],
                             values);
        if (!job->options->attention && kvr_synth_row_damaged(&job->plan, &job->heads[head], row))
            values[row % dim] = NAN;
    }
    return KVR_OK;
}

static enum kvr_status make_cached(struct job *job, enum kvr_synth_vector which, uint32_t head,
                                   double *values)
{
    for (uint64_t t = 0; t < job->plan.sample.context_length; t++)
        kvr_synth_qkv_vector(&job->plan, which, head, t, values + t * job->options->head_dim);
    return KVR_OK;
}

static enum kvr_status make_keys(struct job *job, uint32_t head, double *values,
                                 struct kvr_error *err)
{
    (void)err;
    return make_cached(job, KVR_SYNTH_KEY, head, values);
}

static enum kvr_status make_values(struct job *job, uint32_t head, double *values,
                                   struct kvr_error *err)
{
    (void)err;
    return make_cached(job, KVR_SYNTH_VALUE, head, values);
}

static enum kvr_status write_vectors(struct job *job, struct kvr_error *err)
{
    const struct kvr_layer *layer = &job->plan.layer;
    const struct kvr_sample *sample = &job->plan.sample;
    const uint64_t dim = job->options->head_dim;
    const uint64_t queries[] = {layer->query_heads, sample->query_count, dim};
    const uint64_t cached[] = {layer->kv_heads, sample->context_length, dim};
    struct kvr_storage storage = storage_of(job);
    enum kvr_status status = KVR_OK;
    if (sample->query_count > 0)
        status = write_heads(job, "query", 3, queries, storage, make_queries, err);
    if (status == KVR_OK)
        status = write_heads(job, "key", 3, cached, storage, make_keys, err);
    if (status == KVR_OK)
        status = write_heads(job, "value", 3, cached, storage, make_values, err);
    return status;
}

/* Layers, samples, the file. */

static enum kvr_status open_source(struct job *job, struct kvr_error *err)
{
    size_t count = job->plan.layer.query_heads;
    job->heads = kvr_alloc(count, sizeof *job->heads, err);
    if (job->heads == NULL)
        return KVR_NO_MEMORY;
    for (size_t head = 0; head < count; head++)
        job->heads[head] = kvr_synth_head(&job->plan, (uint32_t)head);
    if (!job->options->attention && !job->options->accumulated)
        return KVR_OK;
    return job->options->qkv ? kvr_synth_qkv_new(&job->plan, &job->source, err)
                             : kvr_synth_rows_new(&job->plan, job->broad, &job->source, err);
}

static void close_source(struct job *job)
{
    if (job->source.release != NULL)
        job->source.release(job->source.context);
    job->source = (struct kvr_synth_source){0};
    free(job->heads);
    job->heads = NULL;
}

static enum kvr_status write_layer(struct job *job, uint32_t number, struct kvr_error *err)
{
    const struct kvr_synth_options *options = job->options;
    kvr_synth_plan_layer(&job->plan, number);
    enum kvr_status status = kvr_trace_writer_layer(job->writer, &job->plan.layer, err);
    if (status == KVR_OK)
        status = open_source(job, err);
    if (status == KVR_OK)
        status = write_attention(job, err);
    if (status == KVR_OK && options->accumulated)
        status = write_accumulated(job, err);
    if (status == KVR_OK && options->qkv)
        status = write_vectors(job, err);
    if (status == KVR_OK && options->columns)
        status = write_columns(job, err);
    close_source(job);
    report(job, 1);
    return status;
}

static enum kvr_status write_sample(struct job *job, uint64_t number, struct kvr_error *err)
{
    enum kvr_status status = kvr_synth_plan_sample(job->options, number, &job->plan, err);
    if (status == KVR_OK)
        status = kvr_trace_writer_sample(job->writer, &job->plan.sample, err);
    for (uint32_t layer = 0; status == KVR_OK && layer < job->options->layers; layer++)
        status = write_layer(job, layer, err);
    kvr_synth_plan_free(&job->plan);
    return status;
}

enum kvr_status kvr_synth_write(const char *path, const struct kvr_synth_options *options,
                                const struct kvr_synth_progress *progress, struct kvr_error *err)
{
    enum kvr_status status = kvr_synth_check(options, err);
    if (status != KVR_OK)
        return status;
    struct job job = {.options = options, .progress = progress};
    char producer[64];
    snprintf(producer, sizeof producer, "kvreplay synth, seed %llu",
             (unsigned long long)options->seed);
    job.broad = kvr_synth_broad_new(options, err);
    if (job.broad == NULL)
        return KVR_NO_MEMORY;
    status = kvr_trace_writer_open(path, "synthetic", producer, &job.writer, err);
    for (uint64_t sample = 0; status == KVR_OK && sample < options->samples; sample++)
        status = write_sample(&job, sample, err);
    if (status == KVR_OK)
        status = kvr_trace_writer_commit(job.writer, err);
    else
        kvr_trace_writer_abandon(job.writer);
    free(job.broad);
    return status;
}
