/*
 * The survey of a sample: what policies need to know of other groups and layers before they can
 * keep anything in one (allocations, the gate, one vector for a layer).
 *
 * Only samples of a plan with such policies are surveyed. A survey loads each cell once more and
 * keeps one vector of 4 T bytes per surveyed policy and layer where it reduces over layers, and per
 * cell where groups compete.
 */
#ifndef KVR_SURVEY_H
#define KVR_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"
#include "replay/cell.h"
#include "replay/selection.h"

/* What the gate of one use saw in the sample. */
struct kvr_gate_view {
    size_t use;
    double difference; /* D; NaN if no layer has two heads */
    double threshold;
    bool open; /* D >= threshold: evict */
    size_t layer_count;
    const struct kvr_layer **layers;          /* [layer_count] that have an agreement */
    double *agreements, *agreements_isolated; /* [layer_count] */
};

struct kvr_survey {
    const struct kvr_plan *plan;
    const struct kvr_cell_key *cells; /* the sample's cells, in order; not owned */
    size_t cell_count;
    size_t gate_count;
    struct kvr_gate_view *gates; /* one per gated use, in order */
    struct survey_use *uses;     /* private: [plan->use_count] */
};

/* True if the plan has a use that needs surveys. */
bool kvr_survey_needed(const struct kvr_plan *plan);

/* Surveys the cells of one sample on plan->threads threads. cells must outlive the survey. */
enum kvr_status kvr_survey_make(const struct kvr_plan *plan, struct kvr_trace *trace,
                                const struct kvr_cell_key *cells, size_t cell_count,
                                struct kvr_survey *survey, struct kvr_error *err);

void kvr_survey_free(struct kvr_survey *survey);

/* What was settled for a use in cell `cell` (an index into survey->cells) at page size `page`. */
struct kvr_allotment kvr_survey_allotment(const struct kvr_survey *survey, size_t cell, size_t use,
                                          size_t page);

#endif
