/*
 * What policies keep, from measures.csv: one point for each policy and budget at one page size.
 *
 * Future measures are pooled as MEASURES §9 says: over layers and groups of a sample by their
 * weights, then the mean over samples.
 */
#ifndef KVR_POLICY_POINTS_H
#define KVR_POLICY_POINTS_H

#include <stdint.h>

#include "formats/base/status.h"
#include "plots/draft.h"
#include "plots/source.h"

/* A ratio pooled within the sample that is passing, and the sum over samples that have passed. */
struct kvr_pool {
    double weighted, weight; /* of the sample */
    double sum;
    uint64_t samples;
};

struct kvr_policy_point {
    uint64_t rows;
    double kept, context; /* sums of tokens */
    uint64_t retained_rows;
    double retained; /* sum */
    struct kvr_pool future_mass, future_peak;
};

struct kvr_policy_points {
    const struct kvr_source *source;
    size_t policies, budgets;
    struct kvr_policy_point *points; /* [policies][budgets], as source->policies and ->budgets */
};

/* Release in any case. */
enum kvr_status kvr_policy_points_read(const struct kvr_source *source,
                                       struct kvr_policy_points *points, struct kvr_error *err);
void kvr_policy_points_free(struct kvr_policy_points *points);

/* Each is NaN where it does not apply. */
double kvr_point_kept(const struct kvr_policy_point *point); /* share of the tokens */
double kvr_point_retained(const struct kvr_policy_point *point);
double kvr_pool_mean(const struct kvr_pool *pool);

/* Figures of policies as lines. */
enum { KVR_POLICY_COLUMNS = 2 };
struct kvr_policy_lines {
    double (*columns[KVR_POLICY_COLUMNS])(const struct kvr_policy_point *point);
    size_t column_count; /* at least one must be a number, or the point is left out */
    const char *names;   /* "future_peak future_mass", for the data's comment */
};

/* Defines the facts policies (their names) and styles (the line type of each). */
void kvr_policy_names_write(struct kvr_draft *draft, const struct kvr_source *source,
                            const char *const *names, size_t count);

/*
 * Writes a block of `kept, columns…, samples, budget` for every policy that has a point, and the
 * facts of kvr_policy_names_write, kept_least and kept_most. *written: how many policies.
 */
enum kvr_status kvr_policy_points_write(const struct kvr_policy_points *points,
                                        const struct kvr_policy_lines *lines,
                                        struct kvr_draft *draft, size_t *written,
                                        struct kvr_error *err);

/* Settles the height of a figure whose panels take `panels` inches above a legend of `count` names;
   the fact legend_height is what the legend takes. */
void kvr_policy_lines_size(struct kvr_draft *draft, size_t count, double panels);

#endif
