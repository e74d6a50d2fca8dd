/*
 * Private to the trace check: the parts that look at one layer's datasets.
 *
 * Each part streams its dataset and adds what it finds to the layer's list. They share nothing but
 * this context, so that layers can be checked on any thread.
 */
#ifndef KVR_CHECK_LAYER_H
#define KVR_CHECK_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/check_findings.h"
#include "formats/trace.h"

/* Prefill rows that the default observation window reads. */
enum { KVR_DEFAULT_WINDOW = 32 };

struct kvr_layer_check {
    struct kvr_trace *trace;
    const struct kvr_sample *sample;
    const struct kvr_layer *layer;
    struct kvr_findings *findings;

    /* [query_heads][N]: column sums of the recorded prefill rows, NaN where one of them is; NULL
       unless every prefill row is recorded. */
    double *column_sums;
    bool unreadable; /* a dataset of the layer could not be read */
};

/* The first candidate position of the layer (P is the end). */
uint64_t kvr_layer_first_candidate(const struct kvr_sample *sample, const struct kvr_layer *layer);

/* Every row: finite, not negative, masked, summing to 1. Fills column_sums if it is not NULL. */
enum kvr_status kvr_check_attention(struct kvr_layer_check *check, struct kvr_error *err);

/* Column sums: finite, plausible, and equal to those of the rows where all are recorded. */
enum kvr_status kvr_check_accumulated(struct kvr_layer_check *check, struct kvr_error *err);

/* query, key, value and scores: finite, and written at all. */
enum kvr_status kvr_check_vectors(struct kvr_layer_check *check, struct kvr_error *err);

/* A few rows again from query and key, where both are recorded beside the rows. */
enum kvr_status kvr_check_recomputation(struct kvr_layer_check *check, struct kvr_error *err);

/*
 * What holds for whole samples, from the structure alone. samples: [sample_count], NULL for all.
 * A finding that several samples share is added once, at the first of them.
 */
enum kvr_status kvr_check_samples(const struct kvr_trace *trace, const bool *samples,
                                  struct kvr_findings *findings, struct kvr_error *err);

#endif
