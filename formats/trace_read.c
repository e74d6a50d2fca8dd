/*
 * Reading blocks of a trace's datasets. It must not know which dataset a block is of, or why, nor
 * how chunks are decoded.
 */
#include "formats/trace_reader.h"

#include <string.h>

void kvr_trace_count_bytes(struct kvr_trace_reader *reader, uint64_t bytes)
{
    atomic_fetch_add_explicit(&reader->bytes_read, bytes, memory_order_relaxed);
}

void kvr_trace_put(const struct kvr_read_request *request, uint64_t at,
                   const unsigned char *elements, size_t count)
{
    struct kvr_element_type type = request->dataset->type;
    size_t size = kvr_element_size(type.kind);
    if (request->values != NULL)
        kvr_element_decode(type, elements, count, request->values + at);
    else
        memcpy(request->elements + at * size, elements, count * size);
}

void kvr_trace_put_fill(const struct kvr_read_request *request, uint64_t at, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        kvr_trace_put(request, at + i, request->stored->storage.fill, 1);
}

static enum kvr_status check_block(const struct kvr_dataset *dataset, const uint64_t *start,
                                   const uint64_t *count, struct kvr_error *err)
{
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++)
        if (start[axis] > dataset->shape[axis] || count[axis] > dataset->shape[axis] - start[axis])
            return kvr_fail(err, KVR_INTERNAL,
                            "asked for %llu elements from %llu on of axis %u, which has %llu",
                            (unsigned long long)count[axis], (unsigned long long)start[axis], axis,
                            (unsigned long long)dataset->shape[axis]);
    return KVR_OK;
}

static enum kvr_status read_block(struct kvr_read_request *request, struct kvr_error *err)
{
    const struct kvr_dataset *dataset = request->dataset;
    const uint64_t *count = request->count;
    request->stored = &request->trace->reader->datasets[dataset->index];
    enum kvr_status status = check_block(dataset, request->start, count, err);
    if (status == KVR_OK && count[0] > 0 && count[1] > 0 && count[2] > 0) {
        if (request->stored->storage.layout == KVR_H5_CONTIGUOUS)
            status = kvr_trace_read_contiguous(request, err);
        else
            status = kvr_trace_read_chunks(request, err);
    }
    if (status != KVR_OK)
        return kvr_at(err, "\"%s\": %s", request->trace->path, dataset->path);
    return KVR_OK;
}

enum kvr_status kvr_trace_read(struct kvr_trace *trace, const struct kvr_dataset *dataset,
                               const uint64_t start[KVR_DATASET_RANK],
                               const uint64_t count[KVR_DATASET_RANK], double *values,
                               struct kvr_error *err)
{
    struct kvr_read_request request = {
        .trace = trace, .dataset = dataset, .start = start, .count = count};
    request.values = values;
    return read_block(&request, err);
}

enum kvr_status kvr_trace_read_stored(struct kvr_trace *trace, const struct kvr_dataset *dataset,
                                      const uint64_t start[KVR_DATASET_RANK],
                                      const uint64_t count[KVR_DATASET_RANK], void *elements,
                                      struct kvr_error *err)
{
    struct kvr_read_request request = {
        .trace = trace, .dataset = dataset, .start = start, .count = count};
    request.elements = elements;
    return read_block(&request, err);
}

enum kvr_status kvr_trace_view_rows(struct kvr_trace *trace, const struct kvr_dataset *dataset,
                                    const uint64_t start[KVR_DATASET_RANK],
                                    const uint64_t count[KVR_DATASET_RANK], bool planes,
                                    const void **rows, struct kvr_row_view *view, bool *there,
                                    struct kvr_error *err)
{
    struct kvr_read_request request = {
        .trace = trace, .dataset = dataset, .start = start, .count = count};
    request.stored = &trace->reader->datasets[dataset->index];
    *view = (struct kvr_row_view){.chunk_count = 0};
    *there = false;
    enum kvr_status status = check_block(dataset, start, count, err);
    if (status == KVR_OK && request.stored->storage.layout != KVR_H5_CONTIGUOUS)
        status = kvr_trace_view_chunks(&request, planes, rows, view, there, err);
    if (status != KVR_OK)
        return kvr_at(err, "\"%s\": %s", trace->path, dataset->path);
    return KVR_OK;
}

uint64_t kvr_trace_bytes_read(const struct kvr_trace *trace)
{
    return atomic_load_explicit(&trace->reader->bytes_read, memory_order_relaxed);
}
