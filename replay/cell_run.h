/*
 * Replaying one cell: load it, keep what every policy keeps, tell the observers.
 */
#ifndef KVR_CELL_RUN_H
#define KVR_CELL_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/room.h"
#include "formats/base/status.h"
#include "replay/observer.h"

/* What one thread reuses from cell to cell. */
struct kvr_cell_thread {
    struct kvr_room room;
    struct kvr_select_scratch scratch;
};

/* What all cells of a run share. */
struct kvr_cell_run {
    const struct kvr_plan *plan;
    struct kvr_trace *trace;
    const bool *wanted; /* [plan->score_count] scores to load */
    const struct kvr_observer *observers;
    size_t observer_count;
    const struct kvr_cell_key *cells;
    const struct kvr_survey *survey; /* of these cells; NULL: no policy needs one */
};

/*
 * Replays cells[index]; records[observer_count] are NULL before and what the observers made after,
 * in any case.
 */
enum kvr_status kvr_cell_replay(const struct kvr_cell_run *run, size_t index,
                                struct kvr_cell_thread *thread, void **records,
                                struct kvr_error *err);

#endif
