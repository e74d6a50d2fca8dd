/*
 * Claims on the terminal.
 */
#ifndef KVR_PRINT_CLAIMS_H
#define KVR_PRINT_CLAIMS_H

#include <stdbool.h>

#include "analysis/claims.h"
#include "formats/base/text.h"

/* Adds the verdicts and, unless `brief`, what each was judged by. */
void kvr_claims_page(const struct kvr_replay_results *results, const struct kvr_claims *claims,
                     const struct kvr_bootstrap *bootstrap, bool brief, struct kvr_text *page);

#endif
