/*
 * From a trace to an .npz file that NumPy reads, and kvr_import_plan_make reads back.
 *
 * Arrays bear canonical names: "samples/0/layers/3/attention", "samples/0/tokens"; attributes are
 * arrays of rank 0. Elements are as they are stored, but for bfloat16, which NumPy does not have:
 * it becomes float32, which holds it exactly. Texts (model, task, …) are left out.
 */
#ifndef KVR_EXPORT_H
#define KVR_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace.h"

/* What to export; a count of 0 means everything. */
struct kvr_export_filter {
    size_t sample_count, layer_count, dataset_count;
    char *const *samples;
    const uint32_t *layers;
    char *const *datasets; /* "attention", "scores/gate", "tokens", "query_positions", "needles" */
};

/* Writes the file; *arrays is how many it holds. KVR_BAD_ARGUMENT names what the filter asks for
   and the trace lacks. Memory is that of one block of rows. */
enum kvr_status kvr_export_write(struct kvr_trace *trace, const struct kvr_export_filter *filter,
                                 const char *path, size_t *arrays, struct kvr_error *err);

#endif
