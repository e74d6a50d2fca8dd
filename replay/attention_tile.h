/*
 * Private to attention.c: the loops over queries and keys, plain and for processors with FMA.
 *
 * Every variant does the same operations on the same numbers in the same order, fused multiply-add
 * included, so all give the same bits. They know tiles and rows, not heads, layers or files.
 */
#ifndef KVR_ATTENTION_TILE_H
#define KVR_ATTENTION_TILE_H

#include <float.h>
#include <stddef.h>

/* Queries and keys of a tile; a row is worked on in steps of KVR_TILE_LANES. */
enum { KVR_TILE_QUERIES = 6, KVR_TILE_KEYS = 16, KVR_TILE_LANES = 8 };

/* exp(x) is 0 below: what it leaves out is less than the smallest normal float. */
#define KVR_TILE_LEAST_EXPONENT (-87.0F)

/* What the greatest of no logits is: nothing finite is less. */
#define KVR_TILE_LEAST_LOGIT (-FLT_MAX)

/* Rows of one strip that a run of columns is added up over. */
struct kvr_tile_rows {
    const float *weights; /* [count], `stride` apart */
    size_t stride, count;
    const float *factors; /* [count] what each row's weights are to be multiplied by */
};

struct kvr_attention_tile {
    const char *name;

    /*
     * out[i][j] = scale * sum_d queries[d][i] keys[d][j], the sum in float in ascending d, for
     * queries [width][KVR_TILE_QUERIES] and keys [width][KVR_TILE_KEYS]; rows of out lie `stride`
     * apart.
     */
    void (*logits)(const float *queries, const float *keys, size_t width, float scale, float *out,
                   size_t stride);

    /* logit = cap tanh(logit / cap), within 2^-21 cap; count is a multiple of KVR_TILE_LANES, as
       in the next two. */
    void (*cap)(float *logits, size_t count, float cap);

    /* The greatest of the logits, KVR_TILE_LEAST_LOGIT at least; NaN is passed over. */
    float (*greatest)(const float *logits, size_t count);

    /*
     * Makes each logit exp(logit - greatest), within 2^-22 of its value, and returns their sum: in
     * double, one partial sum for each lane. NaN stays NaN.
     */
    double (*weigh)(float *logits, size_t count, float greatest);

    /* sums[t] += weights[0][t] factors[0], then of the next row: products in float, sums in double.
     */
    void (*add)(const struct kvr_tile_rows *rows, size_t columns, double *sums);
};

extern const struct kvr_attention_tile kvr_attention_tile_plain;

/* The fastest variant for this processor; KVREPLAY_CPU=scalar in the environment asks for the plain
   one. */
const struct kvr_attention_tile *kvr_attention_tile(void);

/* The variant for AVX2 with FMA; NULL where it was not compiled or cannot run. */
const struct kvr_attention_tile *kvr_attention_tile_fma(void);

#endif
