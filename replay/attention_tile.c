/*
 * The plain variant of the tile loops, which says what each computes, and the choice between the
 * variants. fmaf is exact whether the processor has it or not.
 */
#include "replay/attention_tile.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { Q = KVR_TILE_QUERIES, K = KVR_TILE_KEYS, LANES = KVR_TILE_LANES };

static void logits(const float *queries, const float *keys, size_t width, float scale, float *out,
                   size_t stride)
{
    float sums[Q][K] = {{0}};
    for (size_t d = 0; d < width; d++)
        for (size_t i = 0; i < Q; i++)
            for (size_t j = 0; j < K; j++)
                sums[i][j] = fmaf(queries[d * Q + i], keys[d * K + j], sums[i][j]);
    for (size_t i = 0; i < Q; i++)
        for (size_t j = 0; j < K; j++)
            out[i * stride + j] = sums[i][j] * scale;
}

/*
 * exp(x) of x <= 0 as 2^n exp(r), n the whole number next to x / ln 2. Adding 1.5 * 2^23 leaves n
 * in the low bits of the sum. ln 2 is taken off in two parts, the first short enough for an exact
 * product. Then the Taylor series: what it leaves out, 6e-9, is below a float's rounding.
 */
static float exponential(float x)
{
    static const float coefficients[] = {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1, 1};
    const float shift = 0x1.8p23F;
    if (x < KVR_TILE_LEAST_EXPONENT)
        return 0;
    float shifted = fmaf(x, 0x1.715476p0F, shift), n = shifted - shift;
    float r = fmaf(n, -0x1.63p-1F, x), p = 1.0F / 5040, power;
    r = fmaf(n, 0x1.bd0106p-13F, r);
    for (size_t i = 0; i < sizeof coefficients / sizeof *coefficients; i++)
        p = fmaf(p, r, coefficients[i]);
    unsigned bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

static void cap(float *values, size_t count, float softcap)
{
    float inverse = 1 / softcap;
    for (size_t t = 0; t < count; t++) {
        float e = exponential(fabsf(values[t] * inverse) * -2);
        values[t] = copysignf((1 - e) / (1 + e), values[t]) * softcap;
    }
}

static float greatest(const float *values, size_t count)
{
    float most = KVR_TILE_LEAST_LOGIT;
    for (size_t t = 0; t < count; t++)
        most = values[t] > most ? values[t] : most;
    return most;
}

static double weigh(float *values, size_t count, float most)
{
    double sums[LANES] = {0};
    for (size_t t = 0; t < count; t++) {
        values[t] = exponential(values[t] - most);
        sums[t % LANES] += (double)values[t];
    }
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
           ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

static void add(const struct kvr_tile_rows *rows, size_t columns, double *sums)
{
    for (size_t i = 0; i < rows->count; i++)
        for (size_t t = 0; t < columns; t++)
            sums[t] += (double)(rows->weights[i * rows->stride + t] * rows->factors[i]);
}

const struct kvr_attention_tile kvr_attention_tile_plain = {
    "scalar", logits, cap, greatest, weigh, add,
};

const struct kvr_attention_tile *kvr_attention_tile(void)
{
    const char *isa = getenv("KVREPLAY_CPU");
    const struct kvr_attention_tile *fast = kvr_attention_tile_fma();
    bool plain = fast == NULL || (isa != NULL && strcmp(isa, "scalar") == 0);
    return plain ? &kvr_attention_tile_plain : fast;
}
