/*
 * Policies by what the tokens that come later still find: pooled future peak, the headline, and
 * pooled future mass, against the memory that is held; clairvoyant is the ceiling, random and
 * streaming-llm the floors.
 */
#include <math.h>
#include <string.h>

#include "plots/caption.h"
#include "plots/figure_list.h"
#include "plots/policy_points.h"

static double peak_of(const struct kvr_policy_point *point)
{
    return kvr_pool_mean(&point->future_peak);
}

static double mass_of(const struct kvr_policy_point *point)
{
    return kvr_pool_mean(&point->future_mass);
}

/* The axis of the peak counts nines; it ends above the best policy, not at the ceiling, beside
   which policies could not be told apart. */
static void write_axis(const struct kvr_policy_points *points, struct kvr_draft *draft)
{
    double top = 1, least = NAN, most = NAN;
    for (size_t p = 0; p < points->policies; p++)
        for (size_t b = 0; b < points->budgets; b++) {
            double peak = peak_of(&points->points[p * points->budgets + b]);
            if (strcmp(points->source->policies.names[p], "clairvoyant") == 0) {
                least = fmin(least, peak);
                most = fmax(most, peak);
            } else if (peak < 1 - 1e-6)
                top = fmax(top, -log10(1 - peak));
        }
    kvr_draft_number(draft, "top", ceil(4 * top + 1) / 4);
    kvr_draft_number(draft, "ceiling_least", isnan(least) ? 0 : least);
    kvr_draft_number(draft, "ceiling_most", isnan(most) ? 0 : most);
}

static uint64_t most_samples(const struct kvr_policy_points *points)
{
    uint64_t most = 0;
    for (size_t i = 0; i < points->policies * points->budgets; i++)
        if (points->points[i].future_peak.samples > most)
            most = points->points[i].future_peak.samples;
    return most;
}

enum kvr_status kvr_figure_policies(const struct kvr_source *source, struct kvr_draft *draft,
                                    struct kvr_error *err)
{
    static const struct kvr_policy_lines lines = {
        .columns = {peak_of, mass_of},
        .column_count = 2,
        .names = "future_peak future_mass",
    };
    struct kvr_policy_points points;
    size_t written = 0;
    char words[KVR_COUNT_ROOM];
    enum kvr_status status = kvr_policy_points_read(source, &points, err);
    if (status == KVR_OK)
        status = kvr_policy_points_write(&points, &lines, draft, &written, err);
    if (status == KVR_OK && written == 0 && source->policies.count > 0)
        kvr_draft_skip(draft, "the trace has no decode rows, hence no future mass");
    if (written > 0) {
        write_axis(&points, draft);
        kvr_policy_lines_size(draft, written, 3.1);
        kvr_draft_say(draft,
                      "Future peak (headline) and future mass of %s over budgets: the share of the "
                      "squared and of the plain attention that decoded tokens pay to the prompt "
                      "which the kept tokens hold, pooled over layers and groups by weight, then "
                      "the mean over %s. The abscissa is what is held of the full cache; "
                      "clairvoyant is the ceiling, random and streaming-llm are floors.",
                      written == 1 ? "a policy" : "policies",
                      kvr_count_words(words, most_samples(&points), "sample"));
        kvr_caption_scope(draft, source, KVR_SCOPE_SCORER | KVR_SCOPE_PAGES, NULL);
    }
    kvr_policy_points_free(&points);
    return status;
}
