/*
 * The file under a trace that is being written: positioned writes, kept whole or not at all.
 *
 * The first failure to write is remembered and later writes are dropped without a word. HDF5 sits
 * on top of it and cannot cope with a disk that fills while it closes a file; so it is told that
 * all is well, closes cleanly, and the failure is reported by kvr_sink_check or kvr_sink_commit.
 * This file must not know HDF5.
 */
#ifndef KVR_SINK_H
#define KVR_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

struct kvr_sink;

/*
 * Starts `path`; until kvr_sink_commit the file on disk is `path`.tmp, locked against a second
 * writer. What stands at `path` must be a regular file or nothing.
 */
enum kvr_status kvr_sink_open(const char *path, struct kvr_sink **out, struct kvr_error *err);

/* Writes at an offset; failures are remembered. */
void kvr_sink_write(struct kvr_sink *sink, const void *bytes, size_t length, uint64_t offset);

/* Reads back; what was never written is 0. */
void kvr_sink_read(struct kvr_sink *sink, void *bytes, size_t length, uint64_t offset);

/* Makes the file `length` bytes long; failures are remembered. */
void kvr_sink_resize(struct kvr_sink *sink, uint64_t length);

/* The first failure so far: KVR_OK, or KVR_IO with *err filled. */
enum kvr_status kvr_sink_check(const struct kvr_sink *sink, struct kvr_error *err);

/*
 * Flushes to the disk, renames to the final name and releases; after any failure it removes the
 * .tmp instead and reports that first failure.
 */
enum kvr_status kvr_sink_commit(struct kvr_sink *sink, struct kvr_error *err);

/* Removes the .tmp and releases. NULL is allowed. */
void kvr_sink_abandon(struct kvr_sink *sink);

/* As kvr_sink_abandon, but keeps the memory: writes and reads that still come are ignored. */
void kvr_sink_disown(struct kvr_sink *sink);

#endif
