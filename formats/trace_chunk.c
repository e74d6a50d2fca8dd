/*
 * Blocks of chunked data: which chunks a block needs, and what of each. It must not know HDF5 or
 * how a chunk was stored. Decoding and converting run in the calling thread without any lock.
 *
 * A compact dataset counts as one chunk of its whole shape.
 */
#include "formats/trace_reader.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/planes.h"

enum { JOINED = 512 }; /* elements at once whose bytes lay apart */

struct chunk_place {
    uint64_t corner[KVR_DATASET_RANK];
    uint64_t shape[KVR_DATASET_RANK]; /* of the part that lies within the dataset */
};

static uint64_t chunks_along(const struct kvr_read_request *request, unsigned axis)
{
    return (request->dataset->shape[axis] - 1) / request->stored->storage.chunk[axis] + 1;
}

/* Chunks are numbered in row-major order of their corners. */
static struct chunk_place place_of(const struct kvr_read_request *request, uint64_t number)
{
    struct chunk_place place;
    for (unsigned axis = KVR_DATASET_RANK; axis-- > 0;) {
        uint64_t chunks = chunks_along(request, axis);
        uint64_t chunk = request->stored->storage.chunk[axis];
        place.corner[axis] = number % chunks * chunk;
        uint64_t left = request->dataset->shape[axis] - place.corner[axis];
        place.shape[axis] = left < chunk ? left : chunk;
        number /= chunks;
    }
    return place;
}

/* "chunk 3 (heads 0-2, rows 4-7, tokens 0-1023)" in front of the error. */
static enum kvr_status at_chunk(const struct kvr_read_request *request, uint64_t number,
                                struct kvr_error *err)
{
    char ranges[256] = "";
    size_t used = 0;
    struct chunk_place place = place_of(request, number);
    for (unsigned axis = 0; axis < request->dataset->rank && used + 1 < sizeof ranges; axis++) {
        unsigned long long first = place.corner[axis];
        int length =
            snprintf(ranges + used, sizeof ranges - used, "%s%s %llu-%llu", axis > 0 ? ", " : "",
                     request->stored->axes[axis], first, first + place.shape[axis] - 1);
        used += length > 0 ? (size_t)length : 0;
    }
    return kvr_at(err, "chunk %llu (%s)", (unsigned long long)number, ranges);
}

/* Fetches chunk `number` and undoes its filters, unless HDF5 did. NULL: it was never written. */
static enum kvr_status fetch_and_decode(const struct kvr_read_request *request, uint64_t number,
                                        struct kvr_chunk_scratch *scratch, unsigned char **bytes,
                                        size_t *size, struct kvr_error *err)
{
    const struct kvr_h5_storage *storage = &request->stored->storage;
    struct kvr_fetched_chunk chunk = {0};
    struct chunk_place place = place_of(request, number);
    enum kvr_status status =
        kvr_trace_fetch_chunk(request, place.corner, place.shape, &scratch->stored, &chunk, err);
    if (status == KVR_OK && chunk.stored != NULL) {
        status = kvr_chunk_decode(&storage->plan, chunk.filter_mask, chunk.stored, chunk.size,
                                  &scratch->half_way, bytes, err);
        *size = storage->plan.bytes;
    } else if (status == KVR_OK) {
        *bytes = chunk.decoded;
        *size = chunk.size;
    }
    return status;
}

static enum kvr_status load_chunk(void *context, struct kvr_chunk_key key, unsigned char **bytes,
                                  size_t *size, struct kvr_error *err)
{
    const struct kvr_read_request *request = context;
    struct kvr_chunk_pool *pool = &request->trace->reader->pool;
    struct kvr_chunk_scratch *scratch = kvr_chunk_pool_take(pool, err);
    if (scratch == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = fetch_and_decode(request, key.chunk, scratch, bytes, size, err);
    kvr_chunk_pool_give(pool, scratch);
    if (status == KVR_OK || status == KVR_NO_MEMORY)
        return status;
    return at_chunk(request, key.chunk, err);
}

/* Puts a run of elements of a chunk, from element `from` of it on. */
static void put_run(const struct kvr_read_request *request, const unsigned char *bytes,
                    uint64_t from, uint64_t at, size_t count)
{
    const struct kvr_chunk_plan *plan = &request->stored->storage.plan;
    if (!plan->keeps_planes) {
        size_t size = kvr_element_size(request->dataset->type.kind);
        kvr_trace_put(request, at, bytes + from * size, count);
        return;
    }
    const unsigned char *first = bytes + from, *second = first + plan->bytes / 2;
    unsigned char pairs[2 * JOINED];
    if (request->values == NULL) {
        kvr_planes_join(first, second, count, request->elements + 2 * at);
    } else {
        for (size_t done = 0; done < count; done += JOINED) {
            size_t step = count - done < JOINED ? count - done : JOINED;
            kvr_planes_join(first + done, second + done, step, pairs);
            kvr_trace_put(request, at + done, pairs, step);
        }
    }
}

/* Copies what a chunk and the block have in common; bytes are NULL for a chunk never written. */
static bool copy_common(const struct kvr_read_request *request, uint64_t number,
                        const unsigned char *bytes)
{
    const struct chunk_place place = place_of(request, number);
    const uint64_t *chunk = request->stored->storage.chunk, *count = request->count;
    uint64_t from[KVR_DATASET_RANK], to[KVR_DATASET_RANK], length[KVR_DATASET_RANK];
    bool whole = true;
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++) {
        uint64_t corner = place.corner[axis], start = request->start[axis];
        uint64_t first = corner > start ? corner : start;
        uint64_t end = start + count[axis], chunk_end = corner + place.shape[axis];
        length[axis] = (end < chunk_end ? end : chunk_end) - first;
        from[axis] = first - corner;
        to[axis] = first - start;
        whole = whole && length[axis] == place.shape[axis];
    }
    uint64_t rows = length[1], run = length[2];
    if (run == chunk[2] && run == count[2]) { /* the rows follow each other on both sides */
        run *= rows;
        rows = 1;
    }
    for (uint64_t i = 0; i < length[0]; i++) {
        for (uint64_t j = 0; j < rows; j++) {
            uint64_t at = ((from[0] + i) * chunk[1] + from[1] + j) * chunk[2] + from[2];
            uint64_t into = ((to[0] + i) * count[1] + to[1] + j) * count[2] + to[2];
            if (bytes == NULL)
                kvr_trace_put_fill(request, into, run);
            else
                put_run(request, bytes, at, into, (size_t)run);
        }
    }
    return whole;
}

static enum kvr_status read_chunk(struct kvr_read_request *request, uint64_t number,
                                  struct kvr_error *err)
{
    struct kvr_chunk_cache *cache = request->trace->reader->cache;
    struct kvr_chunk_key key = {request->dataset->index, number};
    struct kvr_chunk *chunk;
    enum kvr_status status = kvr_chunk_cache_take(cache, key, load_chunk, request, &chunk, err);
    if (status != KVR_OK)
        return status;
    bool whole = copy_common(request, number, kvr_chunk_bytes(chunk));
    kvr_chunk_cache_release(cache, chunk, whole);
    return KVR_OK;
}

enum kvr_status kvr_trace_read_chunks(struct kvr_read_request *request, struct kvr_error *err)
{
    uint64_t first[KVR_DATASET_RANK], last[KVR_DATASET_RANK];
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++) {
        uint64_t chunk = request->stored->storage.chunk[axis];
        first[axis] = request->start[axis] / chunk;
        last[axis] = (request->start[axis] + request->count[axis] - 1) / chunk;
    }
    const uint64_t columns = chunks_along(request, 2), rows = chunks_along(request, 1);
    for (uint64_t i = first[0]; i <= last[0]; i++) {
        for (uint64_t j = first[1]; j <= last[1]; j++) {
            for (uint64_t k = first[2]; k <= last[2]; k++) {
                enum kvr_status status = read_chunk(request, (i * rows + j) * columns + k, err);
                if (status != KVR_OK)
                    return status;
            }
        }
    }
    return KVR_OK;
}

/* Chunks are kept in memory while they are looked at: no more than this. */
static const uint64_t most_viewed = UINT64_C(1) << 24;

enum kvr_status kvr_trace_view_chunks(struct kvr_read_request *request, bool planes,
                                      const void **rows, struct kvr_row_view *view, bool *there,
                                      struct kvr_error *err)
{
    const uint64_t *chunk = request->stored->storage.chunk, *start = request->start;
    const uint64_t *count = request->count, *shape = request->dataset->shape;
    const struct kvr_chunk_plan *plan = &request->stored->storage.plan;
    const size_t step = plan->keeps_planes ? 1 : kvr_element_size(request->dataset->type.kind);
    const uint64_t chunk_rows = chunks_along(request, 1), columns = chunks_along(request, 2);
    const uint64_t first = start[1] / chunk[1], last = (start[1] + count[1] - 1) / chunk[1];
    const uint64_t column = start[2] / chunk[2];
    *there = (planes || !plan->keeps_planes) && column == (start[2] + count[2] - 1) / chunk[2] &&
             last - first < KVR_VIEW_CHUNKS && (last - first + 1) * plan->bytes <= most_viewed;
    view->planes = plan->keeps_planes ? plan->bytes / 2 : 0;
    view->finished = (start[0] + 1) % chunk[0] == 0 || start[0] + 1 == shape[0];
    for (uint64_t j = first; *there && j <= last; j++) {
        uint64_t number = (start[0] / chunk[0] * chunk_rows + j) * columns + column;
        struct kvr_chunk_key key = {request->dataset->index, number};
        struct kvr_chunk **taken = &view->chunks[view->chunk_count];
        enum kvr_status status = kvr_chunk_cache_take(request->trace->reader->cache, key,
                                                      load_chunk, request, taken, err);
        if (status != KVR_OK) {
            kvr_trace_leave_rows(request->trace, view);
            return status;
        }
        view->chunk_count++;
        const unsigned char *bytes = kvr_chunk_bytes(*taken);
        *there = bytes != NULL;
        for (uint64_t i = 0; bytes != NULL && i < count[1]; i++) {
            uint64_t row = start[1] + i;
            if (row / chunk[1] == j)
                rows[i] = bytes + ((start[0] % chunk[0] * chunk[1] + row % chunk[1]) * chunk[2] +
                                   start[2] % chunk[2]) *
                                      step;
        }
    }
    if (!*there)
        kvr_trace_leave_rows(request->trace, view);
    return KVR_OK;
}

void kvr_trace_leave_rows(struct kvr_trace *trace, struct kvr_row_view *view)
{
    for (size_t i = 0; i < view->chunk_count; i++)
        kvr_chunk_cache_release(trace->reader->cache, view->chunks[i], view->finished);
    view->chunk_count = 0;
}
