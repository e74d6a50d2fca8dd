/*
 * The registry of policies.
 */
#include "replay/policy.h"

#include <string.h>

const struct kvr_policy kvr_policies[] = {
    {
        .name = "independent",
        .source = "arXiv 2610.03135, def. 1",
        .summary = "every query head keeps its own top-k; the group must hold the union",
        .reduce = "head",
    },
    {
        .name = "mean",
        .source = "arXiv 2610.03135",
        .summary = "mean of the heads' vectors, one top-k per group",
        .reduce = "mean",
    },
    {
        .name = "max",
        .source = "arXiv 2610.03135",
        .summary = "maximum over the heads' vectors, one top-k per group",
        .reduce = "max",
    },
    {
        .name = "page-entrokv",
        .source = "arXiv 2610.03135",
        .summary = "heads weighted by sink-isolated Renyi entropy, one top-k per group",
        .reduce = "entropy",
    },
    {.name = NULL},
};

enum kvr_status kvr_policy_parse(const char *text, struct kvr_policy_use *use,
                                 struct kvr_error *err)
{
    char list[512] = "";
    for (const struct kvr_policy *policy = kvr_policies; policy->name != NULL; policy++) {
        if (strcmp(policy->name, text) == 0) {
            *use = (struct kvr_policy_use){policy, kvr_reduce_find(policy->reduce)};
            return KVR_OK;
        }
        if (list[0] != '\0')
            strncat(list, ", ", sizeof list - strlen(list) - 1);
        strncat(list, policy->name, sizeof list - strlen(list) - 1);
    }
    return kvr_fail(err, KVR_BAD_ARGUMENT, "\"%s\" is not a policy; there are %s", text, list);
}
