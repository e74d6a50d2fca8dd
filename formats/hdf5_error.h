/*
 * HDF5's error stack: kept silent, and turned into one line of ours.
 */
#ifndef KVR_HDF5_ERROR_H
#define KVR_HDF5_ERROR_H

#include <hdf5.h>

#include "formats/base/status.h"

/* How HDF5 reported errors before kvr_hdf5_silence. */
struct kvr_hdf5_reporting {
    H5E_auto2_t function;
    void *context;
};

/* Stops HDF5 from printing errors in this thread, and undoes it. */
struct kvr_hdf5_reporting kvr_hdf5_silence(void);
void kvr_hdf5_restore(struct kvr_hdf5_reporting reporting);

/*
 * Fails with `"file": place: what: cause`, the cause being the innermost entry of HDF5's error
 * stack, and clears the stack.
 */
enum kvr_status kvr_hdf5_fail(struct kvr_error *err, enum kvr_status status, const char *file,
                              const char *place, const char *what);

#endif
