/*
 * Observers around observers: each looks at the clock before and after the one inside. The engine
 * knows nothing of it, so what is measured is what runs.
 */
#include "replay/cli/bench_stages.h"

#include <stdio.h>
#include <string.h>

#include "analysis/result_tables.h"
#include "formats/trace.h"
#include "replay/cli/progress_bar.h"
#include "replay/engine.h"

struct clock {
    struct kvr_bench_stages *stages;
    double last;
};

/* An observer with a clock; its records are those of the one inside. */
struct timed {
    struct clock *clock;
    const struct kvr_observer *inner;
    const char *table;
};

static void charge(struct clock *clock, const char *prefix, const char *name)
{
    struct kvr_bench_stages *stages = clock->stages;
    char full[sizeof stages->stages[0].name];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    size_t i = 0;
    while (i < stages->count && strcmp(stages->stages[i].name, full) != 0)
        i++;
    if (i == stages->count && i < KVR_BENCH_STAGES) {
        memcpy(stages->stages[i].name, full, sizeof full);
        stages->count++;
    }
    double now = kvr_seconds();
    if (i < KVR_BENCH_STAGES)
        stages->stages[i].seconds += now - clock->last;
    clock->last = now;
}

static enum kvr_status begin(void *state, const struct kvr_cell *cell, void **record,
                             struct kvr_error *err)
{
    const struct timed *timed = state;
    charge(timed->clock, "", "read and score");
    if (timed->inner->begin == NULL)
        return KVR_OK;
    enum kvr_status status = timed->inner->begin(timed->inner->state, cell, record, err);
    charge(timed->clock, "", timed->table);
    return status;
}

static enum kvr_status scored(void *state, void *record, const struct kvr_cell *cell,
                              const struct kvr_scored *vectors, struct kvr_error *err)
{
    const struct timed *timed = state;
    charge(timed->clock, "", "read and score");
    if (timed->inner->scored == NULL)
        return KVR_OK;
    enum kvr_status status = timed->inner->scored(timed->inner->state, record, cell, vectors, err);
    charge(timed->clock, "", timed->table);
    return status;
}

static enum kvr_status heads(void *state, void *record, const struct kvr_cell *cell,
                             const struct kvr_head_sets *sets, struct kvr_error *err)
{
    const struct timed *timed = state;
    charge(timed->clock, "", "heads' own sets");
    if (timed->inner->heads == NULL)
        return KVR_OK;
    enum kvr_status status = timed->inner->heads(timed->inner->state, record, cell, sets, err);
    charge(timed->clock, "", timed->table);
    return status;
}

static enum kvr_status selected(void *state, void *record, const struct kvr_cell *cell,
                                const struct kvr_selection *selection, struct kvr_error *err)
{
    const struct timed *timed = state;
    charge(timed->clock, "select ", selection->stages->label);
    if (timed->inner->selected == NULL)
        return KVR_OK;
    enum kvr_status status =
        timed->inner->selected(timed->inner->state, record, cell, selection, err);
    charge(timed->clock, "", timed->table);
    return status;
}

static enum kvr_status commit(void *state, const struct kvr_cell_key *key, void *record,
                              struct kvr_error *err)
{
    const struct timed *timed = state;
    charge(timed->clock, "", "between cells");
    enum kvr_status status = timed->inner->commit(timed->inner->state, key, record, err);
    charge(timed->clock, "", timed->table);
    return status;
}

static void discard(void *state, void *record)
{
    const struct timed *timed = state;
    timed->inner->discard(timed->inner->state, record);
}

static enum kvr_status run_timed(const struct kvr_plan *plan, struct kvr_trace *trace,
                                 const struct kvr_results *results, struct clock *clock,
                                 struct kvr_error *err)
{
    struct timed timed[KVR_RESULT_TABLES];
    struct kvr_observer observers[KVR_RESULT_TABLES];
    for (size_t i = 0; i < results->count; i++) {
        const struct kvr_observer *inner = &results->observers[i];
        timed[i] = (struct timed){clock, inner, results->tables[i]->name};
        observers[i] = (struct kvr_observer){
            .state = &timed[i],
            .reads_sums = inner->reads_sums,
            .begin = begin,
            .scored = scored,
            .heads = heads,
            .selected = selected,
            .commit = commit,
            .discard = discard,
        };
    }
    clock->last = kvr_seconds();
    return kvr_replay_trace(plan, trace, observers, results->count, NULL, err);
}

static enum kvr_status run_tables(const struct kvr_plan *plan, struct kvr_trace *trace,
                                  const char *folder, struct clock *clock, struct kvr_error *err)
{
    struct kvr_tables tables;
    struct kvr_summary summary = {0};
    struct kvr_results results = {0};
    enum kvr_status status = kvr_tables_open(&tables, folder, err);
    if (status != KVR_OK)
        return status;
    status = kvr_summary_open(plan, &summary, err);
    if (status == KVR_OK)
        status = kvr_results_open(&results, &tables, &summary, err);
    if (status == KVR_OK)
        status = run_timed(plan, trace, &results, clock, err);
    kvr_results_free(&results);
    kvr_summary_free(&summary);
    if (status != KVR_OK) {
        kvr_tables_abandon(&tables);
        return status;
    }
    status = kvr_tables_commit(&tables, err);
    charge(clock, "", "closing files");
    return status;
}

enum kvr_status kvr_bench_stages_measure(struct kvr_plan *plan, const char *path,
                                         const char *folder, struct kvr_bench_stages *stages,
                                         struct kvr_error *err)
{
    *stages = (struct kvr_bench_stages){0};
    struct kvr_trace *trace = NULL;
    struct clock clock = {.stages = stages, .last = kvr_seconds()};
    double started = clock.last;
    enum kvr_status status = kvr_trace_open(path, NULL, &trace, err);
    if (status == KVR_OK)
        status = kvr_plan_settle(plan, &trace, 1, err);
    charge(&clock, "", "opening the trace");
    if (status == KVR_OK) {
        plan->threads = 1;
        status = run_tables(plan, trace, folder, &clock, err);
    }
    kvr_trace_close(trace);
    stages->seconds = kvr_seconds() - started;
    return status;
}
