/*
 * Private to `kvreplay info`: what a trace holds, summed up so that a page can tell it.
 *
 * Equal layers and equal datasets become groups, whatever their number; no wording here, so that
 * the page and the JSON object say the same.
 */
#ifndef KVR_INFO_FACTS_H
#define KVR_INFO_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace.h"

/* Query rows of a sample: prefill rows stand at positions < P, decode rows from P on. */
struct kvr_row_count {
    size_t prefill, decode;
};

struct kvr_row_count kvr_count_rows(const struct kvr_sample *sample);

/* Layers with the same heads, window, recomputation attributes and datasets. */
struct kvr_layer_group {
    const struct kvr_layer *first;
    uint64_t count;      /* over all samples */
    size_t sample_count; /* samples that have one */
    size_t last_sample;  /* index of the last of them */
    size_t number_count; /* distinct layer numbers */
    uint64_t *numbers;   /* [number_count], ascending */
    size_t capacity;     /* of numbers */
};

/* Datasets of one kind that are stored alike. Shapes may differ, by their tokens for example. */
struct kvr_dataset_group {
    const char *name; /* "attention", …; of a column its name */
    bool is_column;
    const struct kvr_dataset *first;
    uint64_t count;
    uint64_t least_shape[KVR_DATASET_RANK], most_shape[KVR_DATASET_RANK];
    uint64_t least_chunk[KVR_DATASET_RANK], most_chunk[KVR_DATASET_RANK];
    uint64_t stored_bytes, raw_bytes;
};

/* In how many layers (over all samples) a scorer or measure finds what it reads. */
struct kvr_ability {
    const char *name;  /* "key scores", … */
    const char *key;   /* "key_scores", … */
    const char *needs; /* "prefill rows of attention" */
    uint64_t layers;
    uint64_t recomputed; /* of these, where it is computed from query and key */
};

enum { KVR_ABILITIES = 8 };

struct kvr_info {
    uint64_t layers; /* over all samples */
    uint64_t datasets;
    size_t layer_group_count, dataset_group_count;
    struct kvr_layer_group *layer_groups; /* by their first layer in the file */
    struct kvr_dataset_group
        *dataset_groups; /* attention, accumulated, query, key, value, columns */
    struct kvr_ability abilities[KVR_ABILITIES];
};

/* Release with kvr_info_free. */
enum kvr_status kvr_info_gather(const struct kvr_trace *trace, struct kvr_info *info,
                                struct kvr_error *err);
void kvr_info_free(struct kvr_info *info);

#endif
