/*
 * The registries of policies and stages as a page. It must not know any policy by name.
 */
#include "replay/cli/help_policies.h"

#include <string.h>

#include "formats/base/text.h"
#include "replay/cli/help_text.h"
#include "replay/plan.h"

enum { INDENT = 20 };

static bool needs_nothing(const struct kvr_scorer *scorer)
{
    return scorer->source == KVR_FROM_POSITION;
}

/* What a trace must hold for the policy, and where it comes from. */
static void print_origin(FILE *stream, const struct kvr_policy *policy,
                         const struct kvr_stages *stages)
{
    fprintf(stream, "%*s", INDENT, "");
    if (stages->asked)
        fputs("needs what the scorer needs; ", stream);
    else if (!needs_nothing(stages->score.scorer))
        fprintf(stream, "needs %s; ", kvr_score_needs(&stages->score));
    fprintf(stream, "%s\n", policy->source);
}

static void print_row(FILE *stream, const struct kvr_policy *policy)
{
    struct kvr_stages stages;
    if (kvr_stages_parse(policy->name, &stages, NULL) != KVR_OK)
        return; /* a row that does not parse is found by the tests */
    kvr_help_item(stream, policy->name, NULL, policy->summary, INDENT);
    fprintf(stream, "%*s%s\n", INDENT, "", policy->stages);
    print_origin(stream, policy, &stages);
    kvr_stages_free(&stages);
}

static void print_scores(FILE *stream)
{
    struct kvr_text text = {0};
    for (const struct kvr_scorer *scorer = kvr_scorers; scorer->name != NULL; scorer++) {
        const struct kvr_score score = {.scorer = scorer};
        kvr_text_string(&text, scorer->summary);
        if (!needs_nothing(scorer))
            kvr_text_add(&text, "; needs %s", kvr_score_needs(&score));
        if (scorer->for_scorer)
            kvr_text_string(&text, "; also for --scorer");
        kvr_help_item(stream, scorer->pattern, NULL, text.data != NULL ? text.data : "", INDENT);
        kvr_text_clear(&text);
    }
    kvr_text_free(&text);
}

static void print_entries(FILE *stream, const struct kvr_stage_entry *entries)
{
    for (; entries->pattern != NULL; entries++)
        kvr_help_item(stream, entries->pattern, NULL, entries->summary, INDENT);
}

void kvr_print_policies(FILE *stream)
{
    kvr_help_paragraphs(
        stream,
        "A policy is a row of stages: score/reduce/smooth/protect/allocate. Each is named to "
        "--policy as it stands here, or composed under a name of its own; stages at the end "
        "may be left out (mean/none/none/uniform):\n\n"
        "  --policy 'mine=window:16/mean/max:7/sinks:4+recent:32/layer:0.5'\n\n"
        "A policy whose score is \"asked\" ranks by every --scorer. What a trace cannot give "
        "is left out of a list with one note; alone it is an error that says what is "
        "missing.\n\nPolicies:");
    for (const struct kvr_policy *policy = kvr_policies; policy->name != NULL; policy++)
        print_row(stream, policy);
    fputs("\nScore: what tokens are ranked by\n", stream);
    print_scores(stream);
    fputs("\nReduce: from the vectors of a group's query heads to one\n", stream);
    for (const struct kvr_reduce *reduce = kvr_reduces; reduce->name != NULL; reduce++)
        kvr_help_item(stream, reduce->name, NULL, reduce->summary, INDENT);
    fputs("\nSmooth: along the tokens, without those that `recent` protects\n", stream);
    print_entries(stream, kvr_smooth_entries);
    fputs("\nProtect: kept whatever the score\n", stream);
    print_entries(stream, kvr_protect_entries);
    fputs("\nAllocate: how the budget is shared among groups\n", stream);
    print_entries(stream, kvr_allocate_entries);
    fputc('\n', stream);
    kvr_help_paragraphs(
        stream, "Attention and accumulated that are not recorded are computed from query and "
                "key, accumulated where the query of every prompt row is recorded. "
                "A gate also needs the attention rows of " KVR_GATE_SCORE ". Select keeps "
                "protected tokens first, then the highest scores, ties to the "
                "lower position, until the quota is full; pages by the maximum of their "
                "tokens, or --page-reduce.");
}
