/*
 * Reading measures.csv and needles.csv into entries. It must not know how entries are compared.
 */
#include "analysis/compare_store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/text.h"
#include "formats/table_reader.h"
#include "replay/bitmap.h"
#include "replay/budget.h"

struct measures_row {
    const char *trace, *sample, *scorer, *policy, *budget;
    uint64_t layer, group, page_size, context, selected, kept_tokens;
    double retained_mass, future_mass, future_weight, future_peak, peak_weight, output_error;
};

static const struct kvr_field measures_fields[] = {
    {KVR_FIELD(struct measures_row, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct measures_row, sample, KVR_FIELD_STRING)},
    {KVR_FIELD(struct measures_row, layer, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct measures_row, group, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct measures_row, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct measures_row, policy, KVR_FIELD_STRING)},
    {KVR_FIELD(struct measures_row, page_size, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct measures_row, budget, KVR_FIELD_STRING)},
    {KVR_FIELD(struct measures_row, context, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct measures_row, selected, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct measures_row, kept_tokens, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct measures_row, retained_mass, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct measures_row, future_mass, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct measures_row, future_weight, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct measures_row, future_peak, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct measures_row, peak_weight, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct measures_row, output_error, KVR_FIELD_FIGURE)},
};

struct needles_row {
    const char *trace, *sample, *scorer, *policy, *budget;
    uint64_t layer, group, page_size, needle, start;
    double kept_fraction, needle_future, needle_future_weight;
};

static const struct kvr_field needles_fields[] = {
    {KVR_FIELD(struct needles_row, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct needles_row, sample, KVR_FIELD_STRING)},
    {KVR_FIELD(struct needles_row, layer, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct needles_row, group, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct needles_row, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct needles_row, policy, KVR_FIELD_STRING)},
    {KVR_FIELD(struct needles_row, page_size, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct needles_row, budget, KVR_FIELD_STRING)},
    {KVR_FIELD(struct needles_row, needle, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct needles_row, start, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct needles_row, kept_fraction, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct needles_row, needle_future, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct needles_row, needle_future_weight, KVR_FIELD_FIGURE)},
};

/* The tables of one folder as they pass; rows of a cell stand together, so it is looked up once. */
struct reading {
    struct compare_store *store;
    const struct kvr_compare_options *options;
    const struct kvr_table_reader *reader;
    struct measures_row measures;
    struct needles_row needles;
    const char *trace, *sample; /* of the last cell; names of the store */
    uint64_t layer, group;
    size_t sample_index, cell;
    const struct kvr_sample_facts *facts;
};

/* The same for any type of array; does nothing once status tells of a failure. */
#define REACH(status, array, room, index, err)                                                     \
    do {                                                                                           \
        void *reached_ = (array);                                                                  \
        if ((status) == KVR_OK)                                                                    \
            (status) = kvr_reach(&reached_, &(room), index, sizeof *(array), err);                 \
        (array) = reached_;                                                                        \
    } while (0)

/* ------------------------------------------------------------------------------ filters */

static bool passes(const struct kvr_compare_filter *filter, const char *item)
{
    for (size_t i = 0; i < filter->count; i++)
        if (strcmp(filter->items[i], item) == 0)
            return true;
    return filter->count == 0;
}

static bool is_wanted(const struct kvr_compare_options *options, const char *scorer,
                      const char *policy, uint64_t page_size, const char *budget)
{
    bool page = options->page_size_count == 0;
    for (size_t i = 0; i < options->page_size_count; i++)
        page |= options->page_sizes[i] == page_size;
    return page && passes(&options->scorers, scorer) && passes(&options->policies, policy) &&
           passes(&options->budgets, budget);
}

/* ------------------------------------------------------------------------------ cells */

static enum kvr_status layer_of(struct compare_store *store, uint64_t number, size_t *layer,
                                struct kvr_error *err)
{
    for (*layer = 0; *layer < store->layer_count; (*layer)++)
        if (store->layers[*layer] == number)
            return KVR_OK;
    enum kvr_status status = KVR_OK;
    REACH(status, store->layers, store->layer_capacity, *layer, err);
    if (status == KVR_OK)
        store->layers[store->layer_count++] = number;
    return status;
}

static enum kvr_status add_unit(struct compare_store *store, struct compare_unit unit,
                                struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    REACH(status, store->units, store->unit_capacity, store->unit_count, err);
    if (status == KVR_OK)
        store->units[store->unit_count++] = unit;
    if (unit.pool >= store->pool_count)
        store->pool_count = unit.pool + 1;
    return status;
}

static enum kvr_status intern(struct compare_store *store, const char *text, const char **name,
                              struct kvr_error *err)
{
    size_t index;
    enum kvr_status status = kvr_names_index(&store->labels, text, &index, err);
    if (status == KVR_OK)
        *name = store->labels.items[index];
    return status;
}

static enum kvr_status find_sample(struct reading *reading, const char *trace, const char *sample,
                                   struct kvr_error *err)
{
    struct compare_store *store = reading->store;
    size_t index;
    enum kvr_status status = intern(store, trace, &reading->trace, err);
    if (status == KVR_OK)
        status = intern(store, sample, &reading->sample, err);
    if (status == KVR_OK)
        status = kvr_names_index(&store->traces, trace, &index, err);
    if (status == KVR_OK)
        status = kvr_names_pair(&store->samples, trace, sample, &reading->sample_index, err);
    if (status != KVR_OK)
        return status;
    reading->facts = kvr_run_facts_sample(&store->facts, trace, sample, err);
    if (reading->facts == NULL)
        return kvr_table_reader_fail(reading->reader, "sample", err,
                                     "expected a sample of run.json, found \"%s\" of \"%s\"",
                                     sample, trace);
    store->head_dim_known &= reading->facts->head_dim > 0;
    return KVR_OK;
}

/* The cell that a row speaks of, in reading->cell. */
static enum kvr_status find_cell(struct reading *reading, const char *trace, const char *sample,
                                 uint64_t layer, uint64_t group, struct kvr_error *err)
{
    struct compare_store *store = reading->store;
    if (reading->trace != NULL && reading->layer == layer && reading->group == group &&
        strcmp(reading->sample, sample) == 0 && strcmp(reading->trace, trace) == 0)
        return KVR_OK;
    enum kvr_status status = find_sample(reading, trace, sample, err);
    if (status != KVR_OK)
        return status;
    struct kvr_text key = {0};
    kvr_text_add(&key, "%zu/%llu/%llu", reading->sample_index, (unsigned long long)layer,
                 (unsigned long long)group);
    size_t before = store->cells.count, layer_index;
    status = kvr_text_check(&key, err);
    if (status == KVR_OK)
        status = kvr_names_index(&store->cells, key.data, &reading->cell, err);
    kvr_text_free(&key);
    if (status == KVR_OK)
        status = layer_of(store, layer, &layer_index, err);
    if (status == KVR_OK && reading->cell == before) {
        REACH(status, store->cell_facts, store->cell_capacity, reading->cell, err);
        if (status == KVR_OK)
            store->cell_facts[reading->cell] =
                (struct compare_cell){reading->sample_index, layer_index};
        const struct compare_unit unit = {reading->sample_index, reading->sample_index,
                                          layer_index};
        if (status == KVR_OK && !kvr_metrics[store->metric].of_needles)
            status = add_unit(store, unit, err);
    }
    reading->layer = layer;
    reading->group = group;
    return status;
}

/* ------------------------------------------------------------------------------ entries */

static bool is_entry(const struct compare_entry *entry, const char *scorer, const char *policy,
                     uint64_t page_size, const char *budget)
{
    return entry->page_size == page_size && strcmp(entry->budget, budget) == 0 &&
           strcmp(entry->policy, policy) == 0 && strcmp(entry->scorer, scorer) == 0;
}

/* Entries follow each other in the same order in every cell, so the next one is tried first. */
static struct compare_entry *find_entry(struct compare_store *store, const char *scorer,
                                        const char *policy, uint64_t page_size, const char *budget)
{
    for (size_t step = 1; step <= store->entry_count; step++) {
        size_t i = (store->last_entry + step) % store->entry_count;
        if (is_entry(&store->entries[i], scorer, policy, page_size, budget)) {
            store->last_entry = i;
            return &store->entries[i];
        }
    }
    return NULL;
}

static enum kvr_status add_entry(struct reading *reading, const struct measures_row *row,
                                 struct compare_entry **entry, struct kvr_error *err)
{
    struct compare_store *store = reading->store;
    struct compare_entry made = {.page_size = row->page_size};
    if (!kvr_parse_decimal(row->budget, &made.fraction) || made.fraction.digits == 0)
        return kvr_table_reader_fail(reading->reader, "budget", err,
                                     "expected a decimal fraction above 0, found \"%.100s\"",
                                     row->budget);
    if (row->page_size == 0)
        return kvr_table_reader_fail(reading->reader, "page_size", err, "expected 1 or more");
    enum kvr_status status = intern(store, row->scorer, &made.scorer, err);
    if (status == KVR_OK)
        status = intern(store, row->policy, &made.policy, err);
    if (status == KVR_OK)
        status = intern(store, row->budget, &made.budget, err);
    REACH(status, store->entries, store->entry_capacity, store->entry_count, err);
    if (status != KVR_OK)
        return status;
    store->last_entry = store->entry_count++;
    *entry = &store->entries[store->last_entry];
    **entry = made;
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ measures.csv */

static void add_memory(struct compare_entry *entry, const struct measures_row *row,
                       uint64_t head_dim)
{
    const struct kvr_pages pages = {
        .size = row->page_size,
        .candidates = {.count = (size_t)row->context},
    };
    entry->units_held += row->selected;
    entry->units_due += kvr_budget_quota(entry->fraction, &pages);
    entry->kept_tokens += row->kept_tokens;
    entry->kept_dims += row->kept_tokens * head_dim;
}

/* The weight of a value that may not apply. */
static double weight_of(double value, double weight)
{
    return isnan(value) || isnan(weight) ? 0 : weight;
}

static enum kvr_status add_values(struct compare_store *store, struct compare_entry *entry,
                                  size_t sample, size_t cell, const struct measures_row *row,
                                  struct kvr_error *err)
{
    const struct compare_value values[KVR_METRICS] = {
        [KVR_METRIC_FUTURE_PEAK] = {row->future_peak,
                                    weight_of(row->future_peak, row->peak_weight)},
        [KVR_METRIC_FUTURE_MASS] = {row->future_mass,
                                    weight_of(row->future_mass, row->future_weight)},
        [KVR_METRIC_OUTPUT_ERROR] = {row->output_error, weight_of(row->output_error, 1)},
        [KVR_METRIC_RETAINED_MASS] = {row->retained_mass, weight_of(row->retained_mass, 1)},
    };
    enum kvr_status status = KVR_OK;
    REACH(status, entry->sums, entry->sums_room, sample, err);
    for (size_t m = 0; status == KVR_OK && m < KVR_METRICS; m++)
        if (fabs(values[m].weight) > 0) {
            entry->sums[sample].value[m] += values[m].value * values[m].weight;
            entry->sums[sample].weight[m] += values[m].weight;
        }
    if (status != KVR_OK || kvr_metrics[store->metric].of_needles)
        return status;
    REACH(status, entry->values, entry->value_room, cell, err);
    if (status == KVR_OK)
        entry->values[cell] = values[store->metric];
    return status;
}

static enum kvr_status take_measures(void *state, const struct kvr_table_reader *reader,
                                     struct kvr_error *err)
{
    struct reading *reading = state;
    const struct measures_row *row = &reading->measures;
    reading->reader = reader;
    if (!is_wanted(reading->options, row->scorer, row->policy, row->page_size, row->budget))
        return KVR_OK;
    enum kvr_status status =
        find_cell(reading, row->trace, row->sample, row->layer, row->group, err);
    struct compare_entry *entry =
        find_entry(reading->store, row->scorer, row->policy, row->page_size, row->budget);
    if (status == KVR_OK && entry == NULL)
        status = add_entry(reading, row, &entry, err);
    if (status == KVR_OK)
        REACH(status, entry->cells, entry->cell_room, reading->cell / 64, err);
    if (status != KVR_OK)
        return status;
    if (kvr_bitmap_has(entry->cells, reading->cell)) {
        kvr_table_reader_fail(reader, "policy", err,
                              "expected one row a group, page size and budget, found a second one "
                              "of policy %s under scorer %s",
                              row->policy, row->scorer);
        return kvr_hint(err, "folders to compare may not hold the same policy of the same sample; "
                             "--policy and --scorer choose rows");
    }
    kvr_bitmap_add(entry->cells, reading->cell);
    entry->cell_count++;
    add_memory(entry, row, reading->facts->head_dim);
    return add_values(reading->store, entry, reading->sample_index, reading->cell, row, err);
}

/* ------------------------------------------------------------------------------ needles.csv */

/* The needle of the sample, listed at its first row. */
static enum kvr_status find_needle(struct reading *reading, const struct needles_row *row,
                                   size_t *needle, struct kvr_error *err)
{
    struct compare_store *store = reading->store;
    struct kvr_text key = {0};
    kvr_text_add(&key, "%zu/%llu", reading->sample_index, (unsigned long long)row->needle);
    size_t before = store->needles.count;
    enum kvr_status status = kvr_text_check(&key, err);
    if (status == KVR_OK)
        status = kvr_names_index(&store->needles, key.data, needle, err);
    kvr_text_free(&key);
    if (status != KVR_OK || *needle < before)
        return status;
    REACH(status, store->needle_facts, store->needle_capacity, *needle, err);
    uint64_t depth = row->start * KVR_COMPARE_DEPTHS / reading->facts->prompt_length;
    if (status == KVR_OK)
        store->needle_facts[*needle] = (struct compare_needle){
            reading->sample_index,
            depth < KVR_COMPARE_DEPTHS ? (unsigned)depth : KVR_COMPARE_DEPTHS - 1};
    return status;
}

/* The unit of a needle in a cell. */
static enum kvr_status find_needle_unit(struct reading *reading, size_t needle, size_t *unit,
                                        struct kvr_error *err)
{
    struct compare_store *store = reading->store;
    struct kvr_text key = {0};
    kvr_text_add(&key, "%zu/%zu", reading->cell, needle);
    enum kvr_status status = kvr_text_check(&key, err);
    if (status == KVR_OK)
        status = kvr_names_index(&store->needle_units, key.data, unit, err);
    kvr_text_free(&key);
    if (status != KVR_OK || *unit < store->unit_count)
        return status;
    const struct compare_unit made = {
        reading->sample_index,
        store->metric == KVR_METRIC_NEEDLE ? needle : reading->sample_index,
        store->cell_facts[reading->cell].layer,
    };
    return add_unit(store, made, err);
}

static enum kvr_status add_needle(struct reading *reading, struct compare_entry *entry,
                                  size_t needle, const struct needles_row *row,
                                  struct kvr_error *err)
{
    struct compare_store *store = reading->store;
    size_t sample = reading->sample_index, unit = 0;
    double weight = weight_of(row->needle_future, row->needle_future_weight);
    bool whole = row->kept_fraction >= 1;
    enum kvr_status status = KVR_OK;
    REACH(status, entry->sums, entry->sums_room, sample, err);
    REACH(status, entry->needles, entry->needle_room, needle, err);
    if (status != KVR_OK)
        return status;
    entry->needles[needle].held++;
    entry->needles[needle].whole += whole;
    if (fabs(weight) > 0) {
        entry->sums[sample].value[KVR_METRIC_NEEDLE_FUTURE] += row->needle_future * weight;
        entry->sums[sample].weight[KVR_METRIC_NEEDLE_FUTURE] += weight;
    }
    if (!kvr_metrics[store->metric].of_needles)
        return KVR_OK;
    status = find_needle_unit(reading, needle, &unit, err);
    REACH(status, entry->values, entry->value_room, unit, err);
    if (status == KVR_OK)
        entry->values[unit] = store->metric == KVR_METRIC_NEEDLE
                                  ? (struct compare_value){whole, 1}
                                  : (struct compare_value){row->needle_future, weight};
    return status;
}

static enum kvr_status take_needles(void *state, const struct kvr_table_reader *reader,
                                    struct kvr_error *err)
{
    struct reading *reading = state;
    const struct needles_row *row = &reading->needles;
    reading->reader = reader;
    if (!is_wanted(reading->options, row->scorer, row->policy, row->page_size, row->budget))
        return KVR_OK;
    struct compare_entry *entry =
        find_entry(reading->store, row->scorer, row->policy, row->page_size, row->budget);
    if (entry == NULL)
        return kvr_table_reader_fail(reader, "policy", err,
                                     "expected a policy of measures.csv, found %s under scorer %s",
                                     row->policy, row->scorer);
    size_t needle = 0;
    enum kvr_status status =
        find_cell(reading, row->trace, row->sample, row->layer, row->group, err);
    if (status == KVR_OK)
        status = find_needle(reading, row, &needle, err);
    return status == KVR_OK ? add_needle(reading, entry, needle, row, err) : status;
}

/* ------------------------------------------------------------------------------ folders */

static enum kvr_status read_folder(struct compare_store *store, const char *folder,
                                   const struct kvr_compare_options *options, struct kvr_error *err)
{
    struct reading reading = {.store = store, .options = options};
    enum kvr_status status = kvr_run_facts_add(&store->facts, folder, err);
    if (status == KVR_OK)
        status = kvr_table_each(folder, "measures.csv", measures_fields,
                                sizeof measures_fields / sizeof *measures_fields, &reading.measures,
                                take_measures, &reading, err);
    reading.trace = NULL;
    if (status == KVR_OK)
        status = kvr_table_each(folder, "needles.csv", needles_fields,
                                sizeof needles_fields / sizeof *needles_fields, &reading.needles,
                                take_needles, &reading, err);
    return status;
}

enum kvr_status compare_store_read(const char *const *folders, size_t folder_count,
                                   const struct kvr_compare_options *options,
                                   struct compare_store *store, struct kvr_error *err)
{
    *store = (struct compare_store){.metric = options->metric, .head_dim_known = true};
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < folder_count; i++)
        status = read_folder(store, folders[i], options, err);
    return status;
}

void compare_store_free(struct compare_store *store)
{
    kvr_run_facts_free(&store->facts);
    kvr_names_free(&store->labels);
    kvr_names_free(&store->traces);
    kvr_names_free(&store->samples);
    kvr_names_free(&store->cells);
    kvr_names_free(&store->needles);
    kvr_names_free(&store->needle_units);
    for (size_t i = 0; i < store->entry_count; i++) {
        free(store->entries[i].cells);
        free(store->entries[i].sums);
        free(store->entries[i].needles);
        free(store->entries[i].values);
    }
    free(store->layers);
    free(store->units);
    free(store->needle_facts);
    free(store->cell_facts);
    free(store->entries);
    *store = (struct compare_store){0};
}
