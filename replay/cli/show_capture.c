/*
 * Copies of one cell's vector and kept sets, made while the cell lives and taken at its commit.
 */
#include "replay/cli/show_capture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "replay/bitmap.h"

/* The record of a cell: NULL fields where it is not the wanted one. */
struct record {
    bool wanted, not_finite;
    struct kvr_shown_row row;
};

static void free_row(struct kvr_shown_row *row)
{
    for (size_t p = 0; p < row->policy_count; p++) {
        free(row->policies[p].label);
        free(row->policies[p].kept);
    }
    free(row->policies);
    free(row->row);
}

static enum kvr_status begin(void *state, const struct kvr_cell *cell, void **out,
                             struct kvr_error *err)
{
    const struct kvr_show_capture *capture = state;
    struct record *record = kvr_alloc(1, sizeof *record, err);
    if (record == NULL)
        return KVR_NO_MEMORY;
    record->wanted = cell->key.sample == capture->sample &&
                     cell->key.layer->number == capture->layer && cell->key.group == capture->group;
    record->row.first = cell->candidates.first;
    record->row.count = cell->candidates.count;
    record->row.sinks = cell->candidates.sinks;
    *out = record;
    return KVR_OK;
}

/* The vector of the first score that was asked for. */
static enum kvr_status scored_group(void *state, void *record_of_cell, const struct kvr_cell *cell,
                                    const struct kvr_scored *scored, struct kvr_error *err)
{
    const struct kvr_show_capture *capture = state;
    struct record *record = record_of_cell;
    size_t count = cell->candidates.count;
    if (!record->wanted || record->row.row != NULL || !scored->score->asked)
        return KVR_OK;
    record->not_finite = scored->not_finite > 0;
    record->row.scorer = scored->score->label;
    size_t head = scored->heads == 1 ? 0 : capture->head; /* a column per KV head */
    record->row.row = kvr_alloc(count, sizeof *record->row.row, err);
    if (record->row.row == NULL)
        return KVR_NO_MEMORY;
    memcpy(record->row.row, scored->vectors + head * count, count * sizeof *record->row.row);
    return KVR_OK;
}

static double mass_of(const struct kvr_shown_row *row, const unsigned char *kept)
{
    double all = 0, held = 0;
    for (size_t t = 0; t < row->count; t++) {
        all += (double)row->row[t];
        held += kept[t] ? (double)row->row[t] : 0;
    }
    return all > 0 ? held / all : NAN;
}

static enum kvr_status selected(void *state, void *record_of_cell, const struct kvr_cell *cell,
                                const struct kvr_selection *selection, struct kvr_error *err)
{
    const struct kvr_show_capture *capture = state;
    struct record *record = record_of_cell;
    struct kvr_shown_row *row = &record->row;
    if (!record->wanted || row->row == NULL)
        return KVR_OK;
    const struct kvr_plan *plan = capture->plan;
    if (row->policies == NULL)
        row->policies = kvr_alloc(plan->use_count, sizeof *row->policies, err);
    if (row->policies == NULL)
        return KVR_NO_MEMORY;
    struct kvr_shown_policy policy = {
        .label = kvr_copy_string(plan->policies[plan->uses[selection->use].policy].label, err),
        .kept_tokens = selection->kept[0].kept_tokens,
        .kept = kvr_alloc(row->count, 1, err),
    };
    if (policy.label == NULL || policy.kept == NULL) {
        free(policy.label);
        free(policy.kept);
        return KVR_NO_MEMORY;
    }
    for (size_t t = 0; t < row->count; t++)
        policy.kept[t] = kvr_bitmap_has(selection->kept[0].tokens, t);
    policy.mass = mass_of(row, policy.kept);
    row->policies[row->policy_count++] = policy;
    row->quota = kvr_budget_quota(cell->plan->budgets[0].fraction, selection->pages);
    return KVR_OK;
}

static void discard(void *state, void *record_of_cell)
{
    struct record *record = record_of_cell;
    (void)state;
    if (record == NULL)
        return;
    free_row(&record->row);
    free(record);
}

static enum kvr_status commit(void *state, const struct kvr_cell_key *key, void *record_of_cell,
                              struct kvr_error *err)
{
    struct kvr_show_capture *capture = state;
    struct record *record = record_of_cell;
    (void)key;
    (void)err;
    if (record->wanted) {
        capture->found = true;
        capture->not_finite = record->not_finite;
        capture->row = record->row;
        record->row = (struct kvr_shown_row){.row = NULL};
    }
    discard(state, record);
    return KVR_OK;
}

struct kvr_observer kvr_show_observer(struct kvr_show_capture *capture)
{
    return (struct kvr_observer){
        .state = capture,
        .begin = begin,
        .scored = scored_group,
        .selected = selected,
        .commit = commit,
        .discard = discard,
    };
}

void kvr_show_capture_free(struct kvr_show_capture *capture)
{
    free_row(&capture->row);
    capture->row = (struct kvr_shown_row){.row = NULL};
}
