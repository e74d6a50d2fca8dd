/*
 * layers.csv: how the groups of a layer share pages, PUR = |union over groups| / K (prop. 4,
 * MEASURES §8). Pooled policies only; a layer with an excluded group has no row for that scorer.
 *
 * The groups of a layer are separate cells, so the union is formed where cells pass in order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/result_tables.h"
#include "formats/base/memory.h"
#include "replay/bitmap.h"

/* One (scorer, policy, page size) of a cell; unites its budgets' kept units over the groups. */
struct layer_entry {
    const struct kvr_score *score;
    const struct kvr_stages *stages;
    uint64_t page_size;
    size_t words;
    uint64_t *quotas; /* [budgets] */
    uint64_t *units;  /* [budgets][words] */
};

struct layer_record {
    const struct kvr_plan *plan;
    size_t count, capacity;
    struct layer_entry *entries;
    size_t excluded_count;
    const struct kvr_score **excluded; /* [plan->score_count] at most */
};

static void discard(void *state, void *opaque)
{
    (void)state;
    struct layer_record *record = opaque;
    if (record == NULL)
        return;
    for (size_t i = 0; i < record->count; i++) {
        free(record->entries[i].quotas);
        free(record->entries[i].units);
    }
    free(record->entries);
    free(record->excluded);
    free(record);
}

static enum kvr_status begin(void *state, const struct kvr_cell *cell, void **out,
                             struct kvr_error *err)
{
    (void)state;
    struct layer_record *record = kvr_alloc(1, sizeof *record, err);
    *out = record;
    if (record == NULL)
        return KVR_NO_MEMORY;
    record->plan = cell->plan;
    record->excluded = kvr_alloc(cell->plan->score_count, sizeof(void *), err);
    return record->excluded != NULL ? KVR_OK : KVR_NO_MEMORY;
}

static enum kvr_status scored_group(void *state, void *opaque, const struct kvr_cell *cell,
                                    const struct kvr_scored *scored, struct kvr_error *err)
{
    (void)state;
    (void)cell;
    (void)err;
    struct layer_record *record = opaque;
    if (scored->not_finite > 0)
        record->excluded[record->excluded_count++] = scored->score;
    return KVR_OK;
}

static enum kvr_status selected(void *state, void *opaque, const struct kvr_cell *cell,
                                const struct kvr_selection *selection, struct kvr_error *err)
{
    (void)state;
    struct layer_record *record = opaque;
    if (selection->pooled == NULL)
        return KVR_OK;
    void *entries = record->entries;
    if (kvr_reserve(&entries, &record->capacity, record->count + 1, sizeof *record->entries, err) !=
        KVR_OK)
        return KVR_NO_MEMORY;
    record->entries = entries;
    size_t budgets = cell->plan->budget_count;
    struct layer_entry *entry = &record->entries[record->count++];
    *entry = (struct layer_entry){
        .score = selection->scored->score,
        .stages = selection->stages,
        .page_size = selection->pages->size,
        .words = kvr_bitmap_words(selection->pages->count),
    };
    entry->quotas = kvr_alloc(budgets, sizeof *entry->quotas, err);
    entry->units = kvr_alloc(budgets * entry->words, sizeof *entry->units, err);
    if (entry->quotas == NULL || entry->units == NULL)
        return KVR_NO_MEMORY;
    for (size_t b = 0; b < budgets; b++) {
        entry->quotas[b] = selection->kept[b].quota;
        memcpy(entry->units + b * entry->words, selection->kept[b].units,
               entry->words * sizeof *entry->units);
    }
    return KVR_OK;
}

static bool is_excluded(const struct layer_record *record, const struct kvr_score *score)
{
    for (size_t i = 0; i < record->excluded_count; i++)
        if (record->excluded[i] == score)
            return true;
    return false;
}

/* Both list the same scorers, policies and page sizes, but for scorers excluded in one of them:
   those are passed over on either side. */
static void unite(struct layer_record *into, const struct layer_record *record)
{
    size_t next = 0;
    for (size_t i = 0; i < into->count; i++) {
        struct layer_entry *entry = &into->entries[i];
        if (is_excluded(record, entry->score) || is_excluded(into, entry->score))
            continue;
        while (next < record->count && is_excluded(into, record->entries[next].score))
            next++;
        kvr_bitmap_unite(entry->units, record->entries[next++].units,
                         into->plan->budget_count * entry->words);
    }
    for (size_t i = 0; i < record->excluded_count; i++)
        if (!is_excluded(into, record->excluded[i]))
            into->excluded[into->excluded_count++] = record->excluded[i];
}

static void add_row(struct kvr_text *text, const struct kvr_cell_key *key,
                    const struct layer_record *layer, const struct layer_entry *entry,
                    size_t budget)
{
    uint64_t both = kvr_bitmap_count(entry->units + budget * entry->words, entry->words);
    kvr_csv_string(text, key->trace->name);
    kvr_csv_string(text, key->sample->name);
    kvr_csv_unsigned(text, key->layer->number);
    kvr_csv_string(text, entry->score->label);
    kvr_csv_string(text, entry->stages->label);
    kvr_csv_unsigned(text, entry->page_size);
    kvr_csv_string(text, layer->plan->budgets[budget].label);
    kvr_csv_unsigned(text, entry->quotas[budget]);
    kvr_csv_unsigned(text, both);
    bool uniform = !kvr_allocate_surveys(&entry->stages->allocate);
    kvr_csv_exact(text, uniform ? (double)both / (double)entry->quotas[budget] : NAN);
    kvr_csv_end(text);
}

static enum kvr_status write_layer(const struct kvr_rows_sink *sink, const struct kvr_cell_key *key,
                                   struct kvr_error *err)
{
    const struct layer_record *layer = sink->carry;
    struct kvr_text text = {0};
    for (size_t i = 0; i < layer->count; i++)
        for (size_t b = 0; b < layer->plan->budget_count; b++)
            if (!is_excluded(layer, layer->entries[i].score))
                add_row(&text, key, layer, &layer->entries[i], b);
    return kvr_rows_write(sink, &text, err);
}

/* The sink carries the record of the layer whose groups are passing. */
static enum kvr_status commit(void *state, const struct kvr_cell_key *key, void *record,
                              struct kvr_error *err)
{
    struct kvr_rows_sink *sink = state;
    if (key->group == 0) {
        discard(sink, sink->carry);
        sink->carry = record;
    } else {
        unite(sink->carry, record);
        discard(sink, record);
    }
    return key->group + 1 == key->layer->kv_heads ? write_layer(sink, key, err) : KVR_OK;
}

static void release(struct kvr_rows_sink *sink)
{
    discard(sink, sink->carry);
}

const struct kvr_result_table kvr_layers_table = {
    .name = "layers.csv",
    .header = "trace,sample,layer,scorer,policy,page_size,budget,quota,union,pur",
    .observer =
        {
            .begin = begin,
            .scored = scored_group,
            .selected = selected,
            .commit = commit,
            .discard = discard,
        },
    .release = release,
};
