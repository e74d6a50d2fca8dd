/*
 * Reading what single layers look like. It must not know how a page shows it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/table_reader.h"
#include "plots/report_layers.h"

struct layer_row {
    const char *trace, *scorer, *budget, *class;
    uint64_t layer, group, head, page_size;
    double uor, j_mean;
    double sink_mass, h2_raw, h2_isolated, weight_raw, weight_isolated, max_prob, needle_mass;
};

struct pass {
    struct kvr_report_layers *layers;
    struct layer_row row;
};

#define TEXT(member)                                                                               \
    {                                                                                              \
        KVR_FIELD(struct layer_row, member, KVR_FIELD_STRING)                                      \
    }
#define WHOLE(member)                                                                              \
    {                                                                                              \
        KVR_FIELD(struct layer_row, member, KVR_FIELD_UNSIGNED)                                    \
    }
#define FIGURE(member)                                                                             \
    {                                                                                              \
        KVR_FIELD(struct layer_row, member, KVR_FIELD_FIGURE)                                      \
    }

static void add_value(struct kvr_prompt_mean *mean, double value)
{
    if (isnan(value))
        return;
    mean->sum += value;
    mean->count++;
}

/* Finds or adds an element of a list; *fresh if it was added, zeroed. */
static enum kvr_status find_place(struct kvr_report_layers *layers, const char *trace,
                                  const char *key, void **list, size_t *count, size_t *capacity,
                                  size_t size, size_t *place, bool *fresh, struct kvr_error *err)
{
    size_t index, before = layers->keys.count;
    void *places = layers->places;
    enum kvr_status status = kvr_names_pair(&layers->keys, trace, key, &index, err);
    if (status == KVR_OK)
        status =
            kvr_reserve(&places, &layers->place_capacity, layers->keys.count, sizeof(size_t), err);
    layers->places = places;
    *fresh = status == KVR_OK && layers->keys.count > before;
    if (*fresh) {
        status = kvr_reserve(list, capacity, *count + 1, size, err);
        if (status != KVR_OK)
            return status;
        memset((char *)*list + *count * size, 0, size);
        layers->places[index] = (*count)++;
    }
    if (status == KVR_OK)
        *place = layers->places[index];
    return status;
}

/* The indices of the row's layer and scorer. */
static enum kvr_status place_layer(struct pass *pass, size_t *layer, size_t *scorer,
                                   struct kvr_error *err)
{
    struct kvr_report_layers *layers = pass->layers;
    void *list = layers->layers;
    char key[64];
    size_t trace;
    bool fresh;
    snprintf(key, sizeof key, "l%llu", (unsigned long long)pass->row.layer);
    enum kvr_status status = kvr_names_index(&layers->traces, pass->row.trace, &trace, err);
    if (status == KVR_OK)
        status = kvr_names_index(&layers->scorers, pass->row.scorer, scorer, err);
    if (status == KVR_OK)
        status = find_place(layers, pass->row.trace, key, &list, &layers->layer_count,
                            &layers->layer_capacity, sizeof *layers->layers, layer, &fresh, err);
    layers->layers = list;
    if (status == KVR_OK && fresh)
        layers->layers[*layer] = (struct kvr_report_layer){trace, pass->row.layer};
    return status;
}

static const struct kvr_field bounds_fields[] = {
    TEXT(trace),  WHOLE(layer), WHOLE(group),   TEXT(scorer),
    TEXT(budget), FIGURE(uor),  FIGURE(j_mean), WHOLE(page_size),
};

static enum kvr_status take_bounds(void *state, const struct kvr_table_reader *reader,
                                   struct kvr_error *err)
{
    struct pass *pass = state;
    struct kvr_report_layers *layers = pass->layers;
    const struct layer_row *row = &pass->row;
    size_t layer, scorer, place;
    char key[96];
    bool fresh;
    (void)reader;
    if (row->page_size != layers->page_size || strcmp(row->budget, layers->budget) != 0)
        return KVR_OK;
    enum kvr_status status = place_layer(pass, &layer, &scorer, err);
    if (status != KVR_OK)
        return status;
    void *list = layers->groups;
    snprintf(key, sizeof key, "l%llu g%llu s%zu", (unsigned long long)row->layer,
             (unsigned long long)row->group, scorer);
    status = find_place(layers, row->trace, key, &list, &layers->group_count,
                        &layers->group_capacity, sizeof *layers->groups, &place, &fresh, err);
    layers->groups = list;
    if (status != KVR_OK)
        return status;
    struct kvr_layer_group *group = &layers->groups[place];
    group->layer = layer;
    group->group = row->group;
    group->scorer = scorer;
    group->uor_most = fmax(group->uor_most, row->uor);
    add_value(&group->uor, row->uor);
    add_value(&group->disagreement, 1 - row->j_mean);
    return KVR_OK;
}

static const struct kvr_field heads_fields[] = {
    TEXT(trace),
    WHOLE(layer),
    WHOLE(group),
    WHOLE(head),
    TEXT(scorer),
    TEXT(class),
    FIGURE(sink_mass),
    FIGURE(h2_raw),
    FIGURE(h2_isolated),
    FIGURE(weight_raw),
    FIGURE(weight_isolated),
    FIGURE(max_prob),
    FIGURE(needle_mass),
};

static void add_head(struct kvr_layer_head *head, const struct layer_row *row)
{
    static const char *const classes[KVR_LAYER_CLASSES] = {"sink", "retrieval", "contextual"};
    for (size_t c = 0; c < KVR_LAYER_CLASSES; c++)
        head->classes[c] += strcmp(row->class, classes[c]) == 0;
    add_value(&head->sink_mass, row->sink_mass);
    add_value(&head->h2_raw, row->h2_raw);
    add_value(&head->h2_isolated, row->h2_isolated);
    add_value(&head->weight_raw, row->weight_raw);
    add_value(&head->weight_isolated, row->weight_isolated);
    add_value(&head->max_prob, row->max_prob);
    add_value(&head->needle_mass, row->needle_mass);
}

static enum kvr_status take_heads(void *state, const struct kvr_table_reader *reader,
                                  struct kvr_error *err)
{
    struct pass *pass = state;
    struct kvr_report_layers *layers = pass->layers;
    const struct layer_row *row = &pass->row;
    size_t layer, scorer, place;
    char key[96];
    bool fresh;
    (void)reader;
    enum kvr_status status = place_layer(pass, &layer, &scorer, err);
    if (status != KVR_OK)
        return status;
    void *list = layers->heads;
    snprintf(key, sizeof key, "l%llu h%llu s%zu", (unsigned long long)row->layer,
             (unsigned long long)row->head, scorer);
    status = find_place(layers, row->trace, key, &list, &layers->head_count, &layers->head_capacity,
                        sizeof *layers->heads, &place, &fresh, err);
    layers->heads = list;
    if (status != KVR_OK)
        return status;
    struct kvr_layer_head *head = &layers->heads[place];
    head->layer = layer;
    head->group = row->group;
    head->head = row->head;
    head->scorer = scorer;
    add_head(head, row);
    return KVR_OK;
}

enum kvr_status kvr_report_layers_read(const char *folder, const char *budget, uint64_t page_size,
                                       struct kvr_report_layers *layers, struct kvr_error *err)
{
    struct pass pass = {.layers = layers};
    *layers = (struct kvr_report_layers){.budget = budget, .page_size = page_size};
    enum kvr_status status = kvr_table_each(folder, "bounds.csv", bounds_fields,
                                            sizeof bounds_fields / sizeof *bounds_fields, &pass.row,
                                            take_bounds, &pass, err);
    if (status == KVR_OK)
        status = kvr_table_each(folder, "heads.csv", heads_fields,
                                sizeof heads_fields / sizeof *heads_fields, &pass.row, take_heads,
                                &pass, err);
    return status;
}

void kvr_report_layers_free(struct kvr_report_layers *layers)
{
    kvr_names_free(&layers->traces);
    kvr_names_free(&layers->scorers);
    kvr_names_free(&layers->keys);
    free(layers->layers);
    free(layers->groups);
    free(layers->heads);
    free(layers->places);
    *layers = (struct kvr_report_layers){.budget = NULL};
}
