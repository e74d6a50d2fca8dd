/*
 * kvreplay import: reads the options, opens the dumps, has the trace written, says what came.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/import.h"
#include "replay/cli/command.h"
#include "replay/cli/readable.h"

extern const struct kvr_command kvr_command_import;

static const struct kvr_option options_of_import[] = {
    {"-o", "TRACE", "the trace to write (required)"},
    {"--kv-heads", "N", "KV heads of every layer (those of the key or value arrays)"},
    {"--layout", "LIST", "axes by kind of array, as attention=LBHQT,key=BHTD (by rank and name)"},
    {"--map", "FILE", "JSON object from array names to what they are, see above"},
    {"--prompt-length", "P", "tokens of the prompt; later rows are decode rows (the context)"},
    {"--pad", "N", "left-padding tokens inside the prompt (0)"},
    {"--first-row", "N", "position of the first query row (rows are the last of the context)"},
    {"--model", "NAME", "name of the model, for the trace"},
    {"--quiet", NULL, "prints nothing but errors"},
    {NULL, NULL, NULL},
};

static const char help_text[] =
    "Reads .npy, .npz (stored or deflated) and .safetensors files. What an array is, its name "
    "says: "
    "a number is its layer, words such as attn, q, key, value, accumulated, tokens, "
    "query_positions or needles its kind; \"samples/0/layers/3/attention\" and the like, as export "
    "writes them, say all. Attributes (kv_heads, prompt_length, scale, "
    "\"layers/3/sliding_window\", "
    "…) may be arrays of one number.\n"
    "\n"
    "Axes are L layers, B samples, H heads, Q rows, T tokens, D head size, 1 an axis of one; "
    "without "
    "--layout an array of rows is HQT, LHQT, or LBHQT, and BHQT where its name has a number. Types "
    "and values are kept bit for bit.\n"
    "\n"
    "A map gives arrays other names, with a layout if need be, or leaves them out: "
    "{\"probs_L3\": \"layers/3/attention\", \"all\": {\"as\": \"attention\", \"layout\": "
    "\"BLHQT\"}, "
    "\"junk\": null}.";

struct request {
    struct kvr_import_options options;
    char **items; /* of --layout; the options point into them */
    size_t archive_count;
    struct kvr_archive **archives;
};

static enum kvr_status read_layouts(const char *text, struct request *request,
                                    struct kvr_error *err)
{
    size_t count = 0;
    enum kvr_status status = kvr_argument_list("--layout", text, &request->items, &count, err);
    for (size_t i = 0; status == KVR_OK && i < count; i++) {
        char *axes = strchr(request->items[i], '=');
        int role = KVR_ROLE_NONE + 1;
        size_t length = axes != NULL ? (size_t)(axes - request->items[i]) : 0;
        while (role < KVR_ROLE_ATTRIBUTE &&
               (strlen(kvr_import_role_name((enum kvr_import_role)role)) != length ||
                strncmp(kvr_import_role_name((enum kvr_import_role)role), request->items[i],
                        length) != 0))
            role++;
        if (role == KVR_ROLE_ATTRIBUTE)
            return kvr_fail(err, KVR_BAD_ARGUMENT,
                            "--layout: expected a kind of array and its axes, as attention=LHQT, "
                            "found \"%s\"",
                            request->items[i]);
        request->options.axes[role] = axes + 1;
    }
    return status;
}

static enum kvr_status read_options(const struct kvr_command *command,
                                    const struct kvr_arguments *arguments, struct request *request,
                                    struct kvr_error *err)
{
    struct kvr_import_options *options = &request->options;
    const struct {
        const char *name;
        uint64_t least, most, *value;
    } numbers[] = {
        {"--kv-heads", 1, 65536, &options->kv_heads},
        {"--prompt-length", 1, INT32_MAX, &options->prompt_length},
        {"--pad", 0, INT32_MAX, &options->pad},
        {"--first-row", 0, INT32_MAX, &options->first_row},
    };
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sizeof numbers / sizeof *numbers; i++)
        status = kvr_argument_unsigned(numbers[i].name,
                                       kvr_argument(command, arguments, numbers[i].name),
                                       numbers[i].least, numbers[i].most, numbers[i].value, err);
    options->has_first_row = kvr_argument(command, arguments, "--first-row") != NULL;
    options->map = kvr_argument(command, arguments, "--map");
    options->model = kvr_argument(command, arguments, "--model");
    const char *layouts = kvr_argument(command, arguments, "--layout");
    return status == KVR_OK && layouts != NULL ? read_layouts(layouts, request, err) : status;
}

static enum kvr_status open_archives(const struct kvr_arguments *arguments, struct request *request,
                                     struct kvr_error *err)
{
    request->archives = kvr_alloc(arguments->operand_count, sizeof *request->archives, err);
    if (request->archives == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < arguments->operand_count; i++) {
        status = kvr_archive_open(arguments->operands[i], &request->archives[i], err);
        request->archive_count += status == KVR_OK;
    }
    return status;
}

static void print_plan(const struct kvr_import_plan *plan, const char *path)
{
    size_t layers = 0;
    for (size_t i = 0; i < plan->sample_count; i++)
        layers += plan->samples[i].layer_count;
    if (plan->ignored.length > 0)
        fprintf(stderr, "kvreplay import: left out:\n%s", plan->ignored.data);
    kvr_print_line(stdout,
                   "%s: %zu sample%s, %zu layer%s; \"kvreplay check\" says whether the "
                   "rows are sound",
                   path, plan->sample_count, plan->sample_count == 1 ? "" : "s", layers,
                   layers == 1 ? "" : "s");
}

static enum kvr_status import(const struct kvr_command *command,
                              const struct kvr_arguments *arguments, struct request *request,
                              struct kvr_error *err)
{
    const char *path = kvr_argument(command, arguments, "-o");
    if (path == NULL)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "-o TRACE is missing: where should the trace go?");
    for (size_t i = 0; i < arguments->operand_count; i++)
        if (kvr_same_file(path, arguments->operands[i]))
            return kvr_fail(err, KVR_BAD_ARGUMENT, "-o: \"%s\" is a file to import", path);
    struct kvr_import_plan plan = {0};
    enum kvr_status status = read_options(command, arguments, request, err);
    if (status == KVR_OK)
        status = open_archives(arguments, request, err);
    if (status == KVR_OK)
        status = kvr_import_plan_make(request->archives, request->archive_count, &request->options,
                                      &plan, err);
    if (status == KVR_OK)
        status = kvr_import_write(&plan, path, request->options.model, err);
    if (status == KVR_OK && kvr_argument(command, arguments, "--quiet") == NULL)
        print_plan(&plan, path);
    kvr_import_plan_free(&plan);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct request request = {0};
    enum kvr_status status = import(command, arguments, &request, err);
    for (size_t i = 0; i < request.archive_count; i++)
        kvr_archive_close(request.archives[i]);
    free(request.archives);
    free(request.items);
    return kvr_exit_status(status);
}

const struct kvr_command kvr_command_import = {
    .name = "import",
    .operands = "FILE...",
    .summary = "makes a trace of NumPy or safetensors dumps",
    .text = help_text,
    .least_operands = 1,
    .most_operands = (size_t)-1,
    .options = options_of_import,
    .run = run,
};
