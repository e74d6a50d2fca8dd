/*
 * Names as numbers: each name that appears gets the next index, so that tables can be summed up in
 * arrays. Names keep the order in which they first appeared.
 */
#ifndef KVR_NAMES_H
#define KVR_NAMES_H

#include <stddef.h>

#include "formats/base/status.h"

/* Zero-initialised is empty. */
struct kvr_names {
    size_t count;
    char **items; /* [count] */
    size_t capacity;
    size_t *slots; /* open addressing: index + 1, 0 is free */
    size_t slot_count;
    size_t last; /* the index found last: rows of a table repeat names */
};

/* The index of `name`, which is added where it is new. Not thread-safe. */
enum kvr_status kvr_names_index(struct kvr_names *names, const char *name, size_t *index,
                                struct kvr_error *err);

/* The same for a name that is only unique within another one: a sample of a trace. */
enum kvr_status kvr_names_pair(struct kvr_names *names, const char *outer, const char *inner,
                               size_t *index, struct kvr_error *err);

void kvr_names_free(struct kvr_names *names);

#endif
