/*
 * Notes below a prediction. It must not know how its tables look.
 */
#include "replay/cli/predict_notes.h"

#include <inttypes.h>
#include <math.h>

#include "replay/cli/readable.h"

/* Below so many, a rank correlation or its interval says little. */
enum { FEW_SAMPLES = 20, FEW_SETTINGS = 8 };

static void add_number(struct kvr_text *page, uint64_t count)
{
    kvr_text_thousands(page, count);
}

static void note_samples(const struct kvr_prediction *prediction, struct kvr_text *page)
{
    for (size_t i = 0; i < prediction->section_count; i++) {
        const struct kvr_predict_section *section = &prediction->sections[i];
        if (section->samples >= FEW_SAMPLES)
            continue;
        kvr_text_add(page,
                     "  Warning: %zu sample%s live: intervals are too narrow rather than too "
                     "wide%s.\n",
                     section->samples, section->samples == 1 ? "" : "s",
                     section->samples < KVR_LEAST_SAMPLES ? ", and below 3 there are none" : "");
        return;
    }
}

/* The fewest settings that a scope ranks, where any has a rho or could have one. */
static size_t fewest_ranked(const struct kvr_predict_section *section, enum kvr_predict_scope scope)
{
    size_t fewest = SIZE_MAX;
    for (size_t b = 0; b < section->budget_count; b++) {
        size_t most = 0;
        for (unsigned p = 0; p < KVR_PREDICTORS; p++)
            for (unsigned f = 0; f < KVR_LIVES; f++) {
                size_t settings = kvr_correlation_at(section, kvr_scope_index(section, scope, b),
                                                     (enum kvr_predictor)p, (enum kvr_live)f)
                                      ->settings;
                most = settings > most ? settings : most;
            }
        fewest = most < fewest ? most : fewest;
    }
    return fewest;
}

static void note_settings(const struct kvr_prediction *prediction, struct kvr_text *page)
{
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; i < prediction->section_count; i++) {
        size_t ranked = fewest_ranked(&prediction->sections[i], KVR_EQUAL_MEMORY_BUDGET);
        fewest = ranked < fewest ? ranked : fewest;
    }
    if (fewest < FEW_SETTINGS)
        kvr_text_add(page,
                     "  Warning: at equal memory as few as %zu setting%s are ranked at a budget: "
                     "rho over so few is rough.\n",
                     fewest, fewest == 1 ? "" : "s");
}

static void note_range(const struct kvr_predict_data *data,
                       const struct kvr_predict_section *section, struct kvr_text *page)
{
    if (section->mixed || section->floor + section->ceiling + section->same == 0)
        return;
    kvr_text_add(page, "  Warning: page size %" PRIu64 ": of %zu settings,",
                 data->page_sizes[section->page], section->settings);
    const char *comma = "";
    if (section->floor > 0) {
        kvr_text_add(page, " %zu never answer right (floor)", section->floor);
        comma = ",";
    }
    if (section->ceiling > 0) {
        kvr_text_add(page, "%s %zu always do (ceiling)", comma, section->ceiling);
        comma = ",";
    }
    if (section->same > 0)
        kvr_text_add(page, "%s %zu do not differ from the full cache", comma, section->same);
    kvr_text_string(page, ";\n    what lies there cannot be ranked.\n");
}

static void note_left_out(const struct kvr_prediction *prediction, struct kvr_text *page)
{
    size_t sparse = 0, partial = 0;
    for (size_t i = 0; i < prediction->section_count; i++) {
        const struct kvr_predict_section *section = &prediction->sections[i];
        for (size_t c = 0; c < kvr_scope_count(section) * KVR_PREDICTORS * KVR_LIVES; c++) {
            const struct kvr_correlation *correlation = &section->correlations[c];
            sparse = correlation->sparse_settings > sparse ? correlation->sparse_settings : sparse;
            partial =
                correlation->partial_samples > partial ? correlation->partial_samples : partial;
        }
    }
    if (sparse + partial > 0)
        kvr_text_add(page,
                     "  Warning: rankings leave out up to %zu setting%s with less than half of "
                     "the samples, and up to\n    %zu sample%s that some setting lacks, so that "
                     "all are averaged over the same ones.\n",
                     sparse, sparse == 1 ? "" : "s", partial, partial == 1 ? "" : "s");
}

static void note_unmatched(const struct kvr_predict_data *data, struct kvr_text *page)
{
    uint64_t strange = data->strange_samples + data->strange_settings;
    if (strange > 0) {
        kvr_text_string(page, "  Warning: ");
        add_number(page, strange);
        kvr_text_string(page, " of ");
        add_number(page, data->live_rows);
        kvr_text_string(page, " live rows have no counterpart in the tables (");
        add_number(page, data->strange_samples);
        kvr_text_string(page, " by sample, ");
        add_number(page, data->strange_settings);
        kvr_text_string(page, " by setting);\n    the first: ");
        kvr_text_printable(page, data->first_strange);
        kvr_text_string(page, ".\n");
    }
    if (data->unlived > 0) {
        kvr_text_string(page, "  ");
        add_number(page, data->unlived);
        kvr_text_string(page, " pairs of setting and sample in the tables have no live row.\n");
    }
}

static void note_pages(const struct kvr_prediction *prediction, struct kvr_text *page)
{
    if (prediction->sections[prediction->section_count - 1].mixed)
        kvr_text_string(page,
                        "  Warning: page sizes are mixed in the last section: a page's tokens "
                        "come along whether they\n    matter or not.\n");
    else if (prediction->section_count > 1)
        kvr_text_string(page,
                        "  Page sizes are ranked apart; --mix-pages also ranks them together.\n");
}

void kvr_predict_notes(const struct kvr_prediction *prediction, struct kvr_text *page)
{
    kvr_text_string(page, "\nTo keep in mind\n");
    note_samples(prediction, page);
    note_settings(prediction, page);
    for (size_t i = 0; i < prediction->section_count; i++)
        note_range(&prediction->data, &prediction->sections[i], page);
    note_left_out(prediction, page);
    note_pages(prediction, page);
    note_unmatched(&prediction->data, page);
    kvr_text_string(page, "  rho is Spearman's, ties at mid-ranks, of means over samples; + means "
                          "that what the measure prefers\n    does better live. ");
    kvr_text_string(page, "Intervals: 95 % of ");
    add_number(page, prediction->bootstrap.draws);
    kvr_text_add(page, " bootstrap draws of samples (seed %" PRIu64 ").\n",
                 prediction->bootstrap.seed);
    kvr_text_add(page,
                 "  within: the mean of the budgets' rho; at equal memory: the same over settings "
                 "that hold what the budget\n    says, to %g %%. Pooled measures weigh layers and "
                 "groups by the mass that is looked for, equal ones do not.\n",
                 100 * prediction->slack);
    kvr_text_string(page, "  Retained mass is each policy's own score, which flatters it.\n");
    kvr_text_string(page, "  Other prompts add noise to the means that are ranked, so intervals of "
                          "rho reach further down than up.\n");
    kvr_text_string(page, "  One model's prompts: other models and tasks may rank otherwise.\n");
}
