/*
 * Chunk filters in the writing direction. It must not know where a chunk belongs.
 */
#include "formats/chunk_pack.h"

#include <stdlib.h>
#include <string.h>

#if KVR_HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#include "formats/base/memory.h"
#include "formats/fletcher32.h"

enum { CHECKSUM_BYTES = 4 };

struct kvr_packer {
    struct kvr_packing packing;
    unsigned char *shuffled; /* chunk_bytes, + CHECKSUM_BYTES for a chunk that is not deflated */
    unsigned char *deflated; /* chunk_bytes + CHECKSUM_BYTES */
#if KVR_HAVE_LIBDEFLATE
    struct libdeflate_compressor *compressor;
#endif
};

enum kvr_status kvr_packer_new(const struct kvr_packing *packing, struct kvr_packer **out,
                               struct kvr_error *err)
{
    struct kvr_packer *packer = kvr_alloc(1, sizeof *packer, err);
    if (packer == NULL)
        return KVR_NO_MEMORY;
    packer->packing = *packing;
    size_t room = packing->chunk_bytes + CHECKSUM_BYTES;
    packer->shuffled = kvr_alloc(room, 1, err);
    packer->deflated = kvr_alloc(room, 1, err);
    bool ready = packer->shuffled != NULL && packer->deflated != NULL;
#if KVR_HAVE_LIBDEFLATE
    if (ready && packing->deflate_level > 0) {
        packer->compressor = libdeflate_alloc_compressor((int)packing->deflate_level);
        ready = packer->compressor != NULL;
        if (!ready)
            kvr_fail(err, KVR_NO_MEMORY, "out of memory: a compressor");
    }
#endif
    if (!ready) {
        kvr_packer_free(packer);
        return KVR_NO_MEMORY;
    }
    *out = packer;
    return KVR_OK;
}

void kvr_packer_free(struct kvr_packer *packer)
{
    if (packer == NULL)
        return;
#if KVR_HAVE_LIBDEFLATE
    libdeflate_free_compressor(packer->compressor);
#endif
    free(packer->shuffled);
    free(packer->deflated);
    free(packer);
}

/* All first bytes, then all second bytes, and so on. */
static void shuffle(const unsigned char *raw, size_t bytes, size_t size, unsigned char *shuffled)
{
    size_t count = bytes / size;
    for (size_t byte = 0; byte < size; byte++) {
        unsigned char *to = shuffled + byte * count;
        const unsigned char *from = raw + byte;
        for (size_t i = 0; i < count; i++)
            to[i] = from[i * size];
    }
}

/* The length after deflating into `room` bytes, 0 if it does not fit. */
static size_t deflate_into(struct kvr_packer *packer, const void *bytes, size_t length, size_t room)
{
#if KVR_HAVE_LIBDEFLATE
    return libdeflate_zlib_compress(packer->compressor, bytes, length, packer->deflated, room);
#else
    uLongf used = room;
    int level = (int)packer->packing.deflate_level;
    return compress2(packer->deflated, &used, bytes, length, level) == Z_OK ? used : 0;
#endif
}

void kvr_packer_pack(struct kvr_packer *packer, const void *raw, const void **packed,
                     size_t *length, uint32_t *skipped)
{
    const struct kvr_packing *packing = &packer->packing;
    const void *result = raw;
    size_t used = packing->chunk_bytes;

    *skipped = 0;
    if (packing->shuffle) {
        shuffle(raw, used, packing->element_size, packer->shuffled);
        result = packer->shuffled;
    }
    if (packing->deflate_level > 0) {
        size_t deflated = deflate_into(packer, result, used, used);
        if (deflated > 0 && deflated < used) {
            result = packer->deflated;
            used = deflated;
        } else {
            *skipped = packing->shuffle ? 2 : 1;
        }
    }
    if (packing->fletcher32) {
        uint32_t sum = kvr_fletcher32(result, used);
        unsigned char *end = (result == packer->deflated ? packer->deflated : packer->shuffled);
        if (result == raw)
            memcpy(end, raw, used);
        result = end;
        for (unsigned i = 0; i < CHECKSUM_BYTES; i++)
            end[used + i] = (unsigned char)(sum >> (8 * i));
        used += CHECKSUM_BYTES;
    }
    *packed = result;
    *length = used;
}
