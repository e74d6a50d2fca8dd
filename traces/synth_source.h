/*
 * Where the values of one layer come from: head profiles (synth_rows.c) or queries and keys
 * (synth_qkv.c). Who writes them need not know which.
 */
#ifndef KVR_SYNTH_SOURCE_H
#define KVR_SYNTH_SOURCE_H

#include <stddef.h>

#include "traces/synth_broad.h"

/* A block of an [H_Q][Q][N] dataset. */
struct kvr_synth_block {
    uint64_t start[KVR_DATASET_RANK], count[KVR_DATASET_RANK];
};

struct kvr_synth_source {
    void *context;

    /* values[heads][rows][columns] of the block. Thread-safe. */
    enum kvr_status (*fill)(const void *context, const struct kvr_synth_block *block,
                            double *values, struct kvr_error *err);

    /* sums[N]: the columns of all prefill rows of a head, recorded or not. */
    enum kvr_status (*column_sums)(const void *context, uint32_t head, double *sums,
                                   struct kvr_error *err);

    void (*release)(void *context);
};

/* The plan and the tables must outlive the source. */
enum kvr_status kvr_synth_rows_new(const struct kvr_synth_plan *plan,
                                   const struct kvr_synth_broad *broad,
                                   struct kvr_synth_source *source, struct kvr_error *err);
enum kvr_status kvr_synth_qkv_new(const struct kvr_synth_plan *plan,
                                  struct kvr_synth_source *source, struct kvr_error *err);

/* The vectors behind a qkv source, rounded to the element type; vector has head_dim entries. */
enum kvr_synth_vector { KVR_SYNTH_QUERY, KVR_SYNTH_KEY, KVR_SYNTH_VALUE };
void kvr_synth_qkv_vector(const struct kvr_synth_plan *plan, enum kvr_synth_vector which,
                          uint32_t head, uint64_t position, double *vector);

#endif
