/*
 * One layer of a trace: its attributes, and its datasets checked against the shapes that the sample
 * declares. It must not know how values are read.
 */
#include "formats/trace_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/h5_object.h"
#include "formats/h5_type.h"

enum {
    MOST_HEADS = 1 << 16,
    MOST_COLUMNS = 1 << 12,
    ANY_LENGTH = 0, /* of a dimension that is not fixed by the sample */
};

/* A layer while it is loaded. */
struct loading {
    struct kvr_trace_reader *reader;
    hid_t group;
    const char *place; /* "/samples/<name>/layers/<l>" */
    const struct kvr_sample *sample;
    struct kvr_layer *layer;
};

/* What a dataset has to look like; its first length may be another one if other_heads is not 0. */
struct shape {
    unsigned rank;
    uint64_t lengths[KVR_DATASET_RANK];
    uint64_t other_heads;
};

static const char *const row_axes[] = {"heads", "rows", "tokens"};
static const char *const query_axes[] = {"heads", "rows", "dimensions"};
static const char *const key_axes[] = {"heads", "tokens", "dimensions"};

static const char eager_hint[] =
    "fused attention kernels return no weights: record with eager attention "
    "(transformers: attn_implementation=\"eager\")";

/* Attributes. */

static enum kvr_status load_head_count(const struct loading *at, const char *name,
                                       uint32_t of_sample, uint32_t *count, struct kvr_error *err)
{
    uint64_t value = of_sample;
    enum kvr_status status = kvr_h5_unsigned(at->group, name, 1, MOST_HEADS, &value, NULL, err);
    if (status == KVR_OK && value == 0)
        status = kvr_fail(err, KVR_BAD_INPUT,
                          "expected the attribute %s here or in the sample, found none", name);
    *count = (uint32_t)value;
    return status;
}

static enum kvr_status load_heads(const struct loading *at, struct kvr_error *err)
{
    struct kvr_layer *layer = at->layer;
    enum kvr_status status =
        load_head_count(at, "query_heads", at->sample->query_heads, &layer->query_heads, err);
    if (status == KVR_OK)
        status = load_head_count(at, "kv_heads", at->sample->kv_heads, &layer->kv_heads, err);
    if (status == KVR_OK && layer->query_heads % layer->kv_heads != 0)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "expected query_heads to be a multiple of kv_heads, found %u and %u",
                        (unsigned)layer->query_heads, (unsigned)layer->kv_heads);
    return status;
}

static enum kvr_status load_softcap(const struct loading *at, struct kvr_error *err)
{
    struct kvr_layer *layer = at->layer;
    enum kvr_status status = kvr_h5_double(at->group, "softcap", &layer->softcap, err);
    if (status == KVR_OK && layer->softcap < 0)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "attribute softcap: expected a number above 0, found %g", layer->softcap);
    if (status == KVR_OK && !(layer->softcap > 0))
        layer->softcap = NAN; /* 0 is how models say that they have none */
    return status;
}

static enum kvr_status load_attributes(const struct loading *at, struct kvr_error *err)
{
    struct kvr_layer *layer = at->layer;
    uint64_t sinks = 0;
    layer->scale = layer->softcap = NAN;
    enum kvr_status status = load_heads(at, err);
    if (status == KVR_OK)
        status = kvr_h5_unsigned(at->group, "sliding_window", 0, INT64_MAX, &layer->sliding_window,
                                 NULL, err);
    if (status == KVR_OK)
        status = kvr_h5_unsigned(at->group, "sink_logits", 0, 1, &sinks, NULL, err);
    layer->sink_logits = sinks != 0;
    if (status == KVR_OK)
        status = kvr_h5_double(at->group, "scale", &layer->scale, err);
    if (status == KVR_OK)
        status = load_softcap(at, err);
    return status == KVR_OK ? status : kvr_at(err, "%s", at->place);
}

/* Shapes. */

static bool heads_fit(const struct shape *expected, uint64_t heads)
{
    return heads == expected->lengths[0] ||
           (expected->other_heads != 0 && heads == expected->other_heads);
}

static bool fits(const struct shape *expected, const struct kvr_h5_dataset *found)
{
    if (found->rank != expected->rank || found->empty || !heads_fit(expected, found->shape[0]))
        return false;
    for (unsigned i = 1; i < expected->rank; i++)
        if (expected->lengths[i] != ANY_LENGTH && found->shape[i] != expected->lengths[i])
            return false;
    return true;
}

static void describe_expected(const struct shape *expected, char *text, size_t size)
{
    char heads[48], lengths[2][32] = {"", ""};
    snprintf(heads, sizeof heads, "%llu", (unsigned long long)expected->lengths[0]);
    if (expected->other_heads != 0 && expected->other_heads != expected->lengths[0])
        snprintf(heads, sizeof heads, "%llu or %llu", (unsigned long long)expected->lengths[0],
                 (unsigned long long)expected->other_heads);
    for (unsigned i = 1; i < expected->rank; i++) {
        if (expected->lengths[i] == ANY_LENGTH)
            snprintf(lengths[i - 1], sizeof lengths[0], "[head size]");
        else
            snprintf(lengths[i - 1], sizeof lengths[0], "[%llu]",
                     (unsigned long long)expected->lengths[i]);
    }
    snprintf(text, size, "[%s]%s%s", heads, lengths[0], lengths[1]);
}

/* The usual ways in which rows and columns of attention come out wrong. */
static enum kvr_status hint_at_shape(const struct loading *at, const struct shape *expected,
                                     const struct kvr_h5_dataset *found, struct kvr_error *err)
{
    const uint64_t tokens = at->sample->context_length;
    unsigned last = expected->rank - 1;
    if (found->rank == expected->rank + 1 && found->shape[0] == 1)
        return kvr_hint(err, "drop the batch axis: a sample is one prompt");
    if (found->rank != expected->rank)
        return KVR_BAD_INPUT;
    if (!heads_fit(expected, found->shape[0]))
        return kvr_hint(err, "query_heads and kv_heads of the layer win over those of the sample");
    if (expected->lengths[last] != tokens || found->shape[last] == tokens)
        return KVR_BAD_INPUT;
    if (found->shape[last] > tokens)
        return kvr_hint(err, "cut padded columns: a row has one column for each of the %llu tokens",
                        (unsigned long long)tokens);
    return kvr_hint(err,
                    "a row has a column for each of the %llu tokens, 0 where masked, in a "
                    "window layer (attribute sliding_window) too",
                    (unsigned long long)tokens);
}

static enum kvr_status check_shape(const struct loading *at, const struct shape *expected,
                                   const struct kvr_h5_dataset *found, struct kvr_error *err)
{
    char wanted[128], got[160];
    if (fits(expected, found))
        return KVR_OK;
    describe_expected(expected, wanted, sizeof wanted);
    kvr_h5_describe_shape(found->rank, found->shape, got, sizeof got);
    if (found->empty) {
        kvr_fail(err, KVR_BAD_INPUT, "expected shape %s, found an empty dataset%s%s", wanted,
                 found->rank > 0 ? " " : "", found->rank > 0 ? got : "");
        return kvr_hint(err, "%s", eager_hint);
    }
    kvr_fail(err, KVR_BAD_INPUT, "expected shape %s, found %s", wanted, got);
    return hint_at_shape(at, expected, found, err);
}

/* Datasets. */

static enum kvr_status store(struct kvr_trace_reader *reader, const struct kvr_h5_storage *storage,
                             const char *const *axes, uint64_t *index, struct kvr_error *err)
{
    void *items = reader->datasets;
    enum kvr_status status = kvr_reserve(&items, &reader->dataset_capacity,
                                         reader->dataset_count + 1, sizeof *reader->datasets, err);
    if (status != KVR_OK)
        return status;
    reader->datasets = items;
    *index = reader->dataset_count++;
    reader->datasets[*index] = (struct kvr_stored_dataset){.storage = *storage, .axes = axes};
    return KVR_OK;
}

static void describe_storage(const struct kvr_h5_dataset *opened,
                             const struct kvr_h5_storage *storage, struct kvr_dataset *dataset)
{
    dataset->rank = opened->rank;
    for (unsigned i = 0; i < KVR_DATASET_RANK; i++) {
        dataset->shape[i] = i < opened->rank ? opened->shape[i] : 1;
        dataset->chunk[i] = storage->chunk[i];
    }
    dataset->chunked = storage->layout == KVR_H5_CHUNKED;
    dataset->shuffle = storage->shuffle;
    dataset->deflate = storage->deflate;
    dataset->fletcher32 = storage->fletcher32;
    dataset->deflate_level = storage->deflate_level;
    dataset->other_filters = storage->other_filters;
    dataset->stored_bytes = storage->stored_bytes;
}

/* Fills *dataset (its path is set) from the open dataset `id`, which is closed. */
static enum kvr_status inspect(const struct loading *at, hid_t id, const struct shape *expected,
                               const char *const *axes, struct kvr_dataset *dataset,
                               struct kvr_error *err)
{
    struct kvr_h5_dataset opened;
    struct kvr_h5_storage storage;
    struct kvr_h5_limits limits = kvr_trace_limits(at->reader, true);
    enum kvr_status status = kvr_h5_inspect(id, &opened, err);
    if (status == KVR_OK)
        status = check_shape(at, expected, &opened, err);
    if (status == KVR_OK)
        status = kvr_h5_element_type(opened.id, opened.type, &dataset->type, err);
    if (status == KVR_OK)
        status = kvr_h5_inspect_storage(&opened, &limits, &storage, err);
    if (status == KVR_OK)
        status = store(at->reader, &storage, axes, &dataset->index, err);
    if (status == KVR_OK)
        describe_storage(&opened, &storage, dataset);
    kvr_h5_release(&opened);
    return status == KVR_OK ? status : kvr_at(err, "%s", dataset->path);
}

static char *member_path(const char *place, const char *name, struct kvr_error *err)
{
    size_t size = strlen(place) + strlen(name) + 2;
    char *path = kvr_alloc(size, 1, err);
    if (path != NULL)
        snprintf(path, size, "%s/%s", place, name);
    return path;
}

/* Loads the dataset `name` of the layer, if there is one. */
static enum kvr_status load_dataset(const struct loading *at, const char *name,
                                    struct shape expected, const char *const *axes,
                                    struct kvr_dataset **out, struct kvr_error *err)
{
    hid_t id;
    enum kvr_status status = kvr_h5_open_dataset(at->group, at->place, name, &id, err);
    if (status != KVR_OK || id < 0)
        return status;
    bool by_rows = axes != key_axes && expected.rank == 3;
    if (by_rows && at->sample->query_count == 0) {
        H5Dclose(id);
        return kvr_fail(err, KVR_BAD_INPUT,
                        "%s/%s: needs the dataset query_positions of the sample, found none",
                        at->place, name);
    }
    struct kvr_dataset *dataset = kvr_alloc(1, sizeof *dataset, err);
    if (dataset != NULL)
        dataset->path = member_path(at->place, name, err);
    *out = dataset; /* the layer owns it from here on */
    if (dataset == NULL || dataset->path == NULL) {
        H5Dclose(id);
        return KVR_NO_MEMORY;
    }
    return inspect(at, id, &expected, axes, dataset, err);
}

static enum kvr_status load_datasets(const struct loading *at, struct kvr_error *err)
{
    struct kvr_layer *layer = at->layer;
    const uint64_t heads = layer->query_heads, kv_heads = layer->kv_heads;
    const uint64_t rows = at->sample->query_count, tokens = at->sample->context_length;
    enum kvr_status status =
        load_dataset(at, "attention", (struct shape){3, {heads, rows, tokens}, 0}, row_axes,
                     &layer->attention, err);
    if (status == KVR_OK)
        status = load_dataset(at, "accumulated", (struct shape){2, {heads, tokens, 1}, 0}, key_axes,
                              &layer->accumulated, err);
    if (status == KVR_OK)
        status = load_dataset(at, "query", (struct shape){3, {heads, rows, ANY_LENGTH}, 0},
                              query_axes, &layer->query, err);
    uint64_t size = layer->query != NULL ? layer->query->shape[2] : ANY_LENGTH;
    if (status == KVR_OK)
        status = load_dataset(at, "key", (struct shape){3, {kv_heads, tokens, size}, 0}, key_axes,
                              &layer->key, err);
    if (status == KVR_OK)
        status = load_dataset(at, "value", (struct shape){3, {kv_heads, tokens, ANY_LENGTH}, 0},
                              key_axes, &layer->value, err);
    return status;
}

/* Columns. */

static enum kvr_status load_column(const struct loading *at, hid_t scores, const char *place,
                                   struct kvr_column *column, struct kvr_error *err)
{
    hid_t id;
    const struct kvr_layer *layer = at->layer;
    column->data.path = member_path(place, column->name, err);
    if (column->data.path == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_h5_open_dataset(scores, place, column->name, &id, err);
    if (status != KVR_OK)
        return status;
    if (id < 0)
        return kvr_fail(err, KVR_BAD_INPUT, "%s: is listed but cannot be found", column->data.path);

    struct shape expected = {.rank = 2,
                             .lengths = {layer->query_heads, at->sample->context_length, 1},
                             .other_heads = layer->kv_heads};
    status = inspect(at, id, &expected, key_axes, &column->data, err);
    column->per_kv_head = status == KVR_OK && column->data.shape[0] != layer->query_heads;
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum kvr_status load_listed_columns(const struct loading *at, hid_t scores,
                                           const char *place, struct kvr_h5_names *names,
                                           struct kvr_error *err)
{
    struct kvr_layer *layer = at->layer;
    enum kvr_status status = kvr_h5_list(scores, MOST_COLUMNS, names, err);
    if (status != KVR_OK)
        return kvr_at(err, "%s", place);
    if (names->count == 0)
        return KVR_OK;
    qsort(names->names, names->count, sizeof(char *), compare_names);
    layer->columns = kvr_alloc(names->count, sizeof *layer->columns, err);
    if (layer->columns == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; status == KVR_OK && i < names->count; i++) {
        struct kvr_column *column = &layer->columns[layer->column_count++];
        column->name = kvr_copy_string(names->names[i], err);
        status = column->name != NULL ? load_column(at, scores, place, column, err) : KVR_NO_MEMORY;
    }
    return status;
}

static enum kvr_status load_columns(const struct loading *at, struct kvr_error *err)
{
    hid_t scores;
    struct kvr_h5_names names = {0};
    enum kvr_status status = kvr_h5_open_group(at->group, at->place, "scores", &scores, err);
    if (status != KVR_OK || scores < 0)
        return status;
    char *place = member_path(at->place, "scores", err);
    status = place != NULL ? load_listed_columns(at, scores, place, &names, err) : KVR_NO_MEMORY;
    kvr_h5_free_names(&names);
    free(place);
    H5Gclose(scores);
    return status;
}

enum kvr_status kvr_trace_load_layer(struct kvr_trace_reader *reader, hid_t group,
                                     const char *place, const struct kvr_sample *sample,
                                     struct kvr_layer *layer, struct kvr_error *err)
{
    struct loading at = {
        .reader = reader, .group = group, .place = place, .sample = sample, .layer = layer};
    enum kvr_status status = load_attributes(&at, err);
    if (status == KVR_OK)
        status = load_datasets(&at, err);
    if (status == KVR_OK)
        status = load_columns(&at, err);
    if (status != KVR_OK)
        return status;
    bool recomputable = layer->query != NULL && layer->key != NULL;
    if (layer->attention == NULL && layer->accumulated == NULL && layer->column_count == 0 &&
        !recomputable) {
        kvr_fail(err, KVR_BAD_INPUT,
                 "%s: expected attention, accumulated, scores, or query and key, found none",
                 place);
        return kvr_hint(err, "%s", eager_hint);
    }
    return KVR_OK;
}

static void free_dataset(struct kvr_dataset *dataset)
{
    if (dataset != NULL)
        free(dataset->path);
    free(dataset);
}

void kvr_trace_free_layer(struct kvr_layer *layer)
{
    free_dataset(layer->attention);
    free_dataset(layer->accumulated);
    free_dataset(layer->query);
    free_dataset(layer->key);
    free_dataset(layer->value);
    for (size_t i = 0; i < layer->column_count; i++) {
        free(layer->columns[i].name);
        free(layer->columns[i].data.path);
    }
    free(layer->columns);
}
