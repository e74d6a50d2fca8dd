/*
 * Candidate positions and page geometry. It must not know how anything is scored.
 */
#include "replay/candidates.h"

#include <string.h>

#include "replay/bitmap.h"
#include "replay/cpu/cpu_kernels.h"

struct kvr_candidates kvr_candidates_of(const struct kvr_sample *sample,
                                        const struct kvr_layer *layer, uint64_t sinks)
{
    uint64_t first = sample->pad;
    uint64_t window = layer->sliding_window;
    if (window > 0 && window < sample->prompt_length && sample->prompt_length - window > first)
        first = sample->prompt_length - window;

    struct kvr_candidates candidates = {
        .first = first,
        .count = (size_t)(sample->prompt_length - first),
    };
    uint64_t past_pad = first - sample->pad;
    if (sinks > past_pad) {
        uint64_t left = sinks - past_pad;
        candidates.sinks = left < candidates.count ? (size_t)left : candidates.count;
    }
    return candidates;
}

bool kvr_candidates_needle(const struct kvr_candidates *candidates, struct kvr_span needle,
                           struct kvr_range *range)
{
    if (needle.start < candidates->first || needle.end > candidates->first + candidates->count)
        return false;
    range->start = (size_t)(needle.start - candidates->first);
    range->end = (size_t)(needle.end - candidates->first);
    return true;
}

struct kvr_pages kvr_pages_of(const struct kvr_candidates *candidates, uint64_t page_size)
{
    uint64_t last = candidates->first + candidates->count - 1;
    struct kvr_pages pages = {
        .size = page_size,
        .first_page = candidates->first / page_size,
        .candidates = *candidates,
    };
    pages.count = (size_t)(last / page_size - pages.first_page + 1);
    return pages;
}

struct kvr_range kvr_pages_tokens(const struct kvr_pages *pages, size_t page)
{
    const struct kvr_candidates *candidates = &pages->candidates;
    uint64_t start = (pages->first_page + page) * pages->size;
    struct kvr_range range = {0, candidates->count};
    if (start > candidates->first)
        range.start = (size_t)(start - candidates->first);
    /* start + size may pass the candidates' end, and even overflow for an enormous page. */
    uint64_t left = candidates->first + candidates->count - start;
    if (pages->size < left)
        range.end = (size_t)(start + pages->size - candidates->first);
    return range;
}

size_t kvr_pages_unit(const struct kvr_pages *pages, size_t t)
{
    return (size_t)((pages->candidates.first + t) / pages->size - pages->first_page);
}

static double page_sum(const float *vector, struct kvr_range range)
{
    double sum = 0;
    for (size_t t = range.start; t < range.end; t++)
        sum += (double)vector[t];
    return sum;
}

/* The pages between the first and the last are whole, and their tokens follow each other. */
static void score_by_largest(const struct kvr_pages *pages, const float *vector, float *scores)
{
    const struct kvr_kernels *kernels = kvr_kernels();
    for (size_t page = 0; page < pages->count; page++) {
        struct kvr_range range = kvr_pages_tokens(pages, page);
        size_t whole = 1;
        if (page > 0 && page + 2 < pages->count)
            whole = pages->count - 2;
        kernels->page_largest(vector + range.start, whole, range.end - range.start, scores + page);
        page += whole - 1;
    }
}

void kvr_pages_score(const struct kvr_pages *pages, enum kvr_page_reduce reduce,
                     const float *vector, float *scores)
{
    if (reduce == KVR_PAGE_MAX) {
        score_by_largest(pages, vector, scores);
        return;
    }
    for (size_t page = 0; page < pages->count; page++) {
        struct kvr_range range = kvr_pages_tokens(pages, page);
        double sum = page_sum(vector, range);
        scores[page] =
            (float)(reduce == KVR_PAGE_MEAN ? sum / (double)(range.end - range.start) : sum);
    }
}

/* The bits of `units`, each `size` times, from bit 0 on: whole words at once, a few bits of them
   from a table. */
static void repeat_bits(const uint64_t *units, size_t words, unsigned size, uint64_t *out)
{
    const unsigned each = 64 / size, step = each < 4 ? each : 4, stride = step * size;
    const uint64_t ones = ~UINT64_C(0) >> (64 - size), mask = (UINT64_C(1) << step) - 1;
    uint64_t table[16] = {0};
    for (uint64_t bits = 0; bits <= mask; bits++)
        for (unsigned i = 0; i < step; i++)
            table[bits] |= (bits >> i & 1) * ones << (i * size);
    for (size_t word = 0; word < words; word++) {
        uint64_t bits = units[word / size] >> (word % size * each), repeated = table[bits & mask];
        for (unsigned at = stride; at < 64; at += stride) {
            bits >>= step;
            repeated |= table[bits & mask] << at;
        }
        out[word] = repeated;
    }
}

void kvr_pages_expand(const struct kvr_pages *pages, const uint64_t *units, uint64_t *tokens)
{
    const struct kvr_candidates *candidates = &pages->candidates;
    size_t words = kvr_bitmap_words(candidates->count);
    if (candidates->first % pages->size == 0 && pages->size < 64 && 64 % pages->size == 0) {
        repeat_bits(units, words, (unsigned)pages->size, tokens);
        if (candidates->count % 64 != 0)
            tokens[words - 1] &= ~(~UINT64_C(0) << candidates->count % 64);
        return;
    }
    memset(tokens, 0, words * sizeof *tokens);
    for (size_t word = 0; word < kvr_bitmap_words(pages->count); word++)
        for (uint64_t bits = units[word]; bits != 0; bits &= bits - 1) {
            size_t page = word * 64 + (size_t)__builtin_ctzll(bits);
            struct kvr_range range = kvr_pages_tokens(pages, page);
            kvr_bitmap_add_span(tokens, range.start, range.end);
        }
}
