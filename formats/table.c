/*
 * CSV tables. It must not know which columns a table has.
 */
#include "formats/table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/base/temporary.h"

enum kvr_status kvr_tables_open(struct kvr_tables *tables, const char *folder,
                                struct kvr_error *err)
{
    *tables = (struct kvr_tables){.folder = kvr_copy_string(folder, err)};
    if (tables->folder == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_make_folder(folder, err);
    if (status != KVR_OK)
        kvr_tables_abandon(tables);
    return status;
}

enum kvr_status kvr_tables_add(struct kvr_tables *tables, const char *name, const char *header,
                               struct kvr_outfile **file, struct kvr_error *err)
{
    if (tables->count == KVR_MOST_TABLES)
        return kvr_fail(err, KVR_INTERNAL, "more than %d tables", KVR_MOST_TABLES);
    char *path = kvr_join_path(tables->folder, name, err);
    if (path == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_outfile_open(path, file, err);
    free(path);
    if (status != KVR_OK)
        return status;
    tables->files[tables->count++] = *file;
    if (header == NULL)
        return KVR_OK;
    status = kvr_outfile_write(*file, header, strlen(header), err);
    return status == KVR_OK ? kvr_outfile_write(*file, "\n", 1, err) : status;
}

enum kvr_status kvr_tables_add_text(struct kvr_tables *tables, const char *name,
                                    const struct kvr_text *text, struct kvr_error *err)
{
    struct kvr_outfile *file;
    enum kvr_status status = kvr_text_check(text, err);
    if (status == KVR_OK)
        status = kvr_tables_add(tables, name, NULL, &file, err);
    return status == KVR_OK ? kvr_outfile_write(file, text->data, text->length, err) : status;
}

enum kvr_status kvr_tables_drop(struct kvr_tables *tables, const char *name, struct kvr_error *err)
{
    if (tables->dropped_count == KVR_MOST_TABLES)
        return kvr_fail(err, KVR_INTERNAL, "more than %d tables", KVR_MOST_TABLES);
    char *path = kvr_join_path(tables->folder, name, err);
    if (path == NULL)
        return KVR_NO_MEMORY;
    tables->dropped[tables->dropped_count++] = path;
    return KVR_OK;
}

enum kvr_status kvr_tables_commit(struct kvr_tables *tables, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < tables->count; i++)
        status = kvr_outfile_finish(tables->files[i], err);
    kvr_signals_hold(); /* a signal must not leave tables of two runs side by side */
    for (size_t i = 0; status == KVR_OK && i < tables->count; i++) {
        status = kvr_outfile_commit(tables->files[i], err);
        tables->files[i] = NULL;
    }
    for (size_t i = 0; status == KVR_OK && i < tables->dropped_count; i++)
        (void)unlink(tables->dropped[i]); /* mostly it is not there */
    kvr_signals_release();
    kvr_tables_abandon(tables);
    return status;
}

void kvr_tables_abandon(struct kvr_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        kvr_outfile_abandon(tables->files[i]);
    for (size_t i = 0; i < tables->dropped_count; i++)
        free(tables->dropped[i]);
    free(tables->folder);
    *tables = (struct kvr_tables){0};
}

void kvr_csv_string(struct kvr_text *row, const char *field)
{
    bool starts_line = row->length == 0 || row->data[row->length - 1] == '\n';
    if (!starts_line)
        kvr_text_bytes(row, ",", 1);
    /* An empty first field is quoted, or the next one could not tell that there was one. */
    bool quoted = field[strcspn(field, ",\"\r\n")] != '\0' || (starts_line && *field == '\0');
    if (!quoted) {
        kvr_text_string(row, field);
        return;
    }
    kvr_text_bytes(row, "\"", 1);
    for (const char *c = field; *c != '\0'; c++) {
        if (*c == '"')
            kvr_text_bytes(row, "\"", 1);
        kvr_text_bytes(row, c, 1);
    }
    kvr_text_bytes(row, "\"", 1);
}

void kvr_csv_unsigned(struct kvr_text *row, uint64_t value)
{
    kvr_text_bytes(row, ",", 1);
    kvr_text_unsigned(row, value);
}

void kvr_csv_figure(struct kvr_text *row, double value)
{
    kvr_text_bytes(row, ",", 1);
    kvr_text_figure(row, value);
}

void kvr_csv_exact(struct kvr_text *row, double value)
{
    kvr_text_bytes(row, ",", 1);
    kvr_text_exact(row, value);
}

void kvr_csv_end(struct kvr_text *row)
{
    kvr_text_bytes(row, "\n", 1);
}
