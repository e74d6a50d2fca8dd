/*
 * Keeping the first units in select order, and the quota whose union fits a budget.
 */
#ifndef KVR_KEEP_H
#define KVR_KEEP_H

#include "replay/selection.h"

/* Adds the first `quota` protected units to the set. */
void kvr_keep_protected(struct kvr_protected protected, uint64_t quota, uint64_t *set);

/*
 * sets[i] = the quotas[i] first units in select order: protected ones, then falling score, ties to
 * the lower index. What is protected follows from protect_quotas[i], which matters only where a
 * fraction of the quota is. quotas[i] <= pages->count.
 */
enum kvr_status kvr_keep_first(const struct kvr_protect *protect, const struct kvr_pages *pages,
                               const float *scores, const uint64_t *quotas,
                               const uint64_t *protect_quotas, size_t count, uint64_t *const *sets,
                               struct kvr_room *room, struct kvr_select_scratch *scratch,
                               struct kvr_error *err);

/*
 * The largest k' with |union of the heads' k' first| <= limit (MEASURES §2, --match physical), from
 * the heads' select orders orders[heads][n]. `seen` is a cleared bitmap of n bits; it is used up.
 */
uint64_t kvr_largest_union_within(uint32_t *const *orders, size_t heads, size_t n, uint64_t limit,
                                  uint64_t *seen);

/*
 * --match physical: replaces each quota by the largest k' such that the union over the selection's
 * vectors of the k' first units has at most quota units (MEASURES §2).
 */
enum kvr_status kvr_keep_match_union(const struct kvr_cell *cell,
                                     const struct kvr_selection *selection, uint64_t *quotas,
                                     struct kvr_select_scratch *scratch, struct kvr_error *err);

#endif
