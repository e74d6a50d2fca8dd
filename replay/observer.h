/*
 * Observers: how the engine's results become measures without the engine knowing any.
 *
 * For each cell the engine calls begin, then for each score that was asked for scored, heads for
 * each page size and selected for each policy and page size; then selected for the policies that
 * bring a score of their own. All this on one thread with an own record per cell; cells run in
 * parallel. commit then takes the records in the order of the cells, one at a
 * time. So an observer needs no lock and its output does not depend on threads.
 */
#ifndef KVR_OBSERVER_H
#define KVR_OBSERVER_H

#include "formats/base/status.h"
#include "replay/cell.h"
#include "replay/selection.h"
#include "replay/survey.h"

/* Any function but commit and discard may be NULL. */
struct kvr_observer {
    void *state;     /* given to every function; not written before commit */
    bool reads_sums; /* `selected` reads selection->sums */

    /* The survey of a sample, before any of its cells is committed; only where policies need one.
     */
    enum kvr_status (*surveyed)(void *state, const struct kvr_survey *survey,
                                struct kvr_error *err);

    /* Makes the record of a cell. What it holds must outlive the cell: do not point into it. */
    enum kvr_status (*begin)(void *state, const struct kvr_cell *cell, void **record,
                             struct kvr_error *err);

    /* The vectors of a score that was asked for or that a policy ranks by; scored->not_finite > 0
       says that the group is excluded for it, and nothing else is told of this score then. */
    enum kvr_status (*scored)(void *state, void *record, const struct kvr_cell *cell,
                              const struct kvr_scored *scored, struct kvr_error *err);

    enum kvr_status (*heads)(void *state, void *record, const struct kvr_cell *cell,
                             const struct kvr_head_sets *sets, struct kvr_error *err);

    enum kvr_status (*selected)(void *state, void *record, const struct kvr_cell *cell,
                                const struct kvr_selection *selection, struct kvr_error *err);

    /* Takes and releases the record. */
    enum kvr_status (*commit)(void *state, const struct kvr_cell_key *key, void *record,
                              struct kvr_error *err);

    /* Releases a record that will not be committed; NULL is allowed as record. */
    void (*discard)(void *state, void *record);
};

#endif
