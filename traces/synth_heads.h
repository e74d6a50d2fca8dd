/*
 * The kinds of heads: how a row's mass is shared out, and the parts that lie on few tokens.
 *
 * The broad part, which lies on all visible tokens, is in synth_broad.h.
 */
#ifndef KVR_SYNTH_HEADS_H
#define KVR_SYNTH_HEADS_H

#include "traces/synth_plan.h"

/* Which rows of a head are NaN in the file. */
enum kvr_synth_damage {
    KVR_DAMAGE_NONE,
    KVR_DAMAGE_EARLY, /* one prefill row that is not the last: only windows read it */
    KVR_DAMAGE_LAST,  /* the last prefill row */
    KVR_DAMAGE_ALL,   /* every row, and the column sums */
};

struct kvr_synth_head {
    enum kvr_head_kind kind;
    double sink, local, needle; /* mass of the parts; the rest is broad */
    double width;               /* of the local part: its e-folding distance in tokens */
    double leak;                /* mass that a sink logit takes out of the row */
    enum kvr_synth_damage damage;
};

/* The head of the plan's layer. */
struct kvr_synth_head kvr_synth_head(const struct kvr_synth_plan *plan, uint32_t head);

/* Mass of each part of one row; a part that the row cannot see has none, broad takes it over. */
struct kvr_synth_masses {
    double sink, local, needle, broad;
};

struct kvr_synth_masses kvr_synth_row_masses(const struct kvr_synth_plan *plan,
                                             const struct kvr_synth_head *head, uint64_t position);

/* Adds the parts on few tokens of the row at `position` to values[0 … end - start). */
void kvr_synth_add_parts(const struct kvr_synth_plan *plan, const struct kvr_synth_head *head,
                         uint64_t position, uint64_t start, uint64_t end, double *values);

/* As kvr_synth_add_parts for all columns, without the local part. */
void kvr_synth_add_points(const struct kvr_synth_plan *plan, const struct kvr_synth_head *head,
                          uint64_t position, double *values);

/* What a column gets from the local parts of the `rows` rows that begin at its own position. */
double kvr_synth_expected_local(const struct kvr_synth_plan *plan,
                                const struct kvr_synth_head *head, uint64_t rows);

/* Whether query row `row` of this head is NaN. */
bool kvr_synth_row_damaged(const struct kvr_synth_plan *plan, const struct kvr_synth_head *head,
                           size_t row);

#endif
