/*
 * Writing a file of kept sets, version 1 (traces/FORMAT.md, "Kept sets"), in one streaming pass.
 *
 * The file is `path`.tmp until kvr_keep_writer_commit renames it; the same calls give the same
 * bytes. What a set means, and who keeps it, the caller knows. A writer belongs to one thread at a
 * time. After a failure only kvr_keep_writer_abandon is of use.
 */
#ifndef KVR_KEEP_WRITER_H
#define KVR_KEEP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace.h"

struct kvr_keep_writer;

/* Whose sets they are: names as the tables print them. */
struct kvr_keep_place {
    const char *policy, *scorer, *budget;
    uint64_t page_size;
    uint32_t layer; /* its number in the model */
};

/* The sets of one layer: row r keeps positions[offsets[r] … offsets[r + 1]), ascending. */
struct kvr_keep_sets {
    bool per_head;           /* rows are query heads; else KV heads */
    size_t row_count;        /* at least 1 */
    const uint64_t *offsets; /* [row_count + 1] */
    const uint32_t *positions;
    size_t excluded_count;
    const uint32_t *excluded; /* KV heads of which nothing is known; their rows are empty */
};

/* `trace` is the name of the trace that the sets speak of, as the tables print it. */
enum kvr_status kvr_keep_writer_open(const char *path, const char *trace, const char *producer,
                                     struct kvr_keep_writer **out, struct kvr_error *err);

/* Starts a sample: its name and lengths are taken. Sets that follow belong to it. */
enum kvr_status kvr_keep_writer_sample(struct kvr_keep_writer *writer,
                                       const struct kvr_sample *sample, struct kvr_error *err);

/* Adds the sets of a place of the current sample; no place may come twice. */
enum kvr_status kvr_keep_writer_add(struct kvr_keep_writer *writer,
                                    const struct kvr_keep_place *place,
                                    const struct kvr_keep_sets *sets, struct kvr_error *err);

/* Flushes, closes and renames to the final name; releases the writer in any case. */
enum kvr_status kvr_keep_writer_commit(struct kvr_keep_writer *writer, struct kvr_error *err);

/* Removes what was written; releases the writer. NULL is allowed. */
void kvr_keep_writer_abandon(struct kvr_keep_writer *writer);

#endif
