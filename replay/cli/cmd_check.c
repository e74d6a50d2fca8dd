/*
 * kvreplay check: what a recorder got wrong, one line for each finding. What can be found is known
 * by formats/trace_check.h; here findings are printed, counted and kept from flooding.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/parallel.h"
#include "formats/json.h"
#include "formats/trace.h"
#include "formats/trace_check.h"
#include "replay/cli/command.h"
#include "replay/cli/readable.h"
#include "replay/cli/trace_parts.h"

enum { LEVELS = 3 };

static const struct kvr_option options[] = {
    {"--samples", "LIST", "names of the samples to check (all)"},
    {"--layers", "LIST", "numbers of the layers to check, like 0,4-7 (all)"},
    {"--limit", "N", "findings of a kind to list, 0 for all (20)"},
    {"--threads", "N", "threads (as many as processors)"},
    {"--json", NULL, "write one JSON object instead of lines"},
    {NULL, NULL, NULL},
};

struct check {
    const struct kvr_trace *trace;
    bool json;
    uint64_t limit;
    uint64_t levels[LEVELS];
    uint64_t kinds[KVR_FINDING_KINDS];
    bool hinted[KVR_FINDING_KINDS]; /* a warning or an error of this kind was listed */
    struct kvr_text line;           /* lines: the one that is written; json: the whole object */
    struct kvr_json writer;
};

static void list_as_line(struct check *check, const struct kvr_finding *finding)
{
    struct kvr_text *line = &check->line;
    kvr_text_clear(line);
    kvr_text_add(line, "%s: ", kvr_finding_level_name(finding->level));
    kvr_text_printable(line, finding->place);
    kvr_text_string(line, ": ");
    kvr_text_printable(line, finding->message);
    kvr_text_add(line, " [%s]\n", kvr_finding_name(finding->kind));
    fwrite(line->data != NULL ? line->data : "", 1, line->length, stdout);
}

static void place_or_null(struct kvr_json *json, const char *key, uint64_t value)
{
    if (value != KVR_NOWHERE)
        kvr_json_unsigned(json, key, value);
    else
        kvr_json_null(json, key);
}

static void list_as_json(struct check *check, const struct kvr_finding *finding)
{
    struct kvr_json *json = &check->writer;
    kvr_json_object(json, NULL);
    kvr_json_string(json, "level", kvr_finding_level_name(finding->level));
    kvr_json_string(json, "kind", kvr_finding_name(finding->kind));
    kvr_json_string(json, "place", finding->place);
    kvr_json_string(json, "message", finding->message);
    kvr_json_unsigned(json, "count", finding->count);
    place_or_null(json, "head", finding->head);
    place_or_null(json, "row", finding->row);
    place_or_null(json, "position", finding->position);
    kvr_json_end(json);
}

static enum kvr_status take_finding(void *context, const struct kvr_finding *finding,
                                    struct kvr_error *err)
{
    struct check *check = context;
    check->levels[finding->level]++;
    check->kinds[finding->kind]++;
    check->hinted[finding->kind] |= finding->level != KVR_NOTE;
    if (check->limit > 0 && check->kinds[finding->kind] > check->limit)
        return KVR_OK;
    if (check->json)
        list_as_json(check, finding);
    else
        list_as_line(check, finding);
    return kvr_text_check(&check->line, err);
}

static uint64_t unlisted(const struct check *check, size_t kind)
{
    uint64_t count = check->kinds[kind];
    return check->limit > 0 && count > check->limit ? count - check->limit : 0;
}

static void count_of(struct kvr_text *text, uint64_t count, const char *noun)
{
    kvr_text_thousands(text, count);
    kvr_text_add(text, " %s%s", noun, count == 1 ? "" : "s");
}

/* The hints of the kinds that were found, and the line of counts. */
static void end_lines(struct check *check, const struct kvr_check_extent *extent)
{
    struct kvr_text *text = &check->line;
    kvr_text_clear(text);
    for (enum kvr_finding_kind kind = 0; kind < KVR_FINDING_KINDS; kind++)
        if (unlisted(check, kind) > 0)
            kvr_text_add(text, "%llu more [%s] are not listed (--limit 0 lists all)\n",
                         (unsigned long long)unlisted(check, kind), kvr_finding_name(kind));
    for (enum kvr_finding_kind kind = 0; kind < KVR_FINDING_KINDS; kind++)
        if (check->hinted[kind])
            kvr_text_add(text, "hint: [%s] %s\n", kvr_finding_name(kind), kvr_finding_hint(kind));
    kvr_text_printable(text, check->trace->name);
    kvr_text_string(text, ": ");
    count_of(text, check->levels[KVR_ERROR], "error");
    kvr_text_string(text, ", ");
    count_of(text, check->levels[KVR_WARNING], "warning");
    kvr_text_string(text, ", ");
    count_of(text, check->levels[KVR_NOTE], "note");
    kvr_text_string(text, " in ");
    count_of(text, extent->samples, "sample");
    kvr_text_string(text, ", ");
    count_of(text, extent->layers, "layer");
    kvr_text_string(text, extent->samples > 1 ? " in all\n" : "\n");
}

static void begin_json(struct check *check)
{
    check->writer = (struct kvr_json){.text = &check->line};
    kvr_json_object(&check->writer, NULL);
    kvr_json_string(&check->writer, "trace", check->trace->name);
    kvr_json_array(&check->writer, "findings");
}

static void end_json(struct check *check, const struct kvr_check_extent *extent)
{
    struct kvr_json *json = &check->writer;
    kvr_json_end(json);
    kvr_json_object(json, "hints");
    for (enum kvr_finding_kind kind = 0; kind < KVR_FINDING_KINDS; kind++)
        if (check->kinds[kind] > 0)
            kvr_json_string(json, kvr_finding_name(kind), kvr_finding_hint(kind));
    kvr_json_end(json);
    kvr_json_object(json, "unlisted");
    for (enum kvr_finding_kind kind = 0; kind < KVR_FINDING_KINDS; kind++)
        if (unlisted(check, kind) > 0)
            kvr_json_unsigned(json, kvr_finding_name(kind), unlisted(check, kind));
    kvr_json_end(json);
    kvr_json_unsigned(json, "samples", extent->samples);
    kvr_json_unsigned(json, "layers", extent->layers);
    kvr_json_unsigned(json, "errors", check->levels[KVR_ERROR]);
    kvr_json_unsigned(json, "warnings", check->levels[KVR_WARNING]);
    kvr_json_unsigned(json, "notes", check->levels[KVR_NOTE]);
    kvr_json_end(json);
}

static enum kvr_status check_trace(struct kvr_trace *trace, const struct kvr_check_options *how,
                                   struct check *check, struct kvr_error *err)
{
    struct kvr_check_extent extent;
    check->trace = trace;
    if (check->json)
        begin_json(check);
    enum kvr_status status = kvr_trace_check(trace, how, take_finding, check, &extent, err);
    if (status == KVR_OK) {
        if (check->json)
            end_json(check, &extent);
        else
            end_lines(check, &extent);
        status = kvr_text_check(&check->line, err);
    }
    if (status == KVR_OK)
        fwrite(check->line.data, 1, check->line.length, stdout);
    kvr_text_free(&check->line);
    return status;
}

static enum kvr_status run_check(const struct kvr_command *command,
                                 const struct kvr_arguments *arguments, struct check *check,
                                 struct kvr_error *err)
{
    uint64_t threads = kvr_processor_count();
    check->json = kvr_argument(command, arguments, "--json") != NULL;
    check->limit = 20;
    enum kvr_status status = kvr_argument_unsigned(
        "--threads", kvr_argument(command, arguments, "--threads"), 1, 1024, &threads, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--limit", kvr_argument(command, arguments, "--limit"), 0,
                                       UINT64_MAX, &check->limit, err);
    struct kvr_trace *trace = NULL;
    bool *samples = NULL;
    uint32_t *layers = NULL;
    struct kvr_check_options how = {.threads = (unsigned)threads};
    if (status == KVR_OK)
        status = kvr_trace_open(arguments->operands[0], NULL, &trace, err);
    if (status == KVR_OK)
        status =
            kvr_choose_samples(trace, kvr_argument(command, arguments, "--samples"), &samples, err);
    if (status == KVR_OK)
        status = kvr_choose_layers(trace, kvr_argument(command, arguments, "--layers"), &layers,
                                   &how.layer_count, err);
    how.samples = samples;
    how.layers = layers;
    if (status == KVR_OK)
        status = check_trace(trace, &how, check, err);
    free(samples);
    free(layers);
    kvr_trace_close(trace);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct check check = {0};
    enum kvr_status status = run_check(command, arguments, &check, err);
    if (status != KVR_OK)
        return kvr_exit_status(status);
    return check.levels[KVR_ERROR] > 0 ? KVR_EXIT_FAILED : KVR_EXIT_DONE;
}

extern const struct kvr_command kvr_command_check;

const struct kvr_command kvr_command_check = {
    .name = "check",
    .operands = "TRACE",
    .summary = "validates structure and values of a trace",
    .text = "Prints one line for each finding with its place in the file and its kind in brackets, "
            "then a hint for each kind and the counts. Equal faults of a dataset are one finding: "
            "how many rows, and where first.\n"
            "\n"
            "An error contradicts the format or makes replay exclude groups; a warning is probably "
            "not what was meant to be recorded; a note is worth knowing. The exit status is 1 if "
            "there is an error.",
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = run,
};
