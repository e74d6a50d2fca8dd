/*
 * What a replay is asked to do: scorers, policies, budgets, page sizes and every option in force.
 *
 * A plan is read-only while a replay runs. It knows no file and no output.
 */
#ifndef KVR_PLAN_H
#define KVR_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace.h"
#include "replay/budget.h"
#include "replay/candidates.h"
#include "replay/entropy.h"
#include "replay/policy.h"
#include "replay/scorer.h"

/* The score whose top sets a gate compares. */
#define KVR_GATE_SCORE "window:32"

/* What becomes of a group with a head whose vector is not finite (MEASURES §10). */
enum kvr_nan_rule {
    KVR_NAN_EXCLUDE, /* no row but in excluded.csv */
    KVR_NAN_ZERO,    /* values of the vector that are not finite are replaced by 0 and counted */
    KVR_NAN_FAIL,    /* the replay stops */
};

struct kvr_compute;

/* One policy under one score: the rows of a table follow these in order. */
struct kvr_use {
    size_t score, policy; /* indices into the plan's lists */
    bool surveyed;        /* what it keeps depends on other groups or layers */
};

/* Whether, beside the budgets, the overlap of the heads' sets is followed along all quotas. */
enum kvr_curve_quotas {
    KVR_CURVE_NONE,
    KVR_CURVE_LOG, /* at quotas with evenly spaced logarithms */
    KVR_CURVE_ALL, /* at each quota */
};

struct kvr_plan {
    size_t score_count;
    struct kvr_score *scores; /* those asked for, in order; then those that only policies need */
    size_t policy_count;
    struct kvr_stages *policies; /* in the order asked for */
    size_t use_count;
    struct kvr_use *uses; /* every asked score with each policy that ranks by it, then the policies
                             that bring a score of their own */
    size_t gate_score;    /* window:32, where a gate needs it; else score_count */
    size_t budget_count;
    struct kvr_budget *budgets;
    size_t page_size_count;
    uint64_t *page_sizes;

    enum kvr_page_reduce page_reduce;
    struct kvr_entropy_options entropy;
    double tau;     /* temperature of the entropy weights, > 0 */
    uint64_t sinks; /* S */
    double sink_threshold, retrieval_mass, retrieval_support; /* classes of heads, MEASURES §6 */
    bool match_physical; /* policies with reduce `head` get the quota whose union fits */
    enum kvr_nan_rule nan;
    enum kvr_curve_quotas curve;

    size_t sample_count; /* only samples of these names; 0: all */
    char **samples;
    size_t layer_count; /* only layers of these numbers; 0: all */
    uint32_t *layers;
    unsigned threads;
    struct kvr_compute *compute; /* the device that computes, not owned; NULL: the CPU */
    size_t memory; /* bytes that the program should stay below, see memory_gate.h; 0: no limit */
};

/*
 * Ends the building of a plan: a policy that names no column gets the first one of the traces, the
 * policies' own scores join the list, and `uses` is made. The other lists must not change after.
 */
enum kvr_status kvr_plan_settle(struct kvr_plan *plan, struct kvr_trace *const *traces,
                                size_t trace_count, struct kvr_error *err);

/* The defaults of every option, with no scorer, policy, budget or page size yet. */
struct kvr_plan kvr_plan_default(void);

enum kvr_status kvr_plan_add_score(struct kvr_plan *plan, const char *text, struct kvr_error *err);
enum kvr_status kvr_plan_add_policy(struct kvr_plan *plan, const char *text, struct kvr_error *err);
/* label must outlive the plan. */
enum kvr_status kvr_plan_add_budget(struct kvr_plan *plan, const char *label,
                                    struct kvr_error *err);
enum kvr_status kvr_plan_add_page_size(struct kvr_plan *plan, const char *text,
                                       struct kvr_error *err);

/* Adds those of last, window, accumulated and every column that some layer of the trace can give
   and that are not in the plan yet; columns come last, by name. */
enum kvr_status kvr_plan_add_available(struct kvr_plan *plan, const struct kvr_trace *trace,
                                       struct kvr_error *err);

/* Whether the plan's filters let a sample and a layer pass. */
bool kvr_plan_wants_sample(const struct kvr_plan *plan, const struct kvr_sample *sample);
bool kvr_plan_wants_layer(const struct kvr_plan *plan, const struct kvr_layer *layer);

/* True if some wanted layer of the trace can give the score. */
bool kvr_plan_score_in_trace(const struct kvr_plan *plan, const struct kvr_score *score,
                             const struct kvr_trace *trace);

void kvr_plan_free(struct kvr_plan *plan);

#endif
