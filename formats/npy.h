/*
 * NumPy's .npy format, versions 1 to 3: the header in front of an array's bytes.
 */
#ifndef KVR_NPY_H
#define KVR_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/array.h"
#include "formats/base/text.h"

/* True if bytes start as an .npy file does. */
bool kvr_npy_starts(const unsigned char *bytes, size_t size);

/*
 * Parses the file of `size` bytes at `bytes` into *array, all but its name; the view points into
 * bytes. KVR_BAD_INPUT says what is wrong: header, shape, or another number of bytes behind it.
 */
enum kvr_status kvr_npy_parse(const unsigned char *bytes, size_t size, struct kvr_array *array,
                              struct kvr_error *err);

/* Adds the header, version 1 padded to 64 bytes, of a row-major array; descr is as "<f2". */
void kvr_npy_add_header(struct kvr_text *text, const char *descr, unsigned rank,
                        const uint64_t *shape);

#endif
