/*
 * record-llama: makes the prompts, has each recorded, says what came of it. The trace appears when
 * it is whole; a run that fails or is interrupted leaves what was there before.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/temporary.h"
#include "traces/record-llama/haystack.h"
#include "traces/record-llama/record_options.h"

struct run {
    struct kvr_record_options options;
    struct kvr_model *model;
    struct kvr_frame frame;
    size_t prompt_count;
    struct kvr_prompt *prompts;
    struct kvr_model_facts facts;
    size_t ended, right; /* answers */
    uint64_t decoded;    /* tokens */
};

/* Progress. */

struct progress {
    bool shown;
    size_t sample, samples;
};

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    const struct progress *progress = context;
    if (!progress->shown)
        return;
    fprintf(stderr, "\r  sample %zu of %zu: %s, %3.0f %% ", progress->sample + 1, progress->samples,
            done * 2 <= total ? "answering" : "recording", 100 * (double)done / (double)total);
    fflush(stderr);
}

static void clear_progress(const struct progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r%60s\r", "");
}

/* Prompts. */

static enum kvr_status add_needles(struct run *run, size_t index, struct kvr_error *err)
{
    struct kvr_prompt *prompt = &run->prompts[index];
    enum kvr_status status = KVR_OK;
    if (run->options.needle != NULL)
        status = kvr_prompt_find_needle(run->model, run->options.needle, prompt, err);
    if (status != KVR_OK || run->options.needle_file == NULL)
        return status;
    struct kvr_text text = {0};
    status = kvr_read_text(run->options.needle_file, &text, err);
    char *rest = NULL;
    for (char *line = text.data != NULL ? strtok_r(text.data, "\r\n", &rest) : NULL;
         line != NULL && status == KVR_OK; line = strtok_r(NULL, "\r\n", &rest))
        status = kvr_prompt_find_needle(run->model, line, prompt, err);
    kvr_text_free(&text);
    return status;
}

static enum kvr_status read_prompts(struct run *run, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; i < run->prompt_count && status == KVR_OK; i++) {
        const char *path = run->options.prompts[i];
        char name[512];
        snprintf(name, sizeof name, "\"%s\"", path);
        status = kvr_prompt_read(run->model, path, &run->frame, &run->prompts[i], err);
        if (status == KVR_OK && (status = add_needles(run, i, err)) != KVR_OK)
            kvr_at(err, "%s", name);
        if (status == KVR_OK)
            status = kvr_recording_check(run->model, &run->options.recording, name,
                                         &run->prompts[i], err);
    }
    return status;
}

static enum kvr_status read_hay(const struct run *run, struct kvr_text *hay, struct kvr_error *err)
{
    if (run->options.hay_file == NULL)
        return KVR_OK;
    enum kvr_status status = kvr_read_text(run->options.hay_file, hay, err);
    if (status == KVR_OK && (hay->data == NULL || hay->data[strspn(hay->data, " \t\r\n")] == '\0'))
        status = kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected sentences, found no text",
                          run->options.hay_file);
    return status;
}

static enum kvr_status make_grid(struct run *run, struct kvr_error *err)
{
    struct kvr_text hay = {0};
    enum kvr_status status = read_hay(run, &hay, err);
    for (size_t i = 0; i < run->prompt_count && status == KVR_OK; i++) {
        const struct kvr_haystack haystack = {
            .length = run->options.lengths[i / run->options.depth_count],
            .depth = (unsigned)run->options.depths[i % run->options.depth_count],
            .seed = run->options.seed,
            .cell = i,
            .hay = hay.data,
            .chat = run->options.chat,
        };
        status = kvr_haystack_make(run->model, &haystack, &run->frame, &run->prompts[i], err);
        if (status == KVR_OK)
            status = kvr_recording_check(run->model, &run->options.recording, "--niah",
                                         &run->prompts[i], err);
    }
    kvr_text_free(&hay);
    return status;
}

static enum kvr_status make_prompts(struct run *run, struct kvr_error *err)
{
    size_t count = run->options.prompt_count;
    if (run->options.length_count > 0 &&
        !kvr_size_product(run->options.length_count, run->options.depth_count, &count))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "--niah: too many samples");
    run->prompts = kvr_alloc(count, sizeof *run->prompts, err);
    if (run->prompts == NULL)
        return KVR_NO_MEMORY;
    run->prompt_count = count;
    enum kvr_status status = kvr_frame_make(run->model, run->options.chat, &run->frame, err);
    if (status != KVR_OK)
        return status;
    return run->options.length_count > 0 ? make_grid(run, err) : read_prompts(run, err);
}

/* Recording. */

/* What recorded it, and how. */
static enum kvr_status describe(const struct kvr_arguments *arguments, struct kvr_text *text,
                                struct kvr_error *err)
{
    kvr_text_add(text, "kvreplay %s record-llama, llama.cpp %s:", KVREPLAY_VERSION,
                 kvr_model_library());
    for (int i = 1; i < arguments->argc; i++)
        kvr_text_add(text, strpbrk(arguments->argv[i], " \t'\"") != NULL ? " \"%s\"" : " %s",
                     arguments->argv[i]);
    if (text->data != NULL)
        kvr_make_printable(text->data);
    return kvr_text_check(text, err);
}

/* One line a sample: what was asked and what came of it. */
static void print_sample(const struct run *run, size_t index,
                         const struct kvr_recording_result *result)
{
    const struct kvr_prompt *prompt = &run->prompts[index];
    char answer[80];
    int most = (int)sizeof answer - 1;
    snprintf(answer, sizeof answer, "%s", result->generated);
    kvr_make_printable(answer);
    printf("  %zu  %s  %" PRIu64 " + %" PRIu64 " tokens", index,
           prompt->subset != NULL ? prompt->subset : run->options.prompts[index],
           result->prompt_length, result->context_length - result->prompt_length);
    if (result->context_length > result->prompt_length)
        printf("  \"%s%s\"%s", answer, strlen(result->generated) > (size_t)most ? "…" : "",
               prompt->expected == NULL ? ""
               : result->right          ? "  right"
                                        : "  wrong");
    putchar('\n');
    fflush(stdout);
}

static enum kvr_status record_all(struct run *run, struct kvr_trace_writer *writer,
                                  struct kvr_error *err)
{
    struct progress shown = {
        .shown = !run->options.quiet && isatty(STDERR_FILENO),
        .samples = run->prompt_count,
    };
    const struct kvr_recording_progress progress = {.step = show_progress, .context = &shown};
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; i < run->prompt_count && status == KVR_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu", i);
        shown.sample = i;
        struct kvr_recording_result result;
        status = kvr_record_sample(run->model, &run->facts, &run->options.recording, name,
                                   &run->prompts[i], &progress, writer, &result, err);
        if (status != KVR_OK)
            break;
        clear_progress(&shown);
        if (!run->options.quiet)
            print_sample(run, i, &result);
        run->ended += result.ended;
        run->right += result.right;
        run->decoded += result.context_length - result.prompt_length;
        free(result.generated);
    }
    if (status != KVR_OK)
        clear_progress(&shown);
    return status;
}

static enum kvr_status write_trace(struct run *run, const struct kvr_arguments *arguments,
                                   struct kvr_error *err)
{
    struct kvr_text producer = {0};
    struct kvr_trace_writer *writer = NULL;
    enum kvr_status status = describe(arguments, &producer, err);
    if (status == KVR_OK)
        status =
            kvr_trace_writer_open(run->options.out, run->model->title, producer.data, &writer, err);
    kvr_text_free(&producer);
    if (status != KVR_OK)
        return status;
    status = record_all(run, writer, err);
    if (status == KVR_OK)
        return kvr_trace_writer_commit(writer, err);
    kvr_trace_writer_abandon(writer);
    return status;
}

static void print_summary(const struct run *run)
{
    printf("%s: %zu sample%s of %s, %zu layer%s, %" PRIu64 " tokens decoded\n", run->options.out,
           run->prompt_count, run->prompt_count == 1 ? "" : "s", run->model->title,
           run->facts.count, run->facts.count == 1 ? "" : "s", run->decoded);
    if (run->options.recording.generate == 0)
        return;
    if (run->options.length_count > 0)
        printf("%zu of %zu answers hold the secret number\n", run->right, run->prompt_count);
    if (run->ended < run->prompt_count)
        printf("%zu of %zu answers were cut short: --generate N allows longer ones\n",
               run->prompt_count - run->ended, run->prompt_count);
}

static enum kvr_status record(struct run *run, const struct kvr_arguments *arguments,
                              struct kvr_error *err)
{
    enum kvr_status status = kvr_record_options_read(arguments, &run->options, err);
    if (status == KVR_OK)
        status =
            kvr_model_open(run->options.model, (uint32_t)run->options.gpu_layers, &run->model, err);
    if (status == KVR_OK)
        status = make_prompts(run, err);
    if (status == KVR_OK)
        status = kvr_model_facts_find(run->model, run->options.recording.fused,
                                      run->options.recording.threads, &run->facts, err);
    if (status == KVR_OK)
        status = kvr_record_choose_layers(run->options.layers, &run->facts, err);
    if (status == KVR_OK)
        status = kvr_recording_check_layers(&run->facts, &run->options.recording, err);
    if (status == KVR_OK)
        status = write_trace(run, arguments, err);
    if (status == KVR_OK && !run->options.quiet)
        print_summary(run);
    return status;
}

static void free_run(struct run *run)
{
    for (size_t i = 0; i < run->prompt_count; i++)
        kvr_prompt_free(&run->prompts[i]);
    free(run->prompts);
    kvr_model_facts_free(&run->facts);
    kvr_frame_free(&run->frame);
    kvr_model_close(run->model);
    kvr_record_options_free(&run->options);
}

/* The program. */

/* Leaves nothing half-written behind, then lets the signal do what it does by default. */
static void clean_up_and_die(int signal_number)
{
    if (kvr_signals_defer(signal_number))
        return;
    kvr_temporaries_remove();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void handle_signals(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action;
        if (sigaction(signals[i], NULL, &action) != 0 || action.sa_handler == SIG_IGN)
            continue;
        action = (struct sigaction){.sa_handler = clean_up_and_die, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(signals[i], &action, NULL);
    }
    /* Limits on file sizes and readers that went away are errors of the write, told like others. */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

static bool asks_for(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], option) == 0)
            return true;
    return false;
}

static int fail(const struct kvr_error *err)
{
    fprintf(stderr, "record-llama: %s\n", err->message);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
    return kvr_exit_status(err->status);
}

/* The parser is that of `kvreplay COMMAND …`: there one word more stands in front. */
static enum kvr_status parse(int argc, char **argv, struct kvr_arguments *arguments,
                             struct kvr_error *err)
{
    char **line = kvr_alloc((size_t)argc + 1, sizeof *line, err);
    if (line == NULL)
        return KVR_NO_MEMORY;
    line[0] = argv[0];
    memcpy(line + 1, argv, (size_t)argc * sizeof *line);
    enum kvr_status status =
        kvr_arguments_parse(&kvr_command_record_llama, argc + 1, line, arguments, err);
    free(line); /* what was parsed points to the words, not to the line */
    arguments->argc = argc;
    arguments->argv = argv;
    return status;
}

int main(int argc, char **argv)
{
    handle_signals();
    if (argc < 2) {
        fputs("usage: record-llama -m MODEL.gguf -o OUT.h5 [options] PROMPT.txt…\n"
              "hint: \"record-llama --help\" lists the options\n",
              stderr);
        return KVR_EXIT_USAGE;
    }
    if (asks_for(argc, argv, "--help") || asks_for(argc, argv, "-h")) {
        kvr_record_help(stdout);
        return KVR_EXIT_DONE;
    }
    if (asks_for(argc, argv, "--version")) {
        printf("record-llama %s, llama.cpp %s\n", KVREPLAY_VERSION, kvr_model_library());
        return KVR_EXIT_DONE;
    }
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_arguments arguments;
    if (parse(argc, argv, &arguments, &err) != KVR_OK)
        return fail(&err);
    struct run run = {0};
    enum kvr_status status = record(&run, &arguments, &err);
    const char *out = run.options.out; /* a word of argv */
    free_run(&run);
    kvr_arguments_free(&arguments);
    if (status != KVR_OK)
        return fail(&err);
    bool unwritten = ferror(stdout) != 0;
    if (fclose(stdout) == 0 && !unwritten)
        return KVR_EXIT_DONE;
    kvr_fail(&err, KVR_IO, "standard output cannot be written, but \"%s\" is whole", out);
    return fail(&err);
}
