/*
 * What the two halves of the trace writer share; private to trace_writer.c and dataset_writer.c.
 * All functions here but kvr_trace_writer_note must be called between kvr_h5_enter and
 * kvr_h5_leave.
 */
#ifndef KVR_TRACE_WRITER_STATE_H
#define KVR_TRACE_WRITER_STATE_H

#include <hdf5.h>

#include "formats/h5_write.h"
#include "formats/sink.h"
#include "formats/trace_writer.h"

struct kvr_trace_writer {
    char *path;
    struct kvr_sink *sink;
    hid_t file, sample, layer;       /* H5I_INVALID_HID if none is open */
    char *sample_place;              /* "/samples/0" */
    char *layer_place;               /* "/samples/0/layers/3" */
    uint64_t context_length;         /* of the current sample */
    uint64_t query_count;            /* of the current sample */
    uint32_t sample_heads[2];        /* query heads, KV heads of the current sample */
    uint32_t query_heads, kv_heads;  /* of the current layer */
    struct kvr_dataset_writer *open; /* datasets that were not closed yet */
    struct kvr_error failure;        /* the first one; KVR_OK so far */
};

/* Remembers the first failure, so that a commit cannot pass over it. Returns status. */
enum kvr_status kvr_trace_writer_note(struct kvr_trace_writer *writer, enum kvr_status status,
                                      const struct kvr_error *err);

/* Fails with what HDF5 said about the call that has just failed at this place. */
enum kvr_status kvr_trace_writer_failed(const struct kvr_trace_writer *writer, const char *place,
                                        struct kvr_error *err);

/* As kvr_dataset_writer_close, inside of HDF5. */
enum kvr_status kvr_dataset_writer_finish(struct kvr_dataset_writer *dataset,
                                          struct kvr_error *err);

/* Releases a dataset without reporting; what it held in memory is lost. */
void kvr_dataset_writer_drop(struct kvr_dataset_writer *dataset);

#endif
