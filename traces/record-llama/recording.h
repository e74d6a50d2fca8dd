/*
 * One prompt becomes one sample: the model answers first, then reads prompt and answer again while
 * it is observed. So the length of the sample is known before anything is written, and every row,
 * of the prompt or of the answer, is taken in the same way.
 */
#ifndef KVR_RECORDING_H
#define KVR_RECORDING_H

#include "traces/record-llama/collector.h"
#include "traces/record-llama/prompt.h"

struct kvr_recording_options {
    uint64_t rows; /* the last ones of the prompt; UINT64_MAX: all */
    bool stored[KVR_STORED_COUNT];
    struct kvr_element_type type;
    uint64_t generate; /* most tokens of the answer */
    const char *stop;  /* the answer ends when it contains this; NULL: it does not */
    uint64_t batch;    /* 0: as large as memory sensibly allows */
    uint64_t context;  /* most tokens of a sample; 0: what the model was trained for */
    unsigned threads;
    bool fused;
};

/* Told how many tokens of the sample were computed; may be NULL. */
struct kvr_recording_progress {
    void (*step)(void *context, uint64_t done, uint64_t total);
    void *context;
};

struct kvr_recording_result {
    uint64_t context_length, prompt_length, first_row;
    char *generated; /* the answer's text, to free */
    bool ended;      /* the model ended it, or it contains `stop` */
    bool right;      /* it contains what the prompt expects */
};

/* Whether the prompt fits the model; `name` says which one it is. */
enum kvr_status kvr_recording_check(const struct kvr_model *model,
                                    const struct kvr_recording_options *options, const char *name,
                                    const struct kvr_prompt *prompt, struct kvr_error *err);

/* Whether what is to be stored of these layers can be. */
enum kvr_status kvr_recording_check_layers(const struct kvr_model_facts *facts,
                                           const struct kvr_recording_options *options,
                                           struct kvr_error *err);

/* Records the sample `name`. */
enum kvr_status kvr_record_sample(const struct kvr_model *model,
                                  const struct kvr_model_facts *facts,
                                  const struct kvr_recording_options *options, const char *name,
                                  const struct kvr_prompt *prompt,
                                  const struct kvr_recording_progress *progress,
                                  struct kvr_trace_writer *writer,
                                  struct kvr_recording_result *result, struct kvr_error *err);

#endif
