/*
 * Renyi entropy and entropy weights. Sums run in double in ascending position, so that every
 * machine finds the same weights.
 */
#include "replay/entropy.h"

#include <math.h>

static const double guard = KVR_ENTROPY_GUARD;

static double shannon(const float *vector, size_t count, double divisor)
{
    double sum = 0;
    for (size_t t = 0; t < count; t++) {
        double p = (double)vector[t] / divisor;
        if (p > 0)
            sum += p * log(p);
    }
    return 0 - sum; /* not -sum: a head of one token has 0, not -0 */
}

static double minimum(const float *vector, size_t count, double divisor)
{
    double best = 0;
    for (size_t t = 0; t < count; t++)
        if ((double)vector[t] > best)
            best = (double)vector[t];
    return 0 - log(fmax(best / divisor, guard));
}

double kvr_entropy_collision(double squares)
{
    return 0 - log(fmax(squares, guard));
}

static double collision(const float *vector, size_t count, double divisor)
{
    double sum = 0;
    for (size_t t = 0; t < count; t++) {
        double p = (double)vector[t] / divisor;
        sum += p * p;
    }
    return kvr_entropy_collision(sum);
}

static double general(const float *vector, size_t count, double divisor, double alpha)
{
    double sum = 0;
    for (size_t t = 0; t < count; t++) {
        double p = (double)vector[t] / divisor;
        if (p > 0)
            sum += pow(p, alpha);
    }
    return 0 - log(fmax(sum, guard)) / (alpha - 1);
}

static double renyi(double alpha, const float *vector, size_t count, double divisor)
{
    if (isinf(alpha))
        return minimum(vector, count, divisor);
    if (fabs(alpha - 1) <= 0)
        return shannon(vector, count, divisor);
    if (fabs(alpha - 2) <= 0)
        return collision(vector, count, divisor);
    return general(vector, count, divisor, alpha);
}

static double sum_of(const float *vector, size_t count)
{
    double sum = 0;
    for (size_t t = 0; t < count; t++)
        sum += (double)vector[t];
    return sum;
}

/* The first candidate that an entropy window sees. */
static size_t window_start(const struct kvr_entropy_options *options, size_t count)
{
    return options->window > 0 && options->window < count ? count - (size_t)options->window : 0;
}

double kvr_entropy_raw(const struct kvr_entropy_options *options, const float *vector, size_t count)
{
    size_t start = window_start(options, count);
    double divisor = 1;
    if (options->window > 0)
        divisor = fmax(sum_of(vector + start, count - start), guard);
    return renyi(options->alpha, vector + start, count - start, divisor);
}

double kvr_entropy_isolated(const struct kvr_entropy_options *options, const float *vector,
                            size_t count, size_t sinks)
{
    size_t start = window_start(options, count);
    if (sinks > start)
        start = sinks;
    double rest = sum_of(vector + start, count - start);
    if (rest < guard)
        return KVR_ENTROPY_EMPTY;
    return renyi(options->alpha, vector + start, count - start, rest);
}

void kvr_entropy_weights(const double *entropies, size_t heads, double tau, double *weights)
{
    double least = entropies[0];
    for (size_t h = 1; h < heads; h++)
        least = fmin(least, entropies[h]);
    double total = 0;
    for (size_t h = 0; h < heads; h++) {
        weights[h] = exp(-(entropies[h] - least) / tau);
        total += weights[h];
    }
    for (size_t h = 0; h < heads; h++)
        weights[h] /= total;
}
