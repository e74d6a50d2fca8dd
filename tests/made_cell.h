/*
 * A cell made by hand for tests: score vectors in memory, no trace.
 *
 * The sample's prompt has `count` tokens and no padding; everything may be changed before
 * made_cell_finish, which computes what follows from the vectors as the loader does.
 */
#ifndef KVR_MADE_CELL_H
#define KVR_MADE_CELL_H

#include "replay/cell.h"

enum { MADE_NEEDLES = 8 };

struct made_cell {
    struct kvr_plan plan;
    struct kvr_sample sample;
    struct kvr_layer layer;
    struct kvr_span needles[MADE_NEEDLES]; /* sample.needle_count of them */
    struct kvr_room room;
    struct kvr_cell cell;
    struct kvr_scored scored;
};

/* Zeroed vectors [heads][count] under an attention score, the first `sinks` of them sinks. */
void made_cell_start(struct made_cell *made, size_t heads, size_t count, size_t sinks);

/* The vector of a head. */
float *made_cell_head(struct made_cell *made, size_t head);

/* Totals, entropies and weights by the options of the plan. */
void made_cell_finish(struct made_cell *made);

void made_cell_free(struct made_cell *made);

#endif
