/*
 * Keeping the highest scores: exact top-k sets for a list of quotas, ties to the lower index.
 *
 * Kept sets of one vector are nested, so one histogram of the scores' leading bits serves every
 * quota; only the bin that a quota cuts is looked at again. No ranking is made. Where the whole
 * order is wanted (curves, equal memory), kvr_rank sorts once.
 */
#ifndef KVR_SELECT_H
#define KVR_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

/* Room for one thread; kvr_select_scratch_free releases it. Zero-initialised is empty. */
struct kvr_select_scratch {
    void *bytes;
    size_t capacity;
};

/* At least `needed` bytes, aligned to 64, with any contents; NULL if there is no memory. */
void *kvr_select_room(struct kvr_select_scratch *scratch, size_t needed, struct kvr_error *err);

void kvr_select_scratch_free(struct kvr_select_scratch *scratch);

/*
 * For each of `count` quotas writes the bitmap of the quota[i] highest of scores[0 … n-1], all of
 * them if quota[i] >= n, none if it is 0. Scores are finite or infinite, not NaN; -0 ties with 0.
 * sets[i] has kvr_bitmap_words(n) words and need not be cleared. n < 2^32.
 */
enum kvr_status kvr_select_top(const float *scores, size_t n, const uint64_t *quotas, size_t count,
                               uint64_t *const *sets, struct kvr_select_scratch *scratch,
                               struct kvr_error *err);

/* order[0 … n-1] = indices by falling score, ties by rising index: a stable radix sort. */
enum kvr_status kvr_rank(const float *scores, size_t n, uint32_t *order,
                         struct kvr_select_scratch *scratch, struct kvr_error *err);

/* The rank of index i without sorting: how many scores stand before it. */
size_t kvr_rank_of(const float *scores, size_t n, size_t i);

#endif
