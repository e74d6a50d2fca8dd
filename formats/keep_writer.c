/*
 * Kept sets as groups and datasets of HDF5. It must not know policies, or how a set came about.
 *
 * A file may hold hundreds of thousands of small sets, so objects have the compact form of HDF5
 * 1.10, and sets below a few hundred positions lie in their object header.
 */
#include "formats/keep_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/h5_session.h"
#include "formats/h5_write.h"
#include "formats/sink.h"

enum { MOST_COMPACT = 2048, MOST_NAME = 2048, LEVELS = 5 };
static const hsize_t most_chunk = 1 << 18; /* elements */
static const unsigned deflate_level = 4;

struct kvr_keep_writer {
    char *path;
    struct kvr_sink *sink;
    hid_t file, sample;
    char *sample_name;
};

/*
 * A name as a link of HDF5, which "/" would split and for which "." means something else: those
 * and "%" become %XX. False if it is too long.
 */
static bool escape_name(const char *name, char *link, size_t size)
{
    size_t used = 0;
    bool dots = strcmp(name, ".") == 0;
    for (; *name != '\0'; name++) {
        bool plain = *name != '/' && *name != '%' && !dots;
        if (used + 4 > size)
            return false;
        if (plain)
            link[used++] = *name;
        else
            used += (size_t)snprintf(link + used, 4, "%%%02X", (unsigned char)*name);
    }
    link[used] = '\0';
    return used > 0;
}

static enum kvr_status failed(const struct kvr_keep_writer *writer, const char *place,
                              struct kvr_error *err)
{
    return kvr_h5_write_failed(writer->path, place, err);
}

/* Leaves HDF5. Room on the disk may have run out behind its back. */
static enum kvr_status finish_step(const struct kvr_keep_writer *writer, enum kvr_status status,
                                   struct kvr_error *err)
{
    kvr_h5_leave();
    return status == KVR_OK ? kvr_sink_check(writer->sink, err) : status;
}

/* ---- objects; all return a negative number on failure, as HDF5 does */

/* Small data lie in the header, others in filtered chunks. */
static hid_t layout_of(hsize_t length, size_t element_size)
{
    hid_t properties = kvr_h5_untimed(H5P_DATASET_CREATE);
    hsize_t chunk = length < most_chunk ? length : most_chunk;
    bool wrong = properties < 0;
    if (length * element_size <= MOST_COMPACT)
        wrong = wrong || (length > 0 && H5Pset_layout(properties, H5D_COMPACT) < 0);
    else
        wrong = wrong || H5Pset_chunk(properties, 1, &chunk) < 0 ||
                H5Pset_shuffle(properties) < 0 || H5Pset_deflate(properties, deflate_level) < 0;
    if (!wrong)
        return properties;
    H5Pclose(properties);
    return H5I_INVALID_HID;
}

static herr_t put_numbers(hid_t group, const char *name, hid_t stored, hid_t memory, hsize_t length,
                          const void *values)
{
    hid_t properties = layout_of(length, H5Tget_size(stored));
    hid_t space = H5Screate_simple(1, &length, NULL);
    hid_t dataset = H5Dcreate2(group, name, stored, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    herr_t result = -1;
    if (dataset >= 0) {
        result = length > 0 ? H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) : 0;
        if (H5Dclose(dataset) < 0)
            result = -1;
    }
    H5Sclose(space);
    H5Pclose(properties);
    return result;
}

/* ---- the file */

static enum kvr_status write_head(struct kvr_keep_writer *writer, const char *trace,
                                  const char *producer, struct kvr_error *err)
{
    writer->file = kvr_h5_make_file(writer->sink, H5F_LIBVER_V110);
    if (writer->file < 0 || kvr_h5_put_string(writer->file, "format", "kvreplay-keep") < 0 ||
        kvr_h5_put_integer(writer->file, "version", 1) < 0 ||
        kvr_h5_put_string(writer->file, "trace", trace) < 0 ||
        kvr_h5_put_string(writer->file, "producer", producer) < 0)
        return failed(writer, "/", err);
    hid_t samples = kvr_h5_make_group(writer->file, "samples");
    if (samples < 0)
        return failed(writer, "/samples", err);
    H5Gclose(samples);
    return KVR_OK;
}

enum kvr_status kvr_keep_writer_open(const char *path, const char *trace, const char *producer,
                                     struct kvr_keep_writer **out, struct kvr_error *err)
{
    struct kvr_keep_writer *writer = kvr_alloc(1, sizeof *writer, err);
    if (writer == NULL)
        return KVR_NO_MEMORY;
    writer->file = writer->sample = H5I_INVALID_HID;
    writer->path = kvr_copy_string(path, err);
    enum kvr_status status =
        writer->path == NULL ? KVR_NO_MEMORY : kvr_sink_open(path, &writer->sink, err);
    if (status == KVR_OK) {
        kvr_h5_enter(false);
        status = write_head(writer, trace, producer, err);
        status = finish_step(writer, status, err);
    }
    if (status != KVR_OK) {
        kvr_keep_writer_abandon(writer);
        return status;
    }
    *out = writer;
    return KVR_OK;
}

static void close_sample(struct kvr_keep_writer *writer)
{
    if (writer->sample >= 0)
        H5Gclose(writer->sample);
    writer->sample = H5I_INVALID_HID;
    free(writer->sample_name);
    writer->sample_name = NULL;
}

static enum kvr_status start_sample(struct kvr_keep_writer *writer, const struct kvr_sample *sample,
                                    struct kvr_error *err)
{
    close_sample(writer);
    writer->sample_name = kvr_copy_string(sample->name, err);
    if (writer->sample_name == NULL)
        return KVR_NO_MEMORY;
    hid_t samples = H5Gopen2(writer->file, "/samples", H5P_DEFAULT);
    writer->sample = kvr_h5_make_group(samples, sample->name);
    H5Gclose(samples);
    if (writer->sample < 0 ||
        kvr_h5_put_integer(writer->sample, "prompt_length", sample->prompt_length) < 0 ||
        kvr_h5_put_integer(writer->sample, "pad", sample->pad) < 0)
        return failed(writer, sample->name, err);
    return KVR_OK;
}

enum kvr_status kvr_keep_writer_sample(struct kvr_keep_writer *writer,
                                       const struct kvr_sample *sample, struct kvr_error *err)
{
    kvr_h5_enter(false);
    enum kvr_status status = start_sample(writer, sample, err);
    return finish_step(writer, status, err);
}

/* ---- sets */

/* A group of the path to the sets: its link, and the attribute that says what it stands for. */
struct level {
    char link[MOST_NAME];
    const char *attribute, *name;
};

static hid_t enter_level(hid_t parent, const struct level *level)
{
    htri_t exists = H5Lexists(parent, level->link, H5P_DEFAULT);
    if (exists > 0)
        return H5Gopen2(parent, level->link, H5P_DEFAULT);
    hid_t group = exists == 0 ? kvr_h5_make_group(parent, level->link) : H5I_INVALID_HID;
    if (group >= 0 && level->attribute != NULL &&
        kvr_h5_put_string(group, level->attribute, level->name) < 0) {
        H5Gclose(group);
        return H5I_INVALID_HID;
    }
    return group;
}

/* <policy>/<scorer>/p<page size>/b<budget>/layers, made where it is missing. */
static enum kvr_status enter_layers(const struct kvr_keep_writer *writer,
                                    const struct kvr_keep_place *place, hid_t *layers,
                                    struct kvr_error *err)
{
    struct level levels[LEVELS] = {
        {.attribute = "policy", .name = place->policy},
        {.attribute = "scorer", .name = place->scorer},
        {.attribute = NULL},
        {.attribute = "budget", .name = place->budget},
        {.link = "layers"},
    };
    snprintf(levels[2].link, MOST_NAME, "p%llu", (unsigned long long)place->page_size);
    snprintf(levels[3].link, MOST_NAME, "b%s", place->budget);
    if (!escape_name(place->policy, levels[0].link, MOST_NAME) ||
        !escape_name(place->scorer, levels[1].link, MOST_NAME) ||
        strlen(place->budget) > MOST_NAME - 2)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "\"%s\": names of policies and scorers are limited to %d bytes",
                        writer->path, MOST_NAME / 3);
    hid_t group = writer->sample;
    for (size_t i = 0; i < LEVELS; i++) {
        hid_t next = enter_level(group, &levels[i]);
        if (group != writer->sample)
            H5Gclose(group);
        group = next;
        if (group < 0)
            return failed(writer, levels[i].link, err);
    }
    *layers = group;
    return KVR_OK;
}

static herr_t put_sets(hid_t layer, const struct kvr_keep_sets *sets)
{
    bool wrong = kvr_h5_put_string(layer, "per", sets->per_head ? "head" : "group") < 0 ||
                 put_numbers(layer, "offsets", H5T_STD_I64LE, H5T_NATIVE_UINT64,
                             sets->row_count + 1, sets->offsets) < 0 ||
                 put_numbers(layer, "positions", H5T_STD_U32LE, H5T_NATIVE_UINT32,
                             sets->offsets[sets->row_count], sets->positions) < 0 ||
                 (sets->excluded_count > 0 &&
                  put_numbers(layer, "excluded", H5T_STD_U32LE, H5T_NATIVE_UINT32,
                              sets->excluded_count, sets->excluded) < 0);
    return wrong ? -1 : 0;
}

static enum kvr_status add_sets(const struct kvr_keep_writer *writer,
                                const struct kvr_keep_place *place,
                                const struct kvr_keep_sets *sets, struct kvr_error *err)
{
    hid_t layers = H5I_INVALID_HID;
    enum kvr_status status = enter_layers(writer, place, &layers, err);
    if (status != KVR_OK)
        return status;
    char number[16];
    snprintf(number, sizeof number, "%u", place->layer);
    hid_t layer = kvr_h5_make_group(layers, number);
    H5Gclose(layers);
    if (layer < 0 || put_sets(layer, sets) < 0) {
        char where[256];
        snprintf(where, sizeof where, "/samples/%.64s/%.64s/…/layers/%u", writer->sample_name,
                 place->policy, place->layer);
        status = failed(writer, where, err);
    }
    if (layer >= 0)
        H5Gclose(layer);
    return status;
}

enum kvr_status kvr_keep_writer_add(struct kvr_keep_writer *writer,
                                    const struct kvr_keep_place *place,
                                    const struct kvr_keep_sets *sets, struct kvr_error *err)
{
    if (writer->sample < 0)
        return kvr_fail(err, KVR_INTERNAL, "\"%s\": sets before their sample", writer->path);
    kvr_h5_enter(false);
    enum kvr_status status = add_sets(writer, place, sets, err);
    return finish_step(writer, status, err);
}

/* ---- the end */

/* False if HDF5 keeps hold of the file: then the sink has to outlive us. */
static bool close_file(struct kvr_keep_writer *writer)
{
    close_sample(writer);
    bool closed = writer->file < 0 || H5Fclose(writer->file) >= 0;
    writer->file = H5I_INVALID_HID;
    return closed;
}

static void release(struct kvr_keep_writer *writer)
{
    free(writer->path);
    free(writer);
}

enum kvr_status kvr_keep_writer_commit(struct kvr_keep_writer *writer, struct kvr_error *err)
{
    kvr_h5_enter(false);
    enum kvr_status status = KVR_OK;
    if (!close_file(writer)) {
        status = failed(writer, "/", err);
        kvr_sink_disown(writer->sink);
    }
    kvr_h5_leave();
    if (status == KVR_OK)
        status = kvr_sink_commit(writer->sink, err);
    release(writer);
    return status;
}

void kvr_keep_writer_abandon(struct kvr_keep_writer *writer)
{
    if (writer == NULL)
        return;
    kvr_h5_enter(false);
    if (close_file(writer))
        kvr_sink_abandon(writer->sink);
    else
        kvr_sink_disown(writer->sink);
    kvr_h5_leave();
    release(writer);
}
