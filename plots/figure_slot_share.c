/*
 * Where in a kept page the pooled mass lies: the share of each of its B slots, per operator,
 * against the uniform share 1/B. From the ablations.
 */
#include <math.h>
#include <string.h>

#include "formats/table_reader.h"
#include "plots/caption.h"
#include "plots/figure_list.h"
#include "plots/heat_map.h"

struct collected {
    const struct kvr_source *source;
    const char *scorer, *pooling, *page_size; /* of the row */
    uint64_t slot, groups;
    double share;

    struct kvr_labels scorers, page_sizes, operators;
    size_t shown_scorer, shown_page_size;
    struct kvr_heat_map shares; /* [operators][slots] */
    uint64_t most_groups;
};

static const struct kvr_field fields[] = {
    {KVR_FIELD(struct collected, scorer, KVR_FIELD_STRING)},
    {"operator", KVR_FIELD_STRING, offsetof(struct collected, pooling)},
    {KVR_FIELD(struct collected, page_size, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, slot, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, groups, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, share, KVR_FIELD_FIGURE)},
};

static enum kvr_status take_names(void *state, const struct kvr_table_reader *reader,
                                  struct kvr_error *err)
{
    struct collected *c = state;
    (void)reader;
    enum kvr_status status = kvr_labels_add(&c->scorers, c->scorer, NULL, err);
    return status == KVR_OK ? kvr_labels_add(&c->page_sizes, c->page_size, NULL, err) : status;
}

/* The asked one where the table has it, the usual one, or the first. */
static size_t choose(struct kvr_labels *labels, const char *asked, const char *usual)
{
    size_t place = asked != NULL ? kvr_labels_find(labels, asked) : labels->count;
    if (place == labels->count)
        place = kvr_labels_find(labels, usual);
    return place < labels->count ? place : 0;
}

static enum kvr_status take(void *state, const struct kvr_table_reader *reader,
                            struct kvr_error *err)
{
    struct collected *c = state;
    size_t place;
    (void)reader;
    if (kvr_labels_find(&c->scorers, c->scorer) != c->shown_scorer ||
        kvr_labels_find(&c->page_sizes, c->page_size) != c->shown_page_size)
        return KVR_OK;
    enum kvr_status status = kvr_labels_add(&c->operators, c->pooling, &place, err);
    if (c->groups > c->most_groups)
        c->most_groups = c->groups;
    return status == KVR_OK ? kvr_heat_map_add(&c->shares, place, c->slot, c->share, err) : status;
}

static void write(const struct collected *c, struct kvr_draft *draft)
{
    const struct kvr_heat_map *map = &c->shares;
    char words[KVR_COUNT_ROOM];
    for (size_t o = 0; o < c->operators.count; o++) {
        kvr_draft_block(draft, "%s: slot, share", c->operators.names[o]);
        for (size_t s = 0; s < map->columns; s++) {
            kvr_draft_value(draft, (double)s);
            kvr_draft_value(draft, o < map->rows ? map->cells[o * map->column_room + s].sum : NAN);
            kvr_draft_end(draft);
        }
    }
    kvr_draft_strings(draft, "operators", (const char *const *)c->operators.names,
                      c->operators.count);
    kvr_draft_number(draft, "slots", (double)map->columns);
    draft->height = 2.1;
    kvr_draft_say(draft,
                  "Share of the pooled mass inside kept pages of %zu tokens that lies on each slot "
                  "of the page, per operator (means over %s); dashed the uniform share, %.2f %%. "
                  "Scorer %s.",
                  map->columns, kvr_count_words(words, c->most_groups, "group"),
                  100 / (double)map->columns, c->scorers.names[c->shown_scorer]);
}

enum kvr_status kvr_figure_slot_share(const struct kvr_source *source, struct kvr_draft *draft,
                                      struct kvr_error *err)
{
    enum { FIELDS = sizeof fields / sizeof *fields };
    static const char table[] = "ablation_slots.csv";
    struct collected c = {.source = source};
    enum kvr_status status =
        kvr_table_each(source->folder, table, fields, FIELDS, &c, take_names, &c, err);
    c.shown_scorer = choose(&c.scorers, source->scorer, "last");
    c.shown_page_size = choose(&c.page_sizes, kvr_source_pages(source), "16");
    if (status == KVR_OK)
        status = kvr_table_each(source->folder, table, fields, FIELDS, &c, take, &c, err);
    if (status == KVR_OK && c.shares.columns > 0)
        write(&c, draft);
    kvr_heat_map_free(&c.shares);
    kvr_labels_free(&c.scorers);
    kvr_labels_free(&c.page_sizes);
    kvr_labels_free(&c.operators);
    return status;
}
