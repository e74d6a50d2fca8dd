/*
 * Text to tokens and back: where a needle lies is decided by what the tokens spell, so that a span
 * is exact or refused.
 */
#include "traces/record-llama/prompt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"

void kvr_prompt_free(struct kvr_prompt *prompt)
{
    free(prompt->task);
    free(prompt->subset);
    free(prompt->expected);
    free(prompt->tokens.items);
    free(prompt->needles);
    *prompt = (struct kvr_prompt){0};
}

enum kvr_status kvr_frame_make(const struct kvr_model *model, bool chat, struct kvr_frame *frame,
                               struct kvr_error *err)
{
    *frame = (struct kvr_frame){0};
    enum kvr_status status = kvr_model_begin(model, &frame->before, err);
    if (status != KVR_OK || !chat)
        return status;
    char *before = NULL, *after = NULL;
    status = kvr_model_chat(model, &before, &after, err);
    if (status == KVR_OK)
        status = kvr_model_tokenise(model, before, strlen(before), true, &frame->before, err);
    if (status == KVR_OK)
        status = kvr_model_tokenise(model, after, strlen(after), true, &frame->after, err);
    free(before);
    free(after);
    return status;
}

void kvr_frame_free(struct kvr_frame *frame)
{
    free(frame->before.items);
    free(frame->after.items);
    *frame = (struct kvr_frame){0};
}

enum kvr_status kvr_tokens_append(struct kvr_tokens *tokens, const struct kvr_tokens *more,
                                  struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; i < more->count && status == KVR_OK; i++)
        status = kvr_tokens_add(tokens, more->items[i], err);
    return status;
}

enum kvr_status kvr_read_text(const char *path, struct kvr_text *text, struct kvr_error *err)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be read: %s", path, strerror(errno));
    char bytes[1 << 14];
    size_t length;
    while ((length = fread(bytes, 1, sizeof bytes, file)) > 0)
        kvr_text_bytes(text, bytes, length);
    int cause = errno;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed)
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be read: %s", path, strerror(cause));
    return kvr_text_check(text, err);
}

enum kvr_status kvr_prompt_read(const struct kvr_model *model, const char *path,
                                const struct kvr_frame *frame, struct kvr_prompt *prompt,
                                struct kvr_error *err)
{
    *prompt = (struct kvr_prompt){0};
    struct kvr_text text = {0};
    enum kvr_status status = kvr_read_text(path, &text, err);
    size_t length = text.length;
    if (length > 0 && text.data[length - 1] == '\n')
        length--;
    if (length > 0 && text.data[length - 1] == '\r')
        length--;
    if (status == KVR_OK && length == 0)
        status =
            kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected a prompt, found an empty file", path);
    if (status == KVR_OK)
        status = kvr_tokens_append(&prompt->tokens, &frame->before, err);
    if (status == KVR_OK)
        status = kvr_model_tokenise(model, text.data, length, false, &prompt->tokens, err);
    if (status == KVR_OK)
        status = kvr_tokens_append(&prompt->tokens, &frame->after, err);
    kvr_text_free(&text);
    if (status != KVR_OK)
        kvr_prompt_free(prompt);
    return status;
}

/* A prompt as its tokens spell it. */
struct spelling {
    struct kvr_text text;
    size_t *starts; /* [tokens + 1], in bytes */
};

static enum kvr_status spell(const struct kvr_model *model, const struct kvr_tokens *tokens,
                             struct spelling *spelling, struct kvr_error *err)
{
    *spelling = (struct spelling){0};
    spelling->starts = kvr_alloc(tokens->count + 1, sizeof *spelling->starts, err);
    enum kvr_status status = spelling->starts != NULL ? KVR_OK : KVR_NO_MEMORY;
    for (size_t i = 0; i < tokens->count && status == KVR_OK; i++) {
        spelling->starts[i] = spelling->text.length;
        status = kvr_model_piece(model, tokens->items[i], &spelling->text, err);
    }
    if (status == KVR_OK)
        spelling->starts[tokens->count] = spelling->text.length;
    return status;
}

static void free_spelling(struct spelling *spelling)
{
    kvr_text_free(&spelling->text);
    free(spelling->starts);
}

static bool is_blank(const char *text, size_t start, size_t end)
{
    while (start < end && strchr(" \t\r\n", text[start]) != NULL)
        start++;
    return start == end;
}

/* The tokens that spell the bytes [start, end); false if one spells something else, too. */
static bool find_tokens(const struct spelling *spelling, size_t token_count, size_t start,
                        size_t end, struct kvr_span *span)
{
    size_t first = 0;
    while (first < token_count && spelling->starts[first + 1] <= start)
        first++;
    size_t last = first;
    while (last < token_count && spelling->starts[last] < end)
        last++;
    *span = (struct kvr_span){first, last};
    return is_blank(spelling->text.data, spelling->starts[first], start) &&
           is_blank(spelling->text.data, end, spelling->starts[last]);
}

static enum kvr_status add_needle(struct kvr_prompt *prompt, struct kvr_span span,
                                  struct kvr_error *err)
{
    void *items = prompt->needles;
    enum kvr_status status = kvr_reserve(&items, &prompt->needle_capacity, prompt->needle_count + 1,
                                         sizeof *prompt->needles, err);
    prompt->needles = items;
    if (status != KVR_OK)
        return status;
    size_t at = prompt->needle_count++;
    for (; at > 0 && prompt->needles[at - 1].start > span.start; at--)
        prompt->needles[at] = prompt->needles[at - 1];
    prompt->needles[at] = span;
    return KVR_OK;
}

static enum kvr_status find_all(const struct spelling *spelling, const char *text,
                                struct kvr_prompt *prompt, struct kvr_error *err)
{
    size_t length = strlen(text), found = 0;
    if (length == 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "a needle is empty");
    const char *all = spelling->text.data != NULL ? spelling->text.data : "";
    const char *at = all;
    /* The spelling may hold NULs: strstr would stop there. */
    while ((at = memmem(at, spelling->text.length - (size_t)(at - all), text, length)) != NULL) {
        struct kvr_span span;
        size_t start = (size_t)(at - all);
        if (!find_tokens(spelling, prompt->tokens.count, start, start + length, &span))
            return kvr_hint((kvr_fail(err, KVR_BAD_ARGUMENT,
                                      "the needle \"%s\" begins or ends inside of a token", text),
                             err),
                            "its tokens spell \"%.*s\"",
                            (int)(spelling->starts[span.end] - spelling->starts[span.start]),
                            all + spelling->starts[span.start]);
        enum kvr_status status = add_needle(prompt, span, err);
        if (status != KVR_OK)
            return status;
        at += length;
        found++;
    }
    if (found == 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "the needle \"%s\" is not in the prompt", text);
    return KVR_OK;
}

enum kvr_status kvr_prompt_find_needle(const struct kvr_model *model, const char *text,
                                       struct kvr_prompt *prompt, struct kvr_error *err)
{
    struct spelling spelling;
    enum kvr_status status = spell(model, &prompt->tokens, &spelling, err);
    if (status == KVR_OK)
        status = find_all(&spelling, text, prompt, err);
    free_spelling(&spelling);
    return status;
}
