/*
 * One correlation with its interval: which settings and samples are ranked, and the statistic.
 * Private to predict.c.
 */
#ifndef KVR_PREDICT_RANK_H
#define KVR_PREDICT_RANK_H

#include "analysis/predict.h"

/* What is ranked. */
struct predict_question {
    const struct kvr_predict_section *section;
    enum kvr_predict_scope scope;
    size_t budget; /* of scopes of one budget */
    enum kvr_live live;
    size_t predictor_count; /* 1; or 2: how much better the first ranks than the second */
    enum kvr_predictor predictors[2];
};

/* Fills *correlation; its rho is the difference of two where two measures are asked for. */
enum kvr_status predict_correlate(const struct kvr_predict_data *data,
                                  const struct kvr_predict_options *options,
                                  const struct predict_question *question,
                                  struct kvr_correlation *correlation, struct kvr_error *err);

#endif
