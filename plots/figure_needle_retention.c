/*
 * What policies keep of a needle, by where it lies in the prompt and by the length of the prompt;
 * where all prompts are about as long, by the budget instead.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/table_reader.h"
#include "plots/caption.h"
#include "plots/figure_list.h"
#include "plots/heat_map.h"
#include "plots/statistics.h"

enum { DEPTHS = 5, MOST_POLICIES = 12 };

struct collected {
    const struct kvr_source *source;
    const char *trace, *sample, *scorer, *policy, *page_size, *budget; /* of the row */
    uint64_t context, start;
    double kept_fraction;

    struct kvr_labels samples;  /* "trace\nsample" */
    struct kvr_values contexts; /* the longest of each sample */
    struct kvr_labels policies;
    struct kvr_labels budgets; /* rows of the maps, unless lengths are */
    struct kvr_values lengths; /* logarithms (base 2, rounded), rising; more than one: the rows */
    struct kvr_heat_map maps[MOST_POLICIES];
    uint64_t rows, left_out;
};

static const struct kvr_field measures_fields[] = {
    {KVR_FIELD(struct collected, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, sample, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, context, KVR_FIELD_UNSIGNED)},
};

static const struct kvr_field needles_fields[] = {
    {KVR_FIELD(struct collected, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, sample, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, policy, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, page_size, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, budget, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, start, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, kept_fraction, KVR_FIELD_NUMBER)},
};

static enum kvr_status find_sample(struct collected *c, size_t *place, struct kvr_error *err)
{
    char key[512];
    snprintf(key, sizeof key, "%.250s\n%.250s", c->trace, c->sample);
    return kvr_labels_add(&c->samples, key, place, err);
}

/* Window layers have fewer candidates: the prompt is the longest context of its layers. */
static enum kvr_status take_context(void *state, const struct kvr_table_reader *reader,
                                    struct kvr_error *err)
{
    struct collected *c = state;
    size_t place;
    (void)reader;
    if (!kvr_source_shows_trace(c->source, c->trace))
        return KVR_OK;
    enum kvr_status status = find_sample(c, &place, err);
    if (status == KVR_OK && place == c->contexts.count)
        status = kvr_values_add(&c->contexts, 0, err);
    if (status == KVR_OK)
        c->contexts.items[place] = fmax(c->contexts.items[place], (double)c->context);
    return status;
}

static double length_of(double context)
{
    return round(log2(context));
}

static enum kvr_status settle_lengths(struct collected *c, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < c->contexts.count; i++) {
        double length = length_of(c->contexts.items[i]);
        size_t known = 0;
        while (known < c->lengths.count && c->lengths.items[known] != length)
            known++;
        if (known == c->lengths.count)
            status = kvr_values_add(&c->lengths, length, err);
    }
    kvr_values_sort(&c->lengths);
    return status;
}

static size_t length_row(const struct collected *c, double context)
{
    size_t row = 0;
    while (row + 1 < c->lengths.count && c->lengths.items[row] != length_of(context))
        row++;
    return row;
}

static enum kvr_status take_needle(void *state, const struct kvr_table_reader *reader,
                                   struct kvr_error *err)
{
    struct collected *c = state;
    bool by_length = c->lengths.count > 1;
    size_t sample, policy;
    (void)reader;
    if (strcmp(c->page_size, c->source->page_size) != 0 ||
        !kvr_source_shows_trace(c->source, c->trace) ||
        !kvr_source_shows_policy(c->source, c->policy, c->scorer) ||
        (by_length && strcmp(c->budget, c->source->budget) != 0))
        return KVR_OK;
    enum kvr_status status = find_sample(c, &sample, err);
    if (status != KVR_OK || sample >= c->contexts.count)
        return status;
    policy = kvr_labels_find(&c->policies, c->policy);
    if (policy == MOST_POLICIES) {
        c->left_out++;
        return KVR_OK;
    }
    status = kvr_labels_add(&c->policies, c->policy, &policy, err);
    double context = c->contexts.items[sample];
    size_t row = by_length ? length_row(c, context) : kvr_labels_find(&c->budgets, c->budget);
    double depth = floor((double)c->start * DEPTHS / context);
    c->rows++;
    return status == KVR_OK
               ? kvr_heat_map_add(&c->maps[policy], row, (uint64_t)fmin(depth, DEPTHS - 1),
                                  c->kept_fraction, err)
               : status;
}

/* ------------------------------------------------------------------------------ writing */

static void write_row_names(const struct collected *c, struct kvr_draft *draft, size_t *rows)
{
    enum { MOST = 64 };
    char names[MOST][16];
    const char *shown[MOST];
    bool by_length = c->lengths.count > 1;
    *rows = by_length ? c->lengths.count : c->budgets.count;
    if (!by_length) {
        kvr_draft_strings(draft, "rows", (const char *const *)c->budgets.names, c->budgets.count);
        return;
    }
    *rows = *rows < MOST ? *rows : MOST;
    for (size_t i = 0; i < *rows; i++) {
        double length = c->lengths.items[i];
        if (length < 10)
            snprintf(names[i], sizeof names[i], "%.0f", exp2(length));
        else
            snprintf(names[i], sizeof names[i], "%.0fk", exp2(length - 10));
        shown[i] = names[i];
    }
    kvr_draft_strings(draft, "rows", shown, *rows);
}

static void write(const struct collected *c, struct kvr_draft *draft)
{
    bool by_length = c->lengths.count > 1;
    char words[KVR_COUNT_ROOM];
    size_t rows = 0;
    write_row_names(c, draft, &rows);
    for (size_t p = 0; p < c->policies.count; p++) {
        kvr_draft_block(draft, "%s: depth in fifths, row, mean kept fraction, rows",
                        c->policies.names[p]);
        kvr_heat_map_write(&c->maps[p], rows, DEPTHS, draft);
    }
    kvr_draft_strings(draft, "policies", (const char *const *)c->policies.names, c->policies.count);
    kvr_draft_string(draft, "row_title", by_length ? "prompt, tokens" : "budget");
    double lines = ceil((double)c->policies.count / 3);
    draft->height = 0.85 + 0.92 * lines;
    draft->text_lines = 3 + ((double)rows + 5) * lines;
    kvr_draft_say(draft,
                  "Mean share of a needle's tokens that is kept, by the depth of the needle in the "
                  "prompt (fifths) and %s, over layers, groups and needles: %s; grey where no "
                  "needle lies.",
                  by_length ? "the length of the prompt" : "the budget",
                  kvr_count_words(words, c->rows, "row"));
    if (c->left_out > 0)
        kvr_draft_say(draft, "Left out: policies beyond the first %d.", MOST_POLICIES);
    kvr_caption_scope(draft, c->source,
                      KVR_SCOPE_SCORER | KVR_SCOPE_PAGES | (by_length ? KVR_SCOPE_BUDGET : 0u),
                      NULL);
}

enum kvr_status kvr_figure_needle_retention(const struct kvr_source *source,
                                            struct kvr_draft *draft, struct kvr_error *err)
{
    struct collected c = {.source = source, .budgets = source->budgets};
    if (source->page_size == NULL)
        return KVR_OK;
    enum kvr_status status =
        kvr_table_each(source->folder, "measures.csv", measures_fields,
                       sizeof measures_fields / sizeof *measures_fields, &c, take_context, &c, err);
    if (status == KVR_OK)
        status = settle_lengths(&c, err);
    if (status == KVR_OK)
        status = kvr_table_each(source->folder, "needles.csv", needles_fields,
                                sizeof needles_fields / sizeof *needles_fields, &c, take_needle, &c,
                                err);
    if (status == KVR_OK && c.rows > 0)
        write(&c, draft);
    else if (status == KVR_OK && c.contexts.count > 0)
        kvr_draft_skip(draft, "the trace has no needles");
    for (size_t p = 0; p < MOST_POLICIES; p++)
        kvr_heat_map_free(&c.maps[p]);
    kvr_labels_free(&c.samples);
    kvr_labels_free(&c.policies);
    kvr_values_free(&c.contexts);
    kvr_values_free(&c.lengths);
    return status;
}
