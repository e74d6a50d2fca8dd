/*
 * Tables about the heads' own sets: union overhead, certificates of twofold overhead, how tight
 * the bounds are. They must not know how a table is written.
 */
#include "plots/paper_tables.h"

#include <string.h>

#define COLUMNS(list) (list), sizeof(list) / sizeof((list)[0])

static const char *name_of(const struct kvr_names *names, size_t index)
{
    return index == KVR_NO_NAME ? NULL : names->items[index];
}

/* scorer, page size, budget, prompts, groups: how lines of overlaps start. */
enum { SCORER, PAGE_SIZE, BUDGET, PROMPTS, GROUPS, FIRST_FIGURE };
/* clang-format off */
#define OVERLAP_KEYS                                                                               \
    {"scorer", "scorer", KVR_COLUMN_KEY, 0, false},                                                \
    {"page_size", "page size", KVR_COLUMN_NUMBER, 0, false},                                       \
    {"budget", "budget", KVR_COLUMN_NUMBER, 0, false},                                             \
    {"prompts", "prompts", KVR_COLUMN_COUNT, 0, false},                                            \
    {"groups", "groups", KVR_COLUMN_COUNT, 0, false}
/* clang-format on */

static void start_line(const struct kvr_replay_sums *sums, const struct kvr_series *series,
                       struct kvr_table_cell *cells)
{
    size_t prompts = 0;
    for (size_t p = 0; p < series->prompt_count; p++)
        prompts += series->ratios[p * sums->overlaps.quantities + KVR_SUM_UOR].under > 0;
    cells[SCORER].text = name_of(&sums->scorers, series->setting.scorer);
    cells[PAGE_SIZE].value = (double)series->setting.page_size;
    cells[BUDGET].text = name_of(&sums->budgets, series->setting.budget);
    cells[PROMPTS].value = (double)prompts;
    cells[GROUPS].value = (double)series->cells;
}

/* A column of means: the quantity and where it goes. */
struct mean_column {
    size_t column, quantity;
    double factor;
};

/* Lines of a scorer and page size stand together. */
static enum kvr_status fill_means(const struct kvr_paper_source *source,
                                  const struct kvr_paper_filter *filter,
                                  const struct mean_column *means, size_t mean_count,
                                  size_t most_column, struct kvr_paper_table *table,
                                  struct kvr_error *err)
{
    const struct kvr_sums *overlaps = &source->sums.overlaps;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < overlaps->count; i++) {
        const struct kvr_series *series = &overlaps->series[i];
        struct kvr_table_cell *cells;
        if (!kvr_paper_filter_takes(filter, &source->sums, &series->setting))
            continue;
        status = kvr_paper_table_row(table, &cells, err);
        if (status == KVR_OK)
            start_line(&source->sums, series, cells);
        for (size_t m = 0; status == KVR_OK && m < mean_count; m++) {
            const struct kvr_formula formula = {
                KVR_POOL_CELLS, means[m].factor, 1, {{means[m].quantity, false}}};
            status = kvr_paper_estimate(source, overlaps, series, &formula, table, cells,
                                        means[m].column, err);
        }
        if (status == KVR_OK && most_column > 0)
            cells[most_column].value = series->most;
    }
    return status;
}

/* ------------------------------------------------------------------------------ union */

enum { UOR_MEAN = FIRST_FIGURE, UOR_MOST, DISAGREEMENT };
static const struct kvr_column union_columns[] = {
    OVERLAP_KEYS,
    {"uor_mean", "UOR mean", KVR_COLUMN_FIGURE, 3, true},
    {"uor_max", "UOR max", KVR_COLUMN_FIGURE, 3, false},
    {"disagreement_mean", "D mean", KVR_COLUMN_FIGURE, 3, true},
};

static enum kvr_status fill_union(const struct kvr_paper_source *source,
                                  const struct kvr_paper_filter *filter,
                                  struct kvr_paper_table *table, struct kvr_error *err)
{
    static const struct mean_column means[] = {
        {UOR_MEAN, KVR_SUM_UOR, 1},
        {DISAGREEMENT, KVR_SUM_D, 1},
    };
    return fill_means(source, filter, means, 2, UOR_MOST, table, err);
}

const struct kvr_paper_kind kvr_paper_union = {
    .name = "union",
    .title = "Union overhead",
    .caption = "UOR: size of the union of the heads' own sets over the quota that each of them "
               "keeps, means over groups. D: mean disagreement (1 - Jaccard) of the group's heads. "
               "Page size 1 is selection by tokens.",
    COLUMNS(union_columns),
    .fill = fill_union,
};

/* ------------------------------------------------------------------------------ certificates */

enum { TWOFOLD = FIRST_FIGURE, CERT_1, CERT_T };
static const struct kvr_column certificate_columns[] = {
    OVERLAP_KEYS,
    {"twofold_percent", "UOR ≥ 2, %", KVR_COLUMN_FIGURE, 1, true},
    {"cert_1_percent", "cert_1, %", KVR_COLUMN_FIGURE, 1, true},
    {"cert_t_percent", "cert_T, %", KVR_COLUMN_FIGURE, 1, true},
};

static enum kvr_status fill_certificates(const struct kvr_paper_source *source,
                                         const struct kvr_paper_filter *filter,
                                         struct kvr_paper_table *table, struct kvr_error *err)
{
    static const struct mean_column means[] = {
        {TWOFOLD, KVR_SUM_TWOFOLD, 100},
        {CERT_1, KVR_SUM_CERT_1, 100},
        {CERT_T, KVR_SUM_CERT_T, 100},
    };
    return fill_means(source, filter, means, 3, 0, table, err);
}

const struct kvr_paper_kind kvr_paper_certificates = {
    .name = "certificates",
    .title = "Certificates of twofold overhead",
    .caption = "Share of groups whose union is at least twice the quota, and of those where "
               "pairwise overlaps alone prove it: cert_1 by Bonferroni's bound (cor. 1), cert_T by "
               "the sandwich bound (thm. 1).",
    COLUMNS(certificate_columns),
    .fill = fill_certificates,
};

/* ------------------------------------------------------------------------------ bounds */

static const struct kvr_column bounds_columns[] = {
    {"scorer", "scorer", KVR_COLUMN_KEY, 0, false},
    {"page_size", "page size", KVR_COLUMN_NUMBER, 0, false},
    {"side", "side", KVR_COLUMN_KEY, 0, false},
    {"bound", "bound", KVR_COLUMN_KEY, 0, false},
    {"source", "source", KVR_COLUMN_KEY, 0, false},
    {"cells", "cells", KVR_COLUMN_COUNT, 0, false},
    {"violated", "violated", KVR_COLUMN_COUNT, 0, false},
    {"gap_mean", "mean gap", KVR_COLUMN_FIGURE, 4, false},
    {"gap_max", "worst gap", KVR_COLUMN_FIGURE, 4, false},
    {"tightest_percent", "tightest, %", KVR_COLUMN_FIGURE, 1, false},
    {"exact_percent", "exact, %", KVR_COLUMN_FIGURE, 1, false},
};

static void fill_bound(const struct kvr_bounds_report *report, const struct kvr_bounds_tally *tally,
                       size_t bound, struct kvr_table_cell *cells)
{
    const struct kvr_bound_tally *sums = &tally->bounds[bound];
    double all = (double)tally->cells;
    cells[0].text = report->scorers.items[tally->scorer];
    cells[1].value = (double)tally->page_size;
    cells[2].text = kvr_bound_kinds[bound].lower ? "lower" : "upper";
    cells[3].text = kvr_bound_kinds[bound].name;
    cells[4].text = kvr_bound_kinds[bound].source;
    cells[5].value = all;
    cells[6].value = (double)sums->violated;
    cells[7].value = sums->gap_sum / all;
    cells[8].value = sums->gap_worst;
    cells[9].value = 100 * (double)sums->tightest / all;
    cells[10].value = 100 * (double)sums->exact / all;
}

static enum kvr_status note_single(const struct kvr_bounds_report *report,
                                   struct kvr_paper_table *table, struct kvr_error *err)
{
    if (report->single == 0)
        return KVR_OK;
    return kvr_paper_table_note(table, err,
                                "Without %llu cells of one vector: no pairs, every bound is 1.",
                                (unsigned long long)report->single);
}

static enum kvr_status fill_bounds(const struct kvr_paper_source *source,
                                   const struct kvr_paper_filter *filter,
                                   struct kvr_paper_table *table, struct kvr_error *err)
{
    const struct kvr_bounds_report *report = &source->bounds;
    enum kvr_status status = note_single(report, table, err);
    for (size_t t = 0; status == KVR_OK && t < report->tally_count; t++) {
        const struct kvr_bounds_tally *tally = &report->tallies[t];
        struct kvr_setting setting = {KVR_NO_NAME, KVR_NO_NAME, KVR_NO_NAME, tally->page_size};
        /* The report has names of its own; those of the sums are a superset. */
        for (size_t s = 0; s < source->sums.scorers.count; s++)
            if (strcmp(source->sums.scorers.items[s], report->scorers.items[tally->scorer]) == 0)
                setting.scorer = s;
        if (!kvr_paper_filter_takes(filter, &source->sums, &setting))
            continue;
        for (size_t b = 0; status == KVR_OK && b < KVR_BOUNDS; b++) {
            struct kvr_table_cell *cells;
            status = kvr_paper_table_row(table, &cells, err);
            if (status == KVR_OK)
                fill_bound(report, tally, b, cells);
        }
    }
    return status;
}

const struct kvr_paper_kind kvr_paper_bounds = {
    .name = "bounds",
    .title = "Tightness of the bounds on the UOR",
    .caption = "Gap: distance to the measured UOR over all groups and budgets. Tightest: share of "
               "cells where no bound of its side is nearer; ties count for each.",
    COLUMNS(bounds_columns),
    .fill = fill_bounds,
};
