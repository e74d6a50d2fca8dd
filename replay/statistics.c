/*
 * Totals and entropies of a group's vectors. It must not know where vectors come from.
 */
#include "replay/statistics.h"

#include <math.h>

#include "replay/cpu/kernels.h"

static size_t quad_count(size_t heads)
{
    return heads / 4 + (heads % 4 != 0);
}

size_t kvr_quads_size(size_t heads, size_t count)
{
    return quad_count(heads) * 4 * count;
}

void kvr_quads_make(const float *vectors, size_t heads, size_t count, float *quads)
{
    for (size_t first = 0; first < heads; first += 4) {
        const float *rows[4];
        size_t width = heads - first < 4 ? heads - first : 4;
        for (size_t v = 0; v < width; v++)
            rows[v] = vectors + (first + v) * count;
        kvr_kernels()->interleave(rows, width, count, quads + first * count);
    }
}

/* Totals in any order, where that is as good as in order. */
static bool sum_exactly(struct kvr_scored *scored, size_t count)
{
    for (size_t h = 0; h < scored->heads; h++)
        if (!kvr_kernels()->dyadic_sum(scored->vectors + h * count, count, &scored->totals[h]))
            return false;
    return true;
}

/* A sum of finite floats is finite in double. */
static void sum_in_order(struct kvr_scored *scored, size_t count)
{
    for (size_t first = 0; first < scored->heads; first += 4) {
        double sums[4] = {0};
        kvr_kernels()->quad_sums(scored->quads + first * count, count, sums);
        for (size_t v = 0; v < 4 && first + v < scored->heads; v++)
            scored->totals[first + v] = isfinite(sums[v]) ? sums[v] : NAN;
    }
}

void kvr_statistics_sum(struct kvr_scored *scored, size_t count)
{
    scored->exact = sum_exactly(scored, count);
    kvr_quads_make(scored->vectors, scored->heads, count, scored->quads);
    if (!scored->exact)
        sum_in_order(scored, count);
}

/* Collision entropies of up to four heads, raw and isolated, from one pass over their quad. */
static void weigh_quad(struct kvr_scored *scored, size_t first, size_t count, size_t sinks)
{
    const struct kvr_kernels *kernels = kvr_kernels();
    const float *quad = scored->quads + first * count;
    const double ones[4] = {1, 1, 1, 1};
    double rest[4] = {0}, divisors[4], squares[4] = {0}, isolated[4] = {0}, unused[4] = {0};
    if (scored->exact) { /* what the sinks leave of the total */
        kernels->quad_sums(quad, sinks, rest);
        for (size_t v = 0; v < 4; v++)
            rest[v] = first + v < scored->heads ? scored->totals[first + v] - rest[v] : 0;
    } else {
        kernels->quad_sums(quad + 4 * sinks, count - sinks, rest);
    }
    for (size_t v = 0; v < 4; v++)
        divisors[v] = rest[v] < KVR_ENTROPY_GUARD ? 1 : rest[v];
    kernels->quad_squares(quad, sinks, ones, squares, unused);
    kernels->quad_squares(quad + 4 * sinks, count - sinks, divisors, squares, isolated);
    for (size_t v = 0; v < 4 && first + v < scored->heads; v++) {
        scored->raw_entropies[first + v] = kvr_entropy_collision(squares[v]);
        scored->entropies[first + v] =
            rest[v] < KVR_ENTROPY_GUARD ? KVR_ENTROPY_EMPTY : kvr_entropy_collision(isolated[v]);
    }
}

void kvr_statistics_weigh(struct kvr_scored *scored, const struct kvr_plan *plan,
                          const struct kvr_candidates *candidates)
{
    const struct kvr_entropy_options *options = &plan->entropy;
    bool by_quads = options->window == 0 && fabs(options->alpha - 2) <= 0;
    for (size_t h = 0; by_quads && h < scored->heads; h += 4)
        weigh_quad(scored, h, candidates->count, candidates->sinks);
    for (size_t h = 0; !by_quads && h < scored->heads; h++) {
        const float *vector = scored->vectors + h * candidates->count;
        scored->raw_entropies[h] = kvr_entropy_raw(options, vector, candidates->count);
        scored->entropies[h] =
            kvr_entropy_isolated(options, vector, candidates->count, candidates->sinks);
    }
    kvr_entropy_weights(scored->entropies, scored->heads, plan->tau, scored->weights);
}

float kvr_largest(const float *values, size_t count)
{
    return count > 0 ? kvr_kernels()->largest(values, count) : 0;
}
