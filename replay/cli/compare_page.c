/*
 * The page of `kvreplay compare`: a table by page size, details of a budget, and what to keep in
 * mind. All figures come from analysis/compare.h.
 */
#include "replay/cli/compare_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "replay/cli/readable.h"

/* Where a page is: the tables, and what is being shown. */
struct view {
    const struct kvr_comparison *comparison;
    struct kvr_text *page;
    struct kvr_columns table;
    size_t at; /* page size */
};

/* What the page must explain at its end. */
struct marks {
    bool best, over, under, partial;
};

static void add_count(struct kvr_text *text, uint64_t count, const char *noun)
{
    kvr_text_thousands(text, count);
    kvr_text_add(text, " %s%s", noun, count == 1 ? "" : "s");
}

static void label_cell(struct view *view, size_t use)
{
    const struct kvr_compare_use *row = &view->comparison->uses[use];
    if (row->named)
        kvr_columns_cell(&view->table, "%s", row->policy);
    else
        kvr_columns_cell(&view->table, "%s / %s", row->scorer, row->policy);
}

static void figure_cell(struct view *view, double value)
{
    if (isnan(value))
        kvr_columns_cell(&view->table, "-");
    else
        kvr_columns_cell(&view->table, "%.3f", value);
}

static void budget_heading(struct view *view, const char *corner)
{
    kvr_columns_cell(&view->table, "%s", corner);
    for (size_t b = 0; b < view->comparison->budget_count; b++)
        kvr_columns_cell(&view->table, "%s", view->comparison->budgets[b]);
    kvr_columns_end_row(&view->table);
}

/* The table's columns: a label, then figures. */
static void write_table(struct view *view)
{
    kvr_columns_write(&view->table, "lrrrrrrrrrrrrrrr", view->page);
}

static const struct kvr_compared *at(const struct view *view, size_t use, size_t budget)
{
    return kvr_compared_at(view->comparison, view->at, use, budget);
}

static bool is_shown(const struct view *view, size_t use)
{
    for (size_t b = 0; b < view->comparison->budget_count; b++)
        if (at(view, use, b)->present)
            return true;
    return false;
}

/* ------------------------------------------------------------------------------ head */

static void add_head(struct kvr_text *page, const struct kvr_comparison *comparison)
{
    add_count(page, comparison->samples, "sample");
    kvr_text_string(page, " of ");
    add_count(page, comparison->traces, "trace");
    kvr_text_string(page, ", ");
    add_count(page, comparison->layers, "layer");
    kvr_text_string(page, ", ");
    add_count(page, comparison->cells, "cell");
    kvr_text_string(page, " (sample, layer, group), ");
    add_count(page, comparison->needles, "needle");
    if (comparison->token_bytes > 0)
        kvr_text_add(page, "\na kept token takes %" PRIu64 " bytes in each (layer, group)",
                     comparison->token_bytes);
    else
        kvr_text_string(page, "\nmemory is counted in kept tokens: the trace does not say one "
                              "head size (attribute head_dim)");
    kvr_text_string(page, "\n");
}

static void add_section(struct view *view)
{
    uint64_t size = view->comparison->page_sizes[view->at];
    if (size == 1)
        kvr_text_string(view->page, "\n== Tokens ==\n");
    else
        kvr_text_add(view->page, "\n== Pages of %" PRIu64 " tokens ==\n", size);
}

/* ------------------------------------------------------------------------------ budgets */

/* The best use of a column by the measure, the ceiling and whoever holds more aside. */
static size_t best_use(const struct view *view, size_t budget)
{
    const struct kvr_comparison *comparison = view->comparison;
    bool less = kvr_metrics[comparison->metric].less_is_better;
    size_t best = comparison->use_count;
    for (size_t use = 0; use < comparison->use_count; use++) {
        const struct kvr_compared *compared = at(view, use, budget);
        double value = compared->means[comparison->metric];
        if (!compared->present || isnan(value) || use == comparison->ceiling ||
            kvr_compared_over(compared))
            continue;
        double most =
            best < comparison->use_count ? at(view, best, budget)->means[comparison->metric] : NAN;
        if (isnan(most) || (less ? value < most : value > most))
            best = use;
    }
    return best;
}

static void marked_cell(struct view *view, size_t use, size_t budget, struct marks *marks)
{
    const struct kvr_compared *compared = at(view, use, budget);
    double value = compared->means[view->comparison->metric];
    const char *mark = "";
    if (!compared->present || isnan(value)) {
        kvr_columns_cell(&view->table, "-");
        return;
    }
    marks->over |= kvr_compared_over(compared);
    marks->under |= kvr_compared_under(compared);
    marks->partial |= compared->cells < view->comparison->cells;
    if (kvr_compared_over(compared))
        mark = ">";
    else if (use == best_use(view, budget))
        mark = "*";
    else if (kvr_compared_under(compared))
        mark = "<";
    marks->best |= *mark == '*';
    kvr_columns_cell(&view->table, "%s%.3f", mark, value);
}

static void quota_row(struct view *view)
{
    const struct kvr_comparison *comparison = view->comparison;
    bool tokens = comparison->page_sizes[view->at] == 1;
    kvr_columns_cell(&view->table, tokens ? "tokens a group" : "pages a group");
    for (size_t b = 0; b < comparison->budget_count; b++)
        kvr_columns_cell(&view->table, "%.4g",
                         comparison->budget_units[view->at * comparison->budget_count + b]);
    kvr_columns_end_row(&view->table);
}

/* The chosen measure by policy and budget. */
static void add_budgets(struct view *view, struct marks *marks)
{
    const struct kvr_comparison *comparison = view->comparison;
    kvr_text_add(view->page, "Mean over samples of %s\n", kvr_metrics[comparison->metric].title);
    budget_heading(view, "budget");
    quota_row(view);
    for (size_t use = 0; use < comparison->use_count; use++) {
        if (!is_shown(view, use))
            continue;
        label_cell(view, use);
        for (size_t b = 0; b < comparison->budget_count; b++)
            marked_cell(view, use, b, marks);
        kvr_columns_end_row(&view->table);
    }
    write_table(view);
}

static bool differs(const struct kvr_compared *compared)
{
    return compared->present && (kvr_compared_over(compared) || kvr_compared_under(compared));
}

/* Memory of those that do not hold what the budget says. */
static void add_memory(struct view *view)
{
    const struct kvr_comparison *comparison = view->comparison;
    size_t rows = 0;
    budget_heading(view, "budget");
    for (size_t use = 0; use < comparison->use_count; use++) {
        bool any = false;
        for (size_t b = 0; b < comparison->budget_count; b++)
            any |= differs(at(view, use, b));
        if (!any)
            continue;
        label_cell(view, use);
        for (size_t b = 0; b < comparison->budget_count; b++)
            if (at(view, use, b)->present)
                kvr_columns_cell(&view->table, "%.2f", at(view, use, b)->memory);
            else
                kvr_columns_cell(&view->table, "-");
        kvr_columns_end_row(&view->table);
        rows++;
    }
    if (rows == 0) {
        kvr_text_clear(&view->table.cells);
        kvr_text_string(view->page, "\nEvery policy holds the budget's memory, to 1 %\n");
        return;
    }
    kvr_text_string(view->page, "\nMemory held / the budget's, where it differs by over 1 %\n");
    write_table(view);
}

/* ------------------------------------------------------------------------------ a budget */

/* The columns of all measures: two lines of a heading, and where a figure is. */
static const struct {
    const char *first, *second;
    int metric; /* or -1: kept whole in any (layer, group), -2: in every one */
} measure_columns[] = {
    {"future", "peak", KVR_METRIC_FUTURE_PEAK},
    {"future", "mass", KVR_METRIC_FUTURE_MASS},
    {"needle", "kept", KVR_METRIC_NEEDLE},
    {"needle", "any", -1},
    {"needle", "strict", -2},
    {"needle", "future", KVR_METRIC_NEEDLE_FUTURE},
    {"output", "error", KVR_METRIC_OUTPUT_ERROR},
    {"own", "mass", KVR_METRIC_RETAINED_MASS},
};
enum { MEASURE_COLUMNS = sizeof measure_columns / sizeof *measure_columns };

static double measure_of(const struct kvr_compared *compared, size_t column)
{
    int metric = measure_columns[column].metric;
    if (!compared->present)
        return NAN;
    if (metric >= 0)
        return compared->means[metric];
    return metric == -1 ? compared->needle_any : compared->needle_strict;
}

static bool any_has(const struct view *view, size_t budget, size_t column)
{
    for (size_t use = 0; use < view->comparison->use_count; use++)
        if (!isnan(measure_of(at(view, use, budget), column)))
            return true;
    return false;
}

static void add_measures(struct view *view, size_t budget)
{
    const struct kvr_comparison *comparison = view->comparison;
    kvr_text_string(view->page, "\nAll measures at budget ");
    kvr_text_printable(view->page, comparison->budgets[budget]);
    kvr_text_string(view->page, "\n");
    for (int line = 0; line < 2; line++) {
        kvr_columns_cell(&view->table, "%s", "");
        for (size_t c = 0; c < MEASURE_COLUMNS; c++)
            if (any_has(view, budget, c))
                kvr_columns_cell(&view->table, "%s",
                                 line == 0 ? measure_columns[c].first : measure_columns[c].second);
        kvr_columns_end_row(&view->table);
    }
    for (size_t use = 0; use < comparison->use_count; use++) {
        if (!at(view, use, budget)->present)
            continue;
        label_cell(view, use);
        for (size_t c = 0; c < MEASURE_COLUMNS; c++)
            if (any_has(view, budget, c))
                figure_cell(view, measure_of(at(view, use, budget), c));
        kvr_columns_end_row(&view->table);
    }
    write_table(view);
}

/* "20-60, 80-100": neighbouring fifths of the prompt joined. */
static void add_depths(struct kvr_text *text, const struct kvr_compared *compared)
{
    bool first = true;
    for (unsigned d = 0; d < KVR_COMPARE_DEPTHS; d++) {
        unsigned end = d;
        while (end < KVR_COMPARE_DEPTHS && compared->depth_lost[end])
            end++;
        if (end == d)
            continue;
        kvr_text_add(text, "%s%u-%u", first ? "" : ", ", d * 100 / KVR_COMPARE_DEPTHS,
                     end * 100 / KVR_COMPARE_DEPTHS);
        first = false;
        d = end;
    }
}

/* "layers 0-2, 7; needles 20-40 %" */
static void losses_cell(struct view *view, const struct kvr_compared *compared)
{
    struct kvr_text cell = {0};
    bool depths = false;
    for (unsigned d = 0; d < KVR_COMPARE_DEPTHS; d++)
        depths |= compared->depth_lost[d];
    if (compared->losing_count > 0 && compared->losing_count == compared->layer_count) {
        kvr_text_string(&cell, "every layer");
    } else if (compared->losing_count > 0) {
        kvr_text_add(&cell, "layer%s ", compared->losing_count == 1 ? "" : "s");
        kvr_text_ranges(&cell, compared->losing_layers, compared->losing_count, 4);
    }
    if (depths) {
        kvr_text_string(&cell, cell.length > 0 ? "; needles " : "needles ");
        add_depths(&cell, compared);
        kvr_text_string(&cell, " %");
    }
    kvr_columns_cell(&view->table, "%s", cell.length > 0 ? cell.data : "-");
    kvr_text_free(&cell);
}

static void interval_cell(struct view *view, const struct kvr_interval *interval)
{
    if (kvr_interval_exists(interval))
        kvr_columns_cell(&view->table, "%+.3f … %+.3f", interval->low, interval->high);
    else
        kvr_columns_cell(&view->table, "none");
}

/* Why there is no pair. */
static void unpaired_cells(struct view *view, const struct kvr_compared *compared)
{
    for (int column = 0; column < 4; column++)
        kvr_columns_cell(&view->table, "-");
    figure_cell(view, compared->regret);
    if (compared->pairing == KVR_PAIR_BASELINE)
        kvr_columns_cell(&view->table, "(the baseline)");
    else if (compared->pairing == KVR_PAIR_NOTHING)
        kvr_columns_cell(&view->table, "(no value that both have)");
    else if (kvr_compared_over(compared))
        kvr_columns_cell(&view->table, "(not paired: holds %.2f x the budget)", compared->memory);
    else
        kvr_columns_cell(&view->table, "(not paired: the baseline holds more)");
}

static void pair_row(struct view *view, size_t use, const struct kvr_compared *compared)
{
    label_cell(view, use);
    if (compared->pairing == KVR_PAIRED) {
        kvr_columns_cell(&view->table, "%+.3f", compared->difference.estimate);
        interval_cell(view, &compared->difference);
        kvr_columns_cell(&view->table, "%zu", compared->difference.samples);
        kvr_columns_cell(&view->table, "%" PRIu64 "/%" PRIu64 "/%" PRIu64, compared->wins,
                         compared->ties, compared->losses);
        figure_cell(view, compared->regret);
        losses_cell(view, compared);
    } else {
        unpaired_cells(view, compared);
    }
    kvr_columns_end_row(&view->table);
}

static void add_pairs(struct view *view, size_t budget)
{
    static const char *const headings[] = {"",      "difference", "95 % interval", "samples",
                                           "w/t/l", "regret",     "loses in"};
    const struct kvr_comparison *comparison = view->comparison;
    if (comparison->baseline == comparison->use_count) {
        kvr_text_string(view->page, "\nNo policy is paired: all hold more than the budget\n");
        return;
    }
    const struct kvr_compare_use *baseline = &comparison->uses[comparison->baseline];
    kvr_text_string(view->page, "\nAgainst ");
    kvr_text_printable(view->page, baseline->named ? "" : baseline->scorer);
    kvr_text_string(view->page, baseline->named ? "" : " / ");
    kvr_text_printable(view->page, baseline->policy);
    kvr_text_string(view->page, " at budget ");
    kvr_text_printable(view->page, comparison->budgets[budget]);
    kvr_text_add(view->page, ", %s, paired\n", kvr_metrics[comparison->metric].heading);
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        kvr_columns_cell(&view->table, "%s", headings[i]);
    kvr_columns_end_row(&view->table);
    for (size_t use = 0; use < comparison->use_count; use++)
        if (at(view, use, budget)->present)
            pair_row(view, use, at(view, use, budget));
    kvr_columns_write(&view->table, "lrrrrrl", view->page);
}

/* ------------------------------------------------------------------------------ notes */

/* The least and most samples behind an interval; false without a pair. */
static bool paired_samples(const struct kvr_comparison *comparison, size_t *least, size_t *most)
{
    size_t cells = comparison->page_count * comparison->use_count * comparison->budget_count;
    bool any = false;
    for (size_t i = 0; i < cells; i++) {
        const struct kvr_compared *compared = &comparison->compared[i];
        if (!compared->present || compared->pairing != KVR_PAIRED)
            continue;
        size_t samples = compared->difference.samples;
        *least = !any || samples < *least ? samples : *least;
        *most = !any || samples > *most ? samples : *most;
        any = true;
    }
    return any;
}

static void note_samples(const struct kvr_comparison *comparison, struct kvr_text *page)
{
    size_t least = 0, most = 0;
    if (!paired_samples(comparison, &least, &most))
        return;
    kvr_text_string(page, "  An interval is 95 % of ");
    kvr_text_thousands(page, comparison->bootstrap.draws);
    kvr_text_add(page, " bootstrap draws over %zu", least);
    if (most > least)
        kvr_text_add(page, " to %zu", most);
    kvr_text_add(page, " sample%s (seed %" PRIu64 ");\n    ", most == 1 ? "" : "s",
                 comparison->bootstrap.seed);
    if (most < KVR_LEAST_SAMPLES)
        kvr_text_add(page, "none is drawn from fewer than %d.\n", KVR_LEAST_SAMPLES);
    else if (most < 10)
        kvr_text_string(page, "from so few it is too narrow rather than too wide.\n");
    else
        kvr_text_string(page, "other prompts of the same kind, not other kinds or models.\n");
}

static void note_marks(const struct marks *marks, struct kvr_text *page)
{
    if (marks->best)
        kvr_text_string(page, "  * the best mean; whether it leads is for the pairs to say.\n");
    if (marks->under)
        kvr_text_string(page, "  < holds less than the budget, by over 1 %: as much as fits it.\n");
    if (marks->over)
        kvr_text_string(page,
                        "  > holds more than the budget, by over 1 %, and is not paired. Policies "
                        "that keep a set\n    per query head fit with replay --match physical; "
                        "where a gate is closed all is kept.\n");
    if (marks->partial)
        kvr_text_string(page, "  Some policies have no rows for some (sample, layer, group): their "
                              "means are over others;\n    pairs are over shared ones.\n");
}

static void add_notes(const struct kvr_comparison *comparison, const struct marks *marks,
                      struct kvr_text *page)
{
    kvr_text_string(page, "\nTo keep in mind\n");
    note_marks(marks, page);
    note_samples(comparison, page);
    kvr_text_string(page,
                    "  w/t/l: cells that are better, equal and worse; needles: by the share of "
                    "cells that keep them, at\n    these depths of the prompt.\n");
    if (comparison->ceiling < comparison->use_count)
        kvr_text_string(page,
                        "  clairvoyant knows the decode rows: no quota alike in all groups keeps "
                        "more future mass. By other\n    measures, or where groups share a quota, "
                        "regret may be negative.\n");
    kvr_text_string(page, "  Own mass is each policy's own score, which flatters it: never rank by "
                          "it.\n");
    if (comparison->page_count > 1)
        kvr_text_string(page, "  No measure here ranks across page sizes.\n");
    kvr_text_string(page, "  A trace is open loop: what a kept set does to later layers and tokens "
                          "is not in it.\n");
}

void kvr_compare_page(const struct kvr_comparison *comparison, bool all_budgets,
                      struct kvr_text *page)
{
    struct view view = {.comparison = comparison, .page = page};
    struct marks marks = {false, false, false, false};
    add_head(page, comparison);
    for (; view.at < comparison->page_count; view.at++) {
        add_section(&view);
        add_budgets(&view, &marks);
        add_memory(&view);
        for (size_t b = 0; b < comparison->budget_count; b++)
            if (all_budgets || b == comparison->budget_count / 2) {
                add_measures(&view, b);
                add_pairs(&view, b);
            }
    }
    add_notes(comparison, &marks, page);
    kvr_columns_free(&view.table);
}
