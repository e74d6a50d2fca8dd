/*
 * Softmax rows of one layer and one batch: the recorded ones into the trace, all of the prompt into
 * the column sums. They come from the softmax itself, or with fused attention from query and key.
 */
#include <ggml.h>
#include <string.h>

#include "traces/record-llama/collector_state.h"

/* Values of a block of rows, as long as a chunk is not larger. */
static const uint64_t block_values = UINT64_C(1) << 22;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t cells_of(const struct kvr_collector *collector, const struct ggml_tensor *node,
                         enum kvr_node_kind kind)
{
    uint64_t cells =
        kind == KVR_NODE_FUSED ? kvr_node_key(node, kind).tokens : (uint64_t)node->ne[0];
    return least(cells, collector->plan.context);
}

/* That the token at position p lies in cell p shows in the mask: nothing after that cell. */
static enum kvr_status check_place(const struct kvr_collector *collector,
                                   const struct ggml_tensor *node, enum kvr_node_kind kind,
                                   uint64_t token, struct kvr_error *err)
{
    const struct ggml_tensor *mask = kvr_node_logits(node, kind).mask;
    uint64_t position = collector->first + token;
    double seen[2] = {-1, -1};
    if (mask == NULL || mask->ne[0] <= (int64_t)position || mask->ne[1] <= (int64_t)token)
        return kvr_fail(err, KVR_UNSUPPORTED, "attention without a causal mask cannot be recorded");
    uint64_t cells = least(2, (uint64_t)mask->ne[0] - position);
    size_t offset = (size_t)token * mask->nb[1] + (size_t)position * mask->nb[0];
    enum kvr_status status = kvr_node_read(mask, offset, cells, seen, err);
    if (status == KVR_OK && (seen[0] < 0 || seen[1] >= 0))
        return kvr_fail(err, KVR_INTERNAL,
                        "llama.cpp keeps the token at position %llu in another cell",
                        (unsigned long long)position);
    return status;
}

static enum kvr_status check_node(const struct kvr_collector *collector,
                                  const struct kvr_layer_facts *facts,
                                  const struct ggml_tensor *node, enum kvr_node_kind kind,
                                  struct kvr_error *err)
{
    bool fused = kind == KVR_NODE_FUSED;
    uint64_t tokens = fused ? kvr_node_query(node, kind).tokens : (uint64_t)node->ne[1];
    uint64_t heads = fused ? kvr_node_query(node, kind).heads : (uint64_t)node->ne[2];
    if (tokens != collector->count || heads != facts->layer.query_heads || node->ne[3] != 1)
        return kvr_fail(err, KVR_UNSUPPORTED,
                        "layer %u: expected attention of %u heads and %llu tokens, found %llu "
                        "heads and %llu tokens",
                        facts->layer.number, facts->layer.query_heads,
                        (unsigned long long)collector->count, (unsigned long long)heads,
                        (unsigned long long)tokens);
    enum kvr_status status = check_place(collector, node, kind, 0, err);
    return status == KVR_OK ? check_place(collector, node, kind, tokens - 1, err) : status;
}

/* The row of a token of the batch as [context]; cells beyond `cells` stay as they are. */
static enum kvr_status read_row(struct kvr_collector *collector, const struct ggml_tensor *node,
                                enum kvr_node_kind kind, uint64_t head, uint64_t token,
                                uint64_t cells, double *row, struct kvr_error *err)
{
    if (kind == KVR_NODE_FUSED)
        return kvr_fused_rows_compute(&collector->fused, head, token, row, err);
    size_t offset = (size_t)head * node->nb[2] + (size_t)token * node->nb[1];
    return kvr_node_read(node, offset, cells, row, err);
}

/* Rows [first, first + count), by position, of the heads of group g. */
static enum kvr_status write_rows(struct kvr_collector *collector,
                                  const struct kvr_collected_layer *layer,
                                  const struct ggml_tensor *node, enum kvr_node_kind kind,
                                  uint64_t g, uint64_t first, uint64_t count, struct kvr_error *err)
{
    const struct kvr_layer *shape = &layer->facts->layer;
    uint64_t r = shape->query_heads / shape->kv_heads, context = collector->plan.context;
    uint64_t cells = cells_of(collector, node, kind);
    enum kvr_status status = kvr_collector_room(collector, r, count, context, err);
    if (status == KVR_OK && cells < context)
        memset(collector->block, 0, (size_t)(r * count * context) * sizeof *collector->block);
    for (uint64_t i = 0; i < r && status == KVR_OK; i++)
        for (uint64_t q = 0; q < count && status == KVR_OK; q++)
            status = read_row(collector, node, kind, g * r + i, first + q - collector->first, cells,
                              collector->block + (i * count + q) * context, err);
    if (status != KVR_OK)
        return status;
    const uint64_t start[] = {g * r, first - collector->plan.first_row, 0};
    const uint64_t counts[] = {r, count, context};
    return kvr_dataset_writer_write(layer->datasets[KVR_STORED_ATTENTION], start, counts,
                                    collector->block, err);
}

static enum kvr_status record_rows(struct kvr_collector *collector,
                                   const struct kvr_collected_layer *layer,
                                   const struct ggml_tensor *node, enum kvr_node_kind kind,
                                   struct kvr_error *err)
{
    const struct kvr_layer *shape = &layer->facts->layer;
    uint64_t rows, first = kvr_collector_rows(collector, &rows);
    uint64_t row_values = shape->query_heads / shape->kv_heads * collector->plan.context;
    uint64_t chunks = block_values / (row_values * layer->chunk_rows);
    uint64_t step = layer->chunk_rows * (chunks > 0 ? chunks : 1);
    enum kvr_status status = KVR_OK;
    if (rows > 0 && kind == KVR_NODE_FUSED)
        status =
            kvr_fused_rows_start(&collector->fused, node, cells_of(collector, node, kind), err);
    for (uint64_t g = 0; g < shape->kv_heads && rows > 0 && status == KVR_OK; g++) {
        if (kind == KVR_NODE_FUSED)
            status = kvr_fused_rows_head(&collector->fused, g, err);
        for (uint64_t done = 0; done < rows && status == KVR_OK; done += step)
            status = write_rows(collector, layer, node, kind, g, first + done,
                                least(step, rows - done), err);
    }
    return status;
}

/* Adds the rows of prompt tokens to the column sums, in ascending order of position. */
static enum kvr_status add_rows(struct kvr_collector *collector,
                                const struct kvr_collected_layer *layer,
                                const struct ggml_tensor *node, struct kvr_error *err)
{
    uint64_t context = collector->plan.context, end = collector->plan.prompt_length;
    uint64_t tokens = end > collector->first ? least(end - collector->first, collector->count) : 0;
    uint64_t cells = cells_of(collector, node, KVR_NODE_SOFTMAX);
    enum kvr_status status = kvr_collector_room(collector, 1, 1, context, err);
    for (uint64_t h = 0; h < layer->facts->layer.query_heads; h++) {
        double *sums = layer->sums + h * context;
        for (uint64_t token = 0; token < tokens && status == KVR_OK; token++) {
            /* Nothing lies beyond the diagonal. */
            uint64_t seen = least(cells, collector->first + token + 1);
            status =
                read_row(collector, node, KVR_NODE_SOFTMAX, h, token, seen, collector->block, err);
            for (uint64_t t = 0; t < seen && status == KVR_OK; t++)
                sums[t] += collector->block[t];
        }
    }
    return status;
}

enum kvr_status kvr_collect_rows(struct kvr_collector *collector, struct kvr_collected_layer *layer,
                                 const struct ggml_tensor *node, enum kvr_node_kind kind,
                                 struct kvr_error *err)
{
    enum kvr_status status = check_node(collector, layer->facts, node, kind, err);
    if (status == KVR_OK && layer->datasets[KVR_STORED_ATTENTION] != NULL) {
        status = record_rows(collector, layer, node, kind, err);
        layer->done[KVR_STORED_ATTENTION] += collector->count;
    }
    if (status == KVR_OK && layer->sums != NULL) {
        status = add_rows(collector, layer, node, err);
        layer->done[KVR_STORED_ACCUMULATED] += collector->count;
    }
    return status;
}
