/*
 * Writing an .npz file: a ZIP archive of .npy entries, stored as they are, ZIP64 where needed.
 *
 * The file is `path`.tmp until kvr_npz_writer_commit renames it. Entries are stamped with no time:
 * the same calls give the same bytes.
 */
#ifndef KVR_NPZ_WRITER_H
#define KVR_NPZ_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

struct kvr_npz_writer;

enum kvr_status kvr_npz_writer_open(const char *path, struct kvr_npz_writer **out,
                                    struct kvr_error *err);

/*
 * Starts the array `name` (".npy" is added), row-major of the NumPy type `descr`; then its bytes
 * follow in pieces, exactly as many as its shape wants.
 */
enum kvr_status kvr_npz_writer_array(struct kvr_npz_writer *writer, const char *name,
                                     const char *descr, unsigned rank, const uint64_t *shape,
                                     struct kvr_error *err);
enum kvr_status kvr_npz_writer_bytes(struct kvr_npz_writer *writer, const void *bytes, size_t size,
                                     struct kvr_error *err);

/* Writes the directory and renames; releases the writer in any case. */
enum kvr_status kvr_npz_writer_commit(struct kvr_npz_writer *writer, struct kvr_error *err);

/* Removes what was written; NULL is allowed. */
void kvr_npz_writer_abandon(struct kvr_npz_writer *writer);

#endif
