/*
 * The registry of group reductions.
 */
#include "replay/reduce.h"

#include <string.h>

#include "replay/cpu/cpu_kernels.h"

static void pool_mean(const float *vectors, size_t heads, size_t count, const double *weights,
                      float *out)
{
    (void)weights;
    kvr_kernels()->pool_mean(vectors, heads, count, count, (double)heads, out);
}

static void pool_sum(const float *vectors, size_t heads, size_t count, const double *weights,
                     float *out)
{
    (void)weights;
    kvr_kernels()->pool_mean(vectors, heads, count, count, 1, out);
}

static void pool_max(const float *vectors, size_t heads, size_t count, const double *weights,
                     float *out)
{
    (void)weights;
    kvr_kernels()->pool_max(vectors, heads, count, count, out);
}

static void pool_entropy(const float *vectors, size_t heads, size_t count, const double *weights,
                         float *out)
{
    kvr_kernels()->pool_weighted(vectors, heads, count, count, weights, out);
}

double kvr_reduce_entropy_at(const float *vectors, size_t heads, size_t count,
                             const double *weights, size_t t)
{
    double sum = 0;
    for (size_t h = 0; h < heads; h++)
        sum += weights[h] * (double)vectors[h * count + t];
    return sum;
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
