/*
 * What the judges of single statements share. Private to analysis/claims*.c.
 */
#ifndef KVR_CLAIMS_JUDGE_H
#define KVR_CLAIMS_JUDGE_H

#include "analysis/claims.h"

struct kvr_judge {
    const struct kvr_replay_results *results;
    const struct kvr_bounds_report *bounds;
    const struct kvr_bootstrap *bootstrap;
    struct kvr_claim *claim; /* the one that is judged */
    double *left, *right;    /* [samples] room for figures of samples */
    struct kvr_error *err;
};

/* A row of the list of statements. */
struct kvr_claim_kind {
    struct kvr_statement statement;
    enum kvr_status (*judge)(struct kvr_judge *judge, const struct kvr_claim_kind *kind);
    const char *against;         /* of comparisons: the policy that page-entrokv is held against */
    enum kvr_kept_figure figure; /* of comparisons */
};

/* The lists, each ended by a NULL id. */
extern const struct kvr_claim_kind kvr_overlap_claims[];
extern const struct kvr_claim_kind kvr_policy_claims[];

/* Adds a line, whose verdict is counted. */
enum kvr_status kvr_judge_add(struct kvr_judge *judge, const struct kvr_claim_line *line);

/* The verdict of an interval of sum(left) / sum(right) over samples, which goes to *line: above
   the threshold (below it if `below`) the statement holds. Samples where either is NaN or right is
   0 are left out. */
enum kvr_status kvr_judge_ratio(struct kvr_judge *judge, bool below, struct kvr_claim_line *line);

/* The same of the mean of left - right. */
enum kvr_status kvr_judge_difference(struct kvr_judge *judge, struct kvr_claim_line *line);

/* Settles an exact statement of which `broken` of `rows` rows break it; `none` says why there are
   no rows, `first` where it is broken. */
void kvr_judge_exact(struct kvr_judge *judge, uint64_t rows, uint64_t broken, const char *rows_are,
                     const char *first, const char *none);

/* Leaves the statement open, and says why. */
void kvr_judge_open(struct kvr_judge *judge, const char *format, ...) KVR_PRINTF(2, 3);

#endif
