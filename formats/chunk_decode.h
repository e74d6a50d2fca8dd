/*
 * From the stored bytes of an HDF5 chunk to its elements: fletcher32, deflate and shuffle undone.
 *
 * HDF5 would do it under its lock, in one thread; this runs in any. Which filters a dataset has is
 * found elsewhere; bytes are taken as they come from the file and trusted in nothing.
 */
#ifndef KVR_CHUNK_DECODE_H
#define KVR_CHUNK_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/chunk_scratch.h"

enum kvr_chunk_filter {
    KVR_FILTER_SHUFFLE,
    KVR_FILTER_DEFLATE,
    KVR_FILTER_FLETCHER32,
};

enum { KVR_CHUNK_FILTERS = 3 };

/* The filters of a dataset in the order in which they were applied, each at most once. */
struct kvr_chunk_plan {
    unsigned filter_count;
    enum kvr_chunk_filter filters[KVR_CHUNK_FILTERS];
    size_t shuffle_size; /* bytes of an element as the shuffle filter sees it, > 0 */
    size_t bytes;        /* of a whole chunk when decoded */
    /* The first filter is a shuffle of two-byte elements, and decoded chunks stay as it left them:
       whoever takes elements out joins their bytes, or sums them as they are. */
    bool keeps_planes;
};

/* No stored chunk may be larger than this. */
uint64_t kvr_chunk_stored_limit(const struct kvr_chunk_plan *plan);

/*
 * Decodes the chunk of `size` stored bytes into plan->bytes bytes, an allocation left in *bytes.
 * Bit i of filter_mask says that filter i was left out for this chunk. `half_way` is used on the
 * way. Errors are KVR_BAD_INPUT ("damaged, it does not match its checksum", …) and KVR_NO_MEMORY;
 * then *bytes is as it was.
 */
enum kvr_status kvr_chunk_decode(const struct kvr_chunk_plan *plan, uint32_t filter_mask,
                                 const unsigned char *stored, size_t size,
                                 struct kvr_chunk_room *half_way, unsigned char **bytes,
                                 struct kvr_error *err);

#endif
