/*
 * kvreplay table: the tables of a paper, made from those of a replay. What they hold and how they
 * look is in plots/; here options become calls.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/outfile.h"
#include "formats/table.h"
#include "plots/paper_tables.h"
#include "replay/cli/command.h"
#include "replay/cli/paper_options.h"

static const struct kvr_option options[] = {
    {"--format", "FORMAT", "latex (booktabs), markdown or csv (markdown)"},
    {"--table", "LIST", "union, certificates, masquerade, policies, needles, pages, bounds (all)"},
    {"-o", "PATH", "write there instead: a file, or with several tables a folder"},
    {"--scorer", "LIST", "only lines of these scorers, named as in the tables (all)"},
    {"--policy", "LIST", "only lines of these policies (all)"},
    {"--budget", "LIST", "only lines of these budgets (all)"},
    {"--page-size", "LIST", "only lines of these page sizes (all)"},
    {"--draws", "N", "bootstrap draws of an interval (10000)"},
    {"--seed", "N", "seed of the bootstrap (0)"},
    {NULL, NULL, NULL},
};

struct request {
    enum kvr_table_format format;
    size_t count;
    const struct kvr_paper_kind *kinds[KVR_PAPER_KINDS];
    const char *path; /* NULL: standard output */
    struct kvr_paper_filter filter;
};

static enum kvr_status read_format(const char *text, enum kvr_table_format *format,
                                   struct kvr_error *err)
{
    *format = KVR_TABLE_MARKDOWN;
    if (text == NULL)
        return KVR_OK;
    for (size_t i = 0; i < KVR_TABLE_FORMATS; i++)
        if (strcmp(text, kvr_table_formats[i]) == 0) {
            *format = (enum kvr_table_format)i;
            return KVR_OK;
        }
    return kvr_fail(err, KVR_BAD_ARGUMENT,
                    "--format: expected latex, markdown or csv, found \"%s\"", text);
}

static enum kvr_status add_kind(struct request *request, const char *name, struct kvr_error *err)
{
    for (size_t i = 0; i < KVR_PAPER_KINDS; i++)
        if (strcmp(kvr_paper_kinds[i]->name, name) == 0) {
            for (size_t j = 0; j < request->count; j++)
                if (request->kinds[j] == kvr_paper_kinds[i])
                    return kvr_fail(err, KVR_BAD_ARGUMENT, "--table: \"%s\" is listed twice", name);
            request->kinds[request->count++] = kvr_paper_kinds[i];
            return KVR_OK;
        }
    return kvr_fail(err, KVR_BAD_ARGUMENT,
                    "--table: unknown table \"%s\"; there are union, certificates, masquerade, "
                    "policies, needles, pages, bounds, all",
                    name);
}

static enum kvr_status read_kinds(const char *text, struct request *request, struct kvr_error *err)
{
    char **items;
    size_t count;
    if (text == NULL || strcmp(text, "all") == 0) {
        request->count = KVR_PAPER_KINDS;
        memcpy(request->kinds, kvr_paper_kinds, sizeof request->kinds);
        return KVR_OK;
    }
    enum kvr_status status = kvr_argument_list("--table", text, &items, &count, err);
    if (status != KVR_OK)
        return status;
    for (size_t i = 0; status == KVR_OK && i < count; i++)
        status = add_kind(request, items[i], err);
    free(items);
    return status;
}

/* ------------------------------------------------------------------------------ writing */

static enum kvr_status add_table(const struct request *request, size_t index,
                                 const struct kvr_paper_source *source, struct kvr_text *text,
                                 struct kvr_error *err)
{
    struct kvr_paper_table table;
    enum kvr_status status =
        kvr_paper_table_build(request->kinds[index], source, &request->filter, &table, err);
    if (status == KVR_OK)
        kvr_paper_table_write(&table, request->format, text);
    kvr_paper_table_free(&table);
    return status == KVR_OK ? kvr_text_check(text, err) : status;
}

/* All tables one after the other; CSV tables are told apart by a line with the name. */
static enum kvr_status write_joined(const struct request *request,
                                    const struct kvr_paper_source *source, struct kvr_error *err)
{
    struct kvr_text text = {0};
    enum kvr_status status = KVR_OK;
    kvr_paper_table_preamble(request->format, &text);
    for (size_t i = 0; status == KVR_OK && i < request->count; i++) {
        if (i > 0)
            kvr_text_string(&text, "\n");
        if (request->format == KVR_TABLE_CSV && request->count > 1)
            kvr_text_add(&text, "# %s\n", request->kinds[i]->name);
        status = add_table(request, i, source, &text, err);
    }
    if (status == KVR_OK && request->path == NULL)
        fwrite(text.data, 1, text.length, stdout);
    else if (status == KVR_OK)
        status = kvr_write_whole(request->path, text.data, text.length, err);
    kvr_text_free(&text);
    return status;
}

/* A file for each table, all or none. */
static enum kvr_status write_folder(const struct request *request,
                                    const struct kvr_paper_source *source, struct kvr_error *err)
{
    static const char *const endings[KVR_TABLE_FORMATS] = {"tex", "md", "csv"};
    struct kvr_tables files;
    struct kvr_text text = {0}, name = {0};
    enum kvr_status status = kvr_tables_open(&files, request->path, err);
    if (status != KVR_OK)
        return status;
    for (size_t i = 0; status == KVR_OK && i < request->count; i++) {
        struct kvr_outfile *file;
        kvr_text_clear(&text);
        kvr_text_clear(&name);
        kvr_text_add(&name, "%s.%s", request->kinds[i]->name, endings[request->format]);
        kvr_paper_table_preamble(request->format, &text);
        status = add_table(request, i, source, &text, err);
        if (status == KVR_OK)
            status = kvr_text_check(&name, err);
        if (status == KVR_OK)
            status = kvr_tables_add(&files, name.data, NULL, &file, err);
        if (status == KVR_OK)
            status = kvr_outfile_write(file, text.data, text.length, err);
    }
    if (status == KVR_OK)
        status = kvr_tables_commit(&files, err);
    else
        kvr_tables_abandon(&files);
    kvr_text_free(&text);
    kvr_text_free(&name);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct request request = {.path = kvr_argument(command, arguments, "-o")};
    struct kvr_bootstrap bootstrap;
    struct kvr_paper_source source = {.bootstrap = {.draws = 0}};
    enum kvr_status status =
        read_format(kvr_argument(command, arguments, "--format"), &request.format, err);
    if (status == KVR_OK)
        status = read_kinds(kvr_argument(command, arguments, "--table"), &request, err);
    if (status == KVR_OK)
        status = kvr_paper_bootstrap_options(command, arguments, &bootstrap, err);
    if (status == KVR_OK)
        status = kvr_paper_filter_options(command, arguments, &request.filter, err);
    if (status == KVR_OK)
        status = kvr_paper_source_read(arguments->operands[0], &bootstrap, &source, err);
    if (status == KVR_IO)
        kvr_hint_tables(err);
    if (status == KVR_OK)
        status = kvr_paper_check_filter(&request.filter, &source.sums, err);
    if (status == KVR_OK)
        status = request.path != NULL && request.count > 1 ? write_folder(&request, &source, err)
                                                           : write_joined(&request, &source, err);
    kvr_paper_filter_free(&request.filter);
    kvr_paper_source_free(&source);
    return kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_table;

const struct kvr_command kvr_command_table = {
    .name = "table",
    .operands = "DIR",
    .summary = "writes a paper's tables as LaTeX, Markdown or CSV",
    .text = "DIR holds the tables of \"kvreplay replay -o DIR\". Figures are means over groups, or "
            "pooled over the layers and groups of a prompt where later tokens' attention is "
            "meant; in brackets stand bootstrap intervals over prompts, because groups of one "
            "prompt are not independent. No interval is given from fewer than 3 prompts. Groups "
            "that were excluded are told in footnotes. CSV holds the figures in full.",
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = run,
};
