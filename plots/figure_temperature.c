/*
 * What temperature and order of the entropy do: the largest weight in a group over temperatures,
 * falling to 1/r, and the heads' entropy over orders. From the ablations.
 */
#include <math.h>
#include <string.h>

#include "formats/base/number.h"
#include "formats/table_reader.h"
#include "plots/caption.h"
#include "plots/figure_list.h"

struct collected {
    const struct kvr_source *source;
    struct kvr_draft *draft;
    const char *scorer, *tau, *alpha; /* of the row */
    uint64_t groups, heads, rises;
    double max_weight, max_weight_sd, above_uniform, entropy, entropy_sd;

    struct kvr_labels scorers;
    size_t shown_scorer;
    uint64_t rows, most_count, all_rises;
    double uniform; /* mean of 1/r */
};

static const struct kvr_field temperature_fields[] = {
    {KVR_FIELD(struct collected, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, tau, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, groups, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, max_weight, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct collected, max_weight_sd, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct collected, above_uniform, KVR_FIELD_FIGURE)},
};

static const struct kvr_field order_fields[] = {
    {KVR_FIELD(struct collected, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, alpha, KVR_FIELD_STRING)},
    {KVR_FIELD(struct collected, heads, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct collected, entropy, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct collected, entropy_sd, KVR_FIELD_FIGURE)},
};

static enum kvr_status take_scorer(void *state, const struct kvr_table_reader *reader,
                                   struct kvr_error *err)
{
    struct collected *c = state;
    (void)reader;
    return kvr_labels_add(&c->scorers, c->scorer, NULL, err);
}

static bool is_shown(struct collected *c)
{
    return kvr_labels_find(&c->scorers, c->scorer) == c->shown_scorer;
}

static void add_row(struct collected *c, const char *setting, double mean, double deviation,
                    uint64_t count)
{
    double place;
    kvr_draft_value(c->draft, (double)c->rows++);
    kvr_draft_value(c->draft, kvr_parse_double(setting, &place) ? place : NAN);
    kvr_draft_value(c->draft, mean);
    kvr_draft_value(c->draft, deviation);
    kvr_draft_value(c->draft, (double)count);
    kvr_draft_name(c->draft, setting);
    kvr_draft_end(c->draft);
    if (count > c->most_count)
        c->most_count = count;
}

static enum kvr_status take_temperature(void *state, const struct kvr_table_reader *reader,
                                        struct kvr_error *err)
{
    struct collected *c = state;
    (void)reader;
    (void)err;
    if (!is_shown(c) || isnan(c->max_weight))
        return KVR_OK;
    if (c->rows == 0)
        kvr_draft_block(c->draft, "temperature: row, tau, largest weight, deviation, groups, name");
    add_row(c, c->tau, c->max_weight, c->max_weight_sd, c->groups);
    c->uniform = c->max_weight - c->above_uniform;
    return KVR_OK;
}

static enum kvr_status take_order(void *state, const struct kvr_table_reader *reader,
                                  struct kvr_error *err)
{
    struct collected *c = state;
    (void)reader;
    (void)err;
    if (!is_shown(c) || isnan(c->entropy))
        return KVR_OK;
    if (c->rows == 0)
        kvr_draft_block(c->draft, "order: row, alpha, entropy, deviation, heads, name");
    add_row(c, c->alpha, c->entropy, c->entropy_sd, c->heads);
    return KVR_OK;
}

static void write(const struct collected *c, uint64_t groups, struct kvr_draft *draft)
{
    char groups_words[KVR_COUNT_ROOM], heads_words[KVR_COUNT_ROOM];
    kvr_draft_number(draft, "uniform", c->uniform);
    kvr_draft_number(draft, "orders", (double)c->rows);
    draft->height = 3.2;
    draft->text_lines = 40;
    kvr_draft_say(
        draft,
        "Above, the largest entropy weight in a group against the temperature (%s; mean "
        "and standard deviation), dashed the uniform weight 1/r. Below, the sink-isolated "
        "Renyi entropy of the heads against its order (%s; mean and standard deviation). "
        "Scorer %s.",
        kvr_count_words(groups_words, groups, "group"),
        kvr_count_words(heads_words, c->most_count, "head"), c->scorers.names[c->shown_scorer]);
}

enum kvr_status kvr_figure_temperature(const struct kvr_source *source, struct kvr_draft *draft,
                                       struct kvr_error *err)
{
    struct collected c = {.source = source, .draft = draft};
    enum kvr_status status = kvr_table_each(source->folder, "ablation_temperature.csv",
                                            temperature_fields, 1, &c, take_scorer, &c, err);
    c.shown_scorer = source->scorer != NULL ? kvr_labels_find(&c.scorers, source->scorer) : 0;
    if (c.shown_scorer == c.scorers.count)
        c.shown_scorer = 0;
    if (status == KVR_OK)
        status = kvr_table_each(source->folder, "ablation_temperature.csv", temperature_fields,
                                sizeof temperature_fields / sizeof *temperature_fields, &c,
                                take_temperature, &c, err);
    uint64_t groups = c.most_count, temperatures = c.rows;
    c.rows = c.most_count = 0;
    if (status == KVR_OK && temperatures > 0)
        status =
            kvr_table_each(source->folder, "ablation_order.csv", order_fields,
                           sizeof order_fields / sizeof *order_fields, &c, take_order, &c, err);
    if (status == KVR_OK && temperatures > 0 && c.rows > 0)
        write(&c, groups, draft);
    else if (status == KVR_OK)
        kvr_draft_skip(draft, "the ablations have no row with a weight");
    kvr_labels_free(&c.scorers);
    return status;
}
