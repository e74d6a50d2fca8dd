/*
 * Writing a trace, version 1 (traces/FORMAT.md), in one streaming pass.
 *
 * The file is `path`.tmp until kvr_trace_writer_commit renames it: an interrupted or failed writer
 * leaves the old file or nothing. Values are rounded here (nearest, ties to even) and handed to
 * HDF5 as stored bits. Written files can be read by HDF5 1.10 and later. The same calls give the
 * same bytes: nothing is stamped with a time.
 *
 * A writer belongs to one thread at a time; other threads may read or write other traces. After a
 * failure only kvr_trace_writer_abandon, or kvr_trace_writer_commit, which then abandons and
 * reports that failure again, is of use.
 */
#ifndef KVR_TRACE_WRITER_H
#define KVR_TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/element.h"
#include "formats/trace.h"

struct kvr_trace_writer;
struct kvr_dataset_writer;

/* How a dataset is stored. */
struct kvr_storage {
    struct kvr_element_type type;
    uint64_t chunk[KVR_DATASET_RANK]; /* 0 in the first place: chosen by the writer, 0.25-4 MiB,
                                         aligned to a group's heads where the first axis is heads;
                                         cut to the shape in any case */
    unsigned deflate_level;           /* 0: none */
    bool shuffle, fletcher32;
    bool contiguous; /* else chunked */
};

/* half, chunked, shuffle, deflate 1. */
struct kvr_storage kvr_storage_default(void);

/*
 * Fills storage->chunk for a dataset of this shape as the writer would: whole groups of `heads`
 * query heads (1 for KV heads), as much of the last axis as fits, then of the one before it.
 */
void kvr_storage_choose_chunk(struct kvr_storage *storage, unsigned rank, const uint64_t *shape,
                              uint64_t heads);

/* model and producer may be NULL. */
enum kvr_status kvr_trace_writer_open(const char *path, const char *model, const char *producer,
                                      struct kvr_trace_writer **out, struct kvr_error *err);

/*
 * Starts a sample: its attributes, tokens, query positions and needles are taken from *sample;
 * its name, lengths and heads must be set, its layers are ignored. Later layers belong to it.
 */
enum kvr_status kvr_trace_writer_sample(struct kvr_trace_writer *writer,
                                        const struct kvr_sample *sample, struct kvr_error *err);

/*
 * Starts a layer of the current sample: number, heads (written where they differ from the
 * sample's), sliding_window, sink_logits, scale and softcap (where not NaN) are taken from *layer.
 */
enum kvr_status kvr_trace_writer_layer(struct kvr_trace_writer *writer,
                                       const struct kvr_layer *layer, struct kvr_error *err);

/*
 * Starts a dataset of the current layer: name is "attention", "accumulated", "query", "key",
 * "value" or "scores/<column>"; shape has `rank` entries. Call
 * kvr_dataset_writer_close when it is written; a dataset that is still open when the next sample
 * starts, or at the end, is closed then. Datasets of several layers may be open at once: a model
 * that is run batch by batch computes every layer again and again.
 */
enum kvr_status kvr_trace_writer_dataset(struct kvr_trace_writer *writer, const char *name,
                                         unsigned rank, const uint64_t *shape,
                                         const struct kvr_storage *storage,
                                         struct kvr_dataset_writer **out, struct kvr_error *err);

/*
 * Writes a block, row-major. Streaming in any order is allowed; blocks that cover whole chunks are
 * written without reading back.
 */
enum kvr_status kvr_dataset_writer_write(struct kvr_dataset_writer *dataset,
                                         const uint64_t start[KVR_DATASET_RANK],
                                         const uint64_t count[KVR_DATASET_RANK],
                                         const double *values, struct kvr_error *err);

enum kvr_status kvr_dataset_writer_close(struct kvr_dataset_writer *dataset, struct kvr_error *err);

/* Flushes, closes and renames to the final name; releases the writer in any case. */
enum kvr_status kvr_trace_writer_commit(struct kvr_trace_writer *writer, struct kvr_error *err);

/* Removes what was written; releases the writer. NULL is allowed. */
void kvr_trace_writer_abandon(struct kvr_trace_writer *writer);

#endif
