/*
 * What kept sets hold: sums over them of the heads' vectors and of the decode rows.
 *
 * All selections of a score are summed in one pass over its vectors, so a replay makes them all
 * before it tells anyone of them.
 */
#ifndef KVR_KEPT_SUMS_H
#define KVR_KEPT_SUMS_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"
#include "replay/selection.h"

/* How the sums of one budget lie in selection->sums. */
struct kvr_kept_sums_row {
    size_t heads; /* sums of each head's vector come first; 0 where the score is not attention */
    bool future;  /* then, where it applies, of the future's mass and peak */
    size_t width; /* of the row */
};

struct kvr_kept_sums_row kvr_kept_sums_row(const struct kvr_cell *cell,
                                           const struct kvr_scored *scored);

/* Gives each of `count` selections of the same score its sums, with memory of the cell. */
enum kvr_status kvr_kept_sums_make(const struct kvr_cell *cell, struct kvr_selection *selections,
                                   size_t count, struct kvr_error *err);

#endif
