/*
 * Top-k selection by counting, and stable ranking by radix sort. It must not know what is scored.
 */
#include "replay/select.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "replay/bitmap.h"

/* A 32-bit key is looked at in three digits, highest first: 11, 11 and 10 bits. */
enum { DIGITS = 3, BINS = 2048 };
static const unsigned digit_shift[DIGITS] = {21, 10, 0};
static const uint32_t digit_mask[DIGITS] = {2047, 2047, 1023};

/* Unsigned order of keys = order of floats; both zeros have one key. */
static inline uint32_t key_of(float score)
{
    uint32_t bits;
    score += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &score, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

void kvr_select_scratch_free(struct kvr_select_scratch *scratch)
{
    free(scratch->keys);
    free(scratch->order);
    *scratch = (struct kvr_select_scratch){0};
}

static enum kvr_status reserve_keys(struct kvr_select_scratch *scratch, size_t n,
                                    struct kvr_error *err)
{
    void *keys = scratch->keys;
    enum kvr_status status = kvr_reserve(&keys, &scratch->key_capacity, n, sizeof(uint32_t), err);
    scratch->keys = keys;
    return status;
}

/* The last key that is still kept, and how many of those that tie with it. */
struct cut {
    uint32_t key;
    uint64_t ties;
};

/* Of a histogram, the bin in which the `quota` highest end; *quota becomes what is left for it. */
static uint32_t cut_bin(const uint64_t *histogram, uint32_t bins, uint64_t *quota)
{
    uint32_t bin = bins - 1;
    while (histogram[bin] < *quota)
        *quota -= histogram[bin--];
    return bin;
}

/* Finds the cut among keys that share their first digit. Reorders nothing, shrinks `keys`. */
static struct cut refine_cut(uint32_t *keys, size_t n, uint64_t quota)
{
    for (int digit = 1; digit < DIGITS; digit++) {
        uint64_t histogram[BINS] = {0};
        for (size_t i = 0; i < n; i++)
            histogram[keys[i] >> digit_shift[digit] & digit_mask[digit]]++;
        uint32_t bin = cut_bin(histogram, digit_mask[digit] + 1, &quota);
        size_t kept = 0;
        for (size_t i = 0; i < n; i++)
            if ((keys[i] >> digit_shift[digit] & digit_mask[digit]) == bin)
                keys[kept++] = keys[i];
        n = kept;
    }
    return (struct cut){keys[0], quota};
}

/* The set of all keys above the cut and the first cut.ties that equal it. */
static void write_set(const float *scores, size_t n, struct cut cut, uint64_t *set)
{
    for (size_t base = 0; base < n; base += 64) {
        size_t length = n - base < 64 ? n - base : 64;
        uint64_t above = 0, equal = 0;
        for (size_t i = 0; i < length; i++) {
            uint32_t key = key_of(scores[base + i]);
            above |= (uint64_t)(key > cut.key) << i;
            equal |= (uint64_t)(key == cut.key) << i;
        }
        for (; equal != 0 && cut.ties > 0; equal &= equal - 1, cut.ties--)
            above |= equal & -equal;
        set[base / 64] = above;
    }
}

static void write_all(size_t n, uint64_t *set)
{
    memset(set, 0, kvr_bitmap_words(n) * sizeof *set);
    kvr_bitmap_add_span(set, 0, n);
}

enum kvr_status kvr_select_top(const float *scores, size_t n, const uint64_t *quotas, size_t count,
                               uint64_t *const *sets, struct kvr_select_scratch *scratch,
                               struct kvr_error *err)
{
    if (reserve_keys(scratch, n, err) != KVR_OK)
        return KVR_NO_MEMORY;
    uint64_t histogram[BINS] = {0};
    for (size_t i = 0; i < n; i++)
        histogram[key_of(scores[i]) >> digit_shift[0]]++;

    for (size_t i = 0; i < count; i++) {
        uint64_t quota = quotas[i];
        if (quota >= n) {
            write_all(n, sets[i]);
            continue;
        }
        if (quota == 0) {
            memset(sets[i], 0, kvr_bitmap_words(n) * sizeof *sets[i]);
            continue;
        }
        uint32_t bin = cut_bin(histogram, BINS, &quota);
        size_t inside = 0;
        for (size_t t = 0; t < n; t++) {
            uint32_t key = key_of(scores[t]);
            scratch->keys[inside] = key;
            inside += key >> digit_shift[0] == bin;
        }
        write_set(scores, n, refine_cut(scratch->keys, inside, quota), sets[i]);
    }
    return KVR_OK;
}

enum kvr_status kvr_rank(const float *scores, size_t n, uint32_t *order,
                         struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    void *other = scratch->order;
    if (reserve_keys(scratch, n, err) != KVR_OK ||
        kvr_reserve(&other, &scratch->order_capacity, n, sizeof(uint32_t), err) != KVR_OK)
        return KVR_NO_MEMORY;
    scratch->order = other;

    /* Falling order: sort by the complement. Three passes move the result into `order`. */
    for (size_t i = 0; i < n; i++) {
        scratch->keys[i] = ~key_of(scores[i]);
        scratch->order[i] = (uint32_t)i;
    }
    uint32_t *from = scratch->order, *to = order;
    for (int digit = DIGITS - 1; digit >= 0; digit--) {
        size_t start[BINS + 1] = {0};
        for (size_t i = 0; i < n; i++)
            start[(scratch->keys[i] >> digit_shift[digit] & digit_mask[digit]) + 1]++;
        for (size_t bin = 0; bin < BINS; bin++)
            start[bin + 1] += start[bin];
        for (size_t i = 0; i < n; i++) {
            uint32_t key = scratch->keys[from[i]];
            to[start[key >> digit_shift[digit] & digit_mask[digit]]++] = from[i];
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    return KVR_OK;
}

size_t kvr_rank_of(const float *scores, size_t n, size_t i)
{
    size_t rank = 0;
    for (size_t t = 0; t < i; t++)
        rank += scores[t] >= scores[i];
    for (size_t t = i + 1; t < n; t++)
        rank += scores[t] > scores[i];
    return rank;
}
