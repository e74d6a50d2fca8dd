/*
 * The list of the paper's tables, and what all of them share: reading, filtering, intervals and
 * footnotes. It must not know what a single table holds.
 */
#include "plots/paper_tables.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats/base/number.h"

const struct kvr_paper_kind *const kvr_paper_kinds[KVR_PAPER_KINDS] = {
    &kvr_paper_union,   &kvr_paper_certificates, &kvr_paper_masquerade, &kvr_paper_policies,
    &kvr_paper_needles, &kvr_paper_pages,        &kvr_paper_bounds,
};

enum kvr_status kvr_paper_source_read(const char *folder, const struct kvr_bootstrap *bootstrap,
                                      struct kvr_paper_source *source, struct kvr_error *err)
{
    *source = (struct kvr_paper_source){.bootstrap = *bootstrap};
    enum kvr_status status = kvr_replay_sums_read(folder, &source->sums, err);
    if (status == KVR_OK)
        status = kvr_bounds_report_read(folder, 1, &source->bounds, err);
    return status;
}

void kvr_paper_source_free(struct kvr_paper_source *source)
{
    kvr_replay_sums_free(&source->sums);
    kvr_bounds_report_free(&source->bounds);
}

/* ------------------------------------------------------------------------------ filter */

static bool takes(char *const *items, size_t count, const struct kvr_names *names, size_t index)
{
    if (count == 0 || index == KVR_NO_NAME)
        return true;
    for (size_t i = 0; i < count; i++)
        if (strcmp(items[i], names->items[index]) == 0)
            return true;
    return false;
}

static bool takes_page_size(const struct kvr_paper_filter *filter, uint64_t page_size)
{
    uint64_t wanted;
    if (filter->page_sizes.count == 0 || page_size == 0)
        return true;
    for (size_t i = 0; i < filter->page_sizes.count; i++)
        if (kvr_parse_unsigned(filter->page_sizes.items[i], 1, UINT64_MAX, &wanted) &&
            wanted == page_size)
            return true;
    return false;
}

bool kvr_paper_filter_takes(const struct kvr_paper_filter *filter,
                            const struct kvr_replay_sums *sums, const struct kvr_setting *setting)
{
    return takes(filter->scorers.items, filter->scorers.count, &sums->scorers, setting->scorer) &&
           takes(filter->policies.items, filter->policies.count, &sums->policies,
                 setting->policy) &&
           takes(filter->budgets.items, filter->budgets.count, &sums->budgets, setting->budget) &&
           takes_page_size(filter, setting->page_size);
}

/* ------------------------------------------------------------------------------ footnotes */

static enum kvr_status note_interval(const struct kvr_paper_source *source,
                                     const struct kvr_interval *interval,
                                     struct kvr_paper_table *table, struct kvr_error *err)
{
    const struct kvr_bootstrap *bootstrap = &source->bootstrap;
    if (isnan(interval->estimate))
        return KVR_OK;
    if (interval->samples < KVR_LEAST_SAMPLES)
        return kvr_paper_table_note(
            table, err, "No interval from fewer than %d prompts; there %s %zu.", KVR_LEAST_SAMPLES,
            interval->samples == 1 ? "is" : "are", interval->samples);
    if (!kvr_interval_exists(interval))
        return kvr_paper_table_note(table, err,
                                    "No interval where over 5 %% of the draws lack the figure.");
    return kvr_paper_table_note(
        table, err,
        "In brackets: %g %% bootstrap intervals over %zu prompts (%zu "
        "draws, seed %" PRIu64 ")%s.",
        100 * bootstrap->level, interval->samples, bootstrap->draws, bootstrap->seed,
        interval->samples < 10 ? "; from so few they are rather too narrow" : "");
}

enum kvr_status kvr_paper_estimate(const struct kvr_paper_source *source,
                                   const struct kvr_sums *sums, const struct kvr_series *series,
                                   const struct kvr_formula *formula, struct kvr_paper_table *table,
                                   struct kvr_table_cell *cells, size_t column,
                                   struct kvr_error *err)
{
    bool wanted = table->columns[column].interval;
    struct kvr_bootstrap bootstrap = source->bootstrap;
    struct kvr_interval interval;
    if (!wanted)
        bootstrap.draws = 0;
    enum kvr_status status = kvr_series_estimate(sums, series, formula, &bootstrap, &interval, err);
    if (status != KVR_OK)
        return status;
    cells[column] = (struct kvr_table_cell){NULL, interval.estimate, interval.low, interval.high};
    return wanted ? note_interval(source, &interval, table, err) : KVR_OK;
}

static enum kvr_status note_excluded(const struct kvr_paper_source *source,
                                     const struct kvr_paper_filter *filter,
                                     struct kvr_paper_table *table, struct kvr_error *err)
{
    const struct kvr_replay_sums *sums = &source->sums;
    enum kvr_status status = KVR_OK;
    for (size_t s = 0; status == KVR_OK && s < sums->scorers.count; s++) {
        const struct kvr_setting setting = {s, KVR_NO_NAME, KVR_NO_NAME, 0};
        uint64_t excluded = kvr_replay_excluded(sums, s);
        if (excluded == 0 || !kvr_paper_filter_takes(filter, sums, &setting))
            continue;
        status = kvr_paper_table_note(
            table, err,
            "Excluded under %s: %" PRIu64 " of %" PRIu64 " groups, a head is not finite.",
            sums->scorers.items[s], excluded, excluded + kvr_replay_groups(sums, s));
    }
    return status;
}

enum kvr_status kvr_paper_table_build(const struct kvr_paper_kind *kind,
                                      const struct kvr_paper_source *source,
                                      const struct kvr_paper_filter *filter,
                                      struct kvr_paper_table *table, struct kvr_error *err)
{
    *table = (struct kvr_paper_table){
        .name = kind->name,
        .title = kind->title,
        .caption = kind->caption,
        .columns = kind->columns,
        .column_count = kind->column_count,
    };
    enum kvr_status status = kind->fill(source, filter, table, err);
    if (status == KVR_OK)
        status = note_excluded(source, filter, table, err);
    return status;
}
