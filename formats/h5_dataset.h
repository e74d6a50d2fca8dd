/*
 * A dataset of a file that is not trusted: its type, shape and storage, looked at in an order in
 * which nothing of it can do harm, and refused by name where it is more than the format allows.
 *
 * Called between kvr_h5_enter and kvr_h5_leave. Errors do not name the file or the dataset.
 */
#ifndef KVR_H5_DATASET_H
#define KVR_H5_DATASET_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/chunk_decode.h"
#include "formats/trace.h"

enum kvr_h5_layout {
    KVR_H5_CONTIGUOUS,
    KVR_H5_CHUNKED,
    KVR_H5_COMPACT, /* inside the object's header */
};

/* An open dataset. `shape` has `rank` entries; an empty one has a dimension of 0 or no shape. */
struct kvr_h5_dataset {
    hid_t id, type, properties;
    enum kvr_h5_layout layout;
    size_t element_size;
    bool empty;
    unsigned rank;
    hsize_t shape[H5S_MAX_RANK];
};

/*
 * Looks at the open dataset `id`, which then belongs to *dataset. Refuses external and virtual
 * storage and types of variable length before anything is asked that would follow them. Release
 * *dataset in any case.
 */
enum kvr_status kvr_h5_inspect(hid_t id, struct kvr_h5_dataset *dataset, struct kvr_error *err);
void kvr_h5_release(struct kvr_h5_dataset *dataset);

/* What is trusted of a file. */
struct kvr_h5_limits {
    uint64_t file_bytes;
    uint64_t believed_bytes; /* declared sizes beyond it must be backed by 1/1000 of stored bytes */
    bool allow_plugins;
};

enum { KVR_H5_FILL_BYTES = 8 };

#define KVR_H5_NOWHERE UINT64_MAX

/* Where and how the bytes of a dataset of rank 1-3 lie. */
struct kvr_h5_storage {
    uint64_t object; /* address of the object's header, by which it can be opened again */
    enum kvr_h5_layout layout;
    uint64_t offset;                  /* contiguous: first byte in the file, or KVR_H5_NOWHERE */
    uint64_t chunk[KVR_DATASET_RANK]; /* the shape itself unless chunked; 1 beyond the rank */
    uint64_t stored_bytes;
    bool shuffle, deflate, fletcher32, other_filters;
    unsigned deflate_level;
    bool own_decoding; /* chunks are to be fetched raw and decoded by `plan` */
    struct kvr_chunk_plan plan;
    unsigned char fill[KVR_H5_FILL_BYTES]; /* the element that was never written */
};

/*
 * Checks that the dataset's storage is what its shape needs and that all of its filters are known.
 * The rank must be 1-3 and no dimension 0.
 */
enum kvr_status kvr_h5_inspect_storage(const struct kvr_h5_dataset *dataset,
                                       const struct kvr_h5_limits *limits,
                                       struct kvr_h5_storage *storage, struct kvr_error *err);

/* Reads a dataset of integers of any width and order, `count` elements in all; free *values. */
enum kvr_status kvr_h5_read_integers(const struct kvr_h5_dataset *dataset,
                                     const struct kvr_h5_limits *limits, size_t count,
                                     int64_t **values, struct kvr_error *err);

#endif
