/*
 * What a policy keeps of a cell: for every budget the quota, the kept units and the kept tokens.
 */
#ifndef KVR_SELECTION_H
#define KVR_SELECTION_H

#include <stdbool.h>
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
    float **unit_scores;    /* [heads] of [units]; the vectors themselves at page size 1 */
    const uint64_t *quotas; /* [budgets] k or K */
    uint64_t ***sets;       /* [budgets][heads] bitmaps of units */
    const uint64_t *pairs;  /* [budgets][heads][heads] units that two sets share; NULL, as the next,
                               where nobody has counted */
    const uint64_t *unions; /* [budgets] units of the union */
};

/* What a survey of the sample settled for a policy in this cell at one page size. */
struct kvr_allotment {
    float *layer_vector;    /* [T] pooled already: of reduce `layer`, or at another page size */
    const uint64_t *quotas; /* [budgets] units; NULL: the uniform quotas */
    bool closed;            /* a closed gate: the quotas, where there are any, are everything */
};

/* One budget of a selection. */
struct kvr_kept {
    uint64_t quota;    /* k, K, or k' at equal memory; the uniform one whatever the allocation */
    uint64_t allotted; /* what the allocation gave; = quota where it is uniform */
    uint64_t protect_quota; /* the quota that a protected fraction is a fraction of */
    uint64_t selected;      /* units that the group must hold */
    uint64_t kept_tokens;
    const uint64_t *units;  /* bitmap of pages->count units: the union for reduce `head` */
    const uint64_t *tokens; /* the same as a bitmap of T candidates */
};

/* One policy on one group at one page size, for all budgets of the plan. */
struct kvr_selection {
    const struct kvr_scored *scored;
    size_t use; /* index into plan->uses */
    const struct kvr_stages *stages;
    const struct kvr_pages *pages;
    size_t vector_count;       /* 1 pooled vector, or one a head for reduce `head` */
    float *pooled;             /* [T] after reduce, before smoothing; NULL for reduce `head` */
    float *const *unit_scores; /* [vector_count] of [units]: what is ranked */
    /* [budget_count][vector_count] bitmaps of units: what each of several vectors keeps for itself,
       kept[b].units being their union. NULL where there is one vector. */
    uint64_t *const *const *own;
    const struct kvr_kept *kept; /* [plan->budget_count] */
    const double *sums; /* [plan->budget_count] rows, see kept_sums.h; NULL: nobody reads them */
};

/* False where groups get other than the uniform quota: then UOR and PUR do not apply. */
static inline bool kvr_selection_uniform(const struct kvr_selection *selection)
{
    return !kvr_allocate_surveys(&selection->stages->allocate);
}

/* Computes the heads' own sets; memory is the cell's. */
enum kvr_status kvr_head_sets_make(const struct kvr_cell *cell, const struct kvr_scored *scored,
                                   const struct kvr_pages *pages,
                                   struct kvr_select_scratch *scratch, struct kvr_head_sets *sets,
                                   struct kvr_error *err);

/*
 * Computes what the policy of plan->uses[use] keeps. `heads` are the own sets at the same score and
 * page size where they are at hand, else NULL; `allotment` what the survey settled, else NULL.
 */
enum kvr_status kvr_selection_make(const struct kvr_cell *cell, const struct kvr_scored *scored,
                                   size_t use, const struct kvr_pages *pages,
                                   const struct kvr_head_sets *heads,
                                   const struct kvr_allotment *allotment,
                                   struct kvr_select_scratch *scratch,
                                   struct kvr_selection *selection, struct kvr_error *err);

/* How a policy scores pages. */
enum kvr_page_reduce kvr_selection_page_reduce(const struct kvr_plan *plan,
                                               const struct kvr_stages *stages);

/* How many leading candidates a policy smooths: all but the protected recent tokens. */
size_t kvr_selection_smooth_length(const struct kvr_stages *stages,
                                   const struct kvr_candidates *candidates);

/* The rank (0-based, in select order at `budget`) of the best unit that holds a token of `range`:
   the least over the vectors. */
size_t kvr_selection_rank(const struct kvr_selection *selection, size_t budget,
                          struct kvr_range range);

#endif
