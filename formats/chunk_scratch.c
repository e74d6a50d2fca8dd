/*
 * A stack of places to decode in, and their growing rooms. It must not know what a chunk is.
 */
#include "formats/chunk_scratch.h"

#include <stdlib.h>

#include "formats/base/memory.h"

enum { MOST_KEPT = 4 << 20 }; /* bytes of a room that nobody uses: huge chunks are rare */

unsigned char *kvr_chunk_room_take(struct kvr_chunk_room *room, size_t size, struct kvr_error *err)
{
    if (room->bytes != NULL && size <= room->size)
        return room->bytes;
    free(room->bytes);
    room->bytes = kvr_alloc_bytes(size, err);
    room->size = room->bytes != NULL ? size : 0;
    return room->bytes;
}

static void empty_room(struct kvr_chunk_room *room)
{
    free(room->bytes);
    *room = (struct kvr_chunk_room){NULL, 0};
}

void kvr_chunk_scratch_release(struct kvr_chunk_scratch *scratch)
{
    empty_room(&scratch->stored);
    empty_room(&scratch->half_way);
}

void kvr_chunk_pool_open(struct kvr_chunk_pool *pool)
{
    pthread_mutex_init(&pool->lock, NULL);
    pool->idle = NULL;
}

void kvr_chunk_pool_close(struct kvr_chunk_pool *pool)
{
    while (pool->idle != NULL) {
        struct kvr_chunk_scratch *scratch = pool->idle;
        pool->idle = scratch->next;
        kvr_chunk_scratch_release(scratch);
        free(scratch);
    }
    pthread_mutex_destroy(&pool->lock);
}

struct kvr_chunk_scratch *kvr_chunk_pool_take(struct kvr_chunk_pool *pool, struct kvr_error *err)
{
    pthread_mutex_lock(&pool->lock);
    struct kvr_chunk_scratch *scratch = pool->idle;
    if (scratch != NULL)
        pool->idle = scratch->next;
    pthread_mutex_unlock(&pool->lock);
    return scratch != NULL ? scratch : kvr_alloc(1, sizeof *scratch, err);
}

void kvr_chunk_pool_give(struct kvr_chunk_pool *pool, struct kvr_chunk_scratch *scratch)
{
    if (scratch->stored.size > MOST_KEPT)
        empty_room(&scratch->stored);
    if (scratch->half_way.size > MOST_KEPT)
        empty_room(&scratch->half_way);
    pthread_mutex_lock(&pool->lock);
    scratch->next = pool->idle;
    pool->idle = scratch;
    pthread_mutex_unlock(&pool->lock);
}
