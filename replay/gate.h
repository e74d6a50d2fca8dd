/*
 * The gate of PAGE (arXiv 2609.22157): whether the heads of a model agree enough in its first
 * layers, against its last ones, to evict at all.
 */
#ifndef KVR_GATE_H
#define KVR_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "replay/select.h"

enum { KVR_GATE_TOP = 32 };

/* The top sets of one query head, as rising candidate indices: of its raw vector, and of the vector
   without the sinks. */
struct kvr_gate_head {
    size_t count, count_isolated; /* min(32, T), min(32, T - S) */
    uint32_t top[KVR_GATE_TOP], isolated[KVR_GATE_TOP];
};

enum kvr_status kvr_gate_head_of(const float *vector, size_t count, size_t sinks,
                                 struct kvr_select_scratch *scratch, struct kvr_gate_head *head,
                                 struct kvr_error *err);

/* Mean Jaccard index over all pairs of `count` >= 2 heads. `isolated`: of the sets without sinks;
   NaN where those are empty. */
double kvr_gate_agreement(const struct kvr_gate_head *heads, size_t count, bool isolated);

/* Mean agreement of the first third (max(1, floor(L/3))) of L layers minus that of the last third;
   NaN if there is no layer. */
double kvr_gate_difference(const double *agreements, size_t layers);

#endif
