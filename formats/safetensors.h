/*
 * The .safetensors format: a JSON header of names, types, shapes and places, then the bytes.
 */
#ifndef KVR_SAFETENSORS_H
#define KVR_SAFETENSORS_H

#include <stddef.h>

#include "formats/array.h"

/*
 * Parses the file of `size` bytes at `bytes` into *arrays, an allocation of *count views into
 * bytes whose names are allocated, too. KVR_BAD_INPUT where the header is no header, or tensors
 * overlap, leave gaps, or do not fill the file to its end.
 */
enum kvr_status kvr_safetensors_parse(const unsigned char *bytes, size_t size,
                                      struct kvr_array **arrays, size_t *count,
                                      struct kvr_error *err);

#endif
