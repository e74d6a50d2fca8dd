/*
 * A group as it would be under another weighting: other temperature, order, sinks or window.
 *
 * Vectors, pages, needles and decode sums are those of the group; only what follows from the
 * weighting is made anew. So every measure that takes a cell works on a variant too.
 */
#ifndef KVR_VARIANT_H
#define KVR_VARIANT_H

#include <stdint.h>

#include "replay/cell.h"

/* All that the entropy weights of a group depend on. */
struct kvr_weighting {
    double tau;
    struct kvr_entropy_options entropy;
    uint64_t sinks;
};

/* What a plan asks for. */
struct kvr_weighting kvr_weighting_of(const struct kvr_plan *plan);

struct kvr_variant {
    struct kvr_plan plan; /* a view: it owns nothing, is not to be freed */
    struct kvr_cell cell; /* its plan is the above: a variant must not be moved */
    struct kvr_scored scored;
};

/* Memory is the cell's. The vectors must be finite. */
enum kvr_status kvr_variant_make(const struct kvr_cell *cell, const struct kvr_scored *scored,
                                 const struct kvr_weighting *weighting, struct kvr_variant *variant,
                                 struct kvr_error *err);

#endif
