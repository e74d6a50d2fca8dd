/*
 * Names and numbers from the command line, checked against what a trace holds.
 */
#include "replay/cli/trace_parts.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/text.h"
#include "replay/cli/command.h"
#include "replay/cli/readable.h"

enum { MOST_NAMES = 12 };

static enum kvr_status unknown_sample(const struct kvr_trace *trace, const char *name,
                                      struct kvr_error *err)
{
    struct kvr_text names = {0};
    for (size_t s = 0; s < trace->sample_count && s < MOST_NAMES; s++)
        kvr_text_add(&names, "%s%s", s > 0 ? ", " : "", trace->samples[s].name);
    if (trace->sample_count > MOST_NAMES)
        kvr_text_add(&names, " and %zu more", trace->sample_count - MOST_NAMES);
    kvr_fail(err, KVR_BAD_ARGUMENT, "--samples: no sample \"%s\" in \"%s\"; the samples are %s",
             name, trace->path, names.data != NULL ? names.data : "none");
    kvr_text_free(&names);
    return KVR_BAD_ARGUMENT;
}

enum kvr_status kvr_choose_samples(const struct kvr_trace *trace, const char *text, bool **chosen,
                                   struct kvr_error *err)
{
    char **names;
    size_t count;
    *chosen = NULL;
    if (text == NULL)
        return KVR_OK;
    enum kvr_status status = kvr_argument_list("--samples", text, &names, &count, err);
    if (status != KVR_OK)
        return status;
    bool *flags = kvr_alloc(trace->sample_count, sizeof *flags, err);
    if (flags == NULL)
        status = KVR_NO_MEMORY;
    for (size_t i = 0; i < count && status == KVR_OK; i++) {
        size_t s = 0;
        while (s < trace->sample_count && strcmp(trace->samples[s].name, names[i]) != 0)
            s++;
        if (s < trace->sample_count)
            flags[s] = true;
        else
            status = unknown_sample(trace, names[i], err);
    }
    free(names);
    if (status == KVR_OK)
        *chosen = flags;
    else
        free(flags);
    return status;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* The layer numbers of all samples, ascending, each once; to be freed. */
static uint64_t *layer_numbers(const struct kvr_trace *trace, size_t *count, struct kvr_error *err)
{
    size_t all = 0, kept = 0;
    for (size_t s = 0; s < trace->sample_count; s++)
        all += trace->samples[s].layer_count;
    uint64_t *numbers = kvr_alloc(all, sizeof *numbers, err);
    if (numbers == NULL)
        return NULL;
    for (size_t s = 0, i = 0; s < trace->sample_count; s++)
        for (size_t l = 0; l < trace->samples[s].layer_count; l++)
            numbers[i++] = trace->samples[s].layers[l].number;
    qsort(numbers, all, sizeof *numbers, compare_numbers);
    for (size_t i = 0; i < all; i++)
        if (kept == 0 || numbers[i] != numbers[kept - 1])
            numbers[kept++] = numbers[i];
    *count = kept;
    return numbers;
}

/* "7" or "4-7". */
static bool parse_range(char *item, uint64_t *first, uint64_t *last)
{
    char *dash = strchr(item, '-');
    if (dash != NULL)
        *dash = '\0';
    bool good = kvr_parse_unsigned(item, 0, UINT32_MAX, first) &&
                (dash == NULL || kvr_parse_unsigned(dash + 1, *first, UINT32_MAX, last));
    if (dash == NULL)
        *last = *first;
    else
        *dash = '-';
    return good;
}

static enum kvr_status unknown_layer(const struct kvr_trace *trace, const char *item,
                                     const uint64_t *numbers, size_t count, struct kvr_error *err)
{
    struct kvr_text ranges = {0};
    kvr_text_ranges(&ranges, numbers, count, MOST_NAMES);
    kvr_fail(err, KVR_BAD_ARGUMENT, "--layers: no layer %s in \"%s\"; the layers are %s", item,
             trace->path, ranges.data != NULL ? ranges.data : "none");
    kvr_text_free(&ranges);
    return KVR_BAD_ARGUMENT;
}

/* Marks the existing layers of one item; numbers and taken have `count` entries. */
static enum kvr_status choose_item(const struct kvr_trace *trace, char *item,
                                   const uint64_t *numbers, size_t count, bool *taken,
                                   struct kvr_error *err)
{
    uint64_t first, last;
    if (!parse_range(item, &first, &last))
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "--layers: expected layer numbers like 0,3,8-11, found \"%s\"", item);
    bool any = false;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] >= first && numbers[i] <= last)
            any = taken[i] = true;
    return any ? KVR_OK : unknown_layer(trace, item, numbers, count, err);
}

enum kvr_status kvr_choose_layers(const struct kvr_trace *trace, const char *text,
                                  uint32_t **layers, size_t *count, struct kvr_error *err)
{
    char **items = NULL;
    size_t item_count = 0, all = 0, used = 0;
    *layers = NULL;
    *count = 0;
    if (text == NULL)
        return KVR_OK;
    enum kvr_status status = kvr_argument_list("--layers", text, &items, &item_count, err);
    if (status != KVR_OK)
        return status;
    uint64_t *numbers = layer_numbers(trace, &all, err);
    bool *taken = kvr_alloc(all, sizeof *taken, err);
    uint32_t *chosen = kvr_alloc(all, sizeof *chosen, err);
    if (numbers == NULL || taken == NULL || chosen == NULL)
        status = KVR_NO_MEMORY;
    for (size_t i = 0; i < item_count && status == KVR_OK; i++)
        status = choose_item(trace, items[i], numbers, all, taken, err);
    for (size_t i = 0; i < all && status == KVR_OK; i++)
        if (taken[i])
            chosen[used++] = (uint32_t)numbers[i];
    free(items);
    free(numbers);
    free(taken);
    if (status != KVR_OK) {
        free(chosen);
        return status;
    }
    *layers = chosen;
    *count = used;
    return KVR_OK;
}
