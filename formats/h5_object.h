/*
 * Groups, their members, and the attributes of objects, read with distrust.
 *
 * Only hard links are followed: a soft or external link could lead anywhere. Every function is
 * called between kvr_h5_enter and kvr_h5_leave. Errors do not name the file.
 */
#ifndef KVR_H5_OBJECT_H
#define KVR_H5_OBJECT_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

/*
 * Opens the member `name` of a group; *out is H5I_INVALID_HID where there is none. Errors name the
 * member as "place/name"; place is "" for the root.
 */
enum kvr_status kvr_h5_open_group(hid_t parent, const char *place, const char *name, hid_t *out,
                                  struct kvr_error *err);
enum kvr_status kvr_h5_open_dataset(hid_t parent, const char *place, const char *name, hid_t *out,
                                    struct kvr_error *err);

/* The names of a group's members, in no particular order; free with kvr_h5_free_names. */
struct kvr_h5_names {
    size_t count, capacity;
    char **names;
};

/* At most `most` names of at most 255 bytes each. Fills *names anew; free it in any case. */
enum kvr_status kvr_h5_list(hid_t group, size_t most, struct kvr_h5_names *names,
                            struct kvr_error *err);
void kvr_h5_free_names(struct kvr_h5_names *names);

/*
 * Attributes. Each leaves *value alone where there is none and sets *present (which may be NULL).
 * A scalar or an array of one element will do. Errors are "attribute <name>: expected …, found …".
 */

/* A string of any encoding and padding, of at most `most` bytes; allocated. */
enum kvr_status kvr_h5_string(hid_t object, const char *name, size_t most, char **value,
                              struct kvr_error *err);

/* An integer of any width, byte order and sign, or a truth value, within [least, most]. */
enum kvr_status kvr_h5_unsigned(hid_t object, const char *name, uint64_t least, uint64_t most,
                                uint64_t *value, bool *present, struct kvr_error *err);

/* A finite floating-point number or integer. */
enum kvr_status kvr_h5_double(hid_t object, const char *name, double *value, struct kvr_error *err);

#endif
