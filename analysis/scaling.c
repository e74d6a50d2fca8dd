/*
 * Corollary 2 in closed form. It must not know any trace.
 */
#include "analysis/scaling.h"

#include <math.h>

struct kvr_scaling_row kvr_scaling_at(const struct kvr_scaling *scaling, uint64_t context)
{
    double others = (double)(context - scaling->sinks), count = (double)(scaling->ratio - 1);
    struct kvr_scaling_row row = {.mean = scaling->owner_mass / (double)scaling->ratio};
    /* In logarithms: no factor may underflow before it is divided. */
    double log_factor = (scaling->slack - log(others)) / scaling->tau;
    double log_ratio = log(count) + log_factor + scaling->owner_entropy / scaling->tau;
    row.siblings = count * exp(log_factor);
    row.delta = scaling->owner_mass / (1 + exp(-log_ratio));
    row.bound = scaling->owner_mass - row.delta;
    return row;
}
