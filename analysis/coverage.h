/*
 * Coverage: how much of a model the replayed part of a trace holds.
 */
#ifndef KVR_COVERAGE_H
#define KVR_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "replay/plan.h"

struct kvr_coverage {
    uint64_t samples;      /* that the plan wants */
    uint64_t groups;       /* (sample, layer, group): what a replay visits */
    uint64_t pairs;        /* different (layer, group) among them */
    uint64_t layers;       /* different layers among them */
    uint64_t model_layers; /* as given, or the highest layer number of the trace + 1 */
    uint64_t model_pairs;  /* (layer, group) pairs of the model; a layer that the trace lacks counts
                              with the KV heads of the first sample */
};

/* model_layers 0: not known. */
enum kvr_status kvr_coverage_of(const struct kvr_plan *plan, const struct kvr_trace *trace,
                                uint64_t model_layers, struct kvr_coverage *coverage,
                                struct kvr_error *err);

#endif
