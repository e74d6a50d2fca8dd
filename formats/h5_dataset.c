/*
 * Opening datasets with distrust. It must not know which dataset of a trace it looks at.
 */
#include "formats/h5_dataset.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/h5_session.h"
#include "formats/h5_type.h"

/* Element types whose values lie elsewhere, or that hold others, are refused before all else. */
static enum kvr_status inspect_type(struct kvr_h5_dataset *dataset, struct kvr_error *err)
{
    dataset->type = H5Dget_type(dataset->id);
    if (dataset->type < 0)
        return kvr_h5_failed(err, "its type cannot be read");
    dataset->element_size = H5Tget_size(dataset->type);
    H5T_class_t kind = H5Tget_class(dataset->type);
    if (kind == H5T_INTEGER || kind == H5T_FLOAT)
        return KVR_OK;
    char found[160];
    kvr_h5_describe_type(dataset->type, found, sizeof found);
    return kvr_fail(err, KVR_UNSUPPORTED, "expected numbers, found %s", found);
}

/* Asking a virtual dataset for its shape would already open the files it points to. */
static enum kvr_status inspect_layout(struct kvr_h5_dataset *dataset, struct kvr_error *err)
{
    dataset->properties = H5Dget_create_plist(dataset->id);
    if (dataset->properties < 0)
        return kvr_h5_failed(err, "its storage cannot be read");
    if (H5Pget_external_count(dataset->properties) != 0) {
        kvr_fail(err, KVR_UNSUPPORTED, "expected data in this file, found external storage");
        return kvr_hint(err, "data in other files are not followed; copy them in (h5repack)");
    }
    switch (H5Pget_layout(dataset->properties)) {
    case H5D_CONTIGUOUS:
        dataset->layout = KVR_H5_CONTIGUOUS;
        return KVR_OK;
    case H5D_CHUNKED:
        dataset->layout = KVR_H5_CHUNKED;
        return KVR_OK;
    case H5D_COMPACT:
        dataset->layout = KVR_H5_COMPACT;
        return KVR_OK;
    case H5D_VIRTUAL:
        kvr_fail(err, KVR_UNSUPPORTED, "expected data in this file, found a virtual dataset");
        return kvr_hint(err, "data in other files are not followed; copy them in (h5repack)");
    default:
        return kvr_fail(err, KVR_UNSUPPORTED, "its storage layout is unknown");
    }
}

static enum kvr_status inspect_shape(struct kvr_h5_dataset *dataset, struct kvr_error *err)
{
    hid_t space = H5Dget_space(dataset->id);
    if (space < 0)
        return kvr_h5_failed(err, "its shape cannot be read");
    int rank = H5Sget_simple_extent_ndims(space);
    bool known = rank >= 0 && rank <= H5S_MAX_RANK &&
                 H5Sget_simple_extent_dims(space, dataset->shape, NULL) >= 0;
    H5S_class_t kind = H5Sget_simple_extent_type(space);
    H5Sclose(space);
    if (!known)
        return kvr_h5_failed(err, "its shape cannot be read");
    dataset->rank = (unsigned)rank;
    dataset->empty = kind == H5S_NULL;
    for (int i = 0; i < rank; i++)
        dataset->empty = dataset->empty || dataset->shape[i] == 0;
    return KVR_OK;
}

enum kvr_status kvr_h5_inspect(hid_t id, struct kvr_h5_dataset *dataset, struct kvr_error *err)
{
    *dataset =
        (struct kvr_h5_dataset){.id = id, .type = H5I_INVALID_HID, .properties = H5I_INVALID_HID};
    enum kvr_status status = inspect_type(dataset, err);
    if (status == KVR_OK)
        status = inspect_layout(dataset, err);
    if (status == KVR_OK)
        status = inspect_shape(dataset, err);
    return status;
}

void kvr_h5_release(struct kvr_h5_dataset *dataset)
{
    if (dataset->properties >= 0)
        H5Pclose(dataset->properties);
    if (dataset->type >= 0)
        H5Tclose(dataset->type);
    if (dataset->id >= 0)
        H5Dclose(dataset->id);
    dataset->id = dataset->type = dataset->properties = H5I_INVALID_HID;
}

enum kvr_status kvr_h5_read_integers(const struct kvr_h5_dataset *dataset,
                                     const struct kvr_h5_limits *limits, size_t count,
                                     int64_t **values, struct kvr_error *err)
{
    struct kvr_h5_storage storage;
    struct kvr_h5_integer_type type;
    char found[160];
    if (!kvr_h5_integer_type(dataset->type, &type)) {
        kvr_h5_describe_type(dataset->type, found, sizeof found);
        return kvr_fail(err, KVR_BAD_INPUT, "expected int32 elements, found %s", found);
    }
    enum kvr_status status = kvr_h5_inspect_storage(dataset, limits, &storage, err);
    if (status != KVR_OK)
        return status;
    unsigned char *stored = kvr_alloc(count, type.size, err);
    int64_t *room = kvr_alloc(count, sizeof *room, err);
    if (stored == NULL || room == NULL)
        status = KVR_NO_MEMORY;
    else if (H5Dread(dataset->id, dataset->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored) < 0)
        status = kvr_h5_failed(err, "cannot be read");
    for (size_t i = 0; status == KVR_OK && i < count; i++) {
        struct kvr_h5_integer value = kvr_h5_integer(type, stored + i * type.size);
        /* Beyond the range of every use: a value that no range check lets pass will do. */
        bool fits = value.negative || value.bits <= INT64_MAX;
        room[i] = fits ? (int64_t)value.bits : INT64_MAX;
    }
    free(stored);
    if (status == KVR_OK)
        *values = room;
    else
        free(room);
    return status;
}
