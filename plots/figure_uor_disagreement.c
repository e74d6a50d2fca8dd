/*
 * Union overhead against disagreement: every (group, budget) of bounds.csv at one page size, beside
 * the lower bound of theorem 1 as a curve in D, the ceiling r and the pooled policies' 1.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/table_reader.h"
#include "plots/bin_grid.h"
#include "plots/caption.h"
#include "plots/figure_list.h"

enum { MOST_SCORERS = 4, GRID = 48, MOST_RATIO = 4096, ENVELOPE_POINTS = 101 };

struct collected {
    const struct kvr_source *source;
    const char *trace, *scorer, *page_size; /* of the row */
    uint64_t ratio;
    double uor, j_mean;

    uint64_t *rows_of_ratio; /* [MOST_RATIO + 1] */
    uint64_t shown_ratio;
    struct kvr_labels scorers;
    struct kvr_bin_grid grids[MOST_SCORERS];
    uint64_t other_ratios, other_scorers;
};

static const struct kvr_field fields[] = {
    {KVR_FIELD(struct collected, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, page_size, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, ratio, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, uor, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, j_mean, KVR_FIELD_FIGURE)},
};

/* Groups of one head have no pairs, hence no disagreement. */
static bool is_shown(const struct collected *c)
{
    return kvr_source_shows_trace(c->source, c->trace) && !isnan(c->j_mean) &&
           strcmp(c->page_size, c->source->page_size) == 0 && c->ratio <= MOST_RATIO;
}

static enum kvr_status count_ratio(void *state, const struct kvr_table_reader *reader,
                                   struct kvr_error *err)
{
    struct collected *c = state;
    (void)reader;
    (void)err;
    c->rows_of_ratio[is_shown(c) ? c->ratio : 0]++;
    return KVR_OK;
}

static enum kvr_status start_scorer(struct collected *c, size_t scorer, struct kvr_error *err)
{
    c->grids[scorer] = (struct kvr_bin_grid){
        .columns = GRID, .rows = GRID, .x_most = 1, .y_least = 1, .y_most = (double)c->shown_ratio};
    return kvr_bin_grid_open(&c->grids[scorer], err);
}

static enum kvr_status take(void *state, const struct kvr_table_reader *reader,
                            struct kvr_error *err)
{
    struct collected *c = state;
    (void)reader;
    if (!is_shown(c))
        return KVR_OK;
    if (c->ratio != c->shown_ratio) {
        c->other_ratios++;
        return KVR_OK;
    }
    size_t scorer = kvr_labels_find(&c->scorers, c->scorer);
    if (scorer == c->scorers.count && scorer == MOST_SCORERS) {
        c->other_scorers++;
        return KVR_OK;
    }
    enum kvr_status status = KVR_OK;
    if (scorer == c->scorers.count) {
        status = kvr_labels_add(&c->scorers, c->scorer, &scorer, err);
        if (status == KVR_OK)
            status = start_scorer(c, scorer, err);
    }
    if (status == KVR_OK)
        kvr_bin_grid_add(&c->grids[scorer], 1 - c->j_mean, c->uor);
    return status;
}

/* r / (1 + 2 (r - 1) J / (1 + J)) over D = 1 - J. */
static void write_envelope(const struct collected *c, struct kvr_draft *draft)
{
    double r = (double)c->shown_ratio;
    kvr_draft_block(draft, "lower bound of theorem 1: D uor");
    for (int i = 0; i < ENVELOPE_POINTS; i++) {
        double d = (double)i / (ENVELOPE_POINTS - 1), j = 1 - d;
        kvr_draft_value(draft, d);
        kvr_draft_value(draft, r / (1 + 2 * (r - 1) * j / (1 + j)));
        kvr_draft_end(draft);
    }
}

static void write(const struct collected *c, struct kvr_draft *draft)
{
    char words[KVR_COUNT_ROOM];
    uint64_t shown = 0;
    for (size_t s = 0; s < c->scorers.count; s++) {
        kvr_draft_block(draft, "scorer %s: D uor rows", c->scorers.names[s]);
        kvr_bin_grid_write(&c->grids[s], draft);
        shown += c->grids[s].count;
    }
    if (shown == 0)
        return;
    write_envelope(c, draft);
    kvr_draft_number(draft, "ratio", (double)c->shown_ratio);
    kvr_draft_strings(draft, "scorers", (const char *const *)c->scorers.names, c->scorers.count);
    draft->height = 2.3;
    kvr_draft_say(draft,
                  "Union overhead (UOR) of groups of %llu query heads against their mean pairwise "
                  "disagreement D = 1 - J, at every budget: %s. A point is the mean of what lies "
                  "in one cell of a fine grid, larger for more. The curve is the lower bound of "
                  "theorem 1 (Cauchy-Schwarz) in D, r the ceiling; policies that pool the group's "
                  "scores have exactly 1.",
                  (unsigned long long)c->shown_ratio,
                  kvr_count_words(words, shown, "(group, budget) pair"));
    if (c->other_ratios > 0)
        kvr_draft_say(draft, "Left out: %s of another ratio.",
                      kvr_count_words(words, c->other_ratios, "row"));
    if (c->other_scorers > 0)
        kvr_draft_say(draft, "Left out: %s of further scorers.",
                      kvr_count_words(words, c->other_scorers, "row"));
    kvr_caption_scope(draft, c->source, KVR_SCOPE_PAGES, NULL);
}

enum kvr_status kvr_figure_uor_disagreement(const struct kvr_source *source,
                                            struct kvr_draft *draft, struct kvr_error *err)
{
    enum { FIELDS = sizeof fields / sizeof *fields };
    struct collected c = {.source = source};
    if (source->page_size == NULL)
        return KVR_OK;
    c.rows_of_ratio = kvr_alloc(MOST_RATIO + 1, sizeof *c.rows_of_ratio, err);
    if (c.rows_of_ratio == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status =
        kvr_table_each(source->folder, "bounds.csv", fields, FIELDS, &c, count_ratio, &c, err);
    for (uint64_t r = 1; r <= MOST_RATIO; r++)
        if (c.rows_of_ratio[r] > c.rows_of_ratio[c.shown_ratio] || c.shown_ratio == 0)
            c.shown_ratio = r;
    if (status == KVR_OK)
        status = kvr_table_each(source->folder, "bounds.csv", fields, FIELDS, &c, take, &c, err);
    if (status == KVR_OK)
        write(&c, draft);
    for (size_t s = 0; s < MOST_SCORERS; s++)
        kvr_bin_grid_free(&c.grids[s]);
    kvr_labels_free(&c.scorers);
    free(c.rows_of_ratio);
    return status;
}
