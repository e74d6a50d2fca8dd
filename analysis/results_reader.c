/*
 * Reading the folder of a replay: which columns of which tables fill which rows, and run.json.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/results_rows.h"
#include "formats/base/outfile.h"
#include "formats/json_reader.h"

#define OF_CELL(type)                                                                              \
    {"trace", KVR_FIELD_STRING, offsetof(struct type, at.trace)},                                  \
        {"sample", KVR_FIELD_STRING, offsetof(struct type, at.sample)},                            \
        {"layer", KVR_FIELD_UNSIGNED, offsetof(struct type, at.layer)},                            \
    {                                                                                              \
        "scorer", KVR_FIELD_STRING, offsetof(struct type, at.scorer)                               \
    }
#define OF_BUDGET(type)                                                                            \
    {"page_size", KVR_FIELD_UNSIGNED, offsetof(struct type, at.page_size)},                        \
    {                                                                                              \
        "budget", KVR_FIELD_STRING, offsetof(struct type, at.budget)                               \
    }
#define OF_POLICY(type)                                                                            \
    {                                                                                              \
        "policy", KVR_FIELD_STRING, offsetof(struct type, at.policy)                               \
    }
#define OF_GROUP(type)                                                                             \
    {                                                                                              \
        "group", KVR_FIELD_UNSIGNED, offsetof(struct type, at.group)                               \
    }

static const struct kvr_field bounds_fields[] = {
    OF_CELL(kvr_bounds_row),
    OF_BUDGET(kvr_bounds_row),
    {KVR_FIELD(struct kvr_bounds_row, ratio, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct kvr_bounds_row, uor, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct kvr_bounds_row, j_mean, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct kvr_bounds_row, bonferroni_lower, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct kvr_bounds_row, sandwich_lower, KVR_FIELD_NUMBER)},
};

static const struct kvr_field measures_fields[] = {
    OF_CELL(kvr_measures_row),
    OF_GROUP(kvr_measures_row),
    OF_POLICY(kvr_measures_row),
    OF_BUDGET(kvr_measures_row),
    {KVR_FIELD(struct kvr_measures_row, context, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct kvr_measures_row, selected, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct kvr_measures_row, kept_tokens, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct kvr_measures_row, uor, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct kvr_measures_row, retained_mass, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct kvr_measures_row, future_mass, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct kvr_measures_row, future_weight, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct kvr_measures_row, future_peak, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct kvr_measures_row, peak_weight, KVR_FIELD_FIGURE)},
};

static const struct kvr_field needles_fields[] = {
    OF_CELL(kvr_needles_row),
    OF_POLICY(kvr_needles_row),
    OF_BUDGET(kvr_needles_row),
    {KVR_FIELD(struct kvr_needles_row, needle, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct kvr_needles_row, kept_fraction, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct kvr_needles_row, pooled_mass, KVR_FIELD_FIGURE)},
};

static const struct kvr_field heads_fields[] = {
    OF_CELL(kvr_heads_row),
    {KVR_FIELD(struct kvr_heads_row, weight_raw, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct kvr_heads_row, weight_isolated, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct kvr_heads_row, class, KVR_FIELD_STRING)},
};

static const struct kvr_field layers_fields[] = {
    OF_CELL(kvr_layers_row),
    OF_POLICY(kvr_layers_row),
    OF_BUDGET(kvr_layers_row),
    {KVR_FIELD(struct kvr_layers_row, quota, KVR_FIELD_UNSIGNED)},
    {"union", KVR_FIELD_UNSIGNED, offsetof(struct kvr_layers_row, both)},
    {KVR_FIELD(struct kvr_layers_row, pur, KVR_FIELD_FIGURE)},
};

static const struct kvr_field excluded_fields[] = {
    OF_CELL(kvr_excluded_row),
    {KVR_FIELD(struct kvr_excluded_row, heads, KVR_FIELD_UNSIGNED)},
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* In this order: layers.csv is held against the groups that measures.csv has shown. */
static const struct {
    const char *name;
    const struct kvr_field *fields;
    size_t field_count;
    kvr_take_row take;
} tables[] = {
    {"bounds.csv", bounds_fields, COUNT(bounds_fields), kvr_take_bounds_row},
    {"measures.csv", measures_fields, COUNT(measures_fields), kvr_take_measures_row},
    {"needles.csv", needles_fields, COUNT(needles_fields), kvr_take_needles_row},
    {"heads.csv", heads_fields, COUNT(heads_fields), kvr_take_heads_row},
    {"layers.csv", layers_fields, COUNT(layers_fields), kvr_take_layers_row},
    {"excluded.csv", excluded_fields, COUNT(excluded_fields), kvr_take_excluded_row},
};

static enum kvr_status read_run(const char *folder, struct kvr_replay_run *run,
                                struct kvr_error *err)
{
    struct kvr_json_document document;
    char *path = kvr_join_path(folder, "run.json", err);
    if (path == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_json_read(path, 16 << 20, &document, err);
    if (status == KVR_OK) {
        const struct kvr_json_value *options = kvr_json_member(document.root, "options");
        const char *match = kvr_json_member_string(options, "match");
        const char *nan_rule = kvr_json_member_string(options, "nan");
        if (match == NULL || nan_rule == NULL)
            status = kvr_fail(err, KVR_BAD_INPUT,
                              "\"%s\": expected strings options.match and options.nan", path);
        else
            *run = (struct kvr_replay_run){
                .match_physical = strcmp(match, "physical") == 0,
                .nan_zero = strcmp(nan_rule, "zero") == 0,
            };
        kvr_json_free(&document);
    }
    free(path);
    return status;
}

enum kvr_status kvr_replay_results_read(const char *folder, struct kvr_replay_results *results,
                                        struct kvr_error *err)
{
    *results = (struct kvr_replay_results){.least_pur = NAN, .most_pur = NAN};
    enum kvr_status status = read_run(folder, &results->run, err);
    for (size_t i = 0; status == KVR_OK && i < COUNT(tables); i++) {
        struct kvr_results_pass pass = {.results = results};
        status = kvr_table_each(folder, tables[i].name, tables[i].fields, tables[i].field_count,
                                &pass.row, tables[i].take, &pass, err);
        free(pass.met);
    }
    return status;
}
