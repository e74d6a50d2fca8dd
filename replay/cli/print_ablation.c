/*
 * Printing the ablations. All figures come from analysis/ablation.h; only their layout is here.
 */
#include "replay/cli/print_ablation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "replay/cli/readable.h"

enum part { FIGURE, DEVIATION, LEAST, MOST };

/* A printed column: a figure of the CSV column `name`, or another part of its tally. */
struct shown {
    const char *heading, *name;
    enum part part;
    int decimals;
    double factor;
};

#define KEPT_SHOWN                                                                                 \
    {"same pages", "same_pages", FIGURE, 3, 1}, {"needle", "needle_kept", FIGURE, 3, 1},           \
        {"peak", "future_peak", FIGURE, 3, 1},                                                     \
    {                                                                                              \
        NULL, NULL, FIGURE, 0, 0                                                                   \
    }

static const struct shown temperature_shown[] = {
    {"max weight", "max_weight", FIGURE, 4, 1},
    {"sd", "max_weight", DEVIATION, 4, 1},
    {"least", "max_weight", LEAST, 4, 1},
    {"most", "max_weight", MOST, 4, 1},
    {"above 1/r", "above_uniform", FIGURE, 5, 1},
    {"rises", "rises", FIGURE, 0, 1},
    KEPT_SHOWN,
};
static const struct shown order_shown[] = {
    {"entropy", "entropy", FIGURE, 3, 1},
    {"least", "entropy", LEAST, 3, 1},
    {"most", "entropy", MOST, 3, 1},
    {"outside", "outside", FIGURE, 0, 1},
    {"rises", "rises", FIGURE, 0, 1},
    {"empty", "empty", FIGURE, 0, 1},
    {"max weight", "max_weight", FIGURE, 4, 1},
    KEPT_SHOWN,
};
static const struct shown sinks_shown[] = {
    {"sink mass", "sink_mass", FIGURE, 3, 1},         {"entropy", "entropy", FIGURE, 3, 1},
    {"1-p off", "divisor_off", FIGURE, 0, 1},         {"sink heads", "sink_heads", FIGURE, 0, 1},
    {"contextual", "contextual_heads", FIGURE, 0, 1}, {"masquerade", "masquerade", FIGURE, 3, 1},
    {"max weight", "max_weight", FIGURE, 4, 1},       KEPT_SHOWN,
};
static const struct shown window_shown[] = {
    {"entropy", "entropy", FIGURE, 3, 1},
    {"least", "entropy", LEAST, 3, 1},
    {"most", "entropy", MOST, 3, 1},
    {"outside", "outside", FIGURE, 0, 1},
    {"max weight", "max_weight", FIGURE, 4, 1},
    KEPT_SHOWN,
};
static const struct shown needles_shown[] = {
    {"needles", "needles", FIGURE, 0, 1},
    {"owner", "owner_mass", FIGURE, 4, 1},
    {"entropy", "entropy_pooled", FIGURE, 4, 1},
    {"mean", "mean_pooled", FIGURE, 4, 1},
    {"bound", "bound", FIGURE, 4, 1},
    {"premise", "premise_holds", FIGURE, 0, 1},
    {"bound>mean", "bound_above_mean", FIGURE, 0, 1},
    {"entr.>mean", "pooled_above_mean", FIGURE, 0, 1},
    {"broken", "bound_broken", FIGURE, 0, 1},
    {NULL, NULL, FIGURE, 0, 0},
};
static const struct shown pages_shown[] = {
    {"inexact", "inexact", FIGURE, 0, 1},
    {"tokens", "kept_tokens", FIGURE, 1, 1},
    {"retained", "retained_mass", FIGURE, 3, 1},
    {"needle", "needle_kept", FIGURE, 3, 1},
    {"peak", "future_peak", FIGURE, 3, 1},
    {"PUR", "pur", FIGURE, 3, 1},
    {"least", "pur", LEAST, 3, 1},
    {"most", "pur", MOST, 3, 1},
    {"outside", "pur_outside", FIGURE, 0, 1},
    {NULL, NULL, FIGURE, 0, 0},
};

static const struct {
    enum kvr_ablation_table table;
    const char *title, *settings;
    const struct shown *shown;
} printed[] = {
    {KVR_ABLATE_TEMPERATURE, "Temperature: the largest entropy weight in a group", "tau",
     temperature_shown},
    {KVR_ABLATE_ORDER, "Order of the Renyi entropy: sink-isolated entropy of a head, nats", "alpha",
     order_shown},
    {KVR_ABLATE_SINKS, "Sinks: how many first tokens are isolated", "sinks", sinks_shown},
    {KVR_ABLATE_WINDOW, "Entropy window: entropy over the last N candidates", "window",
     window_shown},
    {KVR_ABLATE_NEEDLES,
     "Needles: value at the peak token; theorem 4's premise, corollary 2's bound", "tau",
     needles_shown},
    {KVR_ABLATE_PAGES, "Pages: operator, page size, page reduction", "operator page score",
     pages_shown},
};

enum { SETTING = 8, WIDE_SETTING = 19, CELL = 11 };

static const struct kvr_ablation_column *find_column(enum kvr_ablation_table table,
                                                     const char *name)
{
    const struct kvr_ablation_info *info = &kvr_ablation_infos[table];
    size_t c = 0;
    while (c + 1 < info->column_count && strcmp(info->columns[c].name, name) != 0)
        c++;
    return &info->columns[c];
}

static double figure_of(const struct kvr_ablation *ablation, enum kvr_ablation_table table,
                        size_t score, size_t setting, const struct shown *shown)
{
    const struct kvr_ablation_column *column = find_column(table, shown->name);
    const struct kvr_spread *tally =
        kvr_ablation_tally(ablation, table, score, setting, column->measure);
    switch (shown->part) {
    case FIGURE:
        return kvr_ablation_figure(ablation, table, score, setting, column);
    case DEVIATION:
        return kvr_spread_deviation(tally);
    case LEAST:
        return kvr_spread_least(tally);
    case MOST:
        return kvr_spread_most(tally);
    }
    return NAN;
}

static void print_cell(double value, int decimals)
{
    if (isnan(value))
        printf("%*s", CELL, "-");
    else
        printf("%*.*f", CELL, decimals, value);
}

/* "entropy,16,max" becomes "entropy   16 max". */
static void print_setting(const struct kvr_ablation *ablation, enum kvr_ablation_table table,
                          size_t setting)
{
    char label[KVR_ABLATION_LABEL];
    kvr_ablation_label(ablation, table, setting, label);
    char *second = strchr(label, ',');
    if (second == NULL) {
        printf("  %-*s", SETTING, label);
        return;
    }
    *second++ = '\0';
    char *third = strchr(second, ',');
    *third++ = '\0';
    printf("  %-8s %4s %-*s", label, second, WIDE_SETTING - 14, third);
}

/* True if some score and setting has the figure: without needles a table says nothing of them. */
static bool is_shown(const struct kvr_ablation *ablation, enum kvr_ablation_table table,
                     size_t score, const struct shown *shown)
{
    for (size_t i = 0; i < ablation->setting_counts[table]; i++)
        if (!isnan(figure_of(ablation, table, score, i, shown)))
            return true;
    return false;
}

static void print_table(const struct kvr_ablation *ablation, size_t which, size_t score)
{
    enum kvr_ablation_table table = printed[which].table;
    const struct shown *shown = printed[which].shown;
    int width = strchr(printed[which].settings, ' ') != NULL ? WIDE_SETTING : SETTING;
    printf("\n%s\n  %-*s", printed[which].title, width, printed[which].settings);
    for (size_t c = 0; shown[c].heading != NULL; c++)
        if (is_shown(ablation, table, score, &shown[c]))
            printf("%*s", CELL, shown[c].heading);
    printf("\n");
    for (size_t i = 0; i < ablation->setting_counts[table]; i++) {
        print_setting(ablation, table, i);
        for (size_t c = 0; shown[c].heading != NULL; c++)
            if (is_shown(ablation, table, score, &shown[c]))
                print_cell(figure_of(ablation, table, score, i, &shown[c]) * shown[c].factor,
                           shown[c].decimals);
        printf("\n");
    }
}

/* "claim: yes (0 exceptions in 900)": exceptions are ones of a measure that is 1 or 0. */
static void print_verdict(const struct kvr_ablation *ablation, enum kvr_ablation_table table,
                          size_t score, const char *claim, enum kvr_ablation_measure exception)
{
    double exceptions = 0;
    uint64_t cases = 0;
    for (size_t i = 0; i < ablation->setting_counts[table]; i++) {
        const struct kvr_spread *spread = kvr_ablation_tally(ablation, table, score, i, exception);
        exceptions += spread->sum;
        cases += spread->count;
    }
    if (cases > 0)
        printf("  %s: %s (%.0f exceptions in %llu)\n", claim, exceptions > 0 ? "no" : "yes",
               exceptions, (unsigned long long)cases);
}

static void print_verdicts(const struct kvr_ablation *ablation, enum kvr_ablation_table table,
                           size_t score)
{
    static const struct {
        enum kvr_ablation_table table;
        enum kvr_ablation_measure exception;
        const char *claim;
    } claims[] = {
        {KVR_ABLATE_TEMPERATURE, KVR_MEASURE_WEIGHT_RISES,
         "the largest weight falls monotonically in tau, toward 1/r"},
        {KVR_ABLATE_ORDER, KVR_MEASURE_OUTSIDE, "entropies lie in [0, ln n]"},
        {KVR_ABLATE_ORDER, KVR_MEASURE_ENTROPY_RISES, "entropy falls in alpha"},
        {KVR_ABLATE_NEEDLES, KVR_MEASURE_BROKEN, "corollary 2's bound holds"},
        {KVR_ABLATE_PAGES, KVR_MEASURE_INEXACT, "every group keeps exactly K pages"},
        {KVR_ABLATE_PAGES, KVR_MEASURE_PUR_OUTSIDE, "the page-union ratio lies in [1, H_KV]"},
    };
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        if (claims[i].table == table)
            print_verdict(ablation, table, score, claims[i].claim, claims[i].exception);
}

static double share_of(const struct kvr_ablation *ablation, size_t score, size_t setting,
                       enum kvr_ablation_measure measure)
{
    return 100 *
           kvr_spread_mean(kvr_ablation_tally(ablation, KVR_ABLATE_SLOTS, score, setting, measure));
}

/* One operator and page size, whose slots start at `setting`. */
static void print_slot_row(const struct kvr_ablation *ablation, size_t score, size_t setting,
                           size_t slots)
{
    double least = NAN;
    print_cell(share_of(ablation, score, setting, KVR_MEASURE_SHARE), 2);
    print_cell(share_of(ablation, score, setting, KVR_MEASURE_SHARE_REST), 2);
    print_cell(slots > 1 ? share_of(ablation, score, setting + 1, KVR_MEASURE_SHARE) : NAN, 2);
    print_cell(share_of(ablation, score, setting + slots - 1, KVR_MEASURE_SHARE), 2);
    for (size_t i = 0; i < slots; i++)
        least = fmin(least, share_of(ablation, score, setting + i, KVR_MEASURE_SHARE));
    print_cell(least, 2);
    print_cell(100 / (double)slots, 2);
    printf("\n");
}

static void print_slots(const struct kvr_ablation *ablation, size_t score)
{
    const struct kvr_plan *plan = ablation->plan;
    size_t setting = 0;
    printf("\nSlots: share of the pooled mass on kept pages by place in the page, %%\n"
           "  %-*s%*s%*s%*s%*s%*s%*s\n",
           WIDE_SETTING, "operator page", CELL, "slot 0", CELL, "no sinks", CELL, "slot 1", CELL,
           "last slot", CELL, "least", CELL, "uniform");
    for (size_t o = 0; kvr_ablation_operators[o] != NULL; o++)
        for (size_t p = 0; p < plan->page_size_count; p++) {
            size_t slots = (size_t)plan->page_sizes[p];
            printf("  %-8s %4zu %*s", kvr_ablation_operators[o], slots, WIDE_SETTING - 14, "");
            print_slot_row(ablation, score, setting, slots);
            setting += slots;
        }
}

static void print_head(const struct kvr_ablation *ablation, const struct kvr_trace *trace,
                       const struct kvr_coverage *coverage)
{
    const struct kvr_plan *plan = ablation->plan;
    kvr_print_line(stdout, "%s%s%s", trace->name, trace->model != NULL ? "  " : "",
                   trace->model != NULL ? trace->model : "");
    printf("  coverage: %llu of %llu (layer, group) pairs, %llu of %llu layers; %llu group%s in "
           "%llu sample%s\n",
           (unsigned long long)coverage->pairs, (unsigned long long)coverage->model_pairs,
           (unsigned long long)coverage->layers, (unsigned long long)coverage->model_layers,
           (unsigned long long)coverage->groups, coverage->groups == 1 ? "" : "s",
           (unsigned long long)coverage->samples, coverage->samples == 1 ? "" : "s");
    char alpha[32] = "inf";
    if (!isinf(plan->entropy.alpha))
        snprintf(alpha, sizeof alpha, "%g", plan->entropy.alpha);
    printf("  unless varied: tau %g, alpha %s, %llu sinks, budget %s", plan->tau, alpha,
           (unsigned long long)plan->sinks, plan->budgets[0].label);
    if (plan->entropy.window > 0)
        printf(", entropy window %llu", (unsigned long long)plan->entropy.window);
    printf("; same pages, needle and peak are of pages of %llu\n",
           (unsigned long long)ablation->kept_page_size);
}

void kvr_print_ablation(const struct kvr_ablation *ablation, const struct kvr_trace *trace,
                        const struct kvr_coverage *coverage, const char *folder)
{
    print_head(ablation, trace, coverage);
    for (size_t s = 0; s < ablation->plan->score_count; s++) {
        printf("\n");
        kvr_print_line(stdout, "Scorer %s: %llu groups, %llu excluded because a head is not finite",
                       ablation->plan->scores[s].label, (unsigned long long)ablation->groups[s],
                       (unsigned long long)ablation->excluded[s]);
        for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
            if (!is_shown(ablation, printed[i].table, s, &printed[i].shown[1]))
                continue;
            print_table(ablation, i, s);
            print_verdicts(ablation, printed[i].table, s);
        }
        print_slots(ablation, s);
    }
    printf("\nTables are in %s\n", folder);
}
