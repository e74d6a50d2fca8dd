/*
 * Where in the model heads disagree: maps over layers and groups of union overhead, disagreement
 * and retained mass, means over the samples of one trace.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/table_reader.h"
#include "plots/caption.h"
#include "plots/figure_list.h"
#include "plots/heat_map.h"

enum { UOR, DISAGREEMENT, RETAINED, MAPS };

struct collected {
    const struct kvr_source *source;
    const char *shown_trace, *shown_policy;
    const char *trace, *layer, *scorer, *policy, *page_size, *budget; /* of the row */
    uint64_t group;
    double uor, j_mean, retained_mass;

    struct kvr_labels layers;
    struct kvr_heat_map maps[MAPS];
};

static const struct kvr_field bounds_fields[] = {
    {KVR_FIELD(struct collected, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, layer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, group, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, page_size, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, budget, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, uor, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct collected, j_mean, KVR_FIELD_FIGURE)},
};

static const struct kvr_field measures_fields[] = {
    {KVR_FIELD(struct collected, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, layer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, group, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, page_size, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, budget, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, policy, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, retained_mass, KVR_FIELD_FIGURE)},
};

static bool is_shown(const struct collected *c)
{
    return strcmp(c->trace, c->shown_trace) == 0 && strcmp(c->scorer, c->source->scorer) == 0 &&
           strcmp(c->page_size, c->source->page_size) == 0 &&
           strcmp(c->budget, c->source->budget) == 0;
}

static enum kvr_status take_bounds(void *state, const struct kvr_table_reader *reader,
                                   struct kvr_error *err)
{
    struct collected *c = state;
    size_t layer;
    (void)reader;
    if (!is_shown(c))
        return KVR_OK;
    enum kvr_status status = kvr_labels_add(&c->layers, c->layer, &layer, err);
    if (status == KVR_OK)
        status = kvr_heat_map_add(&c->maps[UOR], layer, c->group, c->uor, err);
    return status == KVR_OK
               ? kvr_heat_map_add(&c->maps[DISAGREEMENT], layer, c->group, 1 - c->j_mean, err)
               : status;
}

static enum kvr_status take_measures(void *state, const struct kvr_table_reader *reader,
                                     struct kvr_error *err)
{
    struct collected *c = state;
    (void)reader;
    if (!is_shown(c) || strcmp(c->policy, c->shown_policy) != 0)
        return KVR_OK;
    size_t layer = kvr_labels_find(&c->layers, c->layer);
    return layer == c->layers.count
               ? KVR_OK
               : kvr_heat_map_add(&c->maps[RETAINED], layer, c->group, c->retained_mass, err);
}

/* mean if the replay has it, else the first that ranks by the shown scorer. */
static const char *choose_policy(const struct kvr_source *source)
{
    const char *first = NULL;
    for (size_t i = 0; i < source->policy_scorers.count; i++) {
        const char *pair = source->policy_scorers.names[i], *scorer = strchr(pair, '\n') + 1;
        if (strcmp(scorer, source->scorer) != 0)
            continue;
        for (size_t p = 0; p < source->policies.count; p++) {
            const char *policy = source->policies.names[p];
            size_t length = (size_t)(scorer - 1 - pair);
            if (strncmp(policy, pair, length) != 0 || policy[length] != '\0')
                continue;
            if (strcmp(policy, "mean") == 0)
                return policy;
            first = first == NULL ? policy : first;
        }
    }
    return first;
}

static void write(const struct collected *c, struct kvr_draft *draft)
{
    static const char *const titles[MAPS] = {"union overhead", "disagreement", "retained mass"};
    size_t rows = c->layers.count, columns = c->maps[UOR].columns, count = 0;
    const char *shown[MAPS];
    char words[KVR_COUNT_ROOM];
    double least[MAPS], most[MAPS];
    for (size_t m = 0; m < MAPS; m++) {
        if (c->maps[m].rows == 0)
            continue;
        kvr_draft_block(draft, "%s: group, row of the layer, mean, rows", titles[m]);
        kvr_heat_map_write(&c->maps[m], rows, columns, draft);
        kvr_heat_map_range(&c->maps[m], &least[count], &most[count]);
        shown[count++] = titles[m];
    }
    kvr_draft_numbers(draft, "least", least, count);
    kvr_draft_numbers(draft, "most", most, count);
    kvr_draft_strings(draft, "titles", shown, count);
    kvr_draft_strings(draft, "layers", (const char *const *)c->layers.names, rows);
    kvr_draft_number(draft, "groups", (double)columns);
    draft->height = rows > 20 ? 3.2 : 1.55 + 0.085 * (double)rows;
    draft->text_lines = 12 + (double)rows;
    kvr_draft_say(draft,
                  "Union overhead, disagreement D = 1 - J and retained mass of %s in each (layer, "
                  "group): means over samples; %s.",
                  c->shown_policy != NULL ? c->shown_policy : "no policy",
                  kvr_count_words(words, rows, "layer"));
    if (c->source->trace == NULL && c->source->traces.count > 1)
        kvr_draft_say(draft, "Of the traces only %s is shown.", c->shown_trace);
    kvr_caption_scope(draft, c->source, KVR_SCOPE_SCORER | KVR_SCOPE_BUDGET | KVR_SCOPE_PAGES,
                      NULL);
}

enum kvr_status kvr_figure_layer_group(const struct kvr_source *source, struct kvr_draft *draft,
                                       struct kvr_error *err)
{
    struct collected c = {.source = source};
    if (source->scorer == NULL)
        return KVR_OK;
    c.shown_trace = source->trace != NULL ? source->trace : source->traces.names[0];
    c.shown_policy = choose_policy(source);
    enum kvr_status status =
        kvr_table_each(source->folder, "bounds.csv", bounds_fields,
                       sizeof bounds_fields / sizeof *bounds_fields, &c, take_bounds, &c, err);
    if (status == KVR_OK && c.shown_policy != NULL)
        status = kvr_table_each(source->folder, "measures.csv", measures_fields,
                                sizeof measures_fields / sizeof *measures_fields, &c, take_measures,
                                &c, err);
    if (status == KVR_OK && c.layers.count > 0)
        write(&c, draft);
    for (size_t m = 0; m < MAPS; m++)
        kvr_heat_map_free(&c.maps[m]);
    kvr_labels_free(&c.layers);
    return status;
}
