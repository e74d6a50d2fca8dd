/*
 * Opening a trace: the root of the file and its list of samples. It must not know how values are
 * stored or read.
 */
#include "formats/trace_reader.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/h5_object.h"
#include "formats/h5_session.h"

enum {
    FORMAT_VERSION = 1,
    MOST_SAMPLES = 1 << 20,
    MOST_TEXT = 1 << 16, /* bytes of a model's or producer's name */
};

static const char format_name[] = "kvreplay-trace";

static const size_t default_cache_bytes = (size_t)64 << 20;
static const uint64_t believed_bulk = UINT64_C(4) << 30;
static const uint64_t believed_memory = UINT64_C(64) << 20;

struct kvr_h5_limits kvr_trace_limits(const struct kvr_trace_reader *reader, bool bulk)
{
    return (struct kvr_h5_limits){.file_bytes = reader->file.bytes,
                                  .believed_bytes = bulk ? believed_bulk : believed_memory,
                                  .allow_plugins = reader->allow_plugins};
}

static bool is_number(const char *name)
{
    return name[0] != '\0' && name[strspn(name, "0123456789")] == '\0';
}

/* Numbers of any length: without leading zeros the longer one is the larger. */
static int compare_numbers(const char *a, const char *b)
{
    a += strspn(a, "0");
    b += strspn(b, "0");
    size_t length_a = strlen(a), length_b = strlen(b);
    if (length_a != length_b)
        return length_a < length_b ? -1 : 1;
    return strcmp(a, b);
}

/* Numeric names by number, then the others by name. */
static int compare_sample_names(const void *a, const void *b)
{
    const char *first = *(char *const *)a, *second = *(char *const *)b;
    bool number = is_number(first);
    if (number != is_number(second))
        return number ? -1 : 1;
    int order = number ? compare_numbers(first, second) : 0;
    return order != 0 ? order : strcmp(first, second);
}

static enum kvr_status check_format(hid_t root, struct kvr_error *err)
{
    char *format = NULL;
    enum kvr_status status = kvr_h5_string(root, "format", MOST_TEXT, &format, err);
    if (status != KVR_OK)
        return status;
    if (format == NULL)
        status = kvr_fail(err, KVR_BAD_INPUT, "expected the attribute format = \"%s\", found none",
                          format_name);
    else if (strcmp(format, format_name) != 0)
        status = kvr_fail(err, KVR_BAD_INPUT, "attribute format: expected \"%s\", found \"%.80s\"",
                          format_name, format);
    free(format);
    if (status != KVR_OK)
        return kvr_hint(err, "this HDF5 file is not a trace; traces/FORMAT.md says what one holds");

    uint64_t version = 0;
    bool present;
    status = kvr_h5_unsigned(root, "version", 0, INT64_MAX, &version, &present, err);
    if (status != KVR_OK)
        return status;
    if (!present)
        return kvr_fail(err, KVR_BAD_INPUT, "expected the attribute version = %d, found none",
                        FORMAT_VERSION);
    if (version != FORMAT_VERSION) {
        kvr_fail(err, KVR_UNSUPPORTED, "attribute version: expected %d, found %llu", FORMAT_VERSION,
                 (unsigned long long)version);
        return kvr_hint(err, "the trace was written for another version of kvreplay");
    }
    return KVR_OK;
}

static enum kvr_status load_root(struct kvr_trace *trace, hid_t root, struct kvr_error *err)
{
    enum kvr_status status = check_format(root, err);
    if (status == KVR_OK)
        status = kvr_h5_string(root, "model", MOST_TEXT, &trace->model, err);
    if (status == KVR_OK)
        status = kvr_h5_string(root, "producer", MOST_TEXT, &trace->producer, err);
    return status == KVR_OK ? status : kvr_at(err, "/");
}

static enum kvr_status load_one_sample(struct kvr_trace *trace, hid_t samples, const char *name,
                                       struct kvr_error *err)
{
    struct kvr_sample *sample = &trace->samples[trace->sample_count];
    hid_t group;
    enum kvr_status status = kvr_h5_open_group(samples, "/samples", name, &group, err);
    if (status != KVR_OK)
        return status;
    if (group < 0)
        return kvr_fail(err, KVR_BAD_INPUT, "/samples/%s: is listed but cannot be found", name);
    trace->sample_count++;
    sample->name = kvr_copy_string(name, err);
    status = sample->name != NULL ? kvr_trace_load_sample(trace->reader, group, sample, err)
                                  : KVR_NO_MEMORY;
    H5Gclose(group);
    return status;
}

static enum kvr_status load_listed_samples(struct kvr_trace *trace, hid_t samples,
                                           struct kvr_h5_names *names, struct kvr_error *err)
{
    enum kvr_status status = kvr_h5_list(samples, MOST_SAMPLES, names, err);
    if (status != KVR_OK)
        return kvr_at(err, "/samples");
    if (names->count == 0)
        return kvr_fail(err, KVR_BAD_INPUT, "/samples: expected at least one sample, found none");
    qsort(names->names, names->count, sizeof(char *), compare_sample_names);
    trace->samples = kvr_alloc(names->count, sizeof *trace->samples, err);
    if (trace->samples == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; status == KVR_OK && i < names->count; i++)
        status = load_one_sample(trace, samples, names->names[i], err);
    return status;
}

static enum kvr_status load_samples(struct kvr_trace *trace, hid_t root, struct kvr_error *err)
{
    hid_t samples;
    struct kvr_h5_names names = {0};
    enum kvr_status status = kvr_h5_open_group(root, "", "samples", &samples, err);
    if (status != KVR_OK)
        return status;
    if (samples < 0)
        return kvr_fail(err, KVR_BAD_INPUT, "/: expected the group samples, found none");
    status = load_listed_samples(trace, samples, &names, err);
    kvr_h5_free_names(&names);
    H5Gclose(samples);
    return status;
}

static enum kvr_status load_structure(struct kvr_trace *trace, struct kvr_error *err)
{
    enum kvr_status status = kvr_h5_open_file(trace->path, &trace->reader->file, err);
    if (status != KVR_OK)
        return status;
    trace->file_bytes = trace->reader->file.bytes;
    hid_t root = H5Gopen2(trace->reader->file.id, "/", H5P_DEFAULT);
    if (root < 0) {
        kvr_h5_failed(err, "cannot be opened");
        return kvr_at(err, "/");
    }
    status = load_root(trace, root, err);
    if (status == KVR_OK)
        status = load_samples(trace, root, err);
    H5Gclose(root);
    return status;
}

static enum kvr_status new_trace(const char *path, const struct kvr_trace_options *options,
                                 struct kvr_trace **out, struct kvr_error *err)
{
    struct kvr_trace *trace = kvr_alloc(1, sizeof *trace, err);
    if (trace == NULL)
        return KVR_NO_MEMORY;
    *out = trace;
    trace->path = kvr_copy_string(path, err);
    trace->name = kvr_copy_string(kvr_base_name(path), err);
    trace->reader = kvr_alloc(1, sizeof *trace->reader, err);
    if (trace->path == NULL || trace->name == NULL || trace->reader == NULL)
        return KVR_NO_MEMORY;
    struct kvr_trace_reader *reader = trace->reader;
    reader->file = (struct kvr_h5_file){.id = H5I_INVALID_HID, .descriptor = -1};
    kvr_chunk_pool_open(&reader->pool);
    reader->allow_plugins = options != NULL && options->allow_plugins;
    size_t cache = options != NULL ? options->cache_bytes : 0;
    return kvr_chunk_cache_new(cache > 0 ? cache : default_cache_bytes, &reader->cache, err);
}

enum kvr_status kvr_trace_open(const char *path, const struct kvr_trace_options *options,
                               struct kvr_trace **out, struct kvr_error *err)
{
    struct kvr_trace *trace = NULL;
    enum kvr_status status = new_trace(path, options, &trace, err);
    if (status == KVR_OK) {
        kvr_h5_enter(trace->reader->allow_plugins);
        status = load_structure(trace, err);
        kvr_h5_leave();
        if (status != KVR_OK)
            kvr_at(err, "\"%s\"", path);
    }
    if (status != KVR_OK) {
        kvr_trace_close(trace);
        return status;
    }
    *out = trace;
    return KVR_OK;
}

static void close_reader(struct kvr_trace_reader *reader)
{
    if (reader == NULL)
        return;
    kvr_h5_enter(reader->allow_plugins);
    for (size_t i = 0; i < KVR_OPEN_DATASETS; i++)
        if (reader->open[i].used != 0)
            H5Dclose(reader->open[i].id);
    kvr_h5_close_file(&reader->file);
    kvr_h5_leave();
    kvr_chunk_cache_free(reader->cache);
    kvr_chunk_pool_close(&reader->pool);
    free(reader->datasets);
    free(reader);
}

void kvr_trace_close(struct kvr_trace *trace)
{
    if (trace == NULL)
        return;
    for (size_t i = 0; i < trace->sample_count; i++)
        kvr_trace_free_sample(&trace->samples[i]);
    free(trace->samples);
    close_reader(trace->reader);
    free(trace->model);
    free(trace->producer);
    free(trace->path);
    free(trace->name);
    free(trace);
}
