/*
 * A cell: one group of one layer of one sample, with the score vectors of its query heads.
 *
 * Loading streams the recorded rows of the group once and feeds every scorer of the plan and the
 * sums over decode rows; a block of rows is held at a time, so a trace may be larger than memory.
 */
#ifndef KVR_CELL_H
#define KVR_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/room.h"
#include "formats/base/status.h"
#include "formats/trace.h"
#include "replay/candidates.h"
#include "replay/plan.h"

struct kvr_lane;

/* The score vectors of a group under one scorer. */
struct kvr_scored {
    const struct kvr_score *score;
    size_t heads;      /* r, or 1 where the score is recorded per KV head */
    float *vectors;    /* [heads][T] */
    double *totals;    /* [heads] sum of each vector */
    bool exact;        /* double sums of values of a vector are exact, whatever their order */
    size_t not_finite; /* heads whose vector is not finite: the group is excluded if any */
    uint64_t replaced; /* values of the vectors that --nan zero replaced by 0 */
    /* Of finite vectors of a weighted score: sink-isolated entropy and weight in the group,
     * [heads]. */
    double *entropies;
    double *weights;
    double *raw_entropies; /* with the sinks; NULL where nobody has computed them */
};

/* Sums over the group's heads and all decode rows, per candidate (MEASURES §9). */
struct kvr_future {
    size_t row_count; /* decode rows; 0: nothing below applies */
    bool finite;      /* every decode row is finite at every candidate */
    bool exact;       /* double sums over candidates are exact, whatever their order */
    double *mass;     /* [T] sum of a; NULL without decode rows */
    double *peak;     /* [T] sum of a^2 */
    /* Sums of both over the candidates; NaN without decode rows, where one is not finite, or where
       the sum is 0: then no future measure applies. */
    double mass_total, peak_total;
};

/* Which cell: enough to name its rows in a table. */
struct kvr_cell_key {
    const struct kvr_trace *trace;
    const struct kvr_sample *sample;
    const struct kvr_layer *layer;
    uint32_t group; /* KV head */
    uint32_t ratio; /* r = H_Q / H_KV; its query heads are group * r … group * r + r - 1 */
};

struct kvr_cell {
    struct kvr_cell_key key;
    const struct kvr_plan *plan;
    struct kvr_trace *trace; /* for observers that read further datasets */
    struct kvr_candidates candidates;
    struct kvr_pages *pages;   /* [plan->page_size_count] */
    size_t needle_count;       /* of the sample */
    struct kvr_range *needles; /* [needle_count] as candidate indices; start = end: not held */
    size_t scored_count;       /* scores that this layer can give, in the plan's order */
    struct kvr_scored *scored;
    struct kvr_future future;
    struct kvr_attention *attention; /* rows from query and key; NULL where rows are recorded, or
                                        cannot be had */
    double *column_sums;             /* [r][T] of query and key, where a score needs them and they
                                        are not recorded; else NULL */
    struct kvr_lane *lane;           /* on the device that computes; NULL: the CPU does all */
    struct kvr_room *room;           /* of this thread; memory taken lives as long as the cell */
};

/*
 * Loads the cell `key` into *cell with memory of `room`, those scores i of the plan for which
 * wanted[i] (NULL: all). Errors are those of reading, or
 * KVR_BAD_INPUT with the place if a vector is not finite and the plan says `fail`. A loaded cell is
 * given back with kvr_cell_unload.
 */
enum kvr_status kvr_cell_load(const struct kvr_plan *plan, const bool *wanted,
                              struct kvr_trace *trace, const struct kvr_cell_key *key,
                              struct kvr_room *room, struct kvr_cell *cell, struct kvr_error *err);

/* Gives back what the cell holds of a device; its other memory is the room's. */
void kvr_cell_unload(struct kvr_cell *cell);

/* True if the sample has needles and this one lies among the layer's candidates. */
static inline bool kvr_cell_holds_needle(const struct kvr_cell *cell, size_t needle)
{
    return cell->needles[needle].start < cell->needles[needle].end;
}

#endif
