/*
 * Reading a table of results: CSV as formats/table.h writes it, one row at a time.
 *
 * The caller describes a row as a structure and says which column fills which member; columns are
 * found by name once, so tables may gain columns. Memory is bounded by the longest row, never by
 * the table. What is not understood is refused with file, line and column: a figure of a paper
 * must not come from a table that was cut off or mended by hand.
 */
#ifndef KVR_TABLE_READER_H
#define KVR_TABLE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

enum kvr_field_kind {
    KVR_FIELD_STRING,   /* const char *: valid until the next row */
    KVR_FIELD_UNSIGNED, /* uint64_t; a field that is empty is refused */
    KVR_FIELD_NUMBER,   /* double; a field that is empty is refused */
    KVR_FIELD_FIGURE,   /* double; NaN where the field is empty: it does not apply */
};

/* A column and the member of the caller's row that it fills. */
struct kvr_field {
    const char *column;
    enum kvr_field_kind kind;
    size_t offset;
};

/* Column and member of one name, within braces: {KVR_FIELD(struct row, uor, KVR_FIELD_NUMBER)}. */
#define KVR_FIELD(type, member, kind) #member, kind, offsetof(type, member)

struct kvr_table_reader;

/*
 * Opens the table at `path` and finds the columns; `fields` must outlive the reader. KVR_IO if it
 * cannot be read, KVR_BAD_INPUT if the header lacks a column or names one twice.
 */
enum kvr_status kvr_table_reader_open(const char *path, const struct kvr_field *fields,
                                      size_t field_count, struct kvr_table_reader **out,
                                      struct kvr_error *err);

/* NULL is allowed. */
void kvr_table_reader_close(struct kvr_table_reader *reader);

/*
 * Fills *row, whose layout the fields describe; *more is false after the last row, and then *row
 * is left as it was. Every row must have as many fields as the header, and the last one must end
 * with a line break: without it the table was cut off.
 */
enum kvr_status kvr_table_reader_next(struct kvr_table_reader *reader, void *row, bool *more,
                                      struct kvr_error *err);

/* The line on which the current row starts; the header is on line 1. */
uint64_t kvr_table_reader_line(const struct kvr_table_reader *reader);

/* KVR_BAD_INPUT with file, line and column in front, for a value that is well formed and yet
   cannot be: `return kvr_table_reader_fail(reader, "ratio", err, "expected …, found …")`. */
enum kvr_status kvr_table_reader_fail(const struct kvr_table_reader *reader, const char *column,
                                      struct kvr_error *err, const char *format, ...)
    KVR_PRINTF(4, 5);

/* What kvr_table_each calls for each row; the row is in the place that it was given. */
typedef enum kvr_status (*kvr_take_row)(void *state, const struct kvr_table_reader *reader,
                                        struct kvr_error *err);

/* Opens folder/name, fills *row and calls take for every row in turn, closes. */
enum kvr_status kvr_table_each(const char *folder, const char *name, const struct kvr_field *fields,
                               size_t field_count, void *row, kvr_take_row take, void *state,
                               struct kvr_error *err);

#endif
