/*
 * Union overhead over every budget: per scorer the median over groups and two bands, from
 * curves.csv. Every curve is read at the same shares of its context, at the largest quota recorded
 * up to each, so that long and short contexts share an axis and every group counts once a step.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/text.h"
#include "formats/table_reader.h"
#include "plots/caption.h"
#include "plots/figure_list.h"
#include "plots/statistics.h"

enum { MOST_SCORERS = 3, STEPS_PER_E_FOLD = 8, STEPS = 20 * STEPS_PER_E_FOLD };

/* Step i is the share exp(-i / STEPS_PER_E_FOLD) of the context. */
struct step {
    struct kvr_values uor, lower;
};

struct curve_point {
    uint64_t k;
    double uor, lower;
};

struct collected {
    const struct kvr_source *source;
    const char *trace, *sample, *layer, *group, *scorer, *page_size; /* of the row */
    uint64_t ratio, k;
    double uor, sandwich_lower;

    struct kvr_labels scorers;
    struct step *steps; /* [MOST_SCORERS][STEPS] */
    uint64_t groups[MOST_SCORERS], left_out, most_ratio;
    /* The curve that is passing. */
    size_t scorer_place;
    struct curve_point *curve;
    size_t curve_count, curve_capacity;
};

static const struct kvr_field fields[] = {
    {KVR_FIELD(struct collected, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, page_size, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, ratio, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, k, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, uor, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, sandwich_lower, KVR_FIELD_NUMBER)},
};

static double share_of(size_t step)
{
    return exp(-(double)step / STEPS_PER_E_FOLD);
}

/* Adds the curve that has passed, and forgets it. Its last quota is its number of units. */
static enum kvr_status close_curve(struct collected *c, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    size_t count = c->curve_count;
    c->curve_count = 0;
    if (count == 0)
        return KVR_OK;
    c->groups[c->scorer_place]++;
    double units = (double)c->curve[count - 1].k;
    size_t point = count - 1;
    for (size_t i = 0; status == KVR_OK && i < STEPS; i++) {
        double most = share_of(i) * units;
        while (point > 0 && (double)c->curve[point].k > most)
            point--;
        if ((double)c->curve[point].k > most)
            break;
        struct step *into = &c->steps[c->scorer_place * STEPS + i];
        status = kvr_values_add(&into->uor, c->curve[point].uor, err);
        if (status == KVR_OK)
            status = kvr_values_add(&into->lower, c->curve[point].lower, err);
    }
    return status;
}

static enum kvr_status add_point(struct collected *c, struct kvr_error *err)
{
    void *curve = c->curve;
    enum kvr_status status =
        kvr_reserve(&curve, &c->curve_capacity, c->curve_count + 1, sizeof *c->curve, err);
    c->curve = curve;
    if (status == KVR_OK)
        c->curve[c->curve_count++] =
            (struct curve_point){.k = c->k, .uor = c->uor, .lower = c->sandwich_lower};
    return status;
}

/* Curves stand one after the other, each with rising k. */
static enum kvr_status take(void *state, const struct kvr_table_reader *reader,
                            struct kvr_error *err)
{
    struct collected *c = state;
    enum kvr_status status = KVR_OK;
    if (c->k == 0)
        return kvr_table_reader_fail(reader, "k", err, "expected at least 1, found 0");
    if (c->curve_count > 0 && c->k <= c->curve[c->curve_count - 1].k)
        status = close_curve(c, err);
    if (status != KVR_OK || c->ratio < 2 || !kvr_source_shows_trace(c->source, c->trace) ||
        strcmp(c->page_size, c->source->page_size) != 0)
        return status;
    size_t scorer = kvr_labels_find(&c->scorers, c->scorer);
    if (scorer == MOST_SCORERS) {
        c->left_out++;
        return KVR_OK;
    }
    status = kvr_labels_add(&c->scorers, c->scorer, &scorer, err);
    c->scorer_place = scorer;
    if (c->ratio > c->most_ratio)
        c->most_ratio = c->ratio;
    return status == KVR_OK ? add_point(c, err) : status;
}

static void write_step(struct step *step, double share, struct kvr_draft *draft)
{
    static const double quantiles[] = {0.5, 0.1, 0.25, 0.75, 0.9};
    kvr_values_sort(&step->uor);
    kvr_values_sort(&step->lower);
    kvr_draft_value(draft, share);
    for (size_t q = 0; q < sizeof quantiles / sizeof *quantiles; q++)
        kvr_draft_value(draft, kvr_quantile(&step->uor, quantiles[q]));
    kvr_draft_value(draft, kvr_quantile(&step->lower, 0.5));
    kvr_draft_value(draft, (double)step->uor.count);
    kvr_draft_end(draft);
}

static void write(struct collected *c, struct kvr_draft *draft)
{
    char words[KVR_COUNT_ROOM];
    kvr_draft_say(draft, "Union overhead of the heads' own sets at every budget k/T: median over "
                         "groups, dark band from the first to the third quartile, light band from "
                         "the 10th to the 90th percentile; dashed the median of theorem 1's lower "
                         "bound.");
    for (size_t s = 0; s < c->scorers.count; s++) {
        kvr_draft_block(draft, "scorer %s: k/T uor: median q10 q25 q75 q90, lower bound, groups",
                        c->scorers.names[s]);
        for (size_t i = STEPS; i-- > 0;)
            if (c->steps[s * STEPS + i].uor.count > 0)
                write_step(&c->steps[s * STEPS + i], share_of(i), draft);
        kvr_draft_say(draft, "%s: %s.", c->scorers.names[s],
                      kvr_count_words(words, c->groups[s], "group"));
    }
    kvr_draft_strings(draft, "scorers", (const char *const *)c->scorers.names, c->scorers.count);
    kvr_draft_number(draft, "ratio", (double)c->most_ratio);
    draft->height = 0.96 + 0.95 * (double)c->scorers.count;
    draft->text_lines = 8 + 16 * (double)c->scorers.count;
    if (c->left_out > 0)
        kvr_draft_say(draft, "Left out: rows of further scorers.");
    kvr_caption_scope(draft, c->source, KVR_SCOPE_PAGES, NULL);
}

enum kvr_status kvr_figure_uor_curves(const struct kvr_source *source, struct kvr_draft *draft,
                                      struct kvr_error *err)
{
    struct collected c = {.source = source};
    if (source->page_size == NULL)
        return KVR_OK;
    c.steps = kvr_alloc((size_t)MOST_SCORERS * STEPS, sizeof *c.steps, err);
    if (c.steps == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_table_each(source->folder, "curves.csv", fields,
                                            sizeof fields / sizeof *fields, &c, take, &c, err);
    if (status == KVR_OK)
        status = close_curve(&c, err);
    if (status == KVR_OK && c.scorers.count > 0)
        write(&c, draft);
    for (size_t i = 0; i < (size_t)MOST_SCORERS * STEPS; i++) {
        kvr_values_free(&c.steps[i].uor);
        kvr_values_free(&c.steps[i].lower);
    }
    kvr_labels_free(&c.scorers);
    free(c.steps);
    free(c.curve);
    return status;
}
