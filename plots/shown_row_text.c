/*
 * A head's row in characters: bars on a logarithmic axis, a lane for each policy, the largest
 * values. Plain ASCII, so that any terminal and any log shows it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plots/shown_row.h"

enum { DECADES = 6, MOST_LETTERS = 26, MOST_COLUMNS = 400 };

/* The lanes: `label` characters, a blank, `width` columns over the candidates, figures behind. */
struct lanes {
    const struct kvr_shown_row *row;
    int label;
    size_t width;
};

static struct lanes lanes_of(const struct kvr_shown_row *row, unsigned columns)
{
    enum { BEHIND = 17 };
    struct lanes lanes = {.row = row, .label = 8};
    for (size_t p = 0; p < row->policy_count; p++) {
        size_t length = strlen(row->policies[p].label) + 2;
        if (length > (size_t)lanes.label)
            lanes.label = length < 20 ? (int)length : 20;
    }
    columns = columns < 60 ? 60 : columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
    lanes.width = columns - 2 - (unsigned)lanes.label - 1 - BEHIND;
    if (lanes.width > row->count)
        lanes.width = row->count;
    return lanes;
}

/* Candidates of a column: [start, end), never empty. */
static void column_span(const struct lanes *lanes, size_t column, size_t *start, size_t *end)
{
    size_t count = lanes->row->count, whole = count / lanes->width, rest = count % lanes->width;
    *start = column * whole + (column < rest ? column : rest);
    *end = *start + whole + (column < rest);
}

/* ------------------------------------------------------------------------------ bars */

static double column_most(const struct lanes *lanes, size_t column)
{
    size_t start, end;
    double most = 0;
    column_span(lanes, column, &start, &end);
    for (size_t t = start; t < end; t++)
        most = fmax(most, (double)lanes->row->row[t]);
    return most;
}

/* What a bar of height `most` shows in the decade that begins at 10^decade. */
static char bar_at(double most, int decade)
{
    double level = most > 0 ? log10(most) - decade : -1;
    return level >= 0.75 ? '|' : level >= 0.4 ? ':' : level > 0 ? '.' : ' ';
}

static void add_bars(const struct lanes *lanes, struct kvr_text *text)
{
    double most = 0, least = HUGE_VAL;
    for (size_t c = 0; c < lanes->width; c++) {
        double value = column_most(lanes, c);
        most = fmax(most, value);
        least = value > 0 ? fmin(least, value) : least;
    }
    int top = most > 0 ? (int)ceil(log10(most)) : 0;
    int bottom = most > 0 ? (int)floor(log10(least)) : top - 1;
    bottom = bottom < top - DECADES ? top - DECADES : bottom;
    for (int decade = top - 1; decade >= bottom; decade--) {
        kvr_text_add(text, "  %*.0e ", lanes->label, pow(10, decade));
        for (size_t c = 0; c < lanes->width; c++) {
            char bar = bar_at(column_most(lanes, c), decade);
            kvr_text_bytes(text, &bar, 1);
        }
        kvr_text_string(text, "\n");
    }
}

/* ------------------------------------------------------------------------------ lanes */

static void add_axis(const struct lanes *lanes, struct kvr_text *text)
{
    unsigned long long first = lanes->row->first, last = first + lanes->row->count - 1;
    char end[32];
    snprintf(end, sizeof end, "%llu", last);
    int gap = (int)lanes->width - (int)strlen(end);
    kvr_text_add(text, "  %*s %-*llu%s\n", lanes->label, "position", gap > 1 ? gap : 1, first, end);
}

/* s where sinks lie, N where a needle does. */
static void add_marks(const struct lanes *lanes, struct kvr_text *text)
{
    kvr_text_add(text, "  %-*s ", lanes->label, "");
    for (size_t c = 0; c < lanes->width; c++) {
        size_t start, end;
        char mark = ' ';
        column_span(lanes, c, &start, &end);
        if (start < lanes->row->sinks)
            mark = 's';
        for (size_t t = start; t < end; t++)
            if (kvr_shown_in_needle(lanes->row, lanes->row->first + t))
                mark = 'N';
        kvr_text_bytes(text, &mark, 1);
    }
    kvr_text_add(text, "  %7s %6s\n", "tokens", "mass");
}

static char kept_at(const struct lanes *lanes, const struct kvr_shown_policy *policy, size_t column)
{
    size_t start, end, kept = 0;
    column_span(lanes, column, &start, &end);
    for (size_t t = start; t < end; t++)
        kept += policy->kept[t];
    double share = (double)kept / (double)(end - start);
    return kept == 0             ? ' '
           : kept == end - start ? '#'
           : share < 0.25        ? '.'
           : share < 0.6         ? ':'
                                 : '+';
}

static char letter_of(size_t policy)
{
    return policy < MOST_LETTERS ? (char)('a' + policy) : '*';
}

static void add_policy(const struct lanes *lanes, size_t place, struct kvr_text *text)
{
    const struct kvr_shown_policy *policy = &lanes->row->policies[place];
    kvr_text_add(text, "  %c %-*.*s ", letter_of(place), lanes->label - 2, lanes->label - 2,
                 policy->label);
    for (size_t c = 0; c < lanes->width; c++) {
        char mark = kept_at(lanes, policy, c);
        kvr_text_bytes(text, &mark, 1);
    }
    kvr_text_add(text, "  %7llu", (unsigned long long)policy->kept_tokens);
    if (isnan(policy->mass))
        kvr_text_string(text, "      -\n");
    else
        kvr_text_add(text, " %5.1f%%\n", 100 * policy->mass);
}

/* ------------------------------------------------------------------------------ largest values */

/* The candidate with the largest value below (value, place) in order; ties to the lower place. */
static size_t next_largest(const struct kvr_shown_row *row, size_t last)
{
    size_t best = row->count;
    float value = last < row->count ? row->row[last] : HUGE_VALF;
    for (size_t t = 0; t < row->count; t++) {
        bool after = row->row[t] < value || (row->row[t] == value && t > last);
        if (after && (best == row->count || row->row[t] > row->row[best]))
            best = t;
    }
    return best;
}

static void add_value(const struct kvr_shown_row *row, size_t t, struct kvr_text *text)
{
    uint64_t position = row->first + t;
    kvr_text_add(text, "  %10llu", (unsigned long long)position);
    if (row->tokens != NULL)
        kvr_text_add(text, " %8d", (int)row->tokens[position]);
    kvr_text_add(text, " %10.3g  ", (double)row->row[t]);
    for (size_t p = 0; p < row->policy_count; p++) {
        char mark = row->policies[p].kept[t] ? letter_of(p) : '-';
        kvr_text_bytes(text, &mark, 1);
    }
    kvr_text_add(text, "%s\n",
                 kvr_shown_in_needle(row, position) ? "  needle"
                 : t < row->sinks                   ? "  sink"
                                                    : "");
}

static void add_largest(const struct kvr_shown_row *row, size_t most, struct kvr_text *text)
{
    size_t last = row->count;
    if (most == 0)
        return;
    kvr_text_add(text, "\nThe largest values and who keeps them\n  %10s%s %10s  kept by\n",
                 "position", row->tokens != NULL ? "    token" : "", "value");
    for (size_t i = 0; i < most && i < row->count; i++) {
        last = next_largest(row, last);
        add_value(row, last, text);
    }
}

bool kvr_shown_in_needle(const struct kvr_shown_row *row, uint64_t position)
{
    for (size_t n = 0; n < row->needle_count; n++)
        if (position >= row->needles[n].start && position < row->needles[n].end)
            return true;
    return false;
}

void kvr_shown_row_text(const struct kvr_shown_row *row, unsigned columns, size_t most,
                        struct kvr_text *text)
{
    const struct lanes lanes = lanes_of(row, columns);
    kvr_text_add(text,
                 "%s, sample %s, layer %u, group %u, query head %u\n"
                 "  scorer %s, %zu candidates, budget %s: %llu %s\n\n",
                 row->trace, row->sample, row->layer, row->group, row->head, row->scorer,
                 row->count, row->budget, (unsigned long long)row->quota,
                 row->page_size == 1 ? "tokens" : "pages");
    add_bars(&lanes, text);
    add_axis(&lanes, text);
    add_marks(&lanes, text);
    for (size_t p = 0; p < row->policy_count; p++)
        add_policy(&lanes, p, text);
    kvr_text_string(text,
                    "  # all tokens here are kept, + most, : some, . few; s sinks, N needle\n");
    add_largest(row, most, text);
}
