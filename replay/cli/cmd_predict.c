/*
 * `kvreplay predict`: whether what a replay measures ranks policies as a model that was run with
 * the kept sets does. What is computed is in analysis/predict.h, how it looks in print_predict.c.
 */
#include <stdlib.h>

#include "analysis/predict.h"
#include "formats/base/parallel.h"
#include "replay/cli/command.h"
#include "replay/cli/picture_options.h"
#include "replay/cli/predict_export.h"
#include "replay/cli/predict_figures.h"
#include "replay/cli/print_predict.h"

static const struct kvr_option options[] = {
    {"--live", "FILE", "live.csv: what the model did with the kept sets (required)"},
    {"-o", "OUT",
     "also write predict.csv, predict_points.csv, predict_policies.csv and predict_samples.csv to "
     "OUT"},
    {"--figures", "FIGS", "also draw a scatter figure for each measure and page size into FIGS"},
    {"--format", "LIST", "of the figures: svg, pdf, png, tex (svg)"},
    {"--width", "COLUMN", "of a paper: single (3.35 in) or double (6.9 in) (single)"},
    {"--baseline", "POLICY",
     "what the others are paired with, also SCORER/POLICY (random, else the first)"},
    {"--trace", "LIST", "only rows of these traces (all)"},
    {"--scorer", "LIST", "only rows of these scorers (all)"},
    {"--policy", "LIST", "only these policies (all)"},
    {"--budget", "LIST",
     "only these budgets, and policies at each (all; policies at the middle one)"},
    {"--page-size", "LIST", "only these page sizes (all)"},
    {"--mix-pages", NULL, "also ranks all page sizes together"},
    {"--slack", "X", "equal memory: within this share of the budget's (0.05)"},
    {"--draws", "N", "bootstrap draws of samples (2000)"},
    {"--seed", "N", "another seed, other draws (0)"},
    {"--threads", "N", "threads; nothing depends on it (one per processor)"},
    {NULL, NULL, NULL},
};

static enum kvr_status parse_filters(const struct kvr_command *command,
                                     const struct kvr_arguments *arguments,
                                     struct kvr_predict_filters *filters, struct kvr_error *err)
{
    const struct {
        const char *option;
        struct kvr_compare_filter *filter;
    } lists[] = {
        {"--trace", &filters->traces},         {"--scorer", &filters->scorers},
        {"--policy", &filters->policies},      {"--budget", &filters->budgets},
        {"--page-size", &filters->page_sizes},
    };
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sizeof lists / sizeof *lists; i++) {
        const char *text = kvr_argument(command, arguments, lists[i].option);
        if (text != NULL)
            status = kvr_argument_list(lists[i].option, text, &lists[i].filter->items,
                                       &lists[i].filter->count, err);
    }
    for (size_t i = 0; status == KVR_OK && i < filters->page_sizes.count; i++) {
        uint64_t ignored;
        status = kvr_argument_unsigned("--page-size", filters->page_sizes.items[i], 1, UINT32_MAX,
                                       &ignored, err);
    }
    return status;
}

static enum kvr_status parse_options(const struct kvr_command *command,
                                     const struct kvr_arguments *arguments,
                                     struct kvr_predict_options *asked, struct kvr_error *err)
{
    uint64_t draws = 2000, threads = kvr_processor_count();
    asked->bootstrap = kvr_bootstrap_default();
    asked->mix_pages = kvr_argument(command, arguments, "--mix-pages") != NULL;
    if (kvr_argument(command, arguments, "--live") == NULL)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "--live FILE is missing: what did the model do with the kept sets?");
    enum kvr_status status = parse_filters(command, arguments, &asked->filters, err);
    if (status == KVR_OK)
        status = kvr_argument_double("--slack", kvr_argument(command, arguments, "--slack"), 0, 10,
                                     &asked->slack, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--draws", kvr_argument(command, arguments, "--draws"), 100,
                                       1000000, &draws, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--seed", kvr_argument(command, arguments, "--seed"), 0,
                                       UINT64_MAX, &asked->bootstrap.seed, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--threads", kvr_argument(command, arguments, "--threads"),
                                       1, 1024, &threads, err);
    asked->bootstrap.draws = (size_t)draws;
    asked->threads = (unsigned)threads;
    return status;
}

static void free_options(struct kvr_predict_options *asked)
{
    free(asked->filters.traces.items);
    free(asked->filters.scorers.items);
    free(asked->filters.policies.items);
    free(asked->filters.budgets.items);
    free(asked->filters.page_sizes.items);
}

static enum kvr_status show(const struct kvr_command *command,
                            const struct kvr_arguments *arguments,
                            const struct kvr_plot_options *picture,
                            const struct kvr_prediction *prediction, struct kvr_error *err)
{
    const char *folder = kvr_argument(command, arguments, "-o");
    const char *figures = kvr_argument(command, arguments, "--figures");
    const struct kvr_predict_shown shown = {
        .baseline = kvr_argument(command, arguments, "--baseline"),
        .all_budgets = kvr_argument(command, arguments, "--budget") != NULL,
    };
    struct kvr_text page = {0};
    enum kvr_status status = kvr_predict_page(prediction, &shown, &page, err);
    if (status == KVR_OK)
        status = kvr_text_check(&page, err);
    if (status == KVR_OK && folder != NULL)
        status = kvr_predict_export(prediction, folder, err);
    if (status == KVR_OK)
        fwrite(page.data, 1, page.length, stdout);
    if (status == KVR_OK && figures != NULL)
        status = kvr_predict_figures(prediction, picture, figures, err);
    kvr_text_free(&page);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct kvr_predict_options asked = {.slack = 0.05};
    struct kvr_prediction prediction = {0};
    struct kvr_plot_options picture = {0};
    enum kvr_status status = parse_options(command, arguments, &asked, err);
    if (status == KVR_OK)
        status = kvr_picture_options_parse(command, arguments, &picture, err);
    if (status == KVR_OK)
        status = kvr_predict(arguments->operands, arguments->operand_count,
                             kvr_argument(command, arguments, "--live"), &asked, &prediction, err);
    if (status == KVR_OK)
        status = show(command, arguments, &picture, &prediction, err);
    kvr_prediction_free(&prediction);
    free_options(&asked);
    return kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_predict;

const struct kvr_command kvr_command_predict = {
    .name = "predict",
    .operands = "DIR...",
    .summary = "asks whether a replay ranks policies as the model does",
    .text =
        "Each DIR is a folder that kvreplay replay -o wrote, or an OUT with predict_samples.csv, "
        "what such folders come to for each sample. FILE is a table with the columns "
        "trace, sample, policy, scorer, page_size, budget as in measures.csv, and right, logprob, "
        "logprob_full, kl: whether the answer is right (0 or 1), the mean log-probability of its "
        "tokens with exactly the kept tokens visible and with the full cache, and the divergence "
        "from the full cache over the decode rows, both in nats; fields may be empty. kvreplay "
        "replay --keep "
        "writes the kept sets that such a run applies.\n"
        "\n"
        "Every measure is brought to samples, averaged over them for each policy and budget, and "
        "these means are ranked: over all budgets, within each, and within each among policies "
        "that hold equal memory. Intervals are bootstrap intervals over samples.",
    .least_operands = 1,
    .most_operands = (size_t)-1,
    .options = options,
    .run = run,
};
