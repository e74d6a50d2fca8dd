/*
 * Top-k selection by counting. It must not know what is scored.
 *
 * Scores below what any quota could want are dropped first: a sample tells where that is. The keys
 * that are left are counted in bins; in the bin that a quota cuts, the last key that is kept is
 * found by bisection. The sets then come straight from comparing the scores with that key.
 */
#include "replay/select.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "replay/bitmap.h"
#include "replay/cpu/cpu_kernels.h"

enum {
    BINS = 2048,
    FEW_BINS = 512,     /* where there are few scores */
    MANY_SCORES = 4096, /* a sample pays from here on */
    SAMPLE = 512,
    BIN_BITS = 16, /* of a key, that fall into one bin: 7 bits of the mantissa remain */
    LEAST_BIN = -(1 << (31 - BIN_BITS)), /* of the least key there could be */
    MOST_CUTS = 64,
};

void kvr_select_scratch_free(struct kvr_select_scratch *scratch)
{
    free(scratch->bytes);
    *scratch = (struct kvr_select_scratch){0};
}

void *kvr_select_room(struct kvr_select_scratch *scratch, size_t needed, struct kvr_error *err)
{
    if (scratch->capacity < needed) {
        kvr_select_scratch_free(scratch);
        scratch->bytes = kvr_alloc_vector(needed, 1, err);
        scratch->capacity = scratch->bytes != NULL ? needed : 0;
    }
    return scratch->bytes;
}

/* One selection: kernels, scores, and the thread's room cut into arrays. */
struct selection {
    const struct kvr_kernels *kernels;
    const float *scores;
    size_t n;
    int32_t *keys;    /* [found] above `bound`, in order */
    uint16_t *bins;   /* [found] */
    uint32_t *places; /* [found] */
    int32_t *members; /* [found] keys of the bins that quotas cut, bin by bin */
    uint64_t *above;  /* [MOST_CUTS] bitmaps of n bits */
    size_t found;
    int32_t bound;
    int32_t base; /* the least key of bin 0 */
    unsigned shift;
    uint32_t bin_count;
    uint32_t histogram[BINS]; /* the last bin has all keys beyond it, too */
};

static enum kvr_status lay_out(struct selection *selection, size_t cuts,
                               struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    /* Each array begins at a multiple of 64 bytes. */
    const size_t most = selection->n + KVR_KERNEL_SLACK;
    const size_t keys = (most / 16 + 1) * 64, shorts = (most / 32 + 1) * 64;
    const size_t bitmap = kvr_bitmap_words(selection->n) * sizeof(uint64_t);
    char *at = kvr_select_room(scratch, 3 * keys + shorts + cuts * bitmap, err);
    if (at == NULL)
        return KVR_NO_MEMORY;
    selection->keys = (void *)at;
    selection->places = (void *)(at + keys);
    selection->members = (void *)(at + 2 * keys);
    selection->bins = (void *)(at + 3 * keys);
    selection->above = (void *)(at + 3 * keys + shorts);
    return KVR_OK;
}

/* ------------------------------------------------------------------------- counting */

/* A bound above which the `most` highest scores very likely lie, and not many more. */
static int32_t bound_for(const struct selection *selection, uint64_t most)
{
    if (selection->n < MANY_SCORES)
        return INT32_MIN;
    int32_t sample[SAMPLE];
    for (size_t i = 0; i < SAMPLE; i++)
        sample[i] = kvr_score_key(selection->scores[i * (selection->n / SAMPLE)]);
    double share = (double)most / (double)selection->n, expected = SAMPLE * share;
    size_t wanted = (size_t)(expected + 4 * sqrt(expected * (1 - share))) + 2;
    int32_t low = LEAST_BIN, high = -(LEAST_BIN + 1);
    while (low < high) { /* at least `wanted` of the sample are in bins from `low` on */
        int32_t middle = low + (high - low + 1) / 2;
        if (selection->kernels->count_from(sample, SAMPLE, middle * (1 << BIN_BITS)) >= wanted)
            low = middle;
        else
            high = middle - 1;
    }
    if (low == LEAST_BIN)
        return INT32_MIN;
    /* Zeros are often most of the scores, and never worth counting. */
    return low == 0 ? 0 : low * (1 << BIN_BITS) - 1;
}

static void choose_bins(struct selection *selection)
{
    selection->bin_count = selection->n < MANY_SCORES ? FEW_BINS : BINS;
    selection->shift = BIN_BITS;
    selection->base = selection->bound + 1;
    if (selection->bound > INT32_MIN)
        return;
    int32_t least = selection->keys[0], most = least;
    for (size_t i = 1; i < selection->found; i++) {
        least = selection->keys[i] < least ? selection->keys[i] : least;
        most = selection->keys[i] > most ? selection->keys[i] : most;
    }
    selection->base = least;
    selection->shift = 0;
    while (((uint32_t)most - (uint32_t)least) >> selection->shift >= selection->bin_count)
        selection->shift++;
}

/* Two tables, because neighbours are often equal and an increment would have to wait for the one
   before it. */
static void count_bins(struct selection *selection)
{
    const uint16_t *bins = selection->bins;
    uint32_t *even = selection->histogram, odd[BINS];
    memset(even, 0, selection->bin_count * sizeof *even);
    memset(odd, 0, selection->bin_count * sizeof *odd);
    size_t i = 0;
    for (; i + 2 <= selection->found; i += 2) {
        even[bins[i]]++;
        odd[bins[i + 1]]++;
    }
    if (i < selection->found)
        even[bins[i]]++;
    for (size_t b = 0; b < selection->bin_count; b++)
        even[b] += odd[b];
}

/* Collects and counts the keys among which the `most` highest are, or all of them but zeros. */
static void count_keys(struct selection *selection, uint64_t most)
{
    const struct kvr_kernels *kernels = selection->kernels;
    selection->bound = bound_for(selection, most);
    selection->found =
        kernels->collect(selection->scores, selection->n, selection->bound, selection->keys);
    if (selection->found < most &&
        !(selection->bound == 0 &&
          kernels->count_at_least(selection->scores, selection->n, 0) >= most)) {
        selection->bound = INT32_MIN; /* the sample misled */
        selection->found =
            kernels->collect(selection->scores, selection->n, INT32_MIN, selection->keys);
    }
    if (selection->found == 0)
        return;
    choose_bins(selection);
    kernels->bin(selection->keys, selection->found, selection->base, selection->shift,
                 (uint16_t)(selection->bin_count - 1), selection->bins);
    count_bins(selection);
}

/* ------------------------------------------------------------------------- cutting */

/* Where a quota ends: all scores above key `last`, and of those that tie with it the first. */
struct cut {
    int32_t last;
    uint64_t ties;
    bool all_ties; /* there are no more */
};

/* Bisects the keys of list[0 … n-1] between low and high for the least of the `quota` highest. */
static struct cut bisect(const struct kvr_kernels *kernels, const int32_t *list, size_t n,
                         int32_t low, int32_t high, uint64_t quota)
{
    while (low < high) { /* at least `quota` are not below `low`, fewer than that above `high` */
        int32_t middle = (int32_t)((uint32_t)low + ((uint32_t)high - (uint32_t)low) / 2 + 1);
        if (kernels->count_from(list, n, middle) >= quota)
            low = middle;
        else
            high = middle - 1;
    }
    size_t from = kernels->count_from(list, n, low), above = kernels->count_from(list, n, low + 1);
    return (struct cut){low, quota - above, quota == from};
}

/* A bin that a quota cuts. */
struct cut_bin {
    uint32_t bin;
    uint64_t quota; /* how many of its keys are kept */
    bool crowded;   /* its keys are bisected where they lie */
    uint32_t start; /* of its keys among the members */
};

static void find_cut_bin(const struct selection *selection, uint64_t quota, struct cut_bin *cut)
{
    uint32_t bin = selection->bin_count - 1;
    while (selection->histogram[bin] < quota)
        quota -= selection->histogram[bin--];
    *cut = (struct cut_bin){.bin = bin, .quota = quota};
    cut->crowded = selection->histogram[bin] > selection->found / 16;
}

/* Gathers the keys of all bins that are cut, but for crowded ones. */
static void gather_members(const struct selection *selection, struct cut_bin *cuts, size_t count)
{
    uint16_t wanted[MOST_CUTS];
    uint32_t end[BINS]; /* of those bins only */
    size_t wanted_count = 0, next = 0;
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        while (same < i && (cuts[same].bin != cuts[i].bin || cuts[same].crowded))
            same++;
        if (same < i)
            cuts[i].start = cuts[same].start;
        if (same < i || cuts[i].crowded)
            continue;
        wanted[wanted_count++] = (uint16_t)cuts[i].bin;
        cuts[i].start = end[cuts[i].bin] = (uint32_t)next;
        next += selection->histogram[cuts[i].bin];
    }
    if (wanted_count == 0)
        return;
    size_t places = selection->kernels->find_bins(selection->bins, selection->found, wanted,
                                                  wanted_count, selection->places);
    for (size_t i = 0; i < places; i++) {
        uint32_t place = selection->places[i];
        selection->members[end[selection->bins[place]]++] = selection->keys[place];
    }
}

static struct cut cut_within(const struct selection *selection, const struct cut_bin *cut,
                             uint64_t quota)
{
    uint32_t low = (uint32_t)selection->base + (cut->bin << selection->shift);
    uint32_t high = low + ((UINT32_C(1) << selection->shift) - 1);
    if (cut->bin == selection->bin_count - 1)
        high = INT32_MAX - 1;
    if (cut->crowded)
        return bisect(selection->kernels, selection->keys, selection->found, (int32_t)low,
                      (int32_t)high, quota);
    return bisect(selection->kernels, selection->members + cut->start,
                  selection->histogram[cut->bin], (int32_t)low, (int32_t)high, cut->quota);
}

/* The cuts of quotas between none and all. */
static void find_cuts(const struct selection *selection, const uint64_t *quotas, size_t count,
                      struct cut *cuts)
{
    struct cut_bin bins[MOST_CUTS];
    size_t at[MOST_CUTS], bin_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (quotas[i] > selection->found) { /* zeros fill it up */
            size_t zeros = selection->kernels->count_at_least(selection->scores, selection->n, 0) -
                           selection->found;
            uint64_t ties = quotas[i] - selection->found;
            cuts[i] = (struct cut){0, ties, ties == zeros};
            continue;
        }
        find_cut_bin(selection, quotas[i], &bins[bin_count]);
        at[bin_count++] = i;
    }
    gather_members(selection, bins, bin_count);
    for (size_t b = 0; b < bin_count; b++)
        cuts[at[b]] = cut_within(selection, &bins[b], quotas[at[b]]);
}

/* ------------------------------------------------------------------------- sets */

/* The highest score below those of key `last`. -0 is no score of its own. */
static float below(int32_t last)
{
    return kvr_score_of_key(last == 0 ? -2 : last - 1);
}

static void write_all(size_t n, uint64_t *set)
{
    memset(set, 0, kvr_bitmap_words(n) * sizeof *set);
    kvr_bitmap_add_span(set, 0, n);
}

/* Sets of quotas between none and all. */
static void select_between(const struct selection *selection, const uint64_t *quotas, size_t count,
                           uint64_t *const *sets)
{
    const struct kvr_kernels *kernels = selection->kernels;
    const size_t words = kvr_bitmap_words(selection->n);
    struct cut cuts[MOST_CUTS];
    float limits[2 * MOST_CUTS];
    uint64_t *marked[2 * MOST_CUTS];
    size_t marks = 0;
    find_cuts(selection, quotas, count, cuts);
    for (size_t i = 0; i < count; i++) {
        limits[marks] = below(cuts[i].last);
        marked[marks++] = sets[i];
        if (cuts[i].all_ties)
            continue;
        limits[marks] = kvr_score_of_key(cuts[i].last);
        marked[marks++] = selection->above + i * words;
    }
    kernels->mark(selection->scores, selection->n, limits, marks, marked);
    for (size_t i = 0; i < count; i++) {
        if (cuts[i].all_ties)
            continue;
        if (cuts[i].last == kvr_score_key(-INFINITY)) /* nothing is below */
            write_all(selection->n, sets[i]);
        kernels->keep_first(sets[i], selection->above + i * words, words, cuts[i].ties);
    }
}

enum kvr_status kvr_select_top(const float *scores, size_t n, const uint64_t *quotas, size_t count,
                               uint64_t *const *sets, struct kvr_select_scratch *scratch,
                               struct kvr_error *err)
{
    uint64_t between[MOST_CUTS], *between_sets[MOST_CUTS], most = 0;
    size_t waiting = 0;
    for (size_t i = 0; i < count; i++) {
        if (quotas[i] >= n)
            write_all(n, sets[i]);
        else if (quotas[i] == 0)
            memset(sets[i], 0, kvr_bitmap_words(n) * sizeof *sets[i]);
        else
            most = quotas[i] > most ? quotas[i] : most;
    }
    if (most == 0)
        return KVR_OK;
    struct selection selection = {.kernels = kvr_kernels(), .scores = scores, .n = n};
    if (lay_out(&selection, count < MOST_CUTS ? count : MOST_CUTS, scratch, err) != KVR_OK)
        return KVR_NO_MEMORY;
    count_keys(&selection, most);
    for (size_t i = 0; i < count; i++) {
        if (quotas[i] > 0 && quotas[i] < n) {
            between[waiting] = quotas[i];
            between_sets[waiting++] = sets[i];
        }
        if (waiting == MOST_CUTS || (waiting > 0 && i + 1 == count)) {
            select_between(&selection, between, waiting, between_sets);
            waiting = 0;
        }
    }
    return KVR_OK;
}
