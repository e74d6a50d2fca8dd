/*
 * Hay is tokenised sentence by sentence until there is enough, and the first sentence is cut from
 * its front to fit. So the length is met to the token and seams lie between sentences only.
 */
#include "traces/record-llama/haystack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/record-llama/filler.h"
#include "formats/base/memory.h"

struct build {
    const struct kvr_model *model;
    const struct kvr_haystack *haystack;
    struct kvr_random random;
    const char *next; /* in haystack->hay */
    struct kvr_tokens hay, needle, question;
    size_t *ends; /* of the sentences, in tokens */
    size_t end_count, end_capacity;
};

/* A tokeniser that puts a blank in front of every text must not be given one. */
static enum kvr_status tokenise(const struct build *build, const char *sentence,
                                struct kvr_tokens *tokens, struct kvr_error *err)
{
    const char *text = build->model->puts_blank ? sentence + 1 : sentence;
    return kvr_model_tokenise(build->model, text, strlen(text), false, tokens, err);
}

static bool ends_sentence(const char *at)
{
    return (*at == '.' || *at == '!' || *at == '?' || *at == '\n') &&
           (at[1] == ' ' || at[1] == '\n' || at[1] == '\0' || *at == '\n');
}

/* The next sentence of the user's text, which starts again at its end. */
static void take_sentence(struct build *build, struct kvr_text *text)
{
    const char *start = build->next + strspn(build->next, " \t\r\n");
    if (*start == '\0')
        start = build->haystack->hay + strspn(build->haystack->hay, " \t\r\n");
    const char *end = start;
    while (*end != '\0' && !ends_sentence(end))
        end++;
    if (*end != '\0' && *end != '\n')
        end++;
    kvr_text_bytes(text, start, (size_t)(end - start));
    build->next = end;
}

static enum kvr_status add_sentence(struct build *build, struct kvr_text *text,
                                    struct kvr_error *err)
{
    kvr_text_clear(text);
    kvr_text_string(text, " ");
    if (build->haystack->hay != NULL)
        take_sentence(build, text);
    else
        kvr_filler_sentence(&build->random, text);
    enum kvr_status status = kvr_text_check(text, err);
    if (status == KVR_OK)
        status = tokenise(build, text->data, &build->hay, err);
    void *ends = build->ends;
    if (status == KVR_OK)
        status = kvr_reserve(&ends, &build->end_capacity, build->end_count + 1, sizeof *build->ends,
                             err);
    build->ends = ends;
    if (status == KVR_OK)
        build->ends[build->end_count++] = build->hay.count;
    return status;
}

/* Starts a user's text at a sentence of the seed's choice. */
static void choose_start(struct build *build)
{
    const char *hay = build->haystack->hay;
    if (hay == NULL)
        return;
    size_t length = strlen(hay);
    const char *at = hay + kvr_random_below(&build->random, length > 0 ? length : 1);
    while (*at != '\0' && !ends_sentence(at))
        at++;
    build->next = *at != '\0' ? at + 1 : hay;
}

static enum kvr_status grow_hay(struct build *build, size_t wanted, struct kvr_error *err)
{
    struct kvr_text text = {0};
    enum kvr_status status = KVR_OK;
    choose_start(build);
    while (build->hay.count < wanted && status == KVR_OK)
        status = add_sentence(build, &text, err);
    kvr_text_free(&text);
    return status;
}

/* The boundary of sentences next to the depth, in tokens of the hay after `cut` of them are cut. */
static size_t place_needle(const struct build *build, size_t cut)
{
    size_t length = build->hay.count - cut, best = 0;
    double wanted = (double)length * build->haystack->depth / 100;
    for (size_t i = 0; i < build->end_count; i++) {
        size_t end = build->ends[i] > cut ? build->ends[i] - cut : 0;
        double better = (double)best > wanted ? (double)best - wanted : wanted - (double)best;
        double offer = (double)end > wanted ? (double)end - wanted : wanted - (double)end;
        if (offer < better)
            best = end;
    }
    return best;
}

static enum kvr_status add_range(struct kvr_tokens *tokens, const struct kvr_tokens *from,
                                 size_t start, size_t end, struct kvr_error *err)
{
    const struct kvr_tokens part = {.items = from->items + start, .count = end - start};
    return start < end ? kvr_tokens_append(tokens, &part, err) : KVR_OK;
}

static enum kvr_status assemble(struct build *build, const struct kvr_frame *frame,
                                struct kvr_prompt *prompt, struct kvr_error *err)
{
    size_t fixed =
        frame->before.count + build->needle.count + build->question.count + frame->after.count;
    if (build->haystack->length < fixed)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "a needle with its question takes %zu tokens: expected prompts that are "
                        "longer, found %" PRIu64,
                        fixed, build->haystack->length);
    size_t wanted = (size_t)build->haystack->length - fixed;
    enum kvr_status status = grow_hay(build, wanted, err);
    if (status != KVR_OK)
        return status;
    size_t cut = build->hay.count - wanted, place = cut + place_needle(build, cut);
    struct kvr_tokens *tokens = &prompt->tokens;
    status = kvr_tokens_append(tokens, &frame->before, err);
    if (status == KVR_OK)
        status = add_range(tokens, &build->hay, cut, place, err);
    if (status == KVR_OK)
        status = kvr_tokens_append(tokens, &build->needle, err);
    if (status == KVR_OK)
        status = add_range(tokens, &build->hay, place, build->hay.count, err);
    if (status == KVR_OK)
        status = kvr_tokens_append(tokens, &build->question, err);
    if (status == KVR_OK)
        status = kvr_tokens_append(tokens, &frame->after, err);
    return status;
}

static enum kvr_status write_parts(struct build *build, char *number, size_t number_size,
                                   struct kvr_error *err)
{
    const char *town = kvr_filler_town(&build->random);
    char needle[128], question[160];
    snprintf(number, number_size, "%" PRIu64, 10000 + kvr_random_below(&build->random, 90000));
    snprintf(needle, sizeof needle, " The secret number of %s is %s.", town, number);
    if (build->haystack->chat)
        snprintf(question, sizeof question, " What is the secret number of %s?", town);
    else
        snprintf(question, sizeof question,
                 " What is the secret number of %s? The secret number of %s is", town, town);
    enum kvr_status status = tokenise(build, needle, &build->needle, err);
    return status == KVR_OK ? tokenise(build, question, &build->question, err) : status;
}

static enum kvr_status name_prompt(const struct build *build, const char *number,
                                   struct kvr_prompt *prompt, struct kvr_error *err)
{
    char subset[64];
    snprintf(subset, sizeof subset, "length-%" PRIu64 "/depth-%u", build->haystack->length,
             build->haystack->depth);
    prompt->task = kvr_copy_string("niah", err);
    prompt->subset = kvr_copy_string(subset, err);
    prompt->expected = kvr_copy_string(number, err);
    return prompt->task != NULL && prompt->subset != NULL && prompt->expected != NULL
               ? KVR_OK
               : KVR_NO_MEMORY;
}

enum kvr_status kvr_haystack_make(const struct kvr_model *model,
                                  const struct kvr_haystack *haystack,
                                  const struct kvr_frame *frame, struct kvr_prompt *prompt,
                                  struct kvr_error *err)
{
    *prompt = (struct kvr_prompt){0};
    struct build build = {
        .model = model,
        .haystack = haystack,
        .random = kvr_random_stream(haystack->seed, haystack->cell),
        .next = haystack->hay,
    };
    char number[16];
    enum kvr_status status = write_parts(&build, number, sizeof number, err);
    if (status == KVR_OK)
        status = assemble(&build, frame, prompt, err);
    if (status == KVR_OK)
        status = name_prompt(&build, number, prompt, err);
    if (status == KVR_OK)
        status = kvr_prompt_find_needle(model, number, prompt, err);
    free(build.hay.items);
    free(build.needle.items);
    free(build.question.items);
    free(build.ends);
    if (status != KVR_OK)
        kvr_prompt_free(prompt);
    return status;
}
