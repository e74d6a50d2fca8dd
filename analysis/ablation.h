/*
 * Ablations: what the paper's choices (arXiv 2610.03135) do to weights, kept pages and needles,
 * each varied alone while the others stay as the plan has them.
 *
 * One pass over a trace serves every table. A table has settings (rows) and columns; what a group
 * gives is added to the tally of (score, setting, measure) in the order of the cells.
 */
#ifndef KVR_ABLATION_H
#define KVR_ABLATION_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/spread.h"
#include "analysis/variant.h"
#include "formats/table.h"
#include "replay/observer.h"

enum kvr_ablation_table {
    KVR_ABLATE_TEMPERATURE,
    KVR_ABLATE_ORDER, /* of the Renyi entropy */
    KVR_ABLATE_SINKS,
    KVR_ABLATE_WINDOW,  /* of the entropy */
    KVR_ABLATE_NEEDLES, /* premises of theorem 4 and corollary 2's bound, over temperatures */
    KVR_ABLATE_PAGES,   /* operator x page size x page reduction */
    KVR_ABLATE_SLOTS,   /* where in a kept page the pooled mass lies */
    KVR_ABLATE_TABLES,
};

/* Tables before this one vary the weighting and nothing else. */
enum { KVR_ABLATE_GRIDS = KVR_ABLATE_NEEDLES };

/* What a cell adds to a tally. Those that are 1 or 0 count: their sum is what a table shows. */
enum kvr_ablation_measure {
    KVR_MEASURE_ENTROPY,        /* sink-isolated, of each head, nats */
    KVR_MEASURE_OUTSIDE,        /* 1: a head's entropy is outside [0, ln n] by over 1e-9 */
    KVR_MEASURE_EMPTY,          /* 1: a head has nothing outside its sinks, so no entropy */
    KVR_MEASURE_ENTROPY_RISES,  /* 1: a head has more entropy than at the setting before */
    KVR_MEASURE_MAX_WEIGHT,     /* largest entropy weight in a group */
    KVR_MEASURE_ABOVE_UNIFORM,  /* the same minus 1/r */
    KVR_MEASURE_WEIGHT_RISES,   /* 1: it is larger than at the setting before */
    KVR_MEASURE_SINK_MASS,      /* of each head */
    KVR_MEASURE_DIVISOR_OFF,    /* 1: 1 - sink mass differs from what lies outside by over 1 % */
    KVR_MEASURE_SINK_WEIGHT,    /* of each sink head */
    KVR_MEASURE_CONTEXT_WEIGHT, /* of each contextual head */
    KVR_MEASURE_SAME_PAGES,     /* share of the kept pages that the plan's weighting keeps too */
    KVR_MEASURE_RETAINED,       /* retained mass of the kept pages, MEASURES §9 */
    KVR_MEASURE_NEEDLE,         /* kept share of each needle */
    KVR_MEASURE_PEAK,           /* future peak, pooled over groups and samples by its weight */
    KVR_MEASURE_INEXACT,        /* 1: a group keeps other than K pages */
    KVR_MEASURE_TOKENS,         /* kept tokens */
    KVR_MEASURE_PUR,            /* page-union ratio of each layer, MEASURES §8 */
    KVR_MEASURE_PUR_OUTSIDE,    /* 1: that is outside [1, H_KV] */
    KVR_MEASURE_SHARE,          /* of the pooled mass on kept pages that lies on a slot */
    KVR_MEASURE_SHARE_REST,     /* the same without the sinks' mass */
    KVR_MEASURE_OWNER,          /* the owner's value at a needle's peak, 1 - eps */
    KVR_MEASURE_POOLED,         /* the entropy-pooled value there */
    KVR_MEASURE_MEAN_POOLED,    /* the mean-pooled one */
    KVR_MEASURE_BOUND,          /* cor. 2's lower bound on the entropy-pooled one */
    KVR_MEASURE_PREMISE,        /* 1: the premise holds, see below */
    KVR_MEASURE_BEYOND_MEAN,    /* 1: the bound is above the mean-pooled value */
    KVR_MEASURE_BETTER,         /* 1: the entropy-pooled value is above the mean-pooled one */
    KVR_MEASURE_BROKEN,         /* 1: the entropy-pooled value is below the bound */
    KVR_ABLATE_MEASURES,
};

/*
 * The premise of theorem 4 "holds" if the owner is sure to weigh at least as much as its siblings
 * together: Delta <= (1 - eps) / 2, so that the bound promises half of the owner's value.
 */

/* How a column is made of tallies. */
enum kvr_ablation_kind {
    KVR_COLUMN_MEAN,
    KVR_COLUMN_SPREAD, /* mean, and in CSV standard deviation, least and most */
    KVR_COLUMN_SUM,    /* of counts; a whole number */
    KVR_COLUMN_COUNT,  /* how many values the tally has */
    KVR_COLUMN_RATIO,  /* mean of `measure` / mean of `over` */
};

struct kvr_ablation_column {
    const char *name;
    enum kvr_ablation_kind kind;
    enum kvr_ablation_measure measure, over;
};

struct kvr_ablation_info {
    const char *name;     /* "temperature" of ablation_temperature.csv */
    const char *settings; /* CSV columns that name a setting: "tau" */
    size_t column_count;
    const struct kvr_ablation_column *columns;
};

extern const struct kvr_ablation_info kvr_ablation_infos[KVR_ABLATE_TABLES];

/* The reductions over a group that pages and slots compare, by name; NULL after the last. */
extern const char *const kvr_ablation_operators[];
extern const char *const kvr_page_reduce_names[];

/* Weightings of one table; labels as the user gave them. */
struct kvr_weighting_grid {
    size_t count;
    const char *const *labels;
    const struct kvr_weighting *weightings;
};

struct kvr_ablation {
    const struct kvr_plan *plan; /* its first budget and its page sizes are those of the tables */
    struct kvr_weighting_grid grids[KVR_ABLATE_GRIDS];
    uint64_t kept_page_size; /* at which weightings are compared by what they keep */
    size_t setting_counts[KVR_ABLATE_TABLES];
    struct kvr_spread *tallies[KVR_ABLATE_TABLES]; /* [scores][settings][measures] */
    uint64_t *groups, *excluded;                   /* [scores] */
    void *layer; /* private: kept pages of the layer that is passing */
};

/* *ablation with plan, grids and kept_page_size filled in; release with kvr_ablation_close. */
enum kvr_status kvr_ablation_open(struct kvr_ablation *ablation, struct kvr_error *err);
void kvr_ablation_close(struct kvr_ablation *ablation);

/* Fills the tallies; the ablation must outlive it. */
struct kvr_observer kvr_ablation_observer(struct kvr_ablation *ablation);

struct kvr_spread *kvr_ablation_tally(const struct kvr_ablation *ablation,
                                      enum kvr_ablation_table table, size_t score, size_t setting,
                                      enum kvr_ablation_measure measure);

/* A column's figure; NaN where it does not apply. */
double kvr_ablation_figure(const struct kvr_ablation *ablation, enum kvr_ablation_table table,
                           size_t score, size_t setting, const struct kvr_ablation_column *column);

/* What names a setting, comma separated as in CSV: "0.5", "entropy,16,max". */
enum { KVR_ABLATION_LABEL = 64 };
void kvr_ablation_label(const struct kvr_ablation *ablation, enum kvr_ablation_table table,
                        size_t setting, char label[KVR_ABLATION_LABEL]);

/* Adds ablation_<name>.csv for every table: scorer, the setting, the columns. */
enum kvr_status kvr_ablation_write(const struct kvr_ablation *ablation, struct kvr_tables *tables,
                                   struct kvr_error *err);

#endif
