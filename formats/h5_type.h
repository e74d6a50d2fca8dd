/*
 * What an HDF5 datatype is: one of the element types of a trace, or something to be refused by
 * name.
 */
#ifndef KVR_H5_TYPE_H
#define KVR_H5_TYPE_H

#include <hdf5.h>
#include <stddef.h>

#include "formats/base/status.h"
#include "formats/element.h"

/*
 * The element type of a dataset from its datatype. Floats are recognised by the place and width of
 * their fields, so custom ones will do; uint16 with the attribute encoding = "bfloat16" as well.
 */
enum kvr_status kvr_h5_element_type(hid_t dataset, hid_t type, struct kvr_element_type *out,
                                    struct kvr_error *err);

/* "int32", "a string", "a float of 3 bytes with …", for messages. */
void kvr_h5_describe_type(hid_t type, char *text, size_t size);

/* "[9][15][1031]" for messages; "a single value" for rank 0. */
void kvr_h5_describe_shape(unsigned rank, const hsize_t *shape, char *text, size_t size);

#endif
