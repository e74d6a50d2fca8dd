/*
 * The nodes of llama.cpp's compute graph that attention consists of, and the bytes of their
 * operands. It must not know what is done with the numbers, nor how a graph is run.
 *
 * Without fused attention a layer l has three of them: "kq-l" = key x query, "kq_soft_max-l" and
 * "kqv-l" = value x softmax. With it there is one flash_attn_ext node, which has all operands.
 */
#ifndef KVR_ATTENTION_NODE_H
#define KVR_ATTENTION_NODE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

struct ggml_tensor;

enum kvr_node_kind {
    KVR_NODE_OTHER,
    KVR_NODE_LOGITS,  /* has query and key */
    KVR_NODE_SOFTMAX, /* is the rows: [heads][tokens][cells] */
    KVR_NODE_OUTPUT,  /* has value */
    KVR_NODE_FUSED,   /* has query, key, value and mask */
};

/* What a node is, and in *layer whose. */
enum kvr_node_kind kvr_node_kind(const struct ggml_tensor *node, uint32_t *layer);

/* One vector for each (head, token); for key and value the tokens are the cells of the cache. */
struct kvr_node_vectors {
    const struct ggml_tensor *tensor;
    uint64_t heads, tokens, size;                  /* size: elements of a vector */
    size_t head_bytes, token_bytes, element_bytes; /* strides */
};

/* Of a node of a kind that has them. */
struct kvr_node_vectors kvr_node_query(const struct ggml_tensor *node, enum kvr_node_kind kind);
struct kvr_node_vectors kvr_node_key(const struct ggml_tensor *node, enum kvr_node_kind kind);
struct kvr_node_vectors kvr_node_value(const struct ggml_tensor *node, enum kvr_node_kind kind);

/* Vectors [token, token + count) of one head as [count][size]. */
enum kvr_status kvr_node_read_vectors(const struct kvr_node_vectors *vectors, uint64_t head,
                                      uint64_t token, uint64_t count, double *values,
                                      struct kvr_error *err);

/* count elements of a tensor that lie next to each other, wherever the tensor's memory is. */
enum kvr_status kvr_node_read(const struct ggml_tensor *tensor, size_t offset, uint64_t count,
                              double *values, struct kvr_error *err);

/* How a softmax or fused node makes weights of products. */
struct kvr_node_logits {
    double scale;                    /* of query . key */
    double softcap;                  /* NaN: none */
    double alibi;                    /* largest slope of a bias by distance; 0: none */
    const struct ggml_tensor *sinks; /* logits without a column, one per head; NULL: none */
    const struct ggml_tensor *mask;  /* added to the logits */
};
struct kvr_node_logits kvr_node_logits(const struct ggml_tensor *node, enum kvr_node_kind kind);

/* How many tokens the cache has room for that this logits or fused node reads its keys from. */
uint64_t kvr_node_cache_cells(const struct ggml_tensor *node, enum kvr_node_kind kind);

#endif
