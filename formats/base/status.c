/*
 * The error record: formatting, and keeping it one printable line whatever names a file holds.
 */
#include "formats/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The length of the UTF-8 sequence at text, 0 if it is none or a control character. */
static size_t printable_length(const unsigned char *text)
{
    if (text[0] < 0x80)
        return text[0] >= 0x20 && text[0] != 0x7f ? 1 : 0;
    size_t length = text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    if (text[0] > 0xf4 || (text[0] == 0xc2 && text[1] < 0xa0)) /* U+0080 … U+009F: controls */
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/*
 * Names come from files that are not to be trusted: no byte of theirs may move the cursor. What
 * was cut off at the end of the room may be half a character; it goes the same way.
 */
void kvr_make_printable(char *text)
{
    while (*text != '\0') {
        size_t length = printable_length((const unsigned char *)text);
        if (length == 0)
            *text = '?';
        text += length > 0 ? length : 1;
    }
}

enum kvr_status kvr_fail(struct kvr_error *err, enum kvr_status status, const char *format, ...)
{
    if (err == NULL)
        return status;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    kvr_make_printable(err->message);
    err->hint[0] = '\0';
    err->status = status;
    return status;
}

enum kvr_status kvr_hint(struct kvr_error *err, const char *format, ...)
{
    if (err == NULL)
        return KVR_INTERNAL;
    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
    kvr_make_printable(err->hint);
    return err->status;
}

enum kvr_status kvr_at(struct kvr_error *err, const char *format, ...)
{
    if (err == NULL)
        return KVR_INTERNAL;
    char place[sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(place, sizeof place, format, args);
    va_end(args);

    char rest[sizeof err->message];
    memcpy(rest, err->message, sizeof rest);
    size_t used = strlen(place);
    if (used > sizeof err->message - 3)
        used = sizeof err->message - 3;
    memcpy(err->message, place, used);
    memcpy(err->message + used, ": ", 3);
    size_t room = sizeof err->message - used - 3;
    strncat(err->message, rest, room);
    kvr_make_printable(err->message);
    return err->status;
}
