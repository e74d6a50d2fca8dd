/*
 * Private to the trace check: gathering what is wrong until it can be told in one line.
 *
 * A tally counts one fault over the rows of one dataset and remembers where it shows first; a list
 * of findings is what a layer's task hands back.
 */
#ifndef KVR_CHECK_FINDINGS_H
#define KVR_CHECK_FINDINGS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace_check.h"

/* Findings in order; place and message are owned. Zero-initialised is empty. */
struct kvr_findings {
    struct kvr_finding *items;
    size_t count, capacity;
};

void kvr_findings_free(struct kvr_findings *findings);

/* One fault in one dataset. */
struct kvr_tally {
    uint64_t rows;      /* rows that have it */
    uint64_t values;    /* values that have it */
    uint64_t head, row; /* the first row that has it */
    double worst;       /* the largest amount that was added, at worst_head and worst_row */
    uint64_t worst_head, worst_row;
    uint64_t heads;     /* of the dataset */
    uint64_t *per_head; /* [heads]: rows of each head that have it */
};

/* Release with kvr_tally_free, also after failure. */
enum kvr_status kvr_tally_init(struct kvr_tally *tally, uint64_t heads, struct kvr_error *err);
void kvr_tally_free(struct kvr_tally *tally);

void kvr_tally_add(struct kvr_tally *tally, uint64_t head, uint64_t row, uint64_t values,
                   double amount);

/* How the rows of a dataset are called when a tally is told. */
struct kvr_row_names {
    uint64_t rows;             /* rows of each head that were looked at; 0: a head is one row */
    const char *name;          /* "row", "token" */
    const uint64_t *positions; /* token position of each row of the dataset; NULL: the row */
};

/*
 * Adds a finding whose message starts with where the tally's rows lie: "head 2, row 5 (position
 * 1019): ", "heads 0-2: 7 of 18 rows, first head 0, row 3 (position 255): ", "all 9 heads, all 6
 * rows: ".
 */
enum kvr_status kvr_findings_tally(struct kvr_findings *findings, enum kvr_finding_kind kind,
                                   enum kvr_finding_level level, const char *place,
                                   const struct kvr_tally *tally, const struct kvr_row_names *names,
                                   struct kvr_error *err, const char *format, ...) KVR_PRINTF(8, 9);

/* Adds a finding that has no head or row. */
enum kvr_status kvr_findings_add(struct kvr_findings *findings, enum kvr_finding_kind kind,
                                 enum kvr_finding_level level, const char *place, uint64_t count,
                                 struct kvr_error *err, const char *format, ...) KVR_PRINTF(7, 8);

#endif
