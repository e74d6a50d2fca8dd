/*
 * What `kvreplay claims --json` writes: every statement with its lines, in fixed keys.
 */
#ifndef KVR_CLAIMS_JSON_H
#define KVR_CLAIMS_JSON_H

#include "analysis/claims.h"
#include "formats/base/text.h"

/* Adds the object and a line break to text. */
void kvr_claims_json(const struct kvr_replay_results *results, const struct kvr_claims *claims,
                     const struct kvr_bootstrap *bootstrap, struct kvr_text *text);

#endif
