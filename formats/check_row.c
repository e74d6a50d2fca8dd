/*
 * Measures of one attention row. It must not know where the row comes from.
 */
#include "formats/check_row.h"

#include <math.h>
#include <string.h>

/* Bits of a double that are 0 in every bfloat16 and in every normal half. */
static const uint64_t beyond_bfloat16 = (UINT64_C(1) << 45) - 1;
static const uint64_t beyond_half = (UINT64_C(1) << 42) - 1;

/* A softmax in float with fast exponentials over a long row is this far from 1 at most. */
static const double computing_tolerance = 1e-4;

static bool is_zero(double value)
{
    return fpclassify(value) == FP_ZERO;
}

static struct kvr_row_part measure_part(const double *values, uint64_t count, uint64_t *bits)
{
    struct kvr_row_part part = {0};
    uint64_t seen = 0;
    for (uint64_t i = 0; i < count; i++) {
        double value = values[i];
        if (!isfinite(value)) {
            part.not_finite++;
            continue;
        }
        uint64_t pattern;
        memcpy(&pattern, &value, sizeof pattern);
        seen |= pattern;
        part.mass += value;
        part.least = value < part.least ? value : part.least;
        part.negative += value < 0;
        part.zeros += is_zero(value);
    }
    *bits |= seen;
    return part;
}

/* Tools widen bfloat16 and half rows before they store them: the rounding stays visible. */
static enum kvr_element precision_of(enum kvr_element type, uint64_t bits)
{
    if (type == KVR_BFLOAT16 || (bits & beyond_bfloat16) == 0)
        return KVR_BFLOAT16;
    if (type == KVR_HALF || (bits & beyond_half) == 0)
        return KVR_HALF;
    return type;
}

void kvr_row_measure(const double *row, const struct kvr_row_sight *sight, enum kvr_element type,
                     struct kvr_row_facts *facts)
{
    uint64_t pad = sight->pad, end = sight->position + 1, bits = 0;
    uint64_t start = pad;
    if (sight->window > 0 && end > sight->window && end - sight->window > pad)
        start = end - sight->window;
    facts->start = start;
    facts->padding = measure_part(row, pad, &bits);
    facts->before = measure_part(row + pad, start - pad, &bits);
    facts->visible = measure_part(row + start, end - start, &bits);
    facts->beyond = measure_part(row + end, sight->tokens - end, &bits);
    facts->precision = precision_of(type, bits);

    uint64_t first = pad, last = sight->tokens;
    while (first < sight->tokens && is_zero(row[first]))
        first++;
    while (last > first && is_zero(row[last - 1]))
        last--;
    facts->empty = first == sight->tokens;
    facts->first = first;
    facts->last = last - 1;
}

double kvr_row_sum(const struct kvr_row_facts *facts)
{
    return facts->padding.mass + facts->before.mass + facts->visible.mass + facts->beyond.mass;
}

double kvr_row_sum_tolerance(enum kvr_element precision, uint64_t n)
{
    switch (precision) {
    case KVR_HALF:
        return computing_tolerance + 0x1p-11 + (double)n * 0x1p-25;
    case KVR_BFLOAT16: /* its subnormals are those of float: never reached */
        return computing_tolerance + 0x1p-8;
    case KVR_FLOAT:
    case KVR_DOUBLE:
        break;
    }
    return computing_tolerance;
}

/* The largest relative error that rounding may have left in values of at least `least`. */
static double relative_rounding(enum kvr_element precision, double least)
{
    switch (precision) {
    case KVR_HALF:
        return fmax(0x1p-11, 0x1p-25 / least);
    case KVR_BFLOAT16:
        return 0x1p-8;
    case KVR_FLOAT:
    case KVR_DOUBLE:
        break;
    }
    return 1e-6;
}

enum kvr_row_flatness kvr_row_flatness(const double *values, uint64_t n, enum kvr_element precision)
{
    if (n < 3)
        return KVR_ROW_UNTESTED;
    double least = values[0], most = values[0];
    for (uint64_t i = 1; i < n; i++) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    if (!(least > 0))
        return KVR_ROW_PEAKED; /* exp(0) = 1: a second softmax leaves no zero */
    double rounding = 2 * relative_rounding(precision, least);
    if (most <= least * (1 + rounding))
        return KVR_ROW_UNIFORM;
    const double e = 2.718281828459045;
    if (most > least * e * (1 + rounding))
        return KVR_ROW_PEAKED; /* one value alone exceeds the sum of 1; spares the logarithms */
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += log(values[i] / least);
    return sum <= 1 + (double)n * rounding ? KVR_ROW_TWICE : KVR_ROW_PEAKED;
}
