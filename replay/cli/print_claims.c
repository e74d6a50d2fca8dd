/*
 * Laying claims out: the verdicts first, then the figures by setting. Nothing is computed here.
 */
#include "replay/cli/print_claims.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "replay/cli/readable.h"

static void add_count(struct kvr_text *text, uint64_t count, const char *noun)
{
    kvr_text_thousands(text, count);
    kvr_text_add(text, " %s%s", noun, count == 1 ? "" : "s");
}

static void add_head(struct kvr_text *page, const struct kvr_replay_results *results,
                     const struct kvr_bootstrap *bootstrap)
{
    add_count(page, results->samples.count, "sample");
    kvr_text_string(page, " of ");
    for (size_t i = 0; i < results->traces.count; i++) {
        kvr_text_string(page, i > 0 ? ", " : "");
        kvr_text_printable(page, results->traces.items[i]);
    }
    kvr_text_add(page, "; independent heads at %s\n",
                 results->run.match_physical ? "equal memory" : "equal quota");
    kvr_text_add(page, "Intervals: the middle %g %% of ", 100 * bootstrap->level);
    kvr_text_thousands(page, bootstrap->draws);
    kvr_text_add(page,
                 " bootstrap draws of samples, seed %" PRIu64
                 "; from few samples they\nare too narrow, and of many settings some err by "
                 "chance.\n",
                 bootstrap->seed);
}

static void add_verdicts(struct kvr_text *page, const struct kvr_claims *claims)
{
    enum { VERDICT_WIDTH = 18 };
    kvr_text_string(page, "\nVerdicts\n");
    for (size_t i = 0; i < claims->count; i++) {
        const struct kvr_claim *claim = &claims->claims[i];
        kvr_text_add(page, "  %-*s%2zu  %s\n", VERDICT_WIDTH, kvr_verdict_name(claim->verdict),
                     i + 1, claim->statement->text);
        kvr_text_add(page, "  %-*s    %s [%s]\n", VERDICT_WIDTH, "", claim->reason,
                     claim->statement->source);
    }
}

/* ------------------------------------------------------------------------------ figures */

/* "-.058": a number below 1 without its leading zero, so that intervals stay short. */
static void short_number(char *room, size_t size, double value, int decimals)
{
    char digits[64];
    snprintf(digits, sizeof digits, "%.*f", decimals, value);
    size_t sign = digits[0] == '-';
    bool drop = digits[sign] == '0' && digits[sign + 1] == '.';
    snprintf(room, size, "%s%s", sign ? "-" : "", digits + sign + drop);
}

static void interval_cell(struct kvr_columns *table, const struct kvr_interval *interval,
                          int decimals)
{
    char low[64], high[64];
    if (!kvr_interval_exists(interval)) {
        kvr_columns_cell(table, "%s", "-");
        return;
    }
    short_number(low, sizeof low, interval->low, decimals);
    short_number(high, sizeof high, interval->high, decimals);
    kvr_columns_cell(table, "[%s %s]", low, high);
}

static bool is_difference(const struct kvr_statement *statement)
{
    return strcmp(statement->keys[0], "difference") == 0;
}

static void value_cell(struct kvr_columns *table, const struct kvr_statement *statement,
                       const struct kvr_claim_line *line)
{
    static const char *const marks[KVR_VERDICTS] = {"", "y ", "n "};
    kvr_columns_cell(table, is_difference(statement) ? "%s%+.*f" : "%s%.*f", marks[line->verdict],
                     statement->decimals, line->figures[0]);
}

static void setting_cell(struct kvr_columns *table, const struct kvr_replay_results *results,
                         const struct kvr_claim_line *line)
{
    const char *scorer = results->scorers.items[line->scorer];
    if (line->page_size == 1)
        kvr_columns_cell(table, "%s, tokens", scorer);
    else
        kvr_columns_cell(table, "%s, pages of %" PRIu64, scorer, line->page_size);
}

static const struct kvr_claim_line *line_at(const struct kvr_claim *claim,
                                            const struct kvr_claim_line *like, size_t budget)
{
    for (size_t i = 0; i < claim->line_count; i++) {
        const struct kvr_claim_line *line = &claim->lines[i];
        if (line->scorer == like->scorer && line->page_size == like->page_size &&
            line->budget == budget)
            return line;
    }
    return NULL;
}

/* Two rows: the values by budget, and under them their intervals. */
static void add_setting_rows(struct kvr_columns *table, const struct kvr_replay_results *results,
                             const struct kvr_claim *claim, const struct kvr_claim_line *like)
{
    setting_cell(table, results, like);
    for (size_t b = 0; b < results->budgets.count; b++) {
        const struct kvr_claim_line *line = line_at(claim, like, b);
        if (line == NULL)
            kvr_columns_cell(table, "%s", "-");
        else
            value_cell(table, claim->statement, line);
    }
    kvr_columns_end_row(table);
    kvr_columns_cell(table, "%s", "");
    for (size_t b = 0; b < results->budgets.count; b++) {
        const struct kvr_claim_line *line = line_at(claim, like, b);
        if (line == NULL)
            kvr_columns_cell(table, "%s", "");
        else
            interval_cell(table, &line->interval, claim->statement->decimals);
    }
    kvr_columns_end_row(table);
}

/* Scorer and page size down, budgets across. */
static void add_matrix(struct kvr_text *page, const struct kvr_replay_results *results,
                       const struct kvr_claim *claim)
{
    struct kvr_columns table = {0};
    char alignment[32] = "lrrrrrrrrrrrrrrr";
    kvr_columns_cell(&table, "budget");
    for (size_t b = 0; b < results->budgets.count; b++)
        kvr_columns_cell(&table, "%s", results->budgets.items[b]);
    kvr_columns_end_row(&table);
    for (size_t i = 0; i < claim->line_count; i++) {
        const struct kvr_claim_line *line = &claim->lines[i];
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen |= claim->lines[j].scorer == line->scorer &&
                    claim->lines[j].page_size == line->page_size;
        if (!seen)
            add_setting_rows(&table, results, claim, line);
    }
    kvr_columns_write(&table, alignment, page);
    kvr_columns_free(&table);
}

/* "raw_over_isolated" as a heading. */
static void heading_cell(struct kvr_columns *table, const char *key)
{
    char heading[64];
    snprintf(heading, sizeof heading, "%s", key);
    for (char *c = heading; *c != '\0'; c++)
        *c = *c == '_' ? ' ' : *c;
    kvr_columns_cell(table, "%s", heading);
}

/* A row for each scorer, where page size and budget do not matter. */
static void add_scorers(struct kvr_text *page, const struct kvr_replay_results *results,
                        const struct kvr_claim *claim)
{
    const struct kvr_statement *statement = claim->statement;
    struct kvr_columns table = {0};
    kvr_columns_cell(&table, "scorer");
    heading_cell(&table, statement->keys[0]);
    kvr_columns_cell(&table, "interval");
    for (size_t f = 1; f < KVR_CLAIM_FIGURES && statement->keys[f] != NULL; f++)
        heading_cell(&table, statement->keys[f]);
    kvr_columns_end_row(&table);
    for (size_t i = 0; i < claim->line_count; i++) {
        const struct kvr_claim_line *line = &claim->lines[i];
        kvr_columns_cell(&table, "%s", results->scorers.items[line->scorer]);
        value_cell(&table, statement, line);
        interval_cell(&table, &line->interval, statement->decimals);
        for (size_t f = 1; f < KVR_CLAIM_FIGURES && statement->keys[f] != NULL; f++)
            kvr_columns_cell(&table, "%.4g", line->figures[f]);
        kvr_columns_end_row(&table);
    }
    kvr_columns_write(&table, "lrrrrrr", page);
    kvr_columns_free(&table);
}

static void add_figures(struct kvr_text *page, const struct kvr_replay_results *results,
                        const struct kvr_claims *claims)
{
    kvr_text_string(page, "\nFigures by setting, their intervals below; y: the statement holds, n: "
                          "it fails, else open\n");
    for (size_t i = 0; i < claims->count; i++) {
        const struct kvr_claim *claim = &claims->claims[i];
        if (claim->line_count == 0)
            continue;
        kvr_text_add(page, "\n%zu  %s: %s\n   %s, held against %g\n", i + 1, claim->statement->text,
                     kvr_verdict_name(claim->verdict), claim->statement->measure,
                     claim->statement->threshold);
        if (claim->lines[0].page_size > 0)
            add_matrix(page, results, claim);
        else
            add_scorers(page, results, claim);
    }
}

/* ------------------------------------------------------------------------------ not finite */

static void add_nan_rows(struct kvr_columns *table, const struct kvr_replay_results *results,
                         const struct kvr_claims *claims)
{
    for (size_t i = 0; i < claims->nan_count; i++) {
        const struct kvr_nan_line *line = &claims->nan_lines[i];
        setting_cell(
            table, results,
            &(struct kvr_claim_line){.scorer = line->scorer, .page_size = line->page_size});
        kvr_columns_cell(table, "%s", results->budgets.items[line->budget]);
        kvr_columns_cell(table, "%" PRIu64, line->groups);
        kvr_columns_cell(table, "%" PRIu64, line->excluded);
        kvr_columns_cell(table, "%.3f", line->uor);
        kvr_columns_cell(table, "%.3f", line->uor_careless);
        kvr_columns_cell(table, "%.3f", line->disagreement);
        kvr_columns_cell(table, "%.3f", line->disagreement_careless);
        kvr_columns_end_row(table);
    }
}

static void add_nan(struct kvr_text *page, const struct kvr_replay_results *results,
                    const struct kvr_claims *claims)
{
    struct kvr_columns table = {0};
    static const char *const headings[] = {"setting", "budget",  "groups", "excluded",
                                           "UOR",     "counted", "D",      "counted"};
    kvr_text_string(page, "\nRows that are not finite\n");
    if (results->run.nan_zero)
        kvr_text_string(page, "  --nan zero replaced their values by 0: their groups are in every "
                              "figure\n");
    for (size_t g = 0; g < results->group_count; g++)
        if (results->groups[g].excluded > 0)
            kvr_text_add(
                page,
                "  %s: %" PRIu64 " of %" PRIu64 " groups excluded (%" PRIu64 " heads not finite)\n",
                results->scorers.items[results->groups[g].scorer], results->groups[g].excluded,
                results->groups[g].excluded + results->groups[g].measured,
                results->groups[g].excluded_heads);
    if (claims->nan_count == 0) {
        kvr_text_string(page, results->run.nan_zero ? "" : "  no group is excluded\n");
        return;
    }
    kvr_text_string(page, "  A top-k over NaN gives every head of a group the same set. A careless "
                          "replay counts such\n  groups as consensus, with UOR 1 and D 0 "
                          "(\"counted\"):\n");
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        kvr_columns_cell(&table, "%s", headings[i]);
    kvr_columns_end_row(&table);
    add_nan_rows(&table, results, claims);
    kvr_columns_write(&table, "llrrrrrr", page);
    kvr_columns_free(&table);
}

void kvr_claims_page(const struct kvr_replay_results *results, const struct kvr_claims *claims,
                     const struct kvr_bootstrap *bootstrap, bool brief, struct kvr_text *page)
{
    add_head(page, results, bootstrap);
    add_verdicts(page, claims);
    if (!brief)
        add_figures(page, results, claims);
    add_nan(page, results, claims);
}
