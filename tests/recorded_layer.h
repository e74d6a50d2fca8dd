/*
 * One layer of one sample with every value at hand: what a test of the replay records, writes as a
 * trace and loads cells of.
 *
 * recorded_start and recorded_end are the checked fixture. Set the shape first, then values, then
 * write; may be written again after a change.
 */
#ifndef KVR_RECORDED_LAYER_H
#define KVR_RECORDED_LAYER_H

#include "replay/cell.h"
#include "tests/made_trace.h"

enum { REC_HEADS = 6, REC_ROWS = 12, REC_TOKENS = 90, REC_WIDTH = 5 };

struct recorded_layer {
    struct kvr_sample sample;
    struct kvr_layer layer;
    uint64_t positions[REC_ROWS];
    size_t width;                      /* of keys and values; 0: there are none */
    bool attention, accumulated, gate; /* which of the others are written */
    double rows[REC_HEADS][REC_ROWS][REC_TOKENS];
    double sums[REC_HEADS][REC_TOKENS];
    double gates[REC_HEADS][REC_TOKENS]; /* [H_KV] as the next two: scores/gate */
    double keys[REC_HEADS][REC_TOKENS][REC_WIDTH];
    double values[REC_HEADS][REC_TOKENS][REC_WIDTH];
};

extern struct recorded_layer recorded;

/* What is loaded of it. */
extern struct kvr_plan recorded_plan;
extern struct kvr_room recorded_room;
extern struct kvr_trace *recorded_trace; /* NULL before the first writing */
extern struct kvr_cell recorded_cell;

void recorded_start(void);
void recorded_end(void);

/* Adds a score to the plan: one that --scorer takes, or one of policies only. */
void recorded_score(const char *text);
void recorded_policy_score(const char *text);

/* The last `rows` positions are recorded; all of attention, accumulated and gate are written. */
void recorded_shape(uint32_t heads, uint32_t kv_heads, uint64_t tokens, uint64_t prompt,
                    size_t rows);

/* Writes and opens the trace. Rows are stored as `kind`, the rest as float or double. */
void recorded_write(enum kvr_element kind);

/* Loads the cell of a group, all scores of the plan. */
void recorded_load(uint32_t group);

#endif
