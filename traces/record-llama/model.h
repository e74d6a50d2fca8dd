/*
 * A GGUF model as llama.cpp loads it: its name, its words, its limits. It must not know traces.
 */
#ifndef KVR_MODEL_H
#define KVR_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/base/text.h"

struct llama_model;
struct llama_vocab;

struct kvr_model {
    struct llama_model *handle;
    const struct llama_vocab *vocab;
    char *path;
    char *title;              /* "SmolLM2 135M Instruct, Q4_1" */
    uint64_t trained_context; /* tokens; 0 if the file does not say */
    uint64_t window;          /* sliding window of the layers that have one; 0: none */
    bool puts_blank;          /* the tokeniser puts a blank in front of every text */
};

/* Zero-initialised is empty; items is freed by the owner. */
struct kvr_tokens {
    int32_t *items;
    size_t count, capacity;
};

/* gpu_layers: how many layers go to a GPU, if llama.cpp was built for one. */
enum kvr_status kvr_model_open(const char *path, uint32_t gpu_layers, struct kvr_model **out,
                               struct kvr_error *err);

/* NULL is allowed. */
void kvr_model_close(struct kvr_model *model);

/* Appends the tokens of a text; markup: "<|im_start|>" and its like are one token each. */
enum kvr_status kvr_model_tokenise(const struct kvr_model *model, const char *text, size_t length,
                                   bool markup, struct kvr_tokens *tokens, struct kvr_error *err);

/* Appends the token that starts a text, where the model wants one. */
enum kvr_status kvr_model_begin(const struct kvr_model *model, struct kvr_tokens *tokens,
                                struct kvr_error *err);

enum kvr_status kvr_tokens_add(struct kvr_tokens *tokens, int32_t token, struct kvr_error *err);

/* Appends what a token reads as; tokens of markup read as nothing. */
enum kvr_status kvr_model_piece(const struct kvr_model *model, int32_t token, struct kvr_text *text,
                                struct kvr_error *err);

/* Whether the token ends an answer. */
bool kvr_model_ends(const struct kvr_model *model, int32_t token);

/* What the model's chat template puts before and after a user's text, until the answer starts. */
enum kvr_status kvr_model_chat(const struct kvr_model *model, char **before, char **after,
                               struct kvr_error *err);

/* The version of llama.cpp. */
const char *kvr_model_library(void);

/* The first error that llama.cpp logged since kvr_model_forgive, as one line; "" if there is none.
 */
const char *kvr_model_complaint(void);
void kvr_model_forgive(void);

#endif
