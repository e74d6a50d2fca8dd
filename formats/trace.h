/*
 * Reading a trace, version 1 (traces/FORMAT.md): what it holds, and blocks of its datasets.
 *
 * kvr_trace_open reads and validates the whole structure (attributes, shapes, types, storage), so
 * that a bad file is refused before any work starts; values are read later, block by block. The
 * file is opened read-only and is not trusted: see the README, "Files from strangers".
 */
#ifndef KVR_TRACE_H
#define KVR_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/element.h"

enum { KVR_DATASET_RANK = 3 };

/* One floating-point dataset of a layer. Shapes of rank 2 have shape[2] = 1 and rank = 2. */
struct kvr_dataset {
    char *path; /* "/samples/0/layers/3/attention" */
    unsigned rank;
    uint64_t shape[KVR_DATASET_RANK];
    struct kvr_element_type type;

    /* Storage, for `info` and for choosing a reading order. */
    bool chunked;
    uint64_t chunk[KVR_DATASET_RANK]; /* = shape if contiguous */
    bool shuffle, deflate, fletcher32;
    unsigned deflate_level;
    bool other_filters;    /* read through HDF5's own pipeline */
    uint64_t stored_bytes; /* in the file, after compression */
    uint64_t index;        /* private to the reader: which dataset of the file this is */
};

/* A column of scores that was computed elsewhere: scores/<name>, [H_Q][N] or [H_KV][N]. */
struct kvr_column {
    char *name;
    struct kvr_dataset data;
    bool per_kv_head; /* [H_KV][N], and H_KV differs from H_Q */
};

/* Half-open span of token positions. */
struct kvr_span {
    uint64_t start, end;
};

struct kvr_layer {
    uint32_t number; /* in the model; a trace may hold any subset */
    uint32_t query_heads, kv_heads;
    uint64_t sliding_window; /* 0: full attention */
    bool sink_logits;        /* rows may sum below 1 by design */
    double scale;            /* of query . key; NaN if not recorded */
    double softcap;          /* of the logits, > 0; NaN if not recorded or 0 */

    /* NULL where the layer does not hold it. D = head size, N = context length, Q = query rows. */
    struct kvr_dataset *attention;   /* [H_Q][Q][N] softmax rows */
    struct kvr_dataset *accumulated; /* [H_Q][N] column sums of all prefill rows */
    struct kvr_dataset *query;       /* [H_Q][Q][D] after rotary embedding */
    struct kvr_dataset *key;         /* [H_KV][N][D] after rotary embedding */
    struct kvr_dataset *value;       /* [H_KV][N][D_v] as cached */
    size_t column_count;
    struct kvr_column *columns; /* by name, ascending */
};

struct kvr_sample {
    char *name;
    uint64_t context_length;                  /* N: prompt and decoded tokens */
    uint64_t prompt_length;                   /* P: positions >= P are decode rows */
    uint64_t pad;                             /* left-padding tokens */
    uint32_t query_heads, kv_heads, head_dim; /* 0 if not recorded: heads only where every layer
                                                 has its own */
    char *task, *subset, *generated;          /* NULL if not recorded */

    size_t token_count; /* N, or 0 if tokens were not recorded */
    int32_t *tokens;
    size_t query_count;        /* Q */
    uint64_t *query_positions; /* ascending */
    size_t needle_count;
    struct kvr_span *needles; /* as recorded */

    size_t layer_count;
    struct kvr_layer *layers; /* by number, ascending */
};

struct kvr_trace {
    char *path;
    char *name; /* path without folder */
    uint64_t file_bytes;
    char *model, *producer; /* NULL if not recorded */
    size_t sample_count;
    struct kvr_sample *samples; /* numeric names by number, then the others by name */
    struct kvr_trace_reader *reader;
};

struct kvr_trace_options {
    size_t cache_bytes; /* room for decoded chunks that several reads share; 0: 64 MiB */
    bool allow_plugins; /* let HDF5 load filter plugins for filters that it does not know */
};

/*
 * Opens the trace at `path`. options may be NULL. Errors are KVR_BAD_INPUT, KVR_UNSUPPORTED or
 * KVR_IO, with the file and the place in it. HDF5's own error stack is never printed.
 */
enum kvr_status kvr_trace_open(const char *path, const struct kvr_trace_options *options,
                               struct kvr_trace **out, struct kvr_error *err);

/* NULL is allowed. No read may be under way. */
void kvr_trace_close(struct kvr_trace *trace);

/*
 * Reads the block of `count` elements per dimension at `start` into values, row-major and exact.
 * Dimensions beyond the dataset's rank have start 0 and count 1. Thread-safe: HDF5 is entered by
 * one thread at a time and only to fetch stored bytes; inflating and converting run in the caller.
 * Chunks that the block shares with later reads stay decoded in the trace's cache.
 */
enum kvr_status kvr_trace_read(struct kvr_trace *trace, const struct kvr_dataset *dataset,
                               const uint64_t start[KVR_DATASET_RANK],
                               const uint64_t count[KVR_DATASET_RANK], double *values,
                               struct kvr_error *err);

/* The same without conversion: the block's elements as they are stored, of dataset->type. */
enum kvr_status kvr_trace_read_stored(struct kvr_trace *trace, const struct kvr_dataset *dataset,
                                      const uint64_t start[KVR_DATASET_RANK],
                                      const uint64_t count[KVR_DATASET_RANK], void *elements,
                                      struct kvr_error *err);

/* Rows where they lie in memory, until they are given back. */
enum { KVR_VIEW_CHUNKS = 64 };
struct kvr_row_view {
    size_t chunk_count; /* in use for it */
    struct kvr_chunk *chunks[KVR_VIEW_CHUNKS];
    bool finished; /* no later read needs these chunks */
    size_t planes; /* 0, or how far after its first byte the second of an element lies */
};

/*
 * rows[i] = where the elements start[2] … start[2] + count[2] - 1 of row start[1] + i of head
 * start[0] lie, as they are stored, for i < count[1]; count[0] is 1. *there is false, and nothing
 * is held, where rows do not lie in one piece each in chunks of the trace's cache: then they are to
 * be read. So it is, too, if the bytes of an element lie apart (view->planes), unless `planes` says
 * that this will do; then rows[i] is where the first bytes lie. Thread-safe. What is there is given
 * back with kvr_trace_leave_rows.
 */
enum kvr_status kvr_trace_view_rows(struct kvr_trace *trace, const struct kvr_dataset *dataset,
                                    const uint64_t start[KVR_DATASET_RANK],
                                    const uint64_t count[KVR_DATASET_RANK], bool planes,
                                    const void **rows, struct kvr_row_view *view, bool *there,
                                    struct kvr_error *err);
void kvr_trace_leave_rows(struct kvr_trace *trace, struct kvr_row_view *view);

/* Stored bytes fetched so far by kvr_trace_read, for progress and run.json. Thread-safe. */
uint64_t kvr_trace_bytes_read(const struct kvr_trace *trace);

/* The first query row at a position >= P, = query_count if none: rows before it are prefill. */
size_t kvr_sample_decode_start(const struct kvr_sample *sample);

/* True if a query row of every prompt position pad … P-1 is recorded. */
bool kvr_sample_has_prefill(const struct kvr_sample *sample);

/* Where something of a layer comes from. */
enum kvr_origin { KVR_MISSING, KVR_RECORDED, KVR_RECOMPUTED };

/*
 * Attention rows: the dataset, or else those of query and key, with the query rows that the sample
 * has. Where sink logits took part, query and key alone do not tell the rows.
 */
enum kvr_origin kvr_layer_rows(const struct kvr_layer *layer);

/* Column sums of all prefill rows: the dataset `accumulated`, or else, where the queries of all of
   them are recorded, sums of the rows of query and key. */
enum kvr_origin kvr_layer_column_sums(const struct kvr_sample *sample,
                                      const struct kvr_layer *layer);

/* The first position that a row at `position` sees, the last being its own; beyond it for a row of
   padding, which sees none. */
uint64_t kvr_layer_first_seen(const struct kvr_sample *sample, const struct kvr_layer *layer,
                              uint64_t position);

/* The factor of query . key, recorded or 1/sqrt(D). The layer has a key. */
double kvr_layer_scale(const struct kvr_layer *layer);

#endif
