/*
 * `kvreplay plot`: draws the figures that a folder of tables can give, each with its data, its
 * gnuplot script and its caption, or draws them in the terminal.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/base/text.h"
#include "plots/figures.h"
#include "replay/cli/command.h"
#include "replay/cli/nearest.h"
#include "replay/cli/picture_options.h"
#include "replay/cli/readable.h"

static const struct kvr_option options_of_plot[] = {
    {"-o", "FIGS", "folder for the figures (required without --terminal)"},
    {"--figures", "LIST", "only these figures, by name (all)"},
    {"--format", "LIST", "svg, pdf, png, tex (svg)"},
    {"--width", "COLUMN", "of a paper: single (3.35 in) or double (6.9 in) (single)"},
    {"--terminal", NULL, "draws with characters on standard output"},
    {"--trace", "NAME", "shows this trace (all of them together)"},
    {"--scorer", "NAME", "scorer of figures that show one (last, or the first)"},
    {"--budget", "FRACTION", "budget of figures that show one (the one nearest to 0.1)"},
    {"--page-size", "B", "page size of figures that show one (1, or the first)"},
    {"--list", NULL, "lists the figures and the tables they need; DIR may be missing then"},
    {"--quiet", NULL, "prints neither figures' names nor notes"},
    {NULL, NULL, NULL},
};

struct session {
    struct kvr_plot_options options;
    const char *out; /* NULL: only the terminal */
    bool quiet;
    size_t figure_count;
    const struct kvr_figure **figures;
    struct kvr_columns listed; /* what was drawn */
    struct kvr_text skipped;   /* what was not, a line each */
};

/* ------------------------------------------------------------------------------ command line */

static enum kvr_status unknown_figure(const char *name, struct kvr_error *err)
{
    char names[480] = "";
    struct kvr_nearest nearest = {.typed = name};
    size_t used = 0;
    for (const struct kvr_figure *figure = kvr_figures; figure->name != NULL; figure++) {
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? ", " : "", figure->name);
        kvr_nearest_offer(&nearest, figure->name);
    }
    kvr_fail(err, KVR_BAD_ARGUMENT, "--figures: unknown figure \"%.100s\"", name);
    if (nearest.name != NULL)
        return kvr_hint(err, "did you mean \"%s\"?", nearest.name);
    return kvr_hint(err, "the figures are %s", names);
}

static enum kvr_status choose_figures(const char *text, struct session *session,
                                      struct kvr_error *err)
{
    char **names = NULL;
    size_t count = 0;
    enum kvr_status status = KVR_OK;
    if (text != NULL)
        status = kvr_argument_list("--figures", text, &names, &count, err);
    if (status != KVR_OK)
        return status;
    size_t known = 0;
    while (kvr_figures[known].name != NULL)
        known++;
    session->figures = kvr_alloc(text != NULL ? count : known, sizeof *session->figures, err);
    if (session->figures == NULL)
        status = KVR_NO_MEMORY;
    for (size_t i = 0; status == KVR_OK && i < (text != NULL ? count : known); i++) {
        const struct kvr_figure *figure =
            text != NULL ? kvr_find_figure(names[i]) : &kvr_figures[i];
        if (figure == NULL)
            status = unknown_figure(names[i], err);
        else
            session->figures[session->figure_count++] = figure;
    }
    free(names);
    return status;
}

static enum kvr_status parse(const struct kvr_command *command,
                             const struct kvr_arguments *arguments, struct session *session,
                             struct kvr_error *err)
{
    struct kvr_plot_options *options = &session->options;
    bool terminal = kvr_argument(command, arguments, "--terminal") != NULL;
    session->out = kvr_argument(command, arguments, "-o");
    session->quiet = kvr_argument(command, arguments, "--quiet") != NULL;
    options->folder = arguments->operand_count > 0 ? arguments->operands[0] : NULL;
    options->trace = kvr_argument(command, arguments, "--trace");
    options->scorer = kvr_argument(command, arguments, "--scorer");
    options->budget = kvr_argument(command, arguments, "--budget");
    options->page_size = kvr_argument(command, arguments, "--page-size");
    if (options->folder == NULL)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "expected DIR, found no operand");
    if (session->out == NULL && !terminal)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "-o FIGS is missing: where should the figures go?");
    enum kvr_status status =
        choose_figures(kvr_argument(command, arguments, "--figures"), session, err);
    if (status == KVR_OK)
        status = kvr_picture_options_parse(command, arguments, options, err);
    for (unsigned f = 0; f < KVR_PICTURE_TEXT; f++)
        options->formats[f] = options->formats[f] && session->out != NULL;
    options->formats[KVR_PICTURE_TEXT] = terminal;
    return status;
}

/* ------------------------------------------------------------------------------ drawing */

static void print_remarks(const struct session *session, const struct kvr_drawing *drawing)
{
    char before[100];
    snprintf(before, sizeof before, "%s: ", drawing->figure->name);
    if (!session->quiet)
        kvr_print_plot_notes(before, drawing->remarks);
}

static void print_picture(const struct kvr_drawing *drawing)
{
    const struct kvr_drawing_file *picture = kvr_drawing_find(drawing, ".text");
    if (picture != NULL)
        fwrite(picture->bytes, 1, picture->length, stdout);
    printf("\n%s\n", drawing->caption);
}

/* A drawing in characters goes to the terminal, not to the folder. */
static void drop_picture(struct kvr_drawing *drawing)
{
    for (size_t i = 0; i < drawing->file_count; i++)
        if (strstr(drawing->files[i].name, ".text") != NULL) {
            free(drawing->files[i].name);
            free(drawing->files[i].bytes);
            drawing->files[i] = drawing->files[--drawing->file_count];
            return;
        }
}

static enum kvr_status take(struct session *session, struct kvr_drawing *drawing,
                            struct kvr_error *err)
{
    print_remarks(session, drawing);
    if (session->options.formats[KVR_PICTURE_TEXT])
        print_picture(drawing);
    if (session->out == NULL)
        return KVR_OK;
    drop_picture(drawing);
    kvr_columns_cell(&session->listed, "%s", drawing->figure->name);
    kvr_columns_cell(&session->listed, "%s", drawing->figure->title);
    kvr_columns_end_row(&session->listed);
    enum kvr_status status = kvr_make_folder(session->out, err);
    return status == KVR_OK ? kvr_drawing_save(drawing, session->out, err) : status;
}

static enum kvr_status draw_all(struct session *session, struct kvr_plotter *plotter, size_t *drawn,
                                struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < session->figure_count; i++) {
        struct kvr_drawing drawing;
        status = kvr_plotter_draw(plotter, session->figures[i], &drawing, err);
        if (status == KVR_OK && drawing.reason != NULL)
            kvr_text_add(&session->skipped, "%s: %s\n", drawing.figure->name, drawing.reason);
        else if (status == KVR_OK) {
            status = take(session, &drawing, err);
            ++*drawn;
        }
        kvr_drawing_free(&drawing);
    }
    if (status == KVR_OK)
        status = kvr_text_check(&session->skipped, err);
    if (status == KVR_OK && *drawn == 0) {
        const char *first = session->skipped.data;
        kvr_fail(err, KVR_BAD_INPUT, "\"%s\": no figure can be drawn", session->options.folder);
        return kvr_hint(err, "%.*s", (int)strcspn(first, "\n"), first);
    }
    if (status == KVR_OK && !session->quiet && session->skipped.length > 0)
        kvr_print_plot_notes("", session->skipped.data);
    return status;
}

static enum kvr_status print_list_of_drawn(struct session *session, struct kvr_error *err)
{
    struct kvr_text text = {0};
    kvr_columns_write(&session->listed, "ll", &text);
    enum kvr_status status = kvr_text_check(&text, err);
    if (status == KVR_OK)
        printf("Figures in %s, each with its data (.dat), script (.gp) and caption (.txt)\n%s",
               session->out, text.data);
    kvr_text_free(&text);
    return status;
}

static enum kvr_status run_session(struct session *session, struct kvr_error *err)
{
    struct kvr_plotter *plotter = NULL;
    size_t drawn = 0;
    enum kvr_status status = kvr_plotter_open(&session->options, &plotter, err);
    if (status == KVR_OK && !session->quiet)
        kvr_print_plot_notes("", kvr_plotter_notes(plotter));
    if (status == KVR_OK)
        status = draw_all(session, plotter, &drawn, err);
    if (status == KVR_OK && session->out != NULL && !session->quiet)
        status = print_list_of_drawn(session, err);
    kvr_plotter_close(plotter);
    return status;
}

static enum kvr_status list_figures(struct kvr_error *err)
{
    struct kvr_columns columns = {0};
    struct kvr_text text = {0};
    for (const struct kvr_figure *figure = kvr_figures; figure->name != NULL; figure++) {
        kvr_columns_cell(&columns, "%s", figure->name);
        kvr_columns_cell(&columns, "%s", figure->title);
        char tables[100] = "";
        for (size_t i = 0, used = 0; figure->tables[i] != NULL && used < sizeof tables; i++)
            used += (size_t)snprintf(tables + used, sizeof tables - used, "%s%s", i > 0 ? ", " : "",
                                     figure->tables[i]);
        kvr_columns_cell(&columns, "%s", tables);
        kvr_columns_end_row(&columns);
    }
    kvr_columns_write(&columns, "lll", &text);
    enum kvr_status status = kvr_text_check(&text, err);
    if (status == KVR_OK)
        fputs(text.data, stdout);
    kvr_text_free(&text);
    kvr_columns_free(&columns);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct session session = {0};
    if (kvr_argument(command, arguments, "--list") != NULL)
        return kvr_exit_status(list_figures(err));
    enum kvr_status status = parse(command, arguments, &session, err);
    if (status == KVR_OK)
        status = run_session(&session, err);
    kvr_columns_free(&session.listed);
    kvr_text_free(&session.skipped);
    free(session.figures);
    return kvr_exit_status(status);
}

const struct kvr_command kvr_command_plot = {
    .name = "plot",
    .operands = "DIR",
    .summary = "draws figures from the tables of a replay",
    .text = "Every figure lands in FIGS as a picture, its data (NAME.dat), the gnuplot script that "
            "draws it (NAME.gp, edit it and run gnuplot on it) and its caption with the numbers "
            "behind it (NAME.txt). A figure whose tables are missing is left out with a note that "
            "says what writes them.",
    .least_operands = 0,
    .most_operands = 1,
    .options = options_of_plot,
    .run = run,
};
