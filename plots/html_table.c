/*
 * Laying a table out as HTML. It must not know what it holds.
 */
#include "plots/html_table.h"

#include <math.h>

#include "plots/html_text.h"

static void add_heading(struct kvr_text *text, const struct kvr_column *column)
{
    bool number = column->kind != KVR_COLUMN_KEY;
    bool key = column->kind == KVR_COLUMN_KEY || column->kind == KVR_COLUMN_NUMBER;
    kvr_text_add(text, "<th scope=\"col\"%s%s>", number ? " class=\"n\"" : "",
                 key ? " data-key=\"\"" : "");
    kvr_html_string(text, column->heading);
    kvr_text_string(text, "</th>");
}

static void add_content(struct kvr_text *text, const struct kvr_column *column,
                        const struct kvr_table_cell *cell)
{
    struct kvr_text plain = {0};
    if (kvr_table_cell_text(column, cell, &plain))
        kvr_html_string(text, plain.data != NULL ? plain.data : "");
    else
        kvr_text_string(text, "<span class=\"none\">–</span>");
    kvr_text_clear(&plain);
    if (kvr_table_cell_interval(column, cell, "–", &plain) && plain.data != NULL)
        kvr_text_add(text, " <span class=\"ci\">[%s]</span>", plain.data);
    kvr_text_free(&plain);
}

static void add_cell(struct kvr_text *text, const struct kvr_column *column,
                     const struct kvr_table_cell *cell, bool first)
{
    kvr_text_string(text, first ? "<th scope=\"row\"" : "<td");
    if (column->kind != KVR_COLUMN_KEY)
        kvr_text_string(text, " class=\"n\"");
    if (cell->text == NULL && !isnan(cell->value)) {
        kvr_text_string(text, " data-v=\"");
        kvr_text_figure(text, cell->value);
        kvr_text_string(text, "\"");
    }
    kvr_text_string(text, ">");
    add_content(text, column, cell);
    kvr_text_string(text, first ? "</th>" : "</td>");
}

static void add_row(struct kvr_text *text, const struct kvr_paper_table *table, size_t row)
{
    const struct kvr_table_cell *cells = &table->cells[row * table->column_count];
    kvr_text_string(text, "<tr>");
    for (size_t i = 0; i < table->column_count; i++)
        if (!kvr_paper_table_hides(table, i))
            add_cell(text, &table->columns[i], &cells[i], i == 0);
    kvr_text_string(text, "</tr>\n");
}

void kvr_html_table(struct kvr_text *text, const struct kvr_paper_table *table, const char *id,
                    const char *label)
{
    if (table->row_count > 0) {
        kvr_text_add(text,
                     "<div class=\"scroll\" role=\"region\" tabindex=\"0\" id=\"%s\" "
                     "aria-label=\"",
                     id);
        kvr_html_string(text, label);
        kvr_text_string(text, "\">\n<table>\n<thead><tr>");
        for (size_t i = 0; i < table->column_count; i++)
            if (!kvr_paper_table_hides(table, i))
                add_heading(text, &table->columns[i]);
        kvr_text_string(text, "</tr></thead>\n<tbody>\n");
        for (size_t row = 0; row < table->row_count; row++)
            add_row(text, table, row);
        kvr_text_string(text, "</tbody>\n</table>\n</div>\n");
    } else {
        kvr_text_string(text,
                        "<p class=\"empty\">Nothing to show: the replay has no such rows.</p>\n");
    }
    if (table->note_count == 0)
        return;
    kvr_text_string(text, "<ul class=\"notes\">\n");
    for (size_t i = 0; i < table->note_count; i++) {
        kvr_text_string(text, "<li>");
        kvr_html_string(text, table->notes[i]);
        kvr_text_string(text, "</li>\n");
    }
    kvr_text_string(text, "</ul>\n");
}
