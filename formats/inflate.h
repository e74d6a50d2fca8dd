/*
 * Inflating a zlib stream of known length: libdeflate where there is one, else zlib.
 */
#ifndef KVR_INFLATE_H
#define KVR_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Inflates the zlib stream at `stored` into exactly `size` bytes at `out`; false if it is damaged,
 * longer or shorter, or if there is no memory. Thread-safe.
 */
bool kvr_inflate(const void *stored, size_t stored_size, void *out, size_t size);

#endif
