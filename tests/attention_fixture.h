/*
 * Attention of the plain fixture stored in any way, and blocks read back compared with it.
 */
#ifndef KVR_ATTENTION_FIXTURE_H
#define KVR_ATTENTION_FIXTURE_H

#include "formats/base/random.h"
#include "formats/trace.h"
#include "tests/trace_fixture.h"

enum {
    ATTENTION_ELEMENTS = FIXTURE_HEADS * FIXTURE_ROWS * FIXTURE_TOKENS,
    ATTENTION_BYTES = 8 * ATTENTION_ELEMENTS,
};

/* Random values that the type can hold, as stored bits and as doubles. */
void attention_elements(struct kvr_element_type type, uint64_t seed, unsigned char *stored,
                        double *values);

/*
 * Creation properties: contiguous if filters is NULL, else chunks with filters in the order of
 * their letters: s shuffle, d deflate, f fletcher32, n nbit, z szip.
 */
hid_t attention_properties(const char *filters, const hsize_t *chunk);

/* A trace whose attention is stored that way; the dataset stays open for what a test adds. The
   properties are closed. */
struct trace_fixture attention_begin(const char *path, struct kvr_element_type type,
                                     hid_t properties, const void *data, hid_t *dataset);
void attention_end(struct trace_fixture *fixture, hid_t dataset);

/* Both at once. */
void attention_write(const char *path, struct kvr_element_type type, hid_t properties,
                     const void *data);

const struct kvr_dataset *attention_of(const struct kvr_trace *trace);

struct attention_block {
    uint64_t start[3], count[3];
};

extern const struct attention_block attention_whole;

struct attention_block attention_random_block(struct kvr_random *random);

/* NULL if the block is what `expected`, the whole dataset, has there; else what is wrong. */
const char *attention_wrong_block(struct kvr_trace *trace, const struct attention_block *block,
                                  const double *expected, struct kvr_error *err);
void attention_check_block(struct kvr_trace *trace, const struct attention_block *block,
                           const double *expected);

/* Opens the trace and checks the whole and `blocks` random blocks. */
void attention_check_blocks(const char *path, const double *expected, int blocks);

#endif
