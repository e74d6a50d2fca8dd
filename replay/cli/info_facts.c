/*
 * Summing up a trace: groups of equal layers and datasets, and what can be computed from them.
 */
#include "replay/cli/info_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/trace_names.h"

struct gathering {
    struct kvr_info *info;
    size_t layer_capacity, dataset_capacity;
};

struct kvr_row_count kvr_count_rows(const struct kvr_sample *sample)
{
    size_t decode_start = kvr_sample_decode_start(sample);
    return (struct kvr_row_count){decode_start, sample->query_count - decode_start};
}

/* ---------------------------------------------------------------------------- layers */

static bool same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a <= b && a >= b);
}

/* Both absent, or both there with the same last axis where that is a head size. */
static bool same_member(const struct kvr_dataset *a, const struct kvr_dataset *b, bool has_size)
{
    if (a == NULL || b == NULL)
        return a == b;
    return !has_size || a->shape[2] == b->shape[2];
}

static bool same_layer(const struct kvr_layer *a, const struct kvr_layer *b)
{
    if (a->query_heads != b->query_heads || a->kv_heads != b->kv_heads ||
        a->sliding_window != b->sliding_window || a->sink_logits != b->sink_logits ||
        !same_number(a->scale, b->scale) || !same_number(a->softcap, b->softcap) ||
        !same_member(a->attention, b->attention, false) ||
        !same_member(a->accumulated, b->accumulated, false) ||
        !same_member(a->query, b->query, true) || !same_member(a->key, b->key, true) ||
        !same_member(a->value, b->value, true) || a->column_count != b->column_count)
        return false;
    for (size_t c = 0; c < a->column_count; c++)
        if (strcmp(a->columns[c].name, b->columns[c].name) != 0)
            return false;
    return true;
}

static struct kvr_layer_group *find_layer_group(const struct kvr_info *info,
                                                const struct kvr_layer *layer)
{
    for (size_t i = 0; i < info->layer_group_count; i++)
        if (same_layer(info->layer_groups[i].first, layer))
            return &info->layer_groups[i];
    return NULL;
}

static enum kvr_status add_layer_group(struct gathering *gathering, const struct kvr_layer *layer,
                                       struct kvr_layer_group **group, struct kvr_error *err)
{
    struct kvr_info *info = gathering->info;
    void *groups = info->layer_groups;
    enum kvr_status status = kvr_reserve(&groups, &gathering->layer_capacity,
                                         info->layer_group_count + 1, sizeof **group, err);
    info->layer_groups = groups;
    if (status != KVR_OK)
        return status;
    *group = &info->layer_groups[info->layer_group_count++];
    **group = (struct kvr_layer_group){.first = layer};
    return KVR_OK;
}

/* Keeps the numbers sorted: layers come ascending, so that the place is mostly the end. */
static enum kvr_status add_number(struct kvr_layer_group *group, uint64_t number,
                                  struct kvr_error *err)
{
    size_t at = group->number_count;
    while (at > 0 && group->numbers[at - 1] > number)
        at--;
    if (at > 0 && group->numbers[at - 1] == number)
        return KVR_OK;
    void *numbers = group->numbers;
    enum kvr_status status = kvr_reserve(&numbers, &group->capacity, group->number_count + 1,
                                         sizeof *group->numbers, err);
    group->numbers = numbers;
    if (status != KVR_OK)
        return status;
    memmove(group->numbers + at + 1, group->numbers + at,
            (group->number_count - at) * sizeof *group->numbers);
    group->numbers[at] = number;
    group->number_count++;
    return KVR_OK;
}

static enum kvr_status add_layer(struct gathering *gathering, const struct kvr_layer *layer,
                                 size_t sample, struct kvr_error *err)
{
    struct kvr_layer_group *group = find_layer_group(gathering->info, layer);
    enum kvr_status status = KVR_OK;
    if (group == NULL)
        status = add_layer_group(gathering, layer, &group, err);
    if (status != KVR_OK)
        return status;
    if (group->count++ == 0 || group->last_sample != sample)
        group->sample_count++;
    group->last_sample = sample;
    return add_number(group, layer->number, err);
}

/* ---------------------------------------------------------------------------- datasets */

static bool same_storage(const struct kvr_dataset *a, const struct kvr_dataset *b)
{
    return a->rank == b->rank && a->type.kind == b->type.kind &&
           a->type.big_endian == b->type.big_endian && a->type.as_uint16 == b->type.as_uint16 &&
           a->chunked == b->chunked && a->shuffle == b->shuffle && a->deflate == b->deflate &&
           a->deflate_level == b->deflate_level && a->fletcher32 == b->fletcher32 &&
           a->other_filters == b->other_filters;
}

static uint64_t raw_bytes(const struct kvr_dataset *dataset)
{
    uint64_t bytes = kvr_element_size(dataset->type.kind);
    for (unsigned d = 0; d < dataset->rank; d++)
        bytes *= dataset->shape[d];
    return bytes;
}

static void widen(uint64_t *least, uint64_t *most, uint64_t value)
{
    *least = value < *least ? value : *least;
    *most = value > *most ? value : *most;
}

static enum kvr_status add_dataset(struct gathering *gathering, const char *name, bool is_column,
                                   const struct kvr_dataset *dataset, struct kvr_error *err)
{
    struct kvr_info *info = gathering->info;
    size_t i = 0;
    if (dataset == NULL)
        return KVR_OK;
    while (i < info->dataset_group_count && (info->dataset_groups[i].is_column != is_column ||
                                             strcmp(info->dataset_groups[i].name, name) != 0 ||
                                             !same_storage(info->dataset_groups[i].first, dataset)))
        i++;
    if (i == info->dataset_group_count) {
        void *groups = info->dataset_groups;
        enum kvr_status status = kvr_reserve(&groups, &gathering->dataset_capacity, i + 1,
                                             sizeof *info->dataset_groups, err);
        info->dataset_groups = groups;
        if (status != KVR_OK)
            return status;
        struct kvr_dataset_group group = {.name = name, .is_column = is_column, .first = dataset};
        memcpy(group.least_shape, dataset->shape, sizeof group.least_shape);
        memcpy(group.least_chunk, dataset->chunk, sizeof group.least_chunk);
        info->dataset_groups[info->dataset_group_count++] = group;
    }
    struct kvr_dataset_group *group = &info->dataset_groups[i];
    group->count++;
    for (unsigned d = 0; d < dataset->rank; d++) {
        widen(&group->least_shape[d], &group->most_shape[d], dataset->shape[d]);
        widen(&group->least_chunk[d], &group->most_chunk[d], dataset->chunk[d]);
    }
    group->stored_bytes += dataset->stored_bytes;
    group->raw_bytes += raw_bytes(dataset);
    info->datasets++;
    return KVR_OK;
}

/* One kind at a time, so that the groups come in the order in which the format lists them. */
static enum kvr_status gather_datasets(struct gathering *gathering, const struct kvr_trace *trace,
                                       struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t kind = 0; kind <= KVR_MEMBERS; kind++) {
        for (size_t s = 0; s < trace->sample_count; s++) {
            const struct kvr_sample *sample = &trace->samples[s];
            for (size_t l = 0; l < sample->layer_count && status == KVR_OK; l++) {
                const struct kvr_layer *layer = &sample->layers[l];
                if (kind < KVR_MEMBERS)
                    status = add_dataset(gathering, kvr_members[kind].name, false,
                                         kvr_layer_member(layer, (enum kvr_member)kind), err);
                for (size_t c = 0;
                     kind == KVR_MEMBERS && c < layer->column_count && status == KVR_OK; c++)
                    status = add_dataset(gathering, layer->columns[c].name, true,
                                         &layer->columns[c].data, err);
            }
        }
    }
    return status;
}

/* ---------------------------------------------------------------------------- abilities */

static void count_abilities(struct kvr_info *info, const struct kvr_sample *sample)
{
    struct kvr_row_count rows = kvr_count_rows(sample);
    for (size_t l = 0; l < sample->layer_count; l++) {
        const struct kvr_layer *layer = &sample->layers[l];
        enum kvr_origin origin = kvr_layer_rows(layer), none = KVR_MISSING;
        const enum kvr_origin origins[KVR_ABILITIES] = {
            rows.prefill > 0 ? origin : none,
            rows.prefill > 0 ? origin : none,
            kvr_layer_column_sums(sample, layer),
            layer->key != NULL ? KVR_RECORDED : none,
            layer->column_count > 0 ? KVR_RECORDED : none,
            rows.decode > 0 ? origin : none,
            layer->value != NULL ? origin : none,
            layer->query != NULL && layer->key != NULL ? KVR_RECORDED : none,
        };
        for (size_t i = 0; i < KVR_ABILITIES; i++) {
            info->abilities[i].layers += origins[i] != KVR_MISSING;
            info->abilities[i].recomputed += origins[i] == KVR_RECOMPUTED;
        }
    }
}

enum kvr_status kvr_info_gather(const struct kvr_trace *trace, struct kvr_info *info,
                                struct kvr_error *err)
{
    *info = (struct kvr_info){
        .abilities =
            {
                {"last", "last", "attention (or query and key) of the prompt", 0, 0},
                {"window", "window", "attention (or query and key) of the prompt", 0, 0},
                {"accumulated", "accumulated",
                 "accumulated (or key and the query of every prompt row)", 0, 0},
                {"key scores", "key_scores", "key", 0, 0},
                {"columns", "columns", "scores/<name>", 0, 0},
                {"future mass", "future_mass", "attention (or query and key) of decoded tokens", 0,
                 0},
                {"output error", "output_error", "value and attention (or query and key)", 0, 0},
                {"recomputation", "recomputation", "query and key", 0, 0},
            },
    };
    struct gathering gathering = {.info = info};
    enum kvr_status status = KVR_OK;
    for (size_t s = 0; s < trace->sample_count && status == KVR_OK; s++) {
        const struct kvr_sample *sample = &trace->samples[s];
        info->layers += sample->layer_count;
        count_abilities(info, sample);
        for (size_t l = 0; l < sample->layer_count && status == KVR_OK; l++)
            status = add_layer(&gathering, &sample->layers[l], s, err);
    }
    if (status == KVR_OK)
        status = gather_datasets(&gathering, trace, err);
    if (status != KVR_OK)
        kvr_info_free(info);
    return status;
}

void kvr_info_free(struct kvr_info *info)
{
    for (size_t i = 0; i < info->layer_group_count; i++)
        free(info->layer_groups[i].numbers);
    free(info->layer_groups);
    free(info->dataset_groups);
    info->layer_groups = NULL;
    info->dataset_groups = NULL;
    info->layer_group_count = info->dataset_group_count = 0;
}
