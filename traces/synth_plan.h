/*
 * Where things stand in a synthetic trace: positions, needles, windows, heads. No values.
 */
#ifndef KVR_SYNTH_PLAN_H
#define KVR_SYNTH_PLAN_H

#include "traces/synth.h"

/* Prefill rows that already look for the answer: the last ones of the prompt. */
enum { KVR_SYNTH_ASKING_ROWS = 4 };

/* One layer of one sample; the same needles and query positions in all its layers. */
struct kvr_synth_plan {
    const struct kvr_synth_options *options;
    uint64_t sample_number;
    struct kvr_sample sample; /* owns its arrays */
    struct kvr_layer layer;
    size_t prefill_rows; /* query rows below the prompt's end */
    uint64_t layer_key;  /* of all random numbers of this layer */
};

/* KVR_BAD_ARGUMENT with what was expected and found. */
enum kvr_status kvr_synth_check(const struct kvr_synth_options *options, struct kvr_error *err);

/* Plans sample `number`, without a layer; to be freed in any case. */
enum kvr_status kvr_synth_plan_sample(const struct kvr_synth_options *options, uint64_t number,
                                      struct kvr_synth_plan *plan, struct kvr_error *err);
void kvr_synth_plan_layer(struct kvr_synth_plan *plan, uint32_t layer);
void kvr_synth_plan_free(struct kvr_synth_plan *plan);

/* Heads of a layer: query heads, KV heads. */
void kvr_synth_layer_heads(const struct kvr_synth_options *options, uint32_t layer,
                           uint32_t *query_heads, uint32_t *kv_heads);

/* The first position that a row at `position` may see. */
uint64_t kvr_synth_first_visible(const struct kvr_synth_plan *plan, uint64_t position);

/* A key for the random numbers of one part of what `key` stands for. */
uint64_t kvr_synth_key(uint64_t key, uint64_t part);

#endif
