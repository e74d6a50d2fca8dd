/*
 * The registry of policies, and the parser of compositions.
 */
#include "replay/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"

const struct kvr_policy kvr_policies[] = {
    {
        .name = "independent",
        .source = "arXiv 2610.03135, def. 1",
        .summary = "every query head keeps its own top-k; the group must hold the union",
        .stages = "asked/head",
    },
    {
        .name = "mean",
        .source = "arXiv 2610.03135",
        .summary = "mean of the heads' vectors, one top-k per group",
        .stages = "asked/mean",
    },
    {
        .name = "max",
        .source = "arXiv 2610.03135",
        .summary = "maximum over the heads' vectors, one top-k per group",
        .stages = "asked/max",
    },
    {
        .name = "page-entrokv",
        .source = "arXiv 2610.03135",
        .summary = "heads weighted by sink-isolated Renyi entropy, one top-k per group",
        .stages = "asked/entropy",
    },
    {
        .name = "streaming-llm",
        .source = "arXiv 2309.17453",
        .summary = "the first four tokens and the newest",
        .stages = "recency/layer/none/sinks:4",
    },
    {
        .name = "random",
        .source = "the floor",
        .summary = "the same random tokens in every group of a layer",
        .stages = "random:0/layer",
    },
    {
        .name = "h2o",
        .source = "arXiv 2306.14048",
        .summary = "column sums, half of the quota for the newest",
        .stages = "accumulated/mean/none/recent:0.5",
    },
    {
        .name = "observed",
        .source = "kvpress ObservedAttention",
        .summary = "column sums per row that sees the column",
        .stages = "observed/mean",
    },
    {
        .name = "tova",
        .source = "arXiv 2401.06104",
        .summary = "the last row, one set per layer",
        .stages = "last/layer",
    },
    {
        .name = "snapkv",
        .source = "arXiv 2404.14469",
        .summary = "observation window, smoothed, the window itself kept; one set per group",
        .stages = "window:32/mean/avg:5/recent:32",
    },
    {
        .name = "snapkv-heads",
        .source = "arXiv 2404.14469",
        .summary = "the original SnapKV: one set per query head",
        .stages = "window:32/head/avg:5/recent:32",
    },
    {
        .name = "pyramidkv",
        .source = "arXiv 2406.02069",
        .summary = "SnapKV with more for lower layers",
        .stages = "window:32/mean/avg:5/recent:32/pyramid:20",
    },
    {
        .name = "ada-snapkv",
        .source = "arXiv 2407.11550",
        .summary = "SnapKV whose groups compete within a layer",
        .stages = "window:32/mean/avg:5/recent:32/layer:0.2",
    },
    {
        .name = "page-gate",
        .source = "arXiv 2609.22157",
        .summary = "SnapKV where the heads' agreement allows eviction, everything elsewhere",
        .stages = "window:32/mean/avg:5/recent:32/gate:0.07+uniform",
    },
    {
        .name = "model-mass",
        .source = "kvreplay",
        .summary = "groups of all layers compete for the largest dropped mass",
        .stages = "window:32/mean/none/sinks:4/model:0.2",
    },
    {
        .name = "knorm",
        .source = "arXiv 2406.11430",
        .summary = "keys of small norm",
        .stages = "key-norm/-",
    },
    {
        .name = "keydiff",
        .source = "arXiv 2504.15364",
        .summary = "keys unlike the mean key",
        .stages = "key-diff/-",
    },
    {
        .name = "learned",
        .source = "arXiv 2605.09649",
        .summary = "a recorded gate, learned:NAME; groups of all layers compete",
        .stages = "column/mean/none/none/model:0",
    },
    {
        .name = "clairvoyant",
        .source = "the ceiling",
        .summary = "the tokens that the decode rows will look at: no set of k keeps more",
        .stages = "future/mean",
        .page_sum = true,
    },
    {.name = NULL},
};

void kvr_stages_free(struct kvr_stages *stages)
{
    free(stages->label);
    kvr_score_free(&stages->score);
    *stages = (struct kvr_stages){0};
}

static enum kvr_status parse_score(const char *text, struct kvr_stages *stages,
                                   struct kvr_error *err)
{
    stages->asked = strcmp(text, "asked") == 0;
    return stages->asked ? KVR_OK : kvr_score_parse(text, false, &stages->score, err);
}

static enum kvr_status parse_reduce(const char *text, struct kvr_stages *stages,
                                    struct kvr_error *err)
{
    stages->reduce = kvr_reduce_find(text);
    if (stages->reduce != NULL)
        return KVR_OK;
    char list[256] = "";
    for (const struct kvr_reduce *reduce = kvr_reduces; reduce->name != NULL; reduce++) {
        strncat(list, reduce == kvr_reduces ? "" : ", ", sizeof list - strlen(list) - 1);
        strncat(list, reduce->name, sizeof list - strlen(list) - 1);
    }
    return kvr_fail(err, KVR_BAD_ARGUMENT, "\"%s\" is not a reduction; there are %s", text, list);
}

/* Parses the stages in `text`, which is cut at its slashes. */
static enum kvr_status parse_stages(char *text, struct kvr_stages *stages, struct kvr_error *err)
{
    enum { STAGES = 5 };
    const char *parts[STAGES] = {text, "mean", "none", "none", "uniform"};
    for (size_t i = 1; (text = strchr(text, '/')) != NULL; i++) {
        if (i == STAGES)
            return kvr_fail(err, KVR_BAD_ARGUMENT,
                            "a policy has at most five stages: "
                            "score/reduce/smooth/protect/allocate");
        *text++ = '\0';
        parts[i] = text;
    }
    enum kvr_status status = parse_score(parts[0], stages, err);
    if (status == KVR_OK)
        status = parse_reduce(parts[1], stages, err);
    if (status == KVR_OK)
        status = kvr_smooth_parse(parts[2], &stages->smooth, err);
    if (status == KVR_OK)
        status = kvr_protect_parse(parts[3], &stages->protect, err);
    if (status == KVR_OK)
        status = kvr_allocate_parse(parts[4], &stages->allocate, err);
    bool compete =
        stages->allocate.kind == KVR_ALLOCATE_LAYER || stages->allocate.kind == KVR_ALLOCATE_MODEL;
    if (status == KVR_OK && compete && stages->reduce->scope == KVR_REDUCE_NOTHING)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "groups compete by one vector each: reduce \"head\" has none");
    return status;
}

static enum kvr_status unknown_policy(const char *text, struct kvr_error *err)
{
    char list[512] = "";
    for (const struct kvr_policy *policy = kvr_policies; policy->name != NULL; policy++) {
        strncat(list, policy == kvr_policies ? "" : ", ", sizeof list - strlen(list) - 1);
        strncat(list, policy->name, sizeof list - strlen(list) - 1);
    }
    kvr_fail(err, KVR_BAD_ARGUMENT, "\"%s\" is not a policy; there are %s", text, list);
    return kvr_hint(err, "compose one: name=score/reduce/smooth/protect/allocate "
                         "(kvreplay help policies)");
}

/* The row that `text` names; *parameter is what follows "learned:", else NULL. */
static const struct kvr_policy *find_row(const char *text, const char **parameter)
{
    size_t length = strcspn(text, ":");
    *parameter = text[length] == ':' ? text + length + 1 : NULL;
    for (const struct kvr_policy *policy = kvr_policies; policy->name != NULL; policy++)
        if (strlen(policy->name) == length && strncmp(policy->name, text, length) == 0)
            return *parameter == NULL || strcmp(policy->name, "learned") == 0 ? policy : NULL;
    return NULL;
}

bool kvr_policy_asks(const char *name)
{
    for (const struct kvr_policy *row = kvr_policies; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return strncmp(row->stages, "asked", 5) == 0;
    return false;
}

/* The stages' text of a row or a composition, allocated, with its label's length. */
static char *stages_text(const char *text, size_t *label_length, bool *page_sum,
                         struct kvr_error *err)
{
    const char *equals = strchr(text, '='), *parameter = NULL;
    *page_sum = false;
    *label_length = equals != NULL ? (size_t)(equals - text) : strlen(text);
    if (equals != NULL)
        return kvr_copy_string(equals + 1, err);
    const struct kvr_policy *row = find_row(text, &parameter);
    if (row == NULL) {
        unknown_policy(text, err);
        return NULL;
    }
    *page_sum = row->page_sum;
    if (parameter == NULL)
        return kvr_copy_string(row->stages, err);
    /* learned:NAME is its row with the column's name behind the score. */
    size_t score_length = strcspn(row->stages, "/");
    size_t size = strlen(row->stages) + strlen(parameter) + 2;
    char *copy = kvr_alloc(size, 1, err);
    if (copy != NULL)
        snprintf(copy, size, "%.*s:%s%s", (int)score_length, row->stages, parameter,
                 row->stages + score_length);
    return copy;
}

enum kvr_status kvr_stages_parse(const char *text, struct kvr_stages *stages, struct kvr_error *err)
{
    *stages = (struct kvr_stages){0};
    size_t label_length = 0;
    char *copy = stages_text(text, &label_length, &stages->page_sum, err);
    if (copy == NULL)
        return err != NULL ? err->status : KVR_BAD_ARGUMENT;
    enum kvr_status status = KVR_OK;
    if (label_length == 0)
        status = kvr_fail(err, KVR_BAD_ARGUMENT, "\"%s\": a composed policy needs a name", text);
    if (status == KVR_OK)
        status = parse_stages(copy, stages, err);
    if (status == KVR_OK) {
        stages->label = kvr_copy_bytes(text, label_length, err);
        status = stages->label != NULL ? KVR_OK : KVR_NO_MEMORY;
    }
    free(copy);
    if (status != KVR_OK)
        kvr_stages_free(stages);
    return status;
}
