/*
 * The registry of group reductions.
 */
#include "replay/reduce.h"

#include <string.h>

enum { TILE = 512 }; /* tokens whose sums stay in the cache over all heads */

/* sums[i] = sum_h factor_h A_h(start + i), in head order; weights NULL: every factor is 1. */
static void sum_tile(const float *vectors, size_t heads, size_t count, const double *weights,
                     size_t start, size_t width, double *sums)
{
    memset(sums, 0, width * sizeof *sums);
    for (size_t h = 0; h < heads; h++) {
        const float *vector = vectors + h * count + start;
        if (weights == NULL)
            for (size_t i = 0; i < width; i++)
                sums[i] += (double)vector[i];
        else
            for (size_t i = 0; i < width; i++)
                sums[i] += weights[h] * (double)vector[i];
    }
}

static void pool_sums(const float *vectors, size_t heads, size_t count, const double *weights,
                      double divisor, float *out)
{
    double sums[TILE];
    for (size_t start = 0; start < count; start += TILE) {
        size_t width = count - start < TILE ? count - start : TILE;
        sum_tile(vectors, heads, count, weights, start, width, sums);
        for (size_t i = 0; i < width; i++)
            out[start + i] = (float)(sums[i] / divisor);
    }
}

static void pool_mean(const float *vectors, size_t heads, size_t count, const double *weights,
                      float *out)
{
    (void)weights;
    pool_sums(vectors, heads, count, NULL, (double)heads, out);
}

static void pool_sum(const float *vectors, size_t heads, size_t count, const double *weights,
                     float *out)
{
    (void)weights;
    pool_sums(vectors, heads, count, NULL, 1, out);
}

static void pool_max(const float *vectors, size_t heads, size_t count, const double *weights,
                     float *out)
{
    (void)weights;
    memcpy(out, vectors, count * sizeof *out);
    for (size_t h = 1; h < heads; h++) {
        const float *vector = vectors + h * count;
        for (size_t t = 0; t < count; t++)
            out[t] = vector[t] > out[t] ? vector[t] : out[t];
    }
}

double kvr_reduce_entropy_at(const float *vectors, size_t heads, size_t count,
                             const double *weights, size_t t)
{
    double sum = 0;
    for (size_t h = 0; h < heads; h++)
        sum += weights[h] * (double)vectors[h * count + t];
    return sum;
}

static void pool_entropy(const float *vectors, size_t heads, size_t count, const double *weights,
                         float *out)
{
    pool_sums(vectors, heads, count, weights, 1, out);
}

const struct kvr_reduce kvr_reduces[] = {
    {"head", "every query head for itself; the group holds the union", KVR_REDUCE_NOTHING,
     KVR_POOL_NONE, NULL},
    {"mean", "mean of the group's heads", KVR_REDUCE_GROUP, KVR_POOL_MEAN, pool_mean},
    {"max", "maximum over the group's heads", KVR_REDUCE_GROUP, KVR_POOL_MAX, pool_max},
    {"sum", "sum over the group's heads", KVR_REDUCE_GROUP, KVR_POOL_SUM, pool_sum},
    {"entropy", "heads weighted by sink-isolated Renyi entropy", KVR_REDUCE_GROUP, KVR_POOL_ENTROPY,
     pool_entropy},
    {"layer", "mean over all heads of the layer: one set for its groups", KVR_REDUCE_LAYER,
     KVR_POOL_MEAN, pool_mean},
    {NULL, NULL, KVR_REDUCE_NOTHING, KVR_POOL_NONE, NULL},
};

const struct kvr_reduce *kvr_reduce_find(const char *name)
{
    if (strcmp(name, "-") == 0)
        name = "mean";
    for (const struct kvr_reduce *reduce = kvr_reduces; reduce->name != NULL; reduce++)
        if (strcmp(reduce->name, name) == 0)
            return reduce;
    return NULL;
}
