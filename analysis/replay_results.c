/*
 * Settings, samples and their figures. How tables are read is in results_reader.c.
 */
#include "analysis/replay_results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void kvr_replay_results_free(struct kvr_replay_results *results)
{
    for (size_t i = 0; i < results->overlap_count; i++)
        free(results->overlaps[i].samples);
    for (size_t i = 0; i < results->kept_count; i++) {
        free(results->kept[i].samples);
        free(results->kept[i].needles);
    }
    for (size_t i = 0; i < results->census_count; i++)
        free(results->census[i].samples);
    free(results->overlaps);
    free(results->kept);
    free(results->census);
    free(results->groups);
    free(results->layer_groups);
    free(results->policy_pools);
    kvr_names_free(&results->traces);
    kvr_names_free(&results->samples);
    kvr_names_free(&results->scorers);
    kvr_names_free(&results->policies);
    kvr_names_free(&results->budgets);
    kvr_names_free(&results->layer_names);
    *results = (struct kvr_replay_results){.least_pur = NAN, .most_pur = NAN};
}

const struct kvr_kept_setting *kvr_results_kept(const struct kvr_replay_results *results,
                                                size_t scorer, const char *policy,
                                                uint64_t page_size, size_t budget)
{
    for (size_t i = 0; i < results->kept_count; i++) {
        const struct kvr_kept_setting *setting = &results->kept[i];
        if (setting->scorer == scorer && setting->page_size == page_size &&
            setting->budget == budget &&
            strcmp(results->policies.items[setting->policy], policy) == 0)
            return setting;
    }
    return NULL;
}

static double ratio(double sum, double weight)
{
    return weight > 0 ? sum / weight : NAN;
}

static double sample_figure(const struct kvr_sample_kept *kept, enum kvr_kept_figure figure)
{
    switch (figure) {
    case KVR_FUTURE_MASS:
        return ratio(kept->mass, kept->mass_weight);
    case KVR_FUTURE_PEAK:
        return ratio(kept->peak, kept->peak_weight);
    case KVR_RETAINED_MASS:
        return ratio(kept->retained_sum, (double)kept->retained_groups);
    case KVR_NEEDLE_FRACTION:
    case KVR_NEEDLE_MASS:
        break;
    }
    return NAN;
}

/* Needles of a sample stand together: their mean goes to the sample's value. */
static void needle_values(const struct kvr_kept_setting *setting, bool mass, double *values)
{
    for (size_t i = 0; i < setting->needle_count;) {
        size_t sample = setting->needles[i].sample, first = i;
        double sum = 0;
        for (; i < setting->needle_count && setting->needles[i].sample == sample; i++) {
            const struct kvr_needle_kept *needle = &setting->needles[i];
            sum += (mass ? needle->pooled_sum : (double)needle->whole) / (double)needle->rows;
        }
        values[sample] = sum / (double)(i - first);
    }
}

void kvr_results_values(const struct kvr_replay_results *results,
                        const struct kvr_kept_setting *setting, enum kvr_kept_figure figure,
                        double *values)
{
    for (size_t i = 0; i < results->samples.count; i++)
        values[i] = NAN;
    if (figure == KVR_NEEDLE_FRACTION || figure == KVR_NEEDLE_MASS) {
        needle_values(setting, figure == KVR_NEEDLE_MASS, values);
        return;
    }
    for (size_t i = 0; i < setting->count; i++)
        values[setting->samples[i].sample] = sample_figure(&setting->samples[i], figure);
}
