/*
 * kvreplay info: the page that tells what a trace holds. Only structure is read, no values; what is
 * told is gathered in info_facts.h, here it is laid out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/trace_names.h"
#include "replay/cli/command.h"
#include "replay/cli/info_facts.h"
#include "replay/cli/info_json.h"
#include "replay/cli/readable.h"

/* The page stays a page: what goes on is counted. */
enum { MOST_LINES = 12, MOST_NEEDLES = 3, MOST_RANGES = 8 };

static const struct kvr_option options[] = {
    {"--json", NULL, "write one JSON object instead of a page"},
    {NULL, NULL, NULL},
};

static unsigned long long wide(uint64_t value)
{
    return value;
}

static const char *text_of(const struct kvr_text *text)
{
    return text->data != NULL ? text->data : "";
}

static void add_plural(struct kvr_text *text, uint64_t count, const char *noun)
{
    kvr_text_thousands(text, count);
    kvr_text_add(text, " %s%s", noun, count == 1 ? "" : "s");
}

static void add_more(struct kvr_text *text, uint64_t count, const char *noun)
{
    if (count == 0)
        return;
    kvr_text_string(text, "  and ");
    kvr_text_thousands(text, count);
    kvr_text_add(text, " more %s%s\n", noun, count == 1 ? "" : "s");
}

/* ---------------------------------------------------------------------------- head */

static void add_head(struct kvr_text *page, const struct kvr_trace *trace,
                     const struct kvr_info *info)
{
    kvr_text_printable(page, trace->name);
    kvr_text_string(page, "\n  model     ");
    kvr_text_printable(page, trace->model != NULL ? trace->model : "not recorded");
    if (trace->producer != NULL) {
        kvr_text_string(page, "\n  producer  ");
        kvr_text_printable(page, trace->producer);
    }
    kvr_text_string(page, "\n  size      ");
    kvr_text_size(page, trace->file_bytes);
    kvr_text_string(page, " (");
    kvr_text_thousands(page, trace->file_bytes);
    kvr_text_string(page, " bytes)");
    kvr_text_string(page, "\n  holds     ");
    add_plural(page, trace->sample_count, "sample");
    kvr_text_string(page, ", ");
    add_plural(page, info->layers, "layer");
    kvr_text_string(page, ", ");
    add_plural(page, info->datasets, "dataset");
    kvr_text_string(page, trace->sample_count > 1 ? " in all\n" : "\n");
}

/* ---------------------------------------------------------------------------- samples */

/* "8 (1016-1023)", "8 in 100-1023" where rows between are not recorded, "-" for none. */
static void add_rows(struct kvr_columns *columns, const uint64_t *positions, size_t count)
{
    if (count == 0)
        kvr_columns_cell(columns, "-");
    else if (count == 1)
        kvr_columns_cell(columns, "1 (%llu)", wide(positions[0]));
    else if (positions[count - 1] - positions[0] == count - 1)
        kvr_columns_cell(columns, "%zu (%llu-%llu)", count, wide(positions[0]),
                         wide(positions[count - 1]));
    else
        kvr_columns_cell(columns, "%zu in %llu-%llu", count, wide(positions[0]),
                         wide(positions[count - 1]));
}

/* "19-24 (2 %)": first and last token, and the depth of the first in the prompt. */
static void add_needles(struct kvr_columns *columns, const struct kvr_sample *sample)
{
    struct kvr_text cell = {0};
    for (size_t n = 0; n < sample->needle_count && n < MOST_NEEDLES; n++) {
        const struct kvr_span *needle = &sample->needles[n];
        uint64_t pad = sample->pad, length = sample->prompt_length - pad;
        double depth = 100.0 * ((double)needle->start - (double)pad) / (double)length;
        kvr_text_add(&cell, "%s%llu-%llu (%.0f %%)", n > 0 ? ", " : "", wide(needle->start),
                     wide(needle->end > 0 ? needle->end - 1 : 0), depth);
    }
    if (sample->needle_count > MOST_NEEDLES)
        kvr_text_add(&cell, " and %zu more", sample->needle_count - MOST_NEEDLES);
    kvr_columns_cell(columns, "%s", sample->needle_count > 0 ? text_of(&cell) : "-");
    kvr_text_free(&cell);
}

/* Everything of a sample's line but its name. */
static void add_sample_cells(struct kvr_columns *columns, const struct kvr_sample *sample)
{
    struct kvr_row_count rows = kvr_count_rows(sample);
    const char *task = sample->task != NULL ? sample->task : "";
    const char *subset = sample->subset != NULL ? sample->subset : "";
    bool both = task[0] != '\0' && subset[0] != '\0';
    kvr_columns_cell(columns, "%s%s%s", task, both ? " / " : "", subset);
    kvr_columns_cell(columns, "%llu", wide(sample->prompt_length));
    kvr_columns_cell(columns, "%llu", wide(sample->context_length - sample->prompt_length));
    kvr_columns_cell(columns, "%llu", wide(sample->pad));
    add_rows(columns, sample->query_positions, rows.prefill);
    add_rows(columns, sample->query_positions + rows.prefill, rows.decode);
    add_needles(columns, sample);
}

static const char sample_alignment[] = "llrrrlll";

static void add_sample_header(struct kvr_columns *columns)
{
    static const char *const names[] = {"name", "task",         "prompt",      "decoded",
                                        "pad",  "prefill rows", "decode rows", "needles"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        kvr_columns_cell(columns, "%s", names[i]);
    kvr_columns_end_row(columns);
}

/* The cells of samples[s], and in *end the first later sample that has others. */
static void find_equal_samples(const struct kvr_trace *trace, size_t s, struct kvr_columns *cells,
                               size_t *end)
{
    struct kvr_columns other = {0};
    add_sample_cells(cells, &trace->samples[s]);
    for (*end = s + 1; *end < trace->sample_count; ++*end) {
        kvr_text_clear(&other.cells);
        add_sample_cells(&other, &trace->samples[*end]);
        if (strcmp(text_of(&cells->cells), text_of(&other.cells)) != 0)
            break;
    }
    kvr_columns_free(&other);
}

static void add_samples(struct kvr_text *page, const struct kvr_trace *trace)
{
    struct kvr_columns table = {0}, cells = {0};
    size_t lines = 0, s = 0, end;
    add_sample_header(&table);
    for (; s < trace->sample_count && lines < MOST_LINES; s = end, lines++) {
        kvr_text_clear(&cells.cells);
        find_equal_samples(trace, s, &cells, &end);
        if (end - s == 1)
            kvr_columns_cell(&table, "%s", trace->samples[s].name);
        else
            kvr_columns_cell(&table, "%s to %s (%zu)", trace->samples[s].name,
                             trace->samples[end - 1].name, end - s);
        kvr_text_string(&table.cells, text_of(&cells.cells));
        kvr_columns_end_row(&table);
    }
    kvr_text_string(page, "\nSamples\n");
    kvr_columns_write(&table, sample_alignment, page);
    add_more(page, trace->sample_count - s, "sample");
    kvr_columns_free(&table);
    kvr_columns_free(&cells);
}

/* ---------------------------------------------------------------------------- layers */

static void add_layer_kind(struct kvr_columns *columns, const struct kvr_layer *layer)
{
    struct kvr_text cell = {0};
    if (layer->sliding_window > 0)
        kvr_text_add(&cell, "window of %llu", wide(layer->sliding_window));
    else
        kvr_text_string(&cell, "full attention");
    if (layer->sink_logits)
        kvr_text_string(&cell, ", sink logits");
    if (!isnan(layer->scale))
        kvr_text_add(&cell, ", scale %.6g", layer->scale);
    if (!isnan(layer->softcap))
        kvr_text_add(&cell, ", softcap %.6g", layer->softcap);
    kvr_columns_cell(columns, "%s", text_of(&cell));
    kvr_text_free(&cell);
}

static void add_layer_members(struct kvr_columns *columns, const struct kvr_layer *layer)
{
    struct kvr_text cell = {0};
    for (unsigned m = 0; m < KVR_MEMBERS; m++)
        if (kvr_layer_member(layer, (enum kvr_member)m) != NULL)
            kvr_text_add(&cell, "%s%s", cell.length > 0 ? ", " : "", kvr_members[m].name);
    if (layer->column_count > 0) {
        kvr_text_string(&cell, cell.length > 0 ? ", " : "");
        add_plural(&cell, layer->column_count, "column");
    }
    kvr_columns_cell(columns, "%s", text_of(&cell));
    kvr_text_free(&cell);
}

/* "30 layers", and of how many samples where it is not all. */
static void add_layer_count(struct kvr_columns *columns, const struct kvr_layer_group *group,
                            size_t samples)
{
    struct kvr_text cell = {0};
    bool regular = group->count == group->number_count * group->sample_count;
    add_plural(&cell, regular ? group->number_count : group->count, "layer");
    if (!regular || group->sample_count < samples) {
        kvr_text_string(&cell, " in ");
        add_plural(&cell, group->sample_count, "sample");
    }
    kvr_columns_cell(columns, "%s", text_of(&cell));
    kvr_text_free(&cell);
}

static void add_layers(struct kvr_text *page, const struct kvr_trace *trace,
                       const struct kvr_info *info)
{
    struct kvr_columns table = {0};
    size_t shown = info->layer_group_count < MOST_LINES ? info->layer_group_count : MOST_LINES;
    for (size_t i = 0; i < shown; i++) {
        const struct kvr_layer_group *group = &info->layer_groups[i];
        const struct kvr_layer *layer = group->first;
        unsigned heads = layer->query_heads, kv_heads = layer->kv_heads;
        struct kvr_text numbers = {0};
        kvr_text_ranges(&numbers, group->numbers, group->number_count, MOST_RANGES);
        kvr_columns_cell(&table, "%s", text_of(&numbers));
        kvr_text_free(&numbers);
        add_layer_count(&table, group, trace->sample_count);
        kvr_columns_cell(&table, "%u query / %u KV heads (r = %u)", heads, kv_heads,
                         heads / kv_heads);
        add_layer_kind(&table, layer);
        add_layer_members(&table, layer);
        kvr_columns_end_row(&table);
    }
    kvr_text_string(page, "\nLayers\n");
    kvr_columns_write(&table, "lllll", page);
    add_more(page, info->layer_group_count - shown, "kind");
    kvr_columns_free(&table);
}

/* ---------------------------------------------------------------------------- datasets */

/* "[9][15][1030-1031]". */
static void add_shape(struct kvr_text *text, const uint64_t *least, const uint64_t *most,
                      unsigned rank)
{
    for (unsigned d = 0; d < rank; d++) {
        kvr_text_add(text, "[%llu", wide(least[d]));
        if (most[d] > least[d])
            kvr_text_add(text, "-%llu", wide(most[d]));
        kvr_text_string(text, "]");
    }
}

static void add_storage(struct kvr_columns *columns, const struct kvr_dataset_group *group)
{
    const struct kvr_dataset *dataset = group->first;
    struct kvr_text cell = {0};
    if (dataset->chunked) {
        kvr_text_string(&cell, "chunks ");
        add_shape(&cell, group->least_chunk, group->most_chunk, dataset->rank);
    } else {
        kvr_text_string(&cell, "contiguous");
    }
    if (dataset->shuffle)
        kvr_text_string(&cell, ", shuffle");
    if (dataset->deflate)
        kvr_text_add(&cell, ", deflate %u", dataset->deflate_level);
    if (dataset->fletcher32)
        kvr_text_string(&cell, ", fletcher32");
    if (dataset->other_filters)
        kvr_text_string(&cell, ", other filters");
    kvr_columns_cell(columns, "%s", text_of(&cell));
    kvr_text_free(&cell);
}

static void add_sizes(struct kvr_columns *columns, const struct kvr_dataset_group *group)
{
    struct kvr_text stored = {0}, raw = {0};
    kvr_text_size(&stored, group->stored_bytes);
    kvr_text_size(&raw, group->raw_bytes);
    kvr_columns_cell(columns, "%s", text_of(&stored));
    kvr_columns_cell(columns, "of %s", text_of(&raw));
    if (group->stored_bytes > 0)
        kvr_columns_cell(columns, "(%.2f x)",
                         (double)group->raw_bytes / (double)group->stored_bytes);
    else
        kvr_columns_cell(columns, "(never written)");
    kvr_text_free(&stored);
    kvr_text_free(&raw);
}

static void add_datasets(struct kvr_text *page, const struct kvr_info *info)
{
    struct kvr_columns table = {0};
    size_t shown = info->dataset_group_count < MOST_LINES ? info->dataset_group_count : MOST_LINES;
    for (size_t i = 0; i < shown; i++) {
        const struct kvr_dataset_group *group = &info->dataset_groups[i];
        const struct kvr_dataset *dataset = group->first;
        struct kvr_text shape = {0};
        add_shape(&shape, group->least_shape, group->most_shape, dataset->rank);
        kvr_columns_cell(&table, "%s%s", group->is_column ? "scores/" : "", group->name);
        kvr_columns_cell(&table, "%llu", wide(group->count));
        kvr_columns_cell(&table, "%s", text_of(&shape));
        kvr_columns_cell(&table, "%s%s%s", kvr_element_name(dataset->type.kind),
                         dataset->type.as_uint16 ? " as uint16" : "",
                         dataset->type.big_endian ? ", big-endian" : ", little-endian");
        add_storage(&table, group);
        add_sizes(&table, group);
        kvr_columns_end_row(&table);
        kvr_text_free(&shape);
    }
    kvr_text_string(page, "\nDatasets\n");
    kvr_columns_write(&table, "lrlllrrl", page);
    add_more(page, info->dataset_group_count - shown, "kind");
    kvr_columns_free(&table);
}

/* ---------------------------------------------------------------------------- abilities */

/* "no: needs key", "5 of 15 layers, 2 of them from query and key". */
static void add_ability(struct kvr_columns *columns, const struct kvr_ability *ability,
                        uint64_t layers)
{
    struct kvr_text cell = {0};
    if (ability->layers == 0)
        kvr_text_add(&cell, "no: needs %s", ability->needs);
    else if (ability->layers == layers)
        kvr_text_string(&cell, "all layers");
    else
        kvr_text_add(&cell, "%llu of %llu layers", wide(ability->layers), wide(layers));
    if (ability->recomputed > 0 && ability->recomputed == ability->layers)
        kvr_text_string(&cell, ", from query and key");
    else if (ability->recomputed > 0)
        kvr_text_add(&cell, ", %llu of them from query and key", wide(ability->recomputed));
    kvr_columns_cell(columns, "%s", text_of(&cell));
    kvr_text_free(&cell);
}

static void add_abilities(struct kvr_text *page, const struct kvr_info *info)
{
    struct kvr_columns table = {0};
    for (size_t i = 0; i < KVR_ABILITIES; i++) {
        const struct kvr_ability *ability = &info->abilities[i];
        kvr_columns_cell(&table, "%s", ability->name);
        add_ability(&table, ability, info->layers);
        kvr_columns_end_row(&table);
    }
    kvr_text_string(page, "\nScorers and measures that it can give\n");
    kvr_columns_write(&table, "ll", page);
    kvr_columns_free(&table);
}

static void add_page(struct kvr_text *page, const struct kvr_trace *trace,
                     const struct kvr_info *info)
{
    add_head(page, trace, info);
    add_samples(page, trace);
    add_layers(page, trace, info);
    add_datasets(page, info);
    add_abilities(page, info);
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct kvr_trace *trace = NULL;
    struct kvr_info info = {0};
    struct kvr_text text = {0};
    enum kvr_status status = kvr_trace_open(arguments->operands[0], NULL, &trace, err);
    if (status == KVR_OK)
        status = kvr_info_gather(trace, &info, err);
    if (status == KVR_OK) {
        if (kvr_argument(command, arguments, "--json") != NULL)
            kvr_info_json(trace, &info, &text);
        else
            add_page(&text, trace, &info);
        status = kvr_text_check(&text, err);
    }
    if (status == KVR_OK)
        fwrite(text.data, 1, text.length, stdout);
    kvr_text_free(&text);
    kvr_info_free(&info);
    kvr_trace_close(trace);
    return kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_info;

const struct kvr_command kvr_command_info = {
    .name = "info",
    .operands = "TRACE",
    .summary = "shows what a trace holds",
    .text = "Model, samples with their query rows and needles, kinds of layers, shapes, element "
            "types, compression and sizes, and which scorers and measures the trace can give. "
            "Equal samples, layers and datasets share a line. Values are not read: \"kvreplay "
            "check\" does that.",
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = run,
};
