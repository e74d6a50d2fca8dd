/*
 * Runs cells in parallel and hands their records over in order. It must not know any measure.
 */
#include "replay/engine.h"

#include <stdlib.h>

#include "formats/base/memory.h"
#include "formats/base/parallel.h"

/* What one thread reuses from cell to cell. */
struct thread_room {
    struct kvr_room room;
    struct kvr_select_scratch scratch;
};

struct replay {
    const struct kvr_plan *plan;
    struct kvr_trace *trace;
    const struct kvr_observer *observers;
    size_t observer_count;
    const struct kvr_progress *progress;
    size_t cell_count;
    struct kvr_cell_key *cells;
    struct thread_room *rooms; /* [threads] */
};

/* Writes the wanted cells to keys (NULL: only counts them). */
static size_t list_cells(const struct kvr_plan *plan, const struct kvr_trace *trace,
                         struct kvr_cell_key *keys)
{
    size_t count = 0;
    for (size_t s = 0; s < trace->sample_count; s++) {
        const struct kvr_sample *sample = &trace->samples[s];
        if (!kvr_plan_wants_sample(plan, sample))
            continue;
        for (size_t l = 0; l < sample->layer_count; l++) {
            const struct kvr_layer *layer = &sample->layers[l];
            if (!kvr_plan_wants_layer(plan, layer))
                continue;
            uint32_t ratio = layer->query_heads / layer->kv_heads;
            for (uint32_t group = 0; group < layer->kv_heads; group++, count++)
                if (keys != NULL)
                    keys[count] = (struct kvr_cell_key){trace, sample, layer, group, ratio};
        }
    }
    return count;
}

size_t kvr_replay_cells(const struct kvr_plan *plan, const struct kvr_trace *trace)
{
    return list_cells(plan, trace, NULL);
}

static void discard_records(const struct replay *replay, void **records)
{
    for (size_t i = 0; i < replay->observer_count; i++)
        replay->observers[i].discard(replay->observers[i].state, records[i]);
    free(records);
}

static enum kvr_status tell_scored(const struct replay *replay, void **records,
                                   const struct kvr_cell *cell, const struct kvr_scored *scored,
                                   struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < replay->observer_count; i++) {
        const struct kvr_observer *observer = &replay->observers[i];
        if (observer->scored != NULL)
            status = observer->scored(observer->state, records[i], cell, scored, err);
    }
    return status;
}

static enum kvr_status tell_heads(const struct replay *replay, void **records,
                                  const struct kvr_cell *cell, const struct kvr_head_sets *sets,
                                  struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < replay->observer_count; i++) {
        const struct kvr_observer *observer = &replay->observers[i];
        if (observer->heads != NULL)
            status = observer->heads(observer->state, records[i], cell, sets, err);
    }
    return status;
}

static enum kvr_status tell_selected(const struct replay *replay, void **records,
                                     const struct kvr_cell *cell,
                                     const struct kvr_selection *selection, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < replay->observer_count; i++) {
        const struct kvr_observer *observer = &replay->observers[i];
        if (observer->selected != NULL)
            status = observer->selected(observer->state, records[i], cell, selection, err);
    }
    return status;
}

/* One scorer of a cell: every page size, then every policy at every page size. */
static enum kvr_status replay_scored(const struct replay *replay, struct thread_room *thread,
                                     void **records, const struct kvr_cell *cell,
                                     const struct kvr_scored *scored, struct kvr_error *err)
{
    const struct kvr_plan *plan = replay->plan;
    enum kvr_status status = tell_scored(replay, records, cell, scored, err);
    if (status != KVR_OK || scored->not_finite > 0)
        return status;
    struct kvr_head_sets *sets =
        kvr_room_take(cell->room, plan->page_size_count, sizeof *sets, err);
    if (sets == NULL)
        return KVR_NO_MEMORY;
    for (size_t b = 0; status == KVR_OK && b < plan->page_size_count; b++) {
        status = kvr_head_sets_make(cell, scored, &cell->pages[b], &thread->scratch, &sets[b],
                                    err);
        if (status == KVR_OK)
            status = tell_heads(replay, records, cell, &sets[b], err);
    }
    for (size_t p = 0; p < plan->policy_count; p++)
        for (size_t b = 0; status == KVR_OK && b < plan->page_size_count; b++) {
            struct kvr_selection selection;
            struct kvr_room_mark mark = kvr_room_mark(cell->room);
            status = kvr_selection_make(cell, &sets[b], &plan->policies[p], &thread->scratch,
                                        &selection, err);
            if (status == KVR_OK)
                status = tell_selected(replay, records, cell, &selection, err);
            kvr_room_return(cell->room, mark);
        }
    return status;
}

static enum kvr_status replay_cell(const struct replay *replay, struct thread_room *thread,
                                   const struct kvr_cell_key *key, void **records,
                                   struct kvr_error *err)
{
    struct kvr_cell cell;
    enum kvr_status status =
        kvr_cell_load(replay->plan, replay->trace, key, &thread->room, &cell, err);
    for (size_t i = 0; status == KVR_OK && i < replay->observer_count; i++) {
        const struct kvr_observer *observer = &replay->observers[i];
        if (observer->begin != NULL)
            status = observer->begin(observer->state, &cell, &records[i], err);
    }
    for (size_t i = 0; status == KVR_OK && i < cell.scored_count; i++) {
        struct kvr_room_mark mark = kvr_room_mark(&thread->room);
        status = replay_scored(replay, thread, records, &cell, &cell.scored[i], err);
        kvr_room_return(&thread->room, mark);
    }
    return status;
}

static enum kvr_status work(void *context, size_t index, unsigned thread_index, void **result,
                            struct kvr_error *err)
{
    const struct replay *replay = context;
    struct thread_room *thread = &replay->rooms[thread_index];
    void **records = kvr_alloc(replay->observer_count, sizeof *records, err);
    if (records == NULL)
        return KVR_NO_MEMORY;
    kvr_room_reset(&thread->room);
    enum kvr_status status = replay_cell(replay, thread, &replay->cells[index], records, err);
    if (status != KVR_OK)
        discard_records(replay, records);
    else
        *result = records;
    return status;
}

static enum kvr_status commit(void *context, size_t index, void *result, struct kvr_error *err)
{
    const struct replay *replay = context;
    void **records = result;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; i < replay->observer_count; i++) {
        const struct kvr_observer *observer = &replay->observers[i];
        if (status == KVR_OK)
            status = observer->commit(observer->state, &replay->cells[index], records[i], err);
        else
            observer->discard(observer->state, records[i]);
    }
    free(records);
    if (replay->progress != NULL && replay->progress->update != NULL)
        replay->progress->update(replay->progress->state, index + 1, replay->cell_count,
                                 kvr_trace_bytes_read(replay->trace));
    return status;
}

static void discard(void *context, void *result)
{
    discard_records(context, result);
}

enum kvr_status kvr_replay_trace(const struct kvr_plan *plan, struct kvr_trace *trace,
                                 const struct kvr_observer *observers, size_t observer_count,
                                 const struct kvr_progress *progress, struct kvr_error *err)
{
    struct replay replay = {
        .plan = plan,
        .trace = trace,
        .observers = observers,
        .observer_count = observer_count,
        .progress = progress,
        .cell_count = kvr_replay_cells(plan, trace),
    };
    replay.cells = kvr_alloc(replay.cell_count, sizeof *replay.cells, err);
    replay.rooms = kvr_alloc(plan->threads, sizeof *replay.rooms, err);
    enum kvr_status status = KVR_NO_MEMORY;
    if (replay.cells != NULL && replay.rooms != NULL) {
        list_cells(plan, trace, replay.cells);
        const struct kvr_tasks tasks = {replay.cell_count, &replay, work, commit, discard};
        status = kvr_run_ordered(plan->threads, &tasks, err);
    }
    for (unsigned i = 0; replay.rooms != NULL && i < plan->threads; i++) {
        kvr_room_free(&replay.rooms[i].room);
        kvr_select_scratch_free(&replay.rooms[i].scratch);
    }
    free(replay.rooms);
    free(replay.cells);
    return status;
}
