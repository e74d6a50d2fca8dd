/*
 * Synthetic traces for tests, and a way to look at all their rows.
 */
#ifndef KVR_SYNTH_FIXTURE_H
#define KVR_SYNTH_FIXTURE_H

#include "formats/trace.h"
#include "traces/synth.h"

/* 2 samples of 300 + 7 tokens, 3 of them padding; 4 layers, 0 and 2 with a window of 64; doubles.
 */
struct kvr_synth_options synth_small_options(void);

/* Writes and opens the trace; the scratch folder must hold nothing else. */
struct kvr_trace *synth_trace(const struct kvr_synth_options *options);

/* A whole dataset, allocated. */
double *synth_read(struct kvr_trace *trace, const struct kvr_dataset *data);

struct synth_row {
    const struct kvr_sample *sample;
    const struct kvr_layer *layer;
    uint32_t head;
    size_t query;
    uint64_t position, first; /* it sees first ... position */
    const double *values;     /* [N] */
};

/* Calls `look` with every row of every layer of every sample. */
void synth_each_row(struct kvr_trace *trace,
                    void (*look)(const struct synth_row *row, void *context), void *context);

/* The row's sum over [start, end). */
double synth_mass(const struct synth_row *row, uint64_t start, uint64_t end);

/* For synth_each_row: 0 where nothing is seen, nowhere negative, sum 1; context: the tolerance. */
void synth_assert_row(const struct synth_row *row, void *context);

/* Every element type, and how far a row's sum may be from 1: half a unit in the last place of its
   largest values, and the noise of the others. */
enum { SYNTH_ELEMENT_TYPES = 6 };
struct synth_element {
    struct kvr_element_type type;
    double tolerance;
};
extern const struct synth_element synth_elements[SYNTH_ELEMENT_TYPES];

#endif
