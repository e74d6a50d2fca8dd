/*
 * Rows computed from queries and keys, so that whoever recomputes them gets what was written.
 *
 * Keys carry features (is a sink, is in a needle, where it stands) and queries say how much each
 * counts, by the kind of the head; the other dimensions are noise that makes the broad part. Both
 * are rounded to the element type before a row is computed from them.
 */
#include "traces/synth_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/parallel.h"
#include "formats/base/random.h"

/* The dimensions of a key: sink, needle, three frequencies of the position, noise. */
enum { SINK_DIM, NEEDLE_DIM, POSITION_DIM, FREQUENCIES = 3, NOISE_DIM = 8, MOST_DIM = 1024 };

static const double frequencies[FREQUENCIES] = {0.9, 0.23, 0.05};

enum { KEY_PART = 11, VALUE_PART, QUERY_PART, DIRECTION_PART };

enum { ROWS_PER_TASK = 64 };

struct qkv {
    const struct kvr_synth_plan *plan;
    double *keys; /* [H_KV][N][D], rounded */
};

static uint64_t vector_key(const struct kvr_synth_plan *plan, uint64_t part, uint32_t head,
                           uint64_t position)
{
    uint64_t key = kvr_synth_key(kvr_synth_key(plan->layer_key, part), head);
    return kvr_synth_key(key, position);
}

static void draw_normals(uint64_t key, double deviation, unsigned from, unsigned to, double *vector)
{
    struct kvr_random random = kvr_random_stream(key, 0);
    for (unsigned d = from; d < to; d++)
        vector[d] = deviation * kvr_random_normal(&random);
}

static bool in_needle(const struct kvr_sample *sample, uint64_t position)
{
    for (size_t i = 0; i < sample->needle_count; i++)
        if (position >= sample->needles[i].start && position < sample->needles[i].end)
            return true;
    return false;
}

static void make_key(const struct kvr_synth_plan *plan, uint32_t group, uint64_t position,
                     double *vector)
{
    const struct kvr_sample *sample = &plan->sample;
    draw_normals(vector_key(plan, KEY_PART, group, position), 1, NOISE_DIM, plan->options->head_dim,
                 vector);
    bool sink = position >= sample->pad && position < sample->pad + KVR_SYNTH_SINKS;
    vector[SINK_DIM] = sink ? 1 : 0;
    vector[NEEDLE_DIM] = in_needle(sample, position) ? 1 : 0;
    for (unsigned i = 0; i < FREQUENCIES; i++) {
        vector[POSITION_DIM + 2 * i] = cos(frequencies[i] * (double)position);
        vector[POSITION_DIM + 2 * i + 1] = sin(frequencies[i] * (double)position);
    }
}

/*
 * What a feature has to add to the logit follows from the mass that it should get: the broad part
 * weighs about `seen` tokens, each exp(noise) on average.
 */
static void make_query(const struct kvr_synth_plan *plan, uint32_t head_number, uint64_t position,
                       double *vector)
{
    const struct kvr_sample *sample = &plan->sample;
    struct kvr_synth_head head = kvr_synth_head(plan, head_number);
    unsigned dim = plan->options->head_dim;
    double seen = (double)(position - kvr_synth_first_visible(plan, position) + 1);
    double root = sqrt(dim), noise = root / sqrt(dim - NOISE_DIM);

    double direction[MOST_DIM], own[MOST_DIM];
    draw_normals(vector_key(plan, DIRECTION_PART, head_number, 0), 0.9 * noise, NOISE_DIM, dim,
                 direction);
    draw_normals(vector_key(plan, QUERY_PART, head_number, position), 0.45 * noise, NOISE_DIM, dim,
                 own);
    for (unsigned d = NOISE_DIM; d < dim; d++)
        vector[d] = direction[d] + own[d];

    double sink = log(seen) + (head.kind == KVR_KIND_SINK ? 1 : -3);
    double local = head.kind == KVR_KIND_LOCAL ? log(4 * seen) / FREQUENCIES : 0;
    bool asks = position + KVR_SYNTH_ASKING_ROWS >= sample->prompt_length;
    double tokens = (double)(sample->needle_count * plan->options->needle_length);
    bool retrieves = head.kind == KVR_KIND_RETRIEVAL && asks && tokens > 0;
    vector[SINK_DIM] = root * sink;
    vector[NEEDLE_DIM] = retrieves ? root * log(4 * seen / tokens) : 0;
    for (unsigned i = 0; i < FREQUENCIES; i++) {
        vector[POSITION_DIM + 2 * i] = root * local * cos(frequencies[i] * (double)position);
        vector[POSITION_DIM + 2 * i + 1] = root * local * sin(frequencies[i] * (double)position);
    }
}

void kvr_synth_qkv_vector(const struct kvr_synth_plan *plan, enum kvr_synth_vector which,
                          uint32_t head, uint64_t position, double *vector)
{
    unsigned dim = plan->options->head_dim;
    if (which == KVR_SYNTH_QUERY)
        make_query(plan, head, position, vector);
    else if (which == KVR_SYNTH_KEY)
        make_key(plan, head, position, vector);
    else
        draw_normals(vector_key(plan, VALUE_PART, head, position), 1, 0, dim, vector);
    unsigned char stored[MOST_DIM * sizeof(double)];
    kvr_element_encode(plan->options->storage.type, vector, dim, stored);
    kvr_element_decode(plan->options->storage.type, stored, dim, vector);
}

/* The softmax row at `position`: row[N], 0 where it does not see. */
static void compute_row(const struct qkv *qkv, uint32_t head, uint64_t position, double *row)
{
    const struct kvr_synth_plan *plan = qkv->plan;
    uint64_t length = plan->sample.context_length, first = kvr_synth_first_visible(plan, position);
    unsigned dim = plan->options->head_dim;
    uint32_t group = head / (plan->layer.query_heads / plan->layer.kv_heads);
    double query[MOST_DIM], greatest = -INFINITY, total = 0;
    kvr_synth_qkv_vector(plan, KVR_SYNTH_QUERY, head, position, query);
    memset(row, 0, (size_t)length * sizeof *row);
    for (uint64_t t = first; t <= position; t++) {
        const double *key = qkv->keys + (group * length + t) * dim;
        double dot = 0;
        for (unsigned d = 0; d < dim; d++)
            dot += query[d] * key[d];
        double logit = dot * plan->layer.scale, cap = plan->options->softcap;
        row[t] = cap > 0 ? cap * tanh(logit / cap) : logit;
        greatest = row[t] > greatest ? row[t] : greatest;
    }
    for (uint64_t t = first; t <= position; t++) {
        row[t] = exp(row[t] - greatest);
        total += row[t];
    }
    for (uint64_t t = first; t <= position; t++)
        row[t] /= total;
}

static enum kvr_status qkv_fill(const void *context, const struct kvr_synth_block *block,
                                double *values, struct kvr_error *err)
{
    const struct qkv *qkv = context;
    const struct kvr_sample *sample = &qkv->plan->sample;
    double *row = kvr_alloc((size_t)sample->context_length, sizeof *row, err);
    if (row == NULL)
        return KVR_NO_MEMORY;
    for (uint64_t h = 0; h < block->count[0]; h++) {
        for (uint64_t q = 0; q < block->count[1]; q++) {
            compute_row(qkv, (uint32_t)(block->start[0] + h),
                        sample->query_positions[block->start[1] + q], row);
            memcpy(values, row + block->start[2], (size_t)block->count[2] * sizeof *row);
            values += block->count[2];
        }
    }
    free(row);
    return KVR_OK;
}

/* Column sums: partial sums of fixed runs of rows, added in order. */

struct summing {
    const struct qkv *qkv;
    uint32_t head;
    double *sums;
};

static enum kvr_status sum_run(void *context, size_t run, unsigned thread, void **result,
                               struct kvr_error *err)
{
    (void)thread;
    const struct summing *summing = context;
    const struct kvr_sample *sample = &summing->qkv->plan->sample;
    size_t length = (size_t)sample->context_length;
    double *partial = kvr_alloc(2 * length, sizeof *partial, err);
    if (partial == NULL)
        return KVR_NO_MEMORY;
    double *row = partial + length;
    uint64_t start = sample->pad + (uint64_t)run * ROWS_PER_TASK;
    for (uint64_t p = start; p < start + ROWS_PER_TASK && p < sample->prompt_length; p++) {
        compute_row(summing->qkv, summing->head, p, row);
        for (size_t t = 0; t < length; t++)
            partial[t] += row[t];
    }
    *result = partial;
    return KVR_OK;
}

static enum kvr_status add_run(void *context, size_t run, void *result, struct kvr_error *err)
{
    (void)run;
    (void)err;
    struct summing *summing = context;
    const double *partial = result;
    for (uint64_t t = 0; t < summing->qkv->plan->sample.context_length; t++)
        summing->sums[t] += partial[t];
    free(result);
    return KVR_OK;
}

static void discard_run(void *context, void *result)
{
    (void)context;
    free(result);
}

static enum kvr_status qkv_column_sums(const void *context, uint32_t head, double *sums,
                                       struct kvr_error *err)
{
    const struct qkv *qkv = context;
    const struct kvr_sample *sample = &qkv->plan->sample;
    struct summing summing = {qkv, head, sums};
    memset(sums, 0, (size_t)sample->context_length * sizeof *sums);
    uint64_t rows = sample->prompt_length - sample->pad;
    const struct kvr_tasks tasks = {
        .count = (size_t)((rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK),
        .context = &summing,
        .work = sum_run,
        .commit = add_run,
        .discard = discard_run,
    };
    return kvr_run_ordered(qkv->plan->options->threads, &tasks, err);
}

static void qkv_release(void *context)
{
    struct qkv *qkv = context;
    free(qkv->keys);
    free(qkv);
}

enum kvr_status kvr_synth_qkv_new(const struct kvr_synth_plan *plan,
                                  struct kvr_synth_source *source, struct kvr_error *err)
{
    struct qkv *qkv = kvr_alloc(1, sizeof *qkv, err);
    if (qkv == NULL)
        return KVR_NO_MEMORY;
    size_t length = (size_t)plan->sample.context_length, dim = plan->options->head_dim;
    qkv->plan = plan;
    qkv->keys = kvr_alloc(plan->layer.kv_heads * length * dim, sizeof *qkv->keys, err);
    if (qkv->keys == NULL) {
        qkv_release(qkv);
        return KVR_NO_MEMORY;
    }
    for (uint32_t group = 0; group < plan->layer.kv_heads; group++)
        for (size_t t = 0; t < length; t++)
            kvr_synth_qkv_vector(plan, KVR_SYNTH_KEY, group, t,
                                 qkv->keys + (group * length + t) * dim);
    *source = (struct kvr_synth_source){qkv, qkv_fill, qkv_column_sums, qkv_release};
    return KVR_OK;
}
