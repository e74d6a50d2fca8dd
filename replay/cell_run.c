/*
 * One cell from its rows to the observers. It must not know any measure, or that cells run in
 * parallel.
 */
#include "replay/cell_run.h"

#include "replay/kept_sums.h"

/* The cell that is being replayed, with everything that its steps need. */
struct cell_state {
    const struct kvr_cell_run *run;
    struct kvr_cell_thread *thread;
    size_t index;
    struct kvr_cell cell;
    void **records;
};

static enum kvr_status tell_begin(struct cell_state *state, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < state->run->observer_count; i++) {
        const struct kvr_observer *observer = &state->run->observers[i];
        if (observer->begin != NULL)
            status = observer->begin(observer->state, &state->cell, &state->records[i], err);
    }
    return status;
}

static enum kvr_status tell_scored(const struct cell_state *state, const struct kvr_scored *scored,
                                   struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < state->run->observer_count; i++) {
        const struct kvr_observer *observer = &state->run->observers[i];
        if (observer->scored != NULL)
            status =
                observer->scored(observer->state, state->records[i], &state->cell, scored, err);
    }
    return status;
}

static enum kvr_status tell_heads(const struct cell_state *state, const struct kvr_head_sets *sets,
                                  struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < state->run->observer_count; i++) {
        const struct kvr_observer *observer = &state->run->observers[i];
        if (observer->heads != NULL)
            status = observer->heads(observer->state, state->records[i], &state->cell, sets, err);
    }
    return status;
}

static enum kvr_status tell_selected(const struct cell_state *state,
                                     const struct kvr_selection *selection, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < state->run->observer_count; i++) {
        const struct kvr_observer *observer = &state->run->observers[i];
        if (observer->selected != NULL)
            status = observer->selected(observer->state, state->records[i], &state->cell, selection,
                                        err);
    }
    return status;
}

/* One policy at every page size; `sets` [page sizes] are the heads' own sets, or NULL. */
static enum kvr_status select_use(struct cell_state *state, const struct kvr_scored *scored,
                                  size_t use, const struct kvr_head_sets *sets,
                                  struct kvr_selection *selections, struct kvr_error *err)
{
    const struct kvr_plan *plan = state->run->plan;
    enum kvr_status status = KVR_OK;
    for (size_t p = 0; status == KVR_OK && p < plan->page_size_count; p++) {
        struct kvr_allotment allotment = {0};
        if (plan->uses[use].surveyed)
            allotment = kvr_survey_allotment(state->run->survey, state->index, use, p);
        if (p > 0) /* pooled once for all page sizes */
            allotment.layer_vector = selections[0].pooled;
        status = kvr_selection_make(&state->cell, scored, use, &state->cell.pages[p],
                                    sets != NULL ? &sets[p] : NULL, &allotment,
                                    &state->thread->scratch, &selections[p], err);
    }
    return status;
}

/* Sums over what is kept, then tells of it. */
static enum kvr_status tell_selections(const struct cell_state *state,
                                       struct kvr_selection *selections, size_t count,
                                       struct kvr_error *err)
{
    bool wanted = false;
    for (size_t i = 0; i < state->run->observer_count; i++)
        wanted |= state->run->observers[i].reads_sums;
    enum kvr_status status =
        wanted ? kvr_kept_sums_make(&state->cell, selections, count, err) : KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < count; i++) {
        struct kvr_room_mark mark = kvr_room_mark(state->cell.room);
        status = tell_selected(state, &selections[i], err);
        kvr_room_return(state->cell.room, mark);
    }
    return status;
}

/* Every policy that ranks by a score that was asked for. */
static enum kvr_status replay_policies(struct cell_state *state, const struct kvr_scored *scored,
                                       const struct kvr_head_sets *sets, struct kvr_error *err)
{
    const struct kvr_plan *plan = state->run->plan;
    size_t count = 0;
    struct kvr_selection *selections = kvr_room_take(
        state->cell.room, plan->policy_count * plan->page_size_count, sizeof *selections, err);
    enum kvr_status status = selections != NULL ? KVR_OK : KVR_NO_MEMORY;
    for (size_t u = 0; status == KVR_OK && u < plan->use_count; u++) {
        if (&plan->scores[plan->uses[u].score] != scored->score ||
            !plan->policies[plan->uses[u].policy].asked)
            continue;
        status = select_use(state, scored, u, sets, selections + count, err);
        count += plan->page_size_count;
    }
    return status == KVR_OK ? tell_selections(state, selections, count, err) : status;
}

/* A score that was asked for: the heads' own sets, then the policies. */
static enum kvr_status replay_asked(struct cell_state *state, const struct kvr_scored *scored,
                                    struct kvr_error *err)
{
    const struct kvr_plan *plan = state->run->plan;
    struct kvr_cell *cell = &state->cell;
    struct kvr_head_sets *sets =
        kvr_room_take(cell->room, plan->page_size_count, sizeof *sets, err);
    enum kvr_status status = sets != NULL ? KVR_OK : KVR_NO_MEMORY;
    for (size_t p = 0; status == KVR_OK && p < plan->page_size_count; p++) {
        status = kvr_head_sets_make(cell, scored, &cell->pages[p], &state->thread->scratch,
                                    &sets[p], err);
        if (status == KVR_OK)
            status = tell_heads(state, &sets[p], err);
    }
    return status == KVR_OK ? replay_policies(state, scored, sets, err) : status;
}

/* A policy that brings a score of its own. */
static enum kvr_status replay_own(struct cell_state *state, const struct kvr_scored *scored,
                                  size_t use, struct kvr_error *err)
{
    size_t count = state->run->plan->page_size_count;
    struct kvr_room_mark mark = kvr_room_mark(state->cell.room);
    struct kvr_selection *selections =
        kvr_room_take(state->cell.room, count, sizeof *selections, err);
    enum kvr_status status = selections != NULL ? KVR_OK : KVR_NO_MEMORY;
    if (status == KVR_OK)
        status = select_use(state, scored, use, NULL, selections, err);
    if (status == KVR_OK)
        status = tell_selections(state, selections, count, err);
    kvr_room_return(state->cell.room, mark);
    return status;
}

/* The policies that bring a score of their own, in the order of the plan. */
static enum kvr_status replay_named(struct cell_state *state, struct kvr_error *err)
{
    const struct kvr_plan *plan = state->run->plan;
    enum kvr_status status = KVR_OK;
    for (size_t u = 0; status == KVR_OK && u < plan->use_count; u++) {
        if (plan->policies[plan->uses[u].policy].asked)
            continue;
        for (size_t i = 0; status == KVR_OK && i < state->cell.scored_count; i++) {
            const struct kvr_scored *scored = &state->cell.scored[i];
            if (scored->score == &plan->scores[plan->uses[u].score] && scored->not_finite == 0)
                status = replay_own(state, scored, u, err);
        }
    }
    return status;
}

enum kvr_status kvr_cell_replay(const struct kvr_cell_run *run, size_t index,
                                struct kvr_cell_thread *thread, void **records,
                                struct kvr_error *err)
{
    struct cell_state state = {.run = run, .thread = thread, .index = index, .records = records};
    kvr_room_reset(&thread->room);
    enum kvr_status status = kvr_cell_load(run->plan, run->wanted, run->trace, &run->cells[index],
                                           &thread->room, &state.cell, err);
    if (status == KVR_OK)
        status = tell_begin(&state, err);
    for (size_t i = 0; status == KVR_OK && i < state.cell.scored_count; i++) {
        const struct kvr_scored *scored = &state.cell.scored[i];
        struct kvr_room_mark mark = kvr_room_mark(&thread->room);
        status = tell_scored(&state, scored, err);
        if (status == KVR_OK && scored->score->asked && scored->not_finite == 0)
            status = replay_asked(&state, scored, err);
        kvr_room_return(&thread->room, mark);
    }
    if (status == KVR_OK)
        status = replay_named(&state, err);
    kvr_cell_unload(&state.cell);
    return status;
}
