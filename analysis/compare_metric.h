/*
 * The measures that policies are compared by (MEASURES §7, §9), in the order in which they are to
 * be believed: the last one is a policy's own score and flatters it.
 */
#ifndef KVR_COMPARE_METRIC_H
#define KVR_COMPARE_METRIC_H

#include <stdbool.h>

enum kvr_metric {
    KVR_METRIC_FUTURE_PEAK,
    KVR_METRIC_FUTURE_MASS,
    KVR_METRIC_NEEDLE, /* share of (layer, group) that keep the needle whole */
    KVR_METRIC_NEEDLE_FUTURE,
    KVR_METRIC_OUTPUT_ERROR,
    KVR_METRIC_RETAINED_MASS,
    KVR_METRICS,
};

struct kvr_metric_info {
    const char *name;    /* as --metric takes it */
    const char *heading; /* of a column */
    const char *title;   /* what it is, in a line */
    bool of_needles;     /* from needles.csv: a value per needle */
    bool less_is_better;
};

extern const struct kvr_metric_info kvr_metrics[KVR_METRICS];

/* False if there is none of that name. */
bool kvr_metric_find(const char *name, enum kvr_metric *metric);

#endif
