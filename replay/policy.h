/*
 * Eviction policies as rows of stages (POLICIES): a policy names its stages, it has no code.
 */
#ifndef KVR_POLICY_H
#define KVR_POLICY_H

#include "formats/base/status.h"
#include "replay/reduce.h"

struct kvr_policy {
    const char *name;
    const char *source;  /* the paper that proposes it */
    const char *summary; /* one line for the help */
    const char *reduce;  /* name in kvr_reduces */
};

/* Ends with a NULL name. */
extern const struct kvr_policy kvr_policies[];

/* A policy with its stages looked up. */
struct kvr_policy_use {
    const struct kvr_policy *policy;
    const struct kvr_reduce *reduce;
};

/* The error lists the policies that there are. */
enum kvr_status kvr_policy_parse(const char *text, struct kvr_policy_use *use,
                                 struct kvr_error *err);

#endif
