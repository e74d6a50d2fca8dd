/*
 * Writing a planned import, chunk by chunk. What the arrays mean is settled by now.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/import.h"
#include "formats/trace_writer.h"

struct writing {
    struct kvr_trace_writer *writer;
    double *values; /* of one chunk */
    size_t capacity;
};

static enum kvr_status write_block(struct writing *writing, const struct kvr_import_source *source,
                                   struct kvr_dataset_writer *dataset, const uint64_t *start,
                                   const uint64_t *count, struct kvr_error *err)
{
    size_t size = (size_t)(count[0] * count[1] * count[2]);
    enum kvr_status status = kvr_reserve((void **)&writing->values, &writing->capacity, size,
                                         sizeof *writing->values, err);
    if (status != KVR_OK)
        return status;
    kvr_array_read(&source->view, start, count, writing->values);
    return kvr_dataset_writer_write(dataset, start, count, writing->values, err);
}

static enum kvr_status write_blocks(struct writing *writing, const struct kvr_import_source *source,
                                    struct kvr_dataset_writer *dataset, const uint64_t *shape,
                                    const uint64_t *chunk, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    uint64_t start[KVR_DATASET_RANK], count[KVR_DATASET_RANK];
    for (start[0] = 0; start[0] < shape[0]; start[0] += chunk[0])
        for (start[1] = 0; start[1] < shape[1]; start[1] += chunk[1])
            for (start[2] = 0; start[2] < shape[2]; start[2] += chunk[2]) {
                for (unsigned i = 0; i < KVR_DATASET_RANK; i++) {
                    uint64_t left = shape[i] - start[i];
                    count[i] = left < chunk[i] ? left : chunk[i];
                }
                if (status == KVR_OK)
                    status = write_block(writing, source, dataset, start, count, err);
            }
    return status;
}

static enum kvr_status write_dataset(struct writing *writing, const char *name,
                                     enum kvr_import_role role,
                                     const struct kvr_import_source *source, uint64_t group_heads,
                                     struct kvr_error *err)
{
    const unsigned rank = (unsigned)strlen(kvr_import_trace_axes(role));
    uint64_t shape[KVR_DATASET_RANK], chunk[KVR_DATASET_RANK] = {1, 1, 1};
    for (unsigned i = 0; i < KVR_DATASET_RANK; i++)
        shape[i] = kvr_array_extent(&source->view, i);
    struct kvr_storage storage = kvr_storage_default();
    storage.type = (struct kvr_element_type){.kind = source->view.array->type.kind};
    kvr_storage_choose_chunk(&storage, rank, shape, group_heads);
    memcpy(chunk, storage.chunk, rank * sizeof *chunk);
    struct kvr_dataset_writer *dataset = NULL;
    enum kvr_status status =
        kvr_trace_writer_dataset(writing->writer, name, rank, shape, &storage, &dataset, err);
    if (status == KVR_OK)
        status = write_blocks(writing, source, dataset, shape, chunk, err);
    return status == KVR_OK ? kvr_dataset_writer_close(dataset, err) : status;
}

static enum kvr_status write_layer(struct writing *writing, const struct kvr_import_layer *layer,
                                   struct kvr_error *err)
{
    const uint64_t ratio = layer->layer.query_heads / layer->layer.kv_heads;
    enum kvr_status status = kvr_trace_writer_layer(writing->writer, &layer->layer, err);
    for (int role = KVR_ROLE_ATTENTION; status == KVR_OK && role <= KVR_ROLE_VALUE; role++) {
        bool kv = role == KVR_ROLE_KEY || role == KVR_ROLE_VALUE;
        if (layer->sources[role].view.array != NULL)
            status = write_dataset(writing, kvr_import_role_name((enum kvr_import_role)role),
                                   (enum kvr_import_role)role, &layer->sources[role],
                                   kv ? 1 : ratio, err);
    }
    for (size_t i = 0; status == KVR_OK && i < layer->column_count; i++) {
        const struct kvr_import_column *column = &layer->columns[i];
        bool kv = kvr_array_extent(&column->source.view, 0) != layer->layer.query_heads;
        char name[KVR_IMPORT_LONGEST_NAME + sizeof "scores/"];
        snprintf(name, sizeof name, "scores/%s", column->name);
        status =
            write_dataset(writing, name, KVR_ROLE_COLUMN, &column->source, kv ? 1 : ratio, err);
    }
    return status;
}

enum kvr_status kvr_import_write(const struct kvr_import_plan *plan, const char *path,
                                 const char *model, struct kvr_error *err)
{
    struct writing writing = {0};
    enum kvr_status status =
        kvr_trace_writer_open(path, model, "kvreplay import", &writing.writer, err);
    if (status != KVR_OK)
        return status;
    for (size_t s = 0; status == KVR_OK && s < plan->sample_count; s++) {
        const struct kvr_import_sample *sample = &plan->samples[s];
        status = kvr_trace_writer_sample(writing.writer, &sample->sample, err);
        for (size_t l = 0; status == KVR_OK && l < sample->layer_count; l++)
            status = write_layer(&writing, &sample->layers[l], err);
    }
    free(writing.values);
    if (status == KVR_OK)
        return kvr_trace_writer_commit(writing.writer, err);
    kvr_trace_writer_abandon(writing.writer);
    return status;
}
