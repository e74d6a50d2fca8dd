/*
 * Tallies of the ablations, and the observer that fills them. It must not know what is measured:
 * the parts do (ablation_weights.c, ablation_needles.c, ablation_pages.c).
 */
#include "analysis/ablation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/ablation_record.h"
#include "formats/base/memory.h"

const char *const kvr_ablation_operators[] = {"entropy", "max", "mean", NULL};
const char *const kvr_page_reduce_names[] = {"max", "mean", "sum", NULL};

enum { OPERATORS = 3, REDUCES = 3 };

/* ---------------------------------------------------------------------------------- settings */

/* All slots of one operator. */
static size_t slot_count(const struct kvr_plan *plan)
{
    size_t count = 0;
    for (size_t p = 0; p < plan->page_size_count; p++)
        count += (size_t)plan->page_sizes[p];
    return count;
}

static void count_settings(struct kvr_ablation *ablation)
{
    for (int table = 0; table < KVR_ABLATE_GRIDS; table++)
        ablation->setting_counts[table] = ablation->grids[table].count;
    ablation->setting_counts[KVR_ABLATE_NEEDLES] = ablation->grids[KVR_ABLATE_TEMPERATURE].count;
    ablation->setting_counts[KVR_ABLATE_PAGES] =
        OPERATORS * ablation->plan->page_size_count * REDUCES;
    ablation->setting_counts[KVR_ABLATE_SLOTS] = OPERATORS * slot_count(ablation->plan);
}

void kvr_ablation_label(const struct kvr_ablation *ablation, enum kvr_ablation_table table,
                        size_t setting, char label[KVR_ABLATION_LABEL])
{
    const struct kvr_plan *plan = ablation->plan;
    if (table == KVR_ABLATE_PAGES && plan->page_size_count > 0) {
        size_t page = setting / REDUCES;
        snprintf(label, KVR_ABLATION_LABEL, "%s,%llu,%s",
                 kvr_ablation_operators[page / plan->page_size_count],
                 (unsigned long long)plan->page_sizes[page % plan->page_size_count],
                 kvr_page_reduce_names[setting % REDUCES]);
        return;
    }
    size_t slots = slot_count(plan);
    if (table == KVR_ABLATE_SLOTS && slots > 0) {
        size_t slot = setting % slots, page = 0;
        while (slot >= plan->page_sizes[page])
            slot -= (size_t)plan->page_sizes[page++];
        snprintf(label, KVR_ABLATION_LABEL, "%s,%llu,%zu", kvr_ablation_operators[setting / slots],
                 (unsigned long long)plan->page_sizes[page], slot);
        return;
    }
    const struct kvr_weighting_grid *grid =
        &ablation->grids[table == KVR_ABLATE_NEEDLES ? KVR_ABLATE_TEMPERATURE : table];
    snprintf(label, KVR_ABLATION_LABEL, "%s", grid->labels[setting]);
}

/* ----------------------------------------------------------------------------------- tallies */

enum kvr_status kvr_ablation_open(struct kvr_ablation *ablation, struct kvr_error *err)
{
    size_t scores = ablation->plan->score_count;
    count_settings(ablation);
    ablation->groups = kvr_alloc(scores, sizeof *ablation->groups, err);
    ablation->excluded = kvr_alloc(scores, sizeof *ablation->excluded, err);
    bool failed = ablation->groups == NULL || ablation->excluded == NULL;
    for (int table = 0; table < KVR_ABLATE_TABLES; table++) {
        size_t count = scores * ablation->setting_counts[table] * KVR_ABLATE_MEASURES;
        ablation->tallies[table] = kvr_alloc(count, sizeof(struct kvr_spread), err);
        failed = failed || ablation->tallies[table] == NULL;
    }
    return failed ? KVR_NO_MEMORY : KVR_OK;
}

struct kvr_spread *kvr_ablation_tally(const struct kvr_ablation *ablation,
                                      enum kvr_ablation_table table, size_t score, size_t setting,
                                      enum kvr_ablation_measure measure)
{
    size_t row = score * ablation->setting_counts[table] + setting;
    return &ablation->tallies[table][row * KVR_ABLATE_MEASURES + measure];
}

/* ----------------------------------------------------------------------------------- records */

static void discard(void *state, void *opaque)
{
    (void)state;
    struct kvr_ablation_record *record = opaque;
    if (record == NULL)
        return;
    for (size_t i = 0; i < record->page_count; i++)
        free(record->pages[i].units);
    free(record->pages);
    free(record->facts);
    free(record->excluded);
    free(record->present);
    free(record);
}

void kvr_ablation_close(struct kvr_ablation *ablation)
{
    for (int table = 0; table < KVR_ABLATE_TABLES; table++) {
        free(ablation->tallies[table]);
        ablation->tallies[table] = NULL;
    }
    free(ablation->groups);
    free(ablation->excluded);
    ablation->groups = ablation->excluded = NULL;
    discard(NULL, ablation->layer);
    ablation->layer = NULL;
}

enum kvr_status kvr_ablation_add_weighted(const struct kvr_ablation_place *place,
                                          enum kvr_ablation_measure measure, double value,
                                          double weight)
{
    if (isnan(value))
        return KVR_OK;
    struct kvr_ablation_record *record = place->record;
    void *facts = record->facts;
    enum kvr_status status = kvr_reserve(&facts, &record->fact_capacity, record->fact_count + 1,
                                         sizeof *record->facts, place->err);
    record->facts = facts;
    if (status == KVR_OK)
        record->facts[record->fact_count++] = (struct kvr_ablation_fact){
            place->table, measure, place->score, place->setting, value, weight};
    return status;
}

enum kvr_status kvr_ablation_add(const struct kvr_ablation_place *place,
                                 enum kvr_ablation_measure measure, double value)
{
    return kvr_ablation_add_weighted(place, measure, value, 1);
}

/* ---------------------------------------------------------------------------------- observer */

static enum kvr_status begin(void *state, const struct kvr_cell *cell, void **out,
                             struct kvr_error *err)
{
    struct kvr_ablation_record *record = kvr_alloc(1, sizeof *record, err);
    *out = record;
    if (record == NULL)
        return KVR_NO_MEMORY;
    record->ablation = state;
    record->excluded = kvr_alloc(cell->plan->score_count, sizeof(bool), err);
    record->present = kvr_alloc(cell->plan->score_count, sizeof(bool), err);
    return record->excluded != NULL && record->present != NULL ? KVR_OK : KVR_NO_MEMORY;
}

static enum kvr_status scored_group(void *state, void *opaque, const struct kvr_cell *cell,
                                    const struct kvr_scored *scored, struct kvr_error *err)
{
    (void)state;
    struct kvr_ablation_record *record = opaque;
    size_t score = (size_t)(scored->score - cell->plan->scores);
    record->present[score] = true;
    record->excluded[score] = scored->not_finite > 0;
    if (scored->not_finite > 0)
        return KVR_OK;
    enum kvr_status status = kvr_ablate_weightings(record, score, cell, scored, err);
    if (status == KVR_OK)
        status = kvr_ablate_needles(record, score, cell, scored, err);
    return status == KVR_OK ? kvr_ablate_pages(record, score, cell, scored, err) : status;
}

static void add_facts(struct kvr_ablation *ablation, const struct kvr_ablation_record *record)
{
    for (size_t s = 0; s < ablation->plan->score_count; s++) {
        ablation->groups[s] += record->present[s];
        ablation->excluded[s] += record->excluded[s];
    }
    for (size_t i = 0; i < record->fact_count; i++) {
        const struct kvr_ablation_fact *fact = &record->facts[i];
        kvr_spread_add(
            kvr_ablation_tally(ablation, fact->table, fact->score, fact->setting, fact->measure),
            fact->value, fact->weight);
    }
}

/* Groups of a layer come one after the other; the ablation carries what they keep together. */
static enum kvr_status commit(void *state, const struct kvr_cell_key *key, void *opaque,
                              struct kvr_error *err)
{
    (void)err;
    struct kvr_ablation *ablation = state;
    struct kvr_ablation_record *record = opaque;
    add_facts(ablation, record);
    if (key->group == 0) {
        discard(NULL, ablation->layer);
        ablation->layer = record;
    } else {
        kvr_ablate_unite(ablation->layer, record);
        discard(NULL, record);
    }
    if (key->group + 1 == key->layer->kv_heads)
        kvr_ablate_layer(ablation, ablation->layer, key->layer->kv_heads);
    return KVR_OK;
}

struct kvr_observer kvr_ablation_observer(struct kvr_ablation *ablation)
{
    return (struct kvr_observer){
        .state = ablation,
        .begin = begin,
        .scored = scored_group,
        .commit = commit,
        .discard = discard,
    };
}
