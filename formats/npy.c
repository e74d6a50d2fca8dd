/*
 * The .npy header is the Python literal of a dict of three members. It is parsed as just that: what
 * NumPy never writes is refused. It must not know archives.
 */
#include "formats/npy.h"

#include <stdio.h>
#include <string.h>

#include "formats/base/number.h"

static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* Headers of numbers are far shorter; more is damage. */
enum { MOST_HEADER = 1 << 16, VERSION_AT = 6, LENGTH_AT = 8 };

bool kvr_npy_starts(const unsigned char *bytes, size_t size)
{
    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* The literal as it is read. */
struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n'))
        cursor->at++;
}

static bool take(struct cursor *cursor, char wanted)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end || *cursor->at != wanted)
        return false;
    cursor->at++;
    return true;
}

/* A quoted string without escapes, cut off at size - 1 bytes. */
static bool take_string(struct cursor *cursor, char *text, size_t size)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end || (*cursor->at != '\'' && *cursor->at != '"'))
        return false;
    char quote = *cursor->at++;
    size_t length = 0;
    for (; cursor->at < cursor->end && *cursor->at != quote; cursor->at++) {
        if (*cursor->at == '\\')
            return false;
        if (length + 1 < size)
            text[length++] = *cursor->at;
    }
    text[length] = '\0';
    return cursor->at++ < cursor->end;
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);
    skip_blanks(cursor);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static bool take_number(struct cursor *cursor, uint64_t *value)
{
    char digits[24];
    size_t length = 0;
    skip_blanks(cursor);
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9' &&
           length + 1 < sizeof digits)
        digits[length++] = *cursor->at++;
    digits[length] = '\0';
    return kvr_parse_unsigned(digits, 0, UINT64_MAX, value);
}

/* "(3, 4)", "(3,)", "()". */
static enum kvr_status take_shape(struct cursor *cursor, struct kvr_array *array,
                                  struct kvr_error *err)
{
    array->rank = 0;
    if (!take(cursor, '('))
        return kvr_fail(err, KVR_BAD_INPUT, "header: expected a shape in parentheses");
    while (!take(cursor, ')')) {
        if (array->rank == KVR_ARRAY_RANK)
            return kvr_fail(err, KVR_BAD_INPUT, "expected at most %d axes, found more",
                            KVR_ARRAY_RANK);
        if (!take_number(cursor, &array->shape[array->rank++]))
            return kvr_fail(err, KVR_BAD_INPUT, "header: the shape is not made of whole numbers");
        if (!take(cursor, ',') && (cursor->at == cursor->end || *cursor->at != ')'))
            return kvr_fail(err, KVR_BAD_INPUT, "header: the shape does not end");
    }
    return KVR_OK;
}

/* '<f2': byte order, kind, bytes of an element. */
static enum kvr_status understand_type(const char *descr, struct kvr_array *array,
                                       struct kvr_error *err)
{
    static const struct {
        const char *name;
        enum kvr_element kind;
    } floats[] = {{"f2", KVR_HALF}, {"f4", KVR_FLOAT}, {"f8", KVR_DOUBLE}};
    uint64_t size = 0;
    char order = descr[0];
    snprintf(array->type_name, sizeof array->type_name, "%s", descr);
    if (order != '\0' && descr[1] == 'O')
        return kvr_fail(err, KVR_UNSUPPORTED,
                        "it holds Python objects, which only Python can read");
    if (strchr("<>|=", order) == NULL || order == '\0' || descr[1] == '\0' ||
        !kvr_parse_unsigned(descr + 2, 1, 1 << 20, &size))
        return kvr_fail(err, KVR_BAD_INPUT, "header: \"%s\" is no type of numbers", descr);
    array->element_size = descr[1] == 'U' ? 4 * (size_t)size : (size_t)size; /* 'U': characters */
    array->kind = KVR_ARRAY_OTHER;
    array->big_endian = order == '>';
    if (strchr("iub", descr[1]) != NULL && (size == 1 || size == 2 || size == 4 || size == 8)) {
        array->kind = KVR_ARRAY_INTEGER;
        array->is_signed = descr[1] == 'i';
    }
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (strcmp(descr + 1, floats[i].name) == 0) {
            array->kind = KVR_ARRAY_FLOATING;
            array->type = (struct kvr_element_type){floats[i].kind, order == '>', false};
        }
    return KVR_OK;
}

static enum kvr_status parse_member(struct cursor *cursor, struct kvr_array *array, bool *fortran,
                                    unsigned *found, struct kvr_error *err)
{
    char key[32], descr[32];
    if (!take_string(cursor, key, sizeof key) || !take(cursor, ':'))
        return kvr_fail(err, KVR_BAD_INPUT, "header: expected members as 'descr': '<f2'");
    unsigned bit = strcmp(key, "descr") == 0           ? 1
                   : strcmp(key, "fortran_order") == 0 ? 2
                   : strcmp(key, "shape") == 0         ? 4
                                                       : 0;
    if (bit == 0 || (*found & bit) != 0)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "header: expected descr, fortran_order and shape once each, found \"%s\"",
                        key);
    *found |= bit;
    if (bit == 4)
        return take_shape(cursor, array, err);
    if (bit == 2) {
        *fortran = take_word(cursor, "True");
        if (!*fortran && !take_word(cursor, "False"))
            return kvr_fail(err, KVR_BAD_INPUT, "header: fortran_order is neither True nor False");
        return KVR_OK;
    }
    skip_blanks(cursor);
    if (cursor->at < cursor->end && *cursor->at == '[')
        return kvr_fail(err, KVR_UNSUPPORTED, "it holds records; expected an array of numbers");
    if (!take_string(cursor, descr, sizeof descr))
        return kvr_fail(err, KVR_BAD_INPUT, "header: the type is no string");
    return understand_type(descr, array, err);
}

static enum kvr_status parse_header(struct cursor cursor, struct kvr_array *array, bool *fortran,
                                    struct kvr_error *err)
{
    unsigned found = 0;
    if (!take(&cursor, '{'))
        return kvr_fail(err, KVR_BAD_INPUT, "header: expected a dict");
    while (!take(&cursor, '}')) {
        enum kvr_status status = parse_member(&cursor, array, fortran, &found, err);
        if (status != KVR_OK)
            return status;
        if (!take(&cursor, ',') && (cursor.at == cursor.end || *cursor.at != '}'))
            return kvr_fail(err, KVR_BAD_INPUT, "header: the dict does not end");
    }
    skip_blanks(&cursor);
    if (cursor.at != cursor.end)
        return kvr_fail(err, KVR_BAD_INPUT, "header: something follows the dict");
    if (found != 7)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "header: one of descr, fortran_order and shape is missing");
    return KVR_OK;
}

enum kvr_status kvr_npy_parse(const unsigned char *bytes, size_t size, struct kvr_array *array,
                              struct kvr_error *err)
{
    if (!kvr_npy_starts(bytes, size) || size < LENGTH_AT + 2)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "expected a NumPy array, found %zu bytes of something else", size);
    unsigned version = bytes[VERSION_AT];
    if (version < 1 || version > 3)
        return kvr_fail(err, KVR_UNSUPPORTED, "expected version 1, 2 or 3 of .npy, found %u",
                        version);
    size_t length_bytes = version == 1 ? 2 : 4, start = LENGTH_AT + length_bytes;
    uint64_t length = 0;
    for (size_t i = 0; start <= size && i < length_bytes; i++)
        length |= (uint64_t)bytes[LENGTH_AT + i] << (8 * i);
    if (start > size || length > size - start || length > MOST_HEADER)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "header: expected at most %zu bytes, found a length of %llu",
                        start > size                 ? 0
                        : size - start < MOST_HEADER ? size - start
                                                     : (size_t)MOST_HEADER,
                        (unsigned long long)length);
    bool fortran = false;
    uint64_t wanted = 0, data = start + length;
    const struct cursor cursor = {(const char *)bytes + start, (const char *)bytes + data};
    enum kvr_status status = parse_header(cursor, array, &fortran, err);
    if (status == KVR_OK)
        status = kvr_array_lay_out(array, fortran, &wanted, err);
    if (status != KVR_OK)
        return status;
    if (size - data != wanted)
        return kvr_fail(err, KVR_BAD_INPUT, "expected %llu bytes of data, found %llu",
                        (unsigned long long)wanted, (unsigned long long)(size - data));
    array->bytes = bytes + data;
    return KVR_OK;
}

void kvr_npy_add_header(struct kvr_text *text, const char *descr, unsigned rank,
                        const uint64_t *shape)
{
    struct kvr_text dict = {0};
    kvr_text_add(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (unsigned i = 0; i < rank; i++)
        kvr_text_add(&dict, "%s%llu%s", i > 0 ? " " : "", (unsigned long long)shape[i],
                     i + 1 < rank || rank == 1 ? "," : "");
    kvr_text_string(&dict, "), }");
    while ((LENGTH_AT + 2 + dict.length + 1) % 64 != 0)
        kvr_text_bytes(&dict, " ", 1);
    kvr_text_bytes(&dict, "\n", 1);
    const unsigned char length[] = {1, 0, (unsigned char)(dict.length & 0xff),
                                    (unsigned char)(dict.length >> 8)};
    kvr_text_bytes(text, (const char *)magic, sizeof magic);
    kvr_text_bytes(text, (const char *)length, sizeof length);
    kvr_text_bytes(text, dict.data != NULL ? dict.data : "", dict.length);
    text->failed = text->failed || dict.failed;
    kvr_text_free(&dict);
}
