/*
 * A table of a paper: columns, cells with intervals, footnotes; and writing it as LaTeX, Markdown
 * or CSV.
 *
 * Every form comes from the same cells, so a rounded figure in a paper is a figure of the CSV. It
 * must not know where the cells come from.
 */
#ifndef KVR_PAPER_TABLE_H
#define KVR_PAPER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/bootstrap.h"
#include "formats/base/status.h"
#include "formats/base/text.h"

enum kvr_column_kind {
    KVR_COLUMN_KEY,    /* a name: what the line is about */
    KVR_COLUMN_NUMBER, /* a number that is a name as well: a page size, a budget */
    KVR_COLUMN_COUNT,
    KVR_COLUMN_FIGURE,
};

struct kvr_column {
    const char *name;    /* in CSV: "uor_mean" */
    const char *heading; /* for people: "UOR mean" */
    enum kvr_column_kind kind;
    int decimals;  /* of a figure, for people */
    bool interval; /* CSV has name_low and name_high as well */
};

struct kvr_table_cell {
    const char *text;        /* of a key or number, as it was given; borrowed */
    double value, low, high; /* NaN: does not apply, no interval */
};

struct kvr_paper_table {
    const char *name;    /* "union": what --table asks for, and the LaTeX label */
    const char *title;   /* a few words */
    const char *caption; /* what the figures mean, in a sentence or two */
    const struct kvr_column *columns;
    size_t column_count;
    size_t row_count, cell_capacity;
    struct kvr_table_cell *cells; /* [row_count][column_count] */
    size_t note_count, note_capacity;
    char **notes; /* footnotes: samples, intervals, exclusions */
};

/* Adds an empty row, *cells = [column_count], valid until the next one. */
enum kvr_status kvr_paper_table_row(struct kvr_paper_table *table, struct kvr_table_cell **cells,
                                    struct kvr_error *err);

/* Adds a footnote; one that is there already is not repeated. */
enum kvr_status kvr_paper_table_note(struct kvr_paper_table *table, struct kvr_error *err,
                                     const char *format, ...) KVR_PRINTF(3, 4);

void kvr_paper_table_free(struct kvr_paper_table *table);

/* A column of figures that no row has: people need not see it. */
bool kvr_paper_table_hides(const struct kvr_paper_table *table, size_t column);

/* A cell as people read it, without interval: the text, a count with no separators, a figure with
   the column's decimals. False, and nothing is added, if it does not apply. */
bool kvr_table_cell_text(const struct kvr_column *column, const struct kvr_table_cell *cell,
                         struct kvr_text *text);

/* True if the cell has an interval; adds "low, high" with the column's decimals. */
bool kvr_table_cell_interval(const struct kvr_column *column, const struct kvr_table_cell *cell,
                             const char *between, struct kvr_text *text);

enum kvr_table_format { KVR_TABLE_LATEX, KVR_TABLE_MARKDOWN, KVR_TABLE_CSV, KVR_TABLE_FORMATS };
extern const char *const kvr_table_formats[KVR_TABLE_FORMATS]; /* "latex", … */

/* A table without rows says so, except in CSV, where the header stands alone. */
void kvr_paper_table_write(const struct kvr_paper_table *table, enum kvr_table_format format,
                           struct kvr_text *text);

/* LaTeX: the packages that the tables need, as a comment; once per file. */
void kvr_paper_table_preamble(enum kvr_table_format format, struct kvr_text *text);

#endif
