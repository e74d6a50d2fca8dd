/*
 * Attributes: strings in every encoding, integers of every width. It must not know what they mean.
 */
#include "formats/h5_object.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/h5_heap.h"
#include "formats/h5_session.h"
#include "formats/h5_type.h"

struct attribute {
    hid_t id, type, space;
};

static void close_attribute(struct attribute *attribute)
{
    if (attribute->space >= 0)
        H5Sclose(attribute->space);
    if (attribute->type >= 0)
        H5Tclose(attribute->type);
    if (attribute->id >= 0)
        H5Aclose(attribute->id);
}

static enum kvr_status expect_one_value(const struct attribute *attribute, struct kvr_error *err)
{
    hsize_t shape[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_dims(attribute->space, shape, NULL);
    H5S_class_t kind = H5Sget_simple_extent_type(attribute->space);
    if (kind == H5S_SCALAR || (kind == H5S_SIMPLE && rank == 1 && shape[0] == 1))
        return KVR_OK;
    char found[256] = "an empty one";
    if (kind == H5S_SIMPLE && rank >= 0)
        kvr_h5_describe_shape((unsigned)rank, shape, found, sizeof found);
    return kvr_fail(err, KVR_BAD_INPUT, "expected a single value, found %s", found);
}

/* Opens the attribute; id is H5I_INVALID_HID where there is none. Close it in any case. */
static enum kvr_status open_attribute(hid_t object, const char *name, struct attribute *attribute,
                                      struct kvr_error *err)
{
    *attribute = (struct attribute){H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID};
    htri_t exists = H5Aexists(object, name);
    if (exists == 0)
        return KVR_OK;
    if (exists > 0)
        attribute->id = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute->id >= 0)
        attribute->type = H5Aget_type(attribute->id);
    if (attribute->type >= 0)
        attribute->space = H5Aget_space(attribute->id);
    if (attribute->space < 0)
        return kvr_h5_failed(err, "cannot be read");
    return expect_one_value(attribute, err);
}

static enum kvr_status wrong_type(const struct attribute *attribute, const char *expected,
                                  struct kvr_error *err)
{
    char found[160];
    kvr_h5_describe_type(attribute->type, found, sizeof found);
    return kvr_fail(err, KVR_BAD_INPUT, "expected %s, found %s", expected, found);
}

static enum kvr_status too_long(size_t most, struct kvr_error *err)
{
    return kvr_fail(err, KVR_UNSUPPORTED, "expected at most %zu bytes, found more", most);
}

/* The file's own type serves in memory too, so that no byte is converted or checked away. */
static enum kvr_status read_fixed(const struct attribute *attribute, size_t most, char **value,
                                  struct kvr_error *err)
{
    size_t size = H5Tget_size(attribute->type);
    if (size > most)
        return too_long(most, err);
    char *text = kvr_alloc(size + 1, 1, err);
    if (text == NULL)
        return KVR_NO_MEMORY;
    if (H5Aread(attribute->id, attribute->type, text) < 0) {
        free(text);
        return kvr_h5_failed(err, "cannot be read");
    }
    if (H5Tget_strpad(attribute->type) == H5T_STR_SPACEPAD)
        while (size > 0 && text[size - 1] == ' ')
            text[--size] = '\0';
    *value = text;
    return KVR_OK;
}

static enum kvr_status read_string(const struct attribute *attribute, size_t most, char **value,
                                   struct kvr_error *err)
{
    if (H5Tget_class(attribute->type) != H5T_STRING)
        return wrong_type(attribute, "a string", err);
    if (H5Tis_variable_str(attribute->type) > 0)
        return kvr_h5_heap_string(attribute->id, most, value, err);
    return read_fixed(attribute, most, value, err);
}

enum kvr_status kvr_h5_string(hid_t object, const char *name, size_t most, char **value,
                              struct kvr_error *err)
{
    struct attribute attribute;
    enum kvr_status status = open_attribute(object, name, &attribute, err);
    if (status == KVR_OK && attribute.id >= 0)
        status = read_string(&attribute, most, value, err);
    close_attribute(&attribute);
    return status == KVR_OK ? status : kvr_at(err, "attribute %s", name);
}

/* Reads the one element, of at most 8 bytes, as it is stored. */
static enum kvr_status read_bytes(const struct attribute *attribute, unsigned char bytes[8],
                                  struct kvr_error *err)
{
    if (H5Tget_size(attribute->type) > 8)
        return wrong_type(attribute, "a number of at most 8 bytes", err);
    if (H5Aread(attribute->id, attribute->type, bytes) < 0)
        return kvr_h5_failed(err, "cannot be read");
    return KVR_OK;
}

/* The integer type of the attribute; that of its base for an enumeration (h5py stores bool so). */
static bool get_integer_type(const struct attribute *attribute, struct kvr_h5_integer_type *type)
{
    if (H5Tget_class(attribute->type) != H5T_ENUM)
        return kvr_h5_integer_type(attribute->type, type);
    hid_t base = H5Tget_super(attribute->type);
    bool known =
        base >= 0 && kvr_h5_integer_type(base, type) && type->size == H5Tget_size(attribute->type);
    if (base >= 0)
        H5Tclose(base);
    return known;
}

static enum kvr_status read_integer(const struct attribute *attribute, struct kvr_h5_integer *value,
                                    struct kvr_error *err)
{
    unsigned char bytes[8];
    struct kvr_h5_integer_type type;
    if (!get_integer_type(attribute, &type))
        return wrong_type(attribute, "an integer", err);
    enum kvr_status status = read_bytes(attribute, bytes, err);
    if (status == KVR_OK)
        *value = kvr_h5_integer(type, bytes);
    return status;
}

static enum kvr_status check_range(const struct kvr_h5_integer *value, uint64_t least,
                                   uint64_t most, struct kvr_error *err)
{
    char found[32];
    if (!value->negative && value->bits >= least && value->bits <= most)
        return KVR_OK;
    if (value->negative)
        snprintf(found, sizeof found, "-%llu", (unsigned long long)(0 - value->bits));
    else
        snprintf(found, sizeof found, "%llu", (unsigned long long)value->bits);
    return kvr_fail(err, KVR_BAD_INPUT, "expected an integer from %llu to %llu, found %s",
                    (unsigned long long)least, (unsigned long long)most, found);
}

enum kvr_status kvr_h5_unsigned(hid_t object, const char *name, uint64_t least, uint64_t most,
                                uint64_t *value, bool *present, struct kvr_error *err)
{
    struct attribute attribute;
    struct kvr_h5_integer found = {0};
    enum kvr_status status = open_attribute(object, name, &attribute, err);
    bool exists = attribute.id >= 0;
    if (status == KVR_OK && exists)
        status = read_integer(&attribute, &found, err);
    if (status == KVR_OK && exists)
        status = check_range(&found, least, most, err);
    if (status == KVR_OK && exists)
        *value = found.bits;
    if (present != NULL)
        *present = exists;
    close_attribute(&attribute);
    return status == KVR_OK ? status : kvr_at(err, "attribute %s", name);
}

static enum kvr_status read_double(const struct attribute *attribute, double *value,
                                   struct kvr_error *err)
{
    unsigned char bytes[8];
    struct kvr_h5_integer_type integer;
    struct kvr_element_type element;
    bool whole = kvr_h5_integer_type(attribute->type, &integer);
    if (!whole && !kvr_h5_float_type(attribute->type, &element))
        return wrong_type(attribute, "a number", err);
    enum kvr_status status = read_bytes(attribute, bytes, err);
    if (status != KVR_OK)
        return status;
    double found;
    if (whole) {
        struct kvr_h5_integer bits = kvr_h5_integer(integer, bytes);
        found = bits.negative ? -(double)(0 - bits.bits) : (double)bits.bits;
    } else {
        kvr_element_decode(element, bytes, 1, &found);
    }
    if (!isfinite(found))
        return kvr_fail(err, KVR_BAD_INPUT, "expected a finite number, found %g", found);
    *value = found;
    return KVR_OK;
}

enum kvr_status kvr_h5_double(hid_t object, const char *name, double *value, struct kvr_error *err)
{
    struct attribute attribute;
    enum kvr_status status = open_attribute(object, name, &attribute, err);
    if (status == KVR_OK && attribute.id >= 0)
        status = read_double(&attribute, value, err);
    close_attribute(&attribute);
    return status == KVR_OK ? status : kvr_at(err, "attribute %s", name);
}
