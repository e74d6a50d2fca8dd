/*
 * Making trace files, good and bad. It knows HDF5 and the format, not the reader's insides.
 */
#include "tests/trace_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const hsize_t fixture_shape[3] = {FIXTURE_HEADS, FIXTURE_ROWS, FIXTURE_TOKENS};

static hid_t good(hid_t id)
{
    ck_assert_msg(id >= 0, "HDF5 failed to make a fixture");
    return id;
}

hid_t fixture_group(hid_t parent, const char *name)
{
    return good(H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

void fixture_attribute(hid_t object, const char *name, hid_t type, const void *value)
{
    if (H5Aexists(object, name) > 0)
        ck_assert_int_ge(H5Adelete(object, name), 0);
    hid_t space = good(H5Screate(H5S_SCALAR));
    hid_t attribute = good(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    ck_assert_int_ge(H5Awrite(attribute, type, value), 0);
    H5Aclose(attribute);
    H5Sclose(space);
}

void fixture_integer(hid_t object, const char *name, int64_t value)
{
    fixture_attribute(object, name, H5T_NATIVE_INT64, &value);
}

void fixture_text(hid_t object, const char *name, const char *text)
{
    hid_t type = good(H5Tcopy(H5T_C_S1));
    ck_assert_int_ge(H5Tset_size(type, strlen(text) + 1), 0);
    fixture_attribute(object, name, type, text);
    H5Tclose(type);
}

struct trace_fixture fixture_create_with(const char *path, hid_t creation, hid_t access)
{
    struct trace_fixture fixture = {.path = path};
    fixture.file = good(H5Fcreate(path, H5F_ACC_TRUNC, creation, access));
    fixture_text(fixture.file, "format", "kvreplay-trace");
    fixture_integer(fixture.file, "version", 1);
    fixture.samples = fixture_group(fixture.file, "samples");
    fixture.sample = fixture_group(fixture.samples, "0");
    fixture_integer(fixture.sample, "context_length", FIXTURE_TOKENS);
    fixture_integer(fixture.sample, "query_heads", FIXTURE_HEADS);
    fixture_integer(fixture.sample, "kv_heads", FIXTURE_KV_HEADS);
    const int positions[FIXTURE_ROWS] = {57, 58, 59};
    const hsize_t rows = FIXTURE_ROWS;
    fixture_dataset(fixture.sample, "query_positions", H5T_NATIVE_INT, 1, &rows, H5P_DEFAULT,
                    positions);
    fixture.layers = fixture_group(fixture.sample, "layers");
    fixture.layer = fixture_group(fixture.layers, "0");
    return fixture;
}

struct trace_fixture fixture_create(const char *path)
{
    return fixture_create_with(path, H5P_DEFAULT, H5P_DEFAULT);
}

void fixture_close(struct trace_fixture *fixture)
{
    H5Gclose(fixture->layer);
    H5Gclose(fixture->layers);
    H5Gclose(fixture->sample);
    H5Gclose(fixture->samples);
    ck_assert_int_ge(H5Fclose(fixture->file), 0);
}

static hid_t custom_float(size_t sign, size_t exponent, size_t exponent_bits, size_t mantissa_bits,
                          size_t bias)
{
    hid_t type = good(H5Tcopy(H5T_IEEE_F32LE));
    ck_assert_int_ge(H5Tset_fields(type, sign, exponent, exponent_bits, 0, mantissa_bits), 0);
    ck_assert_int_ge(H5Tset_precision(type, 16), 0);
    ck_assert_int_ge(H5Tset_size(type, 2), 0);
    ck_assert_int_ge(H5Tset_ebias(type, bias), 0);
    return type;
}

hid_t fixture_type(struct kvr_element_type wanted)
{
    hid_t type = H5I_INVALID_HID;
    switch (wanted.kind) {
    case KVR_HALF:
        type = custom_float(15, 10, 5, 10, 15);
        break;
    case KVR_BFLOAT16:
        type = wanted.as_uint16 ? good(H5Tcopy(H5T_STD_U16LE)) : custom_float(15, 7, 8, 7, 127);
        break;
    case KVR_FLOAT:
        type = good(H5Tcopy(H5T_IEEE_F32LE));
        break;
    case KVR_DOUBLE:
        type = good(H5Tcopy(H5T_IEEE_F64LE));
        break;
    }
    ck_assert_int_ge(H5Tset_order(type, wanted.big_endian ? H5T_ORDER_BE : H5T_ORDER_LE), 0);
    return type;
}

hid_t fixture_chunks(unsigned rank, const hsize_t *chunk)
{
    hid_t properties = good(H5Pcreate(H5P_DATASET_CREATE));
    ck_assert_int_ge(H5Pset_chunk(properties, (int)rank, chunk), 0);
    return properties;
}

hid_t fixture_open_dataset(hid_t parent, const char *name, hid_t type, unsigned rank,
                           const hsize_t *shape, hid_t properties, const void *data)
{
    const hsize_t unlimited[3] = {H5S_UNLIMITED, H5S_UNLIMITED, H5S_UNLIMITED};
    bool chunked = properties != H5P_DEFAULT && H5Pget_layout(properties) == H5D_CHUNKED;
    hid_t space = good(H5Screate_simple((int)rank, shape, chunked ? unlimited : NULL));
    hid_t dataset =
        good(H5Dcreate2(parent, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    if (data != NULL)
        ck_assert_int_ge(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0);
    H5Sclose(space);
    return dataset;
}

void fixture_dataset(hid_t parent, const char *name, hid_t type, unsigned rank,
                     const hsize_t *shape, hid_t properties, const void *data)
{
    H5Dclose(fixture_open_dataset(parent, name, type, rank, shape, properties, data));
}

void fixture_attention(const struct trace_fixture *fixture)
{
    float values[FIXTURE_HEADS * FIXTURE_ROWS * FIXTURE_TOKENS];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        values[i] = (float)i;
    fixture_dataset(fixture->layer, "attention", H5T_NATIVE_FLOAT, 3, fixture_shape, H5P_DEFAULT,
                    values);
}

void fixture_plain_trace(const char *path)
{
    struct trace_fixture fixture = fixture_create(path);
    fixture_attention(&fixture);
    fixture_close(&fixture);
}

static ssize_t open_objects(void)
{
    return H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL);
}

struct kvr_trace *fixture_trace(const char *path)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_trace *trace = NULL;
    ssize_t before = open_objects();
    enum kvr_status status = kvr_trace_open(path, NULL, &trace, &err);
    ck_assert_msg(status == KVR_OK, "%s", err.message);
    ck_assert_int_eq(open_objects(), before + 1);
    return trace;
}

void fixture_refused(const char *path, enum kvr_status status, const char *message,
                     const char *hint)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_trace *trace = NULL;
    ssize_t before = open_objects();
    enum kvr_status found = kvr_trace_open(path, NULL, &trace, &err);
    ck_assert_int_eq(open_objects(), before);
    ck_assert_msg(found != KVR_OK, "accepted instead of: %s", message);
    ck_assert_ptr_null(trace);
    char start[600];
    snprintf(start, sizeof start, "\"%s\": ", path);
    ck_assert_msg(strncmp(err.message, start, strlen(start)) == 0, "no file in: %s", err.message);
    ck_assert_msg(strstr(err.message, message) != NULL, "\"%s\" is not in: %s", message,
                  err.message);
    ck_assert_msg(strstr(err.hint, hint) != NULL && (hint[0] != '\0' || err.hint[0] == '\0'),
                  "\"%s\" is not the hint: %s", hint, err.hint);
    ck_assert_int_eq(found, status);
    ck_assert_int_eq(err.status, status);
}

__attribute__((weak)) void __lsan_disable(void);

void fixture_expect_leaks(void)
{
    if (__lsan_disable != NULL)
        __lsan_disable();
}

void fixture_patch(const char *path, const void *from, const void *to, size_t length)
{
    FILE *stream = fopen(path, "r+b");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_eq(fseek(stream, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(stream), patched = 0;
    unsigned char *bytes = malloc(size);
    ck_assert_ptr_nonnull(bytes);
    rewind(stream);
    ck_assert_uint_eq(fread(bytes, 1, size, stream), size);
    for (size_t i = 0; i + length <= size; i++) {
        if (memcmp(bytes + i, from, length) == 0) {
            memcpy(bytes + i, to, length);
            patched++;
        }
    }
    ck_assert_uint_ge(patched, 1);
    rewind(stream);
    ck_assert_uint_eq(fwrite(bytes, 1, size, stream), size);
    ck_assert_int_eq(fclose(stream), 0);
    free(bytes);
}
