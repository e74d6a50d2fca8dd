/*
 * The tables of names, and the fields that belong to them. It must not know files.
 */
#include "formats/trace_names.h"

#include <math.h>
#include <string.h>

static const double most_wide = 9007199254740992.0; /* 2^53: a double is exact up to here */

const struct kvr_member_info kvr_members[KVR_MEMBERS] = {
    [KVR_ATTENTION] = {"attention", "HQT", false}, [KVR_ACCUMULATED] = {"accumulated", "HT", false},
    [KVR_QUERY] = {"query", "HQD", false},         [KVR_KEY] = {"key", "HTD", true},
    [KVR_VALUE] = {"value", "HTD", true},
};

const struct kvr_dataset *kvr_layer_member(const struct kvr_layer *layer, enum kvr_member member)
{
    const struct kvr_dataset *const datasets[KVR_MEMBERS] = {
        [KVR_ATTENTION] = layer->attention, [KVR_ACCUMULATED] = layer->accumulated,
        [KVR_QUERY] = layer->query,         [KVR_KEY] = layer->key,
        [KVR_VALUE] = layer->value,
    };
    return datasets[member];
}

const struct kvr_attribute kvr_sample_attributes[KVR_SAMPLE_ATTRIBUTES] = {
    {"context_length", KVR_WIDE, offsetof(struct kvr_sample, context_length)},
    {"prompt_length", KVR_WIDE, offsetof(struct kvr_sample, prompt_length)},
    {"pad", KVR_WIDE, offsetof(struct kvr_sample, pad)},
    {"query_heads", KVR_NARROW, offsetof(struct kvr_sample, query_heads)},
    {"kv_heads", KVR_NARROW, offsetof(struct kvr_sample, kv_heads)},
    {"head_dim", KVR_NARROW, offsetof(struct kvr_sample, head_dim)},
};

const struct kvr_attribute kvr_layer_attributes[KVR_LAYER_ATTRIBUTES] = {
    {"query_heads", KVR_NARROW, offsetof(struct kvr_layer, query_heads)},
    {"kv_heads", KVR_NARROW, offsetof(struct kvr_layer, kv_heads)},
    {"sliding_window", KVR_WIDE, offsetof(struct kvr_layer, sliding_window)},
    {"sink_logits", KVR_FLAG, offsetof(struct kvr_layer, sink_logits)},
    {"scale", KVR_REAL, offsetof(struct kvr_layer, scale)},
    {"softcap", KVR_REAL, offsetof(struct kvr_layer, softcap)},
};

const struct kvr_attribute *kvr_attribute_named(bool of_layer, const char *name)
{
    const struct kvr_attribute *all = of_layer ? kvr_layer_attributes : kvr_sample_attributes;
    size_t count = of_layer ? KVR_LAYER_ATTRIBUTES : KVR_SAMPLE_ATTRIBUTES;
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    return NULL;
}

double kvr_attribute_get(const struct kvr_attribute *attribute, const void *owner)
{
    const void *field = (const char *)owner + attribute->place;
    switch (attribute->kind) {
    case KVR_WIDE:
        return (double)*(const uint64_t *)field;
    case KVR_NARROW:
        return *(const uint32_t *)field;
    case KVR_FLAG:
        return *(const bool *)field;
    case KVR_REAL:
        break;
    }
    return *(const double *)field;
}

bool kvr_attribute_set(const struct kvr_attribute *attribute, double number, void *owner)
{
    void *field = (char *)owner + attribute->place;
    const double most = attribute->kind == KVR_WIDE ? most_wide : (double)UINT32_MAX;
    bool whole = number >= 0 && number <= most && number == floor(number);
    if (attribute->kind != KVR_REAL && !whole)
        return false;
    switch (attribute->kind) {
    case KVR_WIDE:
        *(uint64_t *)field = (uint64_t)number;
        break;
    case KVR_NARROW:
        *(uint32_t *)field = (uint32_t)number;
        break;
    case KVR_FLAG:
        *(bool *)field = number != 0;
        break;
    case KVR_REAL:
        *(double *)field = number;
        break;
    }
    return true;
}
