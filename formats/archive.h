/*
 * A file of arrays, whatever its format: .npy, .npz (stored or deflated), .safetensors.
 */
#ifndef KVR_ARCHIVE_H
#define KVR_ARCHIVE_H

#include <stddef.h>

#include "formats/array.h"

struct kvr_archive {
    char *path;
    size_t count;
    struct kvr_array *arrays;          /* names without ".npy"; a lone .npy bears its file's name */
    struct kvr_archive_memory *memory; /* private: what is mapped */
};

/*
 * Opens the file at `path`; its format is told by its first bytes. Arrays are views of the mapped
 * file, or of an unlinked temporary file where they had to be inflated, so memory stays small. The
 * file must not be changed while it is open. Errors name the file and the array; checksums of ZIP
 * entries are verified. Release with kvr_archive_close.
 */
enum kvr_status kvr_archive_open(const char *path, struct kvr_archive **out, struct kvr_error *err);

/* NULL is allowed. */
void kvr_archive_close(struct kvr_archive *archive);

#endif
