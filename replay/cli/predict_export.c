/*
 * predict.csv, predict_points.csv, predict_policies.csv and predict_samples.csv.
 */
#include "replay/cli/predict_export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/outfile.h"
#include "formats/table.h"

static void add_interval(struct kvr_text *text, const struct kvr_interval *interval)
{
    kvr_csv_figure(text, interval->estimate);
    kvr_csv_figure(text, interval->low);
    kvr_csv_figure(text, interval->high);
}

/* ---- predict.csv */

static const char predict_header[] =
    "page_size,scope,budget,live,measure,pooling,settings,samples,rho,low,high,ahead_of,"
    "ahead_of_pooling,lead,lead_low,lead_high";

struct scope {
    const char *name;
    const char *budget; /* "": all of them */
    enum kvr_predict_scope kind;
    size_t index;
};

static struct scope scope_at(const struct kvr_prediction *prediction,
                             const struct kvr_predict_section *section, size_t index)
{
    static const struct {
        const char *name;
        enum kvr_predict_scope kind;
    } whole[] = {
        {"all", KVR_OVER_ALL},
        {"within budgets", KVR_WITHIN_BUDGETS},
        {"equal memory", KVR_EQUAL_MEMORY},
    };
    if (index < 3)
        return (struct scope){whole[index].name, "", whole[index].kind, index};
    size_t budget = (index - 3) % section->budget_count;
    bool equal = index - 3 >= section->budget_count;
    return (struct scope){equal ? "equal memory" : "within budgets",
                          prediction->data.budgets.items[budget],
                          equal ? KVR_EQUAL_MEMORY_BUDGET : KVR_WITHIN_BUDGET, index};
}

static void add_lead(struct kvr_text *text, const struct kvr_best *best, const struct scope *scope,
                     unsigned predictor)
{
    bool leads =
        scope->kind == best->scope && best->best == predictor && best->second != KVR_PREDICTORS;
    kvr_csv_string(text, leads ? kvr_predictors[best->second].name : "");
    kvr_csv_string(text, leads ? kvr_predictors[best->second].pooling : "");
    const struct kvr_interval none = {0, NAN, NAN, NAN};
    add_interval(text, leads ? &best->lead : &none);
}

static void add_correlation(struct kvr_text *text, const struct kvr_prediction *prediction,
                            const struct kvr_predict_section *section, const struct scope *scope,
                            unsigned live, unsigned predictor)
{
    const struct kvr_correlation *correlation = kvr_correlation_at(
        section, scope->index, (enum kvr_predictor)predictor, (enum kvr_live)live);
    if (section->mixed)
        kvr_csv_string(text, "mixed");
    else
        kvr_text_unsigned(text, prediction->data.page_sizes[section->page]);
    kvr_csv_string(text, scope->name);
    kvr_csv_string(text, scope->budget);
    kvr_csv_string(text, kvr_lives[live].name);
    kvr_csv_string(text, kvr_predictors[predictor].name);
    kvr_csv_string(text, kvr_predictors[predictor].pooling);
    kvr_csv_unsigned(text, correlation->settings);
    kvr_csv_unsigned(text, correlation->rho.samples);
    add_interval(text, &correlation->rho);
    add_lead(text, &section->best[live], scope, predictor);
    kvr_csv_end(text);
}

static void add_correlations(const struct kvr_prediction *prediction, struct kvr_text *text)
{
    for (size_t i = 0; i < prediction->section_count; i++) {
        const struct kvr_predict_section *section = &prediction->sections[i];
        for (size_t s = 0; s < kvr_scope_count(section); s++) {
            struct scope scope = scope_at(prediction, section, s);
            for (unsigned live = 0; live < KVR_LIVES; live++)
                for (unsigned p = 0; p < KVR_PREDICTORS; p++)
                    add_correlation(text, prediction, section, &scope, live, p);
        }
    }
}

/* ---- predict_points.csv */

static void add_points_header(struct kvr_text *text)
{
    kvr_text_string(text, "page_size,budget,scorer,policy,memory,samples");
    for (unsigned p = 0; p < KVR_PREDICTORS; p++)
        kvr_text_add(text, ",%s_%s", kvr_predictors[p].name, kvr_predictors[p].pooling);
    for (unsigned f = 0; f < KVR_LIVES; f++)
        kvr_text_add(text, ",%s,%s_low,%s_high", kvr_lives[f].name, kvr_lives[f].name,
                     kvr_lives[f].name);
    kvr_csv_end(text);
}

static void start_setting(struct kvr_text *text, const struct kvr_predict_data *data,
                          const struct kvr_predict_setting *setting)
{
    kvr_text_unsigned(text, data->page_sizes[setting->page]);
    kvr_csv_string(text, data->budgets.items[setting->budget]);
}

static void add_points(const struct kvr_prediction *prediction, struct kvr_text *text)
{
    const struct kvr_predict_data *data = &prediction->data;
    add_points_header(text);
    for (size_t i = 0; i < data->setting_count; i++) {
        const struct kvr_predict_setting *setting = &data->settings[i];
        const struct kvr_live_means *means = &prediction->means[i];
        size_t samples = 0;
        for (size_t s = 0; s < data->sample_count; s++)
            samples += setting->lived[s];
        if (samples == 0)
            continue;
        start_setting(text, data, setting);
        kvr_csv_string(text, data->uses[setting->use].scorer);
        kvr_csv_string(text, data->uses[setting->use].policy);
        kvr_csv_figure(text, setting->memory);
        kvr_csv_unsigned(text, samples);
        for (unsigned p = 0; p < KVR_PREDICTORS; p++)
            kvr_csv_figure(text, means->offline[p]);
        for (unsigned f = 0; f < KVR_LIVES; f++)
            add_interval(text, &means->figures[f]);
        kvr_csv_end(text);
    }
}

/* ---- predict_policies.csv */

static const char policies_header[] =
    "page_size,budget,live,scorer,policy,memory,against_scorer,against_policy,against_memory,"
    "samples,difference,low,high";

static void add_pairs(const struct kvr_prediction *prediction, struct kvr_text *text)
{
    const struct kvr_predict_data *data = &prediction->data;
    for (size_t i = 0; i < prediction->pair_count; i++) {
        const struct kvr_live_pair *pair = &prediction->pairs[i];
        const struct kvr_predict_setting *left = &data->settings[pair->left];
        const struct kvr_predict_setting *right = &data->settings[pair->right];
        for (unsigned f = 0; f < KVR_LIVES; f++) {
            if (pair->difference[f].samples == 0)
                continue;
            start_setting(text, data, left);
            kvr_csv_string(text, kvr_lives[f].name);
            kvr_csv_string(text, data->uses[left->use].scorer);
            kvr_csv_string(text, data->uses[left->use].policy);
            kvr_csv_figure(text, left->memory);
            kvr_csv_string(text, data->uses[right->use].scorer);
            kvr_csv_string(text, data->uses[right->use].policy);
            kvr_csv_figure(text, right->memory);
            kvr_csv_unsigned(text, pair->difference[f].samples);
            add_interval(text, &pair->difference[f]);
            kvr_csv_end(text);
        }
    }
}

/* ---- predict_samples.csv: read again by kvr_predict_data_read, hence exact: ranks know no noise
 */

static void add_samples_header(struct kvr_text *text)
{
    kvr_text_string(text, "trace,sample,scorer,policy,page_size,budget,held,due,bytes_known");
    for (unsigned p = 0; p < KVR_PREDICTORS; p++)
        kvr_text_add(text, ",%s_%s", kvr_predictors[p].name, kvr_predictors[p].pooling);
    kvr_csv_end(text);
}

/* Samples are known by "length trace/sample" (kvr_names_pair). */
static void add_sample_name(struct kvr_text *text, const struct kvr_predict_data *data,
                            const char *pair)
{
    char *name;
    size_t length = strtoul(pair, &name, 10);
    for (size_t t = 0; t < data->traces.count; t++)
        if (strlen(data->traces.items[t]) == length &&
            strncmp(data->traces.items[t], name + 1, length) == 0)
            kvr_csv_string(text, data->traces.items[t]);
    kvr_csv_string(text, name + 1 + length + 1);
}

static void add_samples(const struct kvr_prediction *prediction, struct kvr_text *text)
{
    const struct kvr_predict_data *data = &prediction->data;
    add_samples_header(text);
    for (size_t s = 0; s < data->sample_count; s++)
        for (size_t i = 0; i < data->setting_count; i++) {
            const struct kvr_predict_setting *setting = &data->settings[i];
            if (!setting->replayed[s])
                continue;
            add_sample_name(text, data, data->samples.items[s]);
            kvr_csv_string(text, data->uses[setting->use].scorer);
            kvr_csv_string(text, data->uses[setting->use].policy);
            kvr_csv_unsigned(text, data->page_sizes[setting->page]);
            kvr_csv_string(text, data->budgets.items[setting->budget]);
            kvr_csv_unsigned(text, setting->held[s]);
            kvr_csv_unsigned(text, setting->due[s]);
            kvr_csv_unsigned(text, data->bytes_known);
            for (unsigned p = 0; p < KVR_PREDICTORS; p++)
                kvr_csv_exact(text, setting->offline[p][s]);
            kvr_csv_end(text);
        }
}

/* ---- files */

static enum kvr_status add_table(struct kvr_tables *tables, const char *name, const char *header,
                                 const struct kvr_prediction *prediction,
                                 void (*add)(const struct kvr_prediction *, struct kvr_text *),
                                 struct kvr_error *err)
{
    struct kvr_outfile *file = NULL;
    struct kvr_text text = {0};
    enum kvr_status status = kvr_tables_add(tables, name, header, &file, err);
    if (status != KVR_OK)
        return status;
    add(prediction, &text);
    status = kvr_text_check(&text, err);
    if (status == KVR_OK && text.length > 0)
        status = kvr_outfile_write(file, text.data, text.length, err);
    kvr_text_free(&text);
    return status;
}

enum kvr_status kvr_predict_export(const struct kvr_prediction *prediction, const char *folder,
                                   struct kvr_error *err)
{
    struct kvr_tables tables;
    enum kvr_status status = kvr_tables_open(&tables, folder, err);
    if (status != KVR_OK)
        return status;
    status = add_table(&tables, "predict.csv", predict_header, prediction, add_correlations, err);
    if (status == KVR_OK)
        status = add_table(&tables, "predict_points.csv", NULL, prediction, add_points, err);
    if (status == KVR_OK)
        status =
            add_table(&tables, "predict_policies.csv", policies_header, prediction, add_pairs, err);
    if (status == KVR_OK)
        status = add_table(&tables, kvr_predict_samples_name, NULL, prediction, add_samples, err);
    if (status != KVR_OK) {
        kvr_tables_abandon(&tables);
        return status;
    }
    return kvr_tables_commit(&tables, err);
}
