/*
 * Building a table of a paper. It must not know the forms that it is written in.
 */
#include "plots/paper_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"

enum kvr_status kvr_paper_table_row(struct kvr_paper_table *table, struct kvr_table_cell **cells,
                                    struct kvr_error *err)
{
    size_t used = table->row_count * table->column_count;
    void *list = table->cells;
    enum kvr_status status = kvr_reserve(&list, &table->cell_capacity, used + table->column_count,
                                         sizeof *table->cells, err);
    table->cells = list;
    if (status != KVR_OK)
        return status;
    *cells = table->cells + used;
    for (size_t i = 0; i < table->column_count; i++)
        (*cells)[i] = (struct kvr_table_cell){NULL, NAN, NAN, NAN};
    table->row_count++;
    return KVR_OK;
}

enum kvr_status kvr_paper_table_note(struct kvr_paper_table *table, struct kvr_error *err,
                                     const char *format, ...)
{
    char note[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(note, sizeof note, format, args);
    va_end(args);
    for (size_t i = 0; i < table->note_count; i++)
        if (strcmp(table->notes[i], note) == 0)
            return KVR_OK;
    void *list = table->notes;
    enum kvr_status status =
        kvr_reserve(&list, &table->note_capacity, table->note_count + 1, sizeof *table->notes, err);
    table->notes = list;
    if (status != KVR_OK)
        return status;
    table->notes[table->note_count] = kvr_copy_string(note, err);
    return table->notes[table->note_count++] != NULL ? KVR_OK : KVR_NO_MEMORY;
}

void kvr_paper_table_free(struct kvr_paper_table *table)
{
    for (size_t i = 0; i < table->note_count; i++)
        free(table->notes[i]);
    free(table->notes);
    free(table->cells);
    *table = (struct kvr_paper_table){.name = NULL};
}

bool kvr_paper_table_hides(const struct kvr_paper_table *table, size_t column)
{
    if (table->columns[column].kind != KVR_COLUMN_FIGURE || table->row_count == 0)
        return false;
    for (size_t row = 0; row < table->row_count; row++)
        if (!isnan(table->cells[row * table->column_count + column].value))
            return false;
    return true;
}

/* Minus zero, and what rounds to it, is zero. */
static void add_rounded(struct kvr_text *text, double value, int decimals)
{
    char digits[64];
    snprintf(digits, sizeof digits, "%.*f", decimals, value);
    bool zero = digits[0] == '-' && strspn(digits + 1, "0.") == strlen(digits + 1);
    kvr_text_string(text, zero ? digits + 1 : digits);
}

bool kvr_table_cell_text(const struct kvr_column *column, const struct kvr_table_cell *cell,
                         struct kvr_text *text)
{
    if (cell->text != NULL)
        kvr_text_string(text, cell->text);
    else if (isnan(cell->value))
        return false;
    else if (column->kind == KVR_COLUMN_FIGURE)
        add_rounded(text, cell->value, column->decimals);
    else
        kvr_text_add(text, "%" PRIu64, (uint64_t)cell->value);
    return true;
}

bool kvr_table_cell_interval(const struct kvr_column *column, const struct kvr_table_cell *cell,
                             const char *between, struct kvr_text *text)
{
    if (isnan(cell->low) || isnan(cell->high))
        return false;
    add_rounded(text, cell->low, column->decimals);
    kvr_text_string(text, between);
    add_rounded(text, cell->high, column->decimals);
    return true;
}
