/*
 * Wrapping and aligning help.
 */
#include "replay/cli/help_text.h"

#include <stdbool.h>
#include <string.h>

enum { LINE_WIDTH = 80, WIDEST_TERM = 24 };

/* Columns that UTF-8 text takes: its bytes without continuation bytes. */
static size_t width_of(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

static void print_blanks(FILE *stream, size_t count)
{
    fprintf(stream, "%*s", (int)count, "");
}

/* Prints words wrapped at LINE_WIDTH, further lines indented; the cursor stands at `column`. */
static void print_wrapped(FILE *stream, const char *text, size_t length, size_t column,
                          size_t indent)
{
    const char *end = text + length;
    bool line_has_word = false;
    while (text < end) {
        size_t word = 0;
        while (text + word < end && text[word] != ' ' && text[word] != '\n')
            word++;
        size_t width = width_of(text, word);
        if (line_has_word && column + 1 + width > LINE_WIDTH) {
            fputc('\n', stream);
            print_blanks(stream, indent);
            column = indent;
        } else if (line_has_word) {
            fputc(' ', stream);
            column++;
        }
        fwrite(text, 1, word, stream);
        column += width;
        line_has_word = true;
        text += word;
        while (text < end && (*text == ' ' || *text == '\n'))
            text++;
    }
    fputc('\n', stream);
}

void kvr_help_wrapped(FILE *stream, const char *text, size_t column, size_t indent)
{
    print_wrapped(stream, text, strlen(text), column, indent);
}

void kvr_help_item(FILE *stream, const char *name, const char *value, const char *text,
                   size_t indent)
{
    const char *blank = value != NULL ? " " : "";
    value = value != NULL ? value : "";
    fprintf(stream, "  %s%s%s", name, blank, value);
    size_t column = 2 + strlen(name) + strlen(blank) + width_of(value, strlen(value));
    if (column + 2 > indent) {
        fputc('\n', stream);
        column = 0;
    }
    print_blanks(stream, indent - column);
    print_wrapped(stream, text, strlen(text), indent, indent);
}

size_t kvr_help_term_width(const char *name, const char *value)
{
    size_t width = strlen(name) + (value != NULL ? 1 + width_of(value, strlen(value)) : 0);
    return width <= WIDEST_TERM ? width : 0;
}

void kvr_help_paragraphs(FILE *stream, const char *text)
{
    while (*text != '\0') {
        const char *newline = strchr(text, '\n');
        size_t line = newline != NULL ? (size_t)(newline - text) : strlen(text);
        if (line == 0 || *text == ' ') {
            fprintf(stream, "%.*s\n", (int)line, text);
            text += line + (newline != NULL);
            continue;
        }
        size_t length = 0;
        while (text[length] != '\0' &&
               !(text[length] == '\n' && (text[length + 1] == '\n' || text[length + 1] == ' ')))
            length++;
        print_wrapped(stream, text, length, 0, 0);
        text += length + (text[length] == '\n');
    }
}
