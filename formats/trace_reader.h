/*
 * What the reader of a trace keeps behind struct kvr_trace. Private to formats/trace_*.c.
 *
 * The structure is read once by kvr_trace_open (trace_open.c, trace_sample.c, trace_layer.c); from
 * then on `datasets` does not change. Blocks are read by trace_read.c: from contiguous data by
 * trace_contiguous.c, from chunks by trace_chunk.c with what trace_fetch.c gets from HDF5.
 */
#ifndef KVR_TRACE_READER_H
#define KVR_TRACE_READER_H

#include <hdf5.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/chunk_cache.h"
#include "formats/chunk_scratch.h"
#include "formats/h5_dataset.h"
#include "formats/h5_file.h"
#include "formats/trace.h"

/* A dataset's storage and what its axes are called in messages. */
struct kvr_stored_dataset {
    struct kvr_h5_storage storage;
    const char *const *axes;
};

/* Open datasets, the least recently used of which is closed when another one is needed. */
enum { KVR_OPEN_DATASETS = 64 };

struct kvr_open_dataset {
    uint64_t index;
    uint64_t used; /* when, in turns of the reader; 0: the place is free */
    hid_t id;
};

struct kvr_trace_reader {
    struct kvr_h5_file file;
    bool allow_plugins;
    size_t dataset_count, dataset_capacity;
    struct kvr_stored_dataset *datasets;

    /* Only between kvr_h5_enter and kvr_h5_leave. */
    uint64_t turn;
    struct kvr_open_dataset open[KVR_OPEN_DATASETS];

    struct kvr_chunk_cache *cache;
    struct kvr_chunk_pool pool;
    _Atomic uint64_t bytes_read;
};

/* What is believed of a file of this reader: bulk data, or what is read into memory at once. */
struct kvr_h5_limits kvr_trace_limits(const struct kvr_trace_reader *reader, bool bulk);

/*
 * Fills *sample (its name is set) from its group, layers included. On failure the sample holds what
 * was read so far. Errors name the place in the file.
 */
enum kvr_status kvr_trace_load_sample(struct kvr_trace_reader *reader, hid_t group,
                                      struct kvr_sample *sample, struct kvr_error *err);

/* Fills *layer (its number is set) from its group at `place`; as kvr_trace_load_sample. */
enum kvr_status kvr_trace_load_layer(struct kvr_trace_reader *reader, hid_t group,
                                     const char *place, const struct kvr_sample *sample,
                                     struct kvr_layer *layer, struct kvr_error *err);

/* A block that kvr_trace_read was asked for. */
struct kvr_read_request {
    struct kvr_trace *trace;
    const struct kvr_dataset *dataset;
    const struct kvr_stored_dataset *stored;
    const uint64_t *start, *count; /* within the shape, no count 0 */
    /* Where the block goes, row-major: as doubles, or as stored elements if `values` is NULL. */
    double *values;
    unsigned char *elements;
};

/* Reads the block from contiguous data, or from chunks. Errors do not name file and dataset. */
enum kvr_status kvr_trace_read_contiguous(const struct kvr_read_request *request,
                                          struct kvr_error *err);
enum kvr_status kvr_trace_read_chunks(struct kvr_read_request *request, struct kvr_error *err);

/* As kvr_trace_view_rows, for chunked data. */
enum kvr_status kvr_trace_view_chunks(struct kvr_read_request *request, bool planes,
                                      const void **rows, struct kvr_row_view *view, bool *there,
                                      struct kvr_error *err);

/* A chunk as it comes from the file. Both are NULL if the chunk was never written. */
struct kvr_fetched_chunk {
    const unsigned char *stored; /* its stored bytes, in the room that was given */
    unsigned char *decoded;      /* or an allocation, where HDF5 has to decode it */
    size_t size;
    uint32_t filter_mask; /* bit i: filter i was left out of the stored bytes */
};

/*
 * Fetches the chunk at `corner`, of which `shape` lies within the dataset. Takes HDF5's lock. On
 * failure *chunk holds nothing to free.
 */
enum kvr_status kvr_trace_fetch_chunk(const struct kvr_read_request *request,
                                      const uint64_t corner[KVR_DATASET_RANK],
                                      const uint64_t shape[KVR_DATASET_RANK],
                                      struct kvr_chunk_room *room, struct kvr_fetched_chunk *chunk,
                                      struct kvr_error *err);

/* Counts bytes for kvr_trace_bytes_read. */
void kvr_trace_count_bytes(struct kvr_trace_reader *reader, uint64_t bytes);

/* Puts `count` stored elements, or as many that were never written, at element `at` of the block.
 */
void kvr_trace_put(const struct kvr_read_request *request, uint64_t at,
                   const unsigned char *elements, size_t count);
void kvr_trace_put_fill(const struct kvr_read_request *request, uint64_t at, uint64_t count);

/* Releases what a layer or sample holds, not the structure itself. */
void kvr_trace_free_layer(struct kvr_layer *layer);
void kvr_trace_free_sample(struct kvr_sample *sample);

#endif
