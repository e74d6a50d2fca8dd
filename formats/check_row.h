/*
 * Private to the trace check: what one attention row looks like, in numbers.
 *
 * A row is cut at padding, the sliding window and the diagonal; each part is measured for itself.
 * No file, no trace and no wording here.
 */
#ifndef KVR_CHECK_ROW_H
#define KVR_CHECK_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/element.h"

/* Which positions a row may see. */
struct kvr_row_sight {
    uint64_t tokens;   /* N */
    uint64_t pad;      /* left padding */
    uint64_t position; /* of the query, >= pad */
    uint64_t window;   /* positions that it sees, itself included; 0: all */
};

struct kvr_row_part {
    double mass;  /* sum of the finite values */
    double least; /* the least of them, at most 0 */
    uint64_t zeros, negative, not_finite;
};

struct kvr_row_facts {
    struct kvr_row_part padding; /* [0, pad) */
    struct kvr_row_part before;  /* [pad, start): left of the sliding window */
    struct kvr_row_part visible; /* [start, position] */
    struct kvr_row_part beyond;  /* (position, N) */
    uint64_t start;
    uint64_t first, last; /* positions >= pad that hold the first and last value other than 0 */
    bool empty;           /* there are none; then first and last mean nothing */
    enum kvr_element precision; /* the coarsest of the type's roundings that explains the values */
};

/* type: as the row is stored. Every part is empty where it has no position. */
void kvr_row_measure(const double *row, const struct kvr_row_sight *sight, enum kvr_element type,
                     struct kvr_row_facts *facts);

/* Sum over all parts. */
double kvr_row_sum(const struct kvr_row_facts *facts);

/*
 * How far rounding alone can carry the sum of a softmax row of n values from 1: half a unit in the
 * last place of each value, and of the smallest subnormal where values lie below the normal range.
 */
double kvr_row_sum_tolerance(enum kvr_element precision, uint64_t n);

enum kvr_row_flatness {
    KVR_ROW_UNTESTED, /* fewer than three values */
    KVR_ROW_PEAKED,   /* cannot be the softmax of probabilities */
    KVR_ROW_UNIFORM,  /* all values equal up to rounding: could be anything */
    KVR_ROW_TWICE,    /* the softmax of probabilities */
};

/*
 * Whether s = values[0 … n-1] is the softmax of a probability vector a. Then ln s = a + const, so
 * that with the smallest s as reference sum_i ln(s_i / s_min) = sum_i (a_i - a_min) <= sum a = 1.
 * A real row of n values has a sum in the order of n. The values must be finite.
 */
enum kvr_row_flatness kvr_row_flatness(const double *values, uint64_t n,
                                       enum kvr_element precision);

#endif
