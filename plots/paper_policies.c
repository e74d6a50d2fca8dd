/*
 * Tables about policies and heads: what is kept at each budget, needles, page unions, the sink
 * masquerade. They must not know how a table is written.
 */
#include "plots/paper_tables.h"

#define COLUMNS(list) (list), sizeof(list) / sizeof((list)[0])

static const char *name_of(const struct kvr_names *names, size_t index)
{
    return index == KVR_NO_NAME ? NULL : names->items[index];
}

enum { POLICY, SCORER, PAGE_SIZE, BUDGET, PROMPTS, CELLS, FIRST_FIGURE };
/* clang-format off */
#define POLICY_KEYS                                                                                \
    {"policy", "policy", KVR_COLUMN_KEY, 0, false},                                                \
    {"scorer", "scorer", KVR_COLUMN_KEY, 0, false},                                                \
    {"page_size", "page size", KVR_COLUMN_NUMBER, 0, false},                                       \
    {"budget", "budget", KVR_COLUMN_NUMBER, 0, false},                                             \
    {"prompts", "prompts", KVR_COLUMN_COUNT, 0, false}
/* clang-format on */

static void start_line(const struct kvr_replay_sums *names, const struct kvr_sums *sums,
                       const struct kvr_series *series, size_t quantity,
                       struct kvr_table_cell *cells)
{
    size_t prompts = 0;
    for (size_t p = 0; p < series->prompt_count; p++)
        prompts += series->ratios[p * sums->quantities + quantity].under > 0;
    cells[POLICY].text = name_of(&names->policies, series->setting.policy);
    cells[SCORER].text = name_of(&names->scorers, series->setting.scorer);
    cells[PAGE_SIZE].value = (double)series->setting.page_size;
    cells[BUDGET].text = name_of(&names->budgets, series->setting.budget);
    cells[PROMPTS].value = (double)prompts;
    cells[CELLS].value = (double)series->cells;
}

/* A column of means: where it goes, of what, and how prompts are pooled. */
struct mean_column {
    size_t column, quantity;
    enum kvr_pooling pooling;
    double factor;
};

static enum kvr_status fill_means(const struct kvr_paper_source *source,
                                  const struct kvr_paper_filter *filter,
                                  const struct kvr_sums *sums, const struct mean_column *means,
                                  size_t mean_count, struct kvr_paper_table *table,
                                  struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sums->count; i++) {
        const struct kvr_series *series = &sums->series[i];
        struct kvr_table_cell *cells;
        if (!kvr_paper_filter_takes(filter, &source->sums, &series->setting))
            continue;
        status = kvr_paper_table_row(table, &cells, err);
        if (status == KVR_OK)
            start_line(&source->sums, sums, series, means[0].quantity, cells);
        for (size_t m = 0; status == KVR_OK && m < mean_count; m++) {
            const struct kvr_formula formula = {
                means[m].pooling, means[m].factor, 1, {{means[m].quantity, false}}};
            status = kvr_paper_estimate(source, sums, series, &formula, table, cells,
                                        means[m].column, err);
        }
    }
    return status;
}

/* ------------------------------------------------------------------------------ policies */

enum { KEPT = FIRST_FIGURE, PEAK, FUTURE, NEEDLE, RETAINED, OUTPUT_ERROR };
static const struct kvr_column policy_columns[] = {
    POLICY_KEYS,
    {"groups", "groups", KVR_COLUMN_COUNT, 0, false},
    {"kept_percent", "kept, %", KVR_COLUMN_FIGURE, 1, true},
    {"future_peak", "future peak", KVR_COLUMN_FIGURE, 3, true},
    {"future_mass", "future mass", KVR_COLUMN_FIGURE, 3, true},
    {"needle_whole_percent", "needle whole, %", KVR_COLUMN_FIGURE, 1, true},
    {"retained_mass", "retained mass", KVR_COLUMN_FIGURE, 3, true},
    {"output_error", "output error", KVR_COLUMN_FIGURE, 3, true},
};

/* The same settings as in the table of needles, where there are needles. */
static enum kvr_status add_needle_shares(const struct kvr_paper_source *source,
                                         const struct kvr_paper_filter *filter,
                                         struct kvr_paper_table *table, struct kvr_error *err)
{
    static const struct kvr_formula whole = {KVR_POOL_CELLS, 100, 1, {{KVR_SUM_WHOLE, false}}};
    const struct kvr_sums *kept = &source->sums.kept, *needles = &source->sums.needles;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0, row = 0; status == KVR_OK && i < kept->count; i++) {
        const struct kvr_setting *setting = &kept->series[i].setting;
        if (!kvr_paper_filter_takes(filter, &source->sums, setting))
            continue;
        struct kvr_table_cell *cells = &table->cells[row++ * table->column_count];
        const struct kvr_series *series = kvr_sums_find(needles, setting);
        if (series != NULL)
            status = kvr_paper_estimate(source, needles, series, &whole, table, cells, NEEDLE, err);
    }
    return status;
}

static enum kvr_status fill_policies(const struct kvr_paper_source *source,
                                     const struct kvr_paper_filter *filter,
                                     struct kvr_paper_table *table, struct kvr_error *err)
{
    static const struct mean_column means[] = {
        {KEPT, KVR_SUM_KEPT, KVR_POOL_CELLS, 100},
        {PEAK, KVR_SUM_FUTURE_PEAK, KVR_POOL_PROMPTS, 1},
        {FUTURE, KVR_SUM_FUTURE_MASS, KVR_POOL_PROMPTS, 1},
        {RETAINED, KVR_SUM_RETAINED, KVR_POOL_CELLS, 1},
        {OUTPUT_ERROR, KVR_SUM_OUTPUT_ERROR, KVR_POOL_CELLS, 1},
    };
    enum kvr_status status = fill_means(source, filter, &source->sums.kept, means, 5, table, err);
    return status == KVR_OK ? add_needle_shares(source, filter, table, err) : status;
}

const struct kvr_paper_kind kvr_paper_policies = {
    .name = "policies",
    .title = "Policies at the budgets",
    .caption =
        "Kept: tokens that a group holds, of all candidates; compare policies at equal kept. "
        "Future peak and mass: share of the squared and plain attention of later tokens to "
        "the prompt that is kept, pooled over layers and groups of a prompt. Needle whole: share "
        "of (layer, group) that keep the whole needle. Retained mass: "
        "share of the policy's own score, which flatters it.",
    COLUMNS(policy_columns),
    .fill = fill_policies,
};

/* ------------------------------------------------------------------------------ needles */

enum { ANY = FIRST_FIGURE, STRICT, SHARE, NEEDLE_FUTURE, DEPTH };
/* Depths have a needle or two each: no intervals there. */
static const struct kvr_column needle_columns[] = {
    POLICY_KEYS,
    {"rows", "rows", KVR_COLUMN_COUNT, 0, false},
    {"any_percent", "any, %", KVR_COLUMN_FIGURE, 1, true},
    {"strict_percent", "strict, %", KVR_COLUMN_FIGURE, 1, true},
    {"whole_percent", "whole, %", KVR_COLUMN_FIGURE, 1, true},
    {"needle_future", "needle future", KVR_COLUMN_FIGURE, 3, true},
    {"depth_0_20_percent", "0-20", KVR_COLUMN_FIGURE, 1, false},
    {"depth_20_40_percent", "20-40", KVR_COLUMN_FIGURE, 1, false},
    {"depth_40_60_percent", "40-60", KVR_COLUMN_FIGURE, 1, false},
    {"depth_60_80_percent", "60-80", KVR_COLUMN_FIGURE, 1, false},
    {"depth_80_100_percent", "80-100", KVR_COLUMN_FIGURE, 1, false},
};

static enum kvr_status fill_needles(const struct kvr_paper_source *source,
                                    const struct kvr_paper_filter *filter,
                                    struct kvr_paper_table *table, struct kvr_error *err)
{
    struct mean_column means[DEPTH - ANY + KVR_NEEDLE_DEPTHS] = {
        {SHARE, KVR_SUM_WHOLE, KVR_POOL_CELLS, 100},
        {ANY, KVR_SUM_ANY, KVR_POOL_CELLS, 100},
        {STRICT, KVR_SUM_STRICT, KVR_POOL_CELLS, 100},
        {NEEDLE_FUTURE, KVR_SUM_NEEDLE_FUTURE, KVR_POOL_PROMPTS, 1},
    };
    for (size_t d = 0; d < KVR_NEEDLE_DEPTHS; d++)
        means[DEPTH - ANY + d] =
            (struct mean_column){DEPTH + d, KVR_SUM_DEPTH + d, KVR_POOL_CELLS, 100};
    return fill_means(source, filter, &source->sums.needles, means, sizeof means / sizeof *means,
                      table, err);
}

const struct kvr_paper_kind kvr_paper_needles = {
    .name = "needles",
    .title = "Needle retention",
    .caption =
        "Any, strict: needles kept whole by at least one (layer, group), by every one. Whole: "
        "share of (layer, group) that keep the whole needle; by depth of the needle in the "
        "prompt in the last columns, in percent. Needle future: share of the later tokens' "
        "attention to the needle that finds it kept.",
    COLUMNS(needle_columns),
    .fill = fill_needles,
};

/* ------------------------------------------------------------------------------ pages */

enum { PUR_MEAN = FIRST_FIGURE, PUR_MOST };
static const struct kvr_column page_columns[] = {
    POLICY_KEYS,
    {"layers", "layers", KVR_COLUMN_COUNT, 0, false},
    {"pur_mean", "PUR mean", KVR_COLUMN_FIGURE, 3, true},
    {"pur_max", "PUR max", KVR_COLUMN_FIGURE, 3, false},
};

static enum kvr_status fill_pages(const struct kvr_paper_source *source,
                                  const struct kvr_paper_filter *filter,
                                  struct kvr_paper_table *table, struct kvr_error *err)
{
    static const struct mean_column means[] = {{PUR_MEAN, 0, KVR_POOL_CELLS, 1}};
    const struct kvr_sums *pages = &source->sums.pages;
    enum kvr_status status = fill_means(source, filter, pages, means, 1, table, err);
    for (size_t i = 0, row = 0; status == KVR_OK && i < pages->count; i++)
        if (kvr_paper_filter_takes(filter, &source->sums, &pages->series[i].setting))
            table->cells[row++ * table->column_count + PUR_MOST].value = pages->series[i].most;
    return status;
}

const struct kvr_paper_kind kvr_paper_pages = {
    .name = "pages",
    .title = "Page union ratio",
    .caption =
        "PUR: pages (page size 1: tokens) that any group of a layer keeps, over the quota of "
        "one group; 1 if all groups agree, the number of KV heads if none do. Means over "
        "layers. Layers with an excluded group have no row.",
    COLUMNS(page_columns),
    .fill = fill_pages,
};

/* ------------------------------------------------------------------------------ masquerade */

static const struct kvr_column masquerade_columns[] = {
    {"scorer", "scorer", KVR_COLUMN_KEY, 0, false},
    {"prompts", "prompts", KVR_COLUMN_COUNT, 0, false},
    {"sink_heads", "sink heads", KVR_COLUMN_COUNT, 0, false},
    {"retrieval_heads", "retrieval heads", KVR_COLUMN_COUNT, 0, false},
    {"contextual_heads", "contextual heads", KVR_COLUMN_COUNT, 0, false},
    {"m_raw", "m raw", KVR_COLUMN_FIGURE, 3, true},
    {"m_isolated", "m isolated", KVR_COLUMN_FIGURE, 3, true},
    {"removed", "raw / isolated", KVR_COLUMN_FIGURE, 2, true},
};

/* Mean weight of sink heads over mean weight of contextual heads. */
static const struct kvr_formula masquerade_formulas[] = {
    {KVR_POOL_CELLS,
     1,
     2,
     {{KVR_SUM_RAW + KVR_CLASS_SINK, false}, {KVR_SUM_RAW + KVR_CLASS_CONTEXTUAL, true}}},
    {KVR_POOL_CELLS,
     1,
     2,
     {{KVR_SUM_ISOLATED + KVR_CLASS_SINK, false}, {KVR_SUM_ISOLATED + KVR_CLASS_CONTEXTUAL, true}}},
    {KVR_POOL_CELLS,
     1,
     4,
     {{KVR_SUM_RAW + KVR_CLASS_SINK, false},
      {KVR_SUM_RAW + KVR_CLASS_CONTEXTUAL, true},
      {KVR_SUM_ISOLATED + KVR_CLASS_SINK, true},
      {KVR_SUM_ISOLATED + KVR_CLASS_CONTEXTUAL, false}}},
};

static size_t census_prompts(const struct kvr_sums *census, const struct kvr_series *series)
{
    size_t prompts = 0;
    for (size_t p = 0; p < series->prompt_count; p++) {
        const struct kvr_ratio *raw = &series->ratios[p * census->quantities + KVR_SUM_RAW];
        prompts += raw[0].under + raw[1].under + raw[2].under > 0;
    }
    return prompts;
}

static enum kvr_status fill_masquerade(const struct kvr_paper_source *source,
                                       const struct kvr_paper_filter *filter,
                                       struct kvr_paper_table *table, struct kvr_error *err)
{
    const struct kvr_sums *census = &source->sums.census;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < census->count; i++) {
        const struct kvr_series *series = &census->series[i];
        struct kvr_table_cell *cells;
        if (!kvr_paper_filter_takes(filter, &source->sums, &series->setting))
            continue;
        status = kvr_paper_table_row(table, &cells, err);
        if (status != KVR_OK)
            return status;
        cells[0].text = name_of(&source->sums.scorers, series->setting.scorer);
        cells[1].value = (double)census_prompts(census, series);
        for (int class = 0; class < KVR_CLASSES; class ++)
            cells[2 + class].value =
                (double)kvr_census_heads(census, series, (enum kvr_census_class) class);
        for (size_t f = 0; status == KVR_OK && f < 3; f++)
            status = kvr_paper_estimate(source, census, series, &masquerade_formulas[f], table,
                                        cells, 5 + f, err);
    }
    return status;
}

const struct kvr_paper_kind kvr_paper_masquerade = {
    .name = "masquerade",
    .title = "Sink masquerade",
    .caption = "m: mean entropy weight of sink heads over that of contextual heads, with sinks in "
               "the entropy (raw) and without (isolated); above 1 sink heads pass for focused "
               "ones.",
    COLUMNS(masquerade_columns),
    .fill = fill_masquerade,
};
