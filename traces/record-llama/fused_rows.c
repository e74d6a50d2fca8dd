/*
 * Row of query head h: softmax over the cells t that the mask lets it see of
 * cap(scale q_h . k_g,t), a sink logit taking part where the model has one.
 */
#include "traces/record-llama/fused_rows.h"

#include <ggml.h>
#include <math.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "formats/element.h"

static enum kvr_status make_room(double **values, size_t *capacity, size_t count,
                                 struct kvr_error *err)
{
    void *items = *values;
    enum kvr_status status = kvr_reserve(&items, capacity, count, sizeof **values, err);
    *values = items;
    return status;
}

enum kvr_status kvr_fused_rows_start(struct kvr_fused_rows *rows, const struct ggml_tensor *node,
                                     uint64_t cells, struct kvr_error *err)
{
    rows->node = node;
    rows->query = kvr_node_query(node, KVR_NODE_FUSED);
    rows->key = kvr_node_key(node, KVR_NODE_FUSED);
    rows->logits = kvr_node_logits(node, KVR_NODE_FUSED);
    rows->cells = cells;
    size_t keys;
    if (rows->logits.mask == NULL || rows->logits.mask->ne[0] < (int64_t)cells)
        return kvr_fail(err, KVR_UNSUPPORTED, "%s: attention without a causal mask", node->name);
    if (!kvr_size_product((size_t)cells, (size_t)rows->key.size, &keys))
        return kvr_fail(err, KVR_NO_MEMORY, "the keys of a head do not fit the memory");
    enum kvr_status status = make_room(&rows->keys, &rows->key_capacity, keys, err);
    if (status == KVR_OK)
        status = make_room(&rows->vector, &rows->vector_capacity, (size_t)rows->query.size, err);
    if (status == KVR_OK)
        status = make_room(&rows->mask, &rows->mask_capacity, (size_t)cells, err);
    return status;
}

enum kvr_status kvr_fused_rows_head(struct kvr_fused_rows *rows, uint64_t kv_head,
                                    struct kvr_error *err)
{
    return kvr_node_read_vectors(&rows->key, kv_head, 0, rows->cells, rows->keys, err);
}

static double logit(const struct kvr_fused_rows *rows, uint64_t cell)
{
    const double *key = rows->keys + cell * rows->key.size;
    double product = 0;
    for (uint64_t i = 0; i < rows->key.size; i++)
        product += rows->vector[i] * key[i];
    product *= rows->logits.scale;
    double cap = rows->logits.softcap;
    return isnan(cap) ? product : cap * tanh(product / cap);
}

/* Kernels multiply by half keys in half, as the product of matrices does without fused attention.
 */
static void round_query(struct kvr_fused_rows *rows)
{
    if (rows->key.tensor->type != GGML_TYPE_F16)
        return;
    for (uint64_t i = 0; i < rows->query.size; i++)
        rows->vector[i] = (double)kvr_half_to_float(kvr_half_from_double(rows->vector[i]));
}

enum kvr_status kvr_fused_rows_compute(struct kvr_fused_rows *rows, uint64_t query_head,
                                       uint64_t token, double *row, struct kvr_error *err)
{
    enum kvr_status status =
        kvr_node_read_vectors(&rows->query, query_head, token, 1, rows->vector, err);
    const struct ggml_tensor *mask = rows->logits.mask;
    if (status == KVR_OK)
        status = kvr_node_read(mask, (size_t)token * mask->nb[1], rows->cells, rows->mask, err);
    double most = -INFINITY, sum = 0, sink = -INFINITY;
    if (status == KVR_OK && rows->logits.sinks != NULL)
        status =
            kvr_node_read(rows->logits.sinks, (size_t)query_head * sizeof(float), 1, &sink, err);
    if (status != KVR_OK)
        return status;
    round_query(rows);
    for (uint64_t t = 0; t < rows->cells; t++) {
        row[t] = rows->mask[t] < 0 ? -INFINITY : logit(rows, t);
        most = fmax(most, row[t]);
    }
    most = fmax(most, sink);
    for (uint64_t t = 0; t < rows->cells; t++) {
        row[t] = exp(row[t] - most);
        sum += row[t];
    }
    sum += exp(sink - most);
    for (uint64_t t = 0; t < rows->cells; t++)
        row[t] /= sum;
    return KVR_OK;
}

void kvr_fused_rows_free(struct kvr_fused_rows *rows)
{
    free(rows->keys);
    free(rows->vector);
    free(rows->mask);
    *rows = (struct kvr_fused_rows){0};
}
