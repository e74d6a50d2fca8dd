/*
 * The random field of the broad part. It must not know which kinds of heads there are.
 */
#include "traces/synth_broad.h"

#include <math.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/random.h"

/* Of the 16 random bits that a position gets, 10 choose the factor and 6 the rounding. */
enum { LEVELS = 1024, ROUNDING_BITS = 6, ROUNDINGS = 1 << ROUNDING_BITS, CODES_PER_DRAW = 4 };

/* Spread of the factors in log space; between them they give rows the tails of real ones. */
static const double group_spread = 1.1, head_spread = 0.8, row_spread = 0.6;

/* The grid of half below its smallest normal number, 2^-14. */
static const double half_step = 0x1p-24, half_steps = 0x1p24, steps_below_normal = 0x1p10;

enum { GROUP_PART = 1, HEAD_PART, ROW_PART };

struct kvr_synth_broad {
    bool ties;
    bool on_half_grid;
    double group[LEVELS], head[LEVELS], row[LEVELS];
    double dither[ROUNDINGS]; /* evenly spaced in (0, 1) */
};

static void fill_table(double spread, double *table)
{
    double total = 0;
    for (int i = 0; i < LEVELS; i++) {
        double u = (i + 0.5) / LEVELS;
        table[i] = exp(spread * 0.5513 * log(u / (1 - u))); /* 0.5513: unit variance */
        total += table[i];
    }
    for (int i = 0; i < LEVELS; i++)
        table[i] *= LEVELS / total;
}

struct kvr_synth_broad *kvr_synth_broad_new(const struct kvr_synth_options *options,
                                            struct kvr_error *err)
{
    struct kvr_synth_broad *broad = kvr_alloc(1, sizeof *broad, err);
    if (broad == NULL)
        return NULL;
    broad->ties = options->ties;
    broad->on_half_grid = options->storage.type.kind == KVR_HALF && !options->ties;
    double scale = options->premise ? 0 : 1; /* without spread all factors are 1 */
    fill_table(group_spread * scale, broad->group);
    fill_table(head_spread * scale, broad->head);
    fill_table(row_spread * scale, broad->row);
    for (int i = 0; i < ROUNDINGS; i++)
        broad->dither[i] = (i + 0.5) / ROUNDINGS;
    return broad;
}

/* The codes of positions [start, end): codes[start % tile] is the first one wanted. */
static void draw_codes(uint64_t key, uint64_t start, uint64_t end, uint16_t *codes)
{
    struct kvr_random random = kvr_random_stream(key, start / KVR_SYNTH_TILE);
    size_t count = (size_t)(end - 1) % KVR_SYNTH_TILE + 1;
    for (size_t i = 0; i < count; i += CODES_PER_DRAW) {
        uint64_t bits = kvr_random_bits(&random);
        for (unsigned j = 0; j < CODES_PER_DRAW; j++)
            codes[i + j] = (uint16_t)(bits >> (16 * j));
    }
}

static void multiply(const double *table, uint64_t key, uint64_t start, uint64_t end,
                     double *weights)
{
    uint16_t codes[KVR_SYNTH_TILE];
    draw_codes(key, start, end, codes);
    const uint16_t *code = codes + start % KVR_SYNTH_TILE;
    for (size_t i = 0; i < end - start; i++)
        weights[i] *= table[code[i] >> ROUNDING_BITS];
}

/* Powers of two have few values, which is what ties need. */
static void keep_powers_of_two(size_t count, double *weights)
{
    for (size_t i = 0; i < count; i++)
        weights[i] = ldexp(1, ilogb(weights[i]));
}

static uint64_t part_key(const struct kvr_synth_plan *plan, unsigned part, uint32_t number)
{
    return kvr_synth_key(kvr_synth_key(plan->layer_key, part), number);
}

void kvr_synth_shared(const struct kvr_synth_broad *broad, const struct kvr_synth_plan *plan,
                      uint32_t group, uint64_t start, uint64_t end, double *weights)
{
    size_t count = (size_t)(end - start);
    for (size_t i = 0; i < count; i++)
        weights[i] = 1;
    multiply(broad->group, part_key(plan, GROUP_PART, group), start, end, weights);
    if (broad->ties)
        keep_powers_of_two(count, weights);
}

void kvr_synth_lasting(const struct kvr_synth_broad *broad, const struct kvr_synth_plan *plan,
                       uint32_t head, uint64_t start, uint64_t end, double *weights)
{
    uint32_t group = head / (plan->layer.query_heads / plan->layer.kv_heads);
    kvr_synth_shared(broad, plan, group, start, end, weights);
    multiply(broad->head, part_key(plan, HEAD_PART, head), start, end, weights);
    if (broad->ties)
        keep_powers_of_two((size_t)(end - start), weights);
}

static uint64_t row_key(const struct kvr_synth_plan *plan, uint32_t head, uint64_t position)
{
    return kvr_synth_key(part_key(plan, ROW_PART, head), position);
}

double kvr_synth_broad_sum(const struct kvr_synth_broad *broad, const struct kvr_synth_plan *plan,
                           uint32_t head, uint64_t position, uint64_t start, uint64_t end,
                           const double *lasting)
{
    size_t count = (size_t)(end - start);
    /* Four sums, so that the additions do not wait for each other. */
    double sums[4] = {0, 0, 0, 0};
    if (broad->ties) {
        for (size_t i = 0; i < count; i++)
            sums[i % 4] += lasting[i];
    } else {
        uint16_t codes[KVR_SYNTH_TILE];
        draw_codes(row_key(plan, head, position), start, end, codes);
        const uint16_t *code = codes + start % KVR_SYNTH_TILE;
        for (size_t i = 0; i < count; i++)
            sums[i % 4] += lasting[i] * broad->row[code[i] >> ROUNDING_BITS];
    }
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

void kvr_synth_broad_fill(const struct kvr_synth_broad *broad, const struct kvr_synth_plan *plan,
                          uint32_t head, uint64_t position, uint64_t start, uint64_t end,
                          const double *lasting, double scale, double *values)
{
    size_t count = (size_t)(end - start);
    if (broad->ties) {
        for (size_t i = 0; i < count; i++)
            values[i] = lasting[i] * scale;
        return;
    }
    uint16_t codes[KVR_SYNTH_TILE];
    draw_codes(row_key(plan, head, position), start, end, codes);
    const uint16_t *code = codes + start % KVR_SYNTH_TILE;
    if (!broad->on_half_grid) {
        for (size_t i = 0; i < count; i++)
            values[i] = lasting[i] * broad->row[code[i] >> ROUNDING_BITS] * scale;
        return;
    }
    /* Between two grid points, the nearer one is taken more often: the mean is the value. */
    scale *= half_steps;
    for (size_t i = 0; i < count; i++) {
        double steps = lasting[i] * broad->row[code[i] >> ROUNDING_BITS] * scale;
        if (steps < steps_below_normal)
            steps = (double)(int)(steps + broad->dither[code[i] & (ROUNDINGS - 1)]);
        values[i] = steps * half_step;
    }
}
