/*
 * Heads of heads.csv by class, for the figures that compare classes.
 */
#ifndef KVR_HEAD_ROWS_H
#define KVR_HEAD_ROWS_H

#include <stdint.h>

#include "plots/draft.h"
#include "plots/source.h"
#include "plots/statistics.h"

enum { KVR_HEAD_CLASS_COUNT = 3 };

/* "sink", "retrieval", "contextual" */
extern const char *const kvr_head_class_names[KVR_HEAD_CLASS_COUNT];

/* One head of the shown scorer and traces. */
struct kvr_head_row {
    unsigned kind; /* index into the names */
    double h2_raw, h2_isolated, weight_raw, weight_isolated;
};

typedef enum kvr_status (*kvr_take_head)(void *state, const struct kvr_head_row *row,
                                         struct kvr_error *err);

enum kvr_status kvr_each_head(const struct kvr_source *source, kvr_take_head take, void *state,
                              struct kvr_error *err);

#endif
