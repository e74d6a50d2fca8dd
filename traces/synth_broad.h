/*
 * The broad part of rows: a heavy-tailed random field over the positions.
 *
 * A weight is the product of a factor shared by the group, one of the head and one of the row, each
 * log-logistic with mean 1. So heads of a group agree in part, rows of a head agree in part, and
 * every number comes from (key, position) alone: any piece of a row can be made at any time.
 */
#ifndef KVR_SYNTH_BROAD_H
#define KVR_SYNTH_BROAD_H

#include "traces/synth_heads.h"

/* Positions are made in tiles; a tile starts at a multiple of this. */
enum { KVR_SYNTH_TILE = 4096 };

struct kvr_synth_broad;

/* Tables of the factors, for one trace. Released with free(). */
struct kvr_synth_broad *kvr_synth_broad_new(const struct kvr_synth_options *options,
                                            struct kvr_error *err);

/* The lasting weights (group's and head's factor) of positions [start, end) within one tile. */
void kvr_synth_lasting(const struct kvr_synth_broad *broad, const struct kvr_synth_plan *plan,
                       uint32_t head, uint64_t start, uint64_t end, double *weights);

/* The group's factor alone, for KV head `group`. */
void kvr_synth_shared(const struct kvr_synth_broad *broad, const struct kvr_synth_plan *plan,
                      uint32_t group, uint64_t start, uint64_t end, double *weights);

/* The sum of a row's weights over [start, end) within one tile, given its lasting weights. */
double kvr_synth_broad_sum(const struct kvr_synth_broad *broad, const struct kvr_synth_plan *plan,
                           uint32_t head, uint64_t position, uint64_t start, uint64_t end,
                           const double *lasting);

/*
 * values = weight * scale for the same piece. Where the element type is half, what lies below its
 * smallest normal number is rounded to its grid at random, so that a long row of tiny values keeps
 * its sum.
 */
void kvr_synth_broad_fill(const struct kvr_synth_broad *broad, const struct kvr_synth_plan *plan,
                          uint32_t head, uint64_t position, uint64_t start, uint64_t end,
                          const double *lasting, double scale, double *values);

#endif
