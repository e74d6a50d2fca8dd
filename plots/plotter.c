/*
 * From a figure to files in memory: computes its draft, puts the gnuplot script together, runs it
 * once for each format in a folder of its own, and takes what came out. It must not know what any
 * figure shows.
 */
#include "plots/plotter.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "plots/caption.h"
#include "plots/drawing.h"
#include "plots/gnuplot.h"
#include "plots/source.h"
#include "plots/svg_polish.h"
#include "plots/templates.h"

struct kvr_plotter {
    struct kvr_plot_options options;
    struct kvr_source source;
    struct kvr_gnuplot gnuplot;
    const char *terminals[KVR_PICTURE_FORMATS]; /* NULL: not drawn */
    struct kvr_text notes;
};

const char *const kvr_picture_format_names[KVR_PICTURE_FORMATS] = {"svg", "pdf", "png", "tex",
                                                                   "text"};

/* What can draw a format, the best first. */
static const char *const terminals_of[KVR_PICTURE_FORMATS][3] = {
    [KVR_PICTURE_SVG] = {"svg"},
    [KVR_PICTURE_PDF] = {"pdfcairo"},
    [KVR_PICTURE_PNG] = {"pngcairo", "png"},
    [KVR_PICTURE_TEX] = {"cairolatex", "epslatex"},
    [KVR_PICTURE_TEXT] = {"dumb"},
};

/* ------------------------------------------------------------------------------ opening */

static const char *terminal_for(const struct kvr_gnuplot *gnuplot, unsigned format)
{
    for (size_t i = 0; i < 3 && terminals_of[format][i] != NULL; i++)
        if (kvr_gnuplot_has(gnuplot, terminals_of[format][i]))
            return terminals_of[format][i];
    return NULL;
}

/* A format that this gnuplot lacks gives way to SVG. */
static enum kvr_status settle_formats(struct kvr_plotter *plotter, struct kvr_error *err)
{
    size_t drawn = 0;
    for (unsigned f = 0; f < KVR_PICTURE_FORMATS; f++) {
        if (!plotter->options.formats[f])
            continue;
        unsigned taken = f;
        plotter->terminals[f] = terminal_for(&plotter->gnuplot, f);
        if (plotter->terminals[f] == NULL && f != KVR_PICTURE_TEXT) {
            taken = KVR_PICTURE_SVG;
            plotter->terminals[taken] = terminal_for(&plotter->gnuplot, taken);
            if (plotter->terminals[taken] != NULL)
                kvr_text_add(&plotter->notes,
                             "%s: this gnuplot has no %s terminal, svg takes its place\n",
                             kvr_picture_format_names[f], terminals_of[f][0]);
        }
        drawn += plotter->terminals[taken] != NULL;
    }
    if (drawn > 0)
        return kvr_text_check(&plotter->notes, err);
    kvr_fail(err, KVR_IO, "\"%s\": has no terminal for what was asked for", plotter->gnuplot.path);
    return kvr_hint(err, "apt-get install gnuplot-nox; \"gnuplot -e 'set terminal'\" lists its "
                         "terminals");
}

enum kvr_status kvr_plotter_open(const struct kvr_plot_options *options, struct kvr_plotter **out,
                                 struct kvr_error *err)
{
    struct kvr_plotter *plotter = kvr_alloc(1, sizeof *plotter, err);
    if (plotter == NULL)
        return KVR_NO_MEMORY;
    plotter->options = *options;
    enum kvr_status status = kvr_gnuplot_find(&plotter->gnuplot, err);
    if (status == KVR_OK)
        status = settle_formats(plotter, err);
    if (status == KVR_OK)
        status = options->folder != NULL ? kvr_source_open(options, &plotter->source, err) : KVR_OK;
    if (status != KVR_OK) {
        kvr_plotter_close(plotter);
        return status;
    }
    *out = plotter;
    return KVR_OK;
}

const char *kvr_plotter_notes(const struct kvr_plotter *plotter)
{
    return plotter->notes.data != NULL ? plotter->notes.data : "";
}

void kvr_plotter_close(struct kvr_plotter *plotter)
{
    if (plotter == NULL)
        return;
    kvr_source_free(&plotter->source);
    kvr_gnuplot_free(&plotter->gnuplot);
    kvr_text_free(&plotter->notes);
    free(plotter);
}

/* ------------------------------------------------------------------------------ the script */

static void add_template(struct kvr_text *script, const char *name)
{
    const struct kvr_template *template = kvr_templates;
    while (template->name != NULL && strcmp(template->name, name) != 0)
        template ++;
    if (template->name == NULL) { /* no figure without one: a test draws them all */
        script->failed = true;
        return;
    }
    for (const char *const *line = template->lines; *line != NULL; line++) {
        kvr_text_string(script, *line);
        kvr_text_string(script, "\n");
    }
}

static void add_default(struct kvr_text *script, const char *name, double value)
{
    kvr_text_add(script, "if (!exists('%s')) %s = ", name, name);
    kvr_text_figure(script, value);
    kvr_text_string(script, "\n");
}

static void write_script(const struct kvr_plotter *plotter, const struct kvr_figure *figure,
                         const struct kvr_draft *draft, struct kvr_text *script)
{
    double width = plotter->options.wide ? 6.9 : 3.35;
    double height = draft->height > 0 ? draft->height : 0.6 * 3.35;
    kvr_text_add(script,
                 "# %s\n"
                 "# kvreplay plot wrote this script and its data, %s.dat. Edit it, then:\n"
                 "#   gnuplot %s.gp\n"
                 "#   gnuplot -e \"format='pdf'\" %s.gp    (or svg, png, tex, text)\n\n"
                 "name = '%s'\n",
                 figure->title, figure->name, figure->name, figure->name, figure->name);
    kvr_text_string(script, "headline = ");
    kvr_gnuplot_quote(script, figure->title);
    kvr_text_string(script, "\n");
    add_default(script, "width", width);
    add_default(script, "height", height);
    add_default(script, "columns",
                plotter->options.columns > 0 ? (double)plotter->options.columns : 79);
    add_default(script, "lines", draft->text_lines > 0 ? draft->text_lines : 24);
    kvr_text_bytes(script, draft->facts.data, draft->facts.length);
    kvr_text_string(script, "\n");
    add_template(script, "style");
    kvr_text_string(script, "\n");
    add_template(script, draft->template_name != NULL ? draft->template_name : figure->name);
}

/* ------------------------------------------------------------------------------ drawing */

/* Runs the script for one format in the folder of the drawing. */
static enum kvr_status draw_format(const struct kvr_plotter *plotter,
                                   const struct kvr_figure *figure, const char *folder,
                                   unsigned format, struct kvr_text *messages,
                                   struct kvr_error *err)
{
    char commands[300], script[100];
    snprintf(commands, sizeof commands, "format='%s'; terminal='%s'",
             kvr_picture_format_names[format], plotter->terminals[format]);
    snprintf(script, sizeof script, "%s.gp", figure->name);
    enum kvr_status status =
        kvr_gnuplot_run(&plotter->gnuplot, folder, commands, script, messages, err);
    return status == KVR_OK ? status : kvr_at(err, "%s", figure->name);
}

/* gnuplot leaves an empty file where it found nothing to draw. */
static enum kvr_status check_pictures(const struct kvr_drawing *drawing, struct kvr_error *err)
{
    for (size_t i = 0; i < drawing->file_count; i++)
        if (drawing->files[i].length == 0)
            return kvr_fail(err, KVR_IO, "%s: gnuplot left %s empty", drawing->figure->name,
                            drawing->files[i].name);
    return KVR_OK;
}

/* Characters without the blanks that gnuplot fills its page with. */
static void trim_page(const char *page, struct kvr_text *out)
{
    while (*page != '\0') {
        size_t length = strcspn(page, "\n"), end = length;
        while (end > 0 && (page[end - 1] == ' ' || page[end - 1] == '\f'))
            end--;
        if (end > 0 || out->length > 0) {
            kvr_text_bytes(out, page, end);
            kvr_text_string(out, "\n");
        }
        page += length + (page[length] == '\n');
    }
    while (out->length > 1 && out->data[out->length - 2] == '\n')
        out->data[--out->length] = '\0';
}

static enum kvr_status polish(struct kvr_drawing *drawing, struct kvr_error *err)
{
    for (size_t i = 0; i < drawing->file_count; i++) {
        struct kvr_drawing_file *file = &drawing->files[i];
        struct kvr_text out = {0};
        if (strstr(file->name, ".svg") != NULL)
            kvr_svg_polish(file->bytes, drawing->figure->name, drawing->figure->title, &out);
        else if (strstr(file->name, ".text") != NULL)
            trim_page(file->bytes, &out);
        else
            continue;
        if (kvr_text_check(&out, err) != KVR_OK) {
            kvr_text_free(&out);
            return KVR_NO_MEMORY;
        }
        free(file->bytes);
        file->bytes = out.data;
        file->length = out.length;
    }
    return KVR_OK;
}

static void remove_folder(const char *folder)
{
    struct kvr_error ignored;
    DIR *entries = opendir(folder);
    if (entries == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char *path = kvr_join_path(folder, entry->d_name, &ignored);
        if (path != NULL && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(path);
        free(path);
    }
    closedir(entries);
    rmdir(folder);
}

static enum kvr_status make_folder(char **folder, struct kvr_error *err)
{
    const char *place = getenv("TMPDIR");
    *folder = kvr_join_path(place != NULL && *place != '\0' ? place : "/tmp",
                            "kvreplay-plot-XXXXXX", err);
    if (*folder == NULL)
        return KVR_NO_MEMORY;
    if (mkdtemp(*folder) != NULL)
        return KVR_OK;
    kvr_fail(err, KVR_IO, "\"%s\": a folder for drawing cannot be made: %s", *folder,
             strerror(errno));
    free(*folder);
    *folder = NULL;
    return kvr_hint(err, "set TMPDIR to a folder that you may write to");
}

static enum kvr_status draw_in_folder(struct kvr_plotter *plotter, struct kvr_drawing *drawing,
                                      const char *folder, struct kvr_error *err)
{
    struct kvr_text messages = {0};
    enum kvr_status status = kvr_drawing_save(drawing, folder, err);
    for (unsigned f = 0; status == KVR_OK && f < KVR_PICTURE_FORMATS; f++)
        if (plotter->terminals[f] != NULL)
            status = draw_format(plotter, drawing->figure, folder, f, &messages, err);
    if (status == KVR_OK)
        status = kvr_drawing_collect(drawing, folder, err);
    if (status == KVR_OK)
        status = check_pictures(drawing, err);
    if (status == KVR_OK)
        status = polish(drawing, err);
    if (status == KVR_OK) {
        drawing->remarks =
            kvr_copy_bytes(messages.data != NULL ? messages.data : "", messages.length, err);
        status = drawing->remarks == NULL ? KVR_NO_MEMORY : KVR_OK;
    }
    kvr_text_free(&messages);
    return status;
}

static enum kvr_status draw_draft(struct kvr_plotter *plotter, const struct kvr_draft *draft,
                                  struct kvr_drawing *drawing, struct kvr_error *err)
{
    struct kvr_text script = {0};
    char *folder = NULL;
    write_script(plotter, drawing->figure, draft, &script);
    enum kvr_status status = kvr_text_check(&script, err);
    if (status == KVR_OK)
        status = kvr_drawing_add(drawing, ".dat", draft->data.data, draft->data.length, err);
    if (status == KVR_OK)
        status = kvr_drawing_add(drawing, ".gp", script.data, script.length, err);
    kvr_text_free(&script);
    if (status == KVR_OK)
        status = kvr_drawing_add_caption(drawing, draft->caption.data, err);
    if (status == KVR_OK)
        status = make_folder(&folder, err);
    if (status == KVR_OK) {
        status = draw_in_folder(plotter, drawing, folder, err);
        remove_folder(folder);
    }
    free(folder);
    return status;
}

/* ------------------------------------------------------------------------------ figures */

/* Fills the reason if a table is missing. */
static void check_tables(const struct kvr_source *source, const struct kvr_figure *figure,
                         struct kvr_draft *draft)
{
    for (size_t i = 0; figure->tables[i] != NULL; i++)
        if (!kvr_source_has(source, figure->tables[i])) {
            kvr_draft_skip(draft, "%s is missing: %s writes it", figure->tables[i],
                           figure->made_by);
            return;
        }
}

static void explain_emptiness(const struct kvr_source *source, const struct kvr_figure *figure,
                              struct kvr_draft *draft)
{
    char words[KVR_COUNT_ROOM];
    if (source->excluded_at_all > 0)
        kvr_draft_skip(draft, "%s has no row to show; excluded.csv names %s as not finite",
                       figure->tables[0],
                       kvr_count_words(words, source->excluded_at_all, "(group, scorer) pair"));
    else
        kvr_draft_skip(draft, "%s has no row to show", figure->tables[0]);
}

enum kvr_status kvr_plotter_draw_draft(struct kvr_plotter *plotter, const struct kvr_figure *figure,
                                       const struct kvr_draft *draft, struct kvr_drawing *drawing,
                                       struct kvr_error *err)
{
    *drawing = (struct kvr_drawing){.figure = figure};
    enum kvr_status status = kvr_draft_check(draft, err);
    if (status == KVR_OK && draft->reason.length > 0) {
        drawing->reason = kvr_copy_string(draft->reason.data, err);
        return drawing->reason == NULL ? KVR_NO_MEMORY : KVR_OK;
    }
    return status == KVR_OK ? draw_draft(plotter, draft, drawing, err) : status;
}

enum kvr_status kvr_plotter_draw(struct kvr_plotter *plotter, const struct kvr_figure *figure,
                                 struct kvr_drawing *drawing, struct kvr_error *err)
{
    struct kvr_draft draft = {0};
    enum kvr_status status = KVR_OK;
    *drawing = (struct kvr_drawing){.figure = figure};
    check_tables(&plotter->source, figure, &draft);
    if (draft.reason.length == 0)
        status = figure->compute(&plotter->source, &draft, err);
    if (status == KVR_OK && draft.reason.length == 0 && draft.data.length == 0)
        explain_emptiness(&plotter->source, figure, &draft);
    if (status == KVR_OK)
        status = kvr_plotter_draw_draft(plotter, figure, &draft, drawing, err);
    kvr_draft_free(&draft);
    return status;
}
