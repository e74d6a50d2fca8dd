/*
 * Resampling. It must not know what a sample or a statistic means.
 */
#include "analysis/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/random.h"

struct kvr_bootstrap kvr_bootstrap_default(void)
{
    return (struct kvr_bootstrap){.seed = 0, .draws = 10000, .level = 0.95};
}

/* Uniform in [0, bound) without bias and, mostly, without a division (Lemire 2019). */
static uint32_t pick_below(struct kvr_random *random, uint32_t bound)
{
    uint64_t product = (kvr_random_bits(random) >> 32) * bound;
    if ((uint32_t)product < bound) {
        uint32_t reject = (0 - bound) % bound;
        while ((uint32_t)product < reject)
            product = (kvr_random_bits(random) >> 32) * bound;
    }
    return (uint32_t)(product >> 32);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Between order statistics, linearly. */
static double quantile(const double *sorted, size_t count, double share)
{
    double place = share * (double)(count - 1), below = floor(place);
    size_t index = (size_t)below;
    double next = index + 1 < count ? sorted[index + 1] : sorted[index];
    return sorted[index] + (place - below) * (next - sorted[index]);
}

/* The statistic of every draw, those that exist first, and how many. */
static size_t draw_all(const struct kvr_bootstrap *bootstrap, kvr_statistic statistic,
                       const void *data, size_t count, uint32_t *times, double *values)
{
    struct kvr_random random = kvr_random_stream(bootstrap->seed, count);
    size_t exist = 0;
    for (size_t d = 0; d < bootstrap->draws; d++) {
        memset(times, 0, count * sizeof *times);
        for (size_t i = 0; i < count; i++)
            times[pick_below(&random, (uint32_t)count)]++;
        double value = statistic(data, times, count);
        if (!isnan(value))
            values[exist++] = value;
    }
    return exist;
}

enum kvr_status kvr_bootstrap_interval(const struct kvr_bootstrap *bootstrap,
                                       kvr_statistic statistic, const void *data, size_t count,
                                       struct kvr_interval *interval, struct kvr_error *err)
{
    *interval = (struct kvr_interval){.samples = count, .estimate = NAN, .low = NAN, .high = NAN};
    if (count > UINT32_MAX)
        return kvr_fail(err, KVR_UNSUPPORTED, "%zu samples are too many to draw from", count);
    uint32_t *times = kvr_alloc(count, sizeof *times, err);
    double *values = kvr_alloc(bootstrap->draws, sizeof *values, err);
    enum kvr_status status = times != NULL && values != NULL ? KVR_OK : KVR_NO_MEMORY;
    if (status == KVR_OK && count > 0) {
        for (size_t i = 0; i < count; i++)
            times[i] = 1;
        interval->estimate = statistic(data, times, count);
    }
    if (status == KVR_OK && count >= KVR_LEAST_SAMPLES && !isnan(interval->estimate)) {
        size_t exist = draw_all(bootstrap, statistic, data, count, times, values);
        if (exist > 0 && (double)exist >= 0.95 * (double)bootstrap->draws) {
            double outside = (1 - bootstrap->level) / 2;
            qsort(values, exist, sizeof *values, ascending);
            interval->low = quantile(values, exist, outside);
            interval->high = quantile(values, exist, 1 - outside);
        }
    }
    free(times);
    free(values);
    return status;
}

static double mean_of(const void *data, const uint32_t *times, size_t count)
{
    const double *values = data;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += times[i] * values[i];
    return sum / (double)count;
}

enum kvr_status kvr_bootstrap_difference(const struct kvr_bootstrap *bootstrap, const double *left,
                                         const double *right, size_t count,
                                         struct kvr_interval *interval, struct kvr_error *err)
{
    double *differences = kvr_alloc(count, sizeof *differences, err);
    if (differences == NULL)
        return KVR_NO_MEMORY;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = left[i] - (right != NULL ? right[i] : 0);
        if (!isnan(difference))
            differences[kept++] = difference;
    }
    enum kvr_status status =
        kvr_bootstrap_interval(bootstrap, mean_of, differences, kept, interval, err);
    free(differences);
    return status;
}

enum kvr_status kvr_bootstrap_mean(const struct kvr_bootstrap *bootstrap, const double *values,
                                   size_t count, struct kvr_interval *interval,
                                   struct kvr_error *err)
{
    return kvr_bootstrap_difference(bootstrap, values, NULL, count, interval, err);
}

bool kvr_interval_exists(const struct kvr_interval *interval)
{
    return !isnan(interval->low);
}

int kvr_interval_side(const struct kvr_interval *interval, double value)
{
    if (interval->low > value)
        return 1;
    return interval->high < value ? -1 : 0;
}
