/*
 * The reader of tables: bytes to fields (RFC 4180, line ends \n or \r\n), fields to typed members.
 * It must not know which tables there are.
 */
#include "formats/table_reader.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/outfile.h"

enum { BLOCK = 1 << 16, LONGEST_ROW = 1 << 20, MOST_COLUMNS = 1024 };

struct kvr_table_reader {
    char *path;
    FILE *stream;
    const struct kvr_field *fields;
    size_t field_count;
    size_t *places; /* [field_count] the column of each field */
    size_t column_count;

    char block[BLOCK];
    size_t at, filled;
    uint64_t line, next_line; /* of the current row's start, of the next byte */

    /* The current row: fields without quotes, each ended by a NUL. */
    char *text;
    size_t length, room;
    size_t *starts;
    size_t count, start_room;
};

static enum kvr_status fail_on_line(const struct kvr_table_reader *reader, struct kvr_error *err,
                                    const char *what)
{
    return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": line %llu: %s", reader->path,
                    (unsigned long long)reader->line, what);
}

enum kvr_status kvr_table_reader_fail(const struct kvr_table_reader *reader, const char *column,
                                      struct kvr_error *err, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": line %llu, column %s: %s", reader->path,
                    (unsigned long long)reader->line, column, what);
}

/* ------------------------------------------------------------------------------ bytes to fields */

/* The next byte, EOF at the end; a failure to read shows in ferror. */
static int next_byte(struct kvr_table_reader *reader)
{
    if (reader->at == reader->filled) {
        reader->filled = fread(reader->block, 1, BLOCK, reader->stream);
        reader->at = 0;
        if (reader->filled == 0)
            return EOF;
    }
    return (unsigned char)reader->block[reader->at++];
}

static enum kvr_status add_byte(struct kvr_table_reader *reader, int byte, struct kvr_error *err)
{
    if (reader->length == reader->room) {
        void *text = reader->text;
        if (reader->length >= LONGEST_ROW)
            return fail_on_line(reader, err, "expected a row of at most 1 MiB");
        if (kvr_reserve(&text, &reader->room, reader->length + 1, 1, err) != KVR_OK)
            return KVR_NO_MEMORY;
        reader->text = text;
    }
    reader->text[reader->length++] = (char)byte;
    return KVR_OK;
}

static enum kvr_status start_field(struct kvr_table_reader *reader, struct kvr_error *err)
{
    void *starts = reader->starts;
    if (reader->count == MOST_COLUMNS)
        return fail_on_line(reader, err, "expected at most 1024 fields");
    enum kvr_status status =
        kvr_reserve(&starts, &reader->start_room, reader->count + 1, sizeof *reader->starts, err);
    reader->starts = starts;
    if (status == KVR_OK)
        reader->starts[reader->count++] = reader->length;
    return status;
}

enum place { FIELD_START, PLAIN, QUOTED, QUOTE_SEEN, LINE_END };

/* Ends the field, and the row unless a comma ends it. */
static enum kvr_status end_field(struct kvr_table_reader *reader, int byte, enum place *place,
                                 struct kvr_error *err)
{
    if (byte == '\r' && next_byte(reader) != '\n')
        return fail_on_line(reader, err, "expected a line feed after a carriage return");
    *place = byte == ',' ? FIELD_START : LINE_END;
    enum kvr_status status = add_byte(reader, '\0', err);
    return status == KVR_OK && *place == FIELD_START ? start_field(reader, err) : status;
}

static enum kvr_status take_byte(struct kvr_table_reader *reader, int byte, enum place *place,
                                 struct kvr_error *err)
{
    bool ends = byte == ',' || byte == '\n' || byte == '\r';
    if (byte == '\0')
        return fail_on_line(reader, err, "expected text, found a NUL byte");
    if (*place == QUOTED && byte == '"') {
        *place = QUOTE_SEEN;
        return KVR_OK;
    }
    if (*place == QUOTED) {
        reader->next_line += byte == '\n';
        return add_byte(reader, byte, err);
    }
    if (ends)
        return end_field(reader, byte, place, err);
    if (*place == QUOTE_SEEN && byte != '"')
        return fail_on_line(reader, err, "expected a comma after a closing quote");
    if (*place == PLAIN && byte == '"')
        return fail_on_line(reader, err, "found a quote in a field that does not start with one");
    bool opens = *place == FIELD_START && byte == '"';
    *place = byte == '"' ? QUOTED : PLAIN;
    return opens ? KVR_OK : add_byte(reader, byte, err);
}

static enum kvr_status end_of_file(const struct kvr_table_reader *reader, enum place place,
                                   struct kvr_error *err)
{
    if (ferror(reader->stream))
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be read: %s", reader->path, strerror(errno));
    if (place == QUOTED)
        return fail_on_line(reader, err, "expected a closing quote, found the end of the file");
    fail_on_line(reader, err, "expected a line break, found the end of the file");
    return kvr_hint(err, "the table was cut off: replay the trace again");
}

/* Reads one row; *more is false if there is none. A first byte that cannot be read is no end. */
static enum kvr_status read_row(struct kvr_table_reader *reader, bool *more, struct kvr_error *err)
{
    enum place place = FIELD_START;
    reader->length = reader->count = 0;
    reader->line = reader->next_line;
    int byte = next_byte(reader);
    *more = byte != EOF;
    if (!*more && !ferror(reader->stream))
        return KVR_OK;
    enum kvr_status status = start_field(reader, err);
    for (; status == KVR_OK; byte = next_byte(reader)) {
        if (byte == EOF)
            return end_of_file(reader, place, err);
        status = take_byte(reader, byte, &place, err);
        if (status == KVR_OK && place == LINE_END)
            break;
    }
    reader->next_line++;
    return status;
}

static const char *field_text(const struct kvr_table_reader *reader, size_t column)
{
    return reader->text + reader->starts[column];
}

/* ------------------------------------------------------------------------------ header */

static enum kvr_status find_columns(struct kvr_table_reader *reader, struct kvr_error *err)
{
    reader->column_count = reader->count;
    for (size_t i = 0; i < reader->count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(field_text(reader, i), field_text(reader, j)) == 0)
                return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": line 1: two columns are called %s",
                                reader->path, field_text(reader, i));
    for (size_t f = 0; f < reader->field_count; f++) {
        size_t column = 0;
        while (column < reader->count &&
               strcmp(field_text(reader, column), reader->fields[f].column) != 0)
            column++;
        if (column == reader->count) {
            kvr_fail(err, KVR_BAD_INPUT, "\"%s\": line 1: expected a column %s, found none",
                     reader->path, reader->fields[f].column);
            return kvr_hint(err, "is it the table that its name says, written by kvreplay?");
        }
        reader->places[f] = column;
    }
    return KVR_OK;
}

/* The byte order mark that spreadsheets put in front of UTF-8. */
static void skip_mark(struct kvr_table_reader *reader)
{
    static const unsigned char mark[] = {0xef, 0xbb, 0xbf};
    reader->filled = fread(reader->block, 1, BLOCK, reader->stream);
    if (reader->filled >= sizeof mark && memcmp(reader->block, mark, sizeof mark) == 0)
        reader->at = sizeof mark;
}

static enum kvr_status read_header(struct kvr_table_reader *reader, struct kvr_error *err)
{
    bool more;
    skip_mark(reader);
    enum kvr_status status = read_row(reader, &more, err);
    if (status == KVR_OK && !more)
        status = fail_on_line(reader, err, "expected a header line, found an empty file");
    return status == KVR_OK ? find_columns(reader, err) : status;
}

enum kvr_status kvr_table_reader_open(const char *path, const struct kvr_field *fields,
                                      size_t field_count, struct kvr_table_reader **out,
                                      struct kvr_error *err)
{
    struct kvr_table_reader *reader = kvr_alloc(1, sizeof *reader, err);
    if (reader == NULL)
        return KVR_NO_MEMORY;
    reader->fields = fields;
    reader->field_count = field_count;
    reader->line = reader->next_line = 1;
    reader->path = kvr_copy_string(path, err);
    reader->places = kvr_alloc(field_count, sizeof *reader->places, err);
    enum kvr_status status =
        reader->path != NULL && reader->places != NULL ? KVR_OK : KVR_NO_MEMORY;
    if (status == KVR_OK) {
        reader->stream = fopen(path, "rb");
        if (reader->stream == NULL)
            status = kvr_fail(err, KVR_IO, "\"%s\": cannot be opened: %s", path, strerror(errno));
    }
    if (status == KVR_OK)
        status = read_header(reader, err);
    if (status != KVR_OK) {
        kvr_table_reader_close(reader);
        return status;
    }
    *out = reader;
    return KVR_OK;
}

void kvr_table_reader_close(struct kvr_table_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->stream != NULL)
        fclose(reader->stream);
    free(reader->path);
    free(reader->places);
    free(reader->text);
    free(reader->starts);
    free(reader);
}

/* ------------------------------------------------------------ fields to members */

/* What a writer puts for a value beyond every number. */
static bool parse_infinity(const char *text, double *value)
{
    bool negative = text[0] == '-';
    if (strcmp(text + negative, "inf") != 0)
        return false;
    *value = negative ? -HUGE_VAL : HUGE_VAL;
    return true;
}

static enum kvr_status convert(const struct kvr_table_reader *reader, const struct kvr_field *field,
                               const char *text, void *member, struct kvr_error *err)
{
    switch (field->kind) {
    case KVR_FIELD_STRING:
        *(const char **)member = text;
        return KVR_OK;
    case KVR_FIELD_UNSIGNED:
        if (kvr_parse_unsigned(text, 0, UINT64_MAX, member))
            return KVR_OK;
        return kvr_table_reader_fail(reader, field->column, err,
                                     "expected a whole number, found \"%.100s\"", text);
    case KVR_FIELD_NUMBER:
        if (kvr_parse_double(text, member))
            return KVR_OK;
        return kvr_table_reader_fail(reader, field->column, err,
                                     "expected a number, found \"%.100s\"", text);
    case KVR_FIELD_FIGURE:
        if (text[0] == '\0') {
            *(double *)member = NAN;
            return KVR_OK;
        }
        if (kvr_parse_double(text, member) || parse_infinity(text, member))
            return KVR_OK;
        return kvr_table_reader_fail(reader, field->column, err,
                                     "expected a number or nothing, found \"%.100s\"", text);
    }
    return kvr_fail(err, KVR_INTERNAL, "unknown kind of field");
}

enum kvr_status kvr_table_reader_next(struct kvr_table_reader *reader, void *row, bool *more,
                                      struct kvr_error *err)
{
    enum kvr_status status = read_row(reader, more, err);
    if (status != KVR_OK || !*more)
        return status;
    if (reader->count != reader->column_count)
        return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": line %llu: expected %zu fields, found %zu",
                        reader->path, (unsigned long long)reader->line, reader->column_count,
                        reader->count);
    for (size_t f = 0; status == KVR_OK && f < reader->field_count; f++)
        status = convert(reader, &reader->fields[f], field_text(reader, reader->places[f]),
                         (char *)row + reader->fields[f].offset, err);
    return status;
}

uint64_t kvr_table_reader_line(const struct kvr_table_reader *reader)
{
    return reader->line;
}

enum kvr_status kvr_table_each(const char *folder, const char *name, const struct kvr_field *fields,
                               size_t field_count, void *row, kvr_take_row take, void *state,
                               struct kvr_error *err)
{
    struct kvr_table_reader *reader = NULL;
    bool more = true;
    char *path = kvr_join_path(folder, name, err);
    if (path == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_table_reader_open(path, fields, field_count, &reader, err);
    free(path);
    while (status == KVR_OK) {
        status = kvr_table_reader_next(reader, row, &more, err);
        if (status != KVR_OK || !more)
            break;
        status = take(state, reader, err);
    }
    kvr_table_reader_close(reader);
    return status;
}
