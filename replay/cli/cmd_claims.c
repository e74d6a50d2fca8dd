/*
 * kvreplay claims: what the paper states, held against a replay's tables.
 */
#include "analysis/claims.h"
#include "replay/cli/claims_json.h"
#include "replay/cli/command.h"
#include "replay/cli/print_claims.h"

static const struct kvr_option options[] = {
    {"--brief", NULL, "the verdicts without the figures by setting"},
    {"--draws", "N", "bootstrap draws of samples (10000)"},
    {"--seed", "N", "another seed, other draws (0)"},
    {"--json", NULL, "write one JSON object instead of a page"},
    {NULL, NULL, NULL},
};

/* What is read and judged; everything is released together. */
struct session {
    struct kvr_replay_results results;
    struct kvr_bounds_report bounds;
    struct kvr_claims claims;
    struct kvr_bootstrap bootstrap;
};

static enum kvr_status read_options(const struct kvr_command *command,
                                    const struct kvr_arguments *arguments,
                                    struct kvr_bootstrap *bootstrap, struct kvr_error *err)
{
    uint64_t draws = bootstrap->draws;
    enum kvr_status status = kvr_argument_unsigned(
        "--draws", kvr_argument(command, arguments, "--draws"), 100, 10000000, &draws, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--seed", kvr_argument(command, arguments, "--seed"), 0,
                                       UINT64_MAX, &bootstrap->seed, err);
    bootstrap->draws = (size_t)draws;
    return status;
}

static enum kvr_status judge(struct session *session, const char *folder, struct kvr_error *err)
{
    enum kvr_status status = kvr_replay_results_read(folder, &session->results, err);
    if (status == KVR_OK)
        status = kvr_bounds_report_read(folder, 0, &session->bounds, err);
    if (status == KVR_IO)
        kvr_hint_tables(err);
    if (status == KVR_OK)
        status = kvr_claims_judge(&session->results, &session->bounds, &session->bootstrap,
                                  &session->claims, err);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct session session = {.bootstrap = kvr_bootstrap_default()};
    struct kvr_text text = {0};
    enum kvr_status status = read_options(command, arguments, &session.bootstrap, err);
    if (status == KVR_OK)
        status = judge(&session, arguments->operands[0], err);
    if (status == KVR_OK) {
        if (kvr_argument(command, arguments, "--json") != NULL)
            kvr_claims_json(&session.results, &session.claims, &session.bootstrap, &text);
        else
            kvr_claims_page(&session.results, &session.claims, &session.bootstrap,
                            kvr_argument(command, arguments, "--brief") != NULL, &text);
        status = kvr_text_check(&text, err);
    }
    if (status == KVR_OK)
        fwrite(text.data, 1, text.length, stdout);
    kvr_text_free(&text);
    kvr_claims_free(&session.claims);
    kvr_bounds_report_free(&session.bounds);
    kvr_replay_results_free(&session.results);
    return kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_claims;

const struct kvr_command kvr_command_claims = {
    .name = "claims",
    .operands = "DIR",
    .summary = "holds the paper's statements against a replay",
    .text =
        "DIR holds the tables of \"kvreplay replay -o DIR\". Each statement of arXiv 2610.03135 "
        "that a replay can speak to is given the figures measured here and a verdict: holds, "
        "does not hold, or cannot be judged, and why. Exact statements hold in every row or "
        "they do not. The others are judged for each scorer, page size and budget by a "
        "bootstrap interval over samples; below three samples there is none. A statement holds "
        "if it holds in every setting and does not hold if it fails in one.\n"
        "\n"
        "Policies that pool are compared at equal quotas, which is equal memory; independent "
        "heads only where the replay was made with --match physical.",
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = run,
};
