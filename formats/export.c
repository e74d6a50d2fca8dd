/*
 * Walking a trace and writing each array. How .npz looks it must not know.
 */
#include "formats/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/text.h"
#include "formats/npz_writer.h"
#include "formats/trace_names.h"

enum { BLOCK_BYTES = 4 << 20 };

struct exporting {
    struct kvr_trace *trace;
    const struct kvr_export_filter *filter;
    struct kvr_npz_writer *writer;
    struct kvr_text place; /* "samples/0/layers/3/" */
    size_t arrays;
};

static bool wants_dataset(const struct exporting *exporting, const char *name)
{
    const struct kvr_export_filter *filter = exporting->filter;
    for (size_t i = 0; i < filter->dataset_count; i++)
        if (strcmp(filter->datasets[i], name) == 0)
            return true;
    return filter->dataset_count == 0;
}

static bool wants_sample(const struct kvr_export_filter *filter, const char *name)
{
    for (size_t i = 0; i < filter->sample_count; i++)
        if (strcmp(filter->samples[i], name) == 0)
            return true;
    return filter->sample_count == 0;
}

static bool wants_layer(const struct kvr_export_filter *filter, uint32_t number)
{
    for (size_t i = 0; i < filter->layer_count; i++)
        if (filter->layers[i] == number)
            return true;
    return filter->layer_count == 0;
}

static enum kvr_status start_array(struct exporting *exporting, const char *name, const char *descr,
                                   unsigned rank, const uint64_t *shape, struct kvr_error *err)
{
    struct kvr_text full = {0};
    kvr_text_add(&full, "%s%s", exporting->place.data, name);
    enum kvr_status status = kvr_text_check(&full, err);
    if (status == KVR_OK)
        status = kvr_npz_writer_array(exporting->writer, full.data, descr, rank, shape, err);
    exporting->arrays += status == KVR_OK;
    kvr_text_free(&full);
    return status;
}

/* Whole numbers as "<i4" or, rank 0, one as "<i8". */
static enum kvr_status export_integers(struct exporting *exporting, const char *name, unsigned rank,
                                       const uint64_t *shape, const int64_t *values, size_t count,
                                       struct kvr_error *err)
{
    const size_t width = rank == 0 ? 8 : 4;
    enum kvr_status status =
        start_array(exporting, name, rank == 0 ? "<i8" : "<i4", rank, shape, err);
    for (size_t i = 0; status == KVR_OK && i < count; i++) {
        unsigned char bytes[8];
        for (size_t b = 0; b < width; b++)
            bytes[b] = (unsigned char)((uint64_t)values[i] >> (8 * b));
        status = kvr_npz_writer_bytes(exporting->writer, bytes, width, err);
    }
    return status;
}

/* A number of a sample or layer; nothing for NaN, which means "not recorded". */
static enum kvr_status export_attribute(struct exporting *exporting,
                                        const struct kvr_attribute *attribute, const void *owner,
                                        struct kvr_error *err)
{
    static const struct kvr_element_type type = {.kind = KVR_DOUBLE};
    const double number = kvr_attribute_get(attribute, owner);
    unsigned char bytes[8];
    if (isnan(number))
        return KVR_OK;
    if (attribute->kind != KVR_REAL) {
        const int64_t whole = (int64_t)number;
        return export_integers(exporting, attribute->name, 0, NULL, &whole, 1, err);
    }
    kvr_element_encode(type, &number, 1, bytes);
    enum kvr_status status = start_array(exporting, attribute->name, "<f8", 0, NULL, err);
    return status == KVR_OK ? kvr_npz_writer_bytes(exporting->writer, bytes, sizeof bytes, err)
                            : status;
}

/* ------------------------------------------------------------------------------ datasets */

static const char *descr_of(const struct kvr_element_type *type)
{
    static const char *const little[] = {"<f2", "<f4", "<f4", "<f8"};
    static const char *const big[] = {">f2", "<f4", ">f4", ">f8"};
    return type->big_endian ? big[type->kind] : little[type->kind];
}

/* One block of a dataset, in its own type or, from bfloat16, as float. */
static enum kvr_status export_block(struct exporting *exporting, const struct kvr_dataset *dataset,
                                    const uint64_t *start, const uint64_t *count, double *values,
                                    void *stored, struct kvr_error *err)
{
    static const struct kvr_element_type plain = {.kind = KVR_FLOAT};
    const size_t size = (size_t)(count[0] * count[1] * count[2]);
    enum kvr_status status;
    if (dataset->type.kind != KVR_BFLOAT16) {
        status = kvr_trace_read_stored(exporting->trace, dataset, start, count, stored, err);
    } else {
        status = kvr_trace_read(exporting->trace, dataset, start, count, values, err);
        if (status == KVR_OK)
            kvr_element_encode(plain, values, size, stored);
    }
    const size_t bytes = dataset->type.kind == KVR_BFLOAT16 ? kvr_element_size(KVR_FLOAT)
                                                            : kvr_element_size(dataset->type.kind);
    return status == KVR_OK ? kvr_npz_writer_bytes(exporting->writer, stored, size * bytes, err)
                            : status;
}

/* In row-major order, in blocks of about BLOCK_BYTES of one head. */
static enum kvr_status export_rows(struct exporting *exporting, const struct kvr_dataset *dataset,
                                   struct kvr_error *err)
{
    const uint64_t *shape = dataset->shape;
    const uint64_t width = shape[2], fit = BLOCK_BYTES / (width * sizeof(double));
    const uint64_t most = fit < 1 ? 1 : fit < shape[1] ? fit : shape[1];
    double *values = kvr_alloc((size_t)(most * width), sizeof *values, err);
    void *stored = kvr_alloc((size_t)(most * width), sizeof(double), err);
    enum kvr_status status = values != NULL && stored != NULL ? KVR_OK : KVR_NO_MEMORY;
    uint64_t start[KVR_DATASET_RANK] = {0}, count[KVR_DATASET_RANK] = {1, 1, width};
    for (start[0] = 0; start[0] < shape[0]; start[0]++)
        for (start[1] = 0; status == KVR_OK && start[1] < shape[1]; start[1] += count[1]) {
            count[1] = shape[1] - start[1] < most ? shape[1] - start[1] : most;
            status = export_block(exporting, dataset, start, count, values, stored, err);
        }
    free(values);
    free(stored);
    return status;
}

static enum kvr_status export_dataset(struct exporting *exporting, const char *name,
                                      const struct kvr_dataset *dataset, struct kvr_error *err)
{
    if (dataset == NULL || !wants_dataset(exporting, name))
        return KVR_OK;
    enum kvr_status status =
        start_array(exporting, name, descr_of(&dataset->type), dataset->rank, dataset->shape, err);
    return status == KVR_OK ? export_rows(exporting, dataset, err) : status;
}

/* ------------------------------------------------------------------------------ walking */

static enum kvr_status export_layer(struct exporting *exporting, const struct kvr_layer *layer,
                                    struct kvr_error *err)
{
    const size_t before = exporting->arrays;
    enum kvr_status status = KVR_OK;
    for (unsigned m = 0; status == KVR_OK && m < KVR_MEMBERS; m++)
        status = export_dataset(exporting, kvr_members[m].name,
                                kvr_layer_member(layer, (enum kvr_member)m), err);
    for (size_t i = 0; status == KVR_OK && i < layer->column_count; i++) {
        struct kvr_text name = {0};
        kvr_text_add(&name, "scores/%s", layer->columns[i].name);
        status = kvr_text_check(&name, err);
        if (status == KVR_OK)
            status = export_dataset(exporting, name.data, &layer->columns[i].data, err);
        kvr_text_free(&name);
    }
    if (exporting->arrays == before)
        return status;
    for (size_t i = 0; status == KVR_OK && i < KVR_LAYER_ATTRIBUTES; i++)
        status = export_attribute(exporting, &kvr_layer_attributes[i], layer, err);
    return status;
}

/* The sample's own arrays of whole numbers. */
static enum kvr_status export_lists(struct exporting *exporting, const struct kvr_sample *sample,
                                    struct kvr_error *err)
{
    const uint64_t shapes[][2] = {
        {sample->token_count, 0}, {sample->query_count, 0}, {sample->needle_count, 2}};
    const size_t sizes[] = {sample->token_count, sample->query_count, 2 * sample->needle_count};
    static const char *const names[] = {"tokens", "query_positions", "needles"};
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < 3; i++) {
        if (sizes[i] == 0 || !wants_dataset(exporting, names[i]))
            continue;
        int64_t *values = kvr_alloc(sizes[i], sizeof *values, err);
        if (values == NULL)
            return KVR_NO_MEMORY;
        for (size_t v = 0; v < sizes[i]; v++) {
            const struct kvr_span *span = i == 2 ? &sample->needles[v / 2] : NULL;
            values[v] = i == 0   ? sample->tokens[v]
                        : i == 1 ? (int64_t)sample->query_positions[v]
                                 : (int64_t)(v % 2 == 0 ? span->start : span->end);
        }
        status =
            export_integers(exporting, names[i], i == 2 ? 2 : 1, shapes[i], values, sizes[i], err);
        free(values);
    }
    return status;
}

static enum kvr_status export_sample(struct exporting *exporting, const struct kvr_sample *sample,
                                     struct kvr_error *err)
{
    kvr_text_clear(&exporting->place);
    kvr_text_add(&exporting->place, "samples/%s/", sample->name);
    enum kvr_status status = export_lists(exporting, sample, err);
    for (size_t i = 0; status == KVR_OK && i < KVR_SAMPLE_ATTRIBUTES; i++)
        if (kvr_attribute_get(&kvr_sample_attributes[i], sample) > 0) /* 0: not recorded, none */
            status = export_attribute(exporting, &kvr_sample_attributes[i], sample, err);
    for (size_t i = 0; status == KVR_OK && i < sample->layer_count; i++) {
        if (!wants_layer(exporting->filter, sample->layers[i].number))
            continue;
        kvr_text_clear(&exporting->place);
        kvr_text_add(&exporting->place, "samples/%s/layers/%u/", sample->name,
                     sample->layers[i].number);
        status = export_layer(exporting, &sample->layers[i], err);
    }
    return status;
}

/* ------------------------------------------------------------------------------ filters */

static bool layer_holds(const struct kvr_layer *layer, const char *name)
{
    for (unsigned m = 0; m < KVR_MEMBERS; m++)
        if (strcmp(kvr_members[m].name, name) == 0 &&
            kvr_layer_member(layer, (enum kvr_member)m) != NULL)
            return true;
    for (size_t i = 0; i < layer->column_count; i++)
        if (strncmp(name, "scores/", 7) == 0 && strcmp(layer->columns[i].name, name + 7) == 0)
            return true;
    return false;
}

static bool sample_holds(const struct kvr_sample *sample, const char *name)
{
    return (sample->token_count > 0 && strcmp(name, "tokens") == 0) ||
           (sample->query_count > 0 && strcmp(name, "query_positions") == 0) ||
           (sample->needle_count > 0 && strcmp(name, "needles") == 0);
}

/* True if a sample of this name, a layer of this number, or a dataset of this name is there. */
static bool trace_holds(const struct kvr_trace *trace, const char *sample, const uint32_t *layer,
                        const char *dataset)
{
    for (size_t s = 0; s < trace->sample_count; s++) {
        const struct kvr_sample *own = &trace->samples[s];
        if ((sample != NULL && strcmp(own->name, sample) == 0) ||
            (dataset != NULL && sample_holds(own, dataset)))
            return true;
        for (size_t l = 0; l < own->layer_count; l++)
            if ((layer != NULL && own->layers[l].number == *layer) ||
                (dataset != NULL && layer_holds(&own->layers[l], dataset)))
                return true;
    }
    return false;
}

/* Everything that is asked for by name must be there. */
static enum kvr_status check_filter(const struct kvr_trace *trace,
                                    const struct kvr_export_filter *filter, struct kvr_error *err)
{
    for (size_t i = 0; i < filter->sample_count; i++)
        if (!trace_holds(trace, filter->samples[i], NULL, NULL))
            return kvr_fail(err, KVR_BAD_ARGUMENT, "--samples: \"%s\" has no sample \"%s\"",
                            trace->path, filter->samples[i]);
    for (size_t i = 0; i < filter->layer_count; i++)
        if (!trace_holds(trace, NULL, &filter->layers[i], NULL))
            return kvr_fail(err, KVR_BAD_ARGUMENT, "--layers: \"%s\" has no layer %u", trace->path,
                            filter->layers[i]);
    for (size_t i = 0; i < filter->dataset_count; i++)
        if (!trace_holds(trace, NULL, NULL, filter->datasets[i]))
            return kvr_fail(err, KVR_BAD_ARGUMENT, "--dataset: \"%s\" has no \"%s\"", trace->path,
                            filter->datasets[i]);
    return KVR_OK;
}

enum kvr_status kvr_export_write(struct kvr_trace *trace, const struct kvr_export_filter *filter,
                                 const char *path, size_t *arrays, struct kvr_error *err)
{
    struct exporting exporting = {.trace = trace, .filter = filter};
    enum kvr_status status = check_filter(trace, filter, err);
    if (status == KVR_OK)
        status = kvr_npz_writer_open(path, &exporting.writer, err);
    if (status != KVR_OK)
        return status;
    for (size_t i = 0; status == KVR_OK && i < trace->sample_count; i++)
        if (wants_sample(filter, trace->samples[i].name))
            status = export_sample(&exporting, &trace->samples[i], err);
    *arrays = exporting.arrays;
    kvr_text_free(&exporting.place);
    if (status == KVR_OK)
        return kvr_npz_writer_commit(exporting.writer, err);
    kvr_npz_writer_abandon(exporting.writer);
    return status;
}
