/*
 * A small trace whose members agree with each other, to be damaged in one place by a test.
 *
 * 4 query heads, 2 KV heads of size 8; rows are computed from random queries and keys, column sums
 * from the rows. What is true of the rows and what the file declares are set apart, because most
 * faults are a difference between the two.
 */
#ifndef KVR_SMALL_TRACE_H
#define KVR_SMALL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/trace_writer.h"

enum { SMALL_HEADS = 4, SMALL_KV_HEADS = 2, SMALL_DIM = 8, SMALL_TOKENS = 64 };

/* How the rows came about. */
struct small_truth {
    uint64_t pad, window; /* masked for all rows; 0: not */
    double scale;
    bool tiled; /* query head h with KV head h mod 2 */
};

struct small_trace {
    /* What the file declares. */
    size_t samples, layers; /* equal copies, named 0, 1, … */
    uint64_t tokens, prompt, pad, window;
    bool sink_logits;
    double scale; /* NaN: not written */
    struct kvr_storage storage;
    size_t rows;
    uint64_t positions[SMALL_TOKENS];
    size_t needle_count;
    struct kvr_span needles[4];
    bool with_ids;

    /* Which datasets it gets. */
    bool attention, accumulated, query, key, value, gate;

    double row[SMALL_HEADS][SMALL_TOKENS][SMALL_TOKENS]; /* [head][row][token] */
    double sums[SMALL_HEADS][SMALL_TOKENS];
    double queries[SMALL_HEADS][SMALL_TOKENS][SMALL_DIM]; /* [head][row][…] */
    double keys[SMALL_KV_HEADS][SMALL_TOKENS][SMALL_DIM];
    double values[SMALL_KV_HEADS][SMALL_TOKENS][SMALL_DIM];
    double gates[SMALL_HEADS][SMALL_TOKENS];
    int32_t ids[SMALL_TOKENS];
};

/* Every position recorded, every dataset written, in double; rows and sums are computed. */
void small_begin(struct small_trace *trace, uint64_t tokens, uint64_t prompt);

/* Keeps the rows of the positions from `first` on. Call before small_compute. */
void small_keep_rows_from(struct small_trace *trace, uint64_t first);

/* Rows from queries and keys; sums from the rows at positions pad … prompt-1. */
void small_compute(struct small_trace *trace, const struct small_truth *truth);

/* Sums again, after rows were changed. */
void small_sum(struct small_trace *trace, uint64_t pad);

/* Writes the file; a failure fails the test. */
void small_write(const struct small_trace *trace, const char *path);

#endif
