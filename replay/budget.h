/*
 * Budgets: exact decimal fractions of the candidates, and the quotas that follow from them.
 */
#ifndef KVR_BUDGET_H
#define KVR_BUDGET_H

#include <stdint.h>

#include "formats/base/number.h"
#include "replay/candidates.h"

struct kvr_budget {
    const char *label;           /* as given on the command line */
    struct kvr_decimal fraction; /* 0 < b <= 1 */
};

/*
 * The uniform quota in units: k = max(1, floor(b T)) tokens, K = max(1, floor(b T / B)) pages
 * (MEASURES §2). Exact: 0.29 of 100 tokens is 29.
 */
uint64_t kvr_budget_quota(struct kvr_decimal fraction, const struct kvr_pages *pages);

#endif
