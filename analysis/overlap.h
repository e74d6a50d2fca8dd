/*
 * How much the kept sets of a group's heads agree: union, pairwise intersections, Jaccard
 * (MEASURES §4).
 */
#ifndef KVR_OVERLAP_H
#define KVR_OVERLAP_H

#include <stddef.h>
#include <stdint.h>

struct kvr_overlap {
    size_t heads;          /* r */
    uint64_t quota;        /* k or K: every set has this many units, at least 1 */
    uint64_t unions;       /* |union of the sets| */
    const uint64_t *pairs; /* [r][r] I_ij = |K_i and K_j|, symmetric, diagonal k */
    uint64_t pair_sum;     /* sum of I_ij over i < j */
    double jaccard_mean;   /* J over unordered pairs; NaN if r = 1 */
    double jaccard_most;   /* J_max; NaN if r = 1 */
};

/*
 * From the bitmaps sets[heads] of `words` words. `pairs` is room for [heads][heads] that the
 * result points to, `together` room for one bitmap.
 */
struct kvr_overlap kvr_overlap_of(uint64_t *const *sets, size_t heads, size_t words, uint64_t quota,
                                  uint64_t *pairs, uint64_t *together);

/* The same from given intersections and union, for sets that are not at hand as bitmaps. */
struct kvr_overlap kvr_overlap_from_pairs(const uint64_t *pairs, size_t heads, uint64_t quota,
                                          uint64_t unions);

/* UOR = |union| / k, in [1, r]. */
double kvr_overlap_uor(const struct kvr_overlap *overlap);

#endif
