/*
 * The tables that figures are drawn from, and which of their rows are shown.
 *
 * A replay may hold several traces, scorers, budgets and page sizes; a figure shows one of each
 * unless that is what it compares. What was not asked for is chosen from what there is.
 */
#ifndef KVR_SOURCE_H
#define KVR_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "plots/figures.h"
#include "plots/labels.h"

/* Rows that are shown of a policy are those under one scorer: the shown one if the policy ranks by
   whatever was asked for, else its own. */
struct kvr_source {
    const char *folder;
    struct kvr_labels traces, scorers, policies, budgets, page_sizes; /* that the tables hold */
    struct kvr_labels policy_scorers; /* "policy\nscorer", each pair that the tables hold */
    const char *trace;                /* NULL: all of them */
    /* NULL where the folder has no table of a replay, or one without rows. */
    const char *scorer, *budget, *page_size;
    bool run_known; /* run.json is there, and the next ones come from it */
    uint64_t sinks;
    char alpha[16]; /* order of the Renyi entropy, as run.json writes it */
    bool match_physical;
    uint64_t excluded;        /* groups that the shown scorer leaves out, of the shown traces */
    uint64_t excluded_at_all; /* the same of every scorer */
};

/* Reads names and options; release in any case. KVR_BAD_ARGUMENT names what the tables lack. */
enum kvr_status kvr_source_open(const struct kvr_plot_options *options, struct kvr_source *source,
                                struct kvr_error *err);
void kvr_source_free(struct kvr_source *source);

/* True if the folder holds a file of this name. */
bool kvr_source_has(const struct kvr_source *source, const char *table);

/* True if rows of this trace are shown. */
bool kvr_source_shows_trace(const struct kvr_source *source, const char *trace);

/* True if rows of this policy under this scorer are shown. */
bool kvr_source_shows_policy(const struct kvr_source *source, const char *policy,
                             const char *scorer);

/* The page size for figures about pages: the shown one unless it is 1, else the first other one;
   NULL if there is none. */
const char *kvr_source_pages(const struct kvr_source *source);

#endif
