/*
 * What single layers look like at one budget and page size: groups and heads, means over prompts.
 */
#ifndef KVR_REPORT_LAYERS_H
#define KVR_REPORT_LAYERS_H

#include "formats/base/names.h"
#include "formats/base/text.h"

/* A mean over the prompts that have the value. */
struct kvr_prompt_mean {
    double sum;
    uint64_t count;
};

struct kvr_layer_group {
    size_t layer; /* index into layers */
    uint64_t group;
    size_t scorer;
    struct kvr_prompt_mean uor, disagreement;
    double uor_most;
};

enum { KVR_LAYER_CLASSES = 3 }; /* sink, retrieval, contextual */
struct kvr_layer_head {
    size_t layer;
    uint64_t group, head;
    size_t scorer;
    uint64_t classes[KVR_LAYER_CLASSES]; /* prompts in which it is of the class */
    struct kvr_prompt_mean sink_mass, h2_raw, h2_isolated, weight_raw, weight_isolated;
    struct kvr_prompt_mean max_prob, needle_mass;
};

struct kvr_report_layer {
    size_t trace;
    uint64_t number;
};

struct kvr_report_layers {
    const char *budget; /* as asked for */
    uint64_t page_size;
    struct kvr_names traces, scorers, keys;
    size_t layer_count, layer_capacity, group_count, group_capacity, head_count, head_capacity;
    struct kvr_report_layer *layers;
    struct kvr_layer_group *groups;
    struct kvr_layer_head *heads;
    size_t *places; /* of each key: an index into layers, groups or heads */
    size_t place_capacity;
};

/* Reads bounds.csv at that budget and page size, and heads.csv. Release in any case. */
enum kvr_status kvr_report_layers_read(const char *folder, const char *budget, uint64_t page_size,
                                       struct kvr_report_layers *layers, struct kvr_error *err);
void kvr_report_layers_free(struct kvr_report_layers *layers);

/* Adds the section's content: by trace, a line per layer that opens. */
enum kvr_status kvr_report_add_layers(const struct kvr_report_layers *layers, struct kvr_text *text,
                                      struct kvr_error *err);

#endif
