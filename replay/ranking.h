/*
 * What a policy ranks: the vectors of a group after reduce, smooth and page scores, and the sets of
 * their highest units.
 *
 * These steps a device may take over: kvr_backend_score and kvr_backend_keep (replay/backend.h) do
 * them where the plan computes, with the same result to the last bit.
 */
#ifndef KVR_RANKING_H
#define KVR_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "replay/cell.h"
#include "replay/protect.h"
#include "replay/reduce.h"
#include "replay/select.h"
#include "replay/smooth.h"

struct kvr_ranking {
    const struct kvr_scored *scored;
    const struct kvr_reduce *reduce; /* scope KVR_REDUCE_NOTHING: a vector a head */
    float *layer_vector;             /* [T] instead of pooling; NULL: none */
    struct kvr_smooth smooth;
    size_t smooth_length; /* leading candidates that are smoothed */
    const struct kvr_pages *pages;
    enum kvr_page_reduce page_reduce;

    /* Filled by kvr_ranking_score; memory is the cell's. */
    size_t vector_count; /* 1, or one a head */
    float *pooled;       /* [T] before smoothing; NULL where heads rank for themselves */
    float **unit_scores; /* [vector_count] of [units]; the vectors themselves where they serve */
    uint64_t resident;   /* names them on the device that made them; 0: on none */
};

/* Which sets of a ranking are wanted; `sets` and what follows is filled by kvr_ranking_keep. */
struct kvr_ranking_sets {
    const struct kvr_protect *protect;
    const uint64_t *quotas;         /* [count] */
    const uint64_t *protect_quotas; /* [count] that a protected fraction is a fraction of */
    size_t count;
    bool counted; /* how the sets overlap is worth counting where it costs little */

    uint64_t ***sets; /* [count][vector_count] of bitmaps of units */
    uint64_t *pairs;  /* [count][vector_count][vector_count] units that two sets share; NULL: not
                         counted, as is the next */
    uint64_t *unions; /* [count] units of the union */
};

/* Select orders without protected units, for curves; all memory is the caller's. */
struct kvr_orders {
    size_t vectors, units;
    float *const *scores; /* [vectors] of [units] */
    uint32_t **orders;    /* [vectors] of [units], one behind the other */
};

enum kvr_status kvr_ranking_score(const struct kvr_cell *cell, struct kvr_ranking *ranking,
                                  struct kvr_error *err);

/* Room of the cell for the sets; the sets of one vector lie one behind the other. */
enum kvr_status kvr_ranking_take_sets(const struct kvr_cell *cell,
                                      const struct kvr_ranking *ranking,
                                      struct kvr_ranking_sets *sets, struct kvr_error *err);

enum kvr_status kvr_ranking_keep(const struct kvr_cell *cell, const struct kvr_ranking *ranking,
                                 struct kvr_ranking_sets *sets, struct kvr_select_scratch *scratch,
                                 struct kvr_error *err);

/* Fills the orders: by falling score, ties by rising index. */
enum kvr_status kvr_ranking_order(const struct kvr_cell *cell, struct kvr_orders *orders,
                                  struct kvr_error *err);

#endif
