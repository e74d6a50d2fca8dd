/*
 * What a replay's tables come to for each sample, read from the table that an earlier prediction
 * wrote (replay/cli/predict_export.c): thousands of rows in place of millions.
 */
#include <math.h>
#include <stdio.h>

#include "analysis/predict_reading.h"

/* A row of predict_samples.csv; the figures are offline[] in the order of the predictors. */
struct samples_row {
    struct kvr_predict_place at;
    uint64_t held, due, bytes_known;
    double offline[KVR_PREDICTORS];
};

const char kvr_predict_samples_name[] = "predict_samples.csv";

static enum kvr_status take_samples(void *state, const struct kvr_table_reader *reader,
                                    struct kvr_error *err)
{
    struct kvr_predict_reading *reading = state;
    const struct samples_row *row = reading->row;
    const struct kvr_predict_place *at = &row->at;
    struct kvr_predict_data *data = reading->data;
    reading->reader = reader;
    if (!kvr_predict_takes(reading, at))
        return KVR_OK;
    struct kvr_predict_setting *setting = NULL;
    enum kvr_status status = kvr_predict_find_sample(reading, at, err);
    if (status == KVR_OK)
        status = kvr_predict_reach_setting(reading, at, &setting, err);
    if (status != KVR_OK)
        return status;
    struct kvr_predict_sums *sums = &setting->sums[reading->sample];
    if (sums->there)
        return kvr_table_reader_fail(reader, "policy", err,
                                     "expected one row a trace, sample, scorer, policy, page size "
                                     "and budget, found a second one");
    if (row->due == 0)
        return kvr_table_reader_fail(reader, "due", err, "expected 1 or more");
    *sums = (struct kvr_predict_sums){.there = true, .held = row->held, .due = row->due};
    data->bytes_known = data->bytes_known && row->bytes_known != 0;
    for (unsigned p = 0; p < KVR_PREDICTORS; p++)
        kvr_predict_sum(sums, (enum kvr_predictor)p, row->offline[p], 1);
    return KVR_OK;
}

/* Columns as kvr_predict_export names them. */
enum kvr_status kvr_predict_read_samples(struct kvr_predict_reading *reading, const char *folder,
                                         struct kvr_error *err)
{
    enum { PLACES = 9 };
    struct kvr_field fields[PLACES + KVR_PREDICTORS] = {
        {"trace", KVR_FIELD_STRING, offsetof(struct samples_row, at.trace)},
        {"sample", KVR_FIELD_STRING, offsetof(struct samples_row, at.sample)},
        {"scorer", KVR_FIELD_STRING, offsetof(struct samples_row, at.scorer)},
        {"policy", KVR_FIELD_STRING, offsetof(struct samples_row, at.policy)},
        {"page_size", KVR_FIELD_UNSIGNED, offsetof(struct samples_row, at.page_size)},
        {"budget", KVR_FIELD_STRING, offsetof(struct samples_row, at.budget)},
        {KVR_FIELD(struct samples_row, held, KVR_FIELD_UNSIGNED)},
        {KVR_FIELD(struct samples_row, due, KVR_FIELD_UNSIGNED)},
        {KVR_FIELD(struct samples_row, bytes_known, KVR_FIELD_UNSIGNED)},
    };
    char names[KVR_PREDICTORS][64];
    for (size_t p = 0; p < KVR_PREDICTORS; p++) {
        snprintf(names[p], sizeof names[p], "%s_%s", kvr_predictors[p].name,
                 kvr_predictors[p].pooling);
        fields[PLACES + p] = (struct kvr_field){
            names[p], KVR_FIELD_FIGURE, offsetof(struct samples_row, offline) + p * sizeof(double)};
    }
    struct samples_row row;
    reading->row = &row;
    enum kvr_status status =
        kvr_table_each(folder, kvr_predict_samples_name, fields, sizeof fields / sizeof *fields,
                       &row, take_samples, reading, err);
    reading->row = NULL;
    return status;
}
