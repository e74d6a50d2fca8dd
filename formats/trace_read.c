/*
 * Reading blocks of a trace's datasets. It must not know which dataset a block is of, or why, nor
 * how chunks are decoded.
 */
#include "formats/trace_reader.h"

void kvr_trace_count_bytes(struct kvr_trace_reader *reader, uint64_t bytes)
{
    atomic_fetch_add_explicit(&reader->bytes_read, bytes, memory_order_relaxed);
}

void kvr_trace_fill(double *values, uint64_t count, double value)
{
    for (uint64_t i = 0; i < count; i++)
        values[i] = value;
}

double kvr_trace_fill_value(const struct kvr_read_request *request)
{
    double value;
    kvr_element_decode(request->dataset->type, request->stored->storage.fill, 1, &value);
    return value;
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

enum kvr_status kvr_trace_read(struct kvr_trace *trace, const struct kvr_dataset *dataset,
                               const uint64_t start[KVR_DATASET_RANK],
                               const uint64_t count[KVR_DATASET_RANK], double *values,
                               struct kvr_error *err)
{
    struct kvr_read_request request = {.trace = trace,
                                       .dataset = dataset,
                                       .stored = &trace->reader->datasets[dataset->index],
                                       .start = start,
                                       .count = count};
    request.values = values;
    enum kvr_status status = check_block(dataset, start, count, err);
    if (status == KVR_OK && count[0] > 0 && count[1] > 0 && count[2] > 0) {
        if (request.stored->storage.layout == KVR_H5_CONTIGUOUS)
            status = kvr_trace_read_contiguous(&request, err);
        else
            status = kvr_trace_read_chunks(&request, err);
    }
    if (status != KVR_OK)
        return kvr_at(err, "\"%s\": %s", trace->path, dataset->path);
    return KVR_OK;
}

uint64_t kvr_trace_bytes_read(const struct kvr_trace *trace)
{
    return atomic_load_explicit(&trace->reader->bytes_read, memory_order_relaxed);
}
