/*
 * Surveying a sample: loading its cells in parallel, then settling each use in turn.
 */
#include "replay/survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/parallel.h"
#include "replay/memory_gate.h"
#include "replay/survey_use.h"

struct survey_thread {
    struct kvr_room room;
    struct kvr_select_scratch scratch;
};

struct surveying {
    struct kvr_survey *survey;
    struct kvr_trace *trace;
    bool *wanted;                  /* [plan->score_count] */
    struct survey_thread *threads; /* [plan->threads] */
    struct gate_cell *gate_cells;  /* [cell_count] */
    struct kvr_memory_gate memory;
};

bool kvr_survey_needed(const struct kvr_plan *plan)
{
    for (size_t u = 0; u < plan->use_count; u++)
        if (plan->uses[u].surveyed)
            return true;
    return false;
}

/* The cell's vectors of a score; NULL if it has none or is excluded for it. */
static const struct kvr_scored *finite_scored(const struct kvr_cell *cell, size_t score)
{
    for (size_t i = 0; i < cell->scored_count; i++)
        if (cell->scored[i].score == &cell->plan->scores[score])
            return cell->scored[i].not_finite == 0 ? &cell->scored[i] : NULL;
    return NULL;
}

/* Copies what the uses need; each (use, cell) has its own place, so no lock is needed. */
static enum kvr_status take_cell(const struct surveying *surveying, size_t index,
                                 struct survey_thread *thread, struct kvr_error *err)
{
    const struct kvr_survey *survey = surveying->survey;
    const struct kvr_plan *plan = survey->plan;
    struct kvr_cell cell;
    kvr_room_reset(&thread->room);
    enum kvr_status status = kvr_cell_load(plan, surveying->wanted, surveying->trace,
                                           &survey->cells[index], &thread->room, &cell, err);
    for (size_t u = 0; status == KVR_OK && u < plan->use_count; u++) {
        const struct kvr_scored *scored = finite_scored(&cell, plan->uses[u].score);
        if (plan->uses[u].surveyed && scored != NULL)
            status = survey_use_take(&survey->uses[u], index, &cell, scored, u, err);
    }
    const struct kvr_scored *gate = plan->gate_score < plan->score_count && status == KVR_OK
                                        ? finite_scored(&cell, plan->gate_score)
                                        : NULL;
    if (gate != NULL)
        status = gate_cell_take(&surveying->gate_cells[index], &cell, gate, &thread->scratch, err);
    kvr_cell_unload(&cell);
    return status;
}

static enum kvr_status work(void *context, size_t index, unsigned thread, void **result,
                            struct kvr_error *err)
{
    struct surveying *surveying = context;
    (void)result;
    kvr_memory_gate_enter(&surveying->memory);
    enum kvr_status status = take_cell(surveying, index, &surveying->threads[thread], err);
    kvr_memory_gate_leave(&surveying->memory, &surveying->threads[thread].room);
    return status;
}

static enum kvr_status commit(void *context, size_t index, void *result, struct kvr_error *err)
{
    const struct surveying *surveying = context;
    const struct kvr_survey *survey = surveying->survey;
    enum kvr_status status = KVR_OK;
    (void)result;
    for (size_t u = 0; status == KVR_OK && u < survey->plan->use_count; u++)
        if (survey->plan->uses[u].surveyed)
            status = survey_use_taken(survey, &survey->uses[u], u, index, err);
    return status;
}

/* True if a layer of the sample has what the use ranks by: else it has no rows, nor a gate. */
static bool can_be_given(const struct kvr_survey *survey, size_t use)
{
    const struct kvr_score *score = &survey->plan->scores[survey->plan->uses[use].score];
    for (size_t c = 0; c < survey->cell_count; c++)
        if (kvr_score_available(score, survey->cells[c].sample, survey->cells[c].layer))
            return true;
    return false;
}

static enum kvr_status settle(struct surveying *surveying, struct kvr_error *err)
{
    struct kvr_survey *survey = surveying->survey;
    const struct kvr_plan *plan = survey->plan;
    enum kvr_status status = KVR_OK;
    for (size_t u = 0; status == KVR_OK && u < plan->use_count; u++) {
        if (!plan->uses[u].surveyed || !can_be_given(survey, u))
            continue;
        const struct kvr_stages *stages = &plan->policies[plan->uses[u].policy];
        const struct kvr_gate_view *gate = NULL;
        if (stages->allocate.gated) {
            struct kvr_gate_view *view = &survey->gates[survey->gate_count++];
            view->use = u;
            view->threshold = stages->allocate.threshold;
            status = gate_view_make(survey, &survey->uses[u], surveying->gate_cells, view, err);
            gate = view;
        }
        if (status == KVR_OK)
            status = survey_use_settle(survey, &survey->uses[u], u, gate != NULL && !gate->open,
                                       &surveying->threads[0].scratch, err);
    }
    return status;
}

static enum kvr_status prepare(struct surveying *surveying, struct kvr_error *err)
{
    struct kvr_survey *survey = surveying->survey;
    const struct kvr_plan *plan = survey->plan;
    survey->uses = kvr_alloc(plan->use_count, sizeof *survey->uses, err);
    survey->gates = kvr_alloc(plan->use_count, sizeof *survey->gates, err);
    surveying->wanted = kvr_alloc(plan->score_count, sizeof *surveying->wanted, err);
    surveying->threads = kvr_alloc(plan->threads, sizeof *surveying->threads, err);
    surveying->gate_cells = kvr_alloc(survey->cell_count, sizeof *surveying->gate_cells, err);
    if (survey->uses == NULL || survey->gates == NULL || surveying->wanted == NULL ||
        surveying->threads == NULL || surveying->gate_cells == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = KVR_OK;
    for (size_t u = 0; status == KVR_OK && u < plan->use_count; u++)
        if (plan->uses[u].surveyed) {
            surveying->wanted[plan->uses[u].score] = true;
            status =
                survey_use_open(&survey->uses[u], survey->cell_count, plan->page_size_count, err);
        }
    if (plan->gate_score < plan->score_count)
        surveying->wanted[plan->gate_score] = true;
    return status;
}

static void release(struct surveying *surveying)
{
    for (size_t i = 0; surveying->threads != NULL && i < surveying->survey->plan->threads; i++) {
        kvr_room_free(&surveying->threads[i].room);
        kvr_select_scratch_free(&surveying->threads[i].scratch);
    }
    for (size_t i = 0; surveying->gate_cells != NULL && i < surveying->survey->cell_count; i++)
        free(surveying->gate_cells[i].heads);
    free(surveying->wanted);
    free(surveying->threads);
    free(surveying->gate_cells);
}

enum kvr_status kvr_survey_make(const struct kvr_plan *plan, struct kvr_trace *trace,
                                const struct kvr_cell_key *cells, size_t cell_count,
                                struct kvr_survey *survey, struct kvr_error *err)
{
    *survey = (struct kvr_survey){.plan = plan, .cells = cells, .cell_count = cell_count};
    struct surveying surveying = {.survey = survey, .trace = trace};
    const struct kvr_tasks tasks = {cell_count, &surveying, work, commit, NULL};
    kvr_memory_gate_open(&surveying.memory, plan->memory, plan->threads);
    enum kvr_status status = prepare(&surveying, err);
    if (status == KVR_OK)
        status = kvr_run_ordered(plan->threads, &tasks, err);
    if (status == KVR_OK)
        status = settle(&surveying, err);
    release(&surveying);
    kvr_memory_gate_close(&surveying.memory);
    if (status != KVR_OK)
        kvr_survey_free(survey);
    return status;
}

void kvr_survey_free(struct kvr_survey *survey)
{
    for (size_t u = 0; survey->uses != NULL && u < survey->plan->use_count; u++)
        survey_use_close(&survey->uses[u]);
    for (size_t g = 0; survey->gates != NULL && g < survey->gate_count; g++) {
        free(survey->gates[g].layers);
        free(survey->gates[g].agreements);
        free(survey->gates[g].agreements_isolated);
    }
    free(survey->uses);
    free(survey->gates);
    *survey = (struct kvr_survey){0};
}

struct kvr_allotment kvr_survey_allotment(const struct kvr_survey *survey, size_t cell, size_t use,
                                          size_t page)
{
    const struct survey_use *surveyed = &survey->uses[use];
    const struct survey_cell *found = &surveyed->cells[cell];
    return (struct kvr_allotment){
        .layer_vector = found->layer_vector,
        .quotas = found->quotas[page],
        .closed = surveyed->closed,
    };
}
