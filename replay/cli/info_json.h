/*
 * Private to `kvreplay info`: the page as one JSON object.
 */
#ifndef KVR_INFO_JSON_H
#define KVR_INFO_JSON_H

#include "formats/base/text.h"
#include "formats/trace.h"
#include "replay/cli/info_facts.h"

/* Adds the object to text. */
void kvr_info_json(const struct kvr_trace *trace, const struct kvr_info *info,
                   struct kvr_text *text);

#endif
