/*
 * What the attention of each layer of a model looks like: heads, sizes, scale, cap, sinks, window.
 *
 * It is read off the graph that llama.cpp builds for a single token, not off the metadata: which
 * layers have a window, for instance, is for many models written down in llama.cpp alone.
 */
#ifndef KVR_LAYER_FACTS_H
#define KVR_LAYER_FACTS_H

#include "formats/trace.h"
#include "traces/record-llama/model.h"

struct kvr_layer_facts {
    struct kvr_layer layer; /* number, heads, sliding_window, sink_logits, scale, softcap */
    uint64_t key_size, value_size;
    bool seen_logits, seen_softmax, seen_output; /* fused layers have seen all three */
    bool biased;                                 /* by distance (ALiBi): no trace can say so */
};

struct kvr_model_facts {
    size_t count;
    struct kvr_layer_facts *layers; /* by number, ascending; those with attention */
};

/* Runs the model over one token. Release with kvr_model_facts_free. */
enum kvr_status kvr_model_facts_find(const struct kvr_model *model, bool fused, unsigned threads,
                                     struct kvr_model_facts *facts, struct kvr_error *err);
void kvr_model_facts_free(struct kvr_model_facts *facts);

#endif
