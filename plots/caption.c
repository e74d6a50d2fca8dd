/*
 * Words about the scope of a figure.
 */
#include "plots/caption.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *kvr_count_words(char words[KVR_COUNT_ROOM], uint64_t count, const char *noun)
{
    char digits[32], grouped[48];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            grouped[used++] = ',';
        grouped[used++] = digits[i];
    }
    grouped[used] = '\0';
    snprintf(words, KVR_COUNT_ROOM, "%s %s%s", grouped, noun, count == 1 ? "" : "s");
    return words;
}

static void say_traces(struct kvr_text *text, const struct kvr_source *source)
{
    if (source->trace != NULL || source->traces.count == 1)
        kvr_text_add(text, "Trace %s",
                     source->trace != NULL ? source->trace : source->traces.names[0]);
    else
        kvr_text_add(text, "%zu traces together", source->traces.count);
}

static void say_pages(struct kvr_text *text, const char *pages)
{
    if (strcmp(pages, "1") == 0)
        kvr_text_string(text, "; tokens");
    else
        kvr_text_add(text, "; pages of %s", pages);
}

void kvr_caption_scope(struct kvr_draft *draft, const struct kvr_source *source, unsigned scope,
                       const char *pages)
{
    struct kvr_text text = {0};
    char words[KVR_COUNT_ROOM];
    uint64_t excluded = scope & KVR_SCOPE_SCORER ? source->excluded : source->excluded_at_all;
    if (pages == NULL)
        pages = source->page_size;
    say_traces(&text, source);
    if (scope & KVR_SCOPE_SCORER && source->scorer != NULL)
        kvr_text_add(&text, "; scorer %s", source->scorer);
    if (scope & KVR_SCOPE_BUDGET && source->budget != NULL)
        kvr_text_add(&text, "; budget %s", source->budget);
    if (scope & KVR_SCOPE_PAGES && pages != NULL)
        say_pages(&text, pages);
    kvr_text_add(&text, ". Excluded as not finite: %s.",
                 kvr_count_words(words, excluded,
                                 scope & KVR_SCOPE_SCORER ? "group" : "(group, scorer) pair"));
    draft->caption.failed = draft->caption.failed || text.failed;
    if (text.data != NULL)
        kvr_draft_say(draft, "%s", text.data);
    kvr_text_free(&text);
}
