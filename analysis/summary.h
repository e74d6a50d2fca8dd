/*
 * The figures of a replay that a researcher reads first.
 *
 * The tables' observers compute every fact once; as they write their rows, in the order of the
 * cells, they add the facts here. So each figure is a plain sum over rows of a table, and equals
 * what a script computes from the files. Nothing is printed here.
 */
#ifndef KVR_SUMMARY_H
#define KVR_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/census.h"
#include "replay/plan.h"

/* Indices into the plan's lists: a score for overlaps, a use for what is kept. Here and in the
   facts each member takes 64 bits and there are no gaps, so that facts can lie in files. */
struct kvr_place {
    uint64_t score, use, page, budget;
};

/* The facts, one a row of its table. */
struct kvr_kept_fact { /* measures.csv */
    struct kvr_place place;
    double retained_mass; /* NaN where it does not apply, as the next ones */
    double future_mass, future_weight;
    double future_peak, peak_weight;
};
struct kvr_overlap_fact { /* bounds.csv */
    struct kvr_place place;
    double uor, jaccard_mean;
    uint64_t certified_bonferroni, certified_sandwich; /* 0 or 1: cert_1, cert_T */
    uint64_t violations; /* bounds that the measured UOR lies outside of by more than 1e-9 */
};
struct kvr_head_fact { /* heads.csv */
    uint64_t score;
    uint64_t class; /* enum kvr_head_class */
    double weight_raw, weight_isolated;
    double total; /* sum of the vector over the candidates */
};
struct kvr_needle_fact { /* needles.csv */
    struct kvr_place place;
    uint64_t needle;
    uint64_t whole; /* 1: all of its tokens are kept, else 0 */
};
struct kvr_premise_fact { /* premises.csv */
    uint64_t holds;       /* 0 or 1 */
};
struct kvr_group_fact { /* a group under a scorer, excluded or not */
    uint64_t score;
    uint64_t excluded; /* 0 or 1 */
    uint64_t replaced; /* values that --nan zero replaced */
};

/* Of one scorer, page size and budget, over groups. */
struct kvr_overlap_summary {
    uint64_t groups;
    double uor_sum, uor_most;
    uint64_t pair_groups; /* groups with r > 1: they have a disagreement */
    double disagreement_sum;
    uint64_t certified_bonferroni, certified_sandwich;
    uint64_t violations;
};

/* Of one scorer, over query heads and groups. */
struct kvr_census_summary {
    uint64_t heads[KVR_HEAD_CLASSES];
    double weight_raw[KVR_HEAD_CLASSES]; /* sums of weights */
    double weight_isolated[KVR_HEAD_CLASSES];
    double least_total, most_total; /* of the vectors; NaN without heads */
    uint64_t groups, excluded, replaced;
};

/* Needles by their depth in the prompt, in fifths. */
enum { KVR_DEPTHS = 5 };

/* Of one use (a policy under a score), page size and budget. */
struct kvr_kept_summary {
    uint64_t retained_groups;
    double retained_sum;
    /* Sums over samples of the sample's pooled ratio, sum(ratio weight) / sum(weight). */
    uint64_t future_samples;
    double future_mass_sum, future_peak_sum;
    /* Needles that some (layer, group) holds: kept whole in one, in every one, in what share. */
    uint64_t needles, needles_any, needles_strict;
    double needle_fraction_sum;
    uint64_t depth_needles[KVR_DEPTHS];
    double depth_fraction_sum[KVR_DEPTHS];
};

struct kvr_summary {
    const struct kvr_plan *plan;
    struct kvr_overlap_summary *overlaps; /* see kvr_summary_overlap */
    struct kvr_census_summary *census;    /* [plan->score_count] */
    struct kvr_kept_summary *kept;        /* see kvr_summary_kept */
    uint64_t premises, premises_held;
    struct kvr_sample_sums *sample; /* private: sums of the sample that is passing */
};

enum kvr_status kvr_summary_open(const struct kvr_plan *plan, struct kvr_summary *summary,
                                 struct kvr_error *err);

/* The entry of a place. */
struct kvr_overlap_summary *kvr_summary_overlap(const struct kvr_summary *summary,
                                                struct kvr_place place);
struct kvr_kept_summary *kvr_summary_kept(const struct kvr_summary *summary,
                                          struct kvr_place place);

/*
 * Add one fact of a cell; `summary` is a struct kvr_summary *, `fact` the fact of that kind. Cells
 * come in order and a sample's cells together; of the key only the sample is looked at. A fact from
 * a file may point outside the plan: that is KVR_BAD_INPUT.
 */
enum kvr_status kvr_summary_add_kept(void *summary, const struct kvr_cell_key *key,
                                     const void *fact, struct kvr_error *err);
enum kvr_status kvr_summary_add_overlap(void *summary, const struct kvr_cell_key *key,
                                        const void *fact, struct kvr_error *err);
enum kvr_status kvr_summary_add_head(void *summary, const struct kvr_cell_key *key,
                                     const void *fact, struct kvr_error *err);
enum kvr_status kvr_summary_add_needle(void *summary, const struct kvr_cell_key *key,
                                       const void *fact, struct kvr_error *err);
enum kvr_status kvr_summary_add_premise(void *summary, const struct kvr_cell_key *key,
                                        const void *fact, struct kvr_error *err);
enum kvr_status kvr_summary_add_group(void *summary, const struct kvr_cell_key *key,
                                      const void *fact, struct kvr_error *err);

/* Ends the last sample; call once after the last trace, before reading. */
void kvr_summary_finish(struct kvr_summary *summary);

void kvr_summary_free(struct kvr_summary *summary);

/* Mean weight of sink heads / mean weight of contextual heads (MEASURES §6); NaN if one class is
   empty. `weights` are the sums by class. */
double kvr_summary_masquerade(const struct kvr_census_summary *census, const double *weights);

#endif
