/*
 * The dropped mass of a group along the quota: m(k) = 1 - the kept share of the pooled vector when
 * the policy keeps its first k tokens. An allocation trades these curves against each other.
 *
 * One ranking answers every quota: a step to k + 1 adds one token, protected or next in rank.
 */
#ifndef KVR_DROPPED_H
#define KVR_DROPPED_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/room.h"
#include "formats/base/status.h"
#include "replay/protect.h"
#include "replay/select.h"

struct kvr_dropped {
    const struct kvr_protect *protect;
    const struct kvr_pages *pages; /* of single tokens */
    const float *vector;           /* [T] whose mass is dropped */
    uint32_t *order;               /* [T] by falling score, unprotected */
    uint64_t *kept;                /* bitmap */
    uint64_t quota;                /* k */
    size_t protected, ranked;      /* of the kept ones; how far in `order` */
    double all, held;              /* masses */
};

/* Starts at quota 0. `scores` [T] are what the policy ranks by. Memory is the room's. */
enum kvr_status kvr_dropped_start(const struct kvr_protect *protect, const struct kvr_pages *pages,
                                  const float *scores, const float *vector, struct kvr_room *room,
                                  struct kvr_select_scratch *scratch, struct kvr_dropped *dropped,
                                  struct kvr_error *err);

/* To the next quota, at most T. */
void kvr_dropped_step(struct kvr_dropped *dropped);

/* m at the quota; NaN if the vector has no mass. */
double kvr_dropped_mass(const struct kvr_dropped *dropped);

#endif
