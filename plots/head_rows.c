/*
 * Reading heads.csv.
 */
#include "plots/head_rows.h"

#include <string.h>

#include "formats/table_reader.h"

const char *const kvr_head_class_names[KVR_HEAD_CLASS_COUNT] = {"sink", "retrieval", "contextual"};

struct reading {
    const struct kvr_source *source;
    kvr_take_head take;
    void *state;
    const char *trace, *scorer, *class;
    double h2_raw, h2_isolated, weight_raw, weight_isolated;
};

static enum kvr_status take_row(void *state, const struct kvr_table_reader *reader,
                                struct kvr_error *err)
{
    const struct reading *reading = state;
    if (!kvr_source_shows_trace(reading->source, reading->trace) ||
        strcmp(reading->scorer, reading->source->scorer) != 0)
        return KVR_OK;
    struct kvr_head_row row = {
        .h2_raw = reading->h2_raw,
        .h2_isolated = reading->h2_isolated,
        .weight_raw = reading->weight_raw,
        .weight_isolated = reading->weight_isolated,
    };
    while (row.kind < KVR_HEAD_CLASS_COUNT &&
           strcmp(reading->class, kvr_head_class_names[row.kind]) != 0)
        row.kind++;
    if (row.kind == KVR_HEAD_CLASS_COUNT)
        return kvr_table_reader_fail(reader, "class", err,
                                     "expected sink, retrieval or contextual, found \"%.40s\"",
                                     reading->class);
    return reading->take(reading->state, &row, err);
}

enum kvr_status kvr_each_head(const struct kvr_source *source, kvr_take_head take, void *state,
                              struct kvr_error *err)
{
    static const struct kvr_field fields[] = {
        {KVR_FIELD(struct reading, trace, KVR_FIELD_STRING)},
        {KVR_FIELD(struct reading, scorer, KVR_FIELD_STRING)},
        {KVR_FIELD(struct reading, class, KVR_FIELD_STRING)},
        {KVR_FIELD(struct reading, h2_raw, KVR_FIELD_NUMBER)},
        {KVR_FIELD(struct reading, h2_isolated, KVR_FIELD_NUMBER)},
        {KVR_FIELD(struct reading, weight_raw, KVR_FIELD_NUMBER)},
        {KVR_FIELD(struct reading, weight_isolated, KVR_FIELD_NUMBER)},
    };
    struct reading reading = {.source = source, .take = take, .state = state};
    if (source->scorer == NULL)
        return KVR_OK;
    return kvr_table_each(source->folder, "heads.csv", fields, sizeof fields / sizeof *fields,
                          &reading, take_row, &reading, err);
}
