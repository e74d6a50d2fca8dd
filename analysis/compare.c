/*
 * Entries in rows and columns, each with the baseline and the ceiling. It must not know where
 * entries come from, how two are paired, or how the result is shown.
 */
#include "analysis/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare_pair.h"
#include "formats/base/memory.h"
#include "replay/policy.h"

static const struct compare_entry *entry_at(const struct compare_store *store,
                                            const struct kvr_comparison *comparison, size_t page,
                                            size_t use, size_t budget)
{
    for (size_t i = 0; use < comparison->use_count && i < store->entry_count; i++) {
        const struct compare_entry *entry = &store->entries[i];
        if (entry->page_size == comparison->page_sizes[page] &&
            strcmp(entry->budget, comparison->budgets[budget]) == 0 &&
            strcmp(entry->policy, comparison->uses[use].policy) == 0 &&
            strcmp(entry->scorer, comparison->uses[use].scorer) == 0)
            return entry;
    }
    return NULL;
}

/* The uses of one page size at one budget, against each other. */
static enum kvr_status compare_at(struct compare_room *room,
                                  const struct kvr_compare_options *options,
                                  struct kvr_comparison *comparison, size_t page, size_t budget,
                                  struct kvr_error *err)
{
    const struct compare_store *store = room->store;
    const struct compare_entry *baseline =
        entry_at(store, comparison, page, comparison->baseline, budget);
    const struct compare_entry *ceiling =
        entry_at(store, comparison, page, comparison->ceiling, budget);
    bool over = baseline != NULL &&
                kvr_compared_over(kvr_compared_at(comparison, page, comparison->baseline, budget));
    enum kvr_status status = KVR_OK;
    for (size_t use = 0; status == KVR_OK && use < comparison->use_count; use++) {
        struct kvr_compared *compared = kvr_compared_at(comparison, page, use, budget);
        const struct compare_entry *entry = entry_at(store, comparison, page, use, budget);
        if (entry == NULL)
            continue;
        compared->pairing = KVR_PAIR_NOTHING;
        if (use == comparison->baseline)
            compared->pairing = KVR_PAIR_BASELINE;
        else if (over || kvr_compared_over(compared))
            compared->pairing = KVR_PAIR_MORE_MEMORY;
        else if (baseline != NULL)
            status = compare_pair(room, &options->bootstrap, entry, baseline, compared, err);
        if (ceiling != NULL && !kvr_compared_over(compared))
            compared->regret = compare_regret(room, entry, ceiling);
    }
    return status;
}

size_t kvr_compare_find(const struct kvr_compare_use *uses, size_t count, const char *text)
{
    for (size_t u = 0; u < count; u++) {
        const struct kvr_compare_use *use = &uses[u];
        size_t length = strlen(use->scorer);
        if (strcmp(use->policy, text) == 0 ||
            (strncmp(text, use->scorer, length) == 0 && text[length] == '/' &&
             strcmp(text + length + 1, use->policy) == 0))
            return u;
    }
    return count;
}

enum kvr_status kvr_compare_no_baseline(const struct kvr_compare_use *uses, size_t count,
                                        const char *text, struct kvr_error *err)
{
    char list[512] = "";
    for (size_t u = 0; u < count; u++) {
        if (kvr_compare_find(uses, u, uses[u].policy) < u)
            continue; /* the same under another scorer */
        strncat(list, u > 0 ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, uses[u].policy, sizeof list - strlen(list) - 1);
    }
    return kvr_fail(err, KVR_BAD_ARGUMENT, "--baseline: \"%s\" is none of the policies %s", text,
                    list);
}

/* True if the use holds more than the budget somewhere. */
static bool ever_over(const struct kvr_comparison *comparison, size_t use)
{
    for (size_t page = 0; page < comparison->page_count; page++)
        for (size_t b = 0; b < comparison->budget_count; b++) {
            const struct kvr_compared *compared = kvr_compared_at(comparison, page, use, b);
            if (compared->present && kvr_compared_over(compared))
                return true;
        }
    return false;
}

/* As asked; else random, else the first policy that holds no more than the budget. */
static enum kvr_status choose_baseline(const struct kvr_compare_options *options,
                                       struct kvr_comparison *comparison, struct kvr_error *err)
{
    comparison->baseline_asked = options->baseline != NULL;
    const char *wanted = options->baseline != NULL ? options->baseline : "random";
    comparison->baseline = kvr_compare_find(comparison->uses, comparison->use_count, wanted);
    if (options->baseline != NULL && comparison->baseline == comparison->use_count)
        return kvr_compare_no_baseline(comparison->uses, comparison->use_count, wanted, err);
    for (size_t u = 0; comparison->baseline == comparison->use_count && u < comparison->use_count;
         u++)
        if (!ever_over(comparison, u))
            comparison->baseline = u;
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ lists */

static enum kvr_status list_use(struct kvr_comparison *comparison,
                                const struct compare_entry *entry, struct kvr_error *err)
{
    bool named = !kvr_policy_asks(entry->policy);
    for (size_t u = 0; u < comparison->use_count; u++) {
        struct kvr_compare_use *use = &comparison->uses[u];
        if (strcmp(use->policy, entry->policy) != 0)
            continue;
        if (strcmp(use->scorer, entry->scorer) == 0)
            return KVR_OK;
        named = use->named = false; /* the scorer tells them apart */
    }
    struct kvr_compare_use *use = &comparison->uses[comparison->use_count++];
    use->named = named;
    use->scorer = kvr_copy_string(entry->scorer, err);
    use->policy = kvr_copy_string(entry->policy, err);
    return use->scorer != NULL && use->policy != NULL ? KVR_OK : KVR_NO_MEMORY;
}

static enum kvr_status list_budget(struct kvr_comparison *comparison, const char *budget,
                                   struct kvr_error *err)
{
    for (size_t b = 0; b < comparison->budget_count; b++)
        if (strcmp(comparison->budgets[b], budget) == 0)
            return KVR_OK;
    char *copy = kvr_copy_string(budget, err);
    if (copy == NULL)
        return KVR_NO_MEMORY;
    comparison->budgets[comparison->budget_count++] = copy;
    return KVR_OK;
}

static void list_page_size(struct kvr_comparison *comparison, uint64_t page_size)
{
    size_t page = 0;
    while (page < comparison->page_count && comparison->page_sizes[page] != page_size)
        page++;
    if (page == comparison->page_count)
        comparison->page_sizes[comparison->page_count++] = page_size;
}

/* Uses, page sizes and budgets in the order of the tables, and room for what is compared. */
static enum kvr_status list_entries(const struct compare_store *store,
                                    struct kvr_comparison *comparison, struct kvr_error *err)
{
    size_t most = store->entry_count;
    comparison->uses = kvr_alloc(most, sizeof *comparison->uses, err);
    comparison->page_sizes = kvr_alloc(most, sizeof *comparison->page_sizes, err);
    comparison->budgets = kvr_alloc(most, sizeof *comparison->budgets, err);
    if (comparison->uses == NULL || comparison->page_sizes == NULL || comparison->budgets == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < store->entry_count; i++) {
        status = list_use(comparison, &store->entries[i], err);
        if (status == KVR_OK)
            status = list_budget(comparison, store->entries[i].budget, err);
        list_page_size(comparison, store->entries[i].page_size);
    }
    size_t cells = comparison->page_count * comparison->use_count * comparison->budget_count;
    comparison->compared = kvr_alloc(cells, sizeof *comparison->compared, err);
    comparison->budget_units = kvr_alloc(comparison->page_count * comparison->budget_count,
                                         sizeof *comparison->budget_units, err);
    if (comparison->compared == NULL || comparison->budget_units == NULL)
        return KVR_NO_MEMORY;
    return status;
}

/* The quota of a budget, from the entry with most cells. */
static double budget_units(const struct compare_store *store,
                           const struct kvr_comparison *comparison, size_t page, size_t budget)
{
    uint64_t cells = 0;
    double units = NAN;
    for (size_t use = 0; use < comparison->use_count; use++) {
        const struct compare_entry *entry = entry_at(store, comparison, page, use, budget);
        if (entry == NULL || entry->cell_count <= cells)
            continue;
        cells = entry->cell_count;
        units = (double)entry->units_due / (double)cells;
    }
    return units;
}

static void fill_facts(const struct compare_store *store, struct kvr_comparison *comparison,
                       const struct kvr_compare_options *options)
{
    comparison->metric = store->metric;
    comparison->bootstrap = options->bootstrap;
    comparison->traces = store->traces.count;
    comparison->samples = store->samples.count;
    comparison->layers = store->layer_count;
    comparison->needles = store->needles.count;
    comparison->cells = store->cells.count;
    uint64_t head_dim = store->head_dim_known ? store->facts.facts[0].head_dim : 0;
    for (size_t i = 0; i < store->facts.samples.count; i++)
        if (store->facts.facts[i].head_dim != head_dim)
            head_dim = 0;
    comparison->token_bytes = 2 * head_dim * options->element_bytes;
    comparison->ceiling = kvr_compare_find(comparison->uses, comparison->use_count, "clairvoyant");
}

static enum kvr_status compare_store_entries(struct compare_room *room,
                                             const struct kvr_compare_options *options,
                                             struct kvr_comparison *comparison,
                                             struct kvr_error *err)
{
    const struct compare_store *store = room->store;
    enum kvr_status status = list_entries(store, comparison, err);
    if (status != KVR_OK)
        return status;
    fill_facts(store, comparison, options);
    for (size_t page = 0; page < comparison->page_count; page++)
        for (size_t b = 0; b < comparison->budget_count; b++) {
            comparison->budget_units[page * comparison->budget_count + b] =
                budget_units(store, comparison, page, b);
            for (size_t use = 0; use < comparison->use_count; use++) {
                const struct compare_entry *entry = entry_at(store, comparison, page, use, b);
                if (entry != NULL)
                    compare_describe(room, options->element_bytes, entry,
                                     kvr_compared_at(comparison, page, use, b));
            }
        }
    status = choose_baseline(options, comparison, err);
    for (size_t page = 0; page < comparison->page_count; page++)
        for (size_t b = 0; status == KVR_OK && b < comparison->budget_count; b++)
            status = compare_at(room, options, comparison, page, b, err);
    return status;
}

/* True if some entry has a value of the measure in some sample. */
static bool has_metric(const struct compare_store *store, enum kvr_metric metric)
{
    if (metric == KVR_METRIC_NEEDLE)
        return store->needles.count > 0;
    for (size_t i = 0; i < store->entry_count; i++)
        for (size_t s = 0; s < store->samples.count; s++)
            if (fabs(compare_sums_at(&store->entries[i], s).weight[metric]) > 0)
                return true;
    return false;
}

/* Reads the tables, again if they have no value of the measure and another one will do. */
static enum kvr_status read_tables(const char *const *folders, size_t folder_count,
                                   const struct kvr_compare_options *options,
                                   struct compare_store *store, struct kvr_error *err)
{
    struct kvr_compare_options chosen = *options;
    enum kvr_status status = compare_store_read(folders, folder_count, &chosen, store, err);
    if (status != KVR_OK || !options->any_metric)
        return status;
    while (chosen.metric + 1 < KVR_METRICS && !has_metric(store, chosen.metric))
        chosen.metric++;
    if (chosen.metric == options->metric || !has_metric(store, chosen.metric))
        return KVR_OK;
    compare_store_free(store);
    return compare_store_read(folders, folder_count, &chosen, store, err);
}

enum kvr_status kvr_compare(const char *const *folders, size_t folder_count,
                            const struct kvr_compare_options *options,
                            struct kvr_comparison *comparison, struct kvr_error *err)
{
    struct compare_store store;
    struct compare_room room = {0};
    *comparison = (struct kvr_comparison){0};
    enum kvr_status status = read_tables(folders, folder_count, options, &store, err);
    if (status == KVR_OK && store.entry_count == 0)
        status = kvr_fail(err, KVR_BAD_ARGUMENT,
                          "no row of the tables has what was asked for (--scorer, --policy, "
                          "--budget, --page-size)");
    if (status == KVR_OK)
        status = compare_room_open(&store, &room, err);
    if (status == KVR_OK)
        status = compare_store_entries(&room, options, comparison, err);
    compare_room_close(&room);
    compare_store_free(&store);
    return status;
}

void kvr_comparison_free(struct kvr_comparison *comparison)
{
    size_t cells = comparison->page_count * comparison->use_count * comparison->budget_count;
    for (size_t i = 0; comparison->compared != NULL && i < cells; i++)
        free(comparison->compared[i].losing_layers);
    for (size_t u = 0; u < comparison->use_count; u++) {
        free(comparison->uses[u].scorer);
        free(comparison->uses[u].policy);
    }
    for (size_t b = 0; b < comparison->budget_count; b++)
        free(comparison->budgets[b]);
    free(comparison->uses);
    free(comparison->page_sizes);
    free(comparison->budgets);
    free(comparison->budget_units);
    free(comparison->compared);
    *comparison = (struct kvr_comparison){0};
}
