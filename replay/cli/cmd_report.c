/*
 * kvreplay report: one page about a replay. What the page holds is in plots/; here files are read
 * and written.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "plots/report.h"
#include "replay/cli/command.h"
#include "replay/cli/paper_options.h"
#include "replay/cli/report_figures.h"

static const struct kvr_option options[] = {
    {"-o", "FILE", "the page to write (required)"},
    {"--draws", "N", "bootstrap draws of an interval (10000)"},
    {"--seed", "N", "seed of the bootstrap (0)"},
    {NULL, NULL, NULL},
};

/* run.json is a few kilobytes; more than this is something else. */
enum { MOST_RUN_BYTES = 4 << 20 };

struct session {
    struct kvr_paper_source paper;
    struct kvr_report_layers layers;
    struct kvr_json_document run;
    struct kvr_report_figures figures;
};

/* A folder without run.json still has a report. */
static enum kvr_status read_run(const char *folder, struct kvr_json_document *run,
                                struct kvr_error *err)
{
    char *path = kvr_join_path(folder, "run.json", err);
    if (path == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = KVR_OK;
    if (access(path, F_OK) == 0)
        status = kvr_json_read(path, MOST_RUN_BYTES, run, err);
    free(path);
    return status;
}

static enum kvr_status read_all(const char *folder, const struct kvr_bootstrap *bootstrap,
                                struct session *session, struct kvr_error *err)
{
    enum kvr_status status = kvr_paper_source_read(folder, bootstrap, &session->paper, err);
    if (status != KVR_OK)
        return status;
    const struct kvr_report_choice choice = kvr_report_choose(&session->paper.sums);
    const char *budget =
        choice.budget == KVR_NO_NAME ? "" : session->paper.sums.budgets.items[choice.budget];
    status = kvr_report_layers_read(folder, budget, choice.page_size, &session->layers, err);
    if (status == KVR_OK)
        status = read_run(folder, &session->run, err);
    return status == KVR_OK ? kvr_report_figures_draw(folder, &session->figures, err) : status;
}

static enum kvr_status write_page(const char *folder, const char *path,
                                  const struct session *session, struct kvr_error *err)
{
    const struct kvr_report report = {
        .folder = folder,
        .paper = &session->paper,
        .layers = &session->layers,
        .run = session->run.root,
        .figures = session->figures.figures,
        .figure_count = session->figures.count,
        .figure_note = session->figures.note[0] != '\0' ? session->figures.note : NULL,
    };
    struct kvr_text text = {0};
    enum kvr_status status = kvr_report_write(&report, &text, err);
    if (status == KVR_OK)
        status = kvr_write_whole(path, text.data, text.length, err);
    kvr_text_free(&text);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    const char *path = kvr_argument(command, arguments, "-o"), *folder = arguments->operands[0];
    struct kvr_bootstrap bootstrap;
    struct session session = {.run = {.root = NULL}};
    if (path == NULL)
        return kvr_exit_status(kvr_fail(err, KVR_BAD_ARGUMENT, "-o FILE is missing"));
    enum kvr_status status = kvr_paper_bootstrap_options(command, arguments, &bootstrap, err);
    if (status == KVR_OK)
        status = read_all(folder, &bootstrap, &session, err);
    if (status == KVR_IO)
        kvr_hint_tables(err);
    if (status == KVR_OK)
        status = write_page(folder, path, &session, err);
    if (status == KVR_OK)
        printf("The report is in %s\n", path);
    kvr_report_figures_free(&session.figures);
    kvr_report_layers_free(&session.layers);
    kvr_paper_source_free(&session.paper);
    kvr_json_free(&session.run);
    return kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_report;

const struct kvr_command kvr_command_report = {
    .name = "report",
    .operands = "DIR",
    .summary = "writes one page about a replay: headline, figures, tables, layers",
    .text =
        "DIR holds the tables of \"kvreplay replay -o DIR\". The page is a single HTML file that "
        "loads nothing: headline numbers with what they mean, figures, the tables of "
        "\"kvreplay table\" (they sort and filter where scripts run), every layer with its "
        "groups and heads, and where the figures come from.",
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = run,
};
