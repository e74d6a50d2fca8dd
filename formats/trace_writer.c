/*
 * The structure of a trace being written: file, samples, layers and their attributes. It must not
 * know how the values of a dataset are stored; dataset_writer.c does.
 */
#include "formats/trace_writer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/h5_session.h"
#include "formats/trace_writer_state.h"

/* Small datasets. */

static herr_t put_integers(hid_t group, const char *name, int rank, const hsize_t *shape,
                           const int32_t *values)
{
    hid_t space = H5Screate_simple(rank, shape, NULL);
    hid_t properties = kvr_h5_untimed(H5P_DATASET_CREATE);
    hid_t dataset =
        H5Dcreate2(group, name, H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    herr_t result = -1;
    if (dataset >= 0) {
        result = H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        H5Dclose(dataset);
    }
    H5Pclose(properties);
    H5Sclose(space);
    return result;
}

static void close_group(hid_t *group)
{
    if (*group >= 0)
        H5Gclose(*group);
    *group = H5I_INVALID_HID;
}

/* Failures. */

enum kvr_status kvr_trace_writer_note(struct kvr_trace_writer *writer, enum kvr_status status,
                                      const struct kvr_error *err)
{
    if (status == KVR_OK || writer->failure.status != KVR_OK)
        return status;
    if (err != NULL)
        writer->failure = *err;
    else
        kvr_fail(&writer->failure, status, "\"%s\": an earlier step failed", writer->path);
    return status;
}

enum kvr_status kvr_trace_writer_failed(const struct kvr_trace_writer *writer, const char *place,
                                        struct kvr_error *err)
{
    return kvr_h5_write_failed(writer->path, place, err);
}

/* Leaves HDF5. Room on the disk may have run out behind its back. */
static enum kvr_status finish_step(struct kvr_trace_writer *writer, enum kvr_status status,
                                   struct kvr_error *err)
{
    kvr_h5_leave();
    if (status == KVR_OK)
        status = kvr_sink_check(writer->sink, err);
    return kvr_trace_writer_note(writer, status, err);
}

/* Opening. */

static enum kvr_status write_head(struct kvr_trace_writer *writer, const char *model,
                                  const char *producer, struct kvr_error *err)
{
    writer->file = kvr_h5_make_file(writer->sink, H5F_LIBVER_EARLIEST);
    if (writer->file < 0)
        return kvr_trace_writer_failed(writer, "/", err);
    if (kvr_h5_put_string(writer->file, "format", "kvreplay-trace") < 0 ||
        kvr_h5_put_integer(writer->file, "version", 1) < 0 ||
        kvr_h5_put_string(writer->file, "model", model) < 0 ||
        kvr_h5_put_string(writer->file, "producer", producer) < 0)
        return kvr_trace_writer_failed(writer, "/", err);
    hid_t samples = kvr_h5_make_group(writer->file, "samples");
    if (samples < 0)
        return kvr_trace_writer_failed(writer, "/samples", err);
    H5Gclose(samples);
    return KVR_OK;
}

enum kvr_status kvr_trace_writer_open(const char *path, const char *model, const char *producer,
                                      struct kvr_trace_writer **out, struct kvr_error *err)
{
    struct kvr_trace_writer *writer = kvr_alloc(1, sizeof *writer, err);
    if (writer == NULL)
        return KVR_NO_MEMORY;
    writer->file = writer->sample = writer->layer = H5I_INVALID_HID;
    writer->path = kvr_copy_string(path, err);
    enum kvr_status status =
        writer->path == NULL ? KVR_NO_MEMORY : kvr_sink_open(path, &writer->sink, err);
    if (status == KVR_OK) {
        kvr_h5_enter(false);
        status = write_head(writer, model, producer, err);
        status = finish_step(writer, status, err);
    }
    if (status != KVR_OK) {
        kvr_trace_writer_abandon(writer);
        return status;
    }
    *out = writer;
    return KVR_OK;
}

/* Samples and layers. */

static void close_layer(struct kvr_trace_writer *writer)
{
    close_group(&writer->layer);
    free(writer->layer_place);
    writer->layer_place = NULL;
}

static void close_sample(struct kvr_trace_writer *writer)
{
    while (writer->open != NULL)
        kvr_dataset_writer_drop(writer->open);
    close_layer(writer);
    close_group(&writer->sample);
    free(writer->sample_place);
    writer->sample_place = NULL;
}

/* Datasets that the caller left open are closed here, where a failure can still be told. */
static enum kvr_status close_datasets(struct kvr_trace_writer *writer, struct kvr_error *err)
{
    while (writer->open != NULL) {
        enum kvr_status status = kvr_dataset_writer_finish(writer->open, err);
        if (status != KVR_OK)
            return status;
    }
    return KVR_OK;
}

static char *format_place(const char *parent, const char *name, struct kvr_error *err)
{
    size_t size = strlen(parent) + strlen(name) + 2;
    char *place = kvr_alloc(size, 1, err);
    if (place != NULL)
        snprintf(place, size, "%s/%s", parent, name);
    return place;
}

static enum kvr_status check_sample(const struct kvr_trace_writer *writer,
                                    const struct kvr_sample *sample, struct kvr_error *err)
{
    const char *name = sample->name;
    if (name == NULL || *name == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "\"%s\": expected a sample name without \"/\", found \"%s\"", writer->path,
                        name != NULL ? name : "");
    if (sample->context_length == 0 || sample->context_length > INT32_MAX)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "\"%s\": /samples/%s: expected a context length of 1 ... %d, found %llu",
                        writer->path, name, INT32_MAX, (unsigned long long)sample->context_length);
    if (sample->query_heads == 0 || sample->kv_heads == 0 ||
        sample->query_heads % sample->kv_heads != 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "\"%s\": /samples/%s: expected query heads in groups of equal size, found "
                        "%u query heads and %u KV heads",
                        writer->path, name, sample->query_heads, sample->kv_heads);
    if (sample->token_count != 0 && sample->token_count != sample->context_length)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "\"%s\": /samples/%s/tokens: expected [%llu], found [%zu]", writer->path,
                        name, (unsigned long long)sample->context_length, sample->token_count);
    return KVR_OK;
}

static herr_t put_sample_attributes(hid_t group, const struct kvr_sample *sample)
{
    bool failed =
        kvr_h5_put_integer(group, "context_length", sample->context_length) < 0 ||
        kvr_h5_put_integer(group, "prompt_length", sample->prompt_length) < 0 ||
        kvr_h5_put_integer(group, "query_heads", sample->query_heads) < 0 ||
        kvr_h5_put_integer(group, "kv_heads", sample->kv_heads) < 0 ||
        (sample->head_dim != 0 && kvr_h5_put_integer(group, "head_dim", sample->head_dim) < 0) ||
        (sample->pad != 0 && kvr_h5_put_integer(group, "pad", sample->pad) < 0) ||
        kvr_h5_put_string(group, "task", sample->task) < 0 ||
        kvr_h5_put_string(group, "subset", sample->subset) < 0 ||
        kvr_h5_put_string(group, "generated", sample->generated) < 0;
    return failed ? -1 : 0;
}

/* Positions are kept as 64-bit numbers in memory and as int32 in the file. */
static herr_t put_positions(hid_t group, const char *name, int rank, const hsize_t *shape,
                            const uint64_t *positions)
{
    size_t count = (size_t)shape[0] * (rank > 1 ? (size_t)shape[1] : 1);
    int32_t *narrow = malloc(count * sizeof *narrow);
    if (narrow == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        narrow[i] = (int32_t)positions[i];
    herr_t result = put_integers(group, name, rank, shape, narrow);
    free(narrow);
    return result;
}

static herr_t put_sample_datasets(hid_t group, const struct kvr_sample *sample)
{
    if (sample->token_count > 0) {
        hsize_t shape[1] = {sample->token_count};
        if (put_integers(group, "tokens", 1, shape, sample->tokens) < 0)
            return -1;
    }
    if (sample->query_count > 0) {
        hsize_t shape[1] = {sample->query_count};
        if (put_positions(group, "query_positions", 1, shape, sample->query_positions) < 0)
            return -1;
    }
    if (sample->needle_count > 0) {
        hsize_t shape[2] = {sample->needle_count, 2};
        /* struct kvr_span is two uint64_t without padding: start, end, start, end, ... */
        if (put_positions(group, "needles", 2, shape, &sample->needles[0].start) < 0)
            return -1;
    }
    return 0;
}

static enum kvr_status start_sample(struct kvr_trace_writer *writer,
                                    const struct kvr_sample *sample, struct kvr_error *err)
{
    enum kvr_status status = close_datasets(writer, err);
    if (status == KVR_OK)
        status = check_sample(writer, sample, err);
    if (status != KVR_OK)
        return status;
    close_sample(writer);
    writer->sample_place = format_place("/samples", sample->name, err);
    if (writer->sample_place == NULL)
        return KVR_NO_MEMORY;
    if (H5Lexists(writer->file, writer->sample_place, H5P_DEFAULT) > 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "\"%s\": %s: a sample of this name exists already",
                        writer->path, writer->sample_place);
    writer->sample = kvr_h5_make_group(writer->file, writer->sample_place);
    if (writer->sample < 0 || put_sample_attributes(writer->sample, sample) < 0 ||
        put_sample_datasets(writer->sample, sample) < 0)
        return kvr_trace_writer_failed(writer, writer->sample_place, err);
    hid_t layers = kvr_h5_make_group(writer->sample, "layers");
    if (layers < 0)
        return kvr_trace_writer_failed(writer, writer->sample_place, err);
    H5Gclose(layers);
    writer->context_length = sample->context_length;
    writer->query_count = sample->query_count;
    writer->sample_heads[0] = sample->query_heads;
    writer->sample_heads[1] = sample->kv_heads;
    return KVR_OK;
}

enum kvr_status kvr_trace_writer_sample(struct kvr_trace_writer *writer,
                                        const struct kvr_sample *sample, struct kvr_error *err)
{
    kvr_h5_enter(false);
    enum kvr_status status = start_sample(writer, sample, err);
    return finish_step(writer, status, err);
}

static herr_t put_layer_attributes(const struct kvr_trace_writer *writer,
                                   const struct kvr_layer *layer)
{
    hid_t group = writer->layer;
    bool failed = (layer->query_heads != writer->sample_heads[0] &&
                   kvr_h5_put_integer(group, "query_heads", layer->query_heads) < 0) ||
                  (layer->kv_heads != writer->sample_heads[1] &&
                   kvr_h5_put_integer(group, "kv_heads", layer->kv_heads) < 0) ||
                  (layer->sliding_window != 0 &&
                   kvr_h5_put_integer(group, "sliding_window", layer->sliding_window) < 0) ||
                  (layer->sink_logits && kvr_h5_put_integer(group, "sink_logits", 1) < 0) ||
                  kvr_h5_put_double(group, "scale", layer->scale) < 0 ||
                  kvr_h5_put_double(group, "softcap", layer->softcap) < 0;
    return failed ? -1 : 0;
}

static enum kvr_status start_layer(struct kvr_trace_writer *writer, const struct kvr_layer *layer,
                                   struct kvr_error *err)
{
    close_layer(writer);
    if (writer->sample < 0)
        return kvr_fail(err, KVR_INTERNAL, "\"%s\": a layer before its sample", writer->path);
    char name[32];
    snprintf(name, sizeof name, "layers/%u", layer->number);
    writer->layer_place = format_place(writer->sample_place, name, err);
    if (writer->layer_place == NULL)
        return KVR_NO_MEMORY;
    if (layer->query_heads == 0 || layer->kv_heads == 0 ||
        layer->query_heads % layer->kv_heads != 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "\"%s\": %s: expected query heads in groups of equal size, found %u query "
                        "heads and %u KV heads",
                        writer->path, writer->layer_place, layer->query_heads, layer->kv_heads);
    if (H5Lexists(writer->sample, name, H5P_DEFAULT) > 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "\"%s\": %s: a layer of this number exists already",
                        writer->path, writer->layer_place);
    writer->layer = kvr_h5_make_group(writer->sample, name);
    if (writer->layer < 0 || put_layer_attributes(writer, layer) < 0)
        return kvr_trace_writer_failed(writer, writer->layer_place, err);
    writer->query_heads = layer->query_heads;
    writer->kv_heads = layer->kv_heads;
    return KVR_OK;
}

enum kvr_status kvr_trace_writer_layer(struct kvr_trace_writer *writer,
                                       const struct kvr_layer *layer, struct kvr_error *err)
{
    kvr_h5_enter(false);
    enum kvr_status status = start_layer(writer, layer, err);
    return finish_step(writer, status, err);
}

/* The end. */

/* Closes everything in HDF5. If HDF5 keeps hold of the file, the sink has to outlive us. */
static bool close_file(struct kvr_trace_writer *writer)
{
    close_sample(writer);
    bool closed = writer->file < 0 || H5Fclose(writer->file) >= 0;
    writer->file = H5I_INVALID_HID;
    return closed;
}

static void release(struct kvr_trace_writer *writer)
{
    free(writer->path);
    free(writer);
}

enum kvr_status kvr_trace_writer_commit(struct kvr_trace_writer *writer, struct kvr_error *err)
{
    enum kvr_status status = writer->failure.status;
    if (status != KVR_OK) {
        if (err != NULL)
            *err = writer->failure;
        kvr_trace_writer_abandon(writer);
        return status;
    }
    kvr_h5_enter(false);
    status = close_datasets(writer, err);
    if (status == KVR_OK && !close_file(writer)) {
        status = kvr_trace_writer_failed(writer, "/", err);
        kvr_sink_disown(writer->sink);
        writer->sink = NULL;
    }
    kvr_h5_leave();
    if (status != KVR_OK) {
        kvr_trace_writer_abandon(writer);
        return status;
    }
    status = kvr_sink_commit(writer->sink, err);
    release(writer);
    return status;
}

void kvr_trace_writer_abandon(struct kvr_trace_writer *writer)
{
    if (writer == NULL)
        return;
    kvr_h5_enter(false);
    if (close_file(writer))
        kvr_sink_abandon(writer->sink);
    else if (writer->sink != NULL)
        kvr_sink_disown(writer->sink);
    kvr_h5_leave();
    release(writer);
}
