/*
 * The sink census: what each query head of a group looks at, and its class (MEASURES §6).
 */
#ifndef KVR_CENSUS_H
#define KVR_CENSUS_H

#include "replay/cell.h"

enum kvr_head_class {
    KVR_HEAD_SINK,       /* sink mass >= the sink threshold */
    KVR_HEAD_RETRIEVAL,  /* else needle mass >= its threshold, or without needles a small support */
    KVR_HEAD_CONTEXTUAL, /* else */
    KVR_HEAD_CLASSES,
};

const char *kvr_head_class_name(enum kvr_head_class class);

/* All from the vector as it is; entropies in nats at the alpha in force. */
struct kvr_census {
    double sink_mass;        /* sum over the sinks */
    double entropy_raw;      /* of the whole vector */
    double entropy_isolated; /* without the sinks, renormalised */
    double weight_raw;       /* softmax_h(-entropy / tau) within the group */
    double weight_isolated;
    double max_probability; /* largest non-sink value, 0 if there are no non-sink candidates */
    double needle_mass;     /* candidates in at least one needle; NaN if the sample has none */
    enum kvr_head_class class;
};

/* census[scored->heads] of a group whose vectors are finite. */
enum kvr_status kvr_census_of(const struct kvr_cell *cell, const struct kvr_scored *scored,
                              struct kvr_census *census, struct kvr_error *err);

#endif
