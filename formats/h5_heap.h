/*
 * Strings of variable length: found in the file's global heap by ourselves.
 *
 * HDF5 1.10 asks for as much memory as the file says, gigabytes if it likes, and does not check the
 * index it is given. Called between kvr_h5_enter and kvr_h5_leave.
 */
#ifndef KVR_H5_HEAP_H
#define KVR_H5_HEAP_H

#include <hdf5.h>
#include <stddef.h>

#include "formats/base/status.h"

/*
 * The string of the attribute, whose type is a string of variable length and which holds one value,
 * if it has at most `most` bytes; allocated.
 */
enum kvr_status kvr_h5_heap_string(hid_t attribute, size_t most, char **text,
                                   struct kvr_error *err);

#endif
