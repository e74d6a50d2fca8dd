/*
 * What a policy keeps of a cell: for every budget the quota, the kept units and the kept tokens.
 */
#ifndef KVR_SELECTION_H
#define KVR_SELECTION_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "replay/cell.h"
#include "replay/policy.h"
#include "replay/select.h"

/* The own set of every head at the uniform quota, before any policy: what bounds speak of. */
struct kvr_head_sets {
    const struct kvr_scored *scored;
    const struct kvr_pages *pages;
    float **unit_scores;   /* [heads] of [units]; the vectors themselves at page size 1 */
    const uint64_t *quotas; /* [budgets] k or K */
    uint64_t ***sets;       /* [budgets][heads] bitmaps of units */
};

/* One budget of a selection. */
struct kvr_kept {
    uint64_t quota;    /* k, K or, at equal memory, k' */
    uint64_t selected; /* units that the group must hold */
    uint64_t kept_tokens;
    const uint64_t *units;  /* bitmap of pages->count units: the union for reduce `head` */
    const uint64_t *tokens; /* the same as a bitmap of T candidates */
};

/* One policy on one group at one page size, for all budgets of the plan. */
struct kvr_selection {
    const struct kvr_scored *scored;
    const struct kvr_policy_use *policy;
    const struct kvr_pages *pages;
    size_t vector_count;        /* 1 pooled vector, or one a head for reduce `head` */
    const float *pooled;        /* [T], NULL for reduce `head` */
    float *const *unit_scores;  /* [vector_count] of [units] */
    const struct kvr_kept *kept; /* [plan->budget_count] */
};

/* Computes the heads' own sets; memory is the cell's. */
enum kvr_status kvr_head_sets_make(const struct kvr_cell *cell, const struct kvr_scored *scored,
                                   const struct kvr_pages *pages,
                                   struct kvr_select_scratch *scratch, struct kvr_head_sets *sets,
                                   struct kvr_error *err);

/* Computes what `policy` keeps; `heads` are the own sets at the same scorer and page size. */
enum kvr_status kvr_selection_make(const struct kvr_cell *cell, const struct kvr_head_sets *heads,
                                   const struct kvr_policy_use *policy,
                                   struct kvr_select_scratch *scratch,
                                   struct kvr_selection *selection, struct kvr_error *err);

/* The rank (0-based, in select order) of the best unit that holds a token of `range`: the least
   over the vectors. */
size_t kvr_selection_rank(const struct kvr_selection *selection, struct kvr_range range);

/*
 * The largest k' with |union of the heads' k' highest| <= limit (MEASURES §2, --match physical),
 * from the heads' rankings orders[heads][n]. `seen` is a cleared bitmap of n bits; it is used up.
 */
uint64_t kvr_largest_union_within(uint32_t *const *orders, size_t heads, size_t n, uint64_t limit,
                                  uint64_t *seen);

#endif
