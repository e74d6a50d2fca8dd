/*
 * From the nodes of a running graph into the datasets of a trace, layer by layer as they are
 * computed. What is held in memory is a block of one layer, and the column sums.
 *
 * The recorded rows are those from first_row on. Cells of the cache are positions of the text,
 * which holds in a session that is new and keeps windows whole; it is checked.
 */
#ifndef KVR_COLLECTOR_H
#define KVR_COLLECTOR_H

#include "formats/trace_writer.h"
#include "traces/record-llama/layer_facts.h"

struct ggml_tensor;

/* What is stored of a layer: one dataset each. */
enum kvr_stored {
    KVR_STORED_ATTENTION,
    KVR_STORED_ACCUMULATED,
    KVR_STORED_QUERY,
    KVR_STORED_KEY,
    KVR_STORED_VALUE,
    KVR_STORED_COUNT
};

extern const char *const kvr_stored_names[KVR_STORED_COUNT];

struct kvr_collector_plan {
    const struct kvr_model_facts *facts; /* the layers to record */
    bool stored[KVR_STORED_COUNT];
    struct kvr_element_type type; /* of all but the column sums, which are float */
    uint64_t context, prompt_length, first_row;
    uint64_t batch; /* most tokens of a batch */
};

struct kvr_collector;

/* Starts all layers in the writer's current sample. */
enum kvr_status kvr_collector_open(const struct kvr_collector_plan *plan,
                                   struct kvr_trace_writer *writer, struct kvr_collector **out,
                                   struct kvr_error *err);

/* The tokens that the session computes next are those at position first ... first + count - 1. */
void kvr_collector_batch(struct kvr_collector *collector, uint64_t first, uint64_t count);

/* The observer of a session; false stops the run. */
bool kvr_collector_observe(struct ggml_tensor *node, bool ask, void *collector);

/* Why the observer stopped the run; KVR_OK if it did not. */
enum kvr_status kvr_collector_failure(const struct kvr_collector *collector, struct kvr_error *err);

/* After the last batch: writes the column sums; fails where something was never seen. */
enum kvr_status kvr_collector_finish(struct kvr_collector *collector, struct kvr_error *err);

/* NULL is allowed. */
void kvr_collector_close(struct kvr_collector *collector);

#endif
