/*
 * A prediction as tables for other programs.
 */
#ifndef KVR_PREDICT_EXPORT_H
#define KVR_PREDICT_EXPORT_H

#include "analysis/predict.h"

/*
 * Writes to `folder`, all or none: predict.csv (a line per page size, scope, live figure and
 * measure), predict_points.csv (what is ranked: a line per setting), predict_policies.csv
 * (paired live differences of every two policies) and predict_samples.csv (the replay's measures of
 * each sample and setting, which kvr_predict_data_read takes in place of the replay's tables).
 */
enum kvr_status kvr_predict_export(const struct kvr_prediction *prediction, const char *folder,
                                   struct kvr_error *err);

#endif
