/*
 * Quotas of a budget.
 */
#include "replay/budget.h"

uint64_t kvr_budget_quota(struct kvr_decimal fraction, const struct kvr_pages *pages)
{
    uint64_t quota = kvr_decimal_floor(fraction, pages->candidates.count, pages->size);
    return quota > 1 ? quota : 1;
}
