/*
 * A comparison for other programs: CSV, and JSON.
 */
#ifndef KVR_COMPARE_EXPORT_H
#define KVR_COMPARE_EXPORT_H

#include "analysis/compare.h"
#include "formats/base/text.h"

/* A header line, then a line per page size, policy and budget. */
void kvr_compare_csv(const struct kvr_comparison *comparison, struct kvr_text *text);

void kvr_compare_json(const struct kvr_comparison *comparison, struct kvr_text *text);

#endif
