/*
 * Laying single layers out: a line per layer with its means, which opens to groups and heads.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "plots/html_table.h"
#include "plots/html_text.h"
#include "plots/report_layers.h"

/* Heads beyond this are shown for the first scorer alone: a page must stay a page. */
enum { MOST_HEAD_LINES = 6000 };

static const struct kvr_column group_columns[] = {
    {"group", "group", KVR_COLUMN_NUMBER, 0, false},
    {"scorer", "scorer", KVR_COLUMN_KEY, 0, false},
    {"prompts", "prompts", KVR_COLUMN_COUNT, 0, false},
    {"uor", "UOR mean", KVR_COLUMN_FIGURE, 3, false},
    {"uor_max", "UOR max", KVR_COLUMN_FIGURE, 3, false},
    {"d", "D mean", KVR_COLUMN_FIGURE, 3, false},
};

static const struct kvr_column head_columns[] = {
    {"head", "head", KVR_COLUMN_NUMBER, 0, false},
    {"group", "group", KVR_COLUMN_NUMBER, 0, false},
    {"scorer", "scorer", KVR_COLUMN_KEY, 0, false},
    {"class", "mostly", KVR_COLUMN_KEY, 0, false},
    {"sink_mass", "sink mass", KVR_COLUMN_FIGURE, 3, false},
    {"h_raw", "H raw", KVR_COLUMN_FIGURE, 2, false},
    {"h_isolated", "H isolated", KVR_COLUMN_FIGURE, 2, false},
    {"weight_raw", "weight raw", KVR_COLUMN_FIGURE, 3, false},
    {"weight_isolated", "weight isolated", KVR_COLUMN_FIGURE, 3, false},
    {"max_prob", "largest", KVR_COLUMN_FIGURE, 3, false},
    {"needle_mass", "needle mass", KVR_COLUMN_FIGURE, 4, false},
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static double mean_of(struct kvr_prompt_mean mean)
{
    return mean.count > 0 ? mean.sum / (double)mean.count : NAN;
}

static const char *const classes[KVR_LAYER_CLASSES] = {"sink", "retrieval", "contextual"};

/* The class that it has in the most prompts. */
static size_t class_of(const struct kvr_layer_head *head)
{
    size_t most = 0;
    for (size_t c = 1; c < KVR_LAYER_CLASSES; c++)
        if (head->classes[c] > head->classes[most])
            most = c;
    return most;
}

static enum kvr_status add_groups(const struct kvr_report_layers *layers, size_t layer,
                                  struct kvr_text *text, struct kvr_error *err)
{
    struct kvr_paper_table table = {.columns = group_columns, .column_count = COUNT(group_columns)};
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < layers->group_count; i++) {
        const struct kvr_layer_group *group = &layers->groups[i];
        struct kvr_table_cell *cells;
        if (group->layer != layer)
            continue;
        status = kvr_paper_table_row(&table, &cells, err);
        if (status != KVR_OK)
            break;
        cells[0].value = (double)group->group;
        cells[1].text = layers->scorers.items[group->scorer];
        cells[2].value = (double)group->uor.count;
        cells[3].value = mean_of(group->uor);
        cells[4].value = group->uor_most;
        cells[5].value = mean_of(group->disagreement);
    }
    char id[48];
    snprintf(id, sizeof id, "layer-%zu-groups", layer);
    if (status == KVR_OK)
        kvr_html_table(text, &table, id, "Groups of this layer");
    kvr_paper_table_free(&table);
    return status;
}

static enum kvr_status add_heads(const struct kvr_report_layers *layers, size_t layer,
                                 struct kvr_text *text, struct kvr_error *err)
{
    struct kvr_paper_table table = {.columns = head_columns, .column_count = COUNT(head_columns)};
    bool first_only = layers->head_count > MOST_HEAD_LINES;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < layers->head_count; i++) {
        const struct kvr_layer_head *head = &layers->heads[i];
        struct kvr_table_cell *cells;
        if (head->layer != layer || (first_only && head->scorer != layers->heads[0].scorer))
            continue;
        status = kvr_paper_table_row(&table, &cells, err);
        if (status != KVR_OK)
            break;
        const struct kvr_prompt_mean means[] = {
            head->sink_mass,       head->h2_raw,   head->h2_isolated, head->weight_raw,
            head->weight_isolated, head->max_prob, head->needle_mass};
        cells[0].value = (double)head->head;
        cells[1].value = (double)head->group;
        cells[2].text = layers->scorers.items[head->scorer];
        cells[3].text = classes[class_of(head)];
        for (size_t m = 0; m < COUNT(means); m++)
            cells[4 + m].value = mean_of(means[m]);
    }
    if (status == KVR_OK && first_only)
        status = kvr_paper_table_note(&table, err,
                                      "Of the first scorer alone: the replay has "
                                      "many heads; heads.csv has all of them.");
    char id[48];
    snprintf(id, sizeof id, "layer-%zu-heads", layer);
    if (status == KVR_OK)
        kvr_html_table(text, &table, id, "Heads of this layer");
    kvr_paper_table_free(&table);
    return status;
}

/* ------------------------------------------------------------------------------ the line */

/* Means of a layer under the first scorer that it has. */
struct layer_line {
    double uor, disagreement;
    uint64_t groups, heads[KVR_LAYER_CLASSES];
};

static struct layer_line line_of(const struct kvr_report_layers *layers, size_t layer)
{
    struct layer_line line = {.groups = 0};
    struct kvr_prompt_mean uor = {0}, disagreement = {0};
    size_t scorer = SIZE_MAX;
    for (size_t i = 0; i < layers->group_count; i++) {
        const struct kvr_layer_group *group = &layers->groups[i];
        if (group->layer != layer || (scorer != SIZE_MAX && group->scorer != scorer))
            continue;
        scorer = group->scorer;
        line.groups++;
        uor.sum += group->uor.sum;
        uor.count += group->uor.count;
        disagreement.sum += group->disagreement.sum;
        disagreement.count += group->disagreement.count;
    }
    for (size_t i = 0; i < layers->head_count; i++) {
        const struct kvr_layer_head *head = &layers->heads[i];
        if (head->layer != layer || (scorer != SIZE_MAX && head->scorer != scorer))
            continue;
        scorer = head->scorer;
        line.heads[class_of(head)]++;
    }
    line.uor = mean_of(uor);
    line.disagreement = mean_of(disagreement);
    return line;
}

/* A bar from 1 to `most`, for the eye; the number stands beside it. */
static void add_bar(struct kvr_text *text, double value, double least, double most)
{
    double share = most > least ? 100 * (value - least) / (most - least) : 0;
    kvr_text_add(text,
                 "<span class=\"bar\" aria-hidden=\"true\"><i style=\"width:%.1f%%\"></i></span>",
                 fmin(fmax(share, 0), 100));
}

static void add_line(struct kvr_text *text, const struct kvr_report_layer *layer,
                     const struct layer_line *line, double most)
{
    kvr_text_add(text, "<summary><b>Layer %" PRIu64 "</b><span class=\"cell\">", layer->number);
    if (isnan(line->uor)) {
        kvr_text_string(text, "no group here");
    } else {
        add_bar(text, line->uor, 1, most);
        kvr_text_add(text, "UOR %.3f</span><span class=\"cell\">", line->uor);
        if (!isnan(line->disagreement)) {
            add_bar(text, line->disagreement, 0, 1);
            kvr_text_add(text, "D %.3f", line->disagreement);
        }
    }
    kvr_text_string(text, "</span><span class=\"cell heads\">");
    kvr_html_counted(text, line->heads[0], "sink head");
    kvr_text_string(text, ", ");
    kvr_html_count(text, line->heads[1]);
    kvr_text_string(text, " retrieval, ");
    kvr_html_count(text, line->heads[2]);
    kvr_text_string(text, " contextual</span></summary>\n");
}

static enum kvr_status add_layer(const struct kvr_report_layers *layers, size_t index, double most,
                                 struct kvr_text *text, struct kvr_error *err)
{
    struct layer_line line = line_of(layers, index);
    kvr_text_string(text, "<details class=\"layer\">");
    add_line(text, &layers->layers[index], &line, most);
    kvr_text_string(text, "<h4>Groups</h4>\n");
    enum kvr_status status = add_groups(layers, index, text, err);
    kvr_text_string(text, "<h4>Heads</h4>\n");
    if (status == KVR_OK)
        status = add_heads(layers, index, text, err);
    kvr_text_string(text, "</details>\n");
    return status;
}

/* ------------------------------------------------------------------------------ order */

static bool comes_before(const struct kvr_report_layer *a, const struct kvr_report_layer *b)
{
    return a->trace != b->trace ? a->trace < b->trace : a->number < b->number;
}

/* They mostly are in order already. */
static void sort_layers(const struct kvr_report_layers *layers, size_t *order)
{
    for (size_t i = 0; i < layers->layer_count; i++) {
        size_t at = i;
        for (; at > 0 && comes_before(&layers->layers[i], &layers->layers[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static double largest_uor(const struct kvr_report_layers *layers)
{
    double most = 1;
    for (size_t i = 0; i < layers->group_count; i++)
        most = fmax(most, mean_of(layers->groups[i].uor));
    return most;
}

enum kvr_status kvr_report_add_layers(const struct kvr_report_layers *layers, struct kvr_text *text,
                                      struct kvr_error *err)
{
    size_t *order = kvr_alloc(layers->layer_count, sizeof *order, err);
    if (order == NULL)
        return KVR_NO_MEMORY;
    sort_layers(layers, order);
    double most = largest_uor(layers);
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < layers->layer_count; i++) {
        const struct kvr_report_layer *layer = &layers->layers[order[i]];
        if (i == 0 || layers->layers[order[i - 1]].trace != layer->trace) {
            kvr_text_string(text, "<h3>");
            kvr_html_string(text, layers->traces.items[layer->trace]);
            kvr_text_string(text, "</h3>\n");
        }
        status = add_layer(layers, order[i], most, text, err);
    }
    if (layers->layer_count == 0)
        kvr_text_string(text, "<p class=\"empty\">No layer has a group that could be "
                              "replayed.</p>\n");
    free(order);
    return status;
}
