/*
 * Key norms and key similarity, streamed over blocks of keys. Norms and cosines stay in double
 * until the one rounding; a division by zero makes the vector not finite.
 */
#include "replay/score_keys.h"

#include <math.h>
#include <string.h>

enum { BLOCK_VALUES = 1 << 16 };

/* Keys [from, from + count) of the candidates while they stream by. */
struct key_block {
    const double *keys; /* [count][width] */
    size_t from, count, width;
};

typedef void (*key_visit)(const struct key_block *block, void *context);

static enum kvr_status each_block(const struct kvr_cell *cell, key_visit visit, void *context,
                                  struct kvr_error *err)
{
    const struct kvr_dataset *dataset = cell->key.layer->key;
    size_t width = (size_t)dataset->shape[2], count = cell->candidates.count;
    size_t step = width < BLOCK_VALUES ? BLOCK_VALUES / width : 1;
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    double *keys = kvr_room_take(cell->room, step * width, sizeof *keys, err);
    enum kvr_status status = keys != NULL ? KVR_OK : KVR_NO_MEMORY;
    for (size_t from = 0; status == KVR_OK && from < count; from += step) {
        struct key_block block = {keys, from, count - from < step ? count - from : step, width};
        const uint64_t start[] = {cell->key.group, cell->candidates.first + from, 0};
        const uint64_t size[] = {1, block.count, width};
        status = kvr_trace_read(cell->trace, dataset, start, size, keys, err);
        if (status == KVR_OK)
            visit(&block, context);
    }
    kvr_room_return(cell->room, mark);
    return status;
}

static double dot(const double *a, const double *b, size_t width)
{
    double sum = 0;
    for (size_t d = 0; d < width; d++)
        sum += a[d] * b[d];
    return sum;
}

static void visit_norms(const struct key_block *block, void *context)
{
    float *vector = context;
    for (size_t i = 0; i < block->count; i++) {
        const double *key = block->keys + i * block->width;
        vector[block->from + i] = (float)-sqrt(dot(key, key, block->width));
    }
}

enum kvr_status kvr_score_key_norm(struct kvr_cell *cell, struct kvr_scored *scored,
                                   struct kvr_error *err)
{
    return each_block(cell, visit_norms, scored->vectors, err);
}

static void visit_sum_of_units(const struct key_block *block, void *context)
{
    double *sum = context;
    for (size_t i = 0; i < block->count; i++) {
        const double *key = block->keys + i * block->width;
        double norm = sqrt(dot(key, key, block->width));
        for (size_t d = 0; d < block->width; d++)
            sum[d] += key[d] / norm;
    }
}

struct cosine {
    const double *mean;
    double mean_norm;
    float *vector;
};

static void visit_cosines(const struct key_block *block, void *context)
{
    const struct cosine *cosine = context;
    for (size_t i = 0; i < block->count; i++) {
        const double *key = block->keys + i * block->width;
        double norms = sqrt(dot(key, key, block->width)) * cosine->mean_norm;
        cosine->vector[block->from + i] = (float)-(dot(key, cosine->mean, block->width) / norms);
    }
}

enum kvr_status kvr_score_key_diff(struct kvr_cell *cell, struct kvr_scored *scored,
                                   struct kvr_error *err)
{
    size_t width = (size_t)cell->key.layer->key->shape[2];
    double *mean = kvr_room_take_zeroed(cell->room, width, sizeof *mean, err);
    if (mean == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = each_block(cell, visit_sum_of_units, mean, err);
    if (status != KVR_OK)
        return status;
    for (size_t d = 0; d < width; d++)
        mean[d] /= (double)cell->candidates.count;
    struct cosine cosine = {mean, sqrt(dot(mean, mean, width)), scored->vectors};
    return each_block(cell, visit_cosines, &cosine, err);
}
