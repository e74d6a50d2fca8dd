/*
 * A layer of random queries and keys, written as a trace, and its rows as the definition gives them
 * in double: what tests of recomputed rows compare with.
 *
 * Fill in the shape, draw, write; may be drawn and written again. qk_start and qk_end are the
 * checked fixture.
 */
#ifndef KVR_QK_LAYER_H
#define KVR_QK_LAYER_H

#include "formats/base/random.h"
#include "tests/made_trace.h"

enum { QK_HEADS = 16, QK_TOKENS = 260, QK_WIDTH = 80 };

struct qk_layer {
    struct kvr_sample sample;
    struct kvr_layer layer;
    uint64_t positions[QK_TOKENS];
    size_t width;
    enum kvr_element kind;
    /* Which datasets are written; rows and sums are those of the definition, with the layer's scale
       or, if this is not 0, another one. */
    bool attention, accumulated, value;
    double recorded_scale;
    double query[QK_HEADS][QK_TOKENS][QK_WIDTH]; /* [head][row] */
    double key[QK_HEADS][QK_TOKENS][QK_WIDTH];   /* [KV head][token] */
    double values[QK_HEADS][QK_TOKENS][QK_WIDTH];
};

extern struct qk_layer qk;
extern struct kvr_trace *qk_trace;

void qk_start(void);
void qk_end(void);

/* Full attention without padding, every position recorded, written as `kind` with query and key. */
void qk_shape(uint32_t heads, uint32_t kv_heads, uint64_t tokens, uint64_t prompt, size_t width,
              enum kvr_element kind);

/* Keeps each position with this chance, the last in any case. */
void qk_thin_rows(struct kvr_random *random, double chance);

/* Vectors whose logits have about this deviation, rounded to the kind. */
void qk_draw(struct kvr_random *random, double deviation);

void qk_write(void);

/* Row q of a head: row[N]. Returns the greatest sum_d |scale q_d k_d| of what it sees. */
double qk_row(size_t head, size_t q, double *row);

#endif
