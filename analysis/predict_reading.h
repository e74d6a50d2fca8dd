/*
 * Shared by the files that read the replay's side of a prediction: where a row belongs, and the
 * sums that it goes into. Nobody else includes this.
 */
#ifndef KVR_PREDICT_READING_H
#define KVR_PREDICT_READING_H

#include "analysis/predict_data.h"
#include "formats/table_reader.h"

/* Sums of value * weight and of weight over a sample's rows; weight 0: nothing there. */
struct kvr_predict_sums {
    bool there;
    uint64_t held, due; /* units */
    double value[KVR_PREDICTORS], weight[KVR_PREDICTORS];
};

/* What the tables of a replay have in front. */
struct kvr_predict_place {
    const char *trace, *sample, *scorer, *policy, *budget;
    uint64_t layer, group, page_size;
};

#define KVR_PREDICT_PLACE(type)                                                                    \
    {"trace", KVR_FIELD_STRING, offsetof(struct type, at.trace)},                                  \
        {"sample", KVR_FIELD_STRING, offsetof(struct type, at.sample)},                            \
        {"layer", KVR_FIELD_UNSIGNED, offsetof(struct type, at.layer)},                            \
        {"group", KVR_FIELD_UNSIGNED, offsetof(struct type, at.group)},                            \
        {"scorer", KVR_FIELD_STRING, offsetof(struct type, at.scorer)},                            \
        {"policy", KVR_FIELD_STRING, offsetof(struct type, at.policy)},                            \
        {"page_size", KVR_FIELD_UNSIGNED, offsetof(struct type, at.page_size)},                    \
    {                                                                                              \
        "budget", KVR_FIELD_STRING, offsetof(struct type, at.budget)                               \
    }

/* The tables of one folder as they pass. */
struct kvr_predict_reading {
    struct kvr_predict_data *data;
    const struct kvr_predict_filters *filters;
    const struct kvr_table_reader *reader;
    const void *row; /* of the table that is read */
    size_t sample;   /* of the row before, if there is a name */
    const char *trace_name;
    char *sample_name;
    uint64_t head_dim;
};

/* True if the filters want the row. */
bool kvr_predict_takes(const struct kvr_predict_reading *reading,
                       const struct kvr_predict_place *at);

/* The sample of a row; rows of a sample stand together, so it is looked up once. */
enum kvr_status kvr_predict_find_sample(struct kvr_predict_reading *reading,
                                        const struct kvr_predict_place *at, struct kvr_error *err);

/* The row's setting, made where there is none, with room for the sums of the reading's sample. */
enum kvr_status kvr_predict_reach_setting(struct kvr_predict_reading *reading,
                                          const struct kvr_predict_place *at,
                                          struct kvr_predict_setting **setting,
                                          struct kvr_error *err);

/* Adds to the sums, unless value or weight is not a number. */
void kvr_predict_sum(struct kvr_predict_sums *sums, enum kvr_predictor predictor, double value,
                     double weight);

/* Reads predict_samples.csv of a folder (predict_samples.c). */
enum kvr_status kvr_predict_read_samples(struct kvr_predict_reading *reading, const char *folder,
                                         struct kvr_error *err);

#endif
