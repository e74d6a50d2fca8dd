/*
 * Choosing settings and samples, averaging over drawn samples, ranking. It must not know which
 * questions are asked.
 *
 * A ranking is fair only if all of its settings are averaged over the same samples. So settings
 * that lack most samples are left out first, then samples that some setting lacks.
 */
#include "analysis/predict_rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/spearman.h"
#include "formats/base/memory.h"

/* Settings that are ranked together, and what they are ranked by. */
struct ranking {
    size_t setting_count, group_count, sample_count;
    size_t *settings;     /* [setting_count] */
    size_t *group_starts; /* [group_count + 1] into settings: each group has a ranking of its own */
    size_t *samples;      /* [sample_count] */
    size_t predictor_count;
    double *predicted[2]; /* [sample_count][setting_count], oriented: more is better */
    double *lived;
    double *sums[3]; /* [setting_count] scratch: means of predicted and lived */
    struct kvr_spearman_room room;
};

bool kvr_predict_equal_memory(const struct kvr_predict_setting *setting, double slack)
{
    return fabs(setting->memory - 1) <= slack;
}

/* ---- settings */

static bool is_asked(const struct predict_question *question, double slack,
                     const struct kvr_predict_setting *setting, size_t budget)
{
    if (!question->section->mixed && setting->page != question->section->page)
        return false;
    switch (question->scope) {
    case KVR_OVER_ALL:
        return true;
    case KVR_WITHIN_BUDGET:
    case KVR_WITHIN_BUDGETS:
        return setting->budget == budget;
    case KVR_EQUAL_MEMORY_BUDGET:
    case KVR_EQUAL_MEMORY:
        return setting->budget == budget && kvr_predict_equal_memory(setting, slack);
    }
    return false;
}

static bool has_both(const struct kvr_predict_setting *setting,
                     const struct predict_question *question, size_t sample)
{
    bool has = !isnan(setting->live[question->live][sample]);
    for (size_t p = 0; p < question->predictor_count; p++)
        has = has && !isnan(setting->offline[question->predictors[p]][sample]);
    return has;
}

static size_t samples_of(const struct kvr_predict_data *data,
                         const struct kvr_predict_setting *setting,
                         const struct predict_question *question)
{
    size_t count = 0;
    for (size_t s = 0; s < data->sample_count; s++)
        count += has_both(setting, question, s);
    return count;
}

/* The groups of the scope: one ranking each. */
static void list_settings(const struct kvr_predict_data *data,
                          const struct predict_question *question, double slack,
                          struct ranking *ranking)
{
    bool every = question->scope == KVR_WITHIN_BUDGETS || question->scope == KVR_EQUAL_MEMORY;
    size_t first = every ? 0 : question->budget;
    size_t end = every ? data->budgets.count : question->budget + 1;
    for (size_t b = first; b < end; b++) {
        size_t before = ranking->setting_count;
        for (size_t i = 0; i < data->setting_count; i++)
            if (is_asked(question, slack, &data->settings[i], b))
                ranking->settings[ranking->setting_count++] = i;
        if (ranking->setting_count > before)
            ranking->group_starts[++ranking->group_count] = ranking->setting_count;
    }
}

/* Drops what has less than half of the most samples that a setting has. */
static void drop_sparse(const struct kvr_predict_data *data,
                        const struct predict_question *question, struct ranking *ranking,
                        struct kvr_correlation *correlation)
{
    size_t most = 0, kept = 0, group = 0;
    for (size_t i = 0; i < ranking->setting_count; i++) {
        size_t count = samples_of(data, &data->settings[ranking->settings[i]], question);
        most = count > most ? count : most;
    }
    for (size_t g = 0, i = 0; g < ranking->group_count; g++) {
        size_t before = kept;
        for (; i < ranking->group_starts[g + 1]; i++) {
            size_t count = samples_of(data, &data->settings[ranking->settings[i]], question);
            if (count > 0 && 2 * count >= most)
                ranking->settings[kept++] = ranking->settings[i];
            else
                correlation->sparse_settings += count > 0;
        }
        if (kept > before)
            ranking->group_starts[++group] = kept;
    }
    ranking->setting_count = kept;
    ranking->group_count = group;
}

/* Samples that every setting has; those that only some have are counted. */
static void list_samples(const struct kvr_predict_data *data,
                         const struct predict_question *question, struct ranking *ranking,
                         struct kvr_correlation *correlation)
{
    for (size_t s = 0; s < data->sample_count; s++) {
        size_t have = 0;
        for (size_t i = 0; i < ranking->setting_count; i++)
            have += has_both(&data->settings[ranking->settings[i]], question, s);
        if (have > 0 && have == ranking->setting_count)
            ranking->samples[ranking->sample_count++] = s;
        else
            correlation->partial_samples += have > 0;
    }
}

/* ---- values */

static double *oriented(const struct kvr_predict_data *data, const struct ranking *ranking,
                        bool live, size_t figure, struct kvr_error *err)
{
    size_t count = ranking->setting_count;
    int better = live ? kvr_lives[figure].better : kvr_predictors[figure].better;
    double *values = kvr_alloc(ranking->sample_count * count, sizeof *values, err);
    for (size_t s = 0; values != NULL && s < ranking->sample_count; s++)
        for (size_t i = 0; i < count; i++) {
            const struct kvr_predict_setting *setting = &data->settings[ranking->settings[i]];
            const double *of = live ? setting->live[figure] : setting->offline[figure];
            values[s * count + i] = better * of[ranking->samples[s]];
        }
    return values;
}

static enum kvr_status take_values(const struct kvr_predict_data *data,
                                   const struct predict_question *question, struct ranking *ranking,
                                   struct kvr_error *err)
{
    ranking->predictor_count = question->predictor_count;
    ranking->lived = oriented(data, ranking, true, question->live, err);
    bool failed = ranking->lived == NULL;
    for (size_t p = 0; p < question->predictor_count; p++) {
        ranking->predicted[p] = oriented(data, ranking, false, question->predictors[p], err);
        failed = failed || ranking->predicted[p] == NULL;
    }
    for (size_t i = 0; i < 3; i++) {
        ranking->sums[i] = kvr_alloc(ranking->setting_count, sizeof **ranking->sums, err);
        failed = failed || ranking->sums[i] == NULL;
    }
    if (failed)
        return KVR_NO_MEMORY;
    return kvr_spearman_room_open(&ranking->room, ranking->setting_count, err);
}

/* Means that differ by rounding alone must tie: the lowest twelve bits of 52 are rounded off. */
static double settled(double mean)
{
    int exponent;
    double fraction = frexp(mean, &exponent);
    return ldexp(rint(ldexp(fraction, 40)), exponent - 40);
}

/* Means over the drawn samples. */
static void average(const struct ranking *ranking, const double *values, const uint32_t *times,
                    double *means)
{
    size_t count = ranking->setting_count;
    memset(means, 0, count * sizeof *means);
    for (size_t s = 0; s < ranking->sample_count; s++) {
        double weight = times[s];
        for (size_t i = 0; times[s] > 0 && i < count; i++)
            means[i] += weight * values[s * count + i];
    }
    for (size_t i = 0; i < count; i++)
        means[i] = settled(means[i] / (double)ranking->sample_count);
}

/* The mean over groups of rho, or of the difference of two, where they exist. */
static double correlation_of(const void *state, const uint32_t *times, size_t count)
{
    const struct ranking *ranking = state;
    (void)count;
    double sum = 0;
    size_t exist = 0;
    average(ranking, ranking->lived, times, ranking->sums[2]);
    for (size_t p = 0; p < ranking->predictor_count; p++)
        average(ranking, ranking->predicted[p], times, ranking->sums[p]);
    for (size_t g = 0; g < ranking->group_count; g++) {
        size_t first = ranking->group_starts[g], size = ranking->group_starts[g + 1] - first;
        double rho =
            kvr_spearman(ranking->sums[0] + first, ranking->sums[2] + first, size, &ranking->room);
        if (ranking->predictor_count > 1)
            rho -= kvr_spearman(ranking->sums[1] + first, ranking->sums[2] + first, size,
                                &ranking->room);
        if (isnan(rho))
            continue;
        sum += rho;
        exist++;
    }
    return exist > 0 ? sum / (double)exist : NAN;
}

static void ranking_free(struct ranking *ranking)
{
    kvr_spearman_room_close(&ranking->room);
    for (size_t i = 0; i < 3; i++)
        free(ranking->sums[i]);
    free(ranking->predicted[0]);
    free(ranking->predicted[1]);
    free(ranking->lived);
    free(ranking->settings);
    free(ranking->group_starts);
    free(ranking->samples);
}

enum kvr_status predict_correlate(const struct kvr_predict_data *data,
                                  const struct kvr_predict_options *options,
                                  const struct predict_question *question,
                                  struct kvr_correlation *correlation, struct kvr_error *err)
{
    *correlation = (struct kvr_correlation){.rho = {.estimate = NAN, .low = NAN, .high = NAN}};
    struct ranking ranking = {
        .settings = kvr_alloc(data->setting_count, sizeof *ranking.settings, err),
        .group_starts = kvr_alloc(data->budgets.count + 1, sizeof *ranking.group_starts, err),
        .samples = kvr_alloc(data->sample_count, sizeof *ranking.samples, err),
    };
    enum kvr_status status = KVR_NO_MEMORY;
    if (ranking.settings != NULL && ranking.group_starts != NULL && ranking.samples != NULL) {
        list_settings(data, question, options->slack, &ranking);
        drop_sparse(data, question, &ranking, correlation);
        list_samples(data, question, &ranking, correlation);
        correlation->settings = ranking.setting_count;
        status = take_values(data, question, &ranking, err);
    }
    if (status == KVR_OK)
        status = kvr_bootstrap_interval(&options->bootstrap, correlation_of, &ranking,
                                        ranking.sample_count, &correlation->rho, err);
    ranking_free(&ranking);
    return status;
}
