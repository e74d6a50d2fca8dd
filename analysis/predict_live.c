/*
 * The model's side of a prediction: the live table, joined to the replay's settings and samples by
 * their names.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/predict_data.h"
#include "formats/table_reader.h"

struct live_row {
    const char *trace, *sample, *policy, *scorer, *budget;
    uint64_t page_size;
    double right, logprob, logprob_full, kl;
};

static const struct kvr_field fields[] = {
    {KVR_FIELD(struct live_row, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct live_row, sample, KVR_FIELD_STRING)},
    {KVR_FIELD(struct live_row, policy, KVR_FIELD_STRING)},
    {KVR_FIELD(struct live_row, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct live_row, page_size, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct live_row, budget, KVR_FIELD_STRING)},
    {KVR_FIELD(struct live_row, right, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct live_row, logprob, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct live_row, logprob_full, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct live_row, kl, KVR_FIELD_FIGURE)},
};

struct joining {
    struct kvr_predict_data *data;
    const struct kvr_predict_filters *filters;
    struct live_row row;
};

/* Rounding may leave a divergence of 0, or a log-probability of 0, on the wrong side of it. */
static const double slack = 1e-3;

static enum kvr_status check_values(const struct kvr_table_reader *reader,
                                    const struct live_row *row, struct kvr_error *err)
{
    const struct {
        const char *column;
        double value, least, most;
        const char *range;
    } checks[] = {
        {"right", row->right, 0, 1, "0 to 1"},
        {"logprob", row->logprob, -HUGE_VAL, slack, "at most 0"},
        {"logprob_full", row->logprob_full, -HUGE_VAL, slack, "at most 0"},
        {"kl", row->kl, -slack, HUGE_VAL, "at least 0"},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i].value < checks[i].least || checks[i].value > checks[i].most)
            return kvr_table_reader_fail(reader, checks[i].column, err, "expected %s, found %g",
                                         checks[i].range, checks[i].value);
    return KVR_OK;
}

static void note_strange(struct joining *joining, const struct kvr_table_reader *reader,
                         const char *what, uint64_t *count)
{
    struct kvr_predict_data *data = joining->data;
    const struct live_row *row = &joining->row;
    ++*count;
    if (data->first_strange[0] != '\0')
        return;
    snprintf(data->first_strange, sizeof data->first_strange,
             "line %llu, no table has its %s: trace %.60s, sample %.30s, policy %.60s, scorer "
             "%.30s, page size %llu, budget %.20s",
             (unsigned long long)kvr_table_reader_line(reader), what, row->trace, row->sample,
             row->policy, row->scorer, (unsigned long long)row->page_size, row->budget);
    kvr_make_printable(data->first_strange);
}

static enum kvr_status take_row(void *state, const struct kvr_table_reader *reader,
                                struct kvr_error *err)
{
    struct joining *joining = state;
    struct kvr_predict_data *data = joining->data;
    const struct live_row *row = &joining->row;
    size_t sample;
    if (!kvr_predict_wanted(joining->filters, row->trace, row->scorer, row->policy, row->page_size,
                            row->budget))
        return KVR_OK;
    enum kvr_status status = check_values(reader, row, err);
    if (status == KVR_OK)
        status = kvr_names_pair(&data->samples, row->trace, row->sample, &sample, err);
    if (status != KVR_OK)
        return status;
    data->live_rows++;
    struct kvr_predict_setting *setting =
        kvr_predict_find(data, row->scorer, row->policy, row->page_size, row->budget);
    if (sample >= data->sample_count) {
        note_strange(joining, reader, "sample", &data->strange_samples);
        return KVR_OK;
    }
    if (setting == NULL || !setting->replayed[sample]) {
        note_strange(joining, reader, "setting", &data->strange_settings);
        return KVR_OK;
    }
    if (setting->lived[sample])
        return kvr_table_reader_fail(reader, "policy", err,
                                     "expected one row a trace, sample, policy, scorer, page size "
                                     "and budget, found a second one");
    setting->lived[sample] = true;
    setting->live[KVR_LIVE_RIGHT][sample] = row->right;
    setting->live[KVR_LIVE_LOSS][sample] = row->logprob_full - row->logprob;
    setting->live[KVR_LIVE_KL][sample] = row->kl;
    data->matched_rows++;
    return KVR_OK;
}

static void count_unlived(struct kvr_predict_data *data)
{
    for (size_t i = 0; i < data->setting_count; i++)
        for (size_t s = 0; s < data->sample_count; s++)
            data->unlived += data->settings[i].replayed[s] && !data->settings[i].lived[s];
}

enum kvr_status kvr_predict_live_read(const char *path, const struct kvr_predict_filters *filters,
                                      struct kvr_predict_data *data, struct kvr_error *err)
{
    struct joining joining = {.data = data, .filters = filters};
    struct kvr_table_reader *reader = NULL;
    bool more = true;
    enum kvr_status status =
        kvr_table_reader_open(path, fields, sizeof fields / sizeof *fields, &reader, err);
    while (status == KVR_OK && more) {
        status = kvr_table_reader_next(reader, &joining.row, &more, err);
        if (status == KVR_OK && more)
            status = take_row(&joining, reader, err);
    }
    kvr_table_reader_close(reader);
    if (status != KVR_OK)
        return status;
    if (data->matched_rows == 0) {
        kvr_fail(err, KVR_BAD_INPUT, "\"%s\": no row has a counterpart in the tables", path);
        if (data->first_strange[0] != '\0')
            kvr_hint(err, "%s", data->first_strange);
        return KVR_BAD_INPUT;
    }
    count_unlived(data);
    return KVR_OK;
}
