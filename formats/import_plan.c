/*
 * Sorting arrays into samples and layers. Whether what came together fits, import_settle.c says.
 */
#include "formats/import_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/import_map.h"
#include "formats/trace_names.h"

enum { MOST_AXIS = 65536 };

/* One array with all that is known of it. */
struct arrival {
    const char *path; /* of the archive */
    const struct kvr_array *array;
    struct kvr_import_name name;
    const char *axes; /* a letter for each axis */
};

struct sorting {
    struct kvr_import_plan *plan;
    const struct kvr_import_options *options;
    struct kvr_import_map map;
};

static enum kvr_status at_array(const struct arrival *arrival, struct kvr_error *err)
{
    return kvr_at(err, "\"%s\": %s", arrival->path, arrival->array->name);
}

/* ------------------------------------------------------------------------------ samples, layers */

static struct kvr_import_sample *sample_called(struct kvr_import_plan *plan, const char *name,
                                               struct kvr_error *err)
{
    for (size_t i = 0; i < plan->sample_count; i++)
        if (strcmp(plan->samples[i].sample.name, name) == 0)
            return &plan->samples[i];
    if (kvr_reserve((void **)&plan->samples, &plan->sample_capacity, plan->sample_count + 1,
                    sizeof *plan->samples, err) != KVR_OK)
        return NULL;
    struct kvr_import_sample *sample = &plan->samples[plan->sample_count];
    *sample = (struct kvr_import_sample){.sample.name = kvr_copy_string(name, err)};
    if (sample->sample.name == NULL)
        return NULL;
    plan->sample_count++;
    return sample;
}

static struct kvr_import_layer *layer_numbered(struct kvr_import_sample *sample, uint32_t number,
                                               struct kvr_error *err)
{
    for (size_t i = 0; i < sample->layer_count; i++)
        if (sample->layers[i].layer.number == number)
            return &sample->layers[i];
    if (kvr_reserve((void **)&sample->layers, &sample->layer_capacity, sample->layer_count + 1,
                    sizeof *sample->layers, err) != KVR_OK)
        return NULL;
    struct kvr_import_layer *layer = &sample->layers[sample->layer_count++];
    *layer = (struct kvr_import_layer){
        .layer = {.number = number, .scale = NAN, .softcap = NAN},
    };
    return layer;
}

/* ------------------------------------------------------------------------------ axes */

static enum kvr_status check_axes(const struct arrival *arrival, struct kvr_error *err)
{
    const char *trace = kvr_import_trace_axes(arrival->name.role);
    const unsigned rank = arrival->array->rank;
    if (arrival->axes == NULL || strlen(arrival->axes) != rank) {
        kvr_fail(err, KVR_BAD_INPUT, "expected the axes %s%s, found %u axes",
                 arrival->axes != NULL ? "" : "L, B and ",
                 arrival->axes != NULL ? arrival->axes : trace, rank);
        kvr_hint(err,
                 "--layout %s=LB%s says what the axes are: L layers, B samples, H heads, Q "
                 "rows, T tokens, D head size, 1 an axis of one",
                 kvr_import_role_name(arrival->name.role), trace);
        return at_array(arrival, err);
    }
    for (unsigned i = 0; i < rank; i++) {
        char letter = arrival->axes[i];
        bool own = strchr(trace, letter) != NULL, outer = letter == 'L' || letter == 'B';
        if (letter == '1' && arrival->array->shape[i] != 1)
            kvr_fail(err, KVR_BAD_INPUT, "axis %u of %s: expected 1, found %llu", i, arrival->axes,
                     (unsigned long long)arrival->array->shape[i]);
        else if ((letter != '1' && strchr(arrival->axes + i + 1, letter) != NULL) ||
                 (!own && !outer && letter != '1'))
            kvr_fail(err, KVR_BAD_ARGUMENT,
                     "layout %s: expected the letters of %s, L, B and 1, "
                     "each once",
                     arrival->axes, trace);
        else if (arrival->array->shape[i] == 0)
            kvr_fail(err, KVR_BAD_INPUT, "axis %u of %s is empty", i, arrival->axes);
        else if (outer && arrival->array->shape[i] > MOST_AXIS)
            kvr_fail(err, KVR_BAD_INPUT, "axis %u of %s: expected at most %d, found %llu", i,
                     arrival->axes, MOST_AXIS, (unsigned long long)arrival->array->shape[i]);
        else
            continue;
        return at_array(arrival, err);
    }
    for (const char *letter = trace; *letter != '\0'; letter++)
        if (strchr(arrival->axes, *letter) == NULL) {
            kvr_fail(err, KVR_BAD_ARGUMENT, "layout %s: expected an axis %c", arrival->axes,
                     *letter);
            return at_array(arrival, err);
        }
    return KVR_OK;
}

static unsigned axis_of(const struct arrival *arrival, char letter)
{
    const char *at = letter != '\0' ? strchr(arrival->axes, letter) : NULL;
    return at != NULL ? (unsigned)(at - arrival->axes) : KVR_ARRAY_RANK;
}

static uint64_t extent_of(const struct arrival *arrival, char letter)
{
    unsigned axis = axis_of(arrival, letter);
    return axis < KVR_ARRAY_RANK ? arrival->array->shape[axis] : 1;
}

/* The view of sample b and layer l: missing axes of a trace's dataset are in front. */
static struct kvr_array_view view_of(const struct arrival *arrival, uint64_t b, uint64_t l)
{
    const char *trace = kvr_import_trace_axes(arrival->name.role);
    const unsigned axis_b = axis_of(arrival, 'B'), axis_l = axis_of(arrival, 'L');
    struct kvr_array_view view = {.array = arrival->array};
    if (axis_b < KVR_ARRAY_RANK)
        view.offset += b * arrival->array->stride[axis_b];
    if (axis_l < KVR_ARRAY_RANK)
        view.offset += l * arrival->array->stride[axis_l];
    /* Datasets of rank 2, [H][T], have their tokens on the second axis, as in the trace. */
    for (unsigned i = 0; i < KVR_BLOCK_RANK; i++)
        view.axis[i] = i < strlen(trace) ? axis_of(arrival, trace[i]) : KVR_ARRAY_RANK;
    return view;
}

/* ------------------------------------------------------------------------------ putting in place
 */

static enum kvr_status twice(const struct arrival *arrival, const char *sample, uint32_t layer,
                             struct kvr_error *err)
{
    kvr_fail(err, KVR_BAD_INPUT, "sample %s, layer %u has two arrays of %s", sample, layer,
             kvr_import_role_name(arrival->name.role));
    return at_array(arrival, err);
}

static enum kvr_status put_column(const struct arrival *arrival, struct kvr_import_layer *layer,
                                  const struct kvr_import_source *source, const char *sample,
                                  struct kvr_error *err)
{
    for (size_t i = 0; i < layer->column_count; i++)
        if (strcmp(layer->columns[i].name, arrival->name.item) == 0)
            return twice(arrival, sample, layer->layer.number, err);
    enum kvr_status status = kvr_reserve((void **)&layer->columns, &layer->column_capacity,
                                         layer->column_count + 1, sizeof *layer->columns, err);
    if (status != KVR_OK)
        return status;
    struct kvr_import_column *column = &layer->columns[layer->column_count];
    *column = (struct kvr_import_column){kvr_copy_string(arrival->name.item, err), *source};
    if (column->name == NULL)
        return KVR_NO_MEMORY;
    layer->column_count++;
    return KVR_OK;
}

static enum kvr_status put_dataset(const struct arrival *arrival, struct kvr_import_sample *sample,
                                   uint64_t b, uint64_t l, struct kvr_error *err)
{
    uint32_t number = arrival->name.has_layer ? arrival->name.layer : (uint32_t)l;
    struct kvr_import_layer *layer = layer_numbered(sample, number, err);
    if (layer == NULL)
        return KVR_NO_MEMORY;
    const struct kvr_import_source source = {arrival->path, view_of(arrival, b, l)};
    if (arrival->name.role == KVR_ROLE_COLUMN)
        return put_column(arrival, layer, &source, sample->sample.name, err);
    struct kvr_import_source *place = &layer->sources[arrival->name.role];
    if (place->view.array != NULL)
        return twice(arrival, sample->sample.name, number, err);
    *place = source;
    return KVR_OK;
}

static enum kvr_status integers_of(const struct arrival *arrival, uint64_t b, size_t *count,
                                   int64_t **values, struct kvr_error *err)
{
    const struct kvr_array_view view = view_of(arrival, b, 0);
    const uint64_t rows = kvr_array_extent(&view, 0), width = kvr_array_extent(&view, 1);
    *count = (size_t)(rows * width);
    *values = kvr_alloc(*count, sizeof **values, err);
    if (*values == NULL)
        return KVR_NO_MEMORY;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < width; j++) {
            const uint64_t offset = kvr_array_offset(&view, i, j);
            const uint64_t element = i * width + j;
            int64_t *value = &(*values)[element];
            if (!kvr_array_integer(arrival->array, offset, value) || *value < INT32_MIN ||
                *value > INT32_MAX) {
                kvr_fail(err, KVR_BAD_INPUT, "element %llu is beyond 32 bits",
                         (unsigned long long)element);
                return at_array(arrival, err);
            }
        }
    return KVR_OK;
}

static enum kvr_status put_tokens(const struct arrival *arrival, struct kvr_sample *sample,
                                  const int64_t *values, size_t count, struct kvr_error *err)
{
    if (sample->tokens != NULL)
        return twice(arrival, sample->name, 0, err);
    sample->tokens = kvr_alloc(count, sizeof *sample->tokens, err);
    if (sample->tokens == NULL)
        return KVR_NO_MEMORY;
    sample->token_count = count;
    for (size_t i = 0; i < count; i++)
        sample->tokens[i] = (int32_t)values[i];
    return KVR_OK;
}

/* Positions and spans must not be negative. */
static enum kvr_status put_positions(const struct arrival *arrival, struct kvr_sample *sample,
                                     const int64_t *values, size_t count, struct kvr_error *err)
{
    bool spans = arrival->name.role == KVR_ROLE_NEEDLES;
    for (size_t i = 0; i < count; i++)
        if (values[i] < 0) {
            kvr_fail(err, KVR_BAD_INPUT, "element %zu: expected a position, found %lld", i,
                     (long long)values[i]);
            return at_array(arrival, err);
        }
    if (spans ? sample->needles != NULL : sample->query_positions != NULL)
        return twice(arrival, sample->name, 0, err);
    uint64_t *positions = kvr_alloc(count, sizeof *positions, err);
    if (positions == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        positions[i] = (uint64_t)values[i];
    if (!spans) {
        sample->query_positions = positions;
        sample->query_count = count;
        return KVR_OK;
    }
    sample->needle_count = count / 2;
    sample->needles = kvr_alloc(sample->needle_count, sizeof *sample->needles, err);
    for (size_t i = 0; sample->needles != NULL && i < sample->needle_count; i++)
        sample->needles[i] = (struct kvr_span){positions[2 * i], positions[2 * i + 1]};
    free(positions);
    return sample->needles != NULL ? KVR_OK : KVR_NO_MEMORY;
}

static enum kvr_status put_integers(const struct arrival *arrival, struct kvr_import_sample *sample,
                                    uint64_t b, struct kvr_error *err)
{
    int64_t *values = NULL;
    size_t count = 0;
    enum kvr_status status = KVR_OK;
    if (arrival->name.role == KVR_ROLE_NEEDLES && extent_of(arrival, '2') != 2) {
        kvr_fail(err, KVR_BAD_INPUT, "expected spans of two positions, found %llu",
                 (unsigned long long)extent_of(arrival, '2'));
        return at_array(arrival, err);
    }
    status = integers_of(arrival, b, &count, &values, err);
    if (status == KVR_OK && arrival->name.role == KVR_ROLE_TOKENS)
        status = put_tokens(arrival, &sample->sample, values, count, err);
    else if (status == KVR_OK)
        status = put_positions(arrival, &sample->sample, values, count, err);
    free(values);
    return status;
}

/* ------------------------------------------------------------------------------ attributes */

static enum kvr_status number_of(const struct arrival *arrival, double *number,
                                 struct kvr_error *err)
{
    const struct kvr_array *array = arrival->array;
    int64_t whole = 0;
    if (array->kind == KVR_ARRAY_FLOATING)
        kvr_element_decode(array->type, array->bytes, 1, number);
    else if (kvr_array_integer(array, 0, &whole))
        *number = (double)whole;
    else
        return kvr_fail(err, KVR_BAD_INPUT, "it is beyond 63 bits"), at_array(arrival, err);
    return KVR_OK;
}

/* False if a sample, or the layer where one is given, has no such attribute or cannot hold it. */
static bool set_attribute(const char *item, double number, struct kvr_sample *sample,
                          struct kvr_layer *layer)
{
    const struct kvr_attribute *attribute = kvr_attribute_named(layer != NULL, item);
    if (attribute == NULL || !isfinite(number))
        return false;
    if (layer == NULL)
        return kvr_attribute_set(attribute, number, sample);
    bool set = kvr_attribute_set(attribute, number, layer) && !(layer->softcap < 0);
    if (!(layer->softcap > 0))
        layer->softcap = NAN; /* 0 is how models say that they have none */
    return set;
}

static enum kvr_status put_attribute(const struct arrival *arrival,
                                     struct kvr_import_sample *sample, struct kvr_error *err)
{
    struct kvr_layer *layer = NULL;
    double number = NAN;
    for (size_t i = 0; arrival->name.has_layer && i < sample->layer_count; i++)
        if (sample->layers[i].layer.number == arrival->name.layer)
            layer = &sample->layers[i].layer;
    if (arrival->name.has_layer && layer == NULL)
        return KVR_OK; /* a layer of which nothing else is here */
    enum kvr_status status = number_of(arrival, &number, err);
    if (status != KVR_OK || set_attribute(arrival->name.item, number, &sample->sample, layer))
        return status;
    kvr_fail(err, KVR_BAD_INPUT, "expected a number that %s can have, found %g",
             layer != NULL ? "a layer" : "a sample", number);
    return at_array(arrival, err);
}

/* ------------------------------------------------------------------------------ sorting */

/* True for what speaks of every sample, if its name and axes don't say of which. */
static bool is_common(const struct arrival *arrival)
{
    enum kvr_import_role role = arrival->name.role;
    return role == KVR_ROLE_ATTRIBUTE || role == KVR_ROLE_POSITIONS;
}

static enum kvr_status put_into(const struct arrival *arrival, struct kvr_import_sample *sample,
                                uint64_t b, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    if (arrival->name.role == KVR_ROLE_ATTRIBUTE)
        return put_attribute(arrival, sample, err);
    if (arrival->name.role > KVR_ROLE_COLUMN)
        return put_integers(arrival, sample, b, err);
    for (uint64_t l = 0; status == KVR_OK && l < extent_of(arrival, 'L'); l++)
        status = put_dataset(arrival, sample, b, l, err);
    return status;
}

static enum kvr_status put_array(struct sorting *sorting, const struct arrival *arrival,
                                 struct kvr_error *err)
{
    struct kvr_import_plan *plan = sorting->plan;
    bool batch = axis_of(arrival, 'B') < KVR_ARRAY_RANK;
    enum kvr_status status = KVR_OK;
    if (is_common(arrival) && !batch && !arrival->name.has_sample) {
        for (size_t i = 0; status == KVR_OK && i < plan->sample_count; i++)
            status = put_into(arrival, &plan->samples[i], 0, err);
        return status;
    }
    for (uint64_t b = 0; status == KVR_OK && b < extent_of(arrival, 'B'); b++) {
        char number[24];
        snprintf(number, sizeof number, "%llu", (unsigned long long)b);
        struct kvr_import_sample *sample =
            sample_called(plan, arrival->name.has_sample ? arrival->name.sample : number, err);
        status = sample != NULL ? put_into(arrival, sample, b, err) : KVR_NO_MEMORY;
    }
    return status;
}

/* Names become those of groups and datasets, so they must be whole and fit to be one. */
static enum kvr_status check_name(const struct arrival *arrival, struct kvr_error *err)
{
    const struct kvr_import_name *name = &arrival->name;
    bool column = name->role == KVR_ROLE_COLUMN;
    if (name->too_long)
        kvr_fail(err, KVR_BAD_INPUT, "expected a name of at most %d bytes",
                 KVR_IMPORT_LONGEST_NAME);
    else if (name->has_sample && (name->sample[0] == '\0' || strcmp(name->sample, ".") == 0))
        kvr_fail(err, KVR_BAD_INPUT, "expected the name of a sample, found \"%s\"", name->sample);
    else if (column && (name->item[0] == '\0' || strcmp(name->item, ".") == 0 ||
                        strchr(name->item, '/') != NULL))
        kvr_fail(err, KVR_BAD_INPUT, "expected the name of a column without \"/\", found \"%s\"",
                 name->item);
    else if (name->beyond_layer && !name->has_layer && axis_of(arrival, 'L') == KVR_ARRAY_RANK &&
             name->role <= KVR_ROLE_COLUMN)
        kvr_fail(err, KVR_BAD_INPUT, "expected the number of a layer, at most %u", UINT32_MAX);
    else
        return KVR_OK;
    kvr_hint(err, "--map gives it another name");
    return at_array(arrival, err);
}

static enum kvr_status check_arrival(const struct arrival *arrival, struct kvr_error *err)
{
    const struct kvr_array *array = arrival->array;
    bool dataset = arrival->name.role <= KVR_ROLE_COLUMN;
    bool fits = array->kind == (dataset ? KVR_ARRAY_FLOATING : KVR_ARRAY_INTEGER) ||
                (arrival->name.role == KVR_ROLE_ATTRIBUTE && array->kind == KVR_ARRAY_FLOATING);
    if (!fits) {
        kvr_fail(err, KVR_BAD_INPUT, "expected %s, found the type %s",
                 dataset ? "half, bfloat16, float or double" : "whole numbers", array->type_name);
        return at_array(arrival, err);
    }
    enum kvr_status status = check_axes(arrival, err);
    if (status == KVR_OK)
        status = check_name(arrival, err);
    if (status != KVR_OK)
        return status;
    if (arrival->name.has_layer && axis_of(arrival, 'L') < KVR_ARRAY_RANK &&
        extent_of(arrival, 'L') > 1)
        kvr_fail(err, KVR_BAD_INPUT, "its name says layer %u, and it has %llu layers",
                 arrival->name.layer, (unsigned long long)extent_of(arrival, 'L'));
    else if (arrival->name.has_sample && extent_of(arrival, 'B') > 1)
        kvr_fail(err, KVR_BAD_INPUT, "its name says sample %s, and it has %llu samples",
                 arrival->name.sample, (unsigned long long)extent_of(arrival, 'B'));
    else
        return KVR_OK;
    return at_array(arrival, err);
}

static enum kvr_status sort_array(struct sorting *sorting, const char *path,
                                  const struct kvr_array *array, bool common, struct kvr_error *err)
{
    const char *name, *axes = NULL;
    if (!kvr_import_map_find(&sorting->map, array->name, &name, &axes))
        return KVR_OK;
    struct arrival arrival = {path, array, kvr_import_name_parse(name), NULL};
    if (arrival.name.role == KVR_ROLE_NONE) {
        if (!common)
            kvr_text_add(&sorting->plan->ignored,
                         "\"%s\": %s: its name says nothing that a trace "
                         "holds\n",
                         path, array->name);
        return KVR_OK;
    }
    if (is_common(&arrival) != common)
        return KVR_OK;
    arrival.axes = axes != NULL ? axes : sorting->options->axes[arrival.name.role];
    if (arrival.axes == NULL && arrival.name.role == KVR_ROLE_ATTRIBUTE)
        arrival.axes = &"11111111"[KVR_ARRAY_RANK - array->rank]; /* [[4]] is one number, too */
    if (arrival.axes == NULL)
        arrival.axes =
            kvr_import_default_axes(arrival.name.role, array->rank, arrival.name.has_layer);
    enum kvr_status status = check_arrival(&arrival, err);
    return status == KVR_OK ? put_array(sorting, &arrival, err) : status;
}

static enum kvr_status sort_all(struct sorting *sorting, struct kvr_archive *const *archives,
                                size_t archive_count, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    /* What speaks of all samples comes when all samples are there. */
    for (int common = 0; common < 2; common++)
        for (size_t i = 0; i < archive_count; i++)
            for (size_t a = 0; status == KVR_OK && a < archives[i]->count; a++)
                status = sort_array(sorting, archives[i]->path, &archives[i]->arrays[a],
                                    common != 0, err);
    return status;
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = ((const struct kvr_import_layer *)left)->layer.number;
    uint32_t b = ((const struct kvr_import_layer *)right)->layer.number;
    return (a > b) - (a < b);
}

enum kvr_status kvr_import_plan_make(struct kvr_archive *const *archives, size_t archive_count,
                                     const struct kvr_import_options *options,
                                     struct kvr_import_plan *plan, struct kvr_error *err)
{
    *plan = (struct kvr_import_plan){0};
    struct sorting sorting = {.plan = plan, .options = options};
    enum kvr_status status =
        kvr_import_map_open(options->map, archives, archive_count, &sorting.map, err);
    if (status != KVR_OK)
        return status;
    if (status == KVR_OK)
        status = sort_all(&sorting, archives, archive_count, err);
    if (status == KVR_OK && plan->sample_count == 0) {
        kvr_fail(err, KVR_BAD_INPUT,
                 "\"%s\": expected arrays that bear names of a trace, found \"%s\"%s",
                 archives[0]->path, archives[0]->arrays[0].name,
                 archives[0]->count > 1 ? " and others" : "");
        status =
            kvr_hint(err, "names are as \"attention\" or \"layers/3/key\"; --map gives others");
    }
    for (size_t i = 0; status == KVR_OK && i < plan->sample_count; i++) {
        struct kvr_import_sample *sample = &plan->samples[i];
        if (sample->layer_count > 0)
            qsort(sample->layers, sample->layer_count, sizeof *sample->layers, by_number);
        status = kvr_import_settle(sample, options, err);
    }
    kvr_import_map_close(&sorting.map);
    return status;
}

void kvr_import_plan_free(struct kvr_import_plan *plan)
{
    for (size_t s = 0; s < plan->sample_count; s++) {
        struct kvr_import_sample *sample = &plan->samples[s];
        for (size_t l = 0; l < sample->layer_count; l++) {
            for (size_t c = 0; c < sample->layers[l].column_count; c++)
                free(sample->layers[l].columns[c].name);
            free(sample->layers[l].columns);
        }
        free(sample->layers);
        free(sample->sample.name);
        free(sample->sample.tokens);
        free(sample->sample.query_positions);
        free(sample->sample.needles);
    }
    free(plan->samples);
    kvr_text_free(&plan->ignored);
    *plan = (struct kvr_import_plan){0};
}
