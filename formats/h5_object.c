/*
 * Groups and links. It must not know the layout of a trace.
 */
#include "formats/h5_object.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/h5_session.h"

enum { MOST_NAME_BYTES = 255 };

static const char *link_name(H5L_type_t type)
{
    switch (type) {
    case H5L_TYPE_SOFT:
        return "a soft link";
    case H5L_TYPE_EXTERNAL:
        return "an external link";
    default:
        return "a link of an unknown kind";
    }
}

static const char *object_name(H5I_type_t type)
{
    switch (type) {
    case H5I_GROUP:
        return "group";
    case H5I_DATASET:
        return "dataset";
    case H5I_DATATYPE:
        return "datatype";
    default:
        return "object of an unknown kind";
    }
}

/* As open_member, without the place in the error. */
static enum kvr_status open_named(hid_t parent, const char *name, H5I_type_t type, hid_t *out,
                                  struct kvr_error *err)
{
    *out = H5I_INVALID_HID;
    htri_t exists = H5Lexists(parent, name, H5P_DEFAULT);
    if (exists < 0)
        return kvr_h5_failed(err, "cannot be looked up");
    if (exists == 0)
        return KVR_OK;
    H5L_info_t link;
    if (H5Lget_info(parent, name, &link, H5P_DEFAULT) < 0)
        return kvr_h5_failed(err, "cannot be looked up");
    if (link.type != H5L_TYPE_HARD) {
        kvr_fail(err, KVR_UNSUPPORTED, "expected a %s, found %s", object_name(type),
                 link_name(link.type));
        return kvr_hint(err, "links that may lead elsewhere are not followed; store the data "
                             "itself (h5copy -f soft,ext)");
    }
    hid_t object = H5Oopen(parent, name, H5P_DEFAULT);
    if (object < 0)
        return kvr_h5_failed(err, "cannot be opened");
    H5I_type_t found = H5Iget_type(object);
    if (found != type) {
        H5Oclose(object);
        return kvr_fail(err, KVR_BAD_INPUT, "expected a %s, found a %s", object_name(type),
                        object_name(found));
    }
    *out = object;
    return KVR_OK;
}

static enum kvr_status open_member(hid_t parent, const char *place, const char *name,
                                   H5I_type_t type, hid_t *out, struct kvr_error *err)
{
    enum kvr_status status = open_named(parent, name, type, out, err);
    return status == KVR_OK ? status : kvr_at(err, "%s/%s", place, name);
}

enum kvr_status kvr_h5_open_group(hid_t parent, const char *place, const char *name, hid_t *out,
                                  struct kvr_error *err)
{
    return open_member(parent, place, name, H5I_GROUP, out, err);
}

enum kvr_status kvr_h5_open_dataset(hid_t parent, const char *place, const char *name, hid_t *out,
                                    struct kvr_error *err)
{
    return open_member(parent, place, name, H5I_DATASET, out, err);
}

struct listing {
    struct kvr_h5_names *names;
    size_t most;
    struct kvr_error *err;
    enum kvr_status status;
};

/* HDF5 calls this for every link of a group; a positive result ends the walk. */
static herr_t add_name(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    (void)group, (void)info;
    struct listing *listing = context;
    struct kvr_h5_names *names = listing->names;
    size_t length = strnlen(name, MOST_NAME_BYTES + 1);
    if (names->count >= listing->most)
        listing->status = kvr_fail(listing->err, KVR_UNSUPPORTED,
                                   "expected at most %zu members, found more", listing->most);
    else if (length > MOST_NAME_BYTES)
        listing->status =
            kvr_fail(listing->err, KVR_UNSUPPORTED,
                     "a member's name is longer than %d bytes: %.40s…", MOST_NAME_BYTES, name);
    if (listing->status != KVR_OK)
        return 1;
    void *items = names->names;
    listing->status =
        kvr_reserve(&items, &names->capacity, names->count + 1, sizeof(char *), listing->err);
    if (listing->status != KVR_OK)
        return 1;
    names->names = items;
    char *copy = kvr_copy_bytes(name, length, listing->err);
    if (copy == NULL) {
        listing->status = KVR_NO_MEMORY;
        return 1;
    }
    names->names[names->count++] = copy;
    return 0;
}

enum kvr_status kvr_h5_list(hid_t group, size_t most, struct kvr_h5_names *names,
                            struct kvr_error *err)
{
    *names = (struct kvr_h5_names){0};
    struct listing listing = {.names = names, .most = most, .err = err, .status = KVR_OK};
    herr_t walked = H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, add_name, &listing);
    if (listing.status != KVR_OK)
        return listing.status;
    return walked < 0 ? kvr_h5_failed(err, "members cannot be listed") : KVR_OK;
}

void kvr_h5_free_names(struct kvr_h5_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct kvr_h5_names){0};
}
