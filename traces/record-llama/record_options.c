/*
 * The options of record-llama: one table for parsing and for the help, as the commands of kvreplay
 * have it.
 */
#include "traces/record-llama/record_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/parallel.h"
#include "replay/cli/help_text.h"

static const struct kvr_option options_of_record[] = {
    {"-m", "MODEL.gguf", "the model"},
    {"-o", "OUT.h5", "the trace to write"},
    {"--rows", "N", "prefill rows recorded, the last ones of a prompt, or \"all\" (32)"},
    {"--store", "LIST",
     "of attention, accumulated, query, key, value (attention,accumulated; with --flash "
     "attention)"},
    {"--layers", "LIST", "layers recorded, such as 0,4-7 (all)"},
    {"--type", "TYPE", "elements of all but the column sums: half, bfloat16 or float (half)"},
    {"--generate", "N", "the answer's tokens at most; it ends where the model ends it (64)"},
    {"--stop", "TEXT", "the answer also ends when it contains this (in a grid without --chat: .)"},
    {"--chat", NULL, "puts the prompt into the model's chat template"},
    {"--needle", "TEXT", "what the answer has to be found in; must occur in every prompt"},
    {"--needles", "FILE", "the same, one needle a line"},
    {"--niah", "LENGTHS", "records needles in haystacks instead: prompts of so many tokens"},
    {"--depths", "LIST", "where the needles stand, in percent (0,25,50,75,100)"},
    {"--seed", "N", "another seed, other haystacks, towns and numbers (0)"},
    {"--haystack", "FILE", "takes the sentences of this text for hay (text of its own)"},
    {"--flash", NULL, "computes with fused attention; rows then come from query and key"},
    {"--context", "N", "lets a sample have N tokens (what the model was trained for)"},
    {"--batch", "N", "tokens computed at a time (512, less where that would take much memory)"},
    {"--threads", "N", "threads of llama.cpp (all processors)"},
    {"--gpu-layers", "N", "layers computed on a GPU, if llama.cpp was built for one (0)"},
    {"--quiet", NULL, "no progress and no summary"},
    {NULL, NULL, NULL},
};

const struct kvr_command kvr_command_record_llama = {
    .name = "record-llama",
    .operands = "[PROMPT.txt…]",
    .summary = "records traces from a model in GGUF format, with llama.cpp",
    .most_operands = SIZE_MAX,
    .options = options_of_record,
};

static const char help_text[] =
    "Each prompt file becomes a sample, named 0, 1, …. The model answers it, then the softmax rows "
    "of the prompt's last tokens and of the whole answer are written to the trace, layer by layer "
    "as they are computed, and the column sums of all rows of the prompt.\n"
    "\n"
    "With --niah the prompts are made up: for each length and depth plain prose with a sentence "
    "that holds a secret number, and the question for it. They have exactly that many tokens.\n"
    "\n"
    "  record-llama -m model.gguf -o run.h5 prompt.txt --needle 'opens at nine'\n"
    "  record-llama -m model.gguf -o grid.h5 --niah 1024,4096 --depths 0,50,100 --chat";

void kvr_record_help(FILE *stream)
{
    fputs("record-llama - ", stream);
    kvr_help_wrapped(stream, kvr_command_record_llama.summary, strlen("record-llama - "), 0);
    fputs("\nUsage: record-llama -m MODEL.gguf -o OUT.h5 [options] PROMPT.txt…\n"
          "       record-llama -m MODEL.gguf -o OUT.h5 [options] --niah LENGTHS\n\n",
          stream);
    kvr_help_paragraphs(stream, help_text);
    size_t widest = 0;
    for (const struct kvr_option *option = options_of_record; option->name != NULL; option++) {
        size_t width = kvr_help_term_width(option->name, option->value);
        widest = width > widest ? width : widest;
    }
    fputs("\nOptions:\n", stream);
    for (const struct kvr_option *option = options_of_record; option->name != NULL; option++)
        kvr_help_item(stream, option->name, option->value, option->help, widest + 4);
    kvr_help_item(stream, "--help", NULL, "shows this text", widest + 4);
    kvr_help_item(stream, "--version", NULL, "shows the versions of this and of llama.cpp",
                  widest + 4);
}

static const char *given(const struct kvr_arguments *arguments, const char *name)
{
    return kvr_argument(&kvr_command_record_llama, arguments, name);
}

static enum kvr_status read_numbers(const struct kvr_arguments *arguments,
                                    struct kvr_record_options *options, struct kvr_error *err)
{
    struct kvr_recording_options *recording = &options->recording;
    uint64_t threads = recording->threads;
    const char *rows = given(arguments, "--rows");
    if (rows != NULL && strcmp(rows, "all") == 0) {
        recording->rows = UINT64_MAX;
        rows = NULL;
    }
    const struct {
        const char *name, *text;
        uint64_t least, most, *value;
    } numbers[] = {
        {"--rows", rows, 1, INT32_MAX, &recording->rows},
        {"--generate", given(arguments, "--generate"), 0, 1000000, &recording->generate},
        {"--seed", given(arguments, "--seed"), 0, UINT64_MAX, &options->seed},
        {"--context", given(arguments, "--context"), 1, INT32_MAX, &recording->context},
        {"--batch", given(arguments, "--batch"), 1, 65536, &recording->batch},
        {"--threads", given(arguments, "--threads"), 1, 1024, &threads},
        {"--gpu-layers", given(arguments, "--gpu-layers"), 0, 100000, &options->gpu_layers},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        enum kvr_status status =
            kvr_argument_unsigned(numbers[i].name, numbers[i].text, numbers[i].least,
                                  numbers[i].most, numbers[i].value, err);
        if (status != KVR_OK)
            return status;
    }
    recording->threads = (unsigned)threads;
    return KVR_OK;
}

static enum kvr_status read_list(const char *option, const char *text, uint64_t least,
                                 uint64_t most, uint64_t **numbers, size_t *count,
                                 struct kvr_error *err)
{
    char **items = NULL;
    size_t found = 0;
    if (text == NULL)
        return KVR_OK;
    enum kvr_status status = kvr_argument_list(option, text, &items, &found, err);
    uint64_t *list = status == KVR_OK ? kvr_alloc(found, sizeof *list, err) : NULL;
    if (status == KVR_OK && list == NULL)
        status = KVR_NO_MEMORY;
    for (size_t i = 0; i < found && status == KVR_OK; i++)
        status = kvr_argument_unsigned(option, items[i], least, most, &list[i], err);
    free(items);
    *numbers = list;
    *count = found;
    return status;
}

static enum kvr_status read_stored(const struct kvr_arguments *arguments,
                                   struct kvr_recording_options *recording, struct kvr_error *err)
{
    const char *text = given(arguments, "--store");
    if (text == NULL)
        text = recording->fused ? "attention" : "attention,accumulated";
    char **items = NULL;
    size_t count = 0;
    enum kvr_status status = kvr_argument_list("--store", text, &items, &count, err);
    for (size_t i = 0; i < count && status == KVR_OK; i++) {
        int stored = 0;
        while (stored < KVR_STORED_COUNT && strcmp(items[i], kvr_stored_names[stored]) != 0)
            stored++;
        if (stored == KVR_STORED_COUNT)
            status = kvr_fail(err, KVR_BAD_ARGUMENT,
                              "--store: expected attention, accumulated, query, key or value, "
                              "found \"%s\"",
                              items[i]);
        else
            recording->stored[stored] = true;
    }
    free(items);
    const bool *is = recording->stored;
    if (status == KVR_OK && !is[KVR_STORED_ATTENTION] && !is[KVR_STORED_ACCUMULATED] &&
        !(is[KVR_STORED_QUERY] && is[KVR_STORED_KEY]))
        status = kvr_fail(err, KVR_BAD_ARGUMENT,
                          "--store: expected attention, accumulated, or both of query and key; "
                          "without one of these a trace is of no use");
    if (status == KVR_OK && recording->fused && is[KVR_STORED_ACCUMULATED])
        status = kvr_fail(err, KVR_BAD_ARGUMENT,
                          "--flash computes no column sums: leave \"accumulated\" out of --store, "
                          "or --flash");
    return status;
}

static enum kvr_status read_type(const char *text, struct kvr_element_type *type,
                                 struct kvr_error *err)
{
    static const enum kvr_element kinds[] = {KVR_HALF, KVR_BFLOAT16, KVR_FLOAT};
    if (text == NULL)
        return KVR_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(text, kvr_element_name(kinds[i])) == 0) {
            type->kind = kinds[i];
            return KVR_OK;
        }
    }
    return kvr_fail(err, KVR_BAD_ARGUMENT, "--type: expected half, bfloat16 or float, found \"%s\"",
                    text);
}

/* A grid and prompt files exclude each other, and each has options that mean nothing to the other.
 */
static enum kvr_status check_together(const struct kvr_arguments *arguments,
                                      const struct kvr_record_options *options,
                                      struct kvr_error *err)
{
    static const char *const of_grids[] = {"--depths", "--seed", "--haystack"};
    if (options->model == NULL || options->out == NULL)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "expected %s",
                        options->model == NULL ? "-m MODEL.gguf" : "-o OUT.h5");
    bool grid = options->length_count > 0;
    if (grid && options->prompt_count > 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "--niah makes its own prompts: unexpected operand \"%s\"",
                        options->prompts[0]);
    if (!grid && options->prompt_count == 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "expected prompt files, or --niah LENGTHS");
    if (grid && (options->needle != NULL || options->needle_file != NULL))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "--niah has needles of its own: unexpected %s",
                        options->needle != NULL ? "--needle" : "--needles");
    for (size_t i = 0; !grid && i < sizeof of_grids / sizeof *of_grids; i++)
        if (given(arguments, of_grids[i]) != NULL)
            return kvr_fail(err, KVR_BAD_ARGUMENT, "%s needs --niah", of_grids[i]);
    return KVR_OK;
}

static enum kvr_status read_grid(const struct kvr_arguments *arguments,
                                 struct kvr_record_options *options, struct kvr_error *err)
{
    const char *depths = given(arguments, "--depths");
    enum kvr_status status = read_list("--niah", given(arguments, "--niah"), 1, INT32_MAX,
                                       &options->lengths, &options->length_count, err);
    if (status == KVR_OK && options->length_count > 0)
        status = read_list("--depths", depths != NULL ? depths : "0,25,50,75,100", 0, 100,
                           &options->depths, &options->depth_count, err);
    return status;
}

enum kvr_status kvr_record_options_read(const struct kvr_arguments *arguments,
                                        struct kvr_record_options *options, struct kvr_error *err)
{
    *options = (struct kvr_record_options){
        .model = given(arguments, "-m"),
        .out = given(arguments, "-o"),
        .prompt_count = arguments->operand_count,
        .prompts = arguments->operands,
        .needle = given(arguments, "--needle"),
        .needle_file = given(arguments, "--needles"),
        .layers = given(arguments, "--layers"),
        .chat = given(arguments, "--chat") != NULL,
        .quiet = given(arguments, "--quiet") != NULL,
        .hay_file = given(arguments, "--haystack"),
        .recording =
            {
                .rows = 32,
                .generate = 64,
                .stop = given(arguments, "--stop"),
                .threads = kvr_processor_count(),
                .fused = given(arguments, "--flash") != NULL,
            },
    };
    enum kvr_status status = read_numbers(arguments, options, err);
    if (status == KVR_OK)
        status = read_stored(arguments, &options->recording, err);
    if (status == KVR_OK)
        status = read_type(given(arguments, "--type"), &options->recording.type, err);
    if (status == KVR_OK)
        status = read_grid(arguments, options, err);
    if (status == KVR_OK)
        status = check_together(arguments, options, err);
    /* Without a chat a question is a text to go on with: what follows its sentence is idle. */
    if (options->length_count > 0 && !options->chat && options->recording.stop == NULL)
        options->recording.stop = ".";
    return status;
}

void kvr_record_options_free(struct kvr_record_options *options)
{
    free(options->lengths);
    free(options->depths);
    *options = (struct kvr_record_options){0};
}

/* "7" or "4-7". */
static bool parse_range(const char *text, uint64_t *from, uint64_t *to)
{
    const char *dash = strchr(text, '-');
    if (dash == NULL) {
        bool is_number = kvr_parse_unsigned(text, 0, UINT16_MAX, from);
        *to = *from;
        return is_number;
    }
    char first[16];
    size_t length = (size_t)(dash - text);
    if (length >= sizeof first)
        return false;
    memcpy(first, text, length);
    first[length] = '\0';
    return kvr_parse_unsigned(first, 0, UINT16_MAX, from) &&
           kvr_parse_unsigned(dash + 1, *from, UINT16_MAX, to);
}

static enum kvr_status choose_range(const char *text, const struct kvr_model_facts *facts,
                                    bool *chosen, struct kvr_error *err)
{
    uint64_t from = 0, to = 0;
    bool any = false;
    if (!parse_range(text, &from, &to))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "--layers: expected a list like 0,4-7, found \"%s\"",
                        text);
    for (size_t i = 0; i < facts->count; i++) {
        uint64_t number = facts->layers[i].layer.number;
        if (number >= from && number <= to)
            any = chosen[i] = true;
    }
    if (!any)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "--layers: the model has %zu layers with attention, %u to %u; found \"%s\"",
                        facts->count, facts->layers[0].layer.number,
                        facts->layers[facts->count - 1].layer.number, text);
    return KVR_OK;
}

enum kvr_status kvr_record_choose_layers(const char *list, struct kvr_model_facts *facts,
                                         struct kvr_error *err)
{
    char **items = NULL;
    size_t count = 0, kept = 0;
    if (list == NULL)
        return KVR_OK;
    enum kvr_status status = kvr_argument_list("--layers", list, &items, &count, err);
    bool *chosen = status == KVR_OK ? kvr_alloc(facts->count, sizeof *chosen, err) : NULL;
    if (status == KVR_OK && chosen == NULL)
        status = KVR_NO_MEMORY;
    for (size_t i = 0; i < count && status == KVR_OK; i++)
        status = choose_range(items[i], facts, chosen, err);
    for (size_t i = 0; i < facts->count && status == KVR_OK; i++)
        if (chosen[i])
            facts->layers[kept++] = facts->layers[i];
    if (status == KVR_OK)
        facts->count = kept;
    free(chosen);
    free(items);
    return status;
}
