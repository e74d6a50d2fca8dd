/*
 * Small pieces of writing HDF5. It must not know what a file is for.
 */
#include "formats/h5_write.h"

#include <math.h>

#include "formats/h5_session.h"
#include "formats/sink_driver.h"

hid_t kvr_h5_untimed(hid_t class_id)
{
    hid_t properties = H5Pcreate(class_id);
    if (properties >= 0 && H5Pset_obj_track_times(properties, 0) < 0) {
        H5Pclose(properties);
        return H5I_INVALID_HID;
    }
    return properties;
}

static herr_t put_attribute(hid_t object, const char *name, hid_t stored, hid_t memory,
                            const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t result = attribute < 0 ? -1 : H5Awrite(attribute, memory, value);
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    return result;
}

herr_t kvr_h5_put_integer(hid_t object, const char *name, uint64_t value)
{
    int64_t number = (int64_t)value;
    return put_attribute(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &number);
}

herr_t kvr_h5_put_double(hid_t object, const char *name, double value)
{
    if (isnan(value))
        return 0;
    return put_attribute(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

herr_t kvr_h5_put_string(hid_t object, const char *name, const char *value)
{
    if (value == NULL)
        return 0;
    hid_t type = H5Tcopy(H5T_C_S1);
    herr_t result = -1;
    if (H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0)
        result = put_attribute(object, name, type, type, &value);
    H5Tclose(type);
    return result;
}

hid_t kvr_h5_make_group(hid_t parent, const char *name)
{
    hid_t properties = kvr_h5_untimed(H5P_GROUP_CREATE);
    hid_t group = H5Gcreate2(parent, name, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Pclose(properties);
    return group;
}

hid_t kvr_h5_make_file(struct kvr_sink *sink, H5F_libver_t least)
{
    hid_t creation = kvr_h5_untimed(H5P_FILE_CREATE);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file = H5I_INVALID_HID;
    if (H5Pset_libver_bounds(access, least, H5F_LIBVER_V110) >= 0 &&
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
        file = kvr_sink_create_file(sink, creation, access);
    H5Pclose(access);
    H5Pclose(creation);
    return file;
}

enum kvr_status kvr_h5_write_failed(const char *path, const char *place, struct kvr_error *err)
{
    char cause[256];
    kvr_h5_cause(cause, sizeof cause);
    return kvr_fail(err, KVR_IO, "\"%s\": %s: cannot be written%s%s", path, place,
                    cause[0] != '\0' ? ": " : "", cause);
}
