/*
 * Functions of libraries that are loaded at run time.
 */
#ifndef KVR_SHARED_LIBRARY_H
#define KVR_SHARED_LIBRARY_H

#include <stddef.h>

#include "formats/base/status.h"

/* A function by name, and where in a table of function pointers it belongs. */
struct kvr_library_symbol {
    const char *name;
    size_t offset;
};

/*
 * Loads the first of the libraries `names` (ends with NULL) that can be, and fills `table`. `what`
 * names it in messages: KVR_UNSUPPORTED if there is none of them or if it lacks a function. The
 * library stays loaded.
 */
enum kvr_status kvr_library_load(const char *what, const char *const *names,
                                 const struct kvr_library_symbol *symbols, size_t count,
                                 void *table, struct kvr_error *err);

#endif
