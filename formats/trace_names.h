/*
 * The datasets and the numbers of a trace, version 1 (traces/FORMAT.md), by name: one table for all
 * that list them. How they are stored, and which values are allowed, reader and writer say.
 */
#ifndef KVR_TRACE_NAMES_H
#define KVR_TRACE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/trace.h"

/* What a layer may hold beside columns of scores, in the order of the format. */
enum kvr_member { KVR_ATTENTION, KVR_ACCUMULATED, KVR_QUERY, KVR_KEY, KVR_VALUE, KVR_MEMBERS };

struct kvr_member_info {
    const char *name; /* "attention" */
    const char *axes; /* "HQT": H heads, Q query rows, T tokens, D head size */
    bool per_kv_head; /* H is the layer's KV heads; else its query heads */
};

extern const struct kvr_member_info kvr_members[KVR_MEMBERS];

/* The layer's dataset, NULL where it does not hold it. */
const struct kvr_dataset *kvr_layer_member(const struct kvr_layer *layer, enum kvr_member member);

/* Attributes of one number. */
enum kvr_number_kind {
    KVR_WIDE,
    KVR_NARROW,
    KVR_FLAG,
    KVR_REAL
}; /* uint64, uint32, bool, double */

struct kvr_attribute {
    const char *name;
    enum kvr_number_kind kind;
    size_t place; /* in struct kvr_sample or struct kvr_layer */
};

enum { KVR_SAMPLE_ATTRIBUTES = 6, KVR_LAYER_ATTRIBUTES = 6 };
extern const struct kvr_attribute kvr_sample_attributes[KVR_SAMPLE_ATTRIBUTES];
extern const struct kvr_attribute kvr_layer_attributes[KVR_LAYER_ATTRIBUTES];

/* The attribute of a sample, or of a layer, by name; NULL if it has none. */
const struct kvr_attribute *kvr_attribute_named(bool of_layer, const char *name);

/* The attribute's value in its owner, a struct kvr_sample or struct kvr_layer. */
double kvr_attribute_get(const struct kvr_attribute *attribute, const void *owner);

/* Sets it. False, and nothing done, for a number that its kind cannot hold exactly; any whole
   number but 0 is true. */
bool kvr_attribute_set(const struct kvr_attribute *attribute, double number, void *owner);

#endif
