/*
 * The help: of kvreplay, and of one command from its option table. It knows how help looks, not
 * what any option means.
 */
#include "replay/cli/command.h"

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

/* "  term   explanation", the explanations of a list aligned at `indent`. */
static void print_item(FILE *stream, const char *name, const char *value, const char *text,
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

static size_t term_width(const char *name, const char *value)
{
    size_t width = strlen(name) + (value != NULL ? 1 + width_of(value, strlen(value)) : 0);
    return width <= WIDEST_TERM ? width : 0;
}

/* Paragraphs are wrapped; lines that start with a blank, such as examples, stay as they are. */
static void print_paragraphs(FILE *stream, const char *text)
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

static void print_overview(FILE *stream)
{
    print_paragraphs(stream,
                     "kvreplay " KVREPLAY_VERSION " - offline replay of recorded attention: what "
                     "KV-cache eviction under grouped-query attention would have kept, and what "
                     "that means\n\n"
                     "Usage: kvreplay <command> [options] …\n\n"
                     "Commands:");
    size_t widest = 0;
    for (size_t i = 0; kvr_commands[i] != NULL; i++) {
        size_t width = strlen(kvr_commands[i]->name);
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; kvr_commands[i] != NULL; i++)
        print_item(stream, kvr_commands[i]->name, NULL, kvr_commands[i]->summary, widest + 5);
    fputc('\n', stream);
    print_paragraphs(stream,
                     "Options of a command may stand anywhere; lists are comma separated, without "
                     "blanks. \"kvreplay help <command>\" or \"kvreplay <command> --help\" shows a "
                     "command's options, \"kvreplay --version\" the version.\n\n"
                     "Exit status: 0 done; 1 an input is bad or a step failed; 2 the command line "
                     "is wrong; 3 a bound is violated.");
}

void kvr_print_help(FILE *stream, const struct kvr_command *command)
{
    if (command == NULL) {
        print_overview(stream);
        return;
    }
    fprintf(stream, "kvreplay %s - ", command->name);
    size_t column = strlen("kvreplay  - ") + strlen(command->name);
    print_wrapped(stream, command->summary, strlen(command->summary), column, 0);
    fprintf(stream, "\nUsage: kvreplay %s%s%s%s\n", command->name,
            command->options->name != NULL ? " [options]" : "",
            *command->operands != '\0' ? " " : "", command->operands);
    if (command->text != NULL) {
        fputc('\n', stream);
        print_paragraphs(stream, command->text);
    }
    size_t widest = strlen("--help");
    for (const struct kvr_option *option = command->options; option->name != NULL; option++) {
        size_t width = term_width(option->name, option->value);
        widest = width > widest ? width : widest;
    }
    fputs("\nOptions:\n", stream);
    for (const struct kvr_option *option = command->options; option->name != NULL; option++)
        print_item(stream, option->name, option->value, option->help, widest + 4);
    print_item(stream, "--help", NULL, "shows this text", widest + 4);
}

static int run_help(const struct kvr_command *command, const struct kvr_arguments *arguments,
                    struct kvr_error *err)
{
    (void)command;
    const struct kvr_command *asked = NULL;
    if (arguments->operand_count > 0) {
        asked = kvr_find_command(arguments->operands[0]);
        if (asked == NULL) {
            kvr_fail_unknown_command(arguments->operands[0], err);
            return KVR_EXIT_USAGE;
        }
    }
    kvr_print_help(stdout, asked);
    return KVR_EXIT_DONE;
}

static const struct kvr_option options[] = {{NULL, NULL, NULL}};

const struct kvr_command kvr_command_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .summary = "shows the commands, or how one of them is called",
    .most_operands = 1,
    .options = options,
    .run = run_help,
};
