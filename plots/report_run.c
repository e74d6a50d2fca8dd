/*
 * What was replayed, and where it came from: traces beside run.json, the command line, options.
 */
#include <string.h>

#include "plots/html_table.h"
#include "plots/html_text.h"
#include "plots/report.h"

/* ------------------------------------------------------------------------------ inputs */

static const struct kvr_column input_columns[] = {
    {"trace", "trace", KVR_COLUMN_KEY, 0, false},
    {"prompts", "prompts", KVR_COLUMN_COUNT, 0, false},
    {"layers", "layers", KVR_COLUMN_COUNT, 0, false},
    {"ratio", "query heads per KV head", KVR_COLUMN_NUMBER, 0, false},
    {"context", "candidate tokens", KVR_COLUMN_NUMBER, 0, false},
};

static uint64_t layers_of(const struct kvr_report_layers *layers, const char *trace)
{
    uint64_t count = 0;
    for (size_t i = 0; i < layers->layer_count; i++)
        count += strcmp(layers->traces.items[layers->layers[i].trace], trace) == 0;
    return count;
}

/* "3", "1,023–1,024", kept in `pool`. */
static enum kvr_status range_text(struct kvr_names *pool, uint64_t least, uint64_t most,
                                  const char **range, struct kvr_error *err)
{
    struct kvr_text text = {0};
    size_t index;
    kvr_html_count(&text, least);
    if (most > least) {
        kvr_text_string(&text, "–");
        kvr_html_count(&text, most);
    }
    enum kvr_status status = kvr_text_check(&text, err);
    if (status == KVR_OK)
        status = kvr_names_index(pool, text.data, &index, err);
    if (status == KVR_OK)
        *range = pool->items[index];
    kvr_text_free(&text);
    return status;
}

static enum kvr_status add_input(const struct kvr_report *report, size_t trace,
                                 struct kvr_names *pool, struct kvr_paper_table *table,
                                 struct kvr_error *err)
{
    const struct kvr_replay_sums *sums = &report->paper->sums;
    const struct kvr_trace_facts facts = kvr_trace_facts_of(sums, trace);
    struct kvr_table_cell *cells;
    enum kvr_status status = kvr_paper_table_row(table, &cells, err);
    if (status != KVR_OK)
        return status;
    cells[0].text = sums->traces.items[trace];
    cells[1].value = (double)facts.prompts;
    cells[2].value = (double)layers_of(report->layers, cells[0].text);
    if (facts.prompts == 0)
        return kvr_paper_table_note(table, err, "%s: no group is left, all are excluded.",
                                    cells[0].text);
    status = range_text(pool, facts.least_ratio, facts.most_ratio, &cells[3].text, err);
    if (status == KVR_OK)
        status = range_text(pool, facts.least_context, facts.most_context, &cells[4].text, err);
    return status;
}

enum kvr_status kvr_report_add_inputs(const struct kvr_report *report, struct kvr_text *text,
                                      struct kvr_error *err)
{
    struct kvr_names pool = {0};
    struct kvr_paper_table table = {
        .columns = input_columns,
        .column_count = sizeof input_columns / sizeof *input_columns,
    };
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < report->paper->sums.traces.count; i++)
        status = add_input(report, i, &pool, &table, err);
    if (status == KVR_OK)
        kvr_html_table(text, &table, "traces", "Traces that were replayed");
    kvr_paper_table_free(&table);
    kvr_names_free(&pool);
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

/* Path, size and checksum of every input. */
static void add_files(struct kvr_text *text, const struct kvr_json_value *inputs)
{
    if (inputs == NULL || inputs->kind != KVR_JSON_ARRAY)
        return;
    kvr_text_string(text, "<h3>Inputs</h3>\n<dl class=\"facts\">\n");
    for (const struct kvr_json_value *input = inputs->first; input != NULL; input = input->next) {
        const char *path = kvr_json_member_string(input, "path");
        const char *whole = kvr_json_member_string(input, "fnv1a");
        const char *sampled = kvr_json_member_string(input, "fnv1a_sampled");
        const struct kvr_json_value *bytes = kvr_json_member(input, "bytes");
        kvr_text_string(text, "<dt>");
        kvr_html_string(text, path != NULL ? path : "?");
        kvr_text_string(text, "</dt><dd>");
        if (bytes != NULL && bytes->kind == KVR_JSON_NUMBER)
            kvr_html_string(text, bytes->text);
        kvr_text_string(text, " bytes, FNV-1a ");
        kvr_html_string(text, whole != NULL ? whole : sampled != NULL ? sampled : "not recorded");
        kvr_text_string(text, whole == NULL && sampled != NULL ? " (of samples of the file)" : "");
        kvr_text_string(text, "</dd>\n");
    }
    kvr_text_string(text, "</dl>\n");
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
    kvr_text_string(text, "</dl>\n");
    add_files(text, kvr_json_member(report->run, "inputs"));
    kvr_text_string(text, "<h3>Options in force</h3>\n<dl class=\"facts\">\n");
    const struct kvr_json_value *options = kvr_json_member(report->run, "options");
    if (options != NULL && options->kind == KVR_JSON_OBJECT)
        for (const struct kvr_json_value *option = options->first; option != NULL;
             option = option->next)
            add_pair(text, option->key, option);
    kvr_text_string(text, "</dl>\n");
}
