/*
 * How many cells run side by side within a memory limit.
 *
 * Nobody knows beforehand what a cell takes: it depends on its heads, its tokens, every policy and
 * table. So the first cell runs alone; from then on as many run together as the largest one so far
 * allows, at least one. Results do not depend on it.
 */
#ifndef KVR_MEMORY_GATE_H
#define KVR_MEMORY_GATE_H

#include <pthread.h>
#include <stddef.h>

#include "formats/base/room.h"

/* What the program itself takes: code, HDF5, open files, tables on their way out. */
enum { KVR_MEMORY_BASE = 20 << 20 };

struct kvr_memory_gate {
    size_t limit; /* bytes of all cells together; 0: no limit */
    size_t threads;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t active;  /* cells that run */
    size_t largest; /* bytes of a cell, the most so far */
};

/* The share of a limit that is for decoded chunks which cells have in common. */
size_t kvr_memory_for_chunks(size_t limit);

/* `limit` is that of the whole program, 0: none. At most `threads` cells run side by side. */
void kvr_memory_gate_open(struct kvr_memory_gate *gate, size_t limit, unsigned threads);
void kvr_memory_gate_close(struct kvr_memory_gate *gate);

/* Waits until another cell fits. */
void kvr_memory_gate_enter(struct kvr_memory_gate *gate);

/* Ends a cell that worked in `room`; its memory is released where not every thread may keep its. */
void kvr_memory_gate_leave(struct kvr_memory_gate *gate, struct kvr_room *room);

#endif
