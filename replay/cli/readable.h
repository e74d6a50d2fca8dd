/*
 * Figures, names and columns as a person reads them on a terminal. No command's wording here.
 */
#ifndef KVR_READABLE_H
#define KVR_READABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"
#include "formats/base/text.h"

/* "33,104,350". */
void kvr_text_thousands(struct kvr_text *text, uint64_t value);

/* "512 bytes", "33.1 MB": decimal units, three figures. */
void kvr_text_size(struct kvr_text *text, uint64_t bytes);

/* Ascending numbers: "0-29", "0, 7, 15, 29"; after `most` ranges "and 12 more". */
void kvr_text_ranges(struct kvr_text *text, const uint64_t *numbers, size_t count, size_t most);

/* A string from a file, without bytes that could move the cursor. */
void kvr_text_printable(struct kvr_text *text, const char *string);

/* One line, cut at 1 kB, that may hold strings from files; the newline is added. */
void kvr_print_line(FILE *stream, const char *format, ...) KVR_PRINTF(2, 3);

/* A name from a file, cut at 255 bytes, left-aligned in `width` columns. */
void kvr_print_name(FILE *stream, int width, const char *name);

/* Cells of a table that is aligned when all of it is known. Zero-initialised is empty. */
struct kvr_columns {
    struct kvr_text cells; /* each ends with '\t', the last of a row with '\n' */
};

/* Adds a cell to the current row; control characters are replaced. */
void kvr_columns_cell(struct kvr_columns *columns, const char *format, ...) KVR_PRINTF(2, 3);
void kvr_columns_end_row(struct kvr_columns *columns);

/*
 * Writes the rows to text, indented by two blanks, and forgets them. alignment has a letter for
 * each column: 'l' or 'r'.
 */
void kvr_columns_write(struct kvr_columns *columns, const char *alignment, struct kvr_text *text);

void kvr_columns_free(struct kvr_columns *columns);

#endif
