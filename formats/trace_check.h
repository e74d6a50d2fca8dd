/*
 * Checking the values of a trace: what a recorder got wrong shows in the numbers.
 *
 * kvr_trace_open has already refused files of a wrong structure. This finds the faults that a
 * well-formed file can still have: rows that are not finite, a causal mask that was forgotten,
 * dropout left on, sums that drifted, a window or padding that is not declared. Findings go to a
 * callback, in the same order for any number of threads; nothing is printed here.
 */
#ifndef KVR_TRACE_CHECK_H
#define KVR_TRACE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace.h"

enum kvr_finding_level {
    KVR_NOTE,    /* worth knowing; the trace is as it should be */
    KVR_WARNING, /* usable, but probably not what was meant to be recorded */
    KVR_ERROR,   /* contradicts the format, or groups will be excluded */
};

enum kvr_finding_kind {
    /* of a sample; found once for all samples that share it */
    KVR_FOUND_NEEDLE,
    KVR_FOUND_TOKENS,
    KVR_FOUND_PADDING,
    KVR_FOUND_NO_ATTENTION,
    KVR_FOUND_NO_PREFILL,
    KVR_FOUND_LAST_ROW,
    KVR_FOUND_SHORT_WINDOW,
    KVR_FOUND_NO_DECODE,
    /* of a dataset */
    KVR_FOUND_UNREADABLE, /* its other faults are not known; the other datasets are checked */
    KVR_FOUND_NOT_FINITE,
    KVR_FOUND_NEGATIVE,
    KVR_FOUND_EMPTY,
    KVR_FOUND_ZERO_ROW,
    KVR_FOUND_ABOVE_DIAGONAL,
    KVR_FOUND_OUTSIDE_WINDOW,
    KVR_FOUND_PADDING_MASS,
    KVR_FOUND_SOFTMAX_TWICE,
    KVR_FOUND_DROPOUT,
    KVR_FOUND_SINK_LOGITS,
    KVR_FOUND_ROW_SUM,
    KVR_FOUND_UNDECLARED_PADDING,
    KVR_FOUND_UNDECLARED_WINDOW,
    KVR_FOUND_SHIFTED_ROWS,
    KVR_FOUND_DECODE_MASS,
    KVR_FOUND_COLUMN_BOUND,
    KVR_FOUND_TOTAL,
    KVR_FOUND_DRIFT,
    KVR_FOUND_RECOMPUTED,
    KVR_FINDING_KINDS,
};

/* "note", "warning", "error". */
const char *kvr_finding_level_name(enum kvr_finding_level level);

/* "not-finite", …; and what usually causes it and how to mend it. */
const char *kvr_finding_name(enum kvr_finding_kind kind);
const char *kvr_finding_hint(enum kvr_finding_kind kind);

/* The value of head, row and position where a finding has no such place. */
#define KVR_NOWHERE UINT64_MAX

/* All that is wrong in one way in one dataset: how much, and where it shows first. */
struct kvr_finding {
    enum kvr_finding_kind kind;
    enum kvr_finding_level level;
    const char *place;   /* "/samples/0/layers/3/attention" */
    const char *message; /* one line: "head 2, row 5 (position 1019): …" */
    uint64_t count;      /* rows (query rows, tokens, or heads of a score); samples of a sample's */
    uint64_t head, row;  /* the first: lowest head, then lowest row */
    uint64_t position;   /* the token position of that row */
};

struct kvr_check_options {
    unsigned threads;       /* at least 1 */
    const bool *samples;    /* [sample_count], NULL for all */
    const uint32_t *layers; /* numbers of the wanted layers, NULL for all */
    size_t layer_count;     /* of `layers` */
};

/* What was looked at. */
struct kvr_check_extent {
    uint64_t samples, layers, bytes; /* bytes fetched from the file */
};

/*
 * Checks the trace and hands every finding to `found`, one at a time: those of samples first, then
 * layer by layer in the order of the file. What `found` returns other than KVR_OK ends the check
 * with that status. extent may be NULL. Bytes that cannot be read are a finding; apart from `found`
 * only KVR_NO_MEMORY and KVR_INTERNAL end the check.
 */
enum kvr_status
kvr_trace_check(struct kvr_trace *trace, const struct kvr_check_options *options,
                enum kvr_status (*found)(void *context, const struct kvr_finding *finding,
                                         struct kvr_error *err),
                void *context, struct kvr_check_extent *extent, struct kvr_error *err);

#endif
