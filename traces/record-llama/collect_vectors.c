/*
 * Query, key and value of one layer and one batch, as attention itself read them: after rotary
 * embedding and normalisation, key and value out of the cache.
 */
#include "traces/record-llama/collector_state.h"

/* Tokens [token, token + count) of all heads, written from row `row` of the dataset on. */
static enum kvr_status copy_vectors(struct kvr_collector *collector,
                                    const struct kvr_node_vectors *vectors, uint64_t token,
                                    uint64_t count, uint64_t row,
                                    struct kvr_dataset_writer *dataset, struct kvr_error *err)
{
    if (count == 0)
        return KVR_OK;
    enum kvr_status status =
        kvr_collector_room(collector, vectors->heads, count, vectors->size, err);
    for (uint64_t h = 0; h < vectors->heads && status == KVR_OK; h++)
        status = kvr_node_read_vectors(vectors, h, token, count,
                                       collector->block + h * count * vectors->size, err);
    if (status != KVR_OK)
        return status;
    const uint64_t start[] = {0, row, 0}, counts[] = {vectors->heads, count, vectors->size};
    return kvr_dataset_writer_write(dataset, start, counts, collector->block, err);
}

static enum kvr_status check_shape(const struct kvr_layer_facts *facts, const char *name,
                                   const struct kvr_node_vectors *vectors, uint64_t heads,
                                   uint64_t size, struct kvr_error *err)
{
    if (vectors->heads == heads && vectors->size == size)
        return KVR_OK;
    return kvr_fail(err, KVR_UNSUPPORTED,
                    "layer %u: expected a %s of %llu heads of size %llu, found %llu of size %llu",
                    facts->layer.number, name, (unsigned long long)heads, (unsigned long long)size,
                    (unsigned long long)vectors->heads, (unsigned long long)vectors->size);
}

static enum kvr_status collect_query(struct kvr_collector *collector,
                                     struct kvr_collected_layer *layer,
                                     const struct kvr_node_vectors *query, struct kvr_error *err)
{
    const struct kvr_layer_facts *facts = layer->facts;
    uint64_t rows, first = kvr_collector_rows(collector, &rows);
    enum kvr_status status =
        check_shape(facts, "query", query, facts->layer.query_heads, facts->key_size, err);
    if (status == KVR_OK)
        status =
            copy_vectors(collector, query, first - collector->first, rows,
                         first - collector->plan.first_row, layer->datasets[KVR_STORED_QUERY], err);
    layer->done[KVR_STORED_QUERY] += query->tokens;
    return status;
}

static enum kvr_status collect_cached(struct kvr_collector *collector,
                                      struct kvr_collected_layer *layer, enum kvr_stored stored,
                                      const struct kvr_node_vectors *vectors, uint64_t size,
                                      struct kvr_error *err)
{
    enum kvr_status status = check_shape(layer->facts, kvr_stored_names[stored], vectors,
                                         layer->facts->layer.kv_heads, size, err);
    if (status == KVR_OK)
        status = copy_vectors(collector, vectors, collector->first, collector->count,
                              collector->first, layer->datasets[stored], err);
    layer->done[stored] += collector->count;
    return status;
}

enum kvr_status kvr_collect_vectors(struct kvr_collector *collector,
                                    struct kvr_collected_layer *layer,
                                    const struct ggml_tensor *node, enum kvr_node_kind kind,
                                    struct kvr_error *err)
{
    bool fused = kind == KVR_NODE_FUSED;
    enum kvr_status status = KVR_OK;
    if ((fused || kind == KVR_NODE_LOGITS) && layer->datasets[KVR_STORED_QUERY] != NULL) {
        struct kvr_node_vectors query = kvr_node_query(node, kind);
        status = collect_query(collector, layer, &query, err);
    }
    if (status == KVR_OK && (fused || kind == KVR_NODE_LOGITS) &&
        layer->datasets[KVR_STORED_KEY] != NULL) {
        struct kvr_node_vectors key = kvr_node_key(node, kind);
        status =
            collect_cached(collector, layer, KVR_STORED_KEY, &key, layer->facts->key_size, err);
    }
    if (status == KVR_OK && (fused || kind == KVR_NODE_OUTPUT) &&
        layer->datasets[KVR_STORED_VALUE] != NULL) {
        struct kvr_node_vectors value = kvr_node_value(node, kind);
        status = collect_cached(collector, layer, KVR_STORED_VALUE, &value,
                                layer->facts->value_size, err);
    }
    return status;
}
