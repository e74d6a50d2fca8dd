/*
 * What a replay measures of kept sets, and what a model then does with them: the two sides of a
 * prediction, with their names and which direction is the better one.
 */
#ifndef KVR_PREDICT_MEASURE_H
#define KVR_PREDICT_MEASURE_H

/*
 * Of a sample, from the rows of its layers and groups (MEASURES §7, §9). "Pooled" ones are
 * sum(ratio * weight) / sum(weight); "equal" ones are plain means over the rows that have a value.
 */
enum kvr_predictor {
    KVR_BY_FUTURE_PEAK_POOLED,
    KVR_BY_FUTURE_PEAK,
    KVR_BY_FUTURE_MASS_POOLED,
    KVR_BY_FUTURE_MASS,
    KVR_BY_NEEDLE_FUTURE_POOLED,
    KVR_BY_NEEDLE_FUTURE,
    KVR_BY_NEEDLE, /* share of (layer, group) that keep a needle whole, mean over needles */
    KVR_BY_OUTPUT_ERROR,
    KVR_BY_RETAINED_MASS,
    KVR_BY_KEPT_BYTES, /* sum */
    KVR_PREDICTORS,
};

/* Of a sample run with exactly the kept tokens visible. */
enum kvr_live {
    KVR_LIVE_RIGHT, /* 1: the answer is right */
    KVR_LIVE_LOSS,  /* log-probability of the answer with the full cache, minus that without: nats,
                       mean over its tokens */
    KVR_LIVE_KL,    /* divergence from the full cache: nats, mean over the decode rows */
    KVR_LIVES,
};

struct kvr_predict_info {
    const char *name;    /* of the column: "future_peak", "loss" */
    const char *pooling; /* "pooled", "equal", "sum"; NULL for live figures */
    const char *heading; /* "future peak, pooled" */
    int better;          /* 1: more is better, -1: less is */
};

extern const struct kvr_predict_info kvr_predictors[KVR_PREDICTORS];
extern const struct kvr_predict_info kvr_lives[KVR_LIVES];

#endif
