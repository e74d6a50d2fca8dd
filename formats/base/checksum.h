/*
 * A checksum that tells which input file a result was made from.
 */
#ifndef KVR_CHECKSUM_H
#define KVR_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

struct kvr_checksum {
    uint64_t fnv;  /* FNV-1a over 64-bit little-endian words, the last one padded with 0 */
    bool sampled;  /* only the first and last MiB and 62 blocks of 64 KiB between, evenly spread */
    uint64_t size; /* of the file, bytes */
};

/* Files of up to 16 MiB are read whole; larger ones are sampled, so that the cost stays small. */
enum kvr_status kvr_checksum_file(const char *path, struct kvr_checksum *checksum,
                                  struct kvr_error *err);

/* The hash of nothing, and that of what was hashed before and `length` bytes more. A number of
   bytes that is no multiple of 8 counts as if zeros followed. */
#define KVR_CHECKSUM_START UINT64_C(0xcbf29ce484222325)
uint64_t kvr_checksum_add(uint64_t hash, const void *bytes, size_t length);

#endif
