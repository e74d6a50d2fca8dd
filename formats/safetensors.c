/*
 * Reading safetensors strictly: whatever a writer of the format cannot produce is refused by name.
 */
#include "formats/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/json_reader.h"

enum { LENGTH_BYTES = 8, MOST_HEADER = 100 << 20 };

static const struct {
    const char *name;
    enum kvr_array_kind kind;
    enum kvr_element element;
    bool is_signed;
    size_t size;
} types[] = {
    {"F16", KVR_ARRAY_FLOATING, KVR_HALF, false, 2},
    {"BF16", KVR_ARRAY_FLOATING, KVR_BFLOAT16, false, 2},
    {"F32", KVR_ARRAY_FLOATING, KVR_FLOAT, false, 4},
    {"F64", KVR_ARRAY_FLOATING, KVR_DOUBLE, false, 8},
    {"I8", KVR_ARRAY_INTEGER, KVR_HALF, true, 1},
    {"I16", KVR_ARRAY_INTEGER, KVR_HALF, true, 2},
    {"I32", KVR_ARRAY_INTEGER, KVR_HALF, true, 4},
    {"I64", KVR_ARRAY_INTEGER, KVR_HALF, true, 8},
    {"U8", KVR_ARRAY_INTEGER, KVR_HALF, false, 1},
    {"U16", KVR_ARRAY_INTEGER, KVR_HALF, false, 2},
    {"U32", KVR_ARRAY_INTEGER, KVR_HALF, false, 4},
    {"U64", KVR_ARRAY_INTEGER, KVR_HALF, false, 8},
    {"BOOL", KVR_ARRAY_INTEGER, KVR_HALF, false, 1},
    {"F8_E4M3", KVR_ARRAY_OTHER, KVR_HALF, false, 1},
    {"F8_E5M2", KVR_ARRAY_OTHER, KVR_HALF, false, 1},
    {"C64", KVR_ARRAY_OTHER, KVR_HALF, false, 8},
};

static enum kvr_status take_type(const char *name, struct kvr_array *array, struct kvr_error *err)
{
    for (size_t i = 0; name != NULL && i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) {
            snprintf(array->type_name, sizeof array->type_name, "%s", name);
            array->kind = types[i].kind;
            array->type.kind = types[i].element;
            array->is_signed = types[i].is_signed;
            array->element_size = types[i].size;
            return KVR_OK;
        }
    return kvr_fail(err, KVR_UNSUPPORTED, "dtype: \"%s\" is no type that is known here",
                    name != NULL ? name : "");
}

static bool whole_number(const struct kvr_json_value *value, uint64_t *number)
{
    return value->kind == KVR_JSON_NUMBER && kvr_parse_unsigned(value->text, 0, INT64_MAX, number);
}

static enum kvr_status take_shape(const struct kvr_json_value *shape, struct kvr_array *array,
                                  struct kvr_error *err)
{
    if (shape == NULL || shape->kind != KVR_JSON_ARRAY)
        return kvr_fail(err, KVR_BAD_INPUT, "expected a shape, found none");
    if (shape->count > KVR_ARRAY_RANK)
        return kvr_fail(err, KVR_BAD_INPUT, "expected at most %d axes, found %zu", KVR_ARRAY_RANK,
                        shape->count);
    for (const struct kvr_json_value *axis = shape->first; axis != NULL; axis = axis->next)
        if (!whole_number(axis, &array->shape[array->rank++]))
            return kvr_fail(err, KVR_BAD_INPUT, "the shape is not made of whole numbers");
    return KVR_OK;
}

/* Where the tensor's bytes are, from the end of the header. */
static enum kvr_status take_place(const struct kvr_json_value *place, uint64_t room,
                                  uint64_t *begin, uint64_t *end, struct kvr_error *err)
{
    bool pair = place != NULL && place->kind == KVR_JSON_ARRAY && place->count == 2;
    if (!pair || !whole_number(place->first, begin) || !whole_number(place->first->next, end))
        return kvr_fail(err, KVR_BAD_INPUT, "data_offsets: expected two whole numbers");
    if (*begin > *end || *end > room)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "data_offsets: expected a range within %llu bytes, found %llu to %llu",
                        (unsigned long long)room, (unsigned long long)*begin,
                        (unsigned long long)*end);
    return KVR_OK;
}

static enum kvr_status take_tensor(const struct kvr_json_value *tensor, const unsigned char *data,
                                   uint64_t room, struct kvr_array *array, struct kvr_error *err)
{
    uint64_t begin = 0, end = 0, size = 0;
    enum kvr_status status = take_type(kvr_json_member_string(tensor, "dtype"), array, err);
    if (status == KVR_OK)
        status = take_shape(kvr_json_member(tensor, "shape"), array, err);
    if (status == KVR_OK)
        status = kvr_array_lay_out(array, false, &size, err);
    if (status == KVR_OK)
        status = take_place(kvr_json_member(tensor, "data_offsets"), room, &begin, &end, err);
    if (status == KVR_OK && end - begin != size)
        status = kvr_fail(err, KVR_BAD_INPUT, "expected %llu bytes of data, found %llu",
                          (unsigned long long)size, (unsigned long long)(end - begin));
    if (status != KVR_OK)
        return kvr_at(err, "%s", tensor->key);
    array->bytes = data + begin;
    array->name = kvr_copy_string(tensor->key, err);
    return array->name != NULL ? KVR_OK : KVR_NO_MEMORY;
}

static uint64_t bytes_of(const struct kvr_array *array)
{
    uint64_t size = array->element_size;
    for (unsigned i = 0; i < array->rank; i++)
        size *= array->shape[i];
    return size;
}

static int by_place(const void *left, const void *right)
{
    const struct kvr_array *a = *(const struct kvr_array *const *)left;
    const struct kvr_array *b = *(const struct kvr_array *const *)right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return (bytes_of(a) > bytes_of(b)) - (bytes_of(a) < bytes_of(b));
}

/* Tensors must follow each other without gap or overlap up to the end of the file. */
static enum kvr_status check_places(const struct kvr_array *arrays, size_t count,
                                    const unsigned char *data, uint64_t room, struct kvr_error *err)
{
    const struct kvr_array **order = kvr_alloc(count, sizeof *order, err);
    if (order == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        order[i] = &arrays[i];
    if (count > 0)
        qsort(order, count, sizeof *order, by_place);
    uint64_t reached = 0;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < count; i++) {
        uint64_t begin = (uint64_t)(order[i]->bytes - data);
        if (begin != reached)
            status =
                kvr_fail(err, KVR_BAD_INPUT,
                         "%s: data_offsets: expected to start at %llu, "
                         "found %llu: %s",
                         order[i]->name, (unsigned long long)reached, (unsigned long long)begin,
                         begin < reached ? "tensors overlap" : "there is a gap");
        reached = begin + bytes_of(order[i]);
    }
    free(order);
    if (status == KVR_OK && reached != room)
        status = kvr_fail(err, KVR_BAD_INPUT, "expected %llu bytes of data, found %llu",
                          (unsigned long long)reached, (unsigned long long)room);
    return status;
}

static enum kvr_status take_tensors(const struct kvr_json_value *root, const unsigned char *data,
                                    uint64_t room, struct kvr_array *arrays, size_t *count,
                                    struct kvr_error *err)
{
    for (const struct kvr_json_value *tensor = root->first; tensor != NULL; tensor = tensor->next) {
        if (strcmp(tensor->key, "__metadata__") == 0)
            continue;
        enum kvr_status status = take_tensor(tensor, data, room, &arrays[*count], err);
        if (status != KVR_OK)
            return status;
        ++*count;
    }
    return check_places(arrays, *count, data, room, err);
}

enum kvr_status kvr_safetensors_parse(const unsigned char *bytes, size_t size,
                                      struct kvr_array **arrays, size_t *count,
                                      struct kvr_error *err)
{
    uint64_t length = 0;
    *arrays = NULL;
    *count = 0;
    for (size_t i = 0; size >= LENGTH_BYTES && i < LENGTH_BYTES; i++)
        length |= (uint64_t)bytes[i] << (8 * i);
    if (size < LENGTH_BYTES || length > size - LENGTH_BYTES || length > MOST_HEADER)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "header: expected at most %zu bytes, found a length of %llu",
                        size < LENGTH_BYTES ? 0 : size - LENGTH_BYTES, (unsigned long long)length);
    const unsigned char *data = bytes + LENGTH_BYTES + length;
    struct kvr_json_document document;
    enum kvr_status status =
        kvr_json_parse((const char *)bytes + LENGTH_BYTES, (size_t)length, &document, err);
    if (status != KVR_OK)
        return kvr_at(err, "header"), status;
    if (document.root->kind != KVR_JSON_OBJECT)
        status = kvr_fail(err, KVR_BAD_INPUT, "header: expected a JSON object");
    else if ((*arrays = kvr_alloc(document.root->count, sizeof **arrays, err)) == NULL)
        status = KVR_NO_MEMORY;
    else
        status =
            take_tensors(document.root, data, size - LENGTH_BYTES - length, *arrays, count, err);
    kvr_json_free(&document);
    return status;
}
