/*
 * The oracle's reader: one sample of a trace, version 1, as doubles in memory.
 *
 * HDF5 converts every float to double itself (that direction is right); only bfloat16 kept as
 * uint16 is decoded by hand. It knows nothing of scores or policies.
 */
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

struct trace {
    char *name;
    hid_t file;
    long sample_count;
    char **samples;
};

enum { NAME_ROOM = 1024 };

/* -- small things of HDF5 -- */

static bool has_link(hid_t place, const char *name)
{
    return H5Lexists(place, name, H5P_DEFAULT) > 0;
}

static long attribute(hid_t place, const char *name, long otherwise)
{
    if (H5Aexists(place, name) <= 0)
        return otherwise;
    hid_t id = H5Aopen(place, name, H5P_DEFAULT);
    long value;
    if (id < 0 || H5Aread(id, H5T_NATIVE_LONG, &value) < 0)
        die(1, "attribute %s: not a whole number", name);
    H5Aclose(id);
    return value;
}

static double real_attribute(hid_t place, const char *name)
{
    if (H5Aexists(place, name) <= 0)
        return 0;
    hid_t id = H5Aopen(place, name, H5P_DEFAULT);
    double value;
    if (id < 0 || H5Aread(id, H5T_NATIVE_DOUBLE, &value) < 0)
        die(1, "attribute %s: not a number", name);
    H5Aclose(id);
    return value;
}

/* Is the string attribute `encoding` of a dataset "bfloat16"? Of fixed or variable length. */
static bool is_encoded_bfloat16(hid_t dataset)
{
    if (H5Aexists(dataset, "encoding") <= 0)
        return false;
    char text[NAME_ROOM] = "";
    hid_t id = H5Aopen(dataset, "encoding", H5P_DEFAULT), type = H5Aget_type(id);
    if (H5Tis_variable_str(type) > 0) {
        char *held = NULL;
        if (H5Aread(id, type, &held) >= 0 && held)
            snprintf(text, sizeof text, "%s", held);
        H5free_memory(held);
    } else if (H5Tget_size(type) < sizeof text) {
        H5Aread(id, type, text);
    }
    H5Tclose(type);
    H5Aclose(id);
    return strcmp(text, "bfloat16") == 0;
}

double bfloat16_value(unsigned bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return (double)value;
}

/* The names in a group, sorted by HDF5. */
static char **names_in(hid_t group, long *count)
{
    H5G_info_t info;
    if (H5Gget_info(group, &info) < 0)
        die(1, "not a group");
    *count = (long)info.nlinks;
    char **names = room(*count, sizeof *names);
    for (long i = 0; i < *count; i++) {
        names[i] = room(NAME_ROOM, 1);
        H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i, names[i], NAME_ROOM,
                           H5P_DEFAULT);
    }
    return names;
}

static void free_names(char **names, long count)
{
    for (long i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* -- datasets -- */

static void shape_of(hid_t dataset, int rank, hsize_t *shape, const char *name)
{
    hid_t space = H5Dget_space(dataset);
    if (H5Sget_simple_extent_ndims(space) != rank)
        die(1, "%s: expected rank %d", name, rank);
    H5Sget_simple_extent_dims(space, shape, NULL);
    H5Sclose(space);
}

static long product(const hsize_t *shape, int rank)
{
    long count = 1;
    for (int i = 0; i < rank; i++)
        count *= (long)shape[i];
    return count;
}

/* A whole floating-point dataset, or NULL if the group does not hold it. */
static double *read_reals(hid_t group, const char *name, int rank, hsize_t *shape)
{
    if (!has_link(group, name))
        return NULL;
    hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    if (dataset < 0)
        die(1, "%s: not a dataset", name);
    shape_of(dataset, rank, shape, name);
    long count = product(shape, rank);
    double *values = room(count, sizeof *values);
    herr_t status;
    if (is_encoded_bfloat16(dataset)) {
        uint16_t *bits = room(count, sizeof *bits);
        status = H5Dread(dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, bits);
        for (long i = 0; i < count; i++)
            values[i] = bfloat16_value(bits[i]);
        free(bits);
    } else {
        status = H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    }
    if (status < 0)
        die(1, "%s: cannot be read", name);
    H5Dclose(dataset);
    return values;
}

static long *read_wholes(hid_t group, const char *name, int rank, hsize_t *shape)
{
    if (!has_link(group, name))
        return NULL;
    hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    shape_of(dataset, rank, shape, name);
    long *values = room(product(shape, rank), sizeof *values);
    if (H5Dread(dataset, H5T_NATIVE_LONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        die(1, "%s: cannot be read", name);
    H5Dclose(dataset);
    return values;
}

/* -- layers -- */

static void expect(const char *name, hsize_t found, long expected)
{
    if ((long)found != expected)
        die(1, "%s: expected a dimension of %ld, found %ld", name, expected, (long)found);
}

static void read_columns(hid_t group, const struct sample *sample, struct layer *layer)
{
    if (!has_link(group, "scores"))
        return;
    hid_t scores = H5Gopen2(group, "scores", H5P_DEFAULT);
    char **names = names_in(scores, &layer->column_count);
    layer->columns = room(layer->column_count, sizeof *layer->columns);
    for (long i = 0; i < layer->column_count; i++) {
        hsize_t shape[2];
        struct column *column = &layer->columns[i];
        column->name = names[i];
        column->values = read_reals(scores, names[i], 2, shape);
        column->rows = (long)shape[0];
        expect(names[i], shape[1], sample->length);
        if (column->rows != layer->query_heads && column->rows != layer->kv_heads)
            die(1, "scores/%s: expected a row per query head or KV head", names[i]);
    }
    free(names); /* the columns own the strings */
    H5Gclose(scores);
}

static void read_layer(hid_t sample_group, const struct sample *sample, long number,
                       struct layer *layer)
{
    char path[64];
    snprintf(path, sizeof path, "layers/%ld", number);
    hid_t group = H5Gopen2(sample_group, path, H5P_DEFAULT);
    layer->number = number;
    layer->query_heads = attribute(group, "query_heads", attribute(sample_group, "query_heads", 0));
    layer->kv_heads = attribute(group, "kv_heads", attribute(sample_group, "kv_heads", 0));
    layer->window = attribute(group, "sliding_window", 0);
    layer->sink_logits = attribute(group, "sink_logits", 0) != 0;
    layer->scale = real_attribute(group, "scale");
    layer->softcap = real_attribute(group, "softcap");
    if (layer->kv_heads < 1 || layer->query_heads % layer->kv_heads)
        die(1, "%s: query heads are no multiple of KV heads", path);

    hsize_t shape[3];
    if ((layer->attention = read_reals(group, "attention", 3, shape))) {
        expect("attention", shape[0], layer->query_heads);
        expect("attention", shape[1], sample->queries);
        expect("attention", shape[2], sample->length);
    }
    if ((layer->accumulated = read_reals(group, "accumulated", 2, shape))) {
        expect("accumulated", shape[0], layer->query_heads);
        expect("accumulated", shape[1], sample->length);
    }
    if ((layer->key = read_reals(group, "key", 3, shape))) {
        expect("key", shape[0], layer->kv_heads);
        expect("key", shape[1], sample->length);
        layer->key_size = (long)shape[2];
    }
    if ((layer->value = read_reals(group, "value", 3, shape))) {
        expect("value", shape[0], layer->kv_heads);
        expect("value", shape[1], sample->length);
        layer->value_size = (long)shape[2];
    }
    if ((layer->query = read_reals(group, "query", 3, shape))) {
        expect("query", shape[0], layer->query_heads);
        expect("query", shape[1], sample->queries);
        if (layer->key)
            expect("query", shape[2], layer->key_size);
    }
    read_columns(group, sample, layer);
    H5Gclose(group);
    recompute(sample, layer);
}

static int compare_longs(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

static bool is_listed(long number, long count, const long *list)
{
    for (long i = 0; i < count; i++)
        if (list[i] == number)
            return true;
    return list == NULL;
}

static void read_layers(hid_t group, struct sample *sample, long listed, const long *list)
{
    hid_t layers = H5Gopen2(group, "layers", H5P_DEFAULT);
    long count;
    char **names = names_in(layers, &count);
    long *numbers = room(count, sizeof *numbers);
    for (long i = 0; i < count; i++)
        numbers[i] = whole_of(names[i]);
    qsort(numbers, (size_t)count, sizeof *numbers, compare_longs);
    sample->layers = room(count, sizeof *sample->layers);
    for (long i = 0; i < count; i++)
        if (is_listed(numbers[i], listed, list))
            read_layer(group, sample, numbers[i], &sample->layers[sample->layer_count++]);
    free(numbers);
    free_names(names, count);
    H5Gclose(layers);
}

/* -- samples -- */

static void read_rows_and_needles(hid_t group, struct sample *sample)
{
    hsize_t shape[2];
    long *positions = read_wholes(group, "query_positions", 1, shape);
    if (positions) {
        sample->queries = (long)shape[0];
        for (long q = 0; q < sample->queries; q++)
            sample->prefill += positions[q] < sample->prompt;
        sample->positions = positions;
    }
    long *ends = read_wholes(group, "needles", 2, shape);
    if (ends) {
        sample->needle_count = (long)shape[0];
        sample->needles = room(sample->needle_count, sizeof *sample->needles);
        for (long i = 0; i < sample->needle_count; i++)
            sample->needles[i] = (struct span){ends[2 * i], ends[2 * i + 1]};
    }
    free(ends);
}

struct sample *sample_read(const struct trace *trace, long index, long layer_count,
                           const long *layers)
{
    char path[NAME_ROOM + 16];
    snprintf(path, sizeof path, "/samples/%s", trace->samples[index]);
    hid_t group = H5Gopen2(trace->file, path, H5P_DEFAULT);
    if (group < 0)
        die(1, "%s: not a group", path);
    struct sample *sample = room(1, sizeof *sample);
    sample->trace = strdup(trace->name);
    sample->name = strdup(trace->samples[index]);
    sample->length = attribute(group, "context_length", 0);
    sample->prompt = attribute(group, "prompt_length", sample->length);
    sample->pad = attribute(group, "pad", 0);
    read_rows_and_needles(group, sample);
    read_layers(group, sample, layer_count, layers);
    H5Gclose(group);
    return sample;
}

void sample_free(struct sample *sample)
{
    for (long l = 0; l < sample->layer_count; l++) {
        struct layer *layer = &sample->layers[l];
        free(layer->attention);
        free(layer->accumulated);
        free(layer->query);
        free(layer->key);
        free(layer->value);
        for (long i = 0; i < layer->column_count; i++) {
            free(layer->columns[i].name);
            free(layer->columns[i].values);
        }
        free(layer->columns);
    }
    free(sample->layers);
    free(sample->needles);
    free(sample->positions);
    free(sample->trace);
    free(sample->name);
    free(sample);
}

/* -- the file -- */

static bool is_number(const char *name)
{
    return *name && strspn(name, "0123456789") == strlen(name);
}

/* Numeric names by number, then the others by name. */
static int compare_names(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    if (is_number(x) != is_number(y))
        return is_number(x) ? -1 : 1;
    if (is_number(x)) {
        unsigned long long i = strtoull(x, NULL, 10), j = strtoull(y, NULL, 10);
        if (i != j)
            return i < j ? -1 : 1;
    }
    return strcmp(x, y);
}

struct trace *trace_open(const char *path)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    struct trace *trace = room(1, sizeof *trace);
    const char *slash = strrchr(path, '/');
    trace->name = strdup(slash ? slash + 1 : path);
    trace->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (trace->file < 0)
        die(1, "%s: cannot be opened", path);
    hid_t samples = H5Gopen2(trace->file, "/samples", H5P_DEFAULT);
    if (samples < 0)
        die(1, "%s: no /samples", path);
    trace->samples = names_in(samples, &trace->sample_count);
    qsort(trace->samples, (size_t)trace->sample_count, sizeof *trace->samples, compare_names);
    H5Gclose(samples);
    return trace;
}

void trace_close(struct trace *trace)
{
    H5Fclose(trace->file);
    free_names(trace->samples, trace->sample_count);
    free(trace->name);
    free(trace);
}

long trace_sample_count(const struct trace *trace)
{
    return trace->sample_count;
}

const char *trace_sample_name(const struct trace *trace, long index)
{
    return trace->samples[index];
}

/* -- names of columns -- */

/* Puts a copy of the name into the sorted list, unless it is there. */
static void add_name(const char *name, char ***names, long *count)
{
    long place = 0;
    while (place < *count && strcmp((*names)[place], name) < 0)
        place++;
    if (place < *count && strcmp((*names)[place], name) == 0)
        return;
    char **longer = room(*count + 1, sizeof *longer);
    for (long i = 0; i < *count; i++)
        longer[i < place ? i : i + 1] = (*names)[i];
    longer[place] = strdup(name);
    free(*names);
    *names = longer;
    ++*count;
}

static void layer_column_names(hid_t layers, const char *layer, char ***names, long *count)
{
    hid_t group = H5Gopen2(layers, layer, H5P_DEFAULT);
    if (has_link(group, "scores")) {
        hid_t scores = H5Gopen2(group, "scores", H5P_DEFAULT);
        long found;
        char **here = names_in(scores, &found);
        for (long i = 0; i < found; i++)
            add_name(here[i], names, count);
        free_names(here, found);
        H5Gclose(scores);
    }
    H5Gclose(group);
}

void trace_column_names(const struct trace *trace, char ***names, long *count)
{
    for (long s = 0; s < trace->sample_count; s++) {
        char path[NAME_ROOM + 32];
        snprintf(path, sizeof path, "/samples/%s/layers", trace->samples[s]);
        hid_t layers = H5Gopen2(trace->file, path, H5P_DEFAULT);
        long found;
        char **numbers = names_in(layers, &found);
        for (long i = 0; i < found; i++)
            layer_column_names(layers, numbers[i], names, count);
        free_names(numbers, found);
        H5Gclose(layers);
    }
}
