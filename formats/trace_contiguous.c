/*
 * Blocks of contiguous data, read from the file itself: HDF5 is not entered. It must not know what
 * the numbers mean.
 *
 * A mapping would be as fast, but its pages count as memory of the process; a window does not grow.
 */
#include "formats/trace_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    READ_BYTES = 256 << 10, /* at once */
    SMALL_GAP = 16 << 10,   /* between the runs of a block: reading over it beats another call */
    DIRECT = 4 << 10,       /* a run of stored elements that is worth a call of its own */
};

struct window {
    int descriptor;
    unsigned char *bytes; /* READ_BYTES of them */
    uint64_t start, end;  /* what it holds, as positions in the file */
};

static enum kvr_status read_bytes(int descriptor, uint64_t start, size_t size, unsigned char *bytes,
                                  struct kvr_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t length = pread(descriptor, bytes + done, size - done, (off_t)(start + done));
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0)
            return kvr_fail(err, KVR_IO, "cannot be read at byte %llu: %s",
                            (unsigned long long)start + done, strerror(errno));
        if (length == 0)
            return kvr_fail(err, KVR_IO, "the file has been cut off at byte %llu meanwhile",
                            (unsigned long long)start + done);
        done += (size_t)length;
    }
    return KVR_OK;
}

static enum kvr_status load_window(struct window *window, uint64_t start, uint64_t end,
                                   struct kvr_error *err)
{
    window->start = window->end = start;
    enum kvr_status status =
        read_bytes(window->descriptor, start, (size_t)(end - start), window->bytes, err);
    if (status == KVR_OK)
        window->end = end;
    return status;
}

/* How a block lies in contiguous data: `rows` groups of `runs` runs of `length` elements each. */
struct runs {
    uint64_t rows, runs, length;
    uint64_t row_stride, run_stride; /* in elements */
    uint64_t first;                  /* element */
};

static struct runs runs_of(const struct kvr_read_request *request)
{
    const uint64_t *shape = request->dataset->shape, *start = request->start;
    const uint64_t *count = request->count;
    struct runs runs = {.rows = count[0],
                        .runs = count[1],
                        .length = count[2],
                        .row_stride = shape[1] * shape[2],
                        .run_stride = shape[2],
                        .first = (start[0] * shape[1] + start[1]) * shape[2] + start[2]};
    if (runs.length == shape[2]) { /* whole rows follow each other */
        runs.length *= runs.runs;
        runs.runs = 1;
        runs.run_stride = runs.row_stride;
        if (runs.length == runs.row_stride) {
            runs.length *= runs.rows;
            runs.rows = 1;
        }
    }
    return runs;
}

/* Reads one run to element `at` of the block; the window may reach on to `ahead`, where the block
 * ends. */
static enum kvr_status read_run(const struct kvr_read_request *request, struct window *window,
                                uint64_t offset, uint64_t length, uint64_t ahead, uint64_t at,
                                struct kvr_error *err)
{
    size_t size = kvr_element_size(request->dataset->type.kind);
    if (request->values == NULL && length * size >= DIRECT) { /* needs no window */
        kvr_trace_count_bytes(request->trace->reader, length * size);
        return read_bytes(window->descriptor, offset, (size_t)(length * size),
                          request->elements + at * size, err);
    }
    while (length > 0) {
        if (offset < window->start || offset + size > window->end) {
            uint64_t end = ahead - offset > READ_BYTES ? offset + READ_BYTES : ahead;
            enum kvr_status status = load_window(window, offset, end, err);
            if (status != KVR_OK)
                return status;
            kvr_trace_count_bytes(request->trace->reader, end - offset);
        }
        uint64_t there = (window->end - offset) / size;
        uint64_t step = there < length ? there : length;
        kvr_trace_put(request, at, window->bytes + (offset - window->start), (size_t)step);
        at += step;
        offset += step * size;
        length -= step;
    }
    return KVR_OK;
}

static enum kvr_status read_runs(const struct kvr_read_request *request, struct window *window,
                                 struct kvr_error *err)
{
    const struct runs runs = runs_of(request);
    const uint64_t size = kvr_element_size(request->dataset->type.kind);
    const uint64_t base = request->stored->storage.offset + runs.first * size;
    const bool small_gaps = (runs.run_stride - runs.length) * size <= SMALL_GAP;
    uint64_t at = 0;
    for (uint64_t row = 0; row < runs.rows; row++) {
        uint64_t row_base = base + row * runs.row_stride * size;
        uint64_t row_end = row_base + ((runs.runs - 1) * runs.run_stride + runs.length) * size;
        for (uint64_t run = 0; run < runs.runs; run++) {
            uint64_t offset = row_base + run * runs.run_stride * size;
            uint64_t ahead = small_gaps ? row_end : offset + runs.length * size;
            enum kvr_status status = read_run(request, window, offset, runs.length, ahead, at, err);
            if (status != KVR_OK)
                return status;
            at += runs.length;
        }
    }
    return KVR_OK;
}

enum kvr_status kvr_trace_read_contiguous(const struct kvr_read_request *request,
                                          struct kvr_error *err)
{
    const uint64_t *count = request->count;
    if (request->stored->storage.offset == KVR_H5_NOWHERE) {
        kvr_trace_put_fill(request, 0, count[0] * count[1] * count[2]);
        return KVR_OK;
    }
    struct window window = {.descriptor = request->trace->reader->file.descriptor};
    window.bytes = malloc(READ_BYTES); /* untouched where everything is read directly */
    if (window.bytes == NULL)
        return kvr_fail(err, KVR_NO_MEMORY, "out of memory: %d bytes", READ_BYTES);
    enum kvr_status status = read_runs(request, &window, err);
    free(window.bytes);
    return status;
}
