/*
 * Datatypes. It must not know where data lie or what they mean.
 */
#include "formats/h5_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_object.h"

/* The fields of a floating-point number, in bits. */
struct float_layout {
    size_t bytes;
    size_t sign, exponent, exponent_bits, mantissa, mantissa_bits, bias;
};

static const struct {
    enum kvr_element kind;
    struct float_layout layout;
} known_floats[] = {
    {KVR_HALF, {2, 15, 10, 5, 0, 10, 15}},
    {KVR_BFLOAT16, {2, 15, 7, 8, 0, 7, 127}},
    {KVR_FLOAT, {4, 31, 23, 8, 0, 23, 127}},
    {KVR_DOUBLE, {8, 63, 52, 11, 0, 52, 1023}},
};

static struct float_layout layout_of(hid_t type)
{
    struct float_layout layout = {.bytes = H5Tget_size(type), .bias = H5Tget_ebias(type)};
    if (H5Tget_fields(type, &layout.sign, &layout.exponent, &layout.exponent_bits, &layout.mantissa,
                      &layout.mantissa_bits) < 0)
        layout.bytes = 0;
    return layout;
}

static bool same_layout(const struct float_layout *a, const struct float_layout *b)
{
    return a->bytes == b->bytes && a->sign == b->sign && a->exponent == b->exponent &&
           a->exponent_bits == b->exponent_bits && a->mantissa == b->mantissa &&
           a->mantissa_bits == b->mantissa_bits && a->bias == b->bias;
}

static bool has_plain_order(hid_t type)
{
    H5T_order_t order = H5Tget_order(type);
    return order == H5T_ORDER_LE || order == H5T_ORDER_BE;
}

/* Every bit of the element belongs to the number. */
static bool fills_its_bytes(hid_t type)
{
    return H5Tget_precision(type) == 8 * H5Tget_size(type) && H5Tget_offset(type) == 0;
}

bool kvr_h5_float_type(hid_t type, struct kvr_element_type *out)
{
    struct float_layout layout = layout_of(type);
    if (!has_plain_order(type) || !fills_its_bytes(type) || H5Tget_norm(type) != H5T_NORM_IMPLIED)
        return false;
    for (size_t i = 0; i < sizeof known_floats / sizeof known_floats[0]; i++) {
        if (same_layout(&layout, &known_floats[i].layout)) {
            *out = (struct kvr_element_type){.kind = known_floats[i].kind,
                                             .big_endian = H5Tget_order(type) == H5T_ORDER_BE};
            return true;
        }
    }
    return false;
}

bool kvr_h5_integer_type(hid_t type, struct kvr_h5_integer_type *out)
{
    size_t size = H5Tget_size(type);
    if (H5Tget_class(type) != H5T_INTEGER || !has_plain_order(type) || !fills_its_bytes(type) ||
        (size != 1 && size != 2 && size != 4 && size != 8))
        return false;
    *out = (struct kvr_h5_integer_type){.size = size,
                                        .big_endian = H5Tget_order(type) == H5T_ORDER_BE,
                                        .is_signed = H5Tget_sign(type) != H5T_SGN_NONE};
    return true;
}

struct kvr_h5_integer kvr_h5_integer(struct kvr_h5_integer_type type, const void *stored)
{
    const unsigned char *bytes = stored;
    uint64_t bits = 0;
    for (size_t i = 0; i < type.size; i++)
        bits = bits << 8 | bytes[type.big_endian ? i : type.size - 1 - i];
    bool negative = type.is_signed && (bytes[type.big_endian ? 0 : type.size - 1] & 0x80) != 0;
    if (negative && type.size < sizeof bits)
        bits |= UINT64_MAX << 8 * type.size;
    return (struct kvr_h5_integer){negative, bits};
}

static bool is_plain_uint16(hid_t type)
{
    struct kvr_h5_integer_type integer;
    return kvr_h5_integer_type(type, &integer) && integer.size == 2 && !integer.is_signed;
}

/* The attribute encoding of a uint16 dataset; empty if there is none. */
static enum kvr_status get_encoding(hid_t dataset, char *text, size_t size, struct kvr_error *err)
{
    char *encoding = NULL;
    enum kvr_status status = kvr_h5_string(dataset, "encoding", 64, &encoding, err);
    if (status == KVR_OK)
        snprintf(text, size, "%s", encoding != NULL ? encoding : "");
    free(encoding);
    return status;
}

enum kvr_status kvr_h5_element_type(hid_t dataset, hid_t type, struct kvr_element_type *out,
                                    struct kvr_error *err)
{
    const char expected[] = "expected half, float, double or bfloat16 elements";
    char found[160];
    if (H5Tget_class(type) == H5T_FLOAT && kvr_h5_float_type(type, out))
        return KVR_OK;
    kvr_h5_describe_type(type, found, sizeof found);
    if (!is_plain_uint16(type))
        return kvr_fail(err, KVR_UNSUPPORTED, "%s, found %s", expected, found);

    char encoding[80];
    enum kvr_status status = get_encoding(dataset, encoding, sizeof encoding, err);
    if (status != KVR_OK)
        return status;
    if (strcmp(encoding, "bfloat16") == 0) {
        *out = (struct kvr_element_type){.kind = KVR_BFLOAT16,
                                         .big_endian = H5Tget_order(type) == H5T_ORDER_BE,
                                         .as_uint16 = true};
        return KVR_OK;
    }
    if (encoding[0] != '\0')
        return kvr_fail(err, KVR_UNSUPPORTED, "%s, found uint16 with encoding \"%s\"", expected,
                        encoding);
    kvr_fail(err, KVR_UNSUPPORTED, "%s, found uint16", expected);
    return kvr_hint(err, "if these are bfloat16 bits, give the dataset the attribute "
                         "encoding = \"bfloat16\"");
}

static void describe_number(hid_t type, char *text, size_t size)
{
    struct float_layout layout = layout_of(type);
    struct kvr_element_type known;
    if (kvr_h5_float_type(type, &known))
        snprintf(text, size, "%s", kvr_element_name(known.kind));
    else
        snprintf(text, size, "a float of %zu bytes with %zu exponent and %zu mantissa bits",
                 layout.bytes, layout.exponent_bits, layout.mantissa_bits);
}

void kvr_h5_describe_type(hid_t type, char *text, size_t size)
{
    struct kvr_h5_integer_type integer;
    size_t bytes = H5Tget_size(type);
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        if (kvr_h5_integer_type(type, &integer))
            snprintf(text, size, "%sint%zu", integer.is_signed ? "" : "u", 8 * bytes);
        else
            snprintf(text, size, "an integer of %zu bytes with unused bits", bytes);
        return;
    case H5T_FLOAT:
        describe_number(type, text, size);
        return;
    case H5T_STRING:
        snprintf(text, size, "a string");
        return;
    case H5T_BITFIELD:
        snprintf(text, size, "a bit field of %zu bytes", bytes);
        return;
    case H5T_OPAQUE:
        snprintf(text, size, "opaque elements of %zu bytes", bytes);
        return;
    case H5T_COMPOUND:
        snprintf(text, size, "compound elements of %zu bytes", bytes);
        return;
    case H5T_REFERENCE:
        snprintf(text, size, "references");
        return;
    case H5T_ENUM:
        snprintf(text, size, "an enumeration of %zu bytes", bytes);
        return;
    case H5T_VLEN:
        snprintf(text, size, "variable-length elements");
        return;
    case H5T_ARRAY:
        snprintf(text, size, "arrays of %zu bytes", bytes);
        return;
    default:
        snprintf(text, size, "elements of an unknown type");
        return;
    }
}

void kvr_h5_describe_shape(unsigned rank, const hsize_t *shape, char *text, size_t size)
{
    if (rank == 0)
        snprintf(text, size, "a single value");
    else
        text[0] = '\0';
    size_t used = 0;
    for (unsigned i = 0; i < rank && used + 1 < size; i++) {
        int length = snprintf(text + used, size - used, "[%llu]", (unsigned long long)shape[i]);
        used += length > 0 ? (size_t)length : 0;
    }
}
