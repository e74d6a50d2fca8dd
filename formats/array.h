/*
 * Named arrays that lie in memory as another program wrote them: NumPy and safetensors dumps.
 *
 * An array is a view: element type, shape, strides, and bytes that its archive owns. Row-major and
 * Fortran order differ only in the strides.
 */
#ifndef KVR_ARRAY_H
#define KVR_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/element.h"

enum { KVR_ARRAY_RANK = 8, KVR_BLOCK_RANK = 3 };

enum kvr_array_kind {
    KVR_ARRAY_FLOATING, /* of a type that a trace can hold */
    KVR_ARRAY_INTEGER,
    KVR_ARRAY_OTHER, /* strings, complex numbers, 8-bit floats, …: may be there, not be used */
};

struct kvr_array {
    char *name;
    enum kvr_array_kind kind;
    char type_name[32];           /* as the file has it, for messages: "<f2", "BF16" */
    struct kvr_element_type type; /* floating */
    bool is_signed, big_endian;   /* integer */
    size_t element_size;
    unsigned rank; /* 0 for a single number */
    uint64_t shape[KVR_ARRAY_RANK];
    uint64_t stride[KVR_ARRAY_RANK]; /* bytes from one element to the next along an axis */
    const unsigned char *bytes;
};

/*
 * Sets the strides from shape and element_size, and *size to the bytes that the array takes.
 * KVR_BAD_INPUT if the shape has too many elements to be counted.
 */
enum kvr_status kvr_array_lay_out(struct kvr_array *array, bool fortran_order, uint64_t *size,
                                  struct kvr_error *err);

/* Three axes of an array and where the others are held. axis[i] = KVR_ARRAY_RANK: the view has one
   element along i. */
struct kvr_array_view {
    const struct kvr_array *array;
    uint64_t offset; /* bytes, from the axes that are held */
    unsigned axis[KVR_BLOCK_RANK];
};

uint64_t kvr_array_extent(const struct kvr_array_view *view, unsigned axis);

/* Bytes from the array's first to the view's element (i, j). */
uint64_t kvr_array_offset(const struct kvr_array_view *view, uint64_t i, uint64_t j);

/* The block of a floating array as doubles, row-major and exact; it must lie within the extents. */
void kvr_array_read(const struct kvr_array_view *view, const uint64_t start[KVR_BLOCK_RANK],
                    const uint64_t count[KVR_BLOCK_RANK], double *values);

/* One element of an integer array at a byte offset; false if it is beyond int64. */
bool kvr_array_integer(const struct kvr_array *array, uint64_t offset, int64_t *value);

#endif
