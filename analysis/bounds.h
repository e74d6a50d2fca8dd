/*
 * Bounds on the union overhead ratio from pairwise overlaps (MEASURES §5): five of the paper
 * (arXiv 2610.03135) and three classical ones that are tighter.
 *
 * With r = 1 every bound is 1.
 */
#ifndef KVR_BOUNDS_H
#define KVR_BOUNDS_H

#include <stddef.h>

#include "analysis/overlap.h"

struct kvr_bounds {
    double bonferroni_lower;     /* max(1, r - r(r-1) J), cor. 1 */
    double sandwich_lower;       /* r / (1 + 2(r-1) J/(1+J)), thm. 1 */
    double sandwich_upper;       /* min(r, r - 2 J_max/(1+J_max)), thm. 1 */
    double cauchy_lower;         /* r^2 / (r + (2/k) sum I_ij), thm. 1, step 3 */
    double decaen_lower;         /* sum_i k / (k + sum_j I_ij), de Caen 1997 */
    double dawson_sankoff_lower; /* Dawson & Sankoff 1967 */
    double hunter_upper;         /* (rk - maximum spanning tree of I) / k, Hunter 1976 */
};

struct kvr_bounds kvr_bounds_of(const struct kvr_overlap *overlap);

/* How many of the bounds `uor` lies outside of by more than 1e-9. */
unsigned kvr_bounds_violations(const struct kvr_bounds *bounds, double uor);

/* Prop. 1, for r = 2: UOR = 2 / (2 - D), with D = 1 - J. */
double kvr_bounds_identity(double disagreement);

#endif
