/*
 * What `kvreplay bounds --json` writes: the report's facts as one object, in fixed keys.
 */
#ifndef KVR_BOUNDS_JSON_H
#define KVR_BOUNDS_JSON_H

#include "analysis/bounds_report.h"
#include "formats/base/text.h"

/* Adds the object and a line break to text. */
void kvr_bounds_json(const struct kvr_bounds_report *report, struct kvr_text *text);

/* What a violation is called in JSON and in lines: "bound", "identity", "needle", "table". */
const char *kvr_violation_name(enum kvr_violation_kind kind);

#endif
