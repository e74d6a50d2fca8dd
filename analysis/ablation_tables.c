/*
 * The tables of the ablations: which columns each has, and their CSV files.
 */
#include <math.h>
#include <stdio.h>

#include "analysis/ablation.h"
#include "formats/base/outfile.h"

#define COLUMNS(list) sizeof(list) / sizeof *(list), (list)

/* What every weighting keeps. */
#define KEPT_COLUMNS                                                                               \
    {"same_pages", KVR_COLUMN_MEAN, KVR_MEASURE_SAME_PAGES, 0},                                    \
        {"retained_mass", KVR_COLUMN_MEAN, KVR_MEASURE_RETAINED, 0},                               \
        {"needle_kept", KVR_COLUMN_MEAN, KVR_MEASURE_NEEDLE, 0},                                   \
    {                                                                                              \
        "future_peak", KVR_COLUMN_MEAN, KVR_MEASURE_PEAK, 0                                        \
    }

static const struct kvr_ablation_column temperature_columns[] = {
    {"groups", KVR_COLUMN_COUNT, KVR_MEASURE_MAX_WEIGHT, 0},
    {"max_weight", KVR_COLUMN_SPREAD, KVR_MEASURE_MAX_WEIGHT, 0},
    {"above_uniform", KVR_COLUMN_MEAN, KVR_MEASURE_ABOVE_UNIFORM, 0},
    {"rises", KVR_COLUMN_SUM, KVR_MEASURE_WEIGHT_RISES, 0},
    KEPT_COLUMNS,
};

static const struct kvr_ablation_column order_columns[] = {
    {"heads", KVR_COLUMN_COUNT, KVR_MEASURE_ENTROPY, 0},
    {"entropy", KVR_COLUMN_SPREAD, KVR_MEASURE_ENTROPY, 0},
    {"outside", KVR_COLUMN_SUM, KVR_MEASURE_OUTSIDE, 0},
    {"rises", KVR_COLUMN_SUM, KVR_MEASURE_ENTROPY_RISES, 0},
    {"empty", KVR_COLUMN_SUM, KVR_MEASURE_EMPTY, 0},
    {"max_weight", KVR_COLUMN_SPREAD, KVR_MEASURE_MAX_WEIGHT, 0},
    KEPT_COLUMNS,
};

static const struct kvr_ablation_column sinks_columns[] = {
    {"heads", KVR_COLUMN_COUNT, KVR_MEASURE_SINK_MASS, 0},
    {"sink_mass", KVR_COLUMN_SPREAD, KVR_MEASURE_SINK_MASS, 0},
    {"entropy", KVR_COLUMN_SPREAD, KVR_MEASURE_ENTROPY, 0},
    {"divisor_off", KVR_COLUMN_SUM, KVR_MEASURE_DIVISOR_OFF, 0},
    {"sink_heads", KVR_COLUMN_COUNT, KVR_MEASURE_SINK_WEIGHT, 0},
    {"contextual_heads", KVR_COLUMN_COUNT, KVR_MEASURE_CONTEXT_WEIGHT, 0},
    {"masquerade", KVR_COLUMN_RATIO, KVR_MEASURE_SINK_WEIGHT, KVR_MEASURE_CONTEXT_WEIGHT},
    {"max_weight", KVR_COLUMN_SPREAD, KVR_MEASURE_MAX_WEIGHT, 0},
    KEPT_COLUMNS,
};

static const struct kvr_ablation_column window_columns[] = {
    {"heads", KVR_COLUMN_COUNT, KVR_MEASURE_ENTROPY, 0},
    {"entropy", KVR_COLUMN_SPREAD, KVR_MEASURE_ENTROPY, 0},
    {"outside", KVR_COLUMN_SUM, KVR_MEASURE_OUTSIDE, 0},
    {"empty", KVR_COLUMN_SUM, KVR_MEASURE_EMPTY, 0},
    {"max_weight", KVR_COLUMN_SPREAD, KVR_MEASURE_MAX_WEIGHT, 0},
    KEPT_COLUMNS,
};

static const struct kvr_ablation_column needle_columns[] = {
    {"needles", KVR_COLUMN_COUNT, KVR_MEASURE_POOLED, 0},
    {"owner_mass", KVR_COLUMN_MEAN, KVR_MEASURE_OWNER, 0},
    {"entropy_pooled", KVR_COLUMN_MEAN, KVR_MEASURE_POOLED, 0},
    {"mean_pooled", KVR_COLUMN_MEAN, KVR_MEASURE_MEAN_POOLED, 0},
    {"bound", KVR_COLUMN_MEAN, KVR_MEASURE_BOUND, 0},
    {"premise_holds", KVR_COLUMN_SUM, KVR_MEASURE_PREMISE, 0},
    {"bound_above_mean", KVR_COLUMN_SUM, KVR_MEASURE_BEYOND_MEAN, 0},
    {"pooled_above_mean", KVR_COLUMN_SUM, KVR_MEASURE_BETTER, 0},
    {"bound_broken", KVR_COLUMN_SUM, KVR_MEASURE_BROKEN, 0},
};

static const struct kvr_ablation_column page_columns[] = {
    {"groups", KVR_COLUMN_COUNT, KVR_MEASURE_TOKENS, 0},
    {"inexact", KVR_COLUMN_SUM, KVR_MEASURE_INEXACT, 0},
    {"kept_tokens", KVR_COLUMN_MEAN, KVR_MEASURE_TOKENS, 0},
    {"retained_mass", KVR_COLUMN_MEAN, KVR_MEASURE_RETAINED, 0},
    {"needle_kept", KVR_COLUMN_MEAN, KVR_MEASURE_NEEDLE, 0},
    {"future_peak", KVR_COLUMN_MEAN, KVR_MEASURE_PEAK, 0},
    {"layers", KVR_COLUMN_COUNT, KVR_MEASURE_PUR, 0},
    {"pur", KVR_COLUMN_SPREAD, KVR_MEASURE_PUR, 0},
    {"pur_outside", KVR_COLUMN_SUM, KVR_MEASURE_PUR_OUTSIDE, 0},
};

static const struct kvr_ablation_column slot_columns[] = {
    {"groups", KVR_COLUMN_COUNT, KVR_MEASURE_SHARE, 0},
    {"share", KVR_COLUMN_SPREAD, KVR_MEASURE_SHARE, 0},
    {"share_without_sinks", KVR_COLUMN_SPREAD, KVR_MEASURE_SHARE_REST, 0},
};

const struct kvr_ablation_info kvr_ablation_infos[KVR_ABLATE_TABLES] = {
    [KVR_ABLATE_TEMPERATURE] = {"temperature", "tau", COLUMNS(temperature_columns)},
    [KVR_ABLATE_ORDER] = {"order", "alpha", COLUMNS(order_columns)},
    [KVR_ABLATE_SINKS] = {"sinks", "sinks", COLUMNS(sinks_columns)},
    [KVR_ABLATE_WINDOW] = {"window", "window", COLUMNS(window_columns)},
    [KVR_ABLATE_NEEDLES] = {"needles", "tau", COLUMNS(needle_columns)},
    [KVR_ABLATE_PAGES] = {"pages", "operator,page_size,page_reduce", COLUMNS(page_columns)},
    [KVR_ABLATE_SLOTS] = {"slots", "operator,page_size,slot", COLUMNS(slot_columns)},
};

double kvr_ablation_figure(const struct kvr_ablation *ablation, enum kvr_ablation_table table,
                           size_t score, size_t setting, const struct kvr_ablation_column *column)
{
    const struct kvr_spread *tally =
        kvr_ablation_tally(ablation, table, score, setting, column->measure);
    switch (column->kind) {
    case KVR_COLUMN_MEAN:
    case KVR_COLUMN_SPREAD:
        return kvr_spread_mean(tally);
    case KVR_COLUMN_SUM:
        return tally->count > 0 ? tally->sum : NAN;
    case KVR_COLUMN_COUNT:
        return (double)tally->count;
    case KVR_COLUMN_RATIO:
        return kvr_spread_mean(tally) /
               kvr_spread_mean(kvr_ablation_tally(ablation, table, score, setting, column->over));
    }
    return NAN;
}

static void add_header(struct kvr_text *text, const struct kvr_ablation_info *info)
{
    kvr_text_add(text, "scorer,%s", info->settings);
    for (size_t c = 0; c < info->column_count; c++) {
        const char *name = info->columns[c].name;
        kvr_text_add(text, ",%s", name);
        if (info->columns[c].kind == KVR_COLUMN_SPREAD)
            kvr_text_add(text, ",%s_sd,%s_least,%s_most", name, name, name);
    }
}

static void add_row(struct kvr_text *text, const struct kvr_ablation *ablation,
                    enum kvr_ablation_table table, size_t score, size_t setting)
{
    const struct kvr_ablation_info *info = &kvr_ablation_infos[table];
    char label[KVR_ABLATION_LABEL];
    kvr_ablation_label(ablation, table, setting, label);
    kvr_csv_string(text, ablation->plan->scores[score].label);
    kvr_text_add(text, ",%s", label);
    for (size_t c = 0; c < info->column_count; c++) {
        const struct kvr_ablation_column *column = &info->columns[c];
        kvr_csv_figure(text, kvr_ablation_figure(ablation, table, score, setting, column));
        if (column->kind != KVR_COLUMN_SPREAD)
            continue;
        const struct kvr_spread *tally =
            kvr_ablation_tally(ablation, table, score, setting, column->measure);
        kvr_csv_figure(text, kvr_spread_deviation(tally));
        kvr_csv_figure(text, kvr_spread_least(tally));
        kvr_csv_figure(text, kvr_spread_most(tally));
    }
    kvr_csv_end(text);
}

static enum kvr_status write_table(const struct kvr_ablation *ablation,
                                   enum kvr_ablation_table table, struct kvr_tables *tables,
                                   struct kvr_error *err)
{
    char name[64];
    struct kvr_text header = {0}, rows = {0};
    struct kvr_outfile *file = NULL;
    snprintf(name, sizeof name, "ablation_%s.csv", kvr_ablation_infos[table].name);
    add_header(&header, &kvr_ablation_infos[table]);
    for (size_t s = 0; s < ablation->plan->score_count; s++)
        for (size_t i = 0; i < ablation->setting_counts[table]; i++)
            add_row(&rows, ablation, table, s, i);
    enum kvr_status status = kvr_text_check(&header, err);
    if (status == KVR_OK)
        status = kvr_text_check(&rows, err);
    if (status == KVR_OK)
        status = kvr_tables_add(tables, name, header.data, &file, err);
    if (status == KVR_OK && rows.length > 0)
        status = kvr_outfile_write(file, rows.data, rows.length, err);
    kvr_text_free(&header);
    kvr_text_free(&rows);
    return status;
}

enum kvr_status kvr_ablation_write(const struct kvr_ablation *ablation, struct kvr_tables *tables,
                                   struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (int table = 0; status == KVR_OK && table < KVR_ABLATE_TABLES; table++)
        status = write_table(ablation, (enum kvr_ablation_table)table, tables, err);
    return status;
}
