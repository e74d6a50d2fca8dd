/*
 * kvreplay synth: reads the options, has the trace written, says what was planted.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/parallel.h"
#include "replay/cli/command.h"
#include "traces/synth.h"

extern const struct kvr_command kvr_command_synth;

static const struct kvr_option options_of_synth[] = {
    {"--samples", "N", "prompts in the trace (1)"},
    {"--layers", "N", "layers of the model (4)"},
    {"--query-heads", "N", "query heads of a layer (8)"},
    {"--kv-heads", "N", "KV heads of a layer, a divisor of the query heads (2)"},
    {"--mixed-heads", NULL,
     "layers 1, 4, … have one KV head, layers 2, 5, … no more query than KV heads"},
    {"--tokens", "P", "prompt length, up to 1048576 (1024)"},
    {"--decode", "N", "decode rows, and tokens after the prompt (8)"},
    {"--rows", "Q", "prefill rows recorded, the last ones of the prompt (32, or all)"},
    {"--pad", "N", "left-padding tokens inside the prompt (0)"},
    {"--element", "TYPE", "half, bfloat16, bfloat16-uint16, float or double (half)"},
    {"--byte-order", "ORDER", "little or big (little)"},
    {"--storage", "HOW", "contiguous, chunked or deflate: chunks with shuffle + deflate (deflate)"},
    {"--fletcher32", NULL, "gives chunks checksums"},
    {"--needles", "N", "needles of a sample, 0 for none (1)"},
    {"--needle-length", "N", "tokens of a needle (6)"},
    {"--depth", "FRACTION", "where needles lie in the prompt, 0 … 1 (samples spread over it)"},
    {"--window", "N", "sliding window of the window layers, 0 for none (0)"},
    {"--window-every", "K", "window layers are 0, K, 2K, … (2)"},
    {"--sink-logits", NULL, "rows sum below 1, as in models with a sink logit"},
    {"--nan", "FRACTION",
     "fraction of the heads that get NaN rows: an early one, the last or all (0)"},
    {"--premise", NULL, "every group is in the regime in which theorem 4 binds, see above"},
    {"--ties", NULL, "many scores of a row are equal"},
    {"--attention", "yes|no", "rows; no only with --qkv, from which they can be recomputed (yes)"},
    {"--accumulated", "yes|no", "column sums of all prefill rows (yes)"},
    {"--columns", NULL, "adds scores/gate per KV head and scores/head-gate per query head"},
    {"--qkv", NULL,
     "adds query (of the recorded rows), key and value, and computes the rows from them"},
    {"--head-dim", "D", "head size with --qkv, 16 … 1024 (32)"},
    {"--softcap", "C", "with --qkv, logits are C tanh(logit / C), 0 for no cap (0)"},
    {"--seed", "N", "another seed, another trace (0)"},
    {"--threads", "N", "threads; the trace is the same for any number (all processors, at most 4)"},
    {NULL, NULL, NULL},
};

static const char help_text[] =
    "Heads are of four kinds, which take turns: sink heads (most mass on the first four tokens), "
    "retrieval heads (on the needles, in the last four prefill rows and the decode rows; not in "
    "every group), local heads (on the last tokens) and diffuse heads (spread over everything). "
    "Heads of a group agree in part. The summary counts the kinds.\n"
    "\n"
    "With --premise one head of each group owns the needle, with 0.95 of its mass on the needle's "
    "middle token in every prompt row that sees it, and its siblings look at everything alike.\n"
    "\n"
    "Column sums are those of the recorded prefill rows plus, for each row that is not recorded, "
    "what its head's profile lets expect; with every row recorded, or with --qkv, they are exact. "
    "The same options give the same file.";

/* Options that are numbers. */

struct number_option {
    const char *name;
    uint64_t least, most;
    uint64_t *value;
};

static enum kvr_status read_numbers(const struct kvr_command *command,
                                    const struct kvr_arguments *arguments,
                                    struct kvr_synth_options *options, struct kvr_error *err)
{
    uint64_t layers = options->layers, query_heads = options->query_heads;
    uint64_t kv_heads = options->kv_heads, every = options->window_every;
    uint64_t head_dim = options->head_dim, threads = options->threads;
    const struct number_option numbers[] = {
        {"--samples", 1, 10000, &options->samples},
        {"--layers", 1, 1000, &layers},
        {"--query-heads", 1, 1024, &query_heads},
        {"--kv-heads", 1, 1024, &kv_heads},
        {"--tokens", 1, KVR_SYNTH_MOST_TOKENS, &options->tokens},
        {"--decode", 0, KVR_SYNTH_MOST_DECODE, &options->decode},
        {"--rows", 0, KVR_SYNTH_MOST_TOKENS, &options->rows},
        {"--pad", 0, KVR_SYNTH_MOST_TOKENS, &options->pad},
        {"--needles", 0, 1000, &options->needles},
        {"--needle-length", 1, 1000, &options->needle_length},
        {"--window", 0, UINT32_MAX, &options->window},
        {"--window-every", 1, 1000, &every},
        {"--head-dim", 16, 1024, &head_dim},
        {"--seed", 0, UINT64_MAX, &options->seed},
        {"--threads", 1, 1024, &threads},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct number_option *number = &numbers[i];
        enum kvr_status status =
            kvr_argument_unsigned(number->name, kvr_argument(command, arguments, number->name),
                                  number->least, number->most, number->value, err);
        if (status != KVR_OK)
            return status;
    }
    options->layers = (uint32_t)layers;
    options->query_heads = (uint32_t)query_heads;
    options->kv_heads = (uint32_t)kv_heads;
    options->window_every = (uint32_t)every;
    options->head_dim = (uint32_t)head_dim;
    options->threads = (unsigned)threads;
    return KVR_OK;
}

/* Options that are words. */

struct word {
    const char *text;
    int value;
};

/* Sets *value to that of the given word; leaves it if the option was not given. */
static enum kvr_status read_word(const struct kvr_command *command,
                                 const struct kvr_arguments *arguments, const char *option,
                                 const struct word *words, int *value, struct kvr_error *err)
{
    const char *text = kvr_argument(command, arguments, option);
    char list[128] = "";
    size_t used = 0;
    if (text == NULL)
        return KVR_OK;
    for (const struct word *word = words; word->text != NULL; word++) {
        if (strcmp(text, word->text) == 0) {
            *value = word->value;
            return KVR_OK;
        }
        const char *between = used == 0 ? "" : word[1].text == NULL ? " or " : ", ";
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", between, word->text);
    }
    return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: expected %s, found \"%s\"", option, list, text);
}

enum element_word { HALF_WORD, BFLOAT16_WORD, UINT16_WORD, FLOAT_WORD, DOUBLE_WORD };
enum storage_word { CONTIGUOUS_WORD, CHUNKED_WORD, DEFLATE_WORD };

static const struct word element_words[] = {
    {"half", HALF_WORD},   {"bfloat16", BFLOAT16_WORD}, {"bfloat16-uint16", UINT16_WORD},
    {"float", FLOAT_WORD}, {"double", DOUBLE_WORD},     {NULL, 0},
};
static const struct word order_words[] = {{"little", 0}, {"big", 1}, {NULL, 0}};
static const struct word storage_words[] = {
    {"contiguous", CONTIGUOUS_WORD},
    {"chunked", CHUNKED_WORD},
    {"deflate", DEFLATE_WORD},
    {NULL, 0},
};
static const struct word yes_no_words[] = {{"yes", 1}, {"no", 0}, {NULL, 0}};

static enum kvr_status read_storage(const struct kvr_command *command,
                                    const struct kvr_arguments *arguments,
                                    struct kvr_storage *storage, struct kvr_error *err)
{
    static const enum kvr_element kinds[] = {KVR_HALF, KVR_BFLOAT16, KVR_BFLOAT16, KVR_FLOAT,
                                             KVR_DOUBLE};
    int element = HALF_WORD, order = 0, how = DEFLATE_WORD;
    enum kvr_status status =
        read_word(command, arguments, "--element", element_words, &element, err);
    if (status == KVR_OK)
        status = read_word(command, arguments, "--byte-order", order_words, &order, err);
    if (status == KVR_OK)
        status = read_word(command, arguments, "--storage", storage_words, &how, err);
    if (status != KVR_OK)
        return status;
    storage->type = (struct kvr_element_type){
        .kind = kinds[element],
        .big_endian = order == 1,
        .as_uint16 = element == UINT16_WORD,
    };
    storage->contiguous = how == CONTIGUOUS_WORD;
    storage->shuffle = how == DEFLATE_WORD;
    storage->deflate_level = how == DEFLATE_WORD ? 1 : 0;
    storage->fletcher32 = kvr_argument(command, arguments, "--fletcher32") != NULL;
    if (storage->contiguous && storage->fletcher32)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "--fletcher32: expected --storage chunked or "
                        "deflate, found contiguous");
    return KVR_OK;
}

static enum kvr_status read_options(const struct kvr_command *command,
                                    const struct kvr_arguments *arguments,
                                    struct kvr_synth_options *options, struct kvr_error *err)
{
    unsigned processors = kvr_processor_count();
    int accumulated = 1, attention = 1;
    *options = kvr_synth_defaults();
    options->threads = processors < 4 ? processors : 4;
    enum kvr_status status = read_numbers(command, arguments, options, err);
    if (status == KVR_OK)
        status = kvr_argument_double("--depth", kvr_argument(command, arguments, "--depth"), 0, 1,
                                     &options->depth, err);
    if (status == KVR_OK)
        status = kvr_argument_double("--nan", kvr_argument(command, arguments, "--nan"), 0, 1,
                                     &options->nan_fraction, err);
    if (status == KVR_OK)
        status = kvr_argument_double("--softcap", kvr_argument(command, arguments, "--softcap"), 0,
                                     1e6, &options->softcap, err);
    if (status == KVR_OK)
        status = read_word(command, arguments, "--accumulated", yes_no_words, &accumulated, err);
    if (status == KVR_OK)
        status = read_word(command, arguments, "--attention", yes_no_words, &attention, err);
    if (status == KVR_OK)
        status = read_storage(command, arguments, &options->storage, err);
    options->attention = attention == 1;
    options->accumulated = accumulated == 1;
    options->mixed_heads = kvr_argument(command, arguments, "--mixed-heads") != NULL;
    options->sink_logits = kvr_argument(command, arguments, "--sink-logits") != NULL;
    options->premise = kvr_argument(command, arguments, "--premise") != NULL;
    options->ties = kvr_argument(command, arguments, "--ties") != NULL;
    options->columns = kvr_argument(command, arguments, "--columns") != NULL;
    options->qkv = kvr_argument(command, arguments, "--qkv") != NULL;
    if (kvr_argument(command, arguments, "--rows") == NULL && options->pad < options->tokens &&
        options->rows > options->tokens - options->pad)
        options->rows = options->tokens - options->pad;
    return status;
}

/* Progress, on a terminal only. */

static void show_progress(void *context, double fraction)
{
    int *shown = context;
    int percent = (int)(100 * fraction);
    if (percent == *shown)
        return;
    *shown = percent;
    fprintf(stderr, "\r%3d %%%s", percent, percent == 100 ? "\r     \r" : "");
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_summary(const char *path, const struct kvr_synth_options *options)
{
    unsigned long counts[4] = {0, 0, 0, 0};
    for (uint32_t layer = 0; layer < options->layers; layer++) {
        uint32_t heads =
            options->mixed_heads && layer % 3 == 2 ? options->kv_heads : options->query_heads;
        for (uint32_t head = 0; head < heads; head++)
            counts[kvr_synth_head_kind(options, layer, head)]++;
    }
    printf("%s: %" PRIu64 " sample%s, %" PRIu32 " layer%s, %" PRIu32 "/%" PRIu32 " heads, %" PRIu64
           " + %" PRIu64 " tokens, %" PRIu64 " prefill row%s\n",
           path, options->samples, plural(options->samples), options->layers,
           plural(options->layers), options->query_heads, options->kv_heads, options->tokens,
           options->decode, options->rows, plural(options->rows));
    printf("planted heads:");
    for (int kind = 0; kind < 4; kind++)
        printf("%s %lu %s", kind > 0 ? "," : "", counts[kind],
               kvr_head_kind_name((enum kvr_head_kind)kind));
    if (options->needles == 0)
        puts("; no needles");
    else
        printf("; %" PRIu64 " needle%s of %" PRIu64 " token%s in each sample\n", options->needles,
               plural(options->needles), options->needle_length, plural(options->needle_length));
}

static int run_synth(const struct kvr_command *command, const struct kvr_arguments *arguments,
                     struct kvr_error *err)
{
    struct kvr_synth_options options;
    enum kvr_status status = read_options(command, arguments, &options, err);
    if (status != KVR_OK)
        return kvr_exit_status(status);
    int shown = -1;
    const struct kvr_synth_progress progress = {&shown, show_progress};
    const char *path = arguments->operands[0];
    status = kvr_synth_write(path, &options, isatty(STDERR_FILENO) ? &progress : NULL, err);
    if (status != KVR_OK)
        return kvr_exit_status(status);
    print_summary(path, &options);
    return KVR_EXIT_DONE;
}

const struct kvr_command kvr_command_synth = {
    .name = "synth",
    .operands = "OUT",
    .summary = "writes a synthetic trace with planted heads and needles",
    .text = help_text,
    .least_operands = 1,
    .most_operands = 1,
    .options = options_of_synth,
    .run = run_synth,
};
