/*
 * Top-k selection by counting, and stable ranking by radix sort. It must not know what is scored.
 */
#include "replay/select.h"

#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "formats/base/memory.h"
#include "replay/bitmap.h"

/* A 32-bit key is looked at in three digits, highest first: 11, 11 and 10 bits. */
enum { DIGITS = 3, BINS = 2048 };
static const unsigned digit_shift[DIGITS] = {21, 10, 0};
static const uint32_t digit_mask[DIGITS] = {2047, 2047, 1023};

/* Order of keys as unsigned numbers = order of floats; both zeros have one key. */
static inline uint32_t key_of(float score)
{
    uint32_t bits;
    score += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &score, sizeof bits);
    return bits ^ (bits & 0x80000000u ? 0xffffffffu : 0x80000000u);
}

static inline uint32_t digit_of(uint32_t key, int digit)
{
    return key >> digit_shift[digit] & digit_mask[digit];
}

void kvr_select_scratch_free(struct kvr_select_scratch *scratch)
{
    free(scratch->keys);
    free(scratch->order);
    free(scratch->rest);
    *scratch = (struct kvr_select_scratch){0};
}

static enum kvr_status reserve(uint32_t **room, size_t *capacity, size_t n, struct kvr_error *err)
{
    void *grown = *room;
    enum kvr_status status = kvr_reserve(&grown, capacity, n, sizeof **room, err);
    *room = grown;
    return status;
}

/* The last key that is still kept, and how many of those that tie with it. */
struct cut {
    uint32_t key;
    uint64_t ties;
};

/* Of a histogram, the bin in which the `quota` highest end; *quota becomes what is left for it. */
static uint32_t cut_bin(const uint32_t *histogram, uint32_t bins, uint64_t *quota)
{
    uint32_t bin = bins - 1;
    while (histogram[bin] < *quota)
        *quota -= histogram[bin--];
    return bin;
}

/* Counts the first digits. Four tables, because neighbours are often equal and an increment would
   have to wait for the one before it. */
static void count_keys(const uint32_t *keys, size_t n, uint32_t *histogram)
{
    uint32_t parts[3][BINS] = {{0}};
    memset(histogram, 0, BINS * sizeof *histogram);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        histogram[digit_of(keys[i], 0)]++;
        parts[0][digit_of(keys[i + 1], 0)]++;
        parts[1][digit_of(keys[i + 2], 0)]++;
        parts[2][digit_of(keys[i + 3], 0)]++;
    }
    for (; i < n; i++)
        histogram[digit_of(keys[i], 0)]++;
    for (size_t bin = 0; bin < BINS; bin++)
        histogram[bin] += parts[0][bin] + parts[1][bin] + parts[2][bin];
}

/* Finds the cut among `n` keys that share their first digit; `rest` is room for n keys. */
static struct cut refine_cut(const uint32_t *keys, size_t n, uint64_t quota, uint32_t *rest)
{
    for (int digit = 1; digit < DIGITS; digit++) {
        uint32_t histogram[BINS] = {0};
        for (size_t i = 0; i < n; i++)
            histogram[digit_of(keys[i], digit)]++;
        uint32_t bin = cut_bin(histogram, digit_mask[digit] + 1, &quota);
        size_t kept = 0;
        for (size_t i = 0; i < n; i++) { /* from the second digit on in place */
            uint32_t key = keys[i];
            rest[kept] = key;
            kept += digit_of(key, digit) == bin;
        }
        keys = rest;
        n = kept;
    }
    return (struct cut){keys[0], quota};
}

/* Bit i of *above: keys[i] > key; of *equal: keys[i] == key. 64 keys. */
#if defined(__SSE2__)
static inline void compare_64(const uint32_t *keys, uint32_t key, uint64_t *above, uint64_t *equal)
{
    /* Keys are unsigned, the comparison is signed: both sides move by half the range. */
    const __m128i half = _mm_set1_epi32((int)0x80000000u);
    const __m128i cut = _mm_xor_si128(_mm_set1_epi32((int)key), half);
    uint64_t more = 0, same = 0;
    for (unsigned i = 0; i < 64; i += 4) {
        __m128i four = _mm_loadu_si128((const __m128i *)(const void *)(keys + i));
        four = _mm_xor_si128(four, half);
        unsigned is_more = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(four, cut)));
        unsigned is_same = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(four, cut)));
        more |= (uint64_t)is_more << i;
        same |= (uint64_t)is_same << i;
    }
    *above = more;
    *equal = same;
}
#else
static inline void compare_64(const uint32_t *keys, uint32_t key, uint64_t *above, uint64_t *equal)
{
    *above = *equal = 0;
    for (unsigned i = 0; i < 64; i++) {
        *above |= (uint64_t)(keys[i] > key) << i;
        *equal |= (uint64_t)(keys[i] == key) << i;
    }
}
#endif

/* The set of all keys above the cut and the first cut.ties that equal it. `keys` are padded with 0
   to whole words, which no cut of n finite or infinite scores reaches. */
static void write_set(const uint32_t *keys, size_t n, struct cut cut, uint64_t *set)
{
    for (size_t word = 0; word < kvr_bitmap_words(n); word++) {
        uint64_t above, equal;
        compare_64(keys + word * 64, cut.key, &above, &equal);
        for (; equal != 0 && cut.ties > 0; equal &= equal - 1, cut.ties--)
            above |= equal & -equal;
        set[word] = above;
    }
}

static void write_all(size_t n, uint64_t *set)
{
    memset(set, 0, kvr_bitmap_words(n) * sizeof *set);
    kvr_bitmap_add_span(set, 0, n);
}

/* The bins that quotas cut, and their keys side by side in one array. */
struct cut_bins {
    size_t count;
    uint16_t slot[BINS]; /* of a bin; 0: no quota cuts it */
    uint32_t *start;     /* [slot] where its keys begin; slot 0 is written over and over */
};

/* Gives every cut bin a slot; slot 0 takes one key at `dummy`. */
static void lay_out_bins(const uint32_t *histogram, const uint64_t *quotas, size_t count,
                         uint32_t dummy, struct cut_bins *bins, uint32_t *start)
{
    uint32_t next = 0;
    *bins = (struct cut_bins){.count = 1, .start = start};
    start[0] = dummy;
    for (size_t i = 0; i < count; i++) {
        uint64_t quota = quotas[i];
        uint32_t bin = cut_bin(histogram, BINS, &quota);
        if (bins->slot[bin] != 0)
            continue;
        bins->slot[bin] = (uint16_t)bins->count;
        start[bins->count++] = next;
        next += histogram[bin];
    }
}

/* One pass without branches collects the keys of every cut bin. */
static void gather_bins(const uint32_t *keys, size_t n, const struct cut_bins *bins, uint32_t *end,
                        uint32_t *gathered)
{
    memcpy(end, bins->start, bins->count * sizeof *end);
    for (size_t i = 0; i < n; i++) {
        uint16_t slot = bins->slot[digit_of(keys[i], 0)];
        gathered[end[slot]] = keys[i];
        end[slot] += slot != 0;
    }
}

/* Quotas strictly between none and all; at most MOST_QUOTAS of them. */
enum { MOST_QUOTAS = 64 };

static void select_between(const uint32_t *histogram, size_t n, const uint64_t *quotas,
                           size_t count, uint64_t *const *sets, struct kvr_select_scratch *scratch)
{
    struct cut_bins bins;
    uint32_t start[MOST_QUOTAS + 1], end[MOST_QUOTAS + 1];
    lay_out_bins(histogram, quotas, count, (uint32_t)n, &bins, start);
    gather_bins(scratch->keys, n, &bins, end, scratch->order);
    for (size_t i = 0; i < count; i++) {
        uint64_t quota = quotas[i];
        uint32_t bin = cut_bin(histogram, BINS, &quota);
        struct cut cut = refine_cut(scratch->order + start[bins.slot[bin]], histogram[bin], quota,
                                    scratch->rest);
        write_set(scratch->keys, n, cut, sets[i]);
    }
}

enum kvr_status kvr_select_top(const float *scores, size_t n, const uint64_t *quotas, size_t count,
                               uint64_t *const *sets, struct kvr_select_scratch *scratch,
                               struct kvr_error *err)
{
    size_t padded = kvr_bitmap_words(n) * 64;
    if (reserve(&scratch->keys, &scratch->key_capacity, padded, err) != KVR_OK ||
        reserve(&scratch->order, &scratch->order_capacity, n + 1, err) != KVR_OK ||
        reserve(&scratch->rest, &scratch->rest_capacity, n + 1, err) != KVR_OK)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        scratch->keys[i] = key_of(scores[i]);
    if (padded > n)
        memset(scratch->keys + n, 0, (padded - n) * sizeof *scratch->keys);
    uint32_t histogram[BINS];
    count_keys(scratch->keys, n, histogram);

    uint64_t between[MOST_QUOTAS], *between_sets[MOST_QUOTAS];
    size_t waiting = 0;
    for (size_t i = 0; i < count; i++) {
        if (quotas[i] >= n) {
            write_all(n, sets[i]);
        } else if (quotas[i] == 0) {
            memset(sets[i], 0, kvr_bitmap_words(n) * sizeof *sets[i]);
        } else {
            between[waiting] = quotas[i];
            between_sets[waiting++] = sets[i];
        }
        if (waiting == MOST_QUOTAS || (waiting > 0 && i + 1 == count)) {
            select_between(histogram, n, between, waiting, between_sets, scratch);
            waiting = 0;
        }
    }
    return KVR_OK;
}

enum kvr_status kvr_rank(const float *scores, size_t n, uint32_t *order,
                         struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    if (reserve(&scratch->keys, &scratch->key_capacity, n, err) != KVR_OK ||
        reserve(&scratch->order, &scratch->order_capacity, n, err) != KVR_OK)
        return KVR_NO_MEMORY;

    /* Falling order: sort by the complement. Three passes move the result into `order`. */
    for (size_t i = 0; i < n; i++) {
        scratch->keys[i] = ~key_of(scores[i]);
        scratch->order[i] = (uint32_t)i;
    }
    uint32_t *from = scratch->order, *to = order;
    for (int digit = DIGITS - 1; digit >= 0; digit--) {
        size_t start[BINS + 1] = {0};
        for (size_t i = 0; i < n; i++)
            start[(digit_of(scratch->keys[i], digit)) + 1]++;
        for (size_t bin = 0; bin < BINS; bin++)
            start[bin + 1] += start[bin];
        for (size_t i = 0; i < n; i++) {
            uint32_t key = scratch->keys[from[i]];
            to[start[digit_of(key, digit)]++] = from[i];
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
