/*
 * From arrays of other programs to a trace: which array is which dataset of which layer, and
 * writing it.
 *
 * kvr_import_plan_make settles everything that can be wrong before a byte is written.
 */
#ifndef KVR_IMPORT_H
#define KVR_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "formats/base/status.h"
#include "formats/base/text.h"
#include "formats/import_name.h"
#include "formats/trace.h"

/* What the command line says. Zero-initialised says nothing. */
struct kvr_import_options {
    const char *axes[KVR_ROLES]; /* by role: "LBHQT"; NULL: by rank and name */
    const char *map;             /* JSON file: array name -> canonical name; NULL: none */
    const char *model;           /* for the trace; NULL: none */
    uint64_t kv_heads;           /* 0: as the arrays have it */
    uint64_t prompt_length;      /* 0: as the arrays have it, else the whole context */
    uint64_t pad;
    bool has_first_row;
    uint64_t first_row; /* position of the first query row */
};

/* Where a dataset of one layer comes from. */
struct kvr_import_source {
    const char *path;           /* of the archive, for messages */
    struct kvr_array_view view; /* axes as in the trace; view.array is NULL: there is none */
};

struct kvr_import_column {
    char *name;
    struct kvr_import_source source;
};

struct kvr_import_layer {
    struct kvr_layer layer;                      /* number, heads, window, scale, … */
    struct kvr_import_source sources[KVR_ROLES]; /* ATTENTION … VALUE */
    size_t column_count, column_capacity;
    struct kvr_import_column *columns;
};

struct kvr_import_sample {
    struct kvr_sample sample; /* without layers */
    size_t layer_count, layer_capacity;
    struct kvr_import_layer *layers; /* by number */
};

struct kvr_import_plan {
    size_t sample_count, sample_capacity;
    struct kvr_import_sample *samples;
    struct kvr_text ignored; /* "masks: not understood" a line for each array that is not used */
};

/*
 * Settles what the arrays are. Archives must outlive the plan. Errors are KVR_BAD_INPUT with the
 * file and the array, or KVR_BAD_ARGUMENT for options that do not fit. Release with
 * kvr_import_plan_free, after a failure, too.
 */
enum kvr_status kvr_import_plan_make(struct kvr_archive *const *archives, size_t archive_count,
                                     const struct kvr_import_options *options,
                                     struct kvr_import_plan *plan, struct kvr_error *err);
void kvr_import_plan_free(struct kvr_import_plan *plan);

/* Writes the trace: element types are kept, values too, bit for bit. Memory is that of one chunk.
 */
enum kvr_status kvr_import_write(const struct kvr_import_plan *plan, const char *path,
                                 const char *model, struct kvr_error *err);

#endif
