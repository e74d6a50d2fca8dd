/*
 * What the tables of a replay add up to, per prompt: the one pass over measures.csv, bounds.csv,
 * heads.csv, needles.csv, layers.csv and excluded.csv that tables and report share.
 *
 * Rows stream through; memory grows with settings and prompts, never with cells.
 */
#ifndef KVR_REPLAY_SUMS_H
#define KVR_REPLAY_SUMS_H

#include "formats/base/names.h"
#include "plots/prompt_sums.h"

/* Quantities of `overlaps`, a row per group: UOR, disagreement, 1 if twofold, if certified. */
enum { KVR_SUM_UOR, KVR_SUM_D, KVR_SUM_TWOFOLD, KVR_SUM_CERT_1, KVR_SUM_CERT_T, KVR_OVERLAP_SUMS };

/* Of `kept`, a row per group: kept tokens / candidates, and MEASURES §9. */
enum {
    KVR_SUM_KEPT,
    KVR_SUM_RETAINED,
    KVR_SUM_FUTURE_MASS,
    KVR_SUM_FUTURE_PEAK,
    KVR_SUM_OUTPUT_ERROR,
    KVR_KEPT_SUMS
};

/* Of `needles`, a row per (needle, group): 1 if kept whole somewhere and everywhere, the share of
   groups that keep it whole, that by depth in the prompt, and the future's mass on it. */
enum { KVR_NEEDLE_DEPTHS = 5 };
enum {
    KVR_SUM_ANY,
    KVR_SUM_STRICT,
    KVR_SUM_WHOLE,
    KVR_SUM_DEPTH,
    KVR_SUM_NEEDLE_FUTURE = KVR_SUM_DEPTH + KVR_NEEDLE_DEPTHS,
    KVR_NEEDLE_SUMS
};

/* Of `census`, a row per head: weights raw and isolated by class. */
enum kvr_census_class { KVR_CLASS_SINK, KVR_CLASS_RETRIEVAL, KVR_CLASS_CONTEXTUAL, KVR_CLASSES };
enum {
    KVR_SUM_RAW,
    KVR_SUM_ISOLATED = KVR_SUM_RAW + KVR_CLASSES,
    KVR_CENSUS_SUMS = KVR_SUM_ISOLATED + KVR_CLASSES
};

/* What measures.csv tells of a trace; all 0 where it has no row. */
struct kvr_trace_facts {
    uint64_t prompts;
    uint64_t least_context, most_context; /* candidates of a layer */
    uint64_t least_ratio, most_ratio;     /* query heads per KV head */
};

struct kvr_replay_sums {
    struct kvr_names traces, prompts, scorers, policies, budgets;
    uint64_t *prompt_tokens; /* [prompts]: the most candidates that a layer of it has */
    size_t prompt_capacity;
    struct kvr_trace_facts *trace_facts; /* see kvr_trace_facts_of */
    size_t trace_capacity;
    struct kvr_sums overlaps, kept, needles, census;
    struct kvr_sums pages;    /* one quantity, a row per layer: page union ratio */
    struct kvr_sums excluded; /* by scorer, a row per group with a head that is not finite */
};

/* Released with kvr_replay_sums_free in any case. */
enum kvr_status kvr_replay_sums_read(const char *folder, struct kvr_replay_sums *sums,
                                     struct kvr_error *err);
void kvr_replay_sums_free(struct kvr_replay_sums *sums);

/* The facts of traces.items[trace]. */
struct kvr_trace_facts kvr_trace_facts_of(const struct kvr_replay_sums *sums, size_t trace);

/* Heads of a class under the scorer of a census series. */
uint64_t kvr_census_heads(const struct kvr_sums *census, const struct kvr_series *series,
                          enum kvr_census_class class);

/* Groups under a scorer that are in the tables, and those that are not. */
uint64_t kvr_replay_groups(const struct kvr_replay_sums *sums, size_t scorer);
uint64_t kvr_replay_excluded(const struct kvr_replay_sums *sums, size_t scorer);

#endif
