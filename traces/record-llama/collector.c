/*
 * Opening the datasets of every layer, sending the nodes of the graph to where they are read, and
 * seeing to it that nothing is missing at the end.
 */
#include "traces/record-llama/collector.h"

#include <stdlib.h>
#include <string.h>

#include "traces/record-llama/collector_state.h"
#include "formats/base/memory.h"

const char *const kvr_stored_names[KVR_STORED_COUNT] = {
    [KVR_STORED_ATTENTION] = "attention", [KVR_STORED_ACCUMULATED] = "accumulated",
    [KVR_STORED_QUERY] = "query",         [KVR_STORED_KEY] = "key",
    [KVR_STORED_VALUE] = "value",
};

/* Bytes of a chunk of key or value, which holds a batch of several heads. */
static const uint64_t chunk_bytes = UINT64_C(512) << 10;

enum kvr_status kvr_collector_room(struct kvr_collector *collector, uint64_t a, uint64_t b,
                                   uint64_t c, struct kvr_error *err)
{
    size_t count;
    if (!kvr_size_product((size_t)a, (size_t)b, &count) ||
        !kvr_size_product(count, (size_t)c, &count))
        return kvr_fail(err, KVR_NO_MEMORY, "a block of rows does not fit the memory");
    void *block = collector->block;
    enum kvr_status status =
        kvr_reserve(&block, &collector->block_capacity, count, sizeof *collector->block, err);
    collector->block = block;
    return status;
}

uint64_t kvr_collector_rows(const struct kvr_collector *collector, uint64_t *count)
{
    uint64_t first = collector->first, end = collector->first + collector->count;
    if (first < collector->plan.first_row)
        first = collector->plan.first_row < end ? collector->plan.first_row : end;
    *count = end - first;
    return first;
}

static void shape_of(const struct kvr_collector_plan *plan, const struct kvr_layer_facts *facts,
                     enum kvr_stored stored, uint64_t shape[KVR_DATASET_RANK])
{
    bool per_query_head = stored <= KVR_STORED_QUERY;
    bool of_rows = stored == KVR_STORED_ATTENTION || stored == KVR_STORED_QUERY;
    shape[0] = per_query_head ? facts->layer.query_heads : facts->layer.kv_heads;
    shape[1] = of_rows ? plan->context - plan->first_row : plan->context;
    shape[2] = stored == KVR_STORED_ATTENTION ? plan->context
               : stored == KVR_STORED_VALUE   ? facts->value_size
                                              : facts->key_size;
}

/* Chunks that a batch fills whole go to the file at once; others have to wait in memory. */
static struct kvr_storage storage_of(const struct kvr_collector_plan *plan,
                                     const struct kvr_layer_facts *facts, enum kvr_stored stored,
                                     const uint64_t shape[KVR_DATASET_RANK])
{
    struct kvr_storage storage = kvr_storage_default();
    if (stored == KVR_STORED_ACCUMULATED) {
        storage.type.kind = KVR_FLOAT;
        return storage;
    }
    storage.type = plan->type;
    uint64_t *chunk = storage.chunk;
    if (stored == KVR_STORED_KEY || stored == KVR_STORED_VALUE) {
        chunk[1] = plan->batch < shape[1] ? plan->batch : shape[1];
        chunk[2] = shape[2];
        uint64_t heads = chunk_bytes / (chunk[1] * chunk[2] * kvr_element_size(storage.type.kind));
        chunk[0] = heads > 0 ? heads : 1;
        return storage;
    }
    uint64_t group = facts->layer.query_heads / facts->layer.kv_heads;
    kvr_storage_choose_chunk(&storage, KVR_DATASET_RANK, shape, group);
    while (shape[1] > plan->batch && plan->batch % chunk[1] != 0)
        chunk[1]--;
    return storage;
}

static enum kvr_status open_layer(struct kvr_collector *collector,
                                  const struct kvr_layer_facts *facts,
                                  struct kvr_collected_layer *layer, struct kvr_error *err)
{
    layer->facts = facts;
    enum kvr_status status = kvr_trace_writer_layer(collector->writer, &facts->layer, err);
    for (int stored = 0; stored < KVR_STORED_COUNT && status == KVR_OK; stored++) {
        if (!collector->plan.stored[stored])
            continue;
        uint64_t shape[KVR_DATASET_RANK];
        shape_of(&collector->plan, facts, (enum kvr_stored)stored, shape);
        struct kvr_storage storage =
            storage_of(&collector->plan, facts, (enum kvr_stored)stored, shape);
        if (stored == KVR_STORED_ATTENTION)
            layer->chunk_rows = storage.chunk[1];
        unsigned rank = stored == KVR_STORED_ACCUMULATED ? 2 : 3;
        status = kvr_trace_writer_dataset(collector->writer, kvr_stored_names[stored], rank, shape,
                                          &storage, &layer->datasets[stored], err);
    }
    if (status != KVR_OK || !collector->plan.stored[KVR_STORED_ACCUMULATED])
        return status;
    size_t count;
    if (!kvr_size_product(facts->layer.query_heads, (size_t)collector->plan.context, &count))
        return kvr_fail(err, KVR_NO_MEMORY, "column sums do not fit the memory");
    layer->sums = kvr_alloc(count, sizeof *layer->sums, err);
    return layer->sums != NULL ? KVR_OK : KVR_NO_MEMORY;
}

enum kvr_status kvr_collector_open(const struct kvr_collector_plan *plan,
                                   struct kvr_trace_writer *writer, struct kvr_collector **out,
                                   struct kvr_error *err)
{
    struct kvr_collector *collector = kvr_alloc(1, sizeof *collector, err);
    if (collector == NULL)
        return KVR_NO_MEMORY;
    collector->plan = *plan;
    collector->writer = writer;
    collector->layers = kvr_alloc(plan->facts->count, sizeof *collector->layers, err);
    enum kvr_status status = collector->layers != NULL ? KVR_OK : KVR_NO_MEMORY;
    for (size_t i = 0; i < plan->facts->count && status == KVR_OK; i++)
        status = open_layer(collector, &plan->facts->layers[i], &collector->layers[i], err);
    if (status != KVR_OK) {
        kvr_collector_close(collector);
        return status;
    }
    *out = collector;
    return KVR_OK;
}

void kvr_collector_batch(struct kvr_collector *collector, uint64_t first, uint64_t count)
{
    collector->first = first;
    collector->count = count;
}

static struct kvr_collected_layer *find_layer(struct kvr_collector *collector, uint32_t number)
{
    for (size_t i = 0; i < collector->plan.facts->count; i++)
        if (collector->layers[i].facts->layer.number == number)
            return &collector->layers[i];
    return NULL;
}

static bool is_wanted(const struct kvr_collector_plan *plan, enum kvr_node_kind kind)
{
    bool rows = plan->stored[KVR_STORED_ATTENTION] || plan->stored[KVR_STORED_ACCUMULATED];
    bool logits = plan->stored[KVR_STORED_QUERY] || plan->stored[KVR_STORED_KEY];
    switch (kind) {
    case KVR_NODE_LOGITS:
        return logits;
    case KVR_NODE_SOFTMAX:
        return rows;
    case KVR_NODE_OUTPUT:
        return plan->stored[KVR_STORED_VALUE];
    case KVR_NODE_FUSED:
        return true;
    case KVR_NODE_OTHER:
        break;
    }
    return false;
}

bool kvr_collector_observe(struct ggml_tensor *node, bool ask, void *opaque)
{
    struct kvr_collector *collector = opaque;
    uint32_t number;
    enum kvr_node_kind kind = kvr_node_kind(node, &number);
    struct kvr_collected_layer *layer =
        is_wanted(&collector->plan, kind) ? find_layer(collector, number) : NULL;
    if (ask)
        return layer != NULL;
    if (layer == NULL)
        return true;
    struct kvr_error *err = &collector->failure;
    enum kvr_status status = KVR_OK;
    if (kind == KVR_NODE_SOFTMAX || kind == KVR_NODE_FUSED)
        status = kvr_collect_rows(collector, layer, node, kind, err);
    if (status == KVR_OK)
        status = kvr_collect_vectors(collector, layer, node, kind, err);
    return status == KVR_OK;
}

enum kvr_status kvr_collector_failure(const struct kvr_collector *collector, struct kvr_error *err)
{
    if (collector->failure.status != KVR_OK)
        *err = collector->failure;
    return collector->failure.status;
}

static enum kvr_status check_complete(const struct kvr_collector *collector,
                                      const struct kvr_collected_layer *layer,
                                      struct kvr_error *err)
{
    for (int stored = 0; stored < KVR_STORED_COUNT; stored++)
        if (layer->datasets[stored] != NULL && layer->done[stored] != collector->plan.context)
            return kvr_fail(err, KVR_UNSUPPORTED,
                            "layer %u: llama.cpp computed %s for %llu of %llu tokens",
                            layer->facts->layer.number, kvr_stored_names[stored],
                            (unsigned long long)layer->done[stored],
                            (unsigned long long)collector->plan.context);
    return KVR_OK;
}

enum kvr_status kvr_collector_finish(struct kvr_collector *collector, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; i < collector->plan.facts->count && status == KVR_OK; i++) {
        struct kvr_collected_layer *layer = &collector->layers[i];
        status = check_complete(collector, layer, err);
        if (status != KVR_OK || layer->sums == NULL)
            continue;
        const uint64_t start[KVR_DATASET_RANK] = {0};
        const uint64_t count[] = {layer->facts->layer.query_heads, collector->plan.context, 1};
        status = kvr_dataset_writer_write(layer->datasets[KVR_STORED_ACCUMULATED], start, count,
                                          layer->sums, err);
    }
    return status;
}

void kvr_collector_close(struct kvr_collector *collector)
{
    if (collector == NULL)
        return;
    for (size_t i = 0; collector->layers != NULL && i < collector->plan.facts->count; i++)
        free(collector->layers[i].sums);
    free(collector->layers);
    free(collector->block);
    kvr_fused_rows_free(&collector->fused);
    free(collector);
}
