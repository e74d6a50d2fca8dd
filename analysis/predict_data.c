/*
 * The replay's side of a prediction: measures.csv and needles.csv, brought to one number a sample,
 * or the table of those numbers that an earlier prediction wrote.
 * It must not know live figures, or what is correlated.
 */
#include "analysis/predict_reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/table_reader.h"
#include "replay/budget.h"
#include "replay/policy.h"

/* A needle in a setting: (layer, group) that hold it, and that keep it whole. */
struct kvr_predict_needles {
    uint64_t held, whole;
};

struct measures_row {
    struct kvr_predict_place at;
    uint64_t context, selected, kept_tokens;
    double retained_mass, future_mass, future_weight, future_peak, peak_weight, output_error;
};
struct needles_row {
    struct kvr_predict_place at;
    uint64_t needle;
    double kept_fraction, needle_future, needle_future_weight;
};

static const struct kvr_field measures_fields[] = {
    KVR_PREDICT_PLACE(measures_row),
    {KVR_FIELD(struct measures_row, context, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct measures_row, selected, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct measures_row, kept_tokens, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct measures_row, retained_mass, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct measures_row, future_mass, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct measures_row, future_weight, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct measures_row, future_peak, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct measures_row, peak_weight, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct measures_row, output_error, KVR_FIELD_FIGURE)},
};

static const struct kvr_field needles_fields[] = {
    KVR_PREDICT_PLACE(needles_row),
    {KVR_FIELD(struct needles_row, needle, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct needles_row, kept_fraction, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct needles_row, needle_future, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct needles_row, needle_future_weight, KVR_FIELD_FIGURE)},
};

/* ---- names */

static bool passes(const struct kvr_compare_filter *filter, const char *item)
{
    for (size_t i = 0; i < filter->count; i++)
        if (strcmp(filter->items[i], item) == 0)
            return true;
    return filter->count == 0;
}

bool kvr_predict_wanted(const struct kvr_predict_filters *filters, const char *trace,
                        const char *scorer, const char *policy, uint64_t page_size,
                        const char *budget)
{
    char page[24];
    snprintf(page, sizeof page, "%llu", (unsigned long long)page_size);
    return passes(&filters->traces, trace) && passes(&filters->scorers, scorer) &&
           passes(&filters->policies, policy) && passes(&filters->budgets, budget) &&
           passes(&filters->page_sizes, page);
}

static bool is_setting(const struct kvr_predict_data *data,
                       const struct kvr_predict_setting *setting, const char *scorer,
                       const char *policy, uint64_t page_size, const char *budget)
{
    return data->page_sizes[setting->page] == page_size &&
           strcmp(data->budgets.items[setting->budget], budget) == 0 &&
           strcmp(data->uses[setting->use].policy, policy) == 0 &&
           strcmp(data->uses[setting->use].scorer, scorer) == 0;
}

/* Settings follow each other in the same order in every cell, so the next one is tried first. */
struct kvr_predict_setting *kvr_predict_find(struct kvr_predict_data *data, const char *scorer,
                                             const char *policy, uint64_t page_size,
                                             const char *budget)
{
    for (size_t step = 1; step <= data->setting_count; step++) {
        size_t i = (data->last_setting + step) % data->setting_count;
        if (is_setting(data, &data->settings[i], scorer, policy, page_size, budget)) {
            data->last_setting = i;
            return &data->settings[i];
        }
    }
    return NULL;
}

static enum kvr_status intern(struct kvr_predict_data *data, const char *name, char **out,
                              struct kvr_error *err)
{
    size_t index;
    enum kvr_status status = kvr_names_index(&data->labels, name, &index, err);
    if (status == KVR_OK)
        *out = data->labels.items[index];
    return status;
}

static enum kvr_status find_use(struct kvr_predict_data *data, const char *scorer,
                                const char *policy, size_t *use, struct kvr_error *err)
{
    bool named = !kvr_policy_asks(policy);
    for (*use = 0; *use < data->use_count; (*use)++) {
        struct kvr_compare_use *known = &data->uses[*use];
        if (strcmp(known->policy, policy) != 0)
            continue;
        if (strcmp(known->scorer, scorer) == 0)
            return KVR_OK;
        named = known->named = false; /* the scorer tells them apart */
    }
    struct kvr_compare_use made = {.named = named};
    enum kvr_status status = intern(data, scorer, &made.scorer, err);
    if (status == KVR_OK)
        status = intern(data, policy, &made.policy, err);
    if (status == KVR_OK)
        status = kvr_reserve((void **)&data->uses, &data->use_capacity, *use + 1,
                             sizeof *data->uses, err);
    if (status == KVR_OK)
        data->uses[data->use_count++] = made;
    return status;
}

static enum kvr_status find_page(struct kvr_predict_data *data, uint64_t page_size, size_t *page,
                                 struct kvr_error *err)
{
    for (*page = 0; *page < data->page_count; (*page)++)
        if (data->page_sizes[*page] == page_size)
            return KVR_OK;
    enum kvr_status status = kvr_reserve((void **)&data->page_sizes, &data->page_capacity,
                                         *page + 1, sizeof *data->page_sizes, err);
    if (status == KVR_OK)
        data->page_sizes[data->page_count++] = page_size;
    return status;
}

static enum kvr_status add_setting(struct kvr_predict_reading *reading,
                                   const struct kvr_predict_place *at,
                                   struct kvr_predict_setting **setting, struct kvr_error *err)
{
    struct kvr_predict_data *data = reading->data;
    struct kvr_predict_setting made = {.last_sample = SIZE_MAX};
    if (!kvr_parse_decimal(at->budget, &made.fraction) || made.fraction.digits == 0)
        return kvr_table_reader_fail(reading->reader, "budget", err,
                                     "expected a decimal fraction above 0, found \"%.100s\"",
                                     at->budget);
    if (at->page_size == 0)
        return kvr_table_reader_fail(reading->reader, "page_size", err, "expected 1 or more");
    enum kvr_status status = find_use(data, at->scorer, at->policy, &made.use, err);
    if (status == KVR_OK)
        status = find_page(data, at->page_size, &made.page, err);
    if (status == KVR_OK)
        status = kvr_names_index(&data->budgets, at->budget, &made.budget, err);
    if (status == KVR_OK)
        status = kvr_reserve((void **)&data->settings, &data->setting_capacity,
                             data->setting_count + 1, sizeof *data->settings, err);
    if (status != KVR_OK)
        return status;
    data->last_setting = data->setting_count++;
    *setting = &data->settings[data->last_setting];
    **setting = made;
    return KVR_OK;
}

bool kvr_predict_takes(const struct kvr_predict_reading *reading,
                       const struct kvr_predict_place *at)
{
    return kvr_predict_wanted(reading->filters, at->trace, at->scorer, at->policy, at->page_size,
                              at->budget);
}

static bool is_sample(const struct kvr_predict_reading *reading, const struct kvr_predict_place *at)
{
    return reading->sample_name != NULL && strcmp(reading->sample_name, at->sample) == 0 &&
           strcmp(reading->trace_name, at->trace) == 0;
}

/* The sample of a row; rows of a sample stand together, so it is looked up once. */
enum kvr_status kvr_predict_find_sample(struct kvr_predict_reading *reading,
                                        const struct kvr_predict_place *at, struct kvr_error *err)
{
    struct kvr_predict_data *data = reading->data;
    size_t trace;
    if (is_sample(reading, at))
        return KVR_OK;
    free(reading->sample_name);
    reading->sample_name = kvr_copy_string(at->sample, err);
    if (reading->sample_name == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_names_index(&data->traces, at->trace, &trace, err);
    if (status == KVR_OK)
        status = kvr_names_pair(&data->samples, at->trace, at->sample, &reading->sample, err);
    if (status != KVR_OK)
        return status;
    reading->trace_name = data->traces.items[trace];
    return KVR_OK;
}

/* Head sizes are the run record's; asked for whenever the sample is another one. */
static enum kvr_status find_facts(struct kvr_predict_reading *reading,
                                  const struct kvr_predict_place *at, struct kvr_error *err)
{
    struct kvr_predict_data *data = reading->data;
    struct kvr_error ignored = KVR_ERROR_NONE;
    const struct kvr_sample_facts *facts =
        kvr_run_facts_sample(&data->facts, at->trace, at->sample, &ignored);
    if (facts == NULL)
        return kvr_table_reader_fail(reading->reader, "sample", err,
                                     "expected a sample of run.json, found \"%.100s\" of "
                                     "\"%.100s\"",
                                     at->sample, at->trace);
    reading->head_dim = facts->head_dim;
    data->bytes_known = data->bytes_known && facts->head_dim > 0;
    return KVR_OK;
}

static enum kvr_status find_replayed(struct kvr_predict_reading *reading,
                                     const struct kvr_predict_place *at, struct kvr_error *err)
{
    bool same = is_sample(reading, at);
    enum kvr_status status = kvr_predict_find_sample(reading, at, err);
    return status == KVR_OK && !same ? find_facts(reading, at, err) : status;
}

enum kvr_status kvr_predict_reach_setting(struct kvr_predict_reading *reading,
                                          const struct kvr_predict_place *at,
                                          struct kvr_predict_setting **setting,
                                          struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    *setting = kvr_predict_find(reading->data, at->scorer, at->policy, at->page_size, at->budget);
    if (*setting == NULL)
        status = add_setting(reading, at, setting, err);
    if (status == KVR_OK)
        status = kvr_reach((void **)&(*setting)->sums, &(*setting)->sums_room, reading->sample,
                           sizeof *(*setting)->sums, err);
    return status;
}

/* ---- measures.csv */

void kvr_predict_sum(struct kvr_predict_sums *sums, enum kvr_predictor predictor, double value,
                     double weight)
{
    if (isnan(value) || isnan(weight))
        return;
    sums->value[predictor] += value * weight;
    sums->weight[predictor] += weight;
}

/* A cell may come once in a setting; a replay's rows of a setting ascend within a sample. */
static enum kvr_status check_order(const struct kvr_predict_reading *reading,
                                   struct kvr_predict_setting *setting,
                                   const struct kvr_predict_sums *sums,
                                   const struct kvr_predict_place *at, struct kvr_error *err)
{
    bool again = setting->last_sample == reading->sample
                     ? at->layer < setting->last_layer ||
                           (at->layer == setting->last_layer && at->group <= setting->last_group)
                     : sums->there;
    setting->last_sample = reading->sample;
    setting->last_layer = at->layer;
    setting->last_group = at->group;
    if (!again)
        return KVR_OK;
    kvr_table_reader_fail(reading->reader, "policy", err,
                          "expected one row a layer and group, ascending, found another one of "
                          "policy %s under scorer %s",
                          at->policy, at->scorer);
    return kvr_hint(err, "folders may not hold the same policy of the same sample; --policy and "
                         "--scorer choose rows");
}

static enum kvr_status take_measures(void *state, const struct kvr_table_reader *reader,
                                     struct kvr_error *err)
{
    struct kvr_predict_reading *reading = state;
    const struct measures_row *row = reading->row;
    const struct kvr_predict_place *at = &row->at;
    reading->reader = reader;
    if (!kvr_predict_takes(reading, at))
        return KVR_OK;
    struct kvr_predict_setting *setting = NULL;
    enum kvr_status status = find_replayed(reading, at, err);
    if (status == KVR_OK)
        status = kvr_predict_reach_setting(reading, at, &setting, err);
    if (status != KVR_OK)
        return status;
    struct kvr_predict_sums *sums = &setting->sums[reading->sample];
    status = check_order(reading, setting, sums, at, err);
    const struct kvr_pages pages = {.size = at->page_size,
                                    .candidates = {.count = (size_t)row->context}};
    sums->held += row->selected;
    sums->due += kvr_budget_quota(setting->fraction, &pages);
    sums->there = true;
    kvr_predict_sum(sums, KVR_BY_FUTURE_PEAK_POOLED, row->future_peak, row->peak_weight);
    kvr_predict_sum(sums, KVR_BY_FUTURE_PEAK, row->future_peak, 1);
    kvr_predict_sum(sums, KVR_BY_FUTURE_MASS_POOLED, row->future_mass, row->future_weight);
    kvr_predict_sum(sums, KVR_BY_FUTURE_MASS, row->future_mass, 1);
    kvr_predict_sum(sums, KVR_BY_OUTPUT_ERROR, row->output_error, 1);
    kvr_predict_sum(sums, KVR_BY_RETAINED_MASS, row->retained_mass, 1);
    /* A sum: the tokens of keys and values of two bytes an element. */
    uint64_t token_bytes = reading->head_dim > 0 ? 2 * 2 * reading->head_dim : 1;
    sums->value[KVR_BY_KEPT_BYTES] += (double)(row->kept_tokens * token_bytes);
    sums->weight[KVR_BY_KEPT_BYTES] = 1;
    return status;
}

/* ---- needles.csv */

static enum kvr_status find_needle(struct kvr_predict_reading *reading,
                                   const struct needles_row *row, size_t *needle,
                                   struct kvr_error *err)
{
    struct kvr_predict_data *data = reading->data;
    char key[64];
    snprintf(key, sizeof key, "%zu/%llu", reading->sample, (unsigned long long)row->needle);
    enum kvr_status status = kvr_names_index(&data->needles, key, needle, err);
    if (status == KVR_OK)
        status = kvr_reach((void **)&data->needle_samples, &data->needle_capacity, *needle,
                           sizeof *data->needle_samples, err);
    if (status == KVR_OK)
        data->needle_samples[*needle] = reading->sample;
    return status;
}

static enum kvr_status take_needles(void *state, const struct kvr_table_reader *reader,
                                    struct kvr_error *err)
{
    struct kvr_predict_reading *reading = state;
    const struct needles_row *row = reading->row;
    const struct kvr_predict_place *at = &row->at;
    reading->reader = reader;
    if (!kvr_predict_takes(reading, at))
        return KVR_OK;
    struct kvr_predict_setting *setting =
        kvr_predict_find(reading->data, at->scorer, at->policy, at->page_size, at->budget);
    size_t needle = 0;
    enum kvr_status status = find_replayed(reading, at, err);
    if (status == KVR_OK && (setting == NULL || reading->sample >= setting->sums_room ||
                             !setting->sums[reading->sample].there))
        return kvr_table_reader_fail(reader, "policy", err,
                                     "expected a policy of measures.csv, found %s under scorer %s",
                                     at->policy, at->scorer);
    if (status == KVR_OK)
        status = find_needle(reading, row, &needle, err);
    if (status == KVR_OK)
        status = kvr_reach((void **)&setting->needles, &setting->needle_room, needle,
                           sizeof *setting->needles, err);
    if (status != KVR_OK)
        return status;
    struct kvr_predict_sums *sums = &setting->sums[reading->sample];
    setting->needles[needle].held++;
    setting->needles[needle].whole += row->kept_fraction >= 1;
    kvr_predict_sum(sums, KVR_BY_NEEDLE_FUTURE_POOLED, row->needle_future,
                    row->needle_future_weight);
    kvr_predict_sum(sums, KVR_BY_NEEDLE_FUTURE, row->needle_future, 1);
    return KVR_OK;
}

/* ---- samples */

/* Share of the rows that keep a needle whole, then the mean over the sample's needles. */
static void settle_needles(const struct kvr_predict_data *data, struct kvr_predict_setting *setting)
{
    for (size_t n = 0; n < data->needles.count && n < setting->needle_room; n++) {
        const struct kvr_predict_needles *needle = &setting->needles[n];
        if (needle->held > 0)
            kvr_predict_sum(&setting->sums[data->needle_samples[n]], KVR_BY_NEEDLE,
                            (double)needle->whole / (double)needle->held, 1);
    }
}

static void settle_memory(struct kvr_predict_setting *setting, size_t samples)
{
    uint64_t held = 0, due = 0;
    for (size_t s = 0; s < samples && s < setting->sums_room; s++) {
        setting->replayed[s] = setting->sums[s].there;
        held += setting->held[s] = setting->sums[s].held;
        due += setting->due[s] = setting->sums[s].due;
    }
    setting->memory = (double)held / (double)due;
}

static enum kvr_status settle_setting(const struct kvr_predict_data *data,
                                      struct kvr_predict_setting *setting, struct kvr_error *err)
{
    size_t samples = data->sample_count;
    settle_needles(data, setting);
    setting->replayed = kvr_alloc(samples, sizeof *setting->replayed, err);
    setting->lived = kvr_alloc(samples, sizeof *setting->lived, err);
    setting->held = kvr_alloc(samples, sizeof *setting->held, err);
    setting->due = kvr_alloc(samples, sizeof *setting->due, err);
    if (setting->replayed == NULL || setting->lived == NULL || setting->held == NULL ||
        setting->due == NULL)
        return KVR_NO_MEMORY;
    settle_memory(setting, samples);
    for (size_t p = 0; p < KVR_PREDICTORS; p++) {
        setting->offline[p] = kvr_alloc(samples, sizeof *setting->offline[p], err);
        if (setting->offline[p] == NULL)
            return KVR_NO_MEMORY;
        for (size_t s = 0; s < samples; s++) {
            const struct kvr_predict_sums *sums = s < setting->sums_room ? &setting->sums[s] : NULL;
            bool has = sums != NULL && sums->there && sums->weight[p] > 0;
            setting->offline[p][s] = has ? sums->value[p] / sums->weight[p] : NAN;
        }
    }
    for (size_t f = 0; f < KVR_LIVES; f++) {
        setting->live[f] = kvr_alloc(samples, sizeof *setting->live[f], err);
        if (setting->live[f] == NULL)
            return KVR_NO_MEMORY;
        for (size_t s = 0; s < samples; s++)
            setting->live[f][s] = NAN;
    }
    return KVR_OK;
}

/* ---- folders */

static enum kvr_status read_replay(struct kvr_predict_reading *reading, const char *folder,
                                   struct kvr_error *err)
{
    struct measures_row measures;
    struct needles_row needles;
    enum kvr_status status = kvr_run_facts_add(&reading->data->facts, folder, err);
    reading->row = &measures;
    if (status == KVR_OK)
        status = kvr_table_each(folder, "measures.csv", measures_fields,
                                sizeof measures_fields / sizeof *measures_fields, &measures,
                                take_measures, reading, err);
    reading->row = &needles;
    if (status == KVR_OK)
        status = kvr_table_each(folder, "needles.csv", needles_fields,
                                sizeof needles_fields / sizeof *needles_fields, &needles,
                                take_needles, reading, err);
    reading->row = NULL;
    return status;
}

/* A replay's own tables win where both are there: they are what the other was made of. */
static enum kvr_status has_only_samples(const char *folder, bool *only, struct kvr_error *err)
{
    char *measures = kvr_join_path(folder, "measures.csv", err);
    char *samples = kvr_join_path(folder, kvr_predict_samples_name, err);
    enum kvr_status status = measures == NULL || samples == NULL ? KVR_NO_MEMORY : KVR_OK;
    *only = status == KVR_OK && access(measures, F_OK) != 0 && access(samples, F_OK) == 0;
    free(measures);
    free(samples);
    return status;
}

static enum kvr_status read_folder(struct kvr_predict_data *data, const char *folder,
                                   const struct kvr_predict_filters *filters, struct kvr_error *err)
{
    struct kvr_predict_reading reading = {.data = data, .filters = filters};
    bool only_samples;
    enum kvr_status status = has_only_samples(folder, &only_samples, err);
    if (status == KVR_OK)
        status = only_samples ? kvr_predict_read_samples(&reading, folder, err)
                              : read_replay(&reading, folder, err);
    free(reading.sample_name);
    return status;
}

enum kvr_status kvr_predict_data_read(const char *const *folders, size_t folder_count,
                                      const char *live, const struct kvr_predict_filters *filters,
                                      struct kvr_predict_data *data, struct kvr_error *err)
{
    *data = (struct kvr_predict_data){.bytes_known = true};
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < folder_count; i++)
        status = read_folder(data, folders[i], filters, err);
    if (status == KVR_OK && data->setting_count == 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "no row of the tables has what was asked for (--trace, --scorer, "
                        "--policy, --budget, --page-size)");
    data->sample_count = data->samples.count;
    for (size_t i = 0; status == KVR_OK && i < data->setting_count; i++)
        status = settle_setting(data, &data->settings[i], err);
    return status == KVR_OK ? kvr_predict_live_read(live, filters, data, err) : status;
}

void kvr_predict_data_free(struct kvr_predict_data *data)
{
    for (size_t i = 0; i < data->setting_count; i++) {
        struct kvr_predict_setting *setting = &data->settings[i];
        for (size_t p = 0; p < KVR_PREDICTORS; p++)
            free(setting->offline[p]);
        for (size_t f = 0; f < KVR_LIVES; f++)
            free(setting->live[f]);
        free(setting->replayed);
        free(setting->lived);
        free(setting->held);
        free(setting->due);
        free(setting->sums);
        free(setting->needles);
    }
    free(data->settings);
    free(data->uses);
    free(data->page_sizes);
    free(data->needle_samples);
    kvr_run_facts_free(&data->facts);
    kvr_names_free(&data->labels);
    kvr_names_free(&data->budgets);
    kvr_names_free(&data->traces);
    kvr_names_free(&data->samples);
    kvr_names_free(&data->needles);
    *data = (struct kvr_predict_data){0};
}
