/*
 * A bump allocator over a few growing blocks.
 */
#include "formats/base/room.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "formats/base/memory.h"

enum { ALIGNMENT = 64, LEAST_BLOCK = 1 << 16, HUGE_PAGE = 1 << 21 };

struct kvr_room_block {
    struct kvr_room_block *older;
    char *bytes;
    size_t size;
};

static enum kvr_status add_block(struct kvr_room *room, size_t bytes, struct kvr_error *err)
{
    size_t size = room->blocks != NULL ? room->blocks->size : LEAST_BLOCK;
    if (size < bytes)
        size = bytes;
    /* Large blocks in huge pages, where there are such: fewer faults, addresses found faster. */
    const bool huge = size >= HUGE_PAGE && size <= SIZE_MAX - HUGE_PAGE;
    if (huge)
        size = ((size - 1) / HUGE_PAGE + 1) * HUGE_PAGE;
    struct kvr_room_block *block = kvr_alloc(1, sizeof *block, err);
    if (block == NULL)
        return KVR_NO_MEMORY;
    block->bytes = aligned_alloc(huge ? HUGE_PAGE : ALIGNMENT, size);
    if (block->bytes == NULL) {
        free(block);
        return kvr_fail(err, KVR_NO_MEMORY, "out of memory: %zu bytes", size);
    }
    if (huge)
        (void)madvise(block->bytes, size, MADV_HUGEPAGE);
    block->size = size;
    block->older = room->blocks;
    room->blocks = block;
    room->used = 0;
    room->total += size;
    if (room->total > room->peak)
        room->peak = room->total;
    return KVR_OK;
}

static void drop_newest(struct kvr_room *room)
{
    struct kvr_room_block *block = room->blocks;
    room->blocks = block->older;
    room->total -= block->size;
    free(block->bytes);
    free(block);
}

void *kvr_room_take(struct kvr_room *room, size_t count, size_t size, struct kvr_error *err)
{
    size_t bytes;
    if (!kvr_size_product(count, size, &bytes) || bytes > SIZE_MAX - 2 * ALIGNMENT) {
        kvr_fail(err, KVR_NO_MEMORY, "out of memory: %zu elements of %zu bytes", count, size);
        return NULL;
    }
    bytes = (bytes / ALIGNMENT + 1) * ALIGNMENT;
    if (room->blocks == NULL || room->blocks->size - room->used < bytes)
        if (add_block(room, bytes, err) != KVR_OK)
            return NULL;
    void *piece = room->blocks->bytes + room->used;
    room->used += bytes;
    return piece;
}

void *kvr_room_take_zeroed(struct kvr_room *room, size_t count, size_t size, struct kvr_error *err)
{
    void *piece = kvr_room_take(room, count, size, err);
    if (piece != NULL)
        memset(piece, 0, count * size);
    return piece;
}

struct kvr_room_mark kvr_room_mark(const struct kvr_room *room)
{
    return (struct kvr_room_mark){room->blocks, room->used};
}

void kvr_room_return(struct kvr_room *room, struct kvr_room_mark mark)
{
    while (room->blocks != mark.block && room->blocks->older != NULL)
        drop_newest(room);
    /* A mark of the empty room keeps the last block for the next time. */
    room->used = room->blocks == mark.block ? mark.used : 0;
}

void kvr_room_reset(struct kvr_room *room)
{
    if (room->blocks != NULL && room->blocks->size < room->peak) {
        size_t peak = (room->peak / ALIGNMENT + 1) * ALIGNMENT;
        kvr_room_free(room);
        /* Failing here is no error: the next take tries again and reports. */
        add_block(room, peak, NULL);
    }
    room->used = 0;
}

void kvr_room_free(struct kvr_room *room)
{
    while (room->blocks != NULL)
        drop_newest(room);
    *room = (struct kvr_room){0};
}
