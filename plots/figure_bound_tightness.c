/*
 * How far each bound lies from the measured union overhead: the spread of the gap over all groups
 * and budgets of bounds.csv at one page size, and how often a bound is the tightest of its side.
 */
#include <math.h>
#include <string.h>

#include "formats/table_reader.h"
#include "plots/caption.h"
#include "plots/figure_list.h"
#include "plots/statistics.h"

enum { BOUNDS = 7, LOWER_BOUNDS = 5 };

struct collected {
    const struct kvr_source *source;
    const char *trace, *page_size; /* of the row */
    uint64_t ratio;
    double uor, bonferroni_lower, sandwich_lower, cauchy_lower, decaen_lower, dawson_sankoff_lower,
        sandwich_upper, hunter_upper;

    struct kvr_values gaps[BOUNDS];
    uint64_t tightest[BOUNDS], violated[BOUNDS], rows;
};

/* Lower bounds first. */
static const char *const bound_names[BOUNDS] = {
    "Bonferroni",     "sandwich, lower", "Cauchy-Schwarz", "de Caen",
    "Dawson-Sankoff", "sandwich, upper", "Hunter",
};

static const struct kvr_field fields[] = {
    {KVR_FIELD(struct collected, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, page_size, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, ratio, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, uor, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, bonferroni_lower, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, sandwich_lower, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, cauchy_lower, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, decaen_lower, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, dawson_sankoff_lower, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, sandwich_upper, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, hunter_upper, KVR_FIELD_NUMBER)},
};

/* Counts the bounds of [first, end) whose gap is the least, ties all. */
static void count_tightest(struct collected *c, const double *gaps, size_t first, size_t end)
{
    double least = HUGE_VAL;
    for (size_t i = first; i < end; i++)
        least = fmin(least, gaps[i]);
    for (size_t i = first; i < end; i++)
        c->tightest[i] += gaps[i] <= least + 1e-9;
}

static enum kvr_status take(void *state, const struct kvr_table_reader *reader,
                            struct kvr_error *err)
{
    struct collected *c = state;
    const double bounds[BOUNDS] = {
        c->bonferroni_lower,     c->sandwich_lower, c->cauchy_lower, c->decaen_lower,
        c->dawson_sankoff_lower, c->sandwich_upper, c->hunter_upper,
    };
    double gaps[BOUNDS];
    (void)reader;
    if (c->ratio < 2 || !kvr_source_shows_trace(c->source, c->trace) ||
        strcmp(c->page_size, c->source->page_size) != 0)
        return KVR_OK;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < BOUNDS; i++) {
        gaps[i] = i < LOWER_BOUNDS ? c->uor - bounds[i] : bounds[i] - c->uor;
        c->violated[i] += gaps[i] < -1e-9;
        status = kvr_values_add(&c->gaps[i], gaps[i], err);
    }
    count_tightest(c, gaps, 0, LOWER_BOUNDS);
    count_tightest(c, gaps, LOWER_BOUNDS, BOUNDS);
    c->rows++;
    return status;
}

static void write(struct collected *c, struct kvr_draft *draft)
{
    static const double quantiles[] = {0.05, 0.25, 0.5, 0.75, 0.95};
    char words[KVR_COUNT_ROOM];
    uint64_t violated = 0;
    kvr_draft_block(draft, "gap of a bound: quantiles 0.05 0.25 0.5 0.75 0.95, mean, share of rows "
                           "where it is the tightest, name");
    for (size_t i = 0; i < BOUNDS; i++) {
        kvr_values_sort(&c->gaps[i]);
        for (size_t q = 0; q < sizeof quantiles / sizeof *quantiles; q++)
            kvr_draft_value(draft, kvr_quantile(&c->gaps[i], quantiles[q]));
        kvr_draft_value(draft, kvr_values_mean(&c->gaps[i]));
        kvr_draft_value(draft, (double)c->tightest[i] / (double)c->rows);
        kvr_draft_name(draft, bound_names[i]);
        kvr_draft_end(draft);
        violated += c->violated[i];
    }
    kvr_draft_number(draft, "lower_bounds", LOWER_BOUNDS);
    kvr_draft_number(draft, "bounds", BOUNDS);
    draft->height = 2.35;
    kvr_draft_say(draft,
                  "Distance of each bound from the measured union overhead over %s: the box is the "
                  "middle half with its median, the whiskers reach from the 5th to the 95th "
                  "percentile, the dot is the mean. On the right, how often a bound is the "
                  "tightest of its side (ties count for each). Above the line lower bounds, below "
                  "it upper ones. Violations: %s.",
                  kvr_count_words(words, c->rows, "(group, scorer, budget) row"),
                  violated == 0 ? "none" : "see kvreplay bounds");
    kvr_caption_scope(draft, c->source, KVR_SCOPE_PAGES, NULL);
}

enum kvr_status kvr_figure_bound_tightness(const struct kvr_source *source, struct kvr_draft *draft,
                                           struct kvr_error *err)
{
    struct collected c = {.source = source};
    if (source->page_size == NULL)
        return KVR_OK;
    enum kvr_status status = kvr_table_each(source->folder, "bounds.csv", fields,
                                            sizeof fields / sizeof *fields, &c, take, &c, err);
    if (status == KVR_OK && c.rows > 0)
        write(&c, draft);
    for (size_t i = 0; i < BOUNDS; i++)
        kvr_values_free(&c.gaps[i]);
    return status;
}
