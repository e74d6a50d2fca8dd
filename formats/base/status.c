/*
 * The error record: formatting, and keeping it one printable line whatever names a file holds.
 */
#include "formats/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names come from files that are not to be trusted: no byte of theirs may move the cursor. */
static void make_printable(char *text)
{
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

enum kvr_status kvr_fail(struct kvr_error *err, enum kvr_status status, const char *format, ...)
{
    if (err == NULL)
        return status;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    make_printable(err->message);
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
    make_printable(err->hint);
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
    make_printable(place);

    char rest[sizeof err->message];
    memcpy(rest, err->message, sizeof rest);
    size_t used = strlen(place);
    if (used > sizeof err->message - 3)
        used = sizeof err->message - 3;
    memcpy(err->message, place, used);
    memcpy(err->message + used, ": ", 3);
    size_t room = sizeof err->message - used - 3;
    strncat(err->message, rest, room);
    return err->status;
}
