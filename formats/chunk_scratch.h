/*
 * Memory in which chunks are decoded, used again and again: fresh memory would have to be mapped
 * page by page, and the processor's cache would not hold it.
 *
 * As many places exist as chunks are decoded at once. What a place is used for is not known here.
 */
#ifndef KVR_CHUNK_SCRATCH_H
#define KVR_CHUNK_SCRATCH_H

#include <pthread.h>
#include <stddef.h>

#include "formats/base/status.h"

/* Room that grows as it is needed; what it held is lost then. All zero is an empty one. */
struct kvr_chunk_room {
    unsigned char *bytes;
    size_t size;
};

/* `size` bytes of any content; NULL if there is no memory. */
unsigned char *kvr_chunk_room_take(struct kvr_chunk_room *room, size_t size, struct kvr_error *err);

struct kvr_chunk_scratch {
    struct kvr_chunk_room stored;   /* a chunk as the file holds it */
    struct kvr_chunk_room half_way; /* some, not all of its filters undone */
    struct kvr_chunk_scratch *next; /* in the pool */
};

/* Releases what it holds, not the structure itself. */
void kvr_chunk_scratch_release(struct kvr_chunk_scratch *scratch);

struct kvr_chunk_pool {
    pthread_mutex_t lock;
    struct kvr_chunk_scratch *idle; /* the one that was used last comes first */
};

void kvr_chunk_pool_open(struct kvr_chunk_pool *pool);

/* Every place must have been given back. */
void kvr_chunk_pool_close(struct kvr_chunk_pool *pool);

/* A place of its own for this thread until it gives it back; NULL if there is no memory. */
struct kvr_chunk_scratch *kvr_chunk_pool_take(struct kvr_chunk_pool *pool, struct kvr_error *err);
void kvr_chunk_pool_give(struct kvr_chunk_pool *pool, struct kvr_chunk_scratch *scratch);

#endif
