/*
 * Telling what a trace cannot give. It must not know how anything is computed.
 */
#include "replay/cli/replay_notes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "formats/trace_names.h"
#include "replay/cli/readable.h"

enum kvr_status kvr_replay_check_filters(const struct kvr_plan *plan,
                                         struct kvr_trace *const *traces, size_t trace_count,
                                         struct kvr_error *err)
{
    for (size_t f = 0; f < plan->sample_count; f++) {
        bool found = false;
        for (size_t i = 0; i < trace_count; i++)
            for (size_t s = 0; s < traces[i]->sample_count; s++)
                found |= strcmp(traces[i]->samples[s].name, plan->samples[f]) == 0;
        if (!found)
            return kvr_fail(err, KVR_BAD_ARGUMENT, "--samples: no trace has a sample \"%s\"",
                            plan->samples[f]);
    }
    for (size_t f = 0; f < plan->layer_count; f++) {
        bool found = false;
        for (size_t i = 0; i < trace_count; i++)
            for (size_t s = 0; s < traces[i]->sample_count; s++)
                for (size_t l = 0; l < traces[i]->samples[s].layer_count; l++)
                    found |= traces[i]->samples[s].layers[l].number == plan->layers[f];
        if (!found)
            return kvr_fail(err, KVR_BAD_ARGUMENT, "--layers: no trace has a layer %u",
                            plan->layers[f]);
    }
    return KVR_OK;
}

/* What layers of the trace hold that scores are computed from: "query, key", and why that may not
   be enough. */
static void describe_holdings(const struct kvr_trace *trace, char *text, size_t size)
{
    bool held[KVR_MEMBERS + 1] = {false}, sinks = false;
    for (size_t s = 0; s < trace->sample_count; s++)
        for (size_t l = 0; l < trace->samples[s].layer_count; l++) {
            const struct kvr_layer *layer = &trace->samples[s].layers[l];
            for (unsigned m = 0; m < KVR_MEMBERS; m++)
                held[m] |= kvr_layer_member(layer, (enum kvr_member)m) != NULL;
            held[KVR_MEMBERS] |= layer->column_count > 0;
            sinks |= kvr_layer_rows(layer) == KVR_MISSING && layer->sink_logits &&
                     layer->query != NULL && layer->key != NULL;
        }
    text[0] = '\0';
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        if (held[i]) {
            strncat(text, text[0] != '\0' ? ", " : "", size - strlen(text) - 1);
            strncat(text, i < KVR_MEMBERS ? kvr_members[i].name : "scores",
                    size - strlen(text) - 1);
        }
    if (sinks)
        strncat(text, ", but sink logits, which are not recorded, take part in its rows",
                size - strlen(text) - 1);
}

enum kvr_status kvr_replay_check_scores(const struct kvr_plan *plan,
                                        struct kvr_trace *const *traces, size_t trace_count,
                                        struct kvr_error *err)
{
    for (size_t i = 0; i < trace_count; i++)
        for (size_t u = 0; u < plan->use_count; u++)
            if (kvr_plan_score_in_trace(plan, &plan->scores[plan->uses[u].score], traces[i]))
                return KVR_OK;
    char holdings[160];
    describe_holdings(traces[0], holdings, sizeof holdings);
    if (plan->use_count == 0)
        return kvr_fail(
            err, KVR_BAD_INPUT,
            "\"%s\": nothing can be replayed: scorers need attention (or query and key) "
            "with prompt rows, accumulated or scores; it holds %s",
            traces[0]->path, holdings);
    const struct kvr_use *use = &plan->uses[0];
    const struct kvr_score *score = &plan->scores[use->score];
    return kvr_fail(err, KVR_BAD_INPUT,
                    "\"%s\": nothing can be replayed: policy %s ranks by %s, which needs %s%s; it "
                    "holds %s",
                    traces[0]->path, plan->policies[use->policy].label, score->label,
                    kvr_score_needs(score), kvr_score_instead(score), holdings);
}

static void note_missing(const struct kvr_plan *plan, const struct kvr_trace *trace)
{
    char holdings[160];
    describe_holdings(trace, holdings, sizeof holdings);
    for (size_t s = 0; s < plan->score_count; s++)
        if (plan->scores[s].asked && !kvr_plan_score_in_trace(plan, &plan->scores[s], trace))
            kvr_print_line(stderr, "note: %s: cannot give scorer %s, which needs %s%s; it holds %s",
                           trace->name, plan->scores[s].label, kvr_score_needs(&plan->scores[s]),
                           kvr_score_instead(&plan->scores[s]), holdings);
    for (size_t u = 0; u < plan->use_count; u++) {
        const struct kvr_stages *stages = &plan->policies[plan->uses[u].policy];
        const struct kvr_score *score = &plan->scores[plan->uses[u].score];
        if (!stages->asked && !kvr_plan_score_in_trace(plan, score, trace))
            kvr_print_line(stderr, "note: %s: policy %s is left out: %s needs %s%s; it holds %s",
                           trace->name, stages->label, score->label, kvr_score_needs(score),
                           kvr_score_instead(score), holdings);
    }
}

/* A window that is longer than what was recorded averages what there is. */
static void note_short_window(const struct kvr_plan *plan, const struct kvr_score *score,
                              const struct kvr_trace *trace)
{
    size_t least = SIZE_MAX;
    for (size_t s = 0; s < trace->sample_count; s++) {
        const struct kvr_sample *sample = &trace->samples[s];
        struct kvr_row_range rows = kvr_prefill_rows(sample);
        size_t recorded = rows.end - rows.begin;
        if (kvr_plan_wants_sample(plan, sample) && recorded > 0 && recorded < score->number &&
            recorded < least)
            least = recorded;
    }
    if (least < SIZE_MAX)
        kvr_print_line(stderr, "note: %s: %s averages %zu rows: no more prompt rows were recorded",
                       trace->name, score->label, least);
}

void kvr_replay_print_notes(const struct kvr_plan *plan, struct kvr_trace *const *traces,
                            size_t trace_count)
{
    for (size_t i = 0; i < trace_count; i++) {
        note_missing(plan, traces[i]);
        for (size_t s = 0; s < plan->score_count; s++)
            if (plan->scores[s].scorer->parameter == KVR_TAKES_COUNT)
                note_short_window(plan, &plan->scores[s], traces[i]);
    }
}
