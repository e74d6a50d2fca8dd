/*
 * What an HDF5 datatype is: one of the element types of a trace, or something to be refused by
 * name.
 */
#ifndef KVR_H5_TYPE_H
#define KVR_H5_TYPE_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/element.h"

/*
 * The element type of a dataset from its datatype. Floats are recognised by the place and width of
 * their fields, so custom ones will do; uint16 with the attribute encoding = "bfloat16" as well.
 */
enum kvr_status kvr_h5_element_type(hid_t dataset, hid_t type, struct kvr_element_type *out,
                                    struct kvr_error *err);

/* The element type of a float type alone; false if it is none of them. */
bool kvr_h5_float_type(hid_t type, struct kvr_element_type *out);

/* An integer type of 1, 2, 4 or 8 whole bytes. */
struct kvr_h5_integer_type {
    size_t size;
    bool big_endian, is_signed;
};

/* A value of such a type. */
struct kvr_h5_integer {
    bool negative;
    uint64_t bits; /* the value, as two's complement if it is negative */
};

/* False for other types. HDF5 is not asked to convert: a false precision makes it overrun. */
bool kvr_h5_integer_type(hid_t type, struct kvr_h5_integer_type *out);
struct kvr_h5_integer kvr_h5_integer(struct kvr_h5_integer_type type, const void *stored);

/* "int32", "a string", "a float of 3 bytes with …", for messages. */
void kvr_h5_describe_type(hid_t type, char *text, size_t size);

/* "[9][15][1031]" for messages; "a single value" for rank 0. */
void kvr_h5_describe_shape(unsigned rank, const hsize_t *shape, char *text, size_t size);

#endif
