/*
 * The engine: replays every wanted cell of a trace and tells the observers.
 */
#ifndef KVR_ENGINE_H
#define KVR_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace.h"
#include "replay/observer.h"
#include "replay/plan.h"

/* Called after each cell, in order, on one thread at a time; may be NULL. */
struct kvr_progress {
    void (*update)(void *state, size_t cells_done, size_t cells, uint64_t bytes_read);
    void *state;
};

/* The number of cells that the plan wants of a trace: (sample, layer, group). */
size_t kvr_replay_cells(const struct kvr_plan *plan, const struct kvr_trace *trace);

/*
 * Replays one trace. Cells run on plan->threads threads; observers are committed in the order
 * sample, layer, group. On failure the observers hold a prefix and the caller drops it all.
 */
enum kvr_status kvr_replay_trace(const struct kvr_plan *plan, struct kvr_trace *trace,
                                 const struct kvr_observer *observers, size_t observer_count,
                                 const struct kvr_progress *progress, struct kvr_error *err);

/* Leaves layers out that the plan wants; `sample` and `layer` are indices. Where policies look
   beyond a group it must take a sample whole or not at all. */
struct kvr_replay_choice {
    bool (*takes)(const void *state, size_t sample, size_t layer);
    const void *state;
};

/* Both as above, for what the choice takes. */
size_t kvr_replay_chosen_cells(const struct kvr_plan *plan, const struct kvr_trace *trace,
                               const struct kvr_replay_choice *choice);
enum kvr_status kvr_replay_chosen(const struct kvr_plan *plan, struct kvr_trace *trace,
                                  const struct kvr_replay_choice *choice,
                                  const struct kvr_observer *observers, size_t observer_count,
                                  const struct kvr_progress *progress, struct kvr_error *err);

#endif
