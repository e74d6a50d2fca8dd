/*
 * `kvreplay show`: one head's attention row and what every policy keeps of it, as text in the
 * terminal, and as a figure where -o says so.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "replay/cli/command.h"
#include "replay/cli/picture_options.h"
#include "replay/cli/readable.h"
#include "replay/cli/replay_notes.h"
#include "replay/cli/replay_options.h"
#include "replay/cli/show_capture.h"
#include "replay/engine.h"

extern const struct kvr_command kvr_command_show;

static const struct kvr_option options[] = {
    {"--sample", "NAME", "the sample (the first of the trace)"},
    {"--layer", "L", "the layer, by number (the first of the sample)"},
    {"--group", "G", "the group, which is the KV head (0, or that of --head)"},
    {"--head", "H", "the query head, counted within the layer (the first of the group)"},
    {"--scorer", "NAME", "last, window[:N], accumulated, column:NAME (the first the trace gives)"},
    {"--policy", "LIST", "policies (the paper's four, snapkv, streaming-llm, random, clairvoyant)"},
    {"--budget", "FRACTION", "of the candidates that is kept (0.1)"},
    {"--page-size", "B", "tokens per page; 1 is token granularity (1)"},
    {"--page-reduce", "HOW", "score of a page over its tokens: max, mean or sum (max)"},
    {"--tau", "X", "temperature of the entropy weights (0.5)"},
    {"--alpha", "A", "order of the Renyi entropy, 1 Shannon, inf min-entropy (2)"},
    {"--sinks", "S", "first tokens that count as attention sinks (4)"},
    {"--nan", "RULE", "groups that are not finite: exclude, zero or fail (exclude)"},
    {"--top", "N", "how many of the largest values are listed (10)"},
    {"--columns", "N", "characters in a line, from 60 to 400 (those of the terminal, or 79)"},
    {"-o", "FIGS", "folder for the figure head-row, its data, script and caption"},
    {"--format", "LIST", "of the figure: svg, pdf, png, tex (svg)"},
    {"--width", "COLUMN", "of the figure: single (3.35 in) or double (6.9 in) (single)"},
    {"--threads", "N", "threads; what is shown does not depend on it (one per processor)"},
    {"--quiet", NULL, "no notes"},
    {NULL, NULL, NULL},
};

static const struct kvr_replay_defaults defaults = {
    .policies = "independent,mean,max,page-entrokv,snapkv,streaming-llm,random,clairvoyant",
    .budgets = "0.1",
    .page_sizes = "1",
};

struct session {
    struct kvr_replay_request request;
    struct kvr_plot_options picture;
    struct kvr_trace *trace;
    const struct kvr_sample *sample;
    const struct kvr_layer *layer;
    struct kvr_show_capture capture;
    struct kvr_shown_span *needles;
    const char *out;
    uint64_t top, columns;
    bool quiet;
};

/* ------------------------------------------------------------------------------ which row */

static enum kvr_status find_sample(struct session *session, const char *name, struct kvr_error *err)
{
    const struct kvr_trace *trace = session->trace;
    char names[300] = "";
    if (trace->sample_count == 0)
        return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": holds no sample", trace->path);
    for (size_t i = 0, used = 0; i < trace->sample_count; i++) {
        if (name == NULL || strcmp(trace->samples[i].name, name) == 0) {
            session->sample = &trace->samples[i];
            return KVR_OK;
        }
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                                     trace->samples[i].name);
    }
    return kvr_fail(err, KVR_BAD_ARGUMENT, "--sample: expected one of %s, found \"%.100s\"", names,
                    name);
}

static enum kvr_status find_layer(struct session *session, const char *text, struct kvr_error *err)
{
    const struct kvr_sample *sample = session->sample;
    struct kvr_text known = {0};
    uint64_t number = 0;
    enum kvr_status status = kvr_argument_unsigned("--layer", text, 0, UINT32_MAX, &number, err);
    if (status != KVR_OK)
        return status;
    for (size_t l = 0; l < sample->layer_count; l++) {
        if (text == NULL || sample->layers[l].number == number) {
            session->layer = &sample->layers[l];
            kvr_text_free(&known);
            return KVR_OK;
        }
        kvr_text_add(&known, "%s%u", l > 0 ? ", " : "", sample->layers[l].number);
    }
    status = kvr_fail(err, KVR_BAD_ARGUMENT, "--layer: expected one of %.300s, found %s",
                      known.length > 0 ? known.data : "no layer", text != NULL ? text : "none");
    kvr_text_free(&known);
    return status;
}

/* Group and head follow from each other; given both, they must agree. */
static enum kvr_status find_head(struct session *session, const char *group_text,
                                 const char *head_text, struct kvr_error *err)
{
    const struct kvr_layer *layer = session->layer;
    uint64_t ratio = layer->query_heads / layer->kv_heads, group = 0, head = 0;
    enum kvr_status status =
        kvr_argument_unsigned("--group", group_text, 0, layer->kv_heads - 1, &group, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--head", head_text, 0, layer->query_heads - 1, &head, err);
    if (status != KVR_OK)
        return status;
    if (head_text == NULL)
        head = group * ratio;
    else if (group_text == NULL)
        group = head / ratio;
    if (head / ratio != group) {
        uint64_t first = group * ratio;
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "--head: expected one of group %" PRIu64 ", %" PRIu64 " to %" PRIu64
                        ", found %" PRIu64,
                        group, first, first + ratio - 1, head);
    }
    session->capture.sample = session->sample;
    session->capture.layer = layer->number;
    session->capture.group = (uint32_t)group;
    session->capture.head = (uint32_t)(head % ratio);
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ the plan */

static enum kvr_status expect_one(const char *option, size_t count, struct kvr_error *err)
{
    return count <= 1
               ? KVR_OK
               : kvr_fail(err, KVR_BAD_ARGUMENT, "%s: expected one, found %zu", option, count);
}

/* Only the sample is replayed, and only the layer unless a policy looks at others. */
static enum kvr_status narrow(struct session *session, struct kvr_error *err)
{
    struct kvr_plan *plan = &session->request.plan;
    bool surveyed = false;
    for (size_t u = 0; u < plan->use_count; u++)
        surveyed = surveyed || plan->uses[u].surveyed;
    plan->samples = kvr_alloc(1, sizeof *plan->samples, err);
    if (plan->samples == NULL)
        return KVR_NO_MEMORY;
    plan->samples[0] = session->sample->name;
    plan->sample_count = 1;
    if (surveyed)
        return KVR_OK;
    plan->layers = kvr_alloc(1, sizeof *plan->layers, err);
    if (plan->layers == NULL)
        return KVR_NO_MEMORY;
    plan->layers[0] = session->layer->number;
    plan->layer_count = 1;
    return KVR_OK;
}

/* The first score that this layer can give, unless one was asked for. */
static enum kvr_status settle_plan(struct session *session, struct kvr_error *err)
{
    struct kvr_plan *plan = &session->request.plan;
    enum kvr_status status = KVR_OK;
    if (session->request.default_scores) {
        status = kvr_plan_add_available(plan, session->trace, err);
        while (status == KVR_OK && plan->score_count > 1)
            kvr_score_free(&plan->scores[--plan->score_count]);
    }
    if (status == KVR_OK)
        status = expect_one("--scorer", plan->score_count, err);
    if (status == KVR_OK)
        status = expect_one("--budget", plan->budget_count, err);
    if (status == KVR_OK)
        status = expect_one("--page-size", plan->page_size_count, err);
    if (status == KVR_OK)
        status = kvr_plan_settle(plan, &session->trace, 1, err);
    if (status == KVR_OK)
        status = kvr_replay_check_scores(plan, &session->trace, 1, err);
    if (status == KVR_OK && !session->quiet)
        kvr_replay_print_notes(plan, &session->trace, 1);
    session->capture.plan = plan;
    return status == KVR_OK ? narrow(session, err) : status;
}

/* ------------------------------------------------------------------------------ showing */

/* Names the row: what the replay does not know. */
static enum kvr_status complete(struct session *session, struct kvr_error *err)
{
    struct kvr_shown_row *row = &session->capture.row;
    const struct kvr_sample *sample = session->sample;
    const struct kvr_plan *plan = &session->request.plan;
    row->trace = session->trace->name;
    row->sample = sample->name;
    row->budget = plan->budgets[0].label;
    row->layer = session->layer->number;
    row->group = session->capture.group;
    row->head = session->capture.group * (session->layer->query_heads / session->layer->kv_heads) +
                session->capture.head;
    row->page_size = plan->page_sizes[0];
    row->tokens = sample->token_count > 0 ? sample->tokens : NULL;
    session->needles = kvr_alloc(sample->needle_count, sizeof *session->needles, err);
    if (session->needles == NULL)
        return KVR_NO_MEMORY;
    for (size_t n = 0; n < sample->needle_count; n++)
        session->needles[n] =
            (struct kvr_shown_span){sample->needles[n].start, sample->needles[n].end};
    row->needles = session->needles;
    row->needle_count = sample->needle_count;
    return KVR_OK;
}

static enum kvr_status replay_cell(struct session *session, struct kvr_error *err)
{
    struct kvr_show_capture *capture = &session->capture;
    const struct kvr_observer observer = kvr_show_observer(capture);
    enum kvr_status status =
        kvr_replay_trace(&session->request.plan, session->trace, &observer, 1, NULL, err);
    if (status != KVR_OK)
        return status;
    if (capture->not_finite) {
        kvr_fail(err, KVR_BAD_INPUT,
                 "\"%s\": /samples/%s/layers/%u: group %u is not finite under %s, so nothing is "
                 "kept of it",
                 session->trace->path, session->sample->name, capture->layer, capture->group,
                 capture->row.scorer);
        return kvr_hint(err, "--nan zero takes values that are not finite as 0");
    }
    if (!capture->found || capture->row.row == NULL)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "\"%s\": /samples/%s/layers/%u: cannot give the score %s",
                        session->trace->path, session->sample->name, capture->layer,
                        session->request.plan.scores[0].label);
    return complete(session, err);
}

static unsigned terminal_columns(void)
{
    struct winsize size;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 79;
}

static enum kvr_status print_row(const struct session *session, struct kvr_error *err)
{
    struct kvr_text text = {0};
    unsigned columns = session->columns > 0 ? (unsigned)session->columns : terminal_columns();
    kvr_shown_row_text(&session->capture.row, columns, (size_t)session->top, &text);
    enum kvr_status status = kvr_text_check(&text, err);
    if (status == KVR_OK)
        fputs(text.data, stdout);
    kvr_text_free(&text);
    return status;
}

static enum kvr_status draw_row(const struct session *session, struct kvr_error *err)
{
    struct kvr_plotter *plotter = NULL;
    struct kvr_drawing drawing = {.figure = NULL};
    enum kvr_status status = kvr_plotter_open(&session->picture, &plotter, err);
    if (status == KVR_OK && !session->quiet)
        kvr_print_plot_notes("", kvr_plotter_notes(plotter));
    if (status == KVR_OK)
        status = kvr_shown_row_draw(&session->capture.row, plotter, &drawing, err);
    if (status == KVR_OK && !session->quiet)
        kvr_print_plot_notes("head-row: ", drawing.remarks);
    if (status == KVR_OK)
        status = kvr_make_folder(session->out, err);
    if (status == KVR_OK)
        status = kvr_drawing_save(&drawing, session->out, err);
    kvr_drawing_free(&drawing);
    kvr_plotter_close(plotter);
    return status;
}

static enum kvr_status run_session(struct session *session, const struct kvr_command *command,
                                   const struct kvr_arguments *arguments, struct kvr_error *err)
{
    enum kvr_status status =
        kvr_replay_request_parse(command, arguments, &defaults, &session->request, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--top", kvr_argument(command, arguments, "--top"), 0, 1000,
                                       &session->top, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--columns", kvr_argument(command, arguments, "--columns"),
                                       60, 400, &session->columns, err);
    if (status == KVR_OK)
        status = kvr_picture_options_parse(command, arguments, &session->picture, err);
    if (status == KVR_OK)
        status = kvr_trace_open(arguments->operands[0], NULL, &session->trace, err);
    if (status == KVR_OK)
        status = find_sample(session, kvr_argument(command, arguments, "--sample"), err);
    if (status == KVR_OK)
        status = find_layer(session, kvr_argument(command, arguments, "--layer"), err);
    if (status == KVR_OK)
        status = find_head(session, kvr_argument(command, arguments, "--group"),
                           kvr_argument(command, arguments, "--head"), err);
    if (status == KVR_OK)
        status = settle_plan(session, err);
    if (status == KVR_OK)
        status = replay_cell(session, err);
    if (status == KVR_OK && session->out != NULL)
        status = draw_row(session, err);
    return status == KVR_OK ? print_row(session, err) : status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct session session = {.top = 10};
    session.quiet = kvr_argument(command, arguments, "--quiet") != NULL;
    session.out = kvr_argument(command, arguments, "-o");
    enum kvr_status status = run_session(&session, command, arguments, err);
    kvr_show_capture_free(&session.capture);
    free(session.needles);
    kvr_trace_close(session.trace);
    kvr_replay_request_free(&session.request);
    return kvr_exit_status(status);
}

const struct kvr_command kvr_command_show = {
    .name = "show",
    .operands = "TRACE",
    .summary = "shows one head's attention row and what each policy keeps of it",
    .text =
        "Bars are the scores of the query head on a logarithmic axis; below, each policy has a "
        "lane that marks the tokens which the head's group keeps, with their number and the "
        "share of the head's scores that lies on them. Then the largest scores are listed, with "
        "the token where the trace has it, and the letters of the policies that keep it.",
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = run,
};
