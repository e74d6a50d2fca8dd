/*
 * Inflating streams of known length, and their checksum: libdeflate where there is one, else zlib.
 */
#ifndef KVR_INFLATE_H
#define KVR_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Inflates the zlib stream at `stored` into exactly `size` bytes at `out`; false if it is damaged,
 * longer or shorter, or if there is no memory. Thread-safe.
 */
bool kvr_inflate(const void *stored, size_t stored_size, void *out, size_t size);

/* The same for a raw deflate stream, without header and checksum, as ZIP archives hold it. */
bool kvr_inflate_raw(const void *stored, size_t stored_size, void *out, size_t size);

/* Goes on with the CRC-32 of ZIP and gzip; it starts at 0. */
uint32_t kvr_crc32(uint32_t crc, const void *bytes, size_t size);

#endif
