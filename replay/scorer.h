/*
 * Scorers: what turns a recorded layer into one score vector per head (MEASURES §1, POLICIES).
 *
 * A scorer says which dataset it reads; the cell loader streams that dataset once and feeds every
 * scorer that a replay asks for. Registry: a new scorer is one row here and one file that computes.
 */
#ifndef KVR_SCORER_H
#define KVR_SCORER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace.h"

enum kvr_score_source {
    KVR_FROM_ROWS,        /* attention, prefill rows */
    KVR_FROM_ACCUMULATED, /* accumulated */
    KVR_FROM_COLUMN,      /* scores/<name> */
};

struct kvr_scorer {
    const char *name;    /* "window" */
    const char *pattern; /* "window[:N]", for help and errors */
    const char *summary;
    enum kvr_score_source source;
    bool takes_count; /* ":N", a positive integer */
    bool takes_name;  /* ":NAME", obligatory */
    uint64_t default_count;
};

/* Ends with a NULL name. */
extern const struct kvr_scorer kvr_scorers[];

/* A scorer with its parameter, as asked for. */
struct kvr_score {
    const struct kvr_scorer *scorer;
    char *label;     /* as given on the command line; owned */
    uint64_t count;  /* rows of a window */
    const char *name; /* of the column; points into label */
};

/* Parses "last", "window:16", "column:gate". The error lists the scorers. */
enum kvr_status kvr_score_parse(const char *text, struct kvr_score *score, struct kvr_error *err);

void kvr_score_free(struct kvr_score *score);

/* Prefill rows are those at positions pad … P-1: [begin, end) of the sample's query rows. */
struct kvr_row_range {
    size_t begin, end;
};
struct kvr_row_range kvr_prefill_rows(const struct kvr_sample *sample);

/* The rows that a scorer over rows averages: the last `count` prefill rows. */
struct kvr_row_range kvr_score_rows(const struct kvr_score *score,
                                    const struct kvr_sample *sample);

/* The column that a score names, NULL if the layer has none of that name. */
const struct kvr_column *kvr_score_column(const struct kvr_score *score,
                                          const struct kvr_layer *layer);

/* True if the layer holds what the score is computed from. */
bool kvr_score_available(const struct kvr_score *score, const struct kvr_sample *sample,
                         const struct kvr_layer *layer);

#endif
