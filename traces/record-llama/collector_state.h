/*
 * What the files of the collector share; private to collector.c, collect_rows.c and
 * collect_vectors.c.
 */
#ifndef KVR_COLLECTOR_STATE_H
#define KVR_COLLECTOR_STATE_H

#include "traces/record-llama/attention_node.h"
#include "traces/record-llama/collector.h"
#include "traces/record-llama/fused_rows.h"

struct kvr_collected_layer {
    const struct kvr_layer_facts *facts;
    struct kvr_dataset_writer *datasets[KVR_STORED_COUNT]; /* NULL: not stored */
    uint64_t chunk_rows;                                   /* rows of a chunk of attention */
    uint64_t done[KVR_STORED_COUNT];                       /* tokens that were seen */
    double *sums;                                          /* [query heads][context], or NULL */
};

struct kvr_collector {
    struct kvr_collector_plan plan;
    struct kvr_trace_writer *writer;
    struct kvr_collected_layer *layers; /* [plan.facts->count] */
    uint64_t first, count;              /* the batch */
    double *block;                      /* on its way to the writer */
    size_t block_capacity;
    struct kvr_fused_rows fused;
    struct kvr_error failure;
};

/* Room for a x b x c values in collector->block. */
enum kvr_status kvr_collector_room(struct kvr_collector *collector, uint64_t a, uint64_t b,
                                   uint64_t c, struct kvr_error *err);

/* The first position of the batch whose row is recorded, and how many are. */
uint64_t kvr_collector_rows(const struct kvr_collector *collector, uint64_t *count);

/* Rows and column sums of a softmax or fused node. */
enum kvr_status kvr_collect_rows(struct kvr_collector *collector, struct kvr_collected_layer *layer,
                                 const struct ggml_tensor *node, enum kvr_node_kind kind,
                                 struct kvr_error *err);

/* What of query, key and value the node has and the trace stores. */
enum kvr_status kvr_collect_vectors(struct kvr_collector *collector,
                                    struct kvr_collected_layer *layer,
                                    const struct ggml_tensor *node, enum kvr_node_kind kind,
                                    struct kvr_error *err);

#endif
