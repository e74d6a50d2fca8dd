/*
 * Scratch memory of one thread: taken piece by piece, given back all at once.
 *
 * A cell of a replay needs many arrays of known lifetime. Taking them here costs a pointer bump,
 * and after the first cells nothing is allocated any more. Not thread-safe: one room a thread.
 */
#ifndef KVR_ROOM_H
#define KVR_ROOM_H

#include <stddef.h>

#include "formats/base/status.h"

/* Zero-initialised is empty. */
struct kvr_room {
    struct kvr_room_block *blocks; /* the newest first */
    size_t used;                   /* bytes taken from the newest */
    size_t total;                  /* bytes of all blocks */
    size_t peak;                   /* the most that total has been */
};

/* count * size bytes, aligned to 64, NOT zeroed; valid until kvr_room_reset. NULL on failure. */
void *kvr_room_take(struct kvr_room *room, size_t count, size_t size, struct kvr_error *err);

/* As kvr_room_take, zeroed. */
void *kvr_room_take_zeroed(struct kvr_room *room, size_t count, size_t size, struct kvr_error *err);

/* A place to return to: everything taken after the mark can be given back. */
struct kvr_room_mark {
    struct kvr_room_block *block;
    size_t used;
};
struct kvr_room_mark kvr_room_mark(const struct kvr_room *room);
void kvr_room_return(struct kvr_room *room, struct kvr_room_mark mark);

/* Gives everything back; what once needed several blocks will fit one from now on. */
void kvr_room_reset(struct kvr_room *room);

void kvr_room_free(struct kvr_room *room);

#endif
