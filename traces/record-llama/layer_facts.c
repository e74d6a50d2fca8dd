/*
 * Reading the facts off the nodes of a one-token graph. Of the layers with a window llama.cpp keeps
 * fewer tokens in the cache unless told otherwise: that is how they are told from the others.
 */
#include "traces/record-llama/layer_facts.h"

#include <math.h>
#include <stdlib.h>

#include "traces/record-llama/attention_node.h"
#include "formats/base/memory.h"
#include "traces/record-llama/session.h"

/* Cells that a full cache has beyond a window's, which llama.cpp rounds up to 256 and more. */
static const uint64_t beyond_window = 2048;

struct probe {
    const struct kvr_model *model;
    uint64_t context;
    struct kvr_model_facts *facts;
    size_t capacity;
    struct kvr_error failure;
};

static struct kvr_layer_facts *facts_of(struct probe *probe, uint32_t number)
{
    struct kvr_model_facts *facts = probe->facts;
    for (size_t i = 0; i < facts->count; i++)
        if (facts->layers[i].layer.number == number)
            return &facts->layers[i];
    void *items = facts->layers;
    enum kvr_status status = kvr_reserve(&items, &probe->capacity, facts->count + 1,
                                         sizeof *facts->layers, &probe->failure);
    facts->layers = items;
    if (status != KVR_OK)
        return NULL;
    struct kvr_layer_facts *new = &facts->layers[facts->count++];
    *new = (struct kvr_layer_facts){.layer = {.number = number, .scale = NAN, .softcap = NAN}};
    return new;
}

static void note_heads(struct kvr_layer_facts *facts, const struct ggml_tensor *node,
                       enum kvr_node_kind kind)
{
    struct kvr_node_vectors query = kvr_node_query(node, kind), key = kvr_node_key(node, kind);
    facts->layer.query_heads = (uint32_t)query.heads;
    facts->layer.kv_heads = (uint32_t)key.heads;
    facts->key_size = key.size;
    facts->seen_logits = true;
}

static void note_window(const struct probe *probe, struct kvr_layer_facts *facts,
                        const struct ggml_tensor *node, enum kvr_node_kind kind)
{
    if (probe->model->window > 0 && kvr_node_cache_cells(node, kind) < probe->context)
        facts->layer.sliding_window = probe->model->window;
}

static void note_logits(struct kvr_layer_facts *facts, const struct ggml_tensor *node,
                        enum kvr_node_kind kind)
{
    struct kvr_node_logits logits = kvr_node_logits(node, kind);
    facts->layer.scale = logits.scale;
    facts->layer.softcap = logits.softcap;
    facts->layer.sink_logits = logits.sinks != NULL;
    facts->biased = logits.alibi > 0;
    facts->seen_softmax = true;
}

static void note_value(struct kvr_layer_facts *facts, const struct ggml_tensor *node,
                       enum kvr_node_kind kind)
{
    facts->value_size = kvr_node_value(node, kind).size;
    facts->seen_output = true;
}

static bool observe(struct ggml_tensor *node, bool ask, void *observer)
{
    struct probe *probe = observer;
    uint32_t number;
    enum kvr_node_kind kind = kvr_node_kind(node, &number);
    if (!ask || kind == KVR_NODE_OTHER)
        return !ask; /* shapes are known before anything is computed */
    struct kvr_layer_facts *facts = facts_of(probe, number);
    if (facts == NULL)
        return false;
    bool fused = kind == KVR_NODE_FUSED;
    if (fused || kind == KVR_NODE_LOGITS) {
        note_heads(facts, node, kind);
        note_window(probe, facts, node, kind);
    }
    if (fused || kind == KVR_NODE_SOFTMAX)
        note_logits(facts, node, kind);
    if (fused || kind == KVR_NODE_OUTPUT)
        note_value(facts, node, kind);
    return false;
}

static int by_number(const void *a, const void *b)
{
    const struct kvr_layer_facts *x = a, *y = b;
    return (x->layer.number > y->layer.number) - (x->layer.number < y->layer.number);
}

/* A layer of which not all was seen is computed in another way: nothing of it could be recorded. */
static void keep_whole(struct kvr_model_facts *facts)
{
    size_t kept = 0;
    for (size_t i = 0; i < facts->count; i++) {
        const struct kvr_layer_facts *layer = &facts->layers[i];
        if (layer->seen_logits && layer->seen_softmax && layer->seen_output)
            facts->layers[kept++] = *layer;
    }
    facts->count = kept;
}

enum kvr_status kvr_model_facts_find(const struct kvr_model *model, bool fused, unsigned threads,
                                     struct kvr_model_facts *facts, struct kvr_error *err)
{
    *facts = (struct kvr_model_facts){0};
    struct probe probe = {
        .model = model,
        .context = model->window + beyond_window,
        .facts = facts,
    };
    const struct kvr_session_settings settings = {
        .context = probe.context,
        .batch = 8,
        .threads = threads,
        .fused = fused,
        .observe = observe,
        .observer = &probe,
    };
    struct kvr_session *session = NULL;
    const int32_t token = 0;
    enum kvr_status status = kvr_session_open(model, &settings, &session, err);
    if (status == KVR_OK)
        status = kvr_session_run(session, &token, 1, err);
    kvr_session_close(session);
    if (status == KVR_OK && probe.failure.status != KVR_OK) {
        *err = probe.failure;
        status = err->status;
    }
    if (status == KVR_OK) {
        keep_whole(facts);
        if (facts->count == 0)
            status = kvr_fail(err, KVR_UNSUPPORTED,
                              "\"%s\": llama.cpp computes no attention that can be recorded",
                              model->path);
    }
    if (status != KVR_OK)
        kvr_model_facts_free(facts);
    else
        qsort(facts->layers, facts->count, sizeof *facts->layers, by_number);
    return status;
}

void kvr_model_facts_free(struct kvr_model_facts *facts)
{
    free(facts->layers);
    *facts = (struct kvr_model_facts){0};
}
