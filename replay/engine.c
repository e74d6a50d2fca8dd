/*
 * Runs cells in parallel and hands their records over in order. It must not know any measure.
 */
#include "replay/engine.h"

#include <stdlib.h>

#include "formats/base/memory.h"
#include "formats/base/parallel.h"
#include "replay/cell_run.h"
#include "replay/memory_gate.h"

struct replay {
    struct kvr_cell_run run;
    const struct kvr_progress *progress;
    size_t total, done;              /* cells of the trace, and those of earlier runs */
    struct kvr_cell_thread *threads; /* [plan->threads] */
    struct kvr_memory_gate memory;
};

/* Writes the wanted cells to keys (NULL: only counts them). */
static size_t list_cells(const struct kvr_plan *plan, const struct kvr_trace *trace,
                         const struct kvr_replay_choice *choice, struct kvr_cell_key *keys)
{
    size_t count = 0;
    for (size_t s = 0; s < trace->sample_count; s++) {
        const struct kvr_sample *sample = &trace->samples[s];
        if (!kvr_plan_wants_sample(plan, sample))
            continue;
        for (size_t l = 0; l < sample->layer_count; l++) {
            const struct kvr_layer *layer = &sample->layers[l];
            if (!kvr_plan_wants_layer(plan, layer) ||
                (choice != NULL && !choice->takes(choice->state, s, l)))
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
    return list_cells(plan, trace, NULL, NULL);
}

size_t kvr_replay_chosen_cells(const struct kvr_plan *plan, const struct kvr_trace *trace,
                               const struct kvr_replay_choice *choice)
{
    return list_cells(plan, trace, choice, NULL);
}

static void discard(void *context, void *result)
{
    const struct replay *replay = context;
    void **records = result;
    for (size_t i = 0; i < replay->run.observer_count; i++)
        replay->run.observers[i].discard(replay->run.observers[i].state, records[i]);
    free(records);
}

static enum kvr_status work(void *context, size_t index, unsigned thread, void **result,
                            struct kvr_error *err)
{
    struct replay *replay = context;
    void **records = kvr_alloc(replay->run.observer_count, sizeof *records, err);
    if (records == NULL)
        return KVR_NO_MEMORY;
    kvr_memory_gate_enter(&replay->memory);
    enum kvr_status status =
        kvr_cell_replay(&replay->run, index, &replay->threads[thread], records, err);
    kvr_memory_gate_leave(&replay->memory, &replay->threads[thread].room);
    if (status != KVR_OK)
        discard(replay, records);
    else
        *result = records;
    return status;
}

static enum kvr_status commit(void *context, size_t index, void *result, struct kvr_error *err)
{
    const struct replay *replay = context;
    const struct kvr_cell_run *run = &replay->run;
    void **records = result;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; i < run->observer_count; i++) {
        const struct kvr_observer *observer = &run->observers[i];
        if (status == KVR_OK)
            status = observer->commit(observer->state, &run->cells[index], records[i], err);
        else
            observer->discard(observer->state, records[i]);
    }
    free(records);
    if (replay->progress != NULL && replay->progress->update != NULL)
        replay->progress->update(replay->progress->state, replay->done + index + 1, replay->total,
                                 kvr_trace_bytes_read(run->trace));
    return status;
}

static enum kvr_status run_cells(struct replay *replay, size_t count, struct kvr_error *err)
{
    const struct kvr_tasks tasks = {count, replay, work, commit, discard};
    enum kvr_status status = kvr_run_ordered(replay->run.plan->threads, &tasks, err);
    replay->done += count;
    return status;
}

static enum kvr_status run_surveyed(struct replay *replay, size_t count, struct kvr_error *err)
{
    struct kvr_cell_run *run = &replay->run;
    struct kvr_survey survey;
    enum kvr_status status =
        kvr_survey_make(run->plan, run->trace, run->cells, count, &survey, err);
    if (status != KVR_OK)
        return status;
    run->survey = &survey;
    for (size_t i = 0; status == KVR_OK && i < run->observer_count; i++) {
        const struct kvr_observer *observer = &run->observers[i];
        if (observer->surveyed != NULL)
            status = observer->surveyed(observer->state, &survey, err);
    }
    if (status == KVR_OK)
        status = run_cells(replay, count, err);
    run->survey = NULL;
    kvr_survey_free(&survey);
    return status;
}

/* All cells in one run, or sample by sample where policies look beyond a group. */
static enum kvr_status run_trace(struct replay *replay, const struct kvr_cell_key *cells,
                                 struct kvr_error *err)
{
    replay->run.cells = cells;
    if (!kvr_survey_needed(replay->run.plan))
        return run_cells(replay, replay->total, err);
    enum kvr_status status = KVR_OK;
    for (size_t begin = 0, end; status == KVR_OK && begin < replay->total; begin = end) {
        for (end = begin; end < replay->total && cells[end].sample == cells[begin].sample;)
            end++;
        replay->run.cells = cells + begin;
        status = run_surveyed(replay, end - begin, err);
    }
    return status;
}

enum kvr_status kvr_replay_trace(const struct kvr_plan *plan, struct kvr_trace *trace,
                                 const struct kvr_observer *observers, size_t observer_count,
                                 const struct kvr_progress *progress, struct kvr_error *err)
{
    return kvr_replay_chosen(plan, trace, NULL, observers, observer_count, progress, err);
}

enum kvr_status kvr_replay_chosen(const struct kvr_plan *plan, struct kvr_trace *trace,
                                  const struct kvr_replay_choice *choice,
                                  const struct kvr_observer *observers, size_t observer_count,
                                  const struct kvr_progress *progress, struct kvr_error *err)
{
    struct replay replay = {
        .run = {.plan = plan,
                .trace = trace,
                .observers = observers,
                .observer_count = observer_count},
        .progress = progress,
        .total = list_cells(plan, trace, choice, NULL),
    };
    struct kvr_cell_key *cells = kvr_alloc(replay.total, sizeof *cells, err);
    bool *wanted = kvr_alloc(plan->score_count, sizeof *wanted, err);
    replay.threads = kvr_alloc(plan->threads, sizeof *replay.threads, err);
    kvr_memory_gate_open(&replay.memory, plan->memory, plan->threads);
    enum kvr_status status = KVR_NO_MEMORY;
    if (cells != NULL && wanted != NULL && replay.threads != NULL) {
        list_cells(plan, trace, choice, cells);
        for (size_t s = 0; s < plan->score_count; s++)
            wanted[s] = plan->scores[s].asked || plan->scores[s].named;
        replay.run.wanted = wanted;
        status = run_trace(&replay, cells, err);
    }
    for (unsigned i = 0; replay.threads != NULL && i < plan->threads; i++) {
        kvr_room_free(&replay.threads[i].room);
        kvr_select_scratch_free(&replay.threads[i].scratch);
    }
    kvr_memory_gate_close(&replay.memory);
    free(replay.threads);
    free(wanted);
    free(cells);
    return status;
}
