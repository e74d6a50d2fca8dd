/*
 * kvreplay bounds: the bounds of a replay on a page. All figures come from
 * analysis/bounds_report.h; here they are laid out.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/bounds_report.h"
#include "replay/cli/bounds_json.h"
#include "replay/cli/command.h"
#include "replay/cli/readable.h"

static const struct kvr_option options[] = {
    {"--limit", "N", "violations to list, 0 for all (20)"},
    {"--json", NULL, "write one JSON object instead of a page"},
    {NULL, NULL, NULL},
};

static void add_count(struct kvr_text *text, uint64_t count, const char *noun)
{
    kvr_text_thousands(text, count);
    kvr_text_add(text, " %s%s", noun, count == 1 ? "" : "s");
}

static void count_cell(struct kvr_columns *table, uint64_t count)
{
    struct kvr_text cell = {0};
    kvr_text_thousands(&cell, count);
    kvr_columns_cell(table, "%s", cell.data != NULL ? cell.data : "");
    kvr_text_free(&cell);
}

static void share_cell(struct kvr_columns *table, uint64_t part, uint64_t whole)
{
    if (whole == 0)
        kvr_columns_cell(table, "-");
    else
        kvr_columns_cell(table, "%.1f", 100 * (double)part / (double)whole);
}

/* A gap that rounding left below 0 is no gap. */
static void gap_cell(struct kvr_columns *table, double gap, int decimals)
{
    kvr_columns_cell(table, "%.*f", decimals, fabs(gap) < 1e-12 ? 0 : gap);
}

static void unit_cell(struct kvr_columns *table, uint64_t page_size)
{
    if (page_size == 1)
        kvr_columns_cell(table, "tokens");
    else
        kvr_columns_cell(table, "pages of %" PRIu64, page_size);
}

static void add_head(struct kvr_text *page, const struct kvr_bounds_report *report)
{
    add_count(page, report->all.cells, "cell");
    kvr_text_string(page, " of ");
    add_count(page, report->samples.count, "sample");
    kvr_text_string(page, " in ");
    add_count(page, report->traces.count, "trace");
    if (report->all.cells > 0) {
        kvr_text_add(page, ", groups of %" PRIu64, report->least_ratio);
        if (report->most_ratio > report->least_ratio)
            kvr_text_add(page, " to %" PRIu64, report->most_ratio);
        kvr_text_string(page, " query heads");
    }
    kvr_text_string(page, "\n");
    if (report->single > 0) {
        add_count(page, report->single, "cell");
        kvr_text_string(page, " of one vector: no pairs, every bound is 1\n");
    }
    if (report->excluded > 0) {
        add_count(page, report->excluded, "group");
        kvr_text_string(page, " (by scorer) excluded, a head is not finite: no cell here\n");
    }
}

/* ------------------------------------------------------------------------------ tightness */

static void add_all_cells(struct kvr_text *page, const struct kvr_bounds_report *report)
{
    struct kvr_columns table = {0};
    static const char *const headings[] = {"side",       "bound",   "source",   "violated",
                                           "% tightest", "% exact", "mean gap", "worst gap"};
    uint64_t cells = report->all.cells;
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        kvr_columns_cell(&table, "%s", headings[i]);
    kvr_columns_end_row(&table);
    for (size_t b = 0; b < KVR_BOUNDS; b++) {
        const struct kvr_bound_tally *bound = &report->all.bounds[b];
        kvr_columns_cell(&table, "%s", kvr_bound_kinds[b].lower ? "lower" : "upper");
        kvr_columns_cell(&table, "%s", kvr_bound_kinds[b].name);
        kvr_columns_cell(&table, "%s", kvr_bound_kinds[b].source);
        count_cell(&table, bound->violated);
        share_cell(&table, bound->tightest, cells);
        share_cell(&table, bound->exact, cells);
        gap_cell(&table, bound->gap_sum / (double)cells, 4);
        gap_cell(&table, bound->gap_worst, 4);
        kvr_columns_end_row(&table);
    }
    kvr_text_string(page, "\nBounds on the union overhead ratio (UOR), all cells\n");
    kvr_columns_write(&table, "lllrrrrr", page);
    kvr_columns_free(&table);
}

typedef double (*tally_figure)(const struct kvr_bounds_tally *tally, size_t bound);

static double mean_gap(const struct kvr_bounds_tally *tally, size_t bound)
{
    return tally->bounds[bound].gap_sum / (double)tally->cells;
}

static double worst_gap(const struct kvr_bounds_tally *tally, size_t bound)
{
    return tally->bounds[bound].gap_worst;
}

static double share_tightest(const struct kvr_bounds_tally *tally, size_t bound)
{
    return 100 * (double)tally->bounds[bound].tightest / (double)tally->cells;
}

static double violated(const struct kvr_bounds_tally *tally, size_t bound)
{
    return (double)tally->bounds[bound].violated;
}

/* One figure of every bound by scorer and page size. */
static void add_by_setting(struct kvr_text *page, const struct kvr_bounds_report *report,
                           const char *heading, tally_figure figure, int decimals)
{
    struct kvr_columns table = {0};
    kvr_columns_cell(&table, "scorer");
    kvr_columns_cell(&table, "unit");
    kvr_columns_cell(&table, "cells");
    for (size_t b = 0; b < KVR_BOUNDS; b++)
        kvr_columns_cell(&table, "%s%s", kvr_bound_kinds[b].name,
                         kvr_bound_kinds[b].lower ? "" : " up");
    kvr_columns_end_row(&table);
    for (size_t i = 0; i < report->tally_count; i++) {
        const struct kvr_bounds_tally *tally = &report->tallies[i];
        kvr_columns_cell(&table, "%s", report->scorers.items[tally->scorer]);
        unit_cell(&table, tally->page_size);
        count_cell(&table, tally->cells);
        for (size_t b = 0; b < KVR_BOUNDS; b++)
            gap_cell(&table, figure(tally, b), decimals);
        kvr_columns_end_row(&table);
    }
    kvr_text_add(page, "\n%s\n", heading);
    kvr_columns_write(&table, "llrrrrrrrr", page);
    kvr_columns_free(&table);
}

/* ------------------------------------------------------------------------------ certificates */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void add_fraction(struct kvr_text *text, uint64_t numerator, uint64_t denominator)
{
    uint64_t divisor = common_divisor(numerator, denominator);
    kvr_text_add(text, "%" PRIu64, numerator / divisor);
    if (denominator > divisor)
        kvr_text_add(text, "/%" PRIu64, denominator / divisor);
}

static void add_thresholds(struct kvr_text *page, uint64_t r)
{
    kvr_text_add(page, "  r = %" PRIu64 ": cert_1 needs a mean agreement J of at most ", r);
    add_fraction(page, r - 2, r * (r - 1));
    kvr_text_string(page, ", cert_T of at most ");
    add_fraction(page, r - 2, 3 * r - 2);
    kvr_text_string(page, "\n");
}

static void add_certificate_rows(struct kvr_columns *table, const struct kvr_bounds_report *report)
{
    const struct kvr_certificates *before = NULL;
    for (size_t i = 0; i < report->certificate_count; i++) {
        const struct kvr_certificates *row = &report->certificates[i];
        bool same_scorer = before != NULL && before->scorer == row->scorer;
        bool same_unit = same_scorer && before->page_size == row->page_size;
        kvr_columns_cell(table, "%s", same_scorer ? "" : report->scorers.items[row->scorer]);
        if (same_unit)
            kvr_columns_cell(table, "%s", "");
        else
            unit_cell(table, row->page_size);
        kvr_columns_cell(table, "%s", report->budgets.items[row->budget]);
        count_cell(table, row->groups);
        share_cell(table, row->twofold, row->groups);
        for (size_t b = 0; b < KVR_LOWER_BOUNDS; b++)
            share_cell(table, row->certified[b], row->groups);
        kvr_columns_end_row(table);
        before = row;
    }
}

static void add_certificates(struct kvr_text *page, const struct kvr_bounds_report *report)
{
    struct kvr_columns table = {0};
    static const char *const headings[] = {"scorer",   "unit",          "budget", "groups",
                                           "UOR >= 2", "cert_1",        "cert_T", "Cauchy",
                                           "de Caen",  "Dawson-Sankoff"};
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        kvr_columns_cell(&table, "%s", headings[i]);
    kvr_columns_end_row(&table);
    add_certificate_rows(&table, report);
    kvr_text_string(page, "\nTwofold overhead, % of groups: measured, and certified from pairwise "
                          "overlaps\n");
    kvr_columns_write(&table, "lllrrrrrrr", page);
    kvr_columns_free(&table);
    add_thresholds(page, report->least_ratio);
    if (report->most_ratio > report->least_ratio)
        add_thresholds(page, report->most_ratio);
}

/* ------------------------------------------------------------------------------ other theory */

static void add_identity(struct kvr_text *page, const struct kvr_bounds_report *report)
{
    kvr_text_string(page, "\nProp. 1: UOR = 2/(2-D) where r = 2\n  ");
    if (report->pairs == 0) {
        kvr_text_string(page, "no cell has r = 2\n");
        return;
    }
    kvr_text_string(page, "holds in ");
    kvr_text_thousands(page, report->pairs - report->violated[KVR_VIOLATES_IDENTITY]);
    kvr_text_string(page, " of ");
    add_count(page, report->pairs, "cell");
    kvr_text_add(page, ", largest difference %.1e\n", report->pairs_worst);
}

static void add_needle_bound(struct kvr_text *page, const struct kvr_bounds_report *report)
{
    struct kvr_columns table = {0};
    static const char *const headings[] = {"scorer", "rows", "holds", "bound >= owner/2",
                                           "least margin"};
    if (report->needle_count == 0)
        return;
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        kvr_columns_cell(&table, "%s", headings[i]);
    kvr_columns_end_row(&table);
    for (size_t i = 0; i < report->needle_count; i++) {
        const struct kvr_needle_bound *needle = &report->needles[i];
        kvr_columns_cell(&table, "%s", report->scorers.items[needle->scorer]);
        count_cell(&table, needle->rows);
        count_cell(&table, needle->held);
        count_cell(&table, needle->binding);
        kvr_columns_cell(&table, "%.3g", needle->least_margin);
        kvr_columns_end_row(&table);
    }
    kvr_text_string(page, "\nCor. 2: pooled mass of the needle's peak >= bound, per needle and "
                          "group\n");
    kvr_columns_write(&table, "lrrrr", page);
    kvr_columns_free(&table);
    if (report->beyond_theorem > 0) {
        kvr_text_string(page, "  Where a score may be negative the theorem does not speak: ");
        add_count(page, report->beyond_theorem, "row");
        kvr_text_string(page, " below\n  the bound there, listed, but no violation.\n");
    }
}

/* ------------------------------------------------------------------------------ violations */

static void add_cell(struct kvr_text *page, const struct kvr_violation *violation)
{
    kvr_text_string(page, "  ");
    kvr_text_printable(page, violation->trace);
    kvr_text_string(page, ", sample ");
    kvr_text_printable(page, violation->sample);
    kvr_text_add(page, ", layer %" PRIu64 ", group %" PRIu64 ", ", violation->layer,
                 violation->group);
    kvr_text_printable(page, violation->scorer);
    if (violation->budget == NULL) {
        kvr_text_add(page, ", needle %" PRIu64, violation->needle);
        return;
    }
    kvr_text_add(page, ", page size %" PRIu64 ", budget ", violation->page_size);
    kvr_text_printable(page, violation->budget);
}

static void add_violation(struct kvr_text *page, const struct kvr_violation *violation)
{
    static const char *const measured[KVR_VIOLATION_KINDS] = {
        [KVR_VIOLATES_BOUND] = "UOR measured",
        [KVR_VIOLATES_IDENTITY] = "UOR measured",
        [KVR_VIOLATES_NEEDLE] = "pooled mass",
        [KVR_VIOLATES_TABLE] = "the row's other columns give",
    };
    bool needle = violation->budget == NULL;
    add_cell(page, violation);
    kvr_text_add(page, ":\n    %s ", violation->column);
    kvr_text_exact(page, violation->value);
    kvr_text_add(page, ", %s ", measured[violation->kind]);
    kvr_text_exact(page, violation->expected);
    kvr_text_add(page, " (%s line %" PRIu64 ")\n", needle ? "premises.csv" : "bounds.csv",
                 violation->line);
}

static void add_violations(struct kvr_text *page, const struct kvr_bounds_report *report)
{
    static const char *const what[KVR_VIOLATION_KINDS] = {
        [KVR_VIOLATES_BOUND] = "UOR outside a bound",
        [KVR_VIOLATES_IDENTITY] = "UOR off the identity",
        [KVR_VIOLATES_NEEDLE] = "needle below its bound",
        [KVR_VIOLATES_TABLE] = "row that contradicts itself",
    };
    uint64_t sum = kvr_bounds_report_violations(report);
    kvr_text_string(page, "\n");
    add_count(page, sum, "violation");
    kvr_text_string(page, sum == 0 ? "" : ":");
    for (size_t kind = 0, told = 0; kind < KVR_VIOLATION_KINDS; kind++)
        if (report->violated[kind] > 0) {
            kvr_text_string(page, told++ > 0 ? ", " : " ");
            kvr_text_thousands(page, report->violated[kind]);
            kvr_text_add(page, " x %s", what[kind]);
        }
    kvr_text_string(page, "\n");
    for (size_t i = 0; i < report->listed; i++)
        add_violation(page, &report->violations[i]);
    if (sum + report->beyond_theorem > report->listed) {
        kvr_text_string(page, "  and ");
        kvr_text_thousands(page, sum + report->beyond_theorem - report->listed);
        kvr_text_string(page, " more (--limit 0 lists all)\n");
    }
}

static void add_page(struct kvr_text *page, const struct kvr_bounds_report *report)
{
    add_head(page, report);
    if (report->all.cells > 0) {
        add_all_cells(page, report);
        add_by_setting(page, report, "Mean gap to the measured UOR", mean_gap, 3);
        add_by_setting(page, report, "Worst gap", worst_gap, 3);
        add_by_setting(page, report, "Cells where a bound is the tightest of its side, %",
                       share_tightest, 1);
        if (report->violated[KVR_VIOLATES_BOUND] > 0)
            add_by_setting(page, report, "Cells that violate a bound", violated, 0);
        add_certificates(page, report);
        add_identity(page, report);
    }
    add_needle_bound(page, report);
    add_violations(page, report);
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct kvr_bounds_report report = {.listed = 0};
    struct kvr_text text = {0};
    uint64_t limit = 20;
    enum kvr_status status = kvr_argument_unsigned(
        "--limit", kvr_argument(command, arguments, "--limit"), 0, UINT64_MAX, &limit, err);
    if (status == KVR_OK)
        status = kvr_bounds_report_read(arguments->operands[0], limit > 0 ? limit : UINT64_MAX,
                                        &report, err);
    if (status == KVR_IO)
        kvr_hint_tables(err);
    if (status == KVR_OK) {
        if (kvr_argument(command, arguments, "--json") != NULL)
            kvr_bounds_json(&report, &text);
        else
            add_page(&text, &report);
        status = kvr_text_check(&text, err);
    }
    if (status == KVR_OK)
        fwrite(text.data, 1, text.length, stdout);
    bool sound = kvr_bounds_report_violations(&report) == 0;
    kvr_text_free(&text);
    kvr_bounds_report_free(&report);
    return status == KVR_OK && !sound ? KVR_EXIT_VIOLATED : kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_bounds;

const struct kvr_command kvr_command_bounds = {
    .name = "bounds",
    .operands = "DIR",
    .summary = "checks every bound on the tables of a replay",
    .text = "DIR holds the tables of \"kvreplay replay -o DIR\". Every bound on the union overhead "
            "ratio is held against what was measured: violations (beyond 1e-9) with their cells, "
            "gaps, how often a bound is the tightest of its side, and which groups certificates of "
            "twofold overhead reach, beside those that have it. Values that follow from other "
            "columns are computed again; a row that contradicts itself is a violation. Where "
            "premises.csv is there, so is the bound of cor. 2 on needles.\n"
            "\n"
            "Exit status 3 tells of a violation.",
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = run,
};
