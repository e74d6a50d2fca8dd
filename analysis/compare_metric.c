/*
 * The registry of measures to compare by.
 */
#include "analysis/compare_metric.h"

#include <string.h>

const struct kvr_metric_info kvr_metrics[KVR_METRICS] = {
    [KVR_METRIC_FUTURE_PEAK] =
        {
            .name = "future_peak",
            .heading = "future peak",
            .title = "future peak: kept share of the decode rows' squared mass on the prompt",
        },
    [KVR_METRIC_FUTURE_MASS] =
        {
            .name = "future_mass",
            .heading = "future mass",
            .title = "future mass: kept share of the decode rows' mass on the prompt",
        },
    [KVR_METRIC_NEEDLE] =
        {
            .name = "needle",
            .heading = "needle kept",
            .title = "needle: share of (layer, group) that keep it whole",
            .of_needles = true,
        },
    [KVR_METRIC_NEEDLE_FUTURE] =
        {
            .name = "needle_future",
            .heading = "needle future",
            .title = "needle future: kept share of the decode rows' mass on the needle",
            .of_needles = true,
        },
    [KVR_METRIC_OUTPUT_ERROR] =
        {
            .name = "output_error",
            .heading = "output error",
            .title = "output error: relative error of the heads' outputs, less is better",
            .less_is_better = true,
        },
    [KVR_METRIC_RETAINED_MASS] =
        {
            .name = "retained_mass",
            .heading = "own mass",
            .title = "retained mass: kept share of the policy's own score, which flatters it",
        },
};

bool kvr_metric_find(const char *name, enum kvr_metric *metric)
{
    for (unsigned i = 0; i < KVR_METRICS; i++)
        if (strcmp(kvr_metrics[i].name, name) == 0) {
            *metric = (enum kvr_metric)i;
            return true;
        }
    return false;
}
