/*
 * A table of a paper as LaTeX, Markdown and CSV. Names come from files that are not to be trusted:
 * each form has its own escapes.
 */
#include <string.h>

#include "formats/table.h"
#include "plots/paper_table.h"

const char *const kvr_table_formats[KVR_TABLE_FORMATS] = {
    [KVR_TABLE_LATEX] = "latex",
    [KVR_TABLE_MARKDOWN] = "markdown",
    [KVR_TABLE_CSV] = "csv",
};

/* A page of a journal holds about this many lines; longer tables break over pages. */
enum { LINES_OF_A_PAGE = 48 };

static const struct kvr_table_cell *cell_at(const struct kvr_paper_table *table, size_t row,
                                            size_t column)
{
    return &table->cells[row * table->column_count + column];
}

static bool is_key(const struct kvr_column *column)
{
    return column->kind == KVR_COLUMN_KEY || column->kind == KVR_COLUMN_NUMBER;
}

/* True if the key says what it said in the row above, as all keys before it do. */
static bool repeats(const struct kvr_paper_table *table, size_t row, size_t column)
{
    if (row == 0 || !is_key(&table->columns[column]))
        return false;
    for (size_t i = 0; i <= column; i++) {
        struct kvr_text above = {0}, here = {0};
        kvr_table_cell_text(&table->columns[i], cell_at(table, row - 1, i), &above);
        kvr_table_cell_text(&table->columns[i], cell_at(table, row, i), &here);
        bool same = above.data != NULL && here.data != NULL && strcmp(above.data, here.data) == 0;
        kvr_text_free(&above);
        kvr_text_free(&here);
        if (!same)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------ LaTeX */

/* U+2265, which headings use and LaTeX's text fonts lack. */
static const char at_least[] = "≥";

static void add_latex(struct kvr_text *text, const char *string)
{
    for (const char *c = string; *c != '\0'; c++) {
        if (strncmp(c, at_least, sizeof at_least - 1) == 0) {
            kvr_text_string(text, "$\\geq$");
            c += sizeof at_least - 2;
            continue;
        }
        if (strchr("&%$#_{}", *c) != NULL)
            kvr_text_add(text, "\\%c", *c);
        else if (*c == '\\')
            kvr_text_string(text, "\\textbackslash{}");
        else if (*c == '~')
            kvr_text_string(text, "\\textasciitilde{}");
        else if (*c == '^')
            kvr_text_string(text, "\\textasciicircum{}");
        else if (*c == '<')
            kvr_text_string(text, "\\textless{}");
        else if (*c == '>')
            kvr_text_string(text, "\\textgreater{}");
        else if (*c == '"')
            kvr_text_string(text, "\\textquotedbl{}");
        else if ((unsigned char)*c < ' ' || *c == 127)
            kvr_text_string(text, " ");
        else
            kvr_text_bytes(text, c, 1);
    }
}

static void add_latex_cell(const struct kvr_column *column, const struct kvr_table_cell *cell,
                           struct kvr_text *text)
{
    struct kvr_text plain = {0};
    if (!kvr_table_cell_text(column, cell, &plain))
        kvr_text_string(text, "--");
    else if (plain.data != NULL && plain.data[0] == '-' && !is_key(column))
        kvr_text_add(text, "$%s$", plain.data);
    else
        add_latex(text, plain.data != NULL ? plain.data : "");
    kvr_text_clear(&plain);
    if (kvr_table_cell_interval(column, cell, ", ", &plain) && plain.data != NULL)
        kvr_text_add(text, " {\\scriptsize$[%s]$}", plain.data);
    kvr_text_free(&plain);
}

static void add_latex_line(const struct kvr_paper_table *table, size_t row, struct kvr_text *text)
{
    if (row > 0 && !repeats(table, row, 0))
        kvr_text_string(text, "\\addlinespace\n");
    for (size_t i = 0, told = 0; i < table->column_count; i++) {
        if (kvr_paper_table_hides(table, i))
            continue;
        kvr_text_string(text, told++ > 0 ? " & " : "");
        if (!repeats(table, row, i))
            add_latex_cell(&table->columns[i], cell_at(table, row, i), text);
    }
    kvr_text_string(text, " \\\\\n");
}

static size_t add_latex_columns(const struct kvr_paper_table *table, struct kvr_text *text)
{
    size_t shown = 0;
    for (size_t i = 0; i < table->column_count; i++)
        if (!kvr_paper_table_hides(table, i)) {
            kvr_text_string(text, table->columns[i].kind == KVR_COLUMN_KEY ? "l" : "r");
            shown++;
        }
    return shown;
}

static void add_latex_heading(const struct kvr_paper_table *table, struct kvr_text *text)
{
    kvr_text_string(text, "\\toprule\n");
    for (size_t i = 0, told = 0; i < table->column_count; i++) {
        if (kvr_paper_table_hides(table, i))
            continue;
        kvr_text_string(text, told++ > 0 ? " & " : "");
        add_latex(text, table->columns[i].heading);
    }
    kvr_text_string(text, " \\\\\n\\midrule\n");
}

static void add_latex_caption(const struct kvr_paper_table *table, struct kvr_text *text)
{
    kvr_text_string(text, "\\caption{");
    add_latex(text, table->title);
    kvr_text_string(text, ". ");
    add_latex(text, table->caption);
    kvr_text_add(text, "}\\label{tab:%s}", table->name);
}

static void add_latex_notes(const struct kvr_paper_table *table, struct kvr_text *text)
{
    for (size_t i = 0; i < table->note_count; i++) {
        kvr_text_string(text, i > 0 ? "\n" : "");
        add_latex(text, table->notes[i]);
    }
}

static void write_float(const struct kvr_paper_table *table, struct kvr_text *text)
{
    kvr_text_string(text, "\\begin{table}[t]\n\\centering\\small\n");
    add_latex_caption(table, text);
    kvr_text_string(text, "\n\\begin{tabular}{");
    size_t shown = add_latex_columns(table, text);
    kvr_text_string(text, "}\n");
    add_latex_heading(table, text);
    for (size_t row = 0; row < table->row_count; row++)
        add_latex_line(table, row, text);
    if (table->row_count == 0)
        kvr_text_add(text, "\\multicolumn{%zu}{c}{no rows} \\\\\n", shown);
    kvr_text_string(text, "\\bottomrule\n\\end{tabular}\n");
    if (table->note_count > 0) {
        kvr_text_string(text, "\\par\\smallskip\n\\begin{minipage}{\\linewidth}\\footnotesize\n");
        add_latex_notes(table, text);
        kvr_text_string(text, "\n\\end{minipage}\n");
    }
    kvr_text_string(text, "\\end{table}\n");
}

static void write_long_table(const struct kvr_paper_table *table, struct kvr_text *text)
{
    kvr_text_string(text, "{\\small\n\\begin{longtable}{");
    size_t shown = add_latex_columns(table, text);
    kvr_text_string(text, "}\n");
    add_latex_caption(table, text);
    kvr_text_string(text, " \\\\\n");
    add_latex_heading(table, text);
    kvr_text_string(text, "\\endfirsthead\n");
    add_latex_heading(table, text);
    kvr_text_add(text,
                 "\\endhead\n\\midrule\n\\multicolumn{%zu}{r}{\\footnotesize continued} \\\\\n"
                 "\\endfoot\n\\bottomrule\n\\endlastfoot\n",
                 shown);
    for (size_t row = 0; row < table->row_count; row++)
        add_latex_line(table, row, text);
    kvr_text_string(text, "\\end{longtable}}\n");
    if (table->note_count > 0) {
        kvr_text_string(text, "{\\noindent\\footnotesize\n");
        add_latex_notes(table, text);
        kvr_text_string(text, "\\par}\n");
    }
}

static void write_latex(const struct kvr_paper_table *table, struct kvr_text *text)
{
    if (table->row_count > LINES_OF_A_PAGE)
        write_long_table(table, text);
    else
        write_float(table, text);
}

/* ------------------------------------------------------------------------------ Markdown */

static void add_markdown(struct kvr_text *text, const char *string)
{
    for (const char *c = string; *c != '\0'; c++) {
        if (strchr("\\`*_{}[]<>|~#", *c) != NULL)
            kvr_text_add(text, "\\%c", *c);
        else if (*c == '&')
            kvr_text_string(text, "&amp;");
        else if ((unsigned char)*c < ' ' || *c == 127)
            kvr_text_string(text, " ");
        else
            kvr_text_bytes(text, c, 1);
    }
}

static void add_markdown_cell(const struct kvr_column *column, const struct kvr_table_cell *cell,
                              struct kvr_text *text)
{
    struct kvr_text plain = {0};
    if (kvr_table_cell_text(column, cell, &plain))
        add_markdown(text, plain.data != NULL ? plain.data : "");
    else
        kvr_text_string(text, "–");
    kvr_text_clear(&plain);
    if (kvr_table_cell_interval(column, cell, ", ", &plain) && plain.data != NULL)
        kvr_text_add(text, " \\[%s\\]", plain.data);
    kvr_text_free(&plain);
}

static void write_markdown(const struct kvr_paper_table *table, struct kvr_text *text)
{
    kvr_text_add(text, "### %s\n\n%s\n\n|", table->title, table->caption);
    for (size_t i = 0; i < table->column_count; i++)
        if (!kvr_paper_table_hides(table, i)) {
            kvr_text_string(text, " ");
            add_markdown(text, table->columns[i].heading);
            kvr_text_string(text, " |");
        }
    kvr_text_string(text, "\n|");
    for (size_t i = 0; i < table->column_count; i++)
        if (!kvr_paper_table_hides(table, i))
            kvr_text_string(text, table->columns[i].kind == KVR_COLUMN_KEY ? ":--|" : "--:|");
    kvr_text_string(text, "\n");
    for (size_t row = 0; row < table->row_count; row++) {
        kvr_text_string(text, "|");
        for (size_t i = 0; i < table->column_count; i++)
            if (!kvr_paper_table_hides(table, i)) {
                kvr_text_string(text, " ");
                add_markdown_cell(&table->columns[i], cell_at(table, row, i), text);
                kvr_text_string(text, " |");
            }
        kvr_text_string(text, "\n");
    }
    if (table->row_count == 0)
        kvr_text_string(text, "\nNo rows.\n");
    for (size_t i = 0; i < table->note_count; i++) {
        kvr_text_string(text, "\n");
        add_markdown(text, table->notes[i]);
        kvr_text_string(text, "\n");
    }
}

/* ------------------------------------------------------------------------------ CSV */

static void write_csv(const struct kvr_paper_table *table, struct kvr_text *text)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const struct kvr_column *column = &table->columns[i];
        kvr_text_add(text, "%s%s", i > 0 ? "," : "", column->name);
        if (column->interval)
            kvr_text_add(text, ",%s_low,%s_high", column->name, column->name);
    }
    kvr_text_string(text, "\n");
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            const struct kvr_table_cell *cell = cell_at(table, row, i);
            if (cell->text != NULL)
                kvr_csv_string(text, cell->text);
            else
                kvr_csv_figure(text, cell->value);
            if (table->columns[i].interval) {
                kvr_csv_figure(text, cell->low);
                kvr_csv_figure(text, cell->high);
            }
        }
        kvr_csv_end(text);
    }
}

void kvr_paper_table_write(const struct kvr_paper_table *table, enum kvr_table_format format,
                           struct kvr_text *text)
{
    switch (format) {
    case KVR_TABLE_LATEX:
        write_latex(table, text);
        break;
    case KVR_TABLE_MARKDOWN:
        write_markdown(table, text);
        break;
    default:
        write_csv(table, text);
    }
}

void kvr_paper_table_preamble(enum kvr_table_format format, struct kvr_text *text)
{
    if (format == KVR_TABLE_LATEX)
        kvr_text_string(text, "% \\usepackage{booktabs,longtable}\n"
                              "% \\usepackage[T1]{fontenc}\n\n");
}
