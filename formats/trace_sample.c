/*
 * One sample of a trace: attributes, tokens, query positions, needles and the list of its layers.
 * It must not know what a layer holds.
 */
#include "formats/trace_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/h5_object.h"
#include "formats/h5_type.h"

enum {
    MOST_LAYERS = 1 << 16,
    MOST_HEADS = 1 << 16,
    MOST_HEAD_DIM = 1 << 20,
    MOST_TOKENS = INT32_MAX, /* positions are recorded as int32 */
    MOST_NEEDLES = 1 << 20,
    MOST_TEXT = 1 << 20, /* bytes of the generated text */
};

/* A sample while it is loaded. */
struct loading {
    struct kvr_trace_reader *reader;
    hid_t group;
    const char *place; /* "/samples/<name>" */
    struct kvr_sample *sample;
};

static enum kvr_status load_lengths(const struct loading *at, struct kvr_error *err)
{
    struct kvr_sample *sample = at->sample;
    bool present;
    enum kvr_status status = kvr_h5_unsigned(at->group, "context_length", 1, MOST_TOKENS,
                                             &sample->context_length, &present, err);
    if (status == KVR_OK && !present)
        status = kvr_fail(err, KVR_BAD_INPUT, "expected the attribute context_length, found none");
    sample->prompt_length = sample->context_length;
    if (status == KVR_OK)
        status = kvr_h5_unsigned(at->group, "prompt_length", 1, sample->context_length,
                                 &sample->prompt_length, NULL, err);
    if (status == KVR_OK)
        status = kvr_h5_unsigned(at->group, "pad", 0, sample->prompt_length - 1, &sample->pad, NULL,
                                 err);
    return status;
}

/* Heads that every layer names for itself may be missing here; they are 0 then. */
static enum kvr_status load_heads(const struct loading *at, struct kvr_error *err)
{
    struct kvr_sample *sample = at->sample;
    uint64_t query_heads = 0, kv_heads = 0, head_dim = 0;
    enum kvr_status status =
        kvr_h5_unsigned(at->group, "query_heads", 1, MOST_HEADS, &query_heads, NULL, err);
    if (status == KVR_OK)
        status = kvr_h5_unsigned(at->group, "kv_heads", 1, MOST_HEADS, &kv_heads, NULL, err);
    if (status == KVR_OK)
        status = kvr_h5_unsigned(at->group, "head_dim", 1, MOST_HEAD_DIM, &head_dim, NULL, err);
    sample->query_heads = (uint32_t)query_heads;
    sample->kv_heads = (uint32_t)kv_heads;
    sample->head_dim = (uint32_t)head_dim;
    return status;
}

static enum kvr_status load_attributes(const struct loading *at, struct kvr_error *err)
{
    struct kvr_sample *sample = at->sample;
    enum kvr_status status = load_lengths(at, err);
    if (status == KVR_OK)
        status = load_heads(at, err);
    if (status == KVR_OK)
        status = kvr_h5_string(at->group, "task", MOST_TEXT, &sample->task, err);
    if (status == KVR_OK)
        status = kvr_h5_string(at->group, "subset", MOST_TEXT, &sample->subset, err);
    if (status == KVR_OK)
        status = kvr_h5_string(at->group, "generated", MOST_TEXT, &sample->generated, err);
    return status == KVR_OK ? status : kvr_at(err, "%s", at->place);
}

/*
 * The integers of an optional dataset whose shape is [length] or [length][2] for any length up to
 * `most`, or for `exactly` that many if it is not 0. *values is NULL where there is no such
 * dataset.
 */
struct integers {
    const char *name;
    unsigned rank;
    uint64_t exactly, most;
    size_t length;
    int64_t *values;
};

static enum kvr_status check_integer_shape(const struct integers *wanted,
                                           const struct kvr_h5_dataset *dataset,
                                           struct kvr_error *err)
{
    const hsize_t *shape = dataset->shape;
    char expected[64] = "", found[160];
    if (dataset->rank == wanted->rank && (wanted->rank < 2 || shape[1] == 2) &&
        (wanted->exactly == 0 || shape[0] == wanted->exactly) && shape[0] <= wanted->most)
        return KVR_OK;
    if (wanted->exactly > 0)
        snprintf(expected, sizeof expected, "[%llu]", (unsigned long long)wanted->exactly);
    else
        snprintf(expected, sizeof expected, "[0 to %llu]", (unsigned long long)wanted->most);
    kvr_h5_describe_shape(dataset->rank, shape, found, sizeof found);
    return kvr_fail(err, KVR_BAD_INPUT, "expected shape %s%s, found %s", expected,
                    wanted->rank == 2 ? "[2]" : "", found);
}

static enum kvr_status read_integers(const struct loading *at, struct integers *wanted, hid_t id,
                                     struct kvr_error *err)
{
    struct kvr_h5_dataset dataset;
    struct kvr_h5_limits limits = kvr_trace_limits(at->reader, false);
    enum kvr_status status = kvr_h5_inspect(id, &dataset, err);
    if (status == KVR_OK)
        status = check_integer_shape(wanted, &dataset, err);
    if (status == KVR_OK) {
        wanted->length = (size_t)dataset.shape[0];
        size_t count = wanted->length * wanted->rank;
        if (count == 0)
            wanted->values = kvr_alloc(1, sizeof(int64_t), err);
        else
            status = kvr_h5_read_integers(&dataset, &limits, count, &wanted->values, err);
        if (status == KVR_OK && wanted->values == NULL)
            status = KVR_NO_MEMORY;
    }
    kvr_h5_release(&dataset);
    return status == KVR_OK ? status : kvr_at(err, "%s/%s", at->place, wanted->name);
}

static enum kvr_status load_integers(const struct loading *at, struct integers *wanted,
                                     struct kvr_error *err)
{
    hid_t id;
    enum kvr_status status = kvr_h5_open_dataset(at->group, at->place, wanted->name, &id, err);
    if (status != KVR_OK || id < 0)
        return status;
    return read_integers(at, wanted, id, err);
}

static enum kvr_status load_tokens(const struct loading *at, struct kvr_error *err)
{
    struct kvr_sample *sample = at->sample;
    struct integers found = {
        .name = "tokens", .rank = 1, .exactly = sample->context_length, .most = MOST_TOKENS};
    enum kvr_status status = load_integers(at, &found, err);
    if (status != KVR_OK || found.values == NULL)
        return status;
    sample->tokens = kvr_alloc(found.length, sizeof *sample->tokens, err);
    if (sample->tokens == NULL)
        status = KVR_NO_MEMORY;
    for (size_t i = 0; status == KVR_OK && i < found.length; i++) {
        int64_t token = found.values[i];
        if (token < INT32_MIN || token > INT32_MAX)
            status = kvr_fail(err, KVR_BAD_INPUT,
                              "%s/tokens: expected 32-bit integers, found %lld at [%zu]", at->place,
                              (long long)token, i);
        else
            sample->tokens[i] = (int32_t)token;
    }
    sample->token_count = found.length;
    free(found.values);
    return status;
}

static enum kvr_status check_position(const struct loading *at, const int64_t *positions, size_t i,
                                      struct kvr_error *err)
{
    const uint64_t tokens = at->sample->context_length;
    if (positions[i] < 0 || (uint64_t)positions[i] >= tokens)
        return kvr_fail(
            err, KVR_BAD_INPUT,
            "%s/query_positions: expected positions from 0 to %llu, found %lld at [%zu]", at->place,
            (unsigned long long)tokens - 1, (long long)positions[i], i);
    if (i > 0 && positions[i] <= positions[i - 1])
        return kvr_fail(err, KVR_BAD_INPUT,
                        "%s/query_positions: expected ascending positions, found %lld after %lld "
                        "at [%zu]",
                        at->place, (long long)positions[i], (long long)positions[i - 1], i);
    return KVR_OK;
}

static enum kvr_status load_query_positions(const struct loading *at, struct kvr_error *err)
{
    struct kvr_sample *sample = at->sample;
    struct integers found = {.name = "query_positions", .rank = 1, .most = sample->context_length};
    enum kvr_status status = load_integers(at, &found, err);
    if (status != KVR_OK || found.values == NULL)
        return status;
    sample->query_positions = kvr_alloc(found.length, sizeof *sample->query_positions, err);
    if (sample->query_positions == NULL)
        status = KVR_NO_MEMORY;
    for (size_t i = 0; status == KVR_OK && i < found.length; i++) {
        status = check_position(at, found.values, i, err);
        if (status == KVR_OK)
            sample->query_positions[i] = (uint64_t)found.values[i];
    }
    sample->query_count = found.length;
    free(found.values);
    return status;
}

static enum kvr_status load_needles(const struct loading *at, struct kvr_error *err)
{
    struct kvr_sample *sample = at->sample;
    struct integers found = {.name = "needles", .rank = 2, .most = MOST_NEEDLES};
    enum kvr_status status = load_integers(at, &found, err);
    if (status != KVR_OK || found.values == NULL)
        return status;
    sample->needles = kvr_alloc(found.length, sizeof *sample->needles, err);
    if (sample->needles == NULL)
        status = KVR_NO_MEMORY;
    for (size_t i = 0; status == KVR_OK && i < found.length; i++) {
        int64_t start = found.values[2 * i], end = found.values[2 * i + 1];
        if (start < 0 || end <= start || (uint64_t)end > sample->context_length)
            status = kvr_fail(err, KVR_BAD_INPUT,
                              "%s/needles: expected a span start < end within 0 to %llu, found "
                              "[%lld, %lld) in row %zu",
                              at->place, (unsigned long long)sample->context_length,
                              (long long)start, (long long)end, i);
        else
            sample->needles[i] = (struct kvr_span){(uint64_t)start, (uint64_t)end};
    }
    sample->needle_count = found.length;
    free(found.values);
    return status;
}

static int compare_layers(const void *a, const void *b)
{
    uint32_t first = ((const struct kvr_layer *)a)->number;
    uint32_t second = ((const struct kvr_layer *)b)->number;
    return (first > second) - (first < second);
}

static enum kvr_status number_layers(struct kvr_sample *sample, const struct kvr_h5_names *names,
                                     struct kvr_error *err)
{
    sample->layers = kvr_alloc(names->count, sizeof *sample->layers, err);
    if (sample->layers == NULL)
        return KVR_NO_MEMORY;
    sample->layer_count = names->count;
    for (size_t i = 0; i < names->count; i++) {
        uint64_t number;
        /* "07" and "7" would be two names of one layer: only the plain form is one. */
        if (!kvr_parse_unsigned(names->names[i], 0, UINT32_MAX, &number) ||
            (names->names[i][0] == '0' && names->names[i][1] != '\0'))
            return kvr_fail(err, KVR_BAD_INPUT,
                            "expected decimal layer numbers as names, found \"%s\"",
                            names->names[i]);
        sample->layers[i].number = (uint32_t)number;
    }
    qsort(sample->layers, sample->layer_count, sizeof *sample->layers, compare_layers);
    return KVR_OK;
}

static enum kvr_status load_layer(const struct loading *at, hid_t layers, const char *place,
                                  struct kvr_layer *layer, struct kvr_error *err)
{
    char name[16], layer_place[512];
    hid_t group;
    snprintf(name, sizeof name, "%u", (unsigned)layer->number);
    snprintf(layer_place, sizeof layer_place, "%s/%s", place, name);
    enum kvr_status status = kvr_h5_open_group(layers, place, name, &group, err);
    if (status != KVR_OK)
        return status;
    if (group < 0)
        return kvr_fail(err, KVR_BAD_INPUT, "%s: is listed but cannot be found", layer_place);
    status = kvr_trace_load_layer(at->reader, group, layer_place, at->sample, layer, err);
    H5Gclose(group);
    return status;
}

static enum kvr_status load_listed_layers(const struct loading *at, hid_t layers,
                                          struct kvr_h5_names *names, struct kvr_error *err)
{
    char place[480];
    snprintf(place, sizeof place, "%s/layers", at->place);
    enum kvr_status status = kvr_h5_list(layers, MOST_LAYERS, names, err);
    if (status == KVR_OK && names->count == 0)
        status = kvr_fail(err, KVR_BAD_INPUT, "expected at least one layer, found none");
    if (status == KVR_OK)
        status = number_layers(at->sample, names, err);
    if (status != KVR_OK)
        return kvr_at(err, "%s", place);
    for (size_t i = 0; status == KVR_OK && i < at->sample->layer_count; i++)
        status = load_layer(at, layers, place, &at->sample->layers[i], err);
    return status;
}

static enum kvr_status load_layers(const struct loading *at, struct kvr_error *err)
{
    hid_t layers;
    struct kvr_h5_names names = {0};
    enum kvr_status status = kvr_h5_open_group(at->group, at->place, "layers", &layers, err);
    if (status != KVR_OK)
        return status;
    if (layers < 0)
        return kvr_fail(err, KVR_BAD_INPUT, "%s: expected the group layers, found none", at->place);
    status = load_listed_layers(at, layers, &names, err);
    kvr_h5_free_names(&names);
    H5Gclose(layers);
    return status;
}

enum kvr_status kvr_trace_load_sample(struct kvr_trace_reader *reader, hid_t group,
                                      struct kvr_sample *sample, struct kvr_error *err)
{
    char place[320];
    snprintf(place, sizeof place, "/samples/%s", sample->name);
    struct loading at = {.reader = reader, .group = group, .place = place, .sample = sample};
    enum kvr_status status = load_attributes(&at, err);
    if (status == KVR_OK)
        status = load_tokens(&at, err);
    if (status == KVR_OK)
        status = load_query_positions(&at, err);
    if (status == KVR_OK)
        status = load_needles(&at, err);
    if (status == KVR_OK)
        status = load_layers(&at, err);
    return status;
}

void kvr_trace_free_sample(struct kvr_sample *sample)
{
    for (size_t i = 0; i < sample->layer_count; i++)
        kvr_trace_free_layer(&sample->layers[i]);
    free(sample->layers);
    free(sample->needles);
    free(sample->query_positions);
    free(sample->tokens);
    free(sample->task);
    free(sample->subset);
    free(sample->generated);
    free(sample->name);
}

size_t kvr_sample_decode_start(const struct kvr_sample *sample)
{
    size_t low = 0, high = sample->query_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sample->query_positions[middle] < sample->prompt_length)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
