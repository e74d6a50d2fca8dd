/*
 * Smoothing a score vector along the tokens before the top-k, as SnapKV does.
 */
#ifndef KVR_SMOOTH_H
#define KVR_SMOOTH_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "replay/stage_entry.h"

enum kvr_smooth_kind { KVR_SMOOTH_NONE, KVR_SMOOTH_AVG, KVR_SMOOTH_MAX };

struct kvr_smooth {
    enum kvr_smooth_kind kind;
    uint32_t width; /* odd; 0 for none */
};

/* What there is; ends with a NULL pattern. */
extern const struct kvr_stage_entry kvr_smooth_entries[];

/* Parses "none", "avg:5", "max:7". */
enum kvr_status kvr_smooth_parse(const char *text, struct kvr_smooth *smooth,
                                 struct kvr_error *err);

/*
 * out[0 … count-1] from in: over the first `length` entries the mean (always divided by the width,
 * what lies outside counts as 0; summed in double in ascending order, rounded once) or the maximum
 * (ignoring the outside) of the centred window; the entries from `length` on are copied. in and out
 * must not overlap. O(count * width) for avg.
 */
void kvr_smooth_apply(struct kvr_smooth smooth, const float *in, size_t length, size_t count,
                      float *out);

#endif
