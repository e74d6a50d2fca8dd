/*
 * Entering and leaving HDF5, and asking it why something failed.
 *
 * The library may have been built without thread support, so one thread of the process is inside
 * at a time, readers and writers of every file together. Only the sources that own the trace format
 * include this.
 */
#ifndef KVR_H5_SESSION_H
#define KVR_H5_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"

/*
 * Takes the lock; until kvr_h5_leave this thread alone may call HDF5. HDF5 prints nothing meanwhile
 * and loads no filter plugins unless allow_plugins. Not recursive.
 */
void kvr_h5_enter(bool allow_plugins);
void kvr_h5_leave(void);

/* What the innermost function of HDF5 said about the call that has just failed, or "" . */
void kvr_h5_cause(char *text, size_t size);

/* Fills *err with "what: cause" for the HDF5 call that has just failed; status KVR_BAD_INPUT. */
enum kvr_status kvr_h5_failed(struct kvr_error *err, const char *what);

#endif
