/*
 * Attention rows of one group, computed from its recorded queries and keys.
 *
 * Row p of query head h is softmax over the tokens t that it sees of cap(scale q_h,p . k_g,t), with
 * cap(x) = softcap tanh(x / softcap), or x without softcap; it sees pad … p, in a window layer from
 * p - W + 1 on. Weights elsewhere are 0. A row with NaN or +infinity among its
 * logits, or nothing but -infinity, is NaN at all that it sees.
 *
 * How: the group's keys are held in float, packed for the loops. Rows go by in strips; a strip's
 * columns are made block by block, each weighed by its own greatest logit while it is in the cache,
 * and brought to one scale at the end. So the memory is T (D + a strip's rows) floats, never T x T,
 * and each dot product and each exponential is made once.
 *
 * What holds of the numbers. Products and logits are in float, a row's sum in double, a weight is
 * rounded to float; sums over rows add these floats in double in ascending order of the rows. With
 * s = the greatest sum_d |scale q_d k_d| of a row, a weight w differs from the exact one by less
 * than w 2^-24 (4 (D + 8) s + 48 + 16 softcap) + e^-87, where that is small, and w 2^-22 s more
 * where elements are doubles, which are rounded to float. Weights below e^-87 of a row's greatest
 * are 0. The bits are the same for any number of threads, any choice of rows, scorers or layers,
 * and for all variants of the loops, so on all machines.
 */
#ifndef KVR_ATTENTION_H
#define KVR_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/room.h"
#include "formats/base/status.h"
#include "formats/trace.h"

/* The keys of a group, and room for a strip of rows. Memory is the room's; one thread at a time. */
struct kvr_attention {
    struct kvr_trace *trace;
    const struct kvr_sample *sample;
    const struct kvr_layer *layer;
    size_t width;        /* D */
    uint64_t first, end; /* keys held are those of positions first … end - 1 */
    float *keys;         /* packed, a tile of keys after the other */
    struct kvr_attention_queries *queries;
    struct kvr_attention_strip *strip;
};

/*
 * Loads the keys that query rows `row` and later ones see (of `group`, a KV head). Needs query and
 * key in the layer, no sink logits. Errors are those of reading.
 */
enum kvr_status kvr_attention_open(struct kvr_trace *trace, const struct kvr_sample *sample,
                                   const struct kvr_layer *layer, uint32_t group, size_t row,
                                   struct kvr_room *room, struct kvr_attention *attention,
                                   struct kvr_error *err);

/*
 * Rows row … row + rows - 1 (of the recorded query rows) of query head `head` (of the layer, in
 * this group) at positions token … token + tokens - 1, as weights [rows][tokens].
 */
enum kvr_status kvr_attention_rows(const struct kvr_attention *attention, uint64_t head, size_t row,
                                   size_t rows, uint64_t token, size_t tokens, float *weights,
                                   struct kvr_error *err);

/* Adds the same rows to sums [tokens], each column in ascending order of the rows. */
enum kvr_status kvr_attention_add(const struct kvr_attention *attention, uint64_t head, size_t row,
                                  size_t rows, uint64_t token, size_t tokens, double *sums,
                                  struct kvr_error *err);

#endif
