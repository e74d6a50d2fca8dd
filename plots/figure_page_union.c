/*
 * How many pages a layer really holds: the union of its groups' kept pages over the quota, per
 * layer and policy, between 1 (all groups keep the same) and the number of KV heads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/table_reader.h"
#include "plots/caption.h"
#include "plots/figure_list.h"
#include "plots/heat_map.h"
#include "plots/policy_points.h"

struct collected {
    const struct kvr_source *source;
    const char *shown_trace, *pages;
    const char *trace, *scorer, *policy, *page_size, *budget; /* of the row */
    uint64_t layer, group;
    double pur;

    struct kvr_labels policies;
    struct kvr_heat_map means; /* [policies][layers] */
    uint64_t most_group, first_layer, rows;
};

static const struct kvr_field layers_fields[] = {
    {KVR_FIELD(struct collected, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, layer, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, policy, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, page_size, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, budget, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, pur, KVR_FIELD_FIGURE)},
};

static const struct kvr_field measures_fields[] = {
    {KVR_FIELD(struct collected, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, group, KVR_FIELD_UNSIGNED)},
};

static enum kvr_status take_group(void *state, const struct kvr_table_reader *reader,
                                  struct kvr_error *err)
{
    struct collected *c = state;
    (void)reader;
    (void)err;
    if (strcmp(c->trace, c->shown_trace) == 0 && c->group > c->most_group)
        c->most_group = c->group;
    return KVR_OK;
}

static enum kvr_status take(void *state, const struct kvr_table_reader *reader,
                            struct kvr_error *err)
{
    struct collected *c = state;
    size_t policy;
    (void)reader;
    if (isnan(c->pur) || strcmp(c->trace, c->shown_trace) != 0 ||
        strcmp(c->page_size, c->pages) != 0 || strcmp(c->budget, c->source->budget) != 0 ||
        !kvr_source_shows_policy(c->source, c->policy, c->scorer))
        return KVR_OK;
    enum kvr_status status = kvr_labels_add(&c->policies, c->policy, &policy, err);
    if (c->rows++ == 0 || c->layer < c->first_layer)
        c->first_layer = c->layer;
    return status == KVR_OK ? kvr_heat_map_add(&c->means, policy, c->layer, c->pur, err) : status;
}

static void write(const struct collected *c, struct kvr_draft *draft)
{
    char words[KVR_COUNT_ROOM];
    const struct kvr_heat_map *map = &c->means;
    for (size_t p = 0; p < c->policies.count; p++) {
        kvr_draft_block(draft, "%s: layer, mean of pur, rows", c->policies.names[p]);
        for (size_t l = 0; l < map->columns; l++) {
            const struct kvr_heat_cell *cell = &map->cells[p * map->column_room + l];
            if (cell->count == 0)
                continue;
            kvr_draft_value(draft, (double)l);
            kvr_draft_value(draft, cell->sum / (double)cell->count);
            kvr_draft_value(draft, (double)cell->count);
            kvr_draft_end(draft);
        }
    }
    kvr_policy_names_write(draft, c->source, (const char *const *)c->policies.names,
                           c->policies.count);
    kvr_draft_number(draft, "first_layer", (double)c->first_layer);
    kvr_draft_number(draft, "last_layer", (double)map->columns - 1);
    kvr_draft_number(draft, "kv_heads", (double)c->most_group + 1);
    kvr_policy_lines_size(draft, c->policies.count, 1.9);
    kvr_draft_say(draft,
                  "Union of the pages that a layer's groups keep, over the quota of one group: 1 "
                  "where all groups keep the same pages, the number of KV heads (dashed) where "
                  "they share none. Means over samples of %s.",
                  kvr_count_words(words, c->rows, "(sample, layer, policy) row"));
    if (c->source->trace == NULL && c->source->traces.count > 1)
        kvr_draft_say(draft, "Of the traces only %s is shown.", c->shown_trace);
    kvr_caption_scope(draft, c->source, KVR_SCOPE_SCORER | KVR_SCOPE_BUDGET | KVR_SCOPE_PAGES,
                      c->pages);
}

enum kvr_status kvr_figure_page_union(const struct kvr_source *source, struct kvr_draft *draft,
                                      struct kvr_error *err)
{
    struct collected c = {.source = source, .pages = kvr_source_pages(source)};
    if (source->scorer == NULL)
        return KVR_OK;
    if (c.pages == NULL)
        return kvr_draft_skip(draft, "the replay has no page size above 1: replay with "
                                     "--page-size 16");
    c.shown_trace = source->trace != NULL ? source->trace : source->traces.names[0];
    enum kvr_status status =
        kvr_table_each(source->folder, "layers.csv", layers_fields,
                       sizeof layers_fields / sizeof *layers_fields, &c, take, &c, err);
    if (status == KVR_OK)
        status = kvr_table_each(source->folder, "measures.csv", measures_fields, 2, &c, take_group,
                                &c, err);
    if (status == KVR_OK && c.rows > 0 && c.most_group == 0)
        kvr_draft_skip(draft, "its layers have one KV head each, so there is nothing to share");
    else if (status == KVR_OK && c.rows > 0)
        write(&c, draft);
    kvr_heat_map_free(&c.means);
    kvr_labels_free(&c.policies);
    return status;
}
