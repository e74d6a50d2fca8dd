/*
 * Opening an HDF5 file to read, and saying in words of the file why it cannot be opened.
 */
#ifndef KVR_H5_FILE_H
#define KVR_H5_FILE_H

#include <hdf5.h>
#include <stdint.h>

#include "formats/base/status.h"

/* An open file; the descriptor is HDF5's own and closes with it. */
struct kvr_h5_file {
    hid_t id;
    int descriptor;
    uint64_t bytes; /* its size */
};

/*
 * Opens the file at `path` read-only. Called between kvr_h5_enter and kvr_h5_leave; errors do not
 * name the file. Datasets opened through it have no chunk cache in HDF5.
 */
enum kvr_status kvr_h5_open_file(const char *path, struct kvr_h5_file *file, struct kvr_error *err);
void kvr_h5_close_file(struct kvr_h5_file *file);

#endif
