/*
 * Reductions over a group: how the score vectors of its query heads become what the group ranks
 * by. Always explicit and always in the output, because mixing these up changes every number.
 */
#ifndef KVR_REDUCE_H
#define KVR_REDUCE_H

#include <stddef.h>

enum kvr_reduce_scope {
    KVR_REDUCE_NOTHING, /* every query head keeps its own set; the group holds the union */
    KVR_REDUCE_GROUP,   /* one vector a group */
    KVR_REDUCE_LAYER,   /* one vector for all groups of the layer that are not excluded */
};

/* How a reduction that makes one vector computes it. */
enum kvr_pool_kind { KVR_POOL_NONE, KVR_POOL_MEAN, KVR_POOL_MAX, KVR_POOL_SUM, KVR_POOL_ENTROPY };

struct kvr_reduce {
    const char *name;
    const char *summary;
    enum kvr_reduce_scope scope;
    enum kvr_pool_kind kind;
    /*
     * out[t] from vectors [heads][T], in double in head order, rounded once to float. `weights`
     * [heads] are the sink-isolated entropy weights, used by `entropy` alone. NULL for NOTHING.
     */
    void (*pool)(const float *vectors, size_t heads, size_t count, const double *weights,
                 float *out);
};

/* Ends with a NULL name. */
extern const struct kvr_reduce kvr_reduces[];

/* NULL if there is none of that name. "-" is `mean`: a score that a group has once needs none. */
const struct kvr_reduce *kvr_reduce_find(const char *name);

/* sum_h weights[h] A_h(t) at one candidate, not rounded (premises of theorem 4). */
double kvr_reduce_entropy_at(const float *vectors, size_t heads, size_t count,
                             const double *weights, size_t t);

#endif
