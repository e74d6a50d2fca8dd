/*
 * Scatter of a measure against live figures, budgets told apart. It must not know how figures are
 * saved.
 */
#include "plots/predict_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "plots/caption.h"
#include "plots/plotter.h"

/* The live figures that have a point: a panel each. */
struct panels {
    size_t count;
    enum kvr_live lives[KVR_LIVES];
};

static const struct kvr_predict_section *section_of(const struct kvr_predict_figure *figure)
{
    return &figure->prediction->sections[figure->section];
}

static bool is_point(const struct kvr_predict_figure *figure, size_t setting, size_t live)
{
    const struct kvr_prediction *prediction = figure->prediction;
    const struct kvr_live_means *means = &prediction->means[setting];
    return prediction->data.settings[setting].page == section_of(figure)->page &&
           !isnan(means->offline[figure->predictor]) && !isnan(means->figures[live].estimate);
}

static struct panels panels_of(const struct kvr_predict_figure *figure)
{
    struct panels panels = {0};
    for (unsigned f = 0; f < KVR_LIVES; f++)
        for (size_t i = 0; i < figure->prediction->data.setting_count; i++)
            if (is_point(figure, i, f)) {
                panels.lives[panels.count++] = (enum kvr_live)f;
                break;
            }
    return panels;
}

static bool has_point(const struct kvr_predict_figure *figure, const struct panels *panels,
                      size_t setting)
{
    bool any = false;
    for (size_t p = 0; p < panels->count; p++)
        any = any || is_point(figure, setting, panels->lives[p]);
    return any;
}

/* A block of points for every budget that has one. */
static enum kvr_status write_points(const struct kvr_predict_figure *figure,
                                    const struct panels *panels, struct kvr_draft *draft,
                                    size_t *points, struct kvr_error *err)
{
    const struct kvr_predict_data *data = &figure->prediction->data;
    const char **budgets = kvr_alloc(data->budgets.count, sizeof *budgets, err);
    double least = HUGE_VAL, most = -HUGE_VAL;
    size_t count = 0;
    if (budgets == NULL)
        return KVR_NO_MEMORY;
    for (size_t b = 0; b < data->budgets.count; b++) {
        bool started = false;
        for (size_t i = 0; i < data->setting_count; i++) {
            if (data->settings[i].budget != b || !has_point(figure, panels, i))
                continue;
            if (!started)
                kvr_draft_block(draft, "budget %s: measure, live figures, policy",
                                data->budgets.items[b]);
            started = true;
            double value = figure->prediction->means[i].offline[figure->predictor];
            least = fmin(least, value);
            most = fmax(most, value);
            kvr_draft_value(draft, value);
            for (size_t p = 0; p < panels->count; p++)
                kvr_draft_value(draft,
                                figure->prediction->means[i].figures[panels->lives[p]].estimate);
            kvr_draft_name(draft, data->uses[data->settings[i].use].policy);
            kvr_draft_end(draft);
            ++*points;
        }
        if (started)
            budgets[count++] = data->budgets.items[b];
    }
    kvr_draft_strings(draft, "budgets", budgets, count);
    kvr_draft_number(draft, "least", least);
    kvr_draft_number(draft, "most", most);
    free(budgets);
    return KVR_OK;
}

static void write_panels(const struct kvr_predict_figure *figure, const struct panels *panels,
                         struct kvr_draft *draft)
{
    const struct kvr_predict_section *section = section_of(figure);
    const char *names[KVR_LIVES], *notes[KVR_LIVES];
    char texts[KVR_LIVES][48];
    for (size_t p = 0; p < panels->count; p++) {
        const struct kvr_correlation *within =
            kvr_correlation_at(section, kvr_scope_index(section, KVR_WITHIN_BUDGETS, 0),
                               figure->predictor, panels->lives[p]);
        names[p] = kvr_lives[panels->lives[p]].heading;
        notes[p] = texts[p];
        if (isnan(within->rho.estimate))
            snprintf(texts[p], sizeof texts[p], "%s", "");
        else
            snprintf(texts[p], sizeof texts[p], ", rho %+.2f", within->rho.estimate);
    }
    kvr_draft_strings(draft, "panels", names, panels->count);
    kvr_draft_strings(draft, "notes", notes, panels->count);
    kvr_draft_string(draft, "measure",
                     kvr_predict_heading(&figure->prediction->data, figure->predictor));
    draft->height = 0.26 + 1.35 * (double)panels->count + 0.62;
    draft->text_lines = 6 + 14 * (double)panels->count;
}

static void write_caption(const struct kvr_predict_figure *figure, size_t points,
                          struct kvr_draft *draft)
{
    const struct kvr_prediction *prediction = figure->prediction;
    const struct kvr_predict_section *section = section_of(figure);
    char words[KVR_COUNT_ROOM], samples[KVR_COUNT_ROOM];
    kvr_draft_say(draft,
                  "Live figures against %s, at page size %llu: %s (a policy at a budget), means "
                  "over %s.",
                  kvr_predict_heading(&prediction->data, figure->predictor),
                  (unsigned long long)prediction->data.page_sizes[section->page],
                  kvr_count_words(words, points, "setting"),
                  kvr_count_words(samples, section->samples, "sample"));
    kvr_draft_say(draft, "rho: Spearman's correlation within a budget, mean over budgets, + where "
                         "the better by the measure does better live.");
}

static void name_figure(struct kvr_predict_figure *figure)
{
    const struct kvr_predict_info *info = &kvr_predictors[figure->predictor];
    uint64_t page = figure->prediction->data.page_sizes[section_of(figure)->page];
    snprintf(figure->name, sizeof figure->name, "predict-%s-%s-p%llu", info->name, info->pooling,
             (unsigned long long)page);
    for (char *c = figure->name; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    snprintf(figure->title, sizeof figure->title, "Live against %s",
             kvr_predict_heading(&figure->prediction->data, figure->predictor));
    figure->figure = (struct kvr_figure){
        .name = figure->name,
        .title = figure->title,
    };
}

enum kvr_status kvr_predict_draw(struct kvr_predict_figure *figure, struct kvr_plotter *plotter,
                                 struct kvr_drawing *drawing, struct kvr_error *err)
{
    struct kvr_draft draft = {.template_name = "predict"};
    struct panels panels = panels_of(figure);
    size_t points = 0;
    enum kvr_status status = KVR_OK;
    name_figure(figure);
    *drawing = (struct kvr_drawing){.figure = &figure->figure};
    if (panels.count == 0)
        status = kvr_draft_skip(&draft, "no setting has both sides");
    else
        status = write_points(figure, &panels, &draft, &points, err);
    if (status == KVR_OK && panels.count > 0) {
        write_panels(figure, &panels, &draft);
        write_caption(figure, points, &draft);
    }
    if (status == KVR_OK)
        status = kvr_plotter_draw_draft(plotter, &figure->figure, &draft, drawing, err);
    kvr_draft_free(&draft);
    return status;
}
