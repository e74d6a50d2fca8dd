/*
 * A comparison as a page for the terminal.
 */
#ifndef KVR_COMPARE_PAGE_H
#define KVR_COMPARE_PAGE_H

#include <stdbool.h>

#include "analysis/compare.h"
#include "formats/base/text.h"

/* Adds the page. `all_budgets`: details of every budget, else of the middle one. */
void kvr_compare_page(const struct kvr_comparison *comparison, bool all_budgets,
                      struct kvr_text *page);

#endif
