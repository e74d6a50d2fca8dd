/*
 * The premises of theorem 4 and the finite-context bound of corollary 2 (arXiv 2610.03135;
 * MEASURES §7): a needle that one low-entropy head owns survives entropy pooling.
 */
#ifndef KVR_PREMISES_H
#define KVR_PREMISES_H

#include <stdbool.h>
#include <stddef.h>

#include "replay/cell.h"

/*
 * Cor. 2: P(t*) >= (1-eps) - Delta, Delta = (1-eps) D / (C + D), with C = exp(-eta/tau) and
 * D = sum_j exp(c_j/tau) (T-S)^(-1/tau). Computed in logarithms, so that no term under- or
 * overflows. `slacks` [siblings] are the c_j >= 0; `others` is T-S, the non-sink candidates.
 * Returns Delta.
 */
double kvr_premises_delta(double owner_mass, double owner_entropy, const double *slacks,
                          size_t siblings, size_t others, double tau);

struct kvr_premises {
    size_t owner;         /* head within the group whose value in the needle is the largest */
    size_t peak;          /* candidate index of that value */
    double owner_mass;    /* the value: 1 - eps */
    double owner_entropy; /* eta, sink-isolated */
    double largest_slack; /* max over siblings of max(0, ln(T-S) - H_j); NaN if r = 1 */
    double pooled_mass;   /* the entropy-pooled value at the peak, not rounded */
    double bound;         /* owner_mass - Delta */
    bool holds;           /* pooled_mass >= bound - 1e-9 */
};

/* Of one needle that the cell holds whole. `slacks` is room for [scored->heads]. */
struct kvr_premises kvr_premises_of(const struct kvr_cell *cell, const struct kvr_scored *scored,
                                    struct kvr_range needle, double *slacks);

#endif
