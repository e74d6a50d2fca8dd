/*
 * Plain statistics. It must not know what the values are.
 */
#include "plots/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "formats/base/memory.h"

enum kvr_status kvr_values_add(struct kvr_values *values, double value, struct kvr_error *err)
{
    void *items = values->items;
    enum kvr_status status =
        kvr_reserve(&items, &values->capacity, values->count + 1, sizeof *values->items, err);
    values->items = items;
    if (status == KVR_OK)
        values->items[values->count++] = value;
    return status;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void kvr_values_sort(struct kvr_values *values)
{
    if (values->count > 0)
        qsort(values->items, values->count, sizeof *values->items, by_value);
}

void kvr_values_free(struct kvr_values *values)
{
    free(values->items);
    *values = (struct kvr_values){0};
}

double kvr_quantile(const struct kvr_values *sorted, double q)
{
    if (sorted->count == 0)
        return NAN;
    double place = q * (double)(sorted->count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= sorted->count)
        return sorted->items[sorted->count - 1];
    double part = place - (double)below;
    return sorted->items[below] + part * (sorted->items[below + 1] - sorted->items[below]);
}

double kvr_values_mean(const struct kvr_values *values)
{
    double sum = 0;
    for (size_t i = 0; i < values->count; i++)
        sum += values->items[i];
    return values->count > 0 ? sum / (double)values->count : NAN;
}

static double deviation(const struct kvr_values *values)
{
    double mean = kvr_values_mean(values), sum = 0;
    for (size_t i = 0; i < values->count; i++)
        sum += (values->items[i] - mean) * (values->items[i] - mean);
    return values->count > 1 ? sqrt(sum / (double)(values->count - 1)) : 0;
}

static double kernel_width(const struct kvr_values *sorted, double step)
{
    double spread = deviation(sorted);
    double quartiles = (kvr_quantile(sorted, 0.75) - kvr_quantile(sorted, 0.25)) / 1.349;
    if (quartiles > 0 && quartiles < spread)
        spread = quartiles;
    double width = 0.9 * spread * pow((double)sorted->count, -0.2);
    return width > step ? width : step;
}

/* Values that stand for `counts` of them each. */
struct bundles {
    struct kvr_values values, counts;
};

/* Each value by itself; where there are many, those of each of MOST_BUNDLES slices at their mean,
   or a million heads would take minutes. */
static enum kvr_status bundle(const struct kvr_values *sorted, double least, double most,
                              struct bundles *bundles, struct kvr_error *err)
{
    enum { MOST_BUNDLES = 4096 };
    double slice = sorted->count > MOST_BUNDLES ? (most - least) / MOST_BUNDLES : 0;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sorted->count;) {
        double sum = 0, end = sorted->items[i] + slice;
        size_t first = i;
        do
            sum += sorted->items[i++];
        while (i < sorted->count && sorted->items[i] < end);
        status = kvr_values_add(&bundles->values, sum / (double)(i - first), err);
        if (status == KVR_OK)
            status = kvr_values_add(&bundles->counts, (double)(i - first), err);
    }
    return status;
}

static double density_at(const struct bundles *bundles, double x, double least, double most,
                         double width)
{
    double sum = 0;
    for (size_t i = 0; i < bundles->values.count; i++) {
        double v = bundles->values.items[i];
        double at = (x - v) / width, below = (x - (2 * least - v)) / width;
        double above = (x - (2 * most - v)) / width;
        sum += bundles->counts.items[i] *
               (exp(-at * at / 2) + exp(-below * below / 2) + exp(-above * above / 2));
    }
    return sum;
}

enum kvr_status kvr_density(const struct kvr_values *sorted, double least, double most,
                            size_t points, double *density, struct kvr_error *err)
{
    struct bundles bundles = {.values = {0}};
    double step = (most - least) / (double)(points - 1);
    double width = kernel_width(sorted, step);
    double scale = 1 / (width * sqrt(2 * acos(-1)) * (double)sorted->count);
    enum kvr_status status = bundle(sorted, least, most, &bundles, err);
    for (size_t p = 0; status == KVR_OK && p < points; p++)
        density[p] = scale * density_at(&bundles, least + step * (double)p, least, most, width);
    kvr_values_free(&bundles.values);
    kvr_values_free(&bundles.counts);
    return status;
}
