/*
 * Escaping and numbers for a page. It must not know what the page shows.
 */
#include "plots/html_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/utf8.h"

/* U+202A-202E and U+2066-2069 turn the text around them; a name has no say in that. */
static bool turns_direction(const char *c, size_t length)
{
    static const char *const marks[] = {"\u202a", "\u202b", "\u202c", "\u202d", "\u202e",
                                        "\u2066", "\u2067", "\u2068", "\u2069"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (length == strlen(marks[i]) && memcmp(c, marks[i], length) == 0)
            return true;
    return false;
}

static void add_byte(struct kvr_text *text, char c)
{
    switch (c) {
    case '&':
        kvr_text_string(text, "&amp;");
        break;
    case '<':
        kvr_text_string(text, "&lt;");
        break;
    case '>':
        kvr_text_string(text, "&gt;");
        break;
    case '"':
        kvr_text_string(text, "&quot;");
        break;
    case '\'':
        kvr_text_string(text, "&#39;");
        break;
    case '\n':
    case '\t':
        kvr_text_string(text, " ");
        break;
    default:
        if ((unsigned char)c < ' ' || c == 127)
            kvr_text_string(text, "\ufffd");
        else
            kvr_text_bytes(text, &c, 1);
    }
}

void kvr_html_string(struct kvr_text *text, const char *string)
{
    for (const char *c = string; *c != '\0';) {
        size_t skip, length = kvr_utf8_length(c, &skip);
        bool control = length == 2 && (unsigned char)c[0] == 0xc2 && (unsigned char)c[1] < 0xa0;
        if (length == 0 || control)
            kvr_text_string(text, "\ufffd");
        else if (length == 1)
            add_byte(text, *c);
        else if (!turns_direction(c, length))
            kvr_text_bytes(text, c, length);
        c += length == 0 ? skip : length;
    }
}

void kvr_html_count(struct kvr_text *text, uint64_t count)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            kvr_text_string(text, ",");
        kvr_text_bytes(text, &digits[i], 1);
    }
}

void kvr_html_counted(struct kvr_text *text, uint64_t count, const char *noun)
{
    kvr_html_count(text, count);
    kvr_text_add(text, " %s%s", noun, count == 1 ? "" : "s");
}

void kvr_html_bytes(struct kvr_text *text, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    kvr_text_add(text, "%.*f %s", unit > 0 && value < 100 ? 1 : 0, value, units[unit]);
}
