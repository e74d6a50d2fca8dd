/*
 * Eviction policies as rows of stages (POLICIES): score, reduce, smooth, protect, allocate, select.
 * A policy has no code of its own; a new one is a row of the registry, or a composition on the
 * command line such as `mine=window:16/mean/max:7/sinks:4+recent:32/layer:0.5`.
 */
#ifndef KVR_POLICY_H
#define KVR_POLICY_H

#include <stdbool.h>

#include "formats/base/status.h"
#include "replay/allocate.h"
#include "replay/protect.h"
#include "replay/reduce.h"
#include "replay/scorer.h"
#include "replay/smooth.h"

struct kvr_policy {
    const char *name;
    const char *source;  /* the paper that proposes it */
    const char *summary; /* one line for the help */
    /* score/reduce/smooth/protect/allocate; "asked" as score: every scorer that is asked for.
       Stages at the end may be left out: none, none, uniform. */
    const char *stages;
    bool page_sum; /* pages are summed whatever --page-reduce says */
};

/* Ends with a NULL name. */
extern const struct kvr_policy kvr_policies[];

/* True if this row ranks by every scorer that is asked for; false for other names, too. */
bool kvr_policy_asks(const char *name);

/* A policy with its stages parsed. */
struct kvr_stages {
    char *label; /* as the tables name it; owned */
    bool asked;  /* ranks by every scorer that is asked for; else by `score` */
    struct kvr_score score;
    const struct kvr_reduce *reduce;
    struct kvr_smooth smooth;
    struct kvr_protect protect;
    struct kvr_allocate allocate;
    bool page_sum;
};

/*
 * Parses a row's name, `learned:NAME`, or `name=stages`. The error lists what there is. Release
 * with kvr_stages_free.
 */
enum kvr_status kvr_stages_parse(const char *text, struct kvr_stages *stages,
                                 struct kvr_error *err);

void kvr_stages_free(struct kvr_stages *stages);

#endif
