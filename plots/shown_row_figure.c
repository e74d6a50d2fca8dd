/*
 * A head's row as a figure: its values over positions on a logarithmic axis, and below a lane for
 * each policy with what it keeps. Long rows are gathered in columns, or the picture would be large.
 */
#include <math.h>

#include "plots/caption.h"
#include "plots/draft.h"
#include "plots/plotter.h"
#include "plots/shown_row.h"

enum { MOST_COLUMNS = 512 };

static const struct kvr_figure figure = {
    .name = "head-row",
    .title = "One head's row and what policies keep",
};

static size_t column_count(const struct kvr_shown_row *row)
{
    return row->count < MOST_COLUMNS ? row->count : MOST_COLUMNS;
}

static size_t column_start(const struct kvr_shown_row *row, size_t column)
{
    return column * row->count / column_count(row);
}

/* The least positive and the largest value; 1 for both if no value is positive. */
static void find_range(const struct kvr_shown_row *row, double *least, double *most)
{
    *least = HUGE_VAL;
    *most = 0;
    for (size_t t = 0; t < row->count; t++) {
        double value = (double)row->row[t];
        if (value > 0) {
            *least = fmin(*least, value);
            *most = fmax(*most, value);
        }
    }
    if (!(*most > 0))
        *least = *most = 1;
}

static void write_values(const struct kvr_shown_row *row, struct kvr_draft *draft)
{
    kvr_draft_block(draft, "position, largest value of the column");
    for (size_t c = 0; c < column_count(row); c++) {
        size_t start = column_start(row, c);
        double most = 0;
        for (size_t t = start; t < column_start(row, c + 1); t++)
            most = fmax(most, (double)row->row[t]);
        kvr_draft_value(draft, (double)(row->first + start));
        kvr_draft_value(draft, most > 0 ? most : NAN);
        kvr_draft_end(draft);
    }
}

static double kept_share(const struct kvr_shown_row *row, const struct kvr_shown_policy *policy,
                         size_t column)
{
    size_t start = column_start(row, column), end = column_start(row, column + 1), kept = 0;
    for (size_t t = start; t < end; t++)
        kept += policy->kept[t];
    return (double)kept / (double)(end - start);
}

/* Runs of columns with the same share, 0 left out. */
static void write_lane(const struct kvr_shown_row *row, size_t place, struct kvr_draft *draft)
{
    const struct kvr_shown_policy *policy = &row->policies[place];
    size_t columns = column_count(row);
    for (size_t c = 0; c < columns;) {
        double share = kept_share(row, policy, c);
        size_t end = c + 1;
        while (end < columns && kept_share(row, policy, end) == share)
            end++;
        if (share > 0) {
            kvr_draft_value(draft, (double)(row->first + column_start(row, c)));
            kvr_draft_value(draft, (double)(row->first + column_start(row, end)));
            kvr_draft_value(draft, (double)place);
            kvr_draft_value(draft, share);
            kvr_draft_end(draft);
        }
        c = end;
    }
}

static void write_lanes(const struct kvr_shown_row *row, struct kvr_draft *draft)
{
    kvr_draft_block(draft, "kept: first position, position after the last, lane, share kept");
    for (size_t p = 0; p < row->policy_count; p++)
        write_lane(row, p, draft);
    kvr_draft_block(draft, "lane, kept tokens, share of the row's sum, policy");
    for (size_t p = 0; p < row->policy_count; p++) {
        kvr_draft_value(draft, (double)p);
        kvr_draft_value(draft, (double)row->policies[p].kept_tokens);
        kvr_draft_value(draft, row->policies[p].mass);
        kvr_draft_name(draft, row->policies[p].label);
        kvr_draft_end(draft);
    }
}

static void write_marks(const struct kvr_shown_row *row, struct kvr_draft *draft)
{
    double starts[8], ends[8];
    size_t count = 0;
    for (size_t n = 0; n < row->needle_count && count < 8; n++)
        if (row->needles[n].end > row->first && row->needles[n].start < row->first + row->count) {
            starts[count] = (double)row->needles[n].start;
            ends[count++] = (double)row->needles[n].end;
        }
    kvr_draft_number(draft, "needles", (double)count);
    if (count > 0) {
        kvr_draft_numbers(draft, "needle_starts", starts, count);
        kvr_draft_numbers(draft, "needle_ends", ends, count);
    }
}

static void write_caption(const struct kvr_shown_row *row, struct kvr_draft *draft)
{
    char words[KVR_COUNT_ROOM];
    kvr_draft_say(
        draft,
        "Trace %s, sample %s, layer %u, group %u, query head %u: its scores under %s over "
        "%s (largest of each column), and what policies keep at budget %s (%llu %s a "
        "group); on the right the share of this row's sum that lies on kept tokens.",
        row->trace, row->sample, row->layer, row->group, row->head, row->scorer,
        kvr_count_words(words, row->count, "candidate"), row->budget,
        (unsigned long long)row->quota, row->page_size == 1 ? "tokens" : "pages");
    if (row->needle_count > 0)
        kvr_draft_say(draft, "Shaded: the needle.");
}

enum kvr_status kvr_shown_row_draw(const struct kvr_shown_row *row, struct kvr_plotter *plotter,
                                   struct kvr_drawing *drawing, struct kvr_error *err)
{
    struct kvr_draft draft = {0};
    double least, most;
    find_range(row, &least, &most);
    write_values(row, &draft);
    write_lanes(row, &draft);
    write_marks(row, &draft);
    kvr_draft_number(&draft, "first", (double)row->first);
    kvr_draft_number(&draft, "after", (double)(row->first + row->count));
    kvr_draft_number(&draft, "lanes", (double)row->policy_count);
    kvr_draft_number(&draft, "low", fmax(least, most * 1e-6) / 2);
    kvr_draft_number(&draft, "high", most * 2);
    draft.height = 1.75 + 0.15 * (double)row->policy_count;
    write_caption(row, &draft);
    enum kvr_status status = kvr_plotter_draw_draft(plotter, &figure, &draft, drawing, err);
    kvr_draft_free(&draft);
    return status;
}
