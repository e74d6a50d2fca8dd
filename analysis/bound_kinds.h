/*
 * The bounds as a list: what each is called, where it comes from, and when it certifies.
 *
 * analysis/bounds.h computes them; tables, reports and figures go through this list.
 */
#ifndef KVR_BOUND_KINDS_H
#define KVR_BOUND_KINDS_H

#include <stdbool.h>
#include <stddef.h>

/* Lower bounds first; both in the order of the table's columns. */
enum kvr_bound {
    KVR_BONFERRONI_LOWER,
    KVR_SANDWICH_LOWER,
    KVR_CAUCHY_LOWER,
    KVR_DECAEN_LOWER,
    KVR_DAWSON_SANKOFF_LOWER,
    KVR_LOWER_BOUNDS,
    KVR_SANDWICH_UPPER = KVR_LOWER_BOUNDS,
    KVR_HUNTER_UPPER,
    KVR_BOUNDS,
};

struct kvr_bound_kind {
    const char *column; /* in bounds.csv */
    const char *name;   /* for people: "Dawson-Sankoff" */
    const char *source; /* "cor. 1", of the paper unless it has a year */
    bool lower;
};

extern const struct kvr_bound_kind kvr_bound_kinds[KVR_BOUNDS];

/*
 * True if a lower bound of this value certifies twofold overhead: it is at least 2. Rounding may
 * leave a value of exactly 2 a little below; up to 1e-9 that changes nothing, because the UOR is
 * a whole number over the quota: above 2 - 1e-9 it is at least 2 for any quota below 10^9.
 */
bool kvr_bound_certifies(double lower);

/* The largest mean Jaccard agreement J at which cert_1 and cert_T certify a group of r heads:
   (r-2)/(r(r-1)) and (r-2)/(3r-2); r >= 2. */
double kvr_certificate_bonferroni(double r);
double kvr_certificate_sandwich(double r);

#endif
