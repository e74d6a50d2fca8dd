/*
 * Totals and entropies of a group's vectors. It must not know where vectors come from.
 */
#include "replay/scored.h"

#include <math.h>
#include <string.h>

#include "replay/cpu/cpu_kernels.h"

/* A kernel over quads: `width` interleaved tokens from `start` on. */
typedef void visit_quads(void *context, const double *quads, size_t start, size_t width);

/* Visits four heads from `first` on, tile by tile; a tile ends at `border`, too. */
static void each_tile(const struct kvr_scored *scored, size_t first, size_t count, size_t border,
                      visit_quads *visit, void *context)
{
    const float *rows[4];
    double quads[4 * KVR_QUAD_TILE];
    const size_t heads = scored->heads - first < 4 ? scored->heads - first : 4;
    for (size_t start = 0, width; start < count; start += width) {
        size_t end = start < border && border < count ? border : count;
        width = end - start < KVR_QUAD_TILE ? end - start : KVR_QUAD_TILE;
        for (size_t v = 0; v < heads; v++)
            rows[v] = scored->vectors + (first + v) * count + start;
        kvr_kernels()->interleave(rows, heads, width, quads);
        visit(context, quads, start, width);
    }
}

/* ------------------------------------------------------------------------- totals */

/* Totals in any order, where that is as good as in order. */
bool kvr_scored_total_exactly(struct kvr_scored *scored, size_t count)
{
    for (size_t h = 0; h < scored->heads; h++)
        if (!kvr_kernels()->dyadic_sum(scored->vectors + h * count, count, &scored->totals[h]))
            return false;
    return true;
}

static void add_totals(void *totals, const double *quads, size_t start, size_t width)
{
    (void)start;
    kvr_kernels()->quad_sums(quads, width, totals);
}

static void total_vectors(struct kvr_scored *scored, size_t count)
{
    scored->exact = kvr_scored_total_exactly(scored, count);
    for (size_t first = 0; first < scored->heads && !scored->exact; first += 4) {
        double totals[4] = {0};
        each_tile(scored, first, count, 0, add_totals, totals);
        for (size_t v = 0; v < 4 && first + v < scored->heads; v++) /* of finite floats: finite */
            scored->totals[first + v] = isfinite(totals[v]) ? totals[v] : NAN;
    }
}

/* ------------------------------------------------------------------------- entropies */

/* Sums of four heads, without the sinks and with them. */
struct quad_entropy {
    size_t sinks;
    double rest[4];     /* what stands outside the sinks */
    double divisors[4]; /* that, where it is not too little */
    double squares[4], isolated[4];
};

static void add_rest(void *context, const double *quads, size_t start, size_t width)
{
    struct quad_entropy *sums = context;
    if (start >= sums->sinks)
        kvr_kernels()->quad_sums(quads, width, sums->rest);
}

static void add_squares(void *context, const double *quads, size_t start, size_t width)
{
    struct quad_entropy *sums = context;
    double unused[4];
    kvr_kernels()->quad_squares(quads, width, sums->divisors, sums->squares,
                                start < sums->sinks ? unused : sums->isolated);
}

static void sum_rest(const struct kvr_scored *scored, size_t first, size_t count,
                     struct quad_entropy *sums)
{
    if (!scored->exact) {
        each_tile(scored, first, count, sums->sinks, add_rest, sums);
        return;
    }
    for (size_t v = 0; v < 4 && first + v < scored->heads; v++) {
        double sinks = 0;
        for (size_t t = 0; t < sums->sinks; t++)
            sinks += (double)scored->vectors[(first + v) * count + t];
        sums->rest[v] = scored->totals[first + v] - sinks;
    }
}

void kvr_scored_from_squares(struct kvr_scored *scored, size_t head, double rest, double squares,
                             double isolated)
{
    scored->raw_entropies[head] = kvr_entropy_collision(squares);
    scored->entropies[head] =
        rest < KVR_ENTROPY_GUARD ? KVR_ENTROPY_EMPTY : kvr_entropy_collision(isolated);
}

/* Collision entropies of up to four heads from `first` on, raw and isolated, in one pass. */
static void weigh_four(struct kvr_scored *scored, size_t first, size_t count, size_t sinks)
{
    struct quad_entropy sums = {.sinks = sinks};
    sum_rest(scored, first, count, &sums);
    for (size_t v = 0; v < 4; v++)
        sums.divisors[v] = sums.rest[v] < KVR_ENTROPY_GUARD ? 1 : sums.rest[v];
    each_tile(scored, first, count, sinks, add_squares, &sums);
    for (size_t v = 0; v < 4 && first + v < scored->heads; v++)
        kvr_scored_from_squares(scored, first + v, sums.rest[v], sums.squares[v], sums.isolated[v]);
}

bool kvr_scored_by_squares(const struct kvr_cell *cell)
{
    const struct kvr_entropy_options *options = &cell->plan->entropy;
    return options->window == 0 && fabs(options->alpha - 2) <= 0;
}

static void weigh_heads(const struct kvr_cell *cell, struct kvr_scored *scored)
{
    const struct kvr_entropy_options *options = &cell->plan->entropy;
    const struct kvr_candidates *candidates = &cell->candidates;
    bool at_once = kvr_scored_by_squares(cell);
    for (size_t h = 0; at_once && h < scored->heads; h += 4)
        weigh_four(scored, h, candidates->count, candidates->sinks);
    for (size_t h = 0; !at_once && h < scored->heads; h++) {
        const float *vector = scored->vectors + h * candidates->count;
        scored->raw_entropies[h] = kvr_entropy_raw(options, vector, candidates->count);
        scored->entropies[h] =
            kvr_entropy_isolated(options, vector, candidates->count, candidates->sinks);
    }
    kvr_entropy_weights(scored->entropies, scored->heads, cell->plan->tau, scored->weights);
}

/* ------------------------------------------------------------------------- all */

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
    total_vectors(scored, count);
    if (cell->plan->nan == KVR_NAN_ZERO) {
        for (size_t h = 0; h < scored->heads; h++)
            if (isnan(scored->totals[h]))
                kvr_replace_not_finite(scored->vectors + h * count, count, &scored->replaced);
        if (scored->replaced > 0)
            total_vectors(scored, count);
    }
    for (size_t h = 0; h < scored->heads; h++)
        scored->not_finite += isnan(scored->totals[h]) ? 1 : 0;
    if (scored->not_finite == 0 && scored->score->weighted)
        weigh_heads(cell, scored);
}

float kvr_largest(const float *values, size_t count)
{
    return count > 0 ? kvr_kernels()->largest(values, count) : 0;
}
