/*
 * A prompt as tokens, with what it asks for and where the answer lies. It must not know how a
 * prompt came about: from a file, or as a needle in a haystack.
 */
#ifndef KVR_PROMPT_H
#define KVR_PROMPT_H

#include "formats/trace.h"
#include "traces/record-llama/model.h"

/* Zero-initialised is empty. */
struct kvr_prompt {
    char *task, *subset; /* NULL: none */
    char *expected;      /* what the right answer contains; NULL: not known */
    struct kvr_tokens tokens;
    size_t needle_count, needle_capacity;
    struct kvr_span *needles; /* ascending */
};

void kvr_prompt_free(struct kvr_prompt *prompt);

/* What stands around the text of a prompt; without a chat template nothing does. */
struct kvr_frame {
    struct kvr_tokens before, after;
};

enum kvr_status kvr_frame_make(const struct kvr_model *model, bool chat, struct kvr_frame *frame,
                               struct kvr_error *err);
void kvr_frame_free(struct kvr_frame *frame);

enum kvr_status kvr_tokens_append(struct kvr_tokens *tokens, const struct kvr_tokens *more,
                                  struct kvr_error *err);

/* The text of a file in its frame. A final end of line does not belong to the prompt. */
enum kvr_status kvr_prompt_read(const struct kvr_model *model, const char *path,
                                const struct kvr_frame *frame, struct kvr_prompt *prompt,
                                struct kvr_error *err);

/*
 * Makes every occurrence of `text` in the prompt a needle: the span of the tokens that spell it.
 * A token that spells other than blanks beside it is refused, as is a text that does not occur.
 */
enum kvr_status kvr_prompt_find_needle(const struct kvr_model *model, const char *text,
                                       struct kvr_prompt *prompt, struct kvr_error *err);

/* A whole file as text. */
enum kvr_status kvr_read_text(const char *path, struct kvr_text *text, struct kvr_error *err);

#endif
