/*
 * The bounds, one function each. They know intersections and quotas, not where those come from.
 */
#include "analysis/bounds.h"

#include <math.h>

static double bonferroni_lower(double r, double jaccard)
{
    return fmax(1, r - r * (r - 1) * jaccard);
}

static double sandwich_lower(double r, double jaccard)
{
    return r / (1 + 2 * (r - 1) * jaccard / (1 + jaccard));
}

static double sandwich_upper(double r, double most)
{
    return fmin(r, r - 2 * most / (1 + most));
}

static double cauchy_lower(double r, double k, double pair_sum)
{
    return r * r / (r + 2 / k * pair_sum);
}

/* Counts are far below 2^53; signed ones convert faster. */
static double as_double(uint64_t count)
{
    return (double)(int64_t)count;
}

static double decaen_lower(const struct kvr_overlap *overlap)
{
    double k = (double)overlap->quota, sum = 0;
    for (size_t i = 0; i < overlap->heads; i++) {
        double others = 0;
        for (size_t j = 0; j < overlap->heads; j++)
            if (j != i)
                others += as_double(overlap->pairs[i * overlap->heads + j]);
        sum += k / (k + others);
    }
    return sum;
}

static double dawson_sankoff_lower(double r, double k, double pair_sum)
{
    double s1 = r * k, s2 = pair_sum;
    double m = 1 + floor(2 * s2 / s1);
    return (2 * s1 / (m + 1) - 2 * s2 / (m * (m + 1))) / k;
}

/* Prim's algorithm; the heads that are not in the tree yet are the first `left` of `rest`. A tree
   that leaves heads out, as where there are too many, still gives a valid upper bound. */
static double spanning_tree_weight(const struct kvr_overlap *overlap)
{
    enum { MOST_HEADS = 1024 };
    double best[MOST_HEADS];
    unsigned rest[MOST_HEADS];
    size_t heads = overlap->heads < MOST_HEADS ? overlap->heads : MOST_HEADS;
    size_t left = heads - 1, next = 0;
    for (size_t i = 0; i < left; i++) {
        rest[i] = (unsigned)(i + 1);
        best[i] = as_double(overlap->pairs[i + 1]);
        next = best[i] > best[next] ? i : next;
    }
    double weight = 0;
    while (left > 0) {
        const uint64_t *added = overlap->pairs + rest[next] * overlap->heads;
        weight += best[next];
        rest[next] = rest[--left];
        best[next] = best[left];
        next = 0;
        for (size_t i = 0; i < left; i++) {
            double other = as_double(added[rest[i]]);
            best[i] = other > best[i] ? other : best[i];
            next = best[i] > best[next] ? i : next;
        }
    }
    return weight;
}

struct kvr_bounds kvr_bounds_of(const struct kvr_overlap *overlap)
{
    if (overlap->heads < 2)
        return (struct kvr_bounds){1, 1, 1, 1, 1, 1, 1};
    double r = (double)overlap->heads, k = (double)overlap->quota;
    double pair_sum = (double)overlap->pair_sum;
    return (struct kvr_bounds){
        .bonferroni_lower = bonferroni_lower(r, overlap->jaccard_mean),
        .sandwich_lower = sandwich_lower(r, overlap->jaccard_mean),
        .sandwich_upper = sandwich_upper(r, overlap->jaccard_most),
        .cauchy_lower = cauchy_lower(r, k, pair_sum),
        .decaen_lower = decaen_lower(overlap),
        .dawson_sankoff_lower = dawson_sankoff_lower(r, k, pair_sum),
        .hunter_upper = (r * k - spanning_tree_weight(overlap)) / k,
    };
}

unsigned kvr_bounds_violations(const struct kvr_bounds *bounds, double uor)
{
    const double tolerance = 1e-9;
    const double lower[] = {bounds->bonferroni_lower, bounds->sandwich_lower, bounds->cauchy_lower,
                            bounds->decaen_lower, bounds->dawson_sankoff_lower};
    const double upper[] = {bounds->sandwich_upper, bounds->hunter_upper};
    unsigned violations = 0;
    for (size_t i = 0; i < sizeof lower / sizeof *lower; i++)
        violations += uor < lower[i] - tolerance;
    for (size_t i = 0; i < sizeof upper / sizeof *upper; i++)
        violations += uor > upper[i] + tolerance;
    return violations;
}

double kvr_bounds_identity(double disagreement)
{
    return 2 / (2 - disagreement);
}
