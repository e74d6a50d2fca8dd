/*
 * Checking a small trace and naming what must be found in it, one finding after the other.
 */
#ifndef KVR_CHECK_EXPECT_H
#define KVR_CHECK_EXPECT_H

#include <check.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/trace_check.h"
#include "tests/small_trace.h"

enum { CHECK_TOKENS = 48, CHECK_PROMPT = 44, MOST_SEEN = 64 };

#define ATTENTION "/samples/0/layers/0/attention"
#define ACCUMULATED "/samples/0/layers/0/accumulated"
#define NOWHERE KVR_NOWHERE

struct seen_findings {
    size_t count;
    struct kvr_finding items[MOST_SEEN];
    char places[MOST_SEEN][128], messages[MOST_SEEN][512];
};

/* The trace of the test: sound at its start, CHECK_TOKENS long. */
extern struct small_trace small;

/* How it was computed. */
extern const struct small_truth small_plain;

/* What the last check found. */
extern struct seen_findings seen;

/* A test case of `suite` whose tests start with a sound trace and a scratch folder. */
TCase *check_case(Suite *suite, const char *name);

/* Writes the trace and checks it with one thread and with three: both must find the same. */
void check_small(void);

/* Checks a file; extent may be NULL. */
void check_small_file(const char *path, const struct kvr_check_options *options,
                      struct kvr_check_extent *extent);

/* The next finding; head and row NOWHERE: it has none. Its message must contain `words`. */
void expect_finding(enum kvr_finding_kind kind, enum kvr_finding_level level, const char *place,
                    uint64_t count, uint64_t head, uint64_t row, const char *words);
void expect_no_more_findings(void);

/* The notes of a prompt that is shorter than the window and has no decode rows. */
void expect_short_prompt_notes(void);

/* Leaves out query, key and value. */
void small_without_vectors(void);

/* Starts again with a prompt of `tokens` tokens and its rows alone. */
void small_rows_only(uint64_t tokens);

#endif
