/*
 * What was replayed, and where it came from: traces beside run.json, the command line, options.
 */
#include <math.h>
#include <string.h>

#include "formats/base/outfile.h"
#include "plots/html_table.h"
#include "plots/html_text.h"
#include "plots/report.h"

/* ------------------------------------------------------------------------------ inputs */

static const struct kvr_column input_columns[] = {
    {"trace", "trace", KVR_COLUMN_KEY, 0, false},
    {"prompts", "prompts", KVR_COLUMN_COUNT, 0, false},
    {"layers", "layers", KVR_COLUMN_COUNT, 0, false},
    {"least_ratio", "heads a group, least", KVR_COLUMN_COUNT, 0, false},
    {"most_ratio", "most", KVR_COLUMN_COUNT, 0, false},
    {"least_context", "candidates, least", KVR_COLUMN_COUNT, 0, false},
    {"most_context", "most", KVR_COLUMN_COUNT, 0, false},
    {"bytes", "bytes", KVR_COLUMN_COUNT, 0, false},
    {"checksum", "checksum (FNV-1a)", KVR_COLUMN_KEY, 0, false},
};

/* The entry of run.json about the trace, NULL if there is none. */
static const struct kvr_json_value *input_of(const struct kvr_report *report, const char *trace)
{
    const struct kvr_json_value *inputs = kvr_json_member(report->run, "inputs");
    if (inputs == NULL || inputs->kind != KVR_JSON_ARRAY)
        return NULL;
    for (const struct kvr_json_value *input = inputs->first; input != NULL; input = input->next) {
        const char *path = kvr_json_member_string(input, "path");
        if (path != NULL && strcmp(kvr_base_name(path), trace) == 0)
            return input;
    }
    return NULL;
}

static uint64_t layers_of(const struct kvr_report_layers *layers, const char *trace)
{
    uint64_t count = 0;
    for (size_t i = 0; i < layers->layer_count; i++)
        count += strcmp(layers->traces.items[layers->layers[i].trace], trace) == 0;
    return count;
}

static void fill_input(const struct kvr_report *report, size_t trace, struct kvr_table_cell *cells)
{
    const struct kvr_replay_sums *sums = &report->paper->sums;
    const struct kvr_trace_facts facts = kvr_trace_facts_of(sums, trace);
    const char *name = sums->traces.items[trace];
    const struct kvr_json_value *input = input_of(report, name);
    const struct kvr_json_value *bytes = kvr_json_member(input, "bytes");
    const char *whole = kvr_json_member_string(input, "fnv1a");
    cells[0].text = name;
    cells[1].value = (double)facts.prompts;
    cells[2].value = (double)layers_of(report->layers, name);
    if (facts.prompts > 0) {
        cells[3].value = (double)facts.least_ratio;
        cells[4].value = (double)facts.most_ratio;
        cells[5].value = (double)facts.least_context;
        cells[6].value = (double)facts.most_context;
    }
    if (bytes != NULL && bytes->kind == KVR_JSON_NUMBER && bytes->number >= 0 &&
        bytes->number < 1e15)
        cells[7].value = bytes->number;
    cells[8].text = whole != NULL ? whole : kvr_json_member_string(input, "fnv1a_sampled");
}

enum kvr_status kvr_report_add_inputs(const struct kvr_report *report, struct kvr_text *text,
                                      struct kvr_error *err)
{
    const struct kvr_replay_sums *sums = &report->paper->sums;
    struct kvr_paper_table table = {
        .columns = input_columns,
        .column_count = sizeof input_columns / sizeof *input_columns,
    };
    enum kvr_status status = KVR_OK;
    for (size_t trace = 0; status == KVR_OK && trace < sums->traces.count; trace++) {
        struct kvr_table_cell *cells;
        status = kvr_paper_table_row(&table, &cells, err);
        if (status == KVR_OK)
            fill_input(report, trace, cells);
        if (status == KVR_OK && kvr_trace_facts_of(sums, trace).prompts == 0)
            status = kvr_paper_table_note(&table, err,
                                          "%s: every group is excluded, a head is not finite.",
                                          sums->traces.items[trace]);
    }
    if (status == KVR_OK)
        kvr_html_table(text, &table, "traces", "Traces that were replayed");
    kvr_paper_table_free(&table);
    return status;
}

/* ------------------------------------------------------------------------------ provenance */

static void add_scalar(struct kvr_text *text, const struct kvr_json_value *value)
{
    switch (value->kind) {
    case KVR_JSON_STRING:
    case KVR_JSON_NUMBER:
        kvr_html_string(text, value->text);
        break;
    case KVR_JSON_BOOL:
        kvr_text_string(text, value->truth ? "yes" : "no");
        break;
    case KVR_JSON_NULL:
        kvr_text_string(text, "none");
        break;
    default:
        kvr_text_string(text, "…");
    }
}

static void add_value(struct kvr_text *text, const struct kvr_json_value *value)
{
    if (value->kind != KVR_JSON_ARRAY) {
        add_scalar(text, value);
        return;
    }
    for (const struct kvr_json_value *item = value->first; item != NULL; item = item->next) {
        add_scalar(text, item);
        kvr_text_string(text, item->next != NULL ? ", " : "");
    }
    if (value->first == NULL)
        kvr_text_string(text, "all");
}

static void add_pair(struct kvr_text *text, const char *key, const struct kvr_json_value *value)
{
    kvr_text_string(text, "<dt>");
    kvr_html_string(text, key);
    kvr_text_string(text, "</dt><dd>");
    add_value(text, value);
    kvr_text_string(text, "</dd>\n");
}

/* What a shell would take: words with anything unusual are quoted. */
static void add_command_line(struct kvr_text *text, const struct kvr_json_value *words)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:,=@%+";
    if (words == NULL || words->kind != KVR_JSON_ARRAY)
        return;
    kvr_text_string(text,
                    "<pre class=\"command\" tabindex=\"0\" aria-label=\"Command line\"><code>");
    for (const struct kvr_json_value *word = words->first; word != NULL; word = word->next) {
        if (word->kind != KVR_JSON_STRING)
            continue;
        bool quoted = *word->text == '\0' || word->text[strspn(word->text, plain)] != '\0';
        if (!quoted)
            kvr_html_string(text, word->text);
        else {
            kvr_text_string(text, "&#39;");
            for (const char *c = word->text; *c != '\0';) {
                size_t length = strcspn(c, "'");
                struct kvr_text part = {0};
                kvr_text_bytes(&part, c, length);
                kvr_html_string(text, part.data != NULL ? part.data : "");
                kvr_text_free(&part);
                c += length;
                if (*c == '\'') {
                    kvr_html_string(text, "'\\''");
                    c++;
                }
            }
            kvr_text_string(text, "&#39;");
        }
        kvr_text_string(text, word->next != NULL ? " " : "");
    }
    kvr_text_string(text, "</code></pre>\n");
}

void kvr_report_add_provenance(const struct kvr_report *report, struct kvr_text *text)
{
    static const char *const facts[] = {"version", "device",  "isa",       "threads",
                                        "host",    "seconds", "bytes_read"};
    if (report->run == NULL) {
        kvr_text_string(text, "<p class=\"empty\">run.json, which tells how the replay was run, "
                              "is not in the folder.</p>\n");
        return;
    }
    add_command_line(text, kvr_json_member(report->run, "command_line"));
    kvr_text_string(text, "<dl class=\"facts\">\n");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const struct kvr_json_value *value = kvr_json_member(report->run, facts[i]);
        if (value != NULL)
            add_pair(text, facts[i], value);
    }
    kvr_text_string(text, "</dl>\n<h3>Options in force</h3>\n<dl class=\"facts\">\n");
    const struct kvr_json_value *options = kvr_json_member(report->run, "options");
    if (options != NULL && options->kind == KVR_JSON_OBJECT)
        for (const struct kvr_json_value *option = options->first; option != NULL;
             option = option->next)
            add_pair(text, option->key, option);
    kvr_text_string(text, "</dl>\n");
}
