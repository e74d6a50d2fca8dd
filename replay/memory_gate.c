/*
 * Counting cells in and out. What a cell does it must not know.
 */
#include "replay/memory_gate.h"

#include <stdbool.h>

enum { MOST_FOR_CHUNKS = 64 << 20 };

size_t kvr_memory_for_chunks(size_t limit)
{
    return limit == 0 || limit / 4 > MOST_FOR_CHUNKS ? MOST_FOR_CHUNKS : limit / 4;
}

void kvr_memory_gate_open(struct kvr_memory_gate *gate, size_t limit, unsigned threads)
{
    const size_t taken = kvr_memory_for_chunks(limit) + KVR_MEMORY_BASE;
    *gate = (struct kvr_memory_gate){.limit = limit, .threads = threads};
    if (limit > 0) /* where nothing is left, one cell at a time */
        gate->limit = limit > taken ? limit - taken : 1;
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

void kvr_memory_gate_close(struct kvr_memory_gate *gate)
{
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->lock);
}

/* True if one more cell of the largest size fits; none is known before the first has run. */
static bool fits(const struct kvr_memory_gate *gate)
{
    if (gate->active == 0)
        return true;
    return gate->largest > 0 && gate->active + 1 <= gate->limit / gate->largest;
}

void kvr_memory_gate_enter(struct kvr_memory_gate *gate)
{
    if (gate->limit == 0)
        return;
    pthread_mutex_lock(&gate->lock);
    while (!fits(gate))
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->active++;
    pthread_mutex_unlock(&gate->lock);
}

void kvr_memory_gate_leave(struct kvr_memory_gate *gate, struct kvr_room *room)
{
    if (gate->limit == 0)
        return;
    pthread_mutex_lock(&gate->lock);
    if (room->peak > gate->largest)
        gate->largest = room->peak;
    /* A thread that may have to wait must not hold on to what it has. */
    bool keep = gate->largest == 0 || gate->threads <= gate->limit / gate->largest;
    if (!keep)
        kvr_room_free(room);
    gate->active--;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}
