/*
 * The page of `kvreplay predict`: correlations by live figure, policies live, and what to keep in
 * mind. All figures come from analysis/predict.h.
 */
#include "replay/cli/print_predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "replay/cli/predict_notes.h"
#include "replay/cli/readable.h"

/* Where the page is. */
struct view {
    const struct kvr_prediction *prediction;
    const struct kvr_predict_section *section;
    struct kvr_text *page;
    struct kvr_columns table;
    size_t baseline; /* use */
};

static void add_count(struct kvr_text *text, uint64_t count, const char *noun)
{
    kvr_text_thousands(text, count);
    kvr_text_add(text, " %s%s", noun, count == 1 ? "" : "s");
}

static void add_head(struct view *view)
{
    const struct kvr_predict_data *data = &view->prediction->data;
    size_t samples = 0;
    for (size_t s = 0; s < data->sample_count; s++) {
        bool any = false;
        for (size_t i = 0; i < data->setting_count; i++)
            any = any || data->settings[i].lived[s];
        samples += any;
    }
    add_count(view->page, data->matched_rows, "live row");
    kvr_text_string(view->page, " of ");
    add_count(view->page, samples, "sample");
    kvr_text_string(view->page, " and ");
    add_count(view->page, data->setting_count, "setting");
    kvr_text_string(view->page, " (policy, page size, budget) beside the replay's measures\n");
}

static void add_section(struct view *view)
{
    const struct kvr_predict_data *data = &view->prediction->data;
    uint64_t size = view->section->mixed ? 0 : data->page_sizes[view->section->page];
    if (view->section->mixed)
        kvr_text_string(view->page, "\n== All page sizes together ==\n");
    else if (size == 1)
        kvr_text_string(view->page, "\n== Tokens ==\n");
    else
        kvr_text_add(view->page, "\n== Pages of %" PRIu64 " tokens ==\n", size);
}

/* ---- correlations */

static const struct kvr_correlation *at(const struct view *view, enum kvr_predict_scope scope,
                                        size_t budget, unsigned predictor, unsigned live)
{
    return kvr_correlation_at(view->section, kvr_scope_index(view->section, scope, budget),
                              (enum kvr_predictor)predictor, (enum kvr_live)live);
}

/* True if some scope has a rho of the measure. */
static bool is_shown(const struct view *view, unsigned predictor, unsigned live)
{
    for (size_t i = 0; i < kvr_scope_count(view->section); i++)
        if (!isnan(kvr_correlation_at(view->section, i, (enum kvr_predictor)predictor,
                                      (enum kvr_live)live)
                       ->rho.estimate))
            return true;
    return false;
}

static bool any_shown(const struct view *view, unsigned live)
{
    for (unsigned p = 0; p < KVR_PREDICTORS; p++)
        if (is_shown(view, p, live))
            return true;
    return false;
}

/* The most settings that any measure ranks in a scope. */
static size_t most_settings(const struct view *view, enum kvr_predict_scope scope, size_t budget,
                            unsigned live)
{
    size_t most = 0;
    for (unsigned p = 0; p < KVR_PREDICTORS; p++) {
        const struct kvr_correlation *correlation = at(view, scope, budget, p, live);
        most = correlation->settings > most ? correlation->settings : most;
    }
    return most;
}

static void count_cell(struct view *view, enum kvr_predict_scope scope, size_t budget,
                       unsigned live)
{
    kvr_columns_cell(&view->table, "%zu", most_settings(view, scope, budget, live));
}

static void rho_cell(struct view *view, enum kvr_predict_scope scope, size_t budget,
                     unsigned predictor, unsigned live)
{
    double rho = at(view, scope, budget, predictor, live)->rho.estimate;
    if (isnan(rho))
        kvr_columns_cell(&view->table, "-");
    else
        kvr_columns_cell(&view->table, "%+.2f", rho);
}

static void interval_cell(struct view *view, const struct kvr_interval *interval, int decimals)
{
    if (kvr_interval_exists(interval))
        kvr_columns_cell(&view->table, "%+.*f … %+.*f", decimals, interval->low, decimals,
                         interval->high);
    else
        kvr_columns_cell(&view->table, "-");
}

static void heading_rows(struct view *view, unsigned live)
{
    const struct kvr_names *budgets = &view->prediction->data.budgets;
    kvr_columns_cell(&view->table, "%s", "");
    kvr_columns_cell(&view->table, "all");
    for (size_t b = 0; b < budgets->count; b++)
        kvr_columns_cell(&view->table, "%s", budgets->items[b]);
    kvr_columns_cell(&view->table, "within");
    kvr_columns_cell(&view->table, "95 %% interval");
    kvr_columns_cell(&view->table, "at equal memory");
    kvr_columns_cell(&view->table, "95 %% interval");
    kvr_columns_end_row(&view->table);
    kvr_columns_cell(&view->table, "settings ranked");
    count_cell(view, KVR_OVER_ALL, 0, live);
    for (size_t b = 0; b < budgets->count; b++)
        count_cell(view, KVR_WITHIN_BUDGET, b, live);
    count_cell(view, KVR_WITHIN_BUDGETS, 0, live);
    kvr_columns_cell(&view->table, "%s", "");
    count_cell(view, KVR_EQUAL_MEMORY, 0, live);
    kvr_columns_cell(&view->table, "%s", "");
    kvr_columns_end_row(&view->table);
}

static void measure_row(struct view *view, unsigned predictor, unsigned live)
{
    const char *heading =
        kvr_predict_heading(&view->prediction->data, (enum kvr_predictor)predictor);
    size_t ranked = at(view, KVR_OVER_ALL, 0, predictor, live)->settings;
    if (ranked < most_settings(view, KVR_OVER_ALL, 0, live))
        kvr_columns_cell(&view->table, "%s (of %zu)", heading, ranked);
    else
        kvr_columns_cell(&view->table, "%s", heading);
    rho_cell(view, KVR_OVER_ALL, 0, predictor, live);
    for (size_t b = 0; b < view->section->budget_count; b++)
        rho_cell(view, KVR_WITHIN_BUDGET, b, predictor, live);
    rho_cell(view, KVR_WITHIN_BUDGETS, 0, predictor, live);
    interval_cell(view, &at(view, KVR_WITHIN_BUDGETS, 0, predictor, live)->rho, 2);
    rho_cell(view, KVR_EQUAL_MEMORY, 0, predictor, live);
    interval_cell(view, &at(view, KVR_EQUAL_MEMORY, 0, predictor, live)->rho, 2);
    kvr_columns_end_row(&view->table);
}

static void add_best(struct view *view, unsigned live)
{
    const struct kvr_best *best = &view->section->best[live];
    if (best->best == KVR_PREDICTORS)
        return;
    kvr_text_add(view->page, "  %s ranks best %s",
                 kvr_predict_heading(&view->prediction->data, best->best),
                 best->scope == KVR_EQUAL_MEMORY ? "at equal memory" : "within budgets");
    if (best->second == KVR_PREDICTORS || isnan(best->lead.estimate)) {
        kvr_text_string(view->page, "\n");
        return;
    }
    kvr_text_add(view->page, ", ahead of %s by %+.2f",
                 kvr_predict_heading(&view->prediction->data, best->second), best->lead.estimate);
    if (!kvr_interval_exists(&best->lead))
        kvr_text_string(view->page, "; no interval\n");
    else
        kvr_text_add(view->page, " (%+.2f … %+.2f)%s\n", best->lead.low, best->lead.high,
                     best->lead.low > 0 ? "" : ": they cannot be told apart");
}

static void add_correlations(struct view *view, unsigned live)
{
    if (!any_shown(view, live))
        return;
    kvr_text_add(view->page, "\nRank correlation with %s (%s)\n", kvr_lives[live].heading,
                 kvr_lives[live].name);
    heading_rows(view, live);
    for (unsigned p = 0; p < KVR_PREDICTORS; p++)
        if (is_shown(view, p, live))
            measure_row(view, p, live);
    kvr_columns_write(&view->table, "lrrrrrrrrrrrrrrrrrrrr", view->page);
    add_best(view, live);
}

/* ---- policies */

static void add_label(struct kvr_text *text, const struct kvr_compare_use *use)
{
    kvr_text_printable(text, use->named ? "" : use->scorer);
    kvr_text_string(text, use->named ? "" : " / ");
    kvr_text_printable(text, use->policy);
}

/* The setting of a use, `setting_count` if there is none with live rows. */
static size_t find_setting(const struct view *view, size_t use, size_t budget)
{
    const struct kvr_predict_data *data = &view->prediction->data;
    for (size_t i = 0; i < data->setting_count; i++) {
        const struct kvr_predict_setting *setting = &data->settings[i];
        size_t samples = 0;
        for (size_t f = 0; f < KVR_LIVES; f++)
            samples += view->prediction->means[i].figures[f].samples;
        if (setting->use == use && setting->budget == budget &&
            setting->page == view->section->page && samples > 0)
            return i;
    }
    return data->setting_count;
}

/* The live figure that policies are paired by: the loss, or what there is. */
static enum kvr_live paired_figure(const struct kvr_prediction *prediction)
{
    static const enum kvr_live order[] = {KVR_LIVE_LOSS, KVR_LIVE_KL, KVR_LIVE_RIGHT};
    for (size_t i = 0; i < KVR_LIVES; i++)
        for (size_t s = 0; s < prediction->data.setting_count; s++)
            if (prediction->means[s].figures[order[i]].samples > 0)
                return order[i];
    return KVR_LIVE_LOSS;
}

/* The pair of two settings, NULL if there is none; *sign is -1 if it is the other way round. */
static const struct kvr_live_pair *find_pair(const struct kvr_prediction *prediction, size_t left,
                                             size_t right, int *sign)
{
    for (size_t i = 0; i < prediction->pair_count; i++) {
        const struct kvr_live_pair *pair = &prediction->pairs[i];
        *sign = pair->left == left ? 1 : -1;
        if ((pair->left == left && pair->right == right) ||
            (pair->left == right && pair->right == left))
            return pair;
    }
    return NULL;
}

static void pair_cells(struct view *view, size_t setting, size_t baseline, enum kvr_live live)
{
    int sign = 1;
    const struct kvr_live_pair *pair = find_pair(view->prediction, setting, baseline, &sign);
    if (setting == baseline || pair == NULL || isnan(pair->difference[live].estimate)) {
        kvr_columns_cell(&view->table, "-");
        kvr_columns_cell(&view->table, setting == baseline ? "(the baseline)" : "-");
        kvr_columns_cell(&view->table, "-");
        return;
    }
    struct kvr_interval difference = pair->difference[live];
    if (sign < 0) {
        difference.estimate = -pair->difference[live].estimate;
        difference.low = -pair->difference[live].high;
        difference.high = -pair->difference[live].low;
    }
    kvr_columns_cell(&view->table, "%+.3f", difference.estimate);
    interval_cell(view, &difference, 3);
    kvr_columns_cell(&view->table, "%zu", difference.samples);
}

static void policy_row(struct view *view, size_t setting, size_t baseline, enum kvr_live live)
{
    const struct kvr_prediction *prediction = view->prediction;
    const struct kvr_predict_data *data = &prediction->data;
    struct kvr_text label = {0};
    add_label(&label, &data->uses[data->settings[setting].use]);
    kvr_columns_cell(&view->table, "%s", label.data);
    kvr_text_free(&label);
    kvr_columns_cell(&view->table, "%.2f", data->settings[setting].memory);
    for (size_t f = 0; f < KVR_LIVES; f++) {
        double mean = prediction->means[setting].figures[f].estimate;
        if (isnan(mean))
            kvr_columns_cell(&view->table, "-");
        else
            kvr_columns_cell(&view->table, "%.3f", mean);
    }
    pair_cells(view, setting, baseline, live);
    kvr_columns_end_row(&view->table);
}

static void add_policies(struct view *view, size_t budget)
{
    const struct kvr_predict_data *data = &view->prediction->data;
    enum kvr_live live = paired_figure(view->prediction);
    size_t baseline = find_setting(view, view->baseline, budget);
    static const char *const headings[] = {"", "memory", "right", "loss", "kl"};
    kvr_text_string(view->page, "\nPolicies live at budget ");
    kvr_text_printable(view->page, data->budgets.items[budget]);
    kvr_text_add(view->page, "; difference of %s to ", kvr_lives[live].name);
    add_label(view->page, &data->uses[view->baseline]);
    kvr_text_string(view->page, ", paired\n");
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        kvr_columns_cell(&view->table, "%s", headings[i]);
    kvr_columns_cell(&view->table, "difference");
    kvr_columns_cell(&view->table, "95 %% interval");
    kvr_columns_cell(&view->table, "samples");
    kvr_columns_end_row(&view->table);
    for (size_t use = 0; use < data->use_count; use++) {
        size_t setting = find_setting(view, use, budget);
        if (setting < data->setting_count)
            policy_row(view, setting, baseline, live);
    }
    kvr_columns_write(&view->table, "lrrrrrrr", view->page);
}

/* ---- the page */

static enum kvr_status choose_baseline(struct view *view, const char *asked, struct kvr_error *err)
{
    const struct kvr_predict_data *data = &view->prediction->data;
    view->baseline =
        kvr_compare_find(data->uses, data->use_count, asked != NULL ? asked : "random");
    if (view->baseline < data->use_count)
        return KVR_OK;
    view->baseline = 0;
    return asked == NULL ? KVR_OK
                         : kvr_compare_no_baseline(data->uses, data->use_count, asked, err);
}

enum kvr_status kvr_predict_page(const struct kvr_prediction *prediction,
                                 const struct kvr_predict_shown *shown, struct kvr_text *page,
                                 struct kvr_error *err)
{
    struct view view = {.prediction = prediction, .page = page};
    size_t budgets = prediction->data.budgets.count;
    enum kvr_status status = choose_baseline(&view, shown->baseline, err);
    if (status != KVR_OK)
        return status;
    add_head(&view);
    for (size_t i = 0; i < prediction->section_count; i++) {
        view.section = &prediction->sections[i];
        add_section(&view);
        for (unsigned live = 0; live < KVR_LIVES; live++)
            add_correlations(&view, live);
        for (size_t b = 0; !view.section->mixed && b < budgets; b++)
            if (shown->all_budgets || b == budgets / 2)
                add_policies(&view, b);
    }
    kvr_predict_notes(prediction, page);
    kvr_columns_free(&view.table);
    return KVR_OK;
}
