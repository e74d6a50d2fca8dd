/*
 * `kvreplay ablate`: the paper's ablations on one trace, in one pass, as tables.
 */
#include <string.h>

#include "analysis/ablation.h"
#include "analysis/coverage.h"
#include "replay/cli/ablate_grids.h"
#include "replay/cli/command.h"
#include "replay/cli/print_ablation.h"
#include "replay/cli/progress_bar.h"
#include "replay/cli/replay_notes.h"
#include "replay/cli/replay_options.h"
#include "replay/cli/run_record.h"
#include "replay/engine.h"

static const struct kvr_option options[] = {
    {"-o", "DIR", "folder for the tables (required)"},
    {"--tau-grid", "LIST", "temperatures, rising (0.05,0.1,0.25,0.5,1,2,5,10,100)"},
    {"--alpha-grid", "LIST", "orders of the Renyi entropy, rising (0.5,1,2,inf)"},
    {"--sinks-grid", "LIST", "numbers of sinks, rising (0,1,2,4,8,16,32,64)"},
    {"--window-grid", "LIST", "entropy windows, rising (64,256,1024,4096,all)"},
    {"--page-size", "LIST", "tokens per page, at most 4096 (8,16,32,64)"},
    {"--budget", "FRACTION", "of the candidates that is kept (0.1)"},
    {"--scorer", "LIST", "last, window[:N], accumulated, column:NAME (the first the trace gives)"},
    {"--tau", "X", "temperature where it is not varied (0.5)"},
    {"--alpha", "A", "order where it is not varied (2)"},
    {"--sinks", "S", "sinks where they are not varied (4)"},
    {"--entropy-window", "N", "entropy window where it is not varied (all)"},
    {"--page-reduce", "HOW", "score of a page where it is not varied: max, mean or sum (max)"},
    {"--model-layers", "N", "layers of the model, for the coverage (highest in the trace + 1)"},
    {"--nan", "RULE", "groups that are not finite: exclude, zero or fail (exclude)"},
    {"--samples", "LIST", "only these samples, by name (all)"},
    {"--layers", "LIST", "only these layers, by number (all)"},
    {"--threads", "N", "threads; the tables do not depend on it (one per processor)"},
    {"--quiet", NULL, "prints no tables, notes or progress"},
    {NULL, NULL, NULL},
};

static const struct kvr_replay_defaults defaults = {
    .policies = "page-entrokv",
    .budgets = "0.1",
    .page_sizes = "8,16,32,64",
};

enum { KEPT_PAGE_SIZE = 16, MOST_PAGE_SIZE = 4096 };

struct session {
    struct kvr_replay_request request;
    struct kvr_ablate_grids grids;
    struct kvr_ablation ablation;
    struct kvr_trace *trace;
    struct kvr_coverage coverage;
    bool quiet;
    double started;
};

static enum kvr_status check_lists(const struct kvr_plan *plan, struct kvr_error *err)
{
    if (plan->budget_count > 1)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "--budget: expected one fraction, found %zu",
                        plan->budget_count);
    for (size_t i = 0; i < plan->page_size_count; i++)
        if (plan->page_sizes[i] > MOST_PAGE_SIZE)
            return kvr_fail(err, KVR_BAD_ARGUMENT,
                            "--page-size: expected at most %d, found %llu: every slot has a row",
                            MOST_PAGE_SIZE, (unsigned long long)plan->page_sizes[i]);
    return KVR_OK;
}

static enum kvr_status read_options(struct session *session, const struct kvr_command *command,
                                    const struct kvr_arguments *arguments, struct kvr_error *err)
{
    struct kvr_plan *plan = &session->request.plan;
    enum kvr_status status =
        kvr_replay_request_parse(command, arguments, &defaults, &session->request, err);
    if (status == KVR_OK)
        status = check_lists(plan, err);
    if (status == KVR_OK)
        status = kvr_ablate_grids_parse(command, arguments, plan, &session->grids,
                                        session->ablation.grids, err);
    return status;
}

/* Of what the trace can give, the first scorer: ablations are read one scorer at a time. */
static enum kvr_status settle_plan(struct session *session, struct kvr_error *err)
{
    struct kvr_plan *plan = &session->request.plan;
    enum kvr_status status = kvr_replay_check_filters(plan, &session->trace, 1, err);
    if (status == KVR_OK && session->request.default_scores) {
        status = kvr_plan_add_available(plan, session->trace, err);
        while (status == KVR_OK && plan->score_count > 1)
            kvr_score_free(&plan->scores[--plan->score_count]);
    }
    if (status == KVR_OK)
        status = kvr_plan_settle(plan, &session->trace, 1, err);
    if (status == KVR_OK)
        status = kvr_replay_check_scores(plan, &session->trace, 1, err);
    if (status == KVR_OK && !session->quiet)
        kvr_replay_print_notes(plan, &session->trace, 1);
    session->ablation.plan = plan;
    session->ablation.kept_page_size = KEPT_PAGE_SIZE;
    return status;
}

static enum kvr_status run_pass(struct session *session, struct kvr_error *err)
{
    const struct kvr_plan *plan = &session->request.plan;
    struct kvr_progress_bar bar =
        kvr_progress_bar_start(kvr_replay_cells(plan, session->trace), session->quiet);
    const struct kvr_progress progress = {kvr_progress_bar_update, &bar};
    const struct kvr_observer observer = kvr_ablation_observer(&session->ablation);
    enum kvr_status status = kvr_replay_trace(plan, session->trace, &observer, 1, &progress, err);
    kvr_progress_bar_end(&bar);
    return status;
}

static enum kvr_status write_tables(struct session *session, const struct kvr_arguments *arguments,
                                    const char *folder, struct kvr_error *err)
{
    struct kvr_tables tables;
    enum kvr_status status = kvr_tables_open(&tables, folder, err);
    if (status != KVR_OK)
        return status;
    status = run_pass(session, err);
    if (status == KVR_OK)
        status = kvr_ablation_write(&session->ablation, &tables, err);
    const struct kvr_run_record record = {
        .name = "ablation.json",
        .arguments = arguments,
        .plan = &session->request.plan,
        .trace_count = 1,
        .traces = &session->trace,
        .seconds = kvr_seconds() - session->started,
        .bytes_read = kvr_trace_bytes_read(session->trace),
    };
    if (status == KVR_OK)
        status = kvr_run_record_write(&record, &tables, err);
    if (status == KVR_OK)
        return kvr_tables_commit(&tables, err);
    kvr_tables_abandon(&tables);
    return status;
}

static enum kvr_status run_session(struct session *session, const struct kvr_command *command,
                                   const struct kvr_arguments *arguments, struct kvr_error *err)
{
    const char *folder = kvr_argument(command, arguments, "-o");
    uint64_t model_layers = 0;
    if (folder == NULL)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "-o DIR is missing: where should the tables go?");
    enum kvr_status status =
        kvr_argument_unsigned("--model-layers", kvr_argument(command, arguments, "--model-layers"),
                              1, UINT32_MAX, &model_layers, err);
    if (status == KVR_OK)
        status = read_options(session, command, arguments, err);
    if (status == KVR_OK)
        status = kvr_trace_open(arguments->operands[0], NULL, &session->trace, err);
    if (status == KVR_OK)
        status = settle_plan(session, err);
    if (status == KVR_OK)
        status = kvr_coverage_of(&session->request.plan, session->trace, model_layers,
                                 &session->coverage, err);
    if (status == KVR_OK)
        status = kvr_ablation_open(&session->ablation, err);
    if (status == KVR_OK)
        status = write_tables(session, arguments, folder, err);
    if (status == KVR_OK && !session->quiet)
        kvr_print_ablation(&session->ablation, session->trace, &session->coverage, folder);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct session session = {.started = kvr_seconds()};
    session.quiet = kvr_argument(command, arguments, "--quiet") != NULL;
    enum kvr_status status = run_session(&session, command, arguments, err);
    kvr_ablation_close(&session.ablation);
    kvr_ablate_grids_free(&session.grids);
    kvr_trace_close(session.trace);
    kvr_replay_request_free(&session.request);
    return kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_ablate;

const struct kvr_command kvr_command_ablate = {
    .name = "ablate",
    .operands = "TRACE",
    .summary = "varies temperature, order, sinks, window, pages and operator in one pass",
    .text =
        "Every choice of entropy pooling is varied alone, the others stay. Each table is written "
        "as DIR/ablation_<name>.csv, one row a scorer and setting: temperature, order, sinks and "
        "window (entropies, weights, and what pages of 16 keep), needles (theorem 4's premise "
        "and corollary 2's bound at each temperature), pages (operator x page size x page "
        "reduction), slots (where in a page the mass lies).\n"
        "\n"
        "\"same pages\" is the share of the kept pages that the weighting which is not varied "
        "keeps too; \"needle\" the kept share of needles; \"peak\" the future peak, pooled over "
        "groups and samples. The premise holds where corollary 2 promises at least half of the "
        "owner's value.",
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = run,
};
