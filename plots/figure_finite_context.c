/*
 * Corollary 2's finite-context bound in its two regimes. In closed form: with diffuse siblings the
 * loss dies out with the context, with siblings that look at a fixed number of tokens it stays.
 * Measured: what entropy pooling keeps of the owner's peak against the odds D/C of the siblings,
 * beside the bound 1 / (1 + D/C).
 */
#include <math.h>
#include <string.h>

#include "formats/table_reader.h"
#include "plots/bin_grid.h"
#include "plots/caption.h"
#include "plots/figure_list.h"
#include "plots/statistics.h"

/* Of the closed form, as the paper has them: MEASURES §7. */
static const double ratio = 8, tau = 0.5, owner_entropy = 0.693147180559945309;
/* Tokens that concentrated siblings look at. */
static const double focus[] = {100, 10};

enum { GRID = 72, FOCI = 2, MOST_DECADES = 8 };

struct collected {
    const struct kvr_source *source;
    const char *trace, *scorer; /* of the row */
    double owner_mass, pooled_mass, bound;

    struct kvr_bin_grid grid; /* log10 of the odds, kept share */
    struct kvr_values odds;
    uint64_t needles, binding, broken, without;
};

static const struct kvr_field fields[] = {
    {KVR_FIELD(struct collected, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, owner_mass, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, pooled_mass, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, bound, KVR_FIELD_NUMBER)},
};

/* bound = (1 - eps) C / (C + D), so the odds D/C are (1 - eps) / bound - 1. */
static enum kvr_status take(void *state, const struct kvr_table_reader *reader,
                            struct kvr_error *err)
{
    struct collected *c = state;
    (void)reader;
    if (!kvr_source_shows_trace(c->source, c->trace) || strcmp(c->scorer, c->source->scorer) != 0)
        return KVR_OK;
    double odds = c->owner_mass / c->bound - 1;
    if (!(c->owner_mass > 0) || !(c->bound > 0) || !(odds > 0)) {
        c->without++;
        return KVR_OK;
    }
    c->needles++;
    c->binding += odds <= 1;
    c->broken += c->pooled_mass < c->bound - 1e-9;
    kvr_bin_grid_add(&c->grid, log10(odds), c->pooled_mass / c->owner_mass);
    return kvr_values_add(&c->odds, odds, err);
}

/* Delta / (1 - eps) of odds D/C. */
static double loss(double odds)
{
    return odds / (1 + odds);
}

/* Siblings with the entropy of an even look at `tokens` tokens, however long the context. */
static double focused_odds(double tokens)
{
    return (ratio - 1) * pow(tokens, -1 / tau) * exp(owner_entropy / tau);
}

static void write_closed_form(struct kvr_draft *draft)
{
    kvr_draft_block(draft,
                    "closed form: non-sink tokens T - S, loss with diffuse siblings, with "
                    "siblings on %g and on %g tokens",
                    focus[0], focus[1]);
    for (int i = 0; i <= 40; i++) {
        double tokens = exp2(8 + i * 0.3); /* diffuse siblings look at all of them */
        kvr_draft_value(draft, tokens);
        kvr_draft_value(draft, loss(focused_odds(tokens)));
        for (size_t f = 0; f < FOCI; f++)
            kvr_draft_value(draft, loss(focused_odds(focus[f])));
        kvr_draft_end(draft);
    }
}

static void write(struct collected *c, struct kvr_draft *draft)
{
    char words[KVR_COUNT_ROOM];
    write_closed_form(draft);
    kvr_draft_block(draft, "measured: log10 of the odds D/C, pooled / owner's value, needles");
    kvr_bin_grid_write(&c->grid, draft);
    kvr_values_sort(&c->odds);
    double median = kvr_quantile(&c->odds, 0.5);
    kvr_draft_number(draft, "median_odds", median);
    kvr_draft_number(draft, "median_loss", loss(median));
    kvr_draft_number(draft, "low", pow(10, fmin(floor(log10(kvr_quantile(&c->odds, 0))), -1)));
    kvr_draft_number(draft, "high", pow(10, fmax(ceil(log10(kvr_quantile(&c->odds, 1))), 1)));
    for (size_t f = 0; f < FOCI; f++)
        kvr_draft_number(draft, f == 0 ? "loss_1" : "loss_2", loss(focused_odds(focus[f])));
    kvr_draft_number(draft, "focus_1", focus[0]);
    kvr_draft_number(draft, "focus_2", focus[1]);
    draft->height = 3.5;
    draft->text_lines = 46;
    kvr_draft_say(draft,
                  "Above, corollary 2 in closed form (r = 8, tau = 0.5, owner's entropy ln 2): the "
                  "loss that the bound allows, as a share of the owner's value, when the siblings "
                  "are diffuse and when each looks at %g or %g tokens; dotted the median of the "
                  "measured losses. Below, measured: what entropy pooling keeps of the owner's "
                  "value at the needle's peak, against the odds D/C of its siblings; the curve is "
                  "the bound 1/(1 + D/C).",
                  focus[0], focus[1]);
    kvr_draft_say(draft,
                  "%s: the bound promises half of the value (odds at most 1) for %llu, and "
                  "is broken for %llu.",
                  kvr_count_words(words, c->needles, "(needle, group) pair"),
                  (unsigned long long)c->binding, (unsigned long long)c->broken);
    if (c->without > 0)
        kvr_draft_say(draft, "Left out, because the owner or the bound has no value: %s.",
                      kvr_count_words(words, c->without, "pair"));
    kvr_caption_scope(draft, c->source, KVR_SCOPE_SCORER, NULL);
}

enum kvr_status kvr_figure_finite_context(const struct kvr_source *source, struct kvr_draft *draft,
                                          struct kvr_error *err)
{
    struct collected c = {.source = source};
    if (source->scorer == NULL)
        return KVR_OK;
    c.grid = (struct kvr_bin_grid){.columns = GRID,
                                   .rows = GRID,
                                   .x_least = -MOST_DECADES,
                                   .x_most = MOST_DECADES,
                                   .y_most = 1};
    enum kvr_status status = kvr_bin_grid_open(&c.grid, err);
    if (status == KVR_OK)
        status = kvr_table_each(source->folder, "premises.csv", fields,
                                sizeof fields / sizeof *fields, &c, take, &c, err);
    if (status == KVR_OK && c.needles > 0)
        write(&c, draft);
    else if (status == KVR_OK && c.without == 0 && source->excluded_at_all == 0)
        kvr_draft_skip(draft, "the trace has no needles, hence no premises");
    kvr_bin_grid_free(&c.grid);
    kvr_values_free(&c.odds);
    return status;
}
