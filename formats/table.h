/*
 * Result tables: CSV files with a header line that appear together or not at all.
 *
 * A folder of tables is written as name.csv.tmp; kvr_tables_commit first puts every one on the
 * disk, then renames them all, so that a failed run leaves the former tables.
 */
#ifndef KVR_TABLE_H
#define KVR_TABLE_H

#include <stddef.h>

#include "formats/base/status.h"
#include "formats/base/text.h"

enum { KVR_MOST_TABLES = 32 };

struct kvr_outfile;

struct kvr_tables {
    char *folder;
    size_t count;
    struct kvr_outfile *files[KVR_MOST_TABLES];
    size_t dropped_count;
    char *dropped[KVR_MOST_TABLES]; /* paths */
};

/* Makes the folder where it is missing. */
enum kvr_status kvr_tables_open(struct kvr_tables *tables, const char *folder,
                                struct kvr_error *err);

/* Starts a file of the folder whose first line is `header` (NULL: none). The file belongs to the
   tables; write to it with kvr_outfile_write. */
enum kvr_status kvr_tables_add(struct kvr_tables *tables, const char *name, const char *header,
                               struct kvr_outfile **file, struct kvr_error *err);

/* A file of the folder that holds the text and nothing else. */
enum kvr_status kvr_tables_add_text(struct kvr_tables *tables, const char *name,
                                    const struct kvr_text *text, struct kvr_error *err);

/* A table of this name that an earlier run left is removed by kvr_tables_commit, because it would
   not belong to the others. */
enum kvr_status kvr_tables_drop(struct kvr_tables *tables, const char *name, struct kvr_error *err);

/* Ends all files and gives them their names; releases everything in any case. */
enum kvr_status kvr_tables_commit(struct kvr_tables *tables, struct kvr_error *err);

/* Removes what was written; releases everything. */
void kvr_tables_abandon(struct kvr_tables *tables);

/* Adds one CSV field, quoted as RFC 4180 says where it needs to be, and a comma before it unless
   it starts the line. */
void kvr_csv_string(struct kvr_text *row, const char *field);

/* Each adds a comma and a field: an integer, a figure (%.9g), an exact figure, or nothing. NaN
   is the mark of what does not apply, an empty field. */
void kvr_csv_unsigned(struct kvr_text *row, uint64_t value);
void kvr_csv_figure(struct kvr_text *row, double value);
void kvr_csv_exact(struct kvr_text *row, double value);

/* Ends the line. */
void kvr_csv_end(struct kvr_text *row);

#endif
