/*
 * A trace made by hand for tests of the replay: any shapes, any values, written and opened again.
 *
 * Samples and layers are given as the reader's structures, of which the writer takes the
 * attributes. Failures of the helpers themselves fail the test. The file lies in the scratch
 * folder.
 */
#ifndef KVR_MADE_TRACE_H
#define KVR_MADE_TRACE_H

#include "formats/trace_writer.h"
#include "replay/cell.h"

struct made_trace {
    const char *path;
    struct kvr_trace_writer *writer;
};

void made_trace_start(struct made_trace *made, const char *file_name);

void made_trace_sample(struct made_trace *made, const struct kvr_sample *sample);

/* A layer of full attention without scale, with the sample's heads. */
struct kvr_layer made_layer(uint32_t number, const struct kvr_sample *sample);
void made_trace_layer(struct made_trace *made, const struct kvr_layer *layer);

/* A dataset of the current layer, row-major; a shape of rank 2 has c = 0. */
void made_trace_data(struct made_trace *made, const char *name, enum kvr_element kind, uint64_t a,
                     uint64_t b, uint64_t c, const double *values);

/* Ends the file and opens it. */
struct kvr_trace *made_trace_finish(struct made_trace *made);

/* The key of a cell by indices, and the cell itself; loading must succeed. */
struct kvr_cell_key made_key(const struct kvr_trace *trace, size_t sample, size_t layer,
                             uint32_t group);
void made_load(const struct kvr_plan *plan, struct kvr_trace *trace, const struct kvr_cell_key *key,
               struct kvr_room *room, struct kvr_cell *cell);

#endif
