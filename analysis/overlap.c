/*
 * Unions and intersections of the heads' sets.
 */
#include "analysis/overlap.h"

#include <math.h>
#include <string.h>

#include "replay/bitmap.h"

struct kvr_overlap kvr_overlap_from_pairs(const uint64_t *pairs, size_t heads, uint64_t quota,
                                          uint64_t unions)
{
    struct kvr_overlap overlap = {
        .heads = heads,
        .quota = quota,
        .unions = unions,
        .pairs = pairs,
        .jaccard_mean = NAN,
        .jaccard_most = NAN,
    };
    double sum = 0, most = 0, twice = 2 * (double)quota;
    for (size_t i = 0; i < heads; i++)
        for (size_t j = i + 1; j < heads; j++) {
            double both = (double)(int64_t)pairs[i * heads + j]; /* signed ones convert faster */
            double jaccard = both / (twice - both);
            overlap.pair_sum += pairs[i * heads + j];
            sum += jaccard;
            most = jaccard > most ? jaccard : most;
        }
    if (heads > 1) {
        overlap.jaccard_mean = sum / ((double)heads * (double)(heads - 1) / 2);
        overlap.jaccard_most = most;
    }
    return overlap;
}

struct kvr_overlap kvr_overlap_of(uint64_t *const *sets, size_t heads, size_t words, uint64_t quota,
                                  uint64_t *pairs, uint64_t *together)
{
    memcpy(together, sets[0], words * sizeof *together);
    for (size_t i = 0; i < heads; i++) {
        pairs[i * heads + i] = quota;
        for (size_t j = i + 1; j < heads; j++) {
            uint64_t both = kvr_bitmap_count_and(sets[i], sets[j], words);
            pairs[i * heads + j] = pairs[j * heads + i] = both;
        }
        kvr_bitmap_unite(together, sets[i], words);
    }
    return kvr_overlap_from_pairs(pairs, heads, quota, kvr_bitmap_count(together, words));
}

double kvr_overlap_uor(const struct kvr_overlap *overlap)
{
    return (double)overlap->unions / (double)overlap->quota;
}
