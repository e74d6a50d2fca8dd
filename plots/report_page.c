/*
 * The page as a whole: head, contents, sections in order. What the sections hold is elsewhere.
 */
#include <stdio.h>
#include <string.h>

#include "plots/html_table.h"
#include "plots/html_text.h"
#include "plots/report.h"

/* The lines of plots/report.css and plots/report.js, from the Makefile. */
static const char *const style[] = {
#include "plots/report.css.inc"
};
static const char *const script[] = {
#include "plots/report.js.inc"
};

static void add_lines(struct kvr_text *text, const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        kvr_text_string(text, lines[i]);
}

struct kvr_report_choice kvr_report_choose(const struct kvr_replay_sums *sums)
{
    struct kvr_report_choice choice = {KVR_NO_NAME, KVR_NO_NAME, 0};
    if (sums->overlaps.count == 0)
        return choice;
    const struct kvr_setting *first = &sums->overlaps.series[0].setting;
    size_t budgets[2] = {first->budget, first->budget}; /* of the first scorer and page size */
    for (size_t i = 0; i < sums->overlaps.count; i++) {
        const struct kvr_setting *setting = &sums->overlaps.series[i].setting;
        if (setting->scorer == first->scorer && setting->page_size == first->page_size)
            budgets[1] = setting->budget;
    }
    choice.scorer = first->scorer;
    choice.page_size = first->page_size;
    choice.budget = (budgets[0] + budgets[1]) / 2;
    return choice;
}

/* ------------------------------------------------------------------------------ head */

static void add_names(struct kvr_text *text, const struct kvr_names *names, size_t most)
{
    for (size_t i = 0; i < names->count && i < most; i++) {
        kvr_text_string(text, i > 0 ? ", " : "");
        kvr_html_string(text, names->items[i]);
    }
    if (names->count > most) {
        kvr_text_string(text, " and ");
        kvr_html_count(text, names->count - most);
        kvr_text_string(text, " more");
    }
    if (names->count == 0)
        kvr_text_string(text, "no trace");
}

static void add_head(const struct kvr_report *report, struct kvr_text *text)
{
    kvr_text_string(text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                          "<meta name=\"viewport\" content=\"width=device-width, "
                          "initial-scale=1\">\n"
                          "<meta name=\"color-scheme\" content=\"light dark\">\n"
                          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                          "'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                          "img-src data:; base-uri 'none'; form-action 'none'\">\n"
                          "<link rel=\"icon\" href=\"data:,\">\n<title>");
    add_names(text, &report->paper->sums.traces, 2);
    kvr_text_string(text, " – kvreplay report</title>\n<style>\n");
    add_lines(text, style, sizeof style / sizeof *style);
    kvr_text_string(text, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#headline\">Skip to "
                          "the headline numbers</a>\n");
}

static void add_banner(const struct kvr_report *report, struct kvr_text *text)
{
    const struct kvr_replay_sums *sums = &report->paper->sums;
    kvr_text_string(text, "<header>\n<p class=\"kicker\">kvreplay report</p>\n<h1>");
    add_names(text, &sums->traces, 4);
    kvr_text_string(text, "</h1>\n<p class=\"lead\">What KV-cache eviction would have kept: ");
    kvr_html_counted(text, sums->prompts.count, "prompt");
    kvr_text_string(text, " in ");
    kvr_html_counted(text, sums->traces.count, "trace");
    kvr_text_string(text, ", ");
    kvr_html_counted(text, report->layers->layer_count, "layer");
    kvr_text_string(text, ", under ");
    kvr_html_counted(text, sums->scorers.count, "scorer");
    kvr_text_string(text, " and ");
    kvr_html_count(text, sums->policies.count);
    kvr_text_string(text, sums->policies.count == 1 ? " policy" : " policies");
    kvr_text_string(text, " at ");
    kvr_html_counted(text, sums->budgets.count, "budget");
    kvr_text_string(text,
                    ".</p>\n<nav aria-label=\"Contents\"><ul>"
                    "<li><a href=\"#headline\">Headline</a></li>"
                    "<li><a href=\"#figures\">Figures</a></li>"
                    "<li><a href=\"#tables\">Tables</a></li>"
                    "<li><a href=\"#layers\">Layers</a></li>"
                    "<li><a href=\"#provenance\">Provenance</a></li></ul></nav>\n</header>\n");
}

/* ------------------------------------------------------------------------------ sections */

static void open_section(struct kvr_text *text, const char *id, const char *heading)
{
    kvr_text_add(text, "<section id=\"%s\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">%s</h2>\n",
                 id, id, id, heading);
}

/* Labels of a drawing come from names in traces. gnuplot escapes them; should it ever fail to, the
   drawing stays out. */
static bool is_inert(const char *svg)
{
    static const char *const active[] = {"<script", "<foreignobject", "javascript:", "<iframe",
                                         "<image",  "href=\"http",    "url(http"};
    for (size_t i = 0; i < sizeof active / sizeof *active; i++)
        if (strcasestr(svg, active[i]) != NULL)
            return false;
    return strstr(svg, "<svg") != NULL;
}

static bool is_shown(const struct kvr_report_figure *figure)
{
    return figure->svg != NULL && is_inert(figure->svg);
}

static void add_figure(const struct kvr_report_figure *figure, struct kvr_text *text)
{
    if (!is_shown(figure)) {
        kvr_text_string(text, "<p class=\"empty\"><b>");
        kvr_html_string(text, figure->title);
        kvr_text_string(text, "</b>: ");
        kvr_html_string(text, figure->reason != NULL
                                  ? figure->reason
                                  : "the drawing holds more than lines and text");
        kvr_text_string(text, "</p>\n");
        return;
    }
    kvr_text_add(text, "<figure id=\"figure-%s\">\n<div class=\"drawing\">\n", figure->name);
    kvr_text_string(text, strstr(figure->svg, "<svg")); /* a prolog has no place in HTML */
    kvr_text_string(text, "\n</div>\n<figcaption><b>");
    kvr_html_string(text, figure->title);
    kvr_text_string(text, ".</b> ");
    kvr_html_string(text, figure->caption != NULL ? figure->caption : "");
    kvr_text_string(text, "</figcaption>\n</figure>\n");
}

static void add_figures(const struct kvr_report *report, struct kvr_text *text)
{
    open_section(text, "figures", "Figures");
    if (report->figure_note != NULL) {
        kvr_text_string(text, "<p class=\"empty\">");
        kvr_html_string(text, report->figure_note);
        kvr_text_string(text, "</p>\n");
    }
    kvr_text_string(text, "<div class=\"gallery\">\n");
    for (size_t i = 0; i < report->figure_count; i++)
        if (is_shown(&report->figures[i]))
            add_figure(&report->figures[i], text);
    kvr_text_string(text, "</div>\n");
    for (size_t i = 0; i < report->figure_count; i++)
        if (!is_shown(&report->figures[i]))
            add_figure(&report->figures[i], text);
    kvr_text_string(text, "</section>\n");
}

static enum kvr_status add_tables(const struct kvr_report *report, struct kvr_text *text,
                                  struct kvr_error *err)
{
    static const struct kvr_paper_filter everything = {.scorers = {.count = 0}};
    enum kvr_status status = KVR_OK;
    open_section(text, "tables", "Tables");
    for (size_t i = 0; status == KVR_OK && i < KVR_PAPER_KINDS; i++) {
        const struct kvr_paper_kind *kind = kvr_paper_kinds[i];
        struct kvr_paper_table table;
        char id[64];
        status = kvr_paper_table_build(kind, report->paper, &everything, &table, err);
        if (status == KVR_OK) {
            kvr_text_add(text, "<section class=\"table\" id=\"%s\">\n<h3>", kind->name);
            kvr_html_string(text, kind->title);
            kvr_text_string(text, "</h3>\n<p class=\"caption\">");
            kvr_html_string(text, kind->caption);
            kvr_text_string(text, "</p>\n");
            snprintf(id, sizeof id, "%s-table", kind->name);
            kvr_html_table(text, &table, id, kind->title);
            kvr_text_string(text, "</section>\n");
        }
        kvr_paper_table_free(&table);
    }
    kvr_text_string(text, "</section>\n");
    return status;
}

static enum kvr_status add_layers(const struct kvr_report *report, struct kvr_text *text,
                                  struct kvr_error *err)
{
    open_section(text, "layers", "Layer by layer");
    if (report->layers->budget != NULL && report->layers->layer_count > 0) {
        kvr_text_string(text, "<p class=\"caption\">Means over prompts at budget ");
        kvr_html_string(text, report->layers->budget);
        if (report->layers->page_size == 1)
            kvr_text_string(text, ", selection by tokens");
        else
            kvr_text_add(text, ", pages of %llu", (unsigned long long)report->layers->page_size);
        kvr_text_string(text, "; the line of a layer is about its first scorer. Open a layer for "
                              "its groups and heads.</p>\n");
    }
    enum kvr_status status = kvr_report_add_layers(report->layers, text, err);
    kvr_text_string(text, "</section>\n");
    return status;
}

enum kvr_status kvr_report_write(const struct kvr_report *report, struct kvr_text *text,
                                 struct kvr_error *err)
{
    add_head(report, text);
    add_banner(report, text);
    kvr_text_string(text, "<main>\n");
    open_section(text, "headline", "Headline numbers");
    enum kvr_status status = kvr_report_add_headline(report, text, err);
    kvr_text_string(text, "<h3>What was replayed</h3>\n");
    if (status == KVR_OK)
        status = kvr_report_add_inputs(report, text, err);
    kvr_text_string(text, "</section>\n");
    add_figures(report, text);
    if (status == KVR_OK)
        status = add_tables(report, text, err);
    if (status == KVR_OK)
        status = add_layers(report, text, err);
    open_section(text, "provenance", "Provenance");
    kvr_report_add_provenance(report, text);
    kvr_text_string(text, "<p class=\"caption\">The tables in full are in ");
    kvr_html_string(text, report->folder);
    kvr_text_string(text, ". This page was made from them and holds no other figures.</p>\n"
                          "</section>\n</main>\n<script>\n");
    add_lines(text, script, sizeof script / sizeof *script);
    kvr_text_string(text, "</script>\n</body>\n</html>\n");
    return status == KVR_OK ? kvr_text_check(text, err) : status;
}
