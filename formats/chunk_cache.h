/*
 * Decoded chunks that several reads share, in bounded memory.
 *
 * A chunk is decoded once, by the first thread that asks; others wait for it. What nobody uses is
 * dropped, the least recently used first, as soon as the cache holds more than its limit; what no
 * later read needs, as soon as it holds more than a quarter of that.
 */
#ifndef KVR_CHUNK_CACHE_H
#define KVR_CHUNK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

struct kvr_chunk_cache;
struct kvr_chunk; /* a chunk in use; it stays in memory until it is released */

/* Which chunk of which dataset. */
struct kvr_chunk_key {
    uint64_t dataset, chunk;
};

/* Produces a chunk as an allocation of *size bytes; NULL and 0 for a chunk that was never written.
 */
typedef enum kvr_status kvr_chunk_load(void *context, struct kvr_chunk_key key,
                                       unsigned char **bytes, size_t *size, struct kvr_error *err);

enum kvr_status kvr_chunk_cache_new(size_t limit, struct kvr_chunk_cache **out,
                                    struct kvr_error *err);

/* No chunk may be in use. NULL is allowed. */
void kvr_chunk_cache_free(struct kvr_chunk_cache *cache);

/*
 * The chunk `key`, from the cache or from `load`, which is called without any lock held. A failed
 * load is not remembered. Thread-safe.
 */
enum kvr_status kvr_chunk_cache_take(struct kvr_chunk_cache *cache, struct kvr_chunk_key key,
                                     kvr_chunk_load *load, void *context, struct kvr_chunk **out,
                                     struct kvr_error *err);

/* The bytes of a chunk in use; NULL for one that was never written. */
const unsigned char *kvr_chunk_bytes(const struct kvr_chunk *chunk);

/* Ends the use; `finished` chunks are the first to be dropped, as no other read needs them. */
void kvr_chunk_cache_release(struct kvr_chunk_cache *cache, struct kvr_chunk *chunk, bool finished);

#endif
