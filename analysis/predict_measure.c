/*
 * The registry of both sides of a prediction.
 */
#include "analysis/predict_measure.h"

const struct kvr_predict_info kvr_predictors[KVR_PREDICTORS] = {
    [KVR_BY_FUTURE_PEAK_POOLED] = {"future_peak", "pooled", "future peak, pooled", 1},
    [KVR_BY_FUTURE_PEAK] = {"future_peak", "equal", "future peak, equal", 1},
    [KVR_BY_FUTURE_MASS_POOLED] = {"future_mass", "pooled", "future mass, pooled", 1},
    [KVR_BY_FUTURE_MASS] = {"future_mass", "equal", "future mass, equal", 1},
    [KVR_BY_NEEDLE_FUTURE_POOLED] = {"needle_future", "pooled", "needle future, pooled", 1},
    [KVR_BY_NEEDLE_FUTURE] = {"needle_future", "equal", "needle future, equal", 1},
    [KVR_BY_NEEDLE] = {"needle", "equal", "needle kept", 1},
    [KVR_BY_OUTPUT_ERROR] = {"output_error", "equal", "output error", -1},
    [KVR_BY_RETAINED_MASS] = {"retained_mass", "equal", "retained mass", 1},
    [KVR_BY_KEPT_BYTES] = {"kept_bytes", "sum", "kept bytes", 1},
};

const struct kvr_predict_info kvr_lives[KVR_LIVES] = {
    [KVR_LIVE_RIGHT] = {"right", 0, "share of right answers", 1},
    [KVR_LIVE_LOSS] = {"loss", 0, "loss of log-probability", -1},
    [KVR_LIVE_KL] = {"kl", 0, "divergence from the full cache", -1},
};
