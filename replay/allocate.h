/*
 * How a total budget is shared among layers and groups (POLICIES, "Allocations"). All arithmetic on
 * quotas is exact, and every allocation conserves its total.
 */
#ifndef KVR_ALLOCATE_H
#define KVR_ALLOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/number.h"
#include "formats/base/status.h"
#include "replay/select.h"
#include "replay/stage_entry.h"

enum kvr_allocate_kind {
    KVR_ALLOCATE_UNIFORM,
    KVR_ALLOCATE_PYRAMID, /* lower layers get more (after PyramidKV, arXiv 2406.02069) */
    KVR_ALLOCATE_LAYER,   /* groups of a layer compete (after Ada-KV, arXiv 2407.11550) */
    KVR_ALLOCATE_MODEL,   /* groups of all layers compete */
};

struct kvr_allocate {
    enum kvr_allocate_kind kind;
    struct kvr_decimal parameter; /* beta >= 1, or 0 <= alpha <= 1 */
    bool gated;                   /* a gate stands in front (PAGE, arXiv 2609.22157) */
    double threshold;             /* tau of the gate */
};

/* What there is; ends with a NULL pattern. */
extern const struct kvr_stage_entry kvr_allocate_entries[];

/* Parses "uniform", "pyramid:20", "layer:0.2", "model:0", and "gate:0.07 X" or "gate:0.07+X". */
enum kvr_status kvr_allocate_parse(const char *text, struct kvr_allocate *allocate,
                                   struct kvr_error *err);

/* Whether quotas depend on other groups or layers, so that these must be surveyed first. */
static inline bool kvr_allocate_surveys(const struct kvr_allocate *allocate)
{
    return allocate->gated || allocate->kind != KVR_ALLOCATE_UNIFORM;
}

/*
 * Pyramid: base = quota - recent, lo = base / beta, hi = 2 base - lo, clipped to units - recent;
 * layer i of `layers` gets hi - i (hi - lo) / (layers - 1) + recent, made whole by floor and
 * largest remainder (ties to the lower layer), so that they sum to layers * quota exactly. Uniform
 * if base <= 0 or there is one layer. quota <= units < 2^32.
 */
enum kvr_status kvr_allocate_pyramid(struct kvr_decimal beta, uint64_t quota, uint64_t recent,
                                     uint64_t units, size_t layers, uint64_t *quotas,
                                     struct kvr_error *err);

/*
 * Competition: `count` competitors with scores[i][0 … units-1] share count * quota units. Those in
 * secured[i] (a bitmap, taken already) are kept; the rest of the total goes to the highest scores
 * of all, ties to the lower competitor, then to the lower index. quotas[i] = what competitor i gets
 * in all. count * units < 2^32.
 */
enum kvr_status kvr_allocate_compete(const float *const *scores, const uint64_t *const *secured,
                                     size_t count, size_t units, uint64_t quota, uint64_t *quotas,
                                     struct kvr_select_scratch *scratch, struct kvr_error *err);

#endif
