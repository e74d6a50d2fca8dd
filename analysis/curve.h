/*
 * Overlap of the heads' kept sets at every quota, from one ranking a head (MEASURES §4).
 *
 * Kept sets are nested: quota k adds to each head's set the unit that it ranks k-th. A unit enters
 * the union at min_h rank_h, and heads i and j share it from max(rank_i, rank_j) on. So counters
 * that run along with k hold the union and every intersection; nothing is kept per quota.
 */
#ifndef KVR_CURVE_H
#define KVR_CURVE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/overlap.h"
#include "formats/base/room.h"
#include "formats/base/status.h"

struct kvr_curve {
    size_t heads, units;
    const uint32_t *const *orders; /* [heads] of [units]: units by falling score */
    uint64_t quota;                /* k: what the counters speak of */
    uint64_t unions;
    size_t bytes;           /* of a unit's holders */
    unsigned char *holders; /* [units][bytes] bit h: head h keeps the unit */
    uint64_t *later;        /* [heads][8 bytes] units that head i took when head j kept them */
    uint64_t *pairs;        /* [heads][heads] I_ij, of the quota that was looked at last */
};

/* The curve before its first quota, with memory of `room`. */
enum kvr_status kvr_curve_start(const uint32_t *const *orders, size_t heads, size_t units,
                                struct kvr_room *room, struct kvr_curve *curve,
                                struct kvr_error *err);

/* Moves on to quota k + 1 <= units. */
void kvr_curve_step(struct kvr_curve *curve);

/* The overlap at the quota reached, at least 1; it points into the curve until the next step. */
struct kvr_overlap kvr_curve_overlap(struct kvr_curve *curve);

/* The next quota after k of a curve with evenly spaced logarithms, about 16 an e-fold; exact in
   integers. */
uint64_t kvr_curve_next(uint64_t quota);

#endif
