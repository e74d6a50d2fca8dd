/*
 * A prediction as a page for the terminal.
 */
#ifndef KVR_PRINT_PREDICT_H
#define KVR_PRINT_PREDICT_H

#include <stdbool.h>

#include "analysis/predict.h"
#include "formats/base/text.h"

/* What of the policies is shown. */
struct kvr_predict_shown {
    const char *baseline; /* "random", or "last/mean"; NULL: random, else the first policy */
    bool all_budgets;     /* policies at every budget, else at the middle one */
};

/* Adds the page. KVR_BAD_ARGUMENT if the baseline is none of the policies. */
enum kvr_status kvr_predict_page(const struct kvr_prediction *prediction,
                                 const struct kvr_predict_shown *shown, struct kvr_text *page,
                                 struct kvr_error *err);

#endif
