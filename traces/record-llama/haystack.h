/*
 * Needle in a haystack: prompts of an exact number of tokens, with a sentence that holds a secret
 * number at a wanted depth and the question for it at the end.
 */
#ifndef KVR_HAYSTACK_H
#define KVR_HAYSTACK_H

#include "traces/record-llama/prompt.h"

struct kvr_haystack {
    uint64_t length;     /* of the prompt, in tokens */
    unsigned depth;      /* where the sentence stands, 0 ... 100 percent of the hay */
    uint64_t seed, cell; /* the same seed and cell: the same hay, town and number */
    const char *hay;     /* a text to take sentences from; NULL: kvr_filler_sentence */
    bool chat;           /* the frame is a chat: the question is not to be continued */
};

/*
 * The needle is the number; the sentence stands at the boundary of sentences next to the depth.
 * KVR_BAD_ARGUMENT if the length leaves no room for sentence and question.
 */
enum kvr_status kvr_haystack_make(const struct kvr_model *model,
                                  const struct kvr_haystack *haystack,
                                  const struct kvr_frame *frame, struct kvr_prompt *prompt,
                                  struct kvr_error *err);

#endif
