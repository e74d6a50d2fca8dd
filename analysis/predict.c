/*
 * The questions that a prediction answers, asked in parallel. It must not know how a correlation is
 * computed, or how the answers are shown.
 */
#include "analysis/predict.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/predict_rank.h"
#include "formats/base/memory.h"
#include "formats/base/parallel.h"

/* What all tasks share. Each writes to a place of its own. */
struct asking {
    const struct kvr_predict_options *options;
    struct kvr_prediction *prediction;
};

static enum kvr_status commit(void *context, size_t index, void *result, struct kvr_error *err)
{
    (void)context, (void)index, (void)result, (void)err;
    return KVR_OK;
}

static void discard(void *context, void *result)
{
    (void)context, (void)result;
}

static enum kvr_status ask(struct asking *asking, size_t count,
                           enum kvr_status (*work)(void *, size_t, unsigned, void **,
                                                   struct kvr_error *),
                           struct kvr_error *err)
{
    const struct kvr_tasks tasks = {count, asking, work, commit, discard};
    return kvr_run_ordered(asking->options->threads, &tasks, err);
}

const char *kvr_predict_heading(const struct kvr_predict_data *data, enum kvr_predictor predictor)
{
    if (predictor == KVR_BY_KEPT_BYTES && !data->bytes_known)
        return "kept tokens";
    return kvr_predictors[predictor].heading;
}

/* ---- sections */

static bool in_section(const struct kvr_predict_section *section,
                       const struct kvr_predict_setting *setting)
{
    return section->mixed || setting->page == section->page;
}

static bool has_live(const struct kvr_predict_data *data, const struct kvr_predict_setting *setting)
{
    for (size_t s = 0; s < data->sample_count; s++)
        if (setting->lived[s])
            return true;
    return false;
}

/* Mean of what is there; NaN if nothing is. */
static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    size_t there = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i])) {
            sum += values[i];
            there++;
        }
    return there > 0 ? sum / (double)there : NAN;
}

static void describe_section(const struct kvr_predict_data *data,
                             struct kvr_predict_section *section)
{
    for (size_t s = 0; s < data->sample_count; s++) {
        bool any = false;
        for (size_t i = 0; i < data->setting_count; i++)
            any = any || (in_section(section, &data->settings[i]) && data->settings[i].lived[s]);
        section->samples += any;
    }
    for (size_t i = 0; i < data->setting_count; i++) {
        const struct kvr_predict_setting *setting = &data->settings[i];
        if (!in_section(section, setting) || !has_live(data, setting))
            continue;
        double right = mean_of(setting->live[KVR_LIVE_RIGHT], data->sample_count);
        double kl = mean_of(setting->live[KVR_LIVE_KL], data->sample_count);
        section->settings++;
        section->floor += right <= 0;
        section->ceiling += right >= 1;
        section->same += kl < 1e-6;
    }
}

static enum kvr_status list_sections(const struct kvr_predict_options *options,
                                     struct kvr_prediction *prediction, struct kvr_error *err)
{
    const struct kvr_predict_data *data = &prediction->data;
    size_t count = data->page_count + (options->mix_pages && data->page_count > 1);
    prediction->sections = kvr_alloc(count, sizeof *prediction->sections, err);
    if (prediction->sections == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct kvr_predict_section *section = &prediction->sections[prediction->section_count++];
        section->mixed = i == data->page_count;
        section->page = i;
        section->budget_count = data->budgets.count;
        section->correlations = kvr_alloc(kvr_scope_count(section) * KVR_PREDICTORS * KVR_LIVES,
                                          sizeof *section->correlations, err);
        if (section->correlations == NULL)
            return KVR_NO_MEMORY;
        describe_section(data, section);
    }
    return KVR_OK;
}

/* ---- correlations */

static void scope_of(const struct kvr_predict_section *section, size_t index,
                     enum kvr_predict_scope *scope, size_t *budget)
{
    static const enum kvr_predict_scope whole[] = {KVR_OVER_ALL, KVR_WITHIN_BUDGETS,
                                                   KVR_EQUAL_MEMORY};
    *budget = 0;
    if (index < 3) {
        *scope = whole[index];
        return;
    }
    *budget = (index - 3) % section->budget_count;
    *scope = index - 3 < section->budget_count ? KVR_WITHIN_BUDGET : KVR_EQUAL_MEMORY_BUDGET;
}

static enum kvr_status correlate(void *context, size_t index, unsigned thread, void **result,
                                 struct kvr_error *err)
{
    const struct asking *asking = context;
    struct kvr_prediction *prediction = asking->prediction;
    size_t each = kvr_scope_count(prediction->sections) * KVR_PREDICTORS * KVR_LIVES;
    const struct kvr_predict_section *section = &prediction->sections[index / each];
    size_t place = index % each;
    struct predict_question question = {
        .section = section,
        .live = (enum kvr_live)(place % KVR_LIVES),
        .predictor_count = 1,
        .predictors = {(enum kvr_predictor)(place / KVR_LIVES % KVR_PREDICTORS)},
    };
    (void)thread, (void)result;
    scope_of(section, place / (KVR_LIVES * KVR_PREDICTORS), &question.scope, &question.budget);
    return predict_correlate(&prediction->data, asking->options, &question,
                             &section->correlations[place], err);
}

/* The measure with the highest rho in a scope, `but` aside; KVR_PREDICTORS: none has one. */
static enum kvr_predictor best_of(const struct kvr_predict_section *section, size_t scope,
                                  enum kvr_live live, enum kvr_predictor but)
{
    enum kvr_predictor best = KVR_PREDICTORS;
    double most = NAN;
    for (unsigned p = 0; p < KVR_PREDICTORS; p++) {
        double rho = kvr_correlation_at(section, scope, (enum kvr_predictor)p, live)->rho.estimate;
        if (p == but || isnan(rho) || (best != KVR_PREDICTORS && rho <= most))
            continue;
        best = (enum kvr_predictor)p;
        most = rho;
    }
    return best;
}

static enum kvr_status find_best(void *context, size_t index, unsigned thread, void **result,
                                 struct kvr_error *err)
{
    const struct asking *asking = context;
    struct kvr_predict_section *section = &asking->prediction->sections[index / KVR_LIVES];
    enum kvr_live live = (enum kvr_live)(index % KVR_LIVES);
    struct kvr_best *best = &section->best[live];
    *best = (struct kvr_best){.scope = KVR_EQUAL_MEMORY,
                              .lead = {.estimate = NAN, .low = NAN, .high = NAN}};
    (void)thread, (void)result;
    size_t scope = kvr_scope_index(section, KVR_EQUAL_MEMORY, 0);
    best->best = best_of(section, scope, live, KVR_PREDICTORS);
    if (best->best == KVR_PREDICTORS) {
        best->scope = KVR_WITHIN_BUDGETS;
        scope = kvr_scope_index(section, KVR_WITHIN_BUDGETS, 0);
        best->best = best_of(section, scope, live, KVR_PREDICTORS);
    }
    best->second = best_of(section, scope, live, best->best);
    if (best->best == KVR_PREDICTORS || best->second == KVR_PREDICTORS)
        return KVR_OK;
    const struct predict_question question = {
        .section = section,
        .scope = best->scope,
        .live = live,
        .predictor_count = 2,
        .predictors = {best->best, best->second},
    };
    struct kvr_correlation lead;
    enum kvr_status status =
        predict_correlate(&asking->prediction->data, asking->options, &question, &lead, err);
    best->lead = lead.rho;
    return status;
}

/* ---- policies */

static enum kvr_status average(void *context, size_t index, unsigned thread, void **result,
                               struct kvr_error *err)
{
    const struct asking *asking = context;
    const struct kvr_predict_data *data = &asking->prediction->data;
    const struct kvr_predict_setting *setting = &data->settings[index];
    struct kvr_live_means *means = &asking->prediction->means[index];
    double *values = kvr_alloc(data->sample_count, sizeof *values, err);
    enum kvr_status status = values != NULL ? KVR_OK : KVR_NO_MEMORY;
    (void)thread, (void)result;
    for (size_t f = 0; status == KVR_OK && f < KVR_LIVES; f++)
        status = kvr_bootstrap_mean(&asking->options->bootstrap, setting->live[f],
                                    data->sample_count, &means->figures[f], err);
    for (size_t p = 0; status == KVR_OK && p < KVR_PREDICTORS; p++) {
        for (size_t s = 0; s < data->sample_count; s++)
            values[s] = setting->lived[s] ? setting->offline[p][s] : NAN;
        means->offline[p] = mean_of(values, data->sample_count);
    }
    free(values);
    return status;
}

static enum kvr_status list_pairs(struct kvr_prediction *prediction, struct kvr_error *err)
{
    const struct kvr_predict_data *data = &prediction->data;
    size_t capacity = 0;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; i < data->setting_count; i++)
        for (size_t j = i + 1; status == KVR_OK && j < data->setting_count; j++) {
            const struct kvr_predict_setting *left = &data->settings[i];
            const struct kvr_predict_setting *right = &data->settings[j];
            if (left->page != right->page || left->budget != right->budget ||
                !has_live(data, left) || !has_live(data, right))
                continue;
            status = kvr_reserve((void **)&prediction->pairs, &capacity, prediction->pair_count + 1,
                                 sizeof *prediction->pairs, err);
            if (status == KVR_OK)
                prediction->pairs[prediction->pair_count++] =
                    (struct kvr_live_pair){.left = i, .right = j};
        }
    return status;
}

static enum kvr_status pair(void *context, size_t index, unsigned thread, void **result,
                            struct kvr_error *err)
{
    const struct asking *asking = context;
    const struct kvr_predict_data *data = &asking->prediction->data;
    struct kvr_live_pair *pair = &asking->prediction->pairs[index];
    enum kvr_status status = KVR_OK;
    (void)thread, (void)result;
    for (size_t f = 0; status == KVR_OK && f < KVR_LIVES; f++)
        status = kvr_bootstrap_difference(
            &asking->options->bootstrap, data->settings[pair->left].live[f],
            data->settings[pair->right].live[f], data->sample_count, &pair->difference[f], err);
    return status;
}

/* ---- all of it */

static enum kvr_status ask_all(struct asking *asking, struct kvr_error *err)
{
    struct kvr_prediction *prediction = asking->prediction;
    const struct kvr_predict_data *data = &prediction->data;
    enum kvr_status status = list_sections(asking->options, prediction, err);
    if (status == KVR_OK)
        status = ask(asking,
                     prediction->section_count * kvr_scope_count(prediction->sections) *
                         KVR_PREDICTORS * KVR_LIVES,
                     correlate, err);
    if (status == KVR_OK)
        status = ask(asking, prediction->section_count * KVR_LIVES, find_best, err);
    if (status == KVR_OK) {
        prediction->means = kvr_alloc(data->setting_count, sizeof *prediction->means, err);
        status = prediction->means != NULL ? KVR_OK : KVR_NO_MEMORY;
    }
    if (status == KVR_OK)
        status = ask(asking, data->setting_count, average, err);
    if (status == KVR_OK)
        status = list_pairs(prediction, err);
    return status == KVR_OK ? ask(asking, prediction->pair_count, pair, err) : status;
}

enum kvr_status kvr_predict(const char *const *folders, size_t folder_count, const char *live,
                            const struct kvr_predict_options *options,
                            struct kvr_prediction *prediction, struct kvr_error *err)
{
    *prediction = (struct kvr_prediction){.bootstrap = options->bootstrap, .slack = options->slack};
    struct asking asking = {options, prediction};
    enum kvr_status status = kvr_predict_data_read(folders, folder_count, live, &options->filters,
                                                   &prediction->data, err);
    return status == KVR_OK ? ask_all(&asking, err) : status;
}

void kvr_prediction_free(struct kvr_prediction *prediction)
{
    for (size_t i = 0; i < prediction->section_count; i++)
        free(prediction->sections[i].correlations);
    free(prediction->sections);
    free(prediction->means);
    free(prediction->pairs);
    kvr_predict_data_free(&prediction->data);
    *prediction = (struct kvr_prediction){0};
}
