/*
 * What the paper states, held against a replay: each statement with the figures measured here and a
 * verdict (arXiv 2610.03135; what it states is taken from MEASURES).
 *
 * A statement is judged setting by setting. Exact ones hold in every row or they do not. The others
 * are about other prompts too: a setting holds or fails where the 95 % bootstrap interval over
 * samples lies on one side of the statement's threshold, and stays open where it does not or where
 * there are too few samples. A statement holds if it holds in every setting, does not hold if it
 * fails in one, and cannot be judged otherwise. Nothing is argued: figures and counts are given
 * whatever they say.
 */
#ifndef KVR_CLAIMS_H
#define KVR_CLAIMS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/bootstrap.h"
#include "analysis/bounds_report.h"
#include "analysis/replay_results.h"

enum kvr_verdict {
    KVR_OPEN, /* cannot be judged from this replay */
    KVR_HOLDS,
    KVR_FAILS,
    KVR_VERDICTS,
};

enum { KVR_CLAIM_FIGURES = 4 };

/* A statement and what its figures are. */
struct kvr_statement {
    const char *id;      /* for scripts: "needle-vs-mean" */
    const char *text;    /* one sentence */
    const char *source;  /* "thm. 1"; "asked here" where the paper does not state it */
    const char *measure; /* what the first figure of a line is */
    const char *keys[KVR_CLAIM_FIGURES]; /* JSON keys of the figures; NULL: not used */
    double threshold;                    /* that the first figure's interval is held against */
    int decimals;
};

/* One setting: a scorer and, where they matter, a page size and a budget. */
struct kvr_claim_line {
    size_t scorer, budget; /* indices into the results' names */
    uint64_t page_size;    /* 0: page size and budget do not matter */
    double figures[KVR_CLAIM_FIGURES];
    struct kvr_interval interval; /* of the first figure; samples 0 if none belongs to it */
    enum kvr_verdict verdict;
};

struct kvr_claim {
    const struct kvr_statement *statement;
    enum kvr_verdict verdict;
    uint64_t counts[KVR_VERDICTS]; /* settings by verdict; all 0 for exact statements */
    uint64_t rows, broken;         /* of exact statements */
    char reason[400];              /* in words: counts, or why it cannot be judged */
    size_t line_count, line_capacity;
    struct kvr_claim_line *lines;
};

/* What groups that are not finite would have done to a careless replay: a top-k over NaN gives
   every head the same set, so it counts them as consensus, UOR 1 and D 0 (MEASURES §10). */
struct kvr_nan_line {
    size_t scorer, budget;
    uint64_t page_size;
    uint64_t groups, excluded;
    double uor, uor_careless;
    double disagreement, disagreement_careless;
};

struct kvr_claims {
    size_t count;
    struct kvr_claim *claims;
    size_t nan_count, nan_capacity;
    struct kvr_nan_line *nan_lines; /* only of scorers with excluded groups */
};

/* Judges every statement; release in any case with kvr_claims_free. */
enum kvr_status kvr_claims_judge(const struct kvr_replay_results *results,
                                 const struct kvr_bounds_report *bounds,
                                 const struct kvr_bootstrap *bootstrap, struct kvr_claims *claims,
                                 struct kvr_error *err);
void kvr_claims_free(struct kvr_claims *claims);

/* "holds", "does not hold", "cannot be judged". */
const char *kvr_verdict_name(enum kvr_verdict verdict);

#endif
