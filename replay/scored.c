/*
 * Statistics of score vectors. It must not know where they come from.
 */
#include "replay/scored.h"

#include <math.h>

/* The sum of a vector, or NaN where the vector is not finite. */
static double total_of(const float *vector, size_t count)
{
    double total = 0;
    for (size_t t = 0; t < count; t++) {
        if (!isfinite(vector[t]))
            return NAN;
        total += (double)vector[t];
    }
    return total;
}

void kvr_replace_not_finite(float *vector, size_t count, uint64_t *replaced)
{
    for (size_t t = 0; t < count; t++)
        if (!isfinite(vector[t])) {
            vector[t] = 0;
            (*replaced)++;
        }
}

void kvr_scored_finish(const struct kvr_cell *cell, struct kvr_scored *scored)
{
    size_t count = cell->candidates.count;
    for (size_t h = 0; h < scored->heads; h++) {
        float *vector = scored->vectors + h * count;
        scored->totals[h] = total_of(vector, count);
        if (isnan(scored->totals[h]) && cell->plan->nan == KVR_NAN_ZERO) {
            kvr_replace_not_finite(vector, count, &scored->replaced);
            scored->totals[h] = total_of(vector, count);
        }
        scored->not_finite += isnan(scored->totals[h]) ? 1 : 0;
    }
    if (scored->not_finite > 0 || !scored->score->weighted)
        return;
    for (size_t h = 0; h < scored->heads; h++)
        scored->entropies[h] = kvr_entropy_isolated(
            &cell->plan->entropy, scored->vectors + h * count, count, cell->candidates.sinks);
    kvr_entropy_weights(scored->entropies, scored->heads, cell->plan->tau, scored->weights);
}
