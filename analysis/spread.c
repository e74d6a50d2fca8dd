/*
 * Welford's running mean and squares. It must not know what is counted.
 */
#include "analysis/spread.h"

#include <math.h>

void kvr_spread_add(struct kvr_spread *spread, double value, double weight)
{
    if (isnan(value) || !(weight > 0))
        return;
    if (spread->count == 0)
        spread->least = spread->most = value;
    spread->count++;
    spread->sum += value;
    spread->weight += weight;
    double before = value - spread->mean;
    spread->mean += before * (weight / spread->weight);
    spread->squares += weight * before * (value - spread->mean);
    spread->least = fmin(spread->least, value);
    spread->most = fmax(spread->most, value);
}

double kvr_spread_mean(const struct kvr_spread *spread)
{
    return spread->count > 0 ? spread->mean : NAN;
}

double kvr_spread_deviation(const struct kvr_spread *spread)
{
    return spread->count > 0 ? sqrt(spread->squares / spread->weight) : NAN;
}

double kvr_spread_least(const struct kvr_spread *spread)
{
    return spread->count > 0 ? spread->least : NAN;
}

double kvr_spread_most(const struct kvr_spread *spread)
{
    return spread->count > 0 ? spread->most : NAN;
}
