/*
 * Sums by setting and prompt. It must not know which tables there are.
 */
#include "plots/prompt_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"

static bool same_setting(const struct kvr_setting *a, const struct kvr_setting *b)
{
    return a->scorer == b->scorer && a->policy == b->policy && a->budget == b->budget &&
           a->page_size == b->page_size;
}

/* The index of the series, count if there is none. Rows mostly ask for the next one. */
static size_t index_of(const struct kvr_sums *sums, const struct kvr_setting *setting)
{
    for (size_t step = 0; step < 2 && sums->count > 0; step++) {
        size_t near = (sums->last + step) % sums->count;
        if (same_setting(&sums->series[near].setting, setting))
            return near;
    }
    size_t i = 0;
    while (i < sums->count && !same_setting(&sums->series[i].setting, setting))
        i++;
    return i;
}

static enum kvr_status add_series(struct kvr_sums *sums, const struct kvr_setting *setting,
                                  struct kvr_error *err)
{
    void *list = sums->series;
    enum kvr_status status =
        kvr_reserve(&list, &sums->capacity, sums->count + 1, sizeof *sums->series, err);
    sums->series = list;
    if (status == KVR_OK)
        sums->series[sums->count++] = (struct kvr_series){.setting = *setting, .most = NAN};
    return status;
}

/* Makes room for the sums of prompts up to `prompt`, zeroed. */
static enum kvr_status reach_prompt(const struct kvr_sums *sums, struct kvr_series *series,
                                    size_t prompt, struct kvr_error *err)
{
    if (prompt < series->prompt_count)
        return KVR_OK;
    size_t size = sums->quantities * sizeof(struct kvr_ratio);
    void *ratios = series->ratios;
    enum kvr_status status = kvr_reserve(&ratios, &series->capacity, prompt + 1, size, err);
    series->ratios = ratios;
    if (status != KVR_OK)
        return status;
    memset(series->ratios + series->prompt_count * sums->quantities, 0,
           (prompt + 1 - series->prompt_count) * size);
    series->prompt_count = prompt + 1;
    return KVR_OK;
}

enum kvr_status kvr_sums_row(struct kvr_sums *sums, const struct kvr_setting *setting,
                             size_t prompt, struct kvr_series **series, struct kvr_ratio **ratios,
                             struct kvr_error *err)
{
    size_t index = index_of(sums, setting);
    enum kvr_status status = index == sums->count ? add_series(sums, setting, err) : KVR_OK;
    if (status != KVR_OK)
        return status;
    sums->last = index;
    *series = &sums->series[index];
    status = reach_prompt(sums, *series, prompt, err);
    if (status != KVR_OK)
        return status;
    (*series)->cells++;
    *ratios = (*series)->ratios + prompt * sums->quantities;
    return KVR_OK;
}

void kvr_ratio_add(struct kvr_ratio *ratio, double value, double weight)
{
    if (isnan(value) || isnan(weight))
        return;
    ratio->over += value * weight;
    ratio->under += weight;
}

void kvr_series_offer(struct kvr_series *series, double value)
{
    series->most = fmax(series->most, value);
}

const struct kvr_series *kvr_sums_find(const struct kvr_sums *sums,
                                       const struct kvr_setting *setting)
{
    size_t index = index_of(sums, setting);
    return index < sums->count ? &sums->series[index] : NULL;
}

void kvr_sums_free(struct kvr_sums *sums)
{
    for (size_t i = 0; i < sums->count; i++)
        free(sums->series[i].ratios);
    free(sums->series);
    *sums = (struct kvr_sums){.quantities = sums->quantities};
}

/* ------------------------------------------------------------------------------ estimates */

/* The terms of the prompts that have the figure, one prompt after the other. */
struct drawn_terms {
    const struct kvr_formula *formula;
    const struct kvr_ratio *ratios; /* [prompts][formula->count] */
};

static double pooled_figure(const void *data, const uint32_t *times, size_t count)
{
    const struct drawn_terms *drawn = data;
    const struct kvr_formula *formula = drawn->formula;
    double figure = formula->factor;
    for (size_t term = 0; term < formula->count; term++) {
        double over = 0, under = 0;
        for (size_t prompt = 0; prompt < count; prompt++) {
            const struct kvr_ratio *ratio = &drawn->ratios[prompt * formula->count + term];
            over += times[prompt] * ratio->over;
            under += times[prompt] * ratio->under;
        }
        if (!(fabs(under) > 0) || (formula->terms[term].divides && !(fabs(over) > 0)))
            return NAN;
        figure *= formula->terms[term].divides ? under / over : over / under;
    }
    return figure;
}

/* False if the prompt has nothing for any term. */
static bool take_terms(const struct kvr_ratio *ratios, const struct kvr_formula *formula,
                       struct kvr_ratio *out)
{
    bool any = false;
    for (size_t term = 0; term < formula->count; term++) {
        struct kvr_ratio ratio = ratios[formula->terms[term].quantity];
        bool there = fabs(ratio.under) > 0;
        if (formula->pooling == KVR_POOL_PROMPTS && there)
            ratio = (struct kvr_ratio){ratio.over / ratio.under, 1};
        out[term] = ratio;
        any |= there;
    }
    return any;
}

enum kvr_status kvr_series_estimate(const struct kvr_sums *sums, const struct kvr_series *series,
                                    const struct kvr_formula *formula,
                                    const struct kvr_bootstrap *bootstrap,
                                    struct kvr_interval *interval, struct kvr_error *err)
{
    struct kvr_ratio *terms = kvr_alloc(series->prompt_count * formula->count, sizeof *terms, err);
    if (terms == NULL)
        return KVR_NO_MEMORY;
    size_t count = 0;
    for (size_t prompt = 0; prompt < series->prompt_count; prompt++)
        count += take_terms(series->ratios + prompt * sums->quantities, formula,
                            terms + count * formula->count);
    const struct drawn_terms drawn = {formula, terms};
    enum kvr_status status =
        kvr_bootstrap_interval(bootstrap, pooled_figure, &drawn, count, interval, err);
    free(terms);
    return status;
}
