/*
 * What a replay's tables say of the theory: every bound on the union overhead ratio (UOR) against
 * what was measured, certificates of twofold overhead, prop. 1's identity and cor. 2's bound on
 * needles (arXiv 2610.03135; MEASURES §5, §7).
 *
 * Reads bounds.csv, premises.csv and excluded.csv of a folder, one row at a time. What follows from
 * other columns of a row is computed again, with formulas written here and not in
 * analysis/bounds.h: a table that contradicts itself is found out. Nothing is printed.
 */
#ifndef KVR_BOUNDS_REPORT_H
#define KVR_BOUNDS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/bound_kinds.h"
#include "formats/base/names.h"
#include "formats/base/status.h"

/* One bound over some cells. Gaps are distances on the right side: UOR - lower, upper - UOR. */
struct kvr_bound_tally {
    uint64_t violated; /* the UOR lies outside by more than 1e-9 */
    uint64_t tightest; /* no bound of its side is tighter; ties count for each */
    uint64_t exact;    /* the bound equals the UOR, to 1e-12 */
    double gap_sum, gap_worst;
};

/* The cells of one scorer and page size, or all cells. */
struct kvr_bounds_tally {
    size_t scorer; /* index into the report's names */
    uint64_t page_size;
    uint64_t cells; /* with two heads or more: others have no pairs and bounds of 1 */
    struct kvr_bound_tally bounds[KVR_BOUNDS];
};

/* Certificates of one scorer, page size and budget, over groups. */
struct kvr_certificates {
    size_t scorer, budget;
    uint64_t page_size;
    uint64_t groups;
    uint64_t twofold;                     /* UOR >= 2 */
    uint64_t certified[KVR_LOWER_BOUNDS]; /* by each lower bound */
};

/* Cor. 2 under one scorer, over needles and groups. */
struct kvr_needle_bound {
    size_t scorer;
    bool signed_scores; /* its vectors may be negative: the theorem does not speak of them */
    uint64_t rows, held;
    uint64_t binding;    /* the bound is above 0 */
    double least_margin; /* pooled mass - bound */
};

enum kvr_violation_kind {
    KVR_VIOLATES_BOUND,    /* the UOR lies outside a bound */
    KVR_VIOLATES_IDENTITY, /* r = 2 and the UOR is not 2/(2-D), to 1e-12 */
    KVR_VIOLATES_NEEDLE,   /* cor. 2 */
    KVR_VIOLATES_TABLE,    /* a stored value contradicts the others of its row */
    KVR_VIOLATION_KINDS,
};

/* One violation with its cell. */
struct kvr_violation {
    enum kvr_violation_kind kind;
    const char *column; /* that is in question */
    char *trace, *sample, *scorer;
    char *budget; /* NULL where a needle is spoken of */
    uint64_t layer, group;
    uint64_t page_size; /* where a budget is spoken of */
    uint64_t needle;
    double value;    /* as stored; for the identity as computed from J */
    double expected; /* what was measured, or follows from the other columns */
    uint64_t line;   /* of the table */
};

struct kvr_bounds_report {
    struct kvr_names traces, samples, scorers, budgets;
    uint64_t single;   /* cells with one vector */
    uint64_t excluded; /* rows of excluded.csv: (group, scorer) that are not finite */
    uint64_t least_ratio, most_ratio;
    struct kvr_bounds_tally all;
    size_t tally_count, tally_capacity;
    struct kvr_bounds_tally *tallies;
    size_t certificate_count, certificate_capacity;
    struct kvr_certificates *certificates;

    uint64_t pairs;     /* cells with r = 2 */
    double pairs_worst; /* largest |UOR - 2/(2-D)| */

    size_t needle_count, needle_capacity;
    struct kvr_needle_bound *needles;

    uint64_t violated[KVR_VIOLATION_KINDS];
    uint64_t beyond_theorem; /* cor. 2 fails where signed_scores: listed, but no violation */
    size_t listed, violation_capacity;
    struct kvr_violation *violations; /* [listed], in the order of the tables */
};

/*
 * Reads the tables of `folder`. At most `limit` violations are listed, all are counted. The report
 * is released with kvr_bounds_report_free in any case.
 */
enum kvr_status kvr_bounds_report_read(const char *folder, uint64_t limit,
                                       struct kvr_bounds_report *report, struct kvr_error *err);

void kvr_bounds_report_free(struct kvr_bounds_report *report);

/* All violations, listed or not. */
uint64_t kvr_bounds_report_violations(const struct kvr_bounds_report *report);

#endif
