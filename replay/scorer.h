/*
 * Scores: what turns a recorded layer into score vectors (analysis/MEASURES.md §1).
 *
 * A scorer says what it reads; the cell loader reads each dataset once and feeds every score that a
 * replay asks for. A new scorer is one row of the registry and one function that computes.
 */
#ifndef KVR_SCORER_H
#define KVR_SCORER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace.h"

enum kvr_score_source {
    KVR_FROM_PROMPT_ROWS, /* attention, or query and key: mean of the last rows before P */
    KVR_FROM_DECODE_ROWS, /* the same: mean of the rows from P on */
    KVR_FROM_ACCUMULATED, /* accumulated, or query and key */
    KVR_FROM_KEY,         /* key */
    KVR_FROM_COLUMN,      /* scores/<name> */
    KVR_FROM_POSITION,    /* nothing: the same for all heads, excludes nothing */
};

/* How many vectors a group has under a scorer. */
enum kvr_score_heads {
    KVR_PER_QUERY_HEAD, /* r */
    KVR_PER_KV_HEAD,    /* 1 */
    KVR_PER_LAYER,      /* 1, the same in every group */
};

enum kvr_score_parameter { KVR_NO_PARAMETER, KVR_TAKES_COUNT, KVR_TAKES_SEED, KVR_TAKES_NAME };

struct kvr_cell;
struct kvr_scored;

struct kvr_scorer {
    const char *name;    /* "window" */
    const char *pattern; /* "window[:N]", for help and errors */
    const char *summary;
    enum kvr_score_source source;
    enum kvr_score_heads heads; /* of columns the dataset's shape decides */
    enum kvr_score_parameter parameter;
    uint64_t default_number; /* of rows, or the seed */
    bool for_scorer;         /* may be given to --scorer; the others are stages of policies only */
    bool mass;               /* vectors are attention: sums of them are masses */
    /* Fills the vectors of one group; NULL where the rows' stream does. */
    enum kvr_status (*compute)(struct kvr_cell *cell, struct kvr_scored *scored,
                               struct kvr_error *err);
};

/* Ends with a NULL name. */
extern const struct kvr_scorer kvr_scorers[];

/* A scorer with its parameter, as asked for. */
struct kvr_score {
    const struct kvr_scorer *scorer;
    char *label;      /* as given on the command line; owned */
    uint64_t number;  /* rows of a window, seed */
    const char *name; /* of the column; points into label. NULL: the first that a trace has */
    /* How the plan uses it; set by the plan. */
    bool asked;    /* by --scorer, or by default: it has rows of its own in every table */
    bool named;    /* a policy ranks by it */
    bool weighted; /* entropy weights are needed */
};

/*
 * Parses "last", "window:16", "column:gate". `scorers_only`: only what --scorer takes. "column"
 * without a name is allowed for policies and resolved later. The error lists what there is.
 */
enum kvr_status kvr_score_parse(const char *text, bool scorers_only, struct kvr_score *score,
                                struct kvr_error *err);

void kvr_score_free(struct kvr_score *score);

/* Prefill rows are those at positions pad … P-1: [begin, end) of the sample's query rows. */
struct kvr_row_range {
    size_t begin, end;
};
struct kvr_row_range kvr_prefill_rows(const struct kvr_sample *sample);

/* The rows that a score over rows averages: the last `number` prefill rows, or all decode rows. */
struct kvr_row_range kvr_score_rows(const struct kvr_score *score, const struct kvr_sample *sample);

/* True for a score that is a mean of rows, those of kvr_score_rows. */
static inline bool kvr_score_is_of_rows(const struct kvr_score *score)
{
    return score->scorer->source == KVR_FROM_PROMPT_ROWS ||
           score->scorer->source == KVR_FROM_DECODE_ROWS;
}

/* The column that a score names, NULL if the layer has none of that name. */
const struct kvr_column *kvr_score_column(const struct kvr_score *score,
                                          const struct kvr_layer *layer);

/* True if the layer holds what the score is computed from. */
bool kvr_score_available(const struct kvr_score *score, const struct kvr_sample *sample,
                         const struct kvr_layer *layer);

/* What a layer must hold for the score, in words: "attention with decode rows". */
const char *kvr_score_needs(const struct kvr_score *score);

/* What does as well, to be put behind that: " (or key and query of decode rows)"; may be "". */
const char *kvr_score_instead(const struct kvr_score *score);

/* How many vectors a group of `ratio` query heads has. */
size_t kvr_score_vectors(const struct kvr_score *score, const struct kvr_layer *layer);

#endif
