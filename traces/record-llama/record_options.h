/*
 * The command line of record-llama: what it means, checked as far as it can be without the model.
 */
#ifndef KVR_RECORD_OPTIONS_H
#define KVR_RECORD_OPTIONS_H

#include "traces/record-llama/recording.h"
#include "replay/cli/command.h"

struct kvr_record_options {
    const char *model, *out;
    size_t prompt_count;
    const char **prompts; /* files; points into the arguments */
    const char *needle, *needle_file, *layers;
    uint64_t gpu_layers;
    bool chat, quiet;
    struct kvr_recording_options recording;

    /* The grid of needles in haystacks; no lengths: none. */
    size_t length_count, depth_count;
    uint64_t *lengths, *depths;
    uint64_t seed;
    const char *hay_file;
};

extern const struct kvr_command kvr_command_record_llama;

/* Release with kvr_record_options_free, whatever is returned. */
enum kvr_status kvr_record_options_read(const struct kvr_arguments *arguments,
                                        struct kvr_record_options *options, struct kvr_error *err);
void kvr_record_options_free(struct kvr_record_options *options);

void kvr_record_help(FILE *stream);

/* Keeps the layers of the list ("0,4-7"; NULL: all) in *facts. */
enum kvr_status kvr_record_choose_layers(const char *list, struct kvr_model_facts *facts,
                                         struct kvr_error *err);

#endif
