/*
 * Which positions compete in a layer, and how they lie on pages.
 *
 * Positions are absolute token positions of the prompt; a candidate index t counts from 0, so
 * candidate t is position first + t. Pages are cut at absolute multiples of the page size, as
 * serving engines cut them; therefore the first and the last page may be short.
 */
#ifndef KVR_CANDIDATES_H
#define KVR_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/trace.h"

/* Positions first … first + count - 1, with first = max(pad, P - sliding window) or pad. */
struct kvr_candidates {
    uint64_t first;
    size_t count; /* T, at least 1 */
    size_t sinks; /* candidates at positions below pad + S: always the first ones */
};

struct kvr_candidates kvr_candidates_of(const struct kvr_sample *sample,
                                        const struct kvr_layer *layer, uint64_t sinks);

/* A span of candidate indices. */
struct kvr_range {
    size_t start, end;
};

/* True if all of the needle lies among the candidates; then *range holds it. */
bool kvr_candidates_needle(const struct kvr_candidates *candidates, struct kvr_span needle,
                           struct kvr_range *range);

/* Candidates as units of selection: pages, or tokens where the page size is 1. */
struct kvr_pages {
    uint64_t size;       /* B, tokens per page */
    uint64_t first_page; /* absolute number of unit 0 */
    size_t count;        /* floor((P-1)/B) - floor(first/B) + 1 */
    struct kvr_candidates candidates;
};

struct kvr_pages kvr_pages_of(const struct kvr_candidates *candidates, uint64_t page_size);

/* The candidates on unit `page`, and the unit of candidate t. */
struct kvr_range kvr_pages_tokens(const struct kvr_pages *pages, size_t page);
size_t kvr_pages_unit(const struct kvr_pages *pages, size_t t);

enum kvr_page_reduce { KVR_PAGE_MAX, KVR_PAGE_MEAN, KVR_PAGE_SUM };

/*
 * Unit scores [pages->count] of a token vector [T]: the maximum, mean or sum over the candidates
 * on each page. Sums run in double in ascending order and are rounded once.
 */
void kvr_pages_score(const struct kvr_pages *pages, enum kvr_page_reduce reduce,
                     const float *vector, float *scores);

/* tokens, a bitmap of T bits, = the tokens of the pages in `units`. */
void kvr_pages_expand(const struct kvr_pages *pages, const uint64_t *units, uint64_t *tokens);

#endif
