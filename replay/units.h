/*
 * Units: the pieces that a replay is cut into, so that several processes share it or one goes on
 * where another was interrupted.
 *
 * A unit is a sample, or some layers of a sample where samples are few and no policy looks beyond a
 * group. Units stand in the order of the tables' rows: the rows of a replay are those of its units,
 * one after the other. How a replay is cut depends on the plan, the traces and the number of takers
 * alone, so that all takers agree without a word.
 */
#ifndef KVR_UNITS_H
#define KVR_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace.h"
#include "replay/plan.h"

struct kvr_unit {
    size_t trace, sample;          /* indices */
    size_t layer_begin, layer_end; /* indices into the sample's layers; half-open */
    uint64_t bytes;                /* recorded values of the wanted layers, uncompressed */
    size_t owner;                  /* the taker, from 0 on */
};

struct kvr_units {
    size_t count;
    struct kvr_unit *all; /* in order */
};

/*
 * Cuts the replay and deals the units to `takers` (at least 1): the largest first, each to the one
 * that has the fewest bytes; ties go to the earlier unit and the lower taker. A taker may end up
 * with none. Release with kvr_units_free, in any case.
 */
enum kvr_status kvr_units_make(const struct kvr_plan *plan, struct kvr_trace *const *traces,
                               size_t trace_count, size_t takers, struct kvr_units *units,
                               struct kvr_error *err);

/* The index of the unit that holds a layer, by indices; units->count if none does. */
size_t kvr_units_find(const struct kvr_units *units, size_t trace, size_t sample, size_t layer);

void kvr_units_free(struct kvr_units *units);

#endif
