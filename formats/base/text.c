/*
 * Growing text. It knows how numbers look in a table, not which columns a table has.
 */
#include "formats/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/shortest.h"

/* Room for `more` further bytes and the final NUL; NULL once memory has run out. */
static char *room_for(struct kvr_text *text, size_t more)
{
    if (text->failed)
        return NULL;
    size_t needed = text->length + more + 1;
    if (needed > more && needed <= text->capacity)
        return text->data + text->length;
    void *data = text->data;
    if (needed <= more ||
        kvr_reserve(&data, &text->capacity, needed, sizeof(char), NULL) != KVR_OK) {
        text->failed = true;
        return NULL;
    }
    text->data = data;
    return text->data + text->length;
}

void kvr_text_bytes(struct kvr_text *text, const char *bytes, size_t length)
{
    char *end = room_for(text, length);
    if (end == NULL)
        return;
    memcpy(end, bytes, length);
    end[length] = '\0';
    text->length += length;
}

void kvr_text_string(struct kvr_text *text, const char *string)
{
    kvr_text_bytes(text, string, strlen(string));
}

void kvr_text_add(struct kvr_text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *end = length < 0 ? NULL : room_for(text, (size_t)length);
    if (end != NULL) {
        vsnprintf(end, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void kvr_text_unsigned(struct kvr_text *text, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    kvr_text_bytes(text, digits + at, sizeof digits - at);
}

static void add_double(struct kvr_text *text, double value, int precision)
{
    char digits[40];
    int length = snprintf(digits, sizeof digits, "%.*g", precision, value);
    kvr_text_bytes(text, digits, (size_t)length);
}

/* The common way, straight into the text; false leaves the number to the library. */
static bool add_fast(struct kvr_text *text, double value,
                     size_t (*write)(double, char[KVR_SHORTEST_ROOM]))
{
    char *end = room_for(text, KVR_SHORTEST_ROOM);
    size_t length = end == NULL ? 0 : write(value, end);
    if (length == 0)
        return end == NULL;
    end[length] = '\0';
    text->length += length;
    return true;
}

void kvr_text_figure(struct kvr_text *text, double value)
{
    if (!isnan(value) && !add_fast(text, value, kvr_write_figure))
        add_double(text, value, 9);
}

void kvr_text_exact(struct kvr_text *text, double value)
{
    if (isnan(value) || add_fast(text, value, kvr_write_shortest))
        return;
    for (int precision = 15; precision < 17; precision++) {
        char digits[40];
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        double back = strtod(digits, NULL);
        if (back >= value && back <= value) {
            kvr_text_string(text, digits);
            return;
        }
    }
    add_double(text, value, 17);
}

void kvr_text_clear(struct kvr_text *text)
{
    text->length = 0;
    if (text->data != NULL)
        text->data[0] = '\0';
}

enum kvr_status kvr_text_check(const struct kvr_text *text, struct kvr_error *err)
{
    if (text->failed)
        return kvr_fail(err, KVR_NO_MEMORY, "out of memory: text of over %zu bytes", text->length);
    return KVR_OK;
}

void kvr_text_free(struct kvr_text *text)
{
    free(text->data);
    *text = (struct kvr_text){0};
}
