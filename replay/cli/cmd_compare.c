/*
 * `kvreplay compare`: policies side by side from the tables of replays. What is computed is in
 * analysis/compare.h, how it looks in compare_page.c and compare_export.c.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "replay/cli/command.h"
#include "replay/cli/compare_export.h"
#include "replay/cli/compare_page.h"

static const struct kvr_option options[] = {
    {"--metric", "NAME",
     "future_peak, future_mass, needle, needle_future, output_error, retained_mass (the first of "
     "them that the tables have)"},
    {"--baseline", "POLICY",
     "what the others are paired with, also SCORER/POLICY (random, else the "
     "first that fits the budget)"},
    {"--scorer", "LIST", "only rows of these scorers (all)"},
    {"--policy", "LIST", "only these policies (all)"},
    {"--budget", "LIST",
     "only these budgets, and details of each (all; details of the middle one)"},
    {"--page-size", "LIST", "only these page sizes (all)"},
    {"--seed", "N", "of the bootstrap's draws (0)"},
    {"--element-bytes", "N", "bytes of a key's or value's element, for the memory (2)"},
    {"--csv", "FILE", "also write every figure to FILE"},
    {"--json", NULL, "write one JSON object instead of a page"},
    {NULL, NULL, NULL},
};

static void free_options(struct kvr_compare_options *asked)
{
    free(asked->scorers.items);
    free(asked->policies.items);
    free(asked->budgets.items);
    free(asked->page_sizes);
}

static enum kvr_status parse_metric(const char *text, enum kvr_metric *metric,
                                    struct kvr_error *err)
{
    char list[256] = "";
    if (text == NULL || kvr_metric_find(text, metric))
        return KVR_OK;
    for (size_t i = 0; i < KVR_METRICS; i++) {
        strncat(list, i > 0 ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, kvr_metrics[i].name, sizeof list - strlen(list) - 1);
    }
    return kvr_fail(err, KVR_BAD_ARGUMENT, "--metric: \"%s\" is none of %s", text, list);
}

static enum kvr_status parse_filter(const char *option, const char *text,
                                    struct kvr_compare_filter *filter, struct kvr_error *err)
{
    return text != NULL ? kvr_argument_list(option, text, &filter->items, &filter->count, err)
                        : KVR_OK;
}

static enum kvr_status parse_page_sizes(const char *text, struct kvr_compare_options *asked,
                                        struct kvr_error *err)
{
    struct kvr_compare_filter list = {0, NULL};
    enum kvr_status status = parse_filter("--page-size", text, &list, err);
    if (status == KVR_OK) {
        asked->page_sizes = kvr_alloc(list.count, sizeof *asked->page_sizes, err);
        status = asked->page_sizes != NULL ? KVR_OK : KVR_NO_MEMORY;
    }
    for (; status == KVR_OK && asked->page_size_count < list.count; asked->page_size_count++)
        status = kvr_argument_unsigned("--page-size", list.items[asked->page_size_count], 1,
                                       UINT32_MAX, &asked->page_sizes[asked->page_size_count], err);
    free(list.items);
    return status;
}

static enum kvr_status parse_options(const struct kvr_command *command,
                                     const struct kvr_arguments *arguments,
                                     struct kvr_compare_options *asked, struct kvr_error *err)
{
    struct {
        const char *option;
        struct kvr_compare_filter *filter;
    } filters[] = {
        {"--scorer", &asked->scorers},
        {"--policy", &asked->policies},
        {"--budget", &asked->budgets},
    };
    asked->bootstrap = kvr_bootstrap_default();
    asked->element_bytes = 2;
    asked->baseline = kvr_argument(command, arguments, "--baseline");
    asked->any_metric = kvr_argument(command, arguments, "--metric") == NULL;
    enum kvr_status status =
        parse_metric(kvr_argument(command, arguments, "--metric"), &asked->metric, err);
    for (size_t i = 0; status == KVR_OK && i < sizeof filters / sizeof *filters; i++)
        status =
            parse_filter(filters[i].option, kvr_argument(command, arguments, filters[i].option),
                         filters[i].filter, err);
    if (status == KVR_OK)
        status = parse_page_sizes(kvr_argument(command, arguments, "--page-size"), asked, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--seed", kvr_argument(command, arguments, "--seed"), 0,
                                       UINT64_MAX, &asked->bootstrap.seed, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--element-bytes",
                                       kvr_argument(command, arguments, "--element-bytes"), 1, 16,
                                       &asked->element_bytes, err);
    return status;
}

static enum kvr_status write_file(const char *path, const struct kvr_text *text,
                                  struct kvr_error *err)
{
    struct kvr_outfile *file;
    enum kvr_status status = kvr_outfile_open(path, &file, err);
    if (status != KVR_OK)
        return status;
    status = kvr_outfile_write(file, text->data, text->length, err);
    if (status != KVR_OK) {
        kvr_outfile_abandon(file);
        return status;
    }
    return kvr_outfile_commit(file, err);
}

static enum kvr_status show(const struct kvr_command *command,
                            const struct kvr_arguments *arguments,
                            const struct kvr_comparison *comparison, struct kvr_error *err)
{
    const char *csv = kvr_argument(command, arguments, "--csv");
    struct kvr_text text = {0};
    enum kvr_status status = KVR_OK;
    if (csv != NULL) {
        kvr_compare_csv(comparison, &text);
        status = kvr_text_check(&text, err);
        if (status == KVR_OK)
            status = write_file(csv, &text, err);
        kvr_text_clear(&text);
    }
    if (kvr_argument(command, arguments, "--json") != NULL)
        kvr_compare_json(comparison, &text);
    else
        kvr_compare_page(comparison, kvr_argument(command, arguments, "--budget") != NULL, &text);
    if (status == KVR_OK)
        status = kvr_text_check(&text, err);
    if (status == KVR_OK)
        fwrite(text.data, 1, text.length, stdout);
    kvr_text_free(&text);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct kvr_compare_options asked = {.metric = KVR_METRIC_FUTURE_PEAK};
    struct kvr_comparison comparison = {0};
    enum kvr_status status = parse_options(command, arguments, &asked, err);
    if (status == KVR_OK)
        status =
            kvr_compare(arguments->operands, arguments->operand_count, &asked, &comparison, err);
    if (status == KVR_IO)
        kvr_hint_tables(err);
    if (status == KVR_OK)
        status = show(command, arguments, &comparison, err);
    kvr_comparison_free(&comparison);
    free_options(&asked);
    return kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_compare;

const struct kvr_command kvr_command_compare = {
    .name = "compare",
    .operands = "DIR...",
    .summary = "compares policies from the tables of replays, at equal memory",
    .text =
        "Each DIR is a folder that kvreplay replay -o wrote; several may hold different traces "
        "or different policies, made with the same options. Rows are policies, columns budgets, "
        "a table by page size. Every measure is pooled over a sample's layers and groups, then "
        "averaged over samples; differences are paired, with bootstrap intervals over samples.\n"
        "\n"
        "Policies are paired at equal memory alone: what holds over 1 % more than the budget is "
        "shown, and left out of the pairs. Replay with --match physical to give policies that "
        "keep a set per query head the quota whose union fits the budget.",
    .least_operands = 1,
    .most_operands = (size_t)-1,
    .options = options,
    .run = run,
};
