/*
 * Readable figures and aligned columns.
 */
#include "replay/cli/readable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 16, GAP = 2 };

void kvr_print_line(FILE *stream, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    kvr_make_printable(line);
    fprintf(stream, "%s\n", line);
}

void kvr_print_name(FILE *stream, int width, const char *name)
{
    char room[256];
    snprintf(room, sizeof room, "%s", name);
    kvr_make_printable(room);
    fprintf(stream, "%-*s", width, room);
}

void kvr_text_thousands(struct kvr_text *text, uint64_t value)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            kvr_text_string(text, ",");
        kvr_text_bytes(text, digits + i, 1);
    }
}

void kvr_text_size(struct kvr_text *text, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        kvr_text_add(text, "%d byte%s", (int)bytes, bytes == 1 ? "" : "s");
        return;
    }
    double amount = (double)bytes / 1000;
    size_t unit = 0;
    while (amount >= 999.5 && unit + 1 < sizeof units / sizeof units[0]) {
        amount /= 1000;
        unit++;
    }
    int decimals = amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0;
    kvr_text_add(text, "%.*f %s", decimals, amount, units[unit]);
}

void kvr_text_ranges(struct kvr_text *text, const uint64_t *numbers, size_t count, size_t most)
{
    size_t ranges = 0;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && numbers[end] == numbers[end - 1] + 1)
            end++;
        if (ranges++ == most) {
            kvr_text_add(text, " and %zu more", count - i);
            return;
        }
        kvr_text_add(text, "%s%llu", i > 0 ? ", " : "", (unsigned long long)numbers[i]);
        if (end - i > 1)
            kvr_text_add(text, "-%llu", (unsigned long long)numbers[end - 1]);
        i = end;
    }
}

void kvr_text_printable(struct kvr_text *text, const char *string)
{
    size_t before = text->length;
    kvr_text_string(text, string);
    if (text->data != NULL)
        kvr_make_printable(text->data + before);
}

void kvr_columns_cell(struct kvr_columns *columns, const char *format, ...)
{
    struct kvr_text *cells = &columns->cells;
    char cell[512];
    va_list args;
    va_start(args, format);
    vsnprintf(cell, sizeof cell, format, args);
    va_end(args);
    kvr_text_printable(cells, cell);
    kvr_text_string(cells, "\t");
}

void kvr_columns_end_row(struct kvr_columns *columns)
{
    kvr_text_string(&columns->cells, "\n");
}

/* Characters, not bytes: names may be UTF-8. */
static size_t width_of(const char *cell, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)cell[i] & 0xc0) != 0x80;
    return width;
}

static void measure(const char *cells, size_t widths[MOST_COLUMNS])
{
    size_t column = 0;
    for (const char *c = cells; *c != '\0';) {
        if (*c == '\n') {
            column = 0;
            c++;
            continue;
        }
        size_t length = strcspn(c, "\t"), width = width_of(c, length);
        if (column < MOST_COLUMNS && width > widths[column])
            widths[column] = width;
        column++;
        c += length + 1;
    }
}

static void add_blanks(struct kvr_text *text, size_t count)
{
    for (; count > 0; count--)
        kvr_text_string(text, " ");
}

void kvr_columns_write(struct kvr_columns *columns, const char *alignment, struct kvr_text *text)
{
    size_t widths[MOST_COLUMNS] = {0}, count = strlen(alignment), column = 0, owed = GAP;
    const char *c = columns->cells.data != NULL ? columns->cells.data : "";
    measure(c, widths);
    while (*c != '\0') {
        if (*c == '\n') {
            kvr_text_string(text, "\n"); /* blanks that are still owed would trail */
            column = 0;
            owed = GAP;
            c++;
            continue;
        }
        size_t length = strcspn(c, "\t"), width = width_of(c, length);
        size_t fill = column < count && column < MOST_COLUMNS ? widths[column] - width : 0;
        bool right = column < count && alignment[column] == 'r';
        if (length > 0) {
            add_blanks(text, owed + (right ? fill : 0));
            kvr_text_bytes(text, c, length);
            owed = GAP + (right ? 0 : fill);
        } else {
            owed += fill + GAP;
        }
        column++;
        c += length + 1;
    }
    kvr_text_clear(&columns->cells);
}

void kvr_columns_free(struct kvr_columns *columns)
{
    kvr_text_free(&columns->cells);
}
