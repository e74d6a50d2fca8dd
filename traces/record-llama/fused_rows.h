/*
 * Softmax rows of a fused attention node, which itself never stores them: computed again from its
 * query, key and mask, in double. Only the wanted rows are.
 */
#ifndef KVR_FUSED_ROWS_H
#define KVR_FUSED_ROWS_H

#include "traces/record-llama/attention_node.h"

/* Zero-initialised is empty; one is used for all nodes. */
struct kvr_fused_rows {
    const struct ggml_tensor *node;
    struct kvr_node_vectors query, key;
    struct kvr_node_logits logits;
    uint64_t cells; /* of the cache that the rows may see */
    double *keys;   /* [cells][size], of one KV head */
    double *vector; /* [size] */
    double *mask;   /* [cells] */
    size_t key_capacity, vector_capacity, mask_capacity;
};

enum kvr_status kvr_fused_rows_start(struct kvr_fused_rows *rows, const struct ggml_tensor *node,
                                     uint64_t cells, struct kvr_error *err);

/* Takes the keys of a KV head: the next rows are those of its query heads. */
enum kvr_status kvr_fused_rows_head(struct kvr_fused_rows *rows, uint64_t kv_head,
                                    struct kvr_error *err);

/* The row of a token of the batch: [cells]. */
enum kvr_status kvr_fused_rows_compute(struct kvr_fused_rows *rows, uint64_t query_head,
                                       uint64_t token, double *row, struct kvr_error *err);

void kvr_fused_rows_free(struct kvr_fused_rows *rows);

#endif
