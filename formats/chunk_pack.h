/*
 * Packing a chunk as HDF5's own filters would: shuffle, deflate, fletcher32, in this order.
 *
 * HDF5's pipeline deflates with zlib in one thread; with libdeflate and stored chunks
 * (H5Dwrite_chunk) the same file is written three times as fast. This file must not know HDF5.
 */
#ifndef KVR_CHUNK_PACK_H
#define KVR_CHUNK_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

struct kvr_packer;

struct kvr_packing {
    size_t chunk_bytes;  /* before packing; a multiple of element_size */
    size_t element_size; /* for the shuffle */
    bool shuffle, fletcher32;
    unsigned deflate_level; /* 0: none, else 1-9 */
};

enum kvr_status kvr_packer_new(const struct kvr_packing *packing, struct kvr_packer **out,
                               struct kvr_error *err);

/*
 * Packs chunk_bytes bytes at `raw`. *packed is valid until the next call. *skipped is HDF5's
 * filter mask: bit i is set where the i-th filter was left out, as deflate is if it does not pay.
 */
void kvr_packer_pack(struct kvr_packer *packer, const void *raw, const void **packed,
                     size_t *length, uint32_t *skipped);

/* NULL is allowed. */
void kvr_packer_free(struct kvr_packer *packer);

#endif
