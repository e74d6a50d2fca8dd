/*
 * kvreplay export: reads the options, has the arrays written, says how many.
 */
#include <stdlib.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/export.h"
#include "replay/cli/command.h"
#include "replay/cli/readable.h"

extern const struct kvr_command kvr_command_export;

static const struct kvr_option options_of_export[] = {
    {"-o", "FILE.npz", "the file to write (required)"},
    {"--dataset", "LIST",
     "attention, accumulated, query, key, value, scores/NAME, tokens, … (all)"},
    {"--samples", "LIST", "samples by name (all)"},
    {"--layers", "LIST", "layers by number (all)"},
    {"--quiet", NULL, "prints nothing but errors"},
    {NULL, NULL, NULL},
};

struct request {
    struct kvr_export_filter filter;
    char **samples, **datasets;
    uint32_t *layers;
};

static enum kvr_status read_layers(const char *text, struct request *request, struct kvr_error *err)
{
    char **items = NULL;
    size_t count = 0;
    enum kvr_status status = kvr_argument_list("--layers", text, &items, &count, err);
    if (status == KVR_OK && (request->layers = kvr_alloc(count, sizeof(uint32_t), err)) == NULL)
        status = KVR_NO_MEMORY;
    for (size_t i = 0; status == KVR_OK && i < count; i++) {
        uint64_t number = 0;
        status = kvr_argument_unsigned("--layers", items[i], 0, UINT32_MAX, &number, err);
        request->layers[i] = (uint32_t)number;
    }
    request->filter.layers = request->layers;
    request->filter.layer_count = count;
    free(items);
    return status;
}

static enum kvr_status read_options(const struct kvr_command *command,
                                    const struct kvr_arguments *arguments, struct request *request,
                                    struct kvr_error *err)
{
    struct kvr_export_filter *filter = &request->filter;
    const char *samples = kvr_argument(command, arguments, "--samples");
    const char *datasets = kvr_argument(command, arguments, "--dataset");
    const char *layers = kvr_argument(command, arguments, "--layers");
    enum kvr_status status = KVR_OK;
    if (samples != NULL)
        status =
            kvr_argument_list("--samples", samples, &request->samples, &filter->sample_count, err);
    if (status == KVR_OK && datasets != NULL)
        status = kvr_argument_list("--dataset", datasets, &request->datasets,
                                   &filter->dataset_count, err);
    if (status == KVR_OK && layers != NULL)
        status = read_layers(layers, request, err);
    filter->samples = request->samples;
    filter->datasets = request->datasets;
    return status;
}

static enum kvr_status export_trace(const struct kvr_command *command,
                                    const struct kvr_arguments *arguments, struct request *request,
                                    struct kvr_error *err)
{
    const char *path = kvr_argument(command, arguments, "-o");
    struct kvr_trace *trace = NULL;
    size_t arrays = 0;
    if (path == NULL)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "-o FILE.npz is missing: where should the arrays go?");
    if (kvr_same_file(path, arguments->operands[0]))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "-o: \"%s\" is the trace itself", path);
    enum kvr_status status = read_options(command, arguments, request, err);
    if (status == KVR_OK)
        status = kvr_trace_open(arguments->operands[0], NULL, &trace, err);
    if (status == KVR_OK)
        status = kvr_export_write(trace, &request->filter, path, &arrays, err);
    kvr_trace_close(trace);
    if (status == KVR_OK && kvr_argument(command, arguments, "--quiet") == NULL)
        kvr_print_line(stdout, "%s: %zu arrays", path, arrays);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct request request = {0};
    enum kvr_status status = export_trace(command, arguments, &request, err);
    free(request.samples);
    free(request.datasets);
    free(request.layers);
    return kvr_exit_status(status);
}

const struct kvr_command kvr_command_export = {
    .name = "export",
    .operands = "TRACE",
    .summary = "writes the arrays of a trace to an .npz file",
    .text =
        "Arrays bear the names that they have in the trace, as \"samples/0/layers/3/attention\", "
        "and their types; bfloat16, which NumPy does not have, becomes float32, exactly. "
        "Attributes become arrays of one number, so that \"kvreplay import\" makes the same "
        "trace of it, but for its texts (model, task, subset, generated).",
    .least_operands = 1,
    .most_operands = 1,
    .options = options_of_export,
    .run = run,
};
