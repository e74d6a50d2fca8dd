/*
 * Welford's running mean and squares. It must not know what is counted.
 */
#include "analysis/tally.h"

#include <math.h>

void kvr_tally_add(struct kvr_tally *tally, double value, double weight)
{
    if (isnan(value) || !(weight > 0))
        return;
    if (tally->count == 0)
        tally->least = tally->most = value;
    tally->count++;
    tally->sum += value;
    tally->weight += weight;
    double before = value - tally->mean;
    tally->mean += before * (weight / tally->weight);
    tally->squares += weight * before * (value - tally->mean);
    tally->least = fmin(tally->least, value);
    tally->most = fmax(tally->most, value);
}

double kvr_tally_mean(const struct kvr_tally *tally)
{
    return tally->count > 0 ? tally->mean : NAN;
}

double kvr_tally_deviation(const struct kvr_tally *tally)
{
    return tally->count > 0 ? sqrt(tally->squares / tally->weight) : NAN;
}

double kvr_tally_least(const struct kvr_tally *tally)
{
    return tally->count > 0 ? tally->least : NAN;
}

double kvr_tally_most(const struct kvr_tally *tally)
{
    return tally->count > 0 ? tally->most : NAN;
}
