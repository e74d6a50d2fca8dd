/*
 * The help: of kvreplay, and of one command from its option table. It knows what help consists of,
 * not what any option means.
 */
#include "replay/cli/command.h"

#include <string.h>

#include "replay/cli/help_policies.h"
#include "replay/cli/help_text.h"

static void print_overview(FILE *stream)
{
    kvr_help_paragraphs(
        stream, "kvreplay " KVREPLAY_VERSION " - offline replay of recorded attention: what "
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
        kvr_help_item(stream, kvr_commands[i]->name, NULL, kvr_commands[i]->summary, widest + 5);
    fputc('\n', stream);
    kvr_help_paragraphs(
        stream, "Options of a command may stand anywhere; lists are comma separated, without "
                "blanks. \"kvreplay help <command>\" or \"kvreplay <command> --help\" shows a "
                "command's options, \"kvreplay help policies\" the eviction policies and "
                "their stages, \"kvreplay --version\" the version.\n\n"
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
    kvr_help_wrapped(stream, command->summary, column, 0);
    fprintf(stream, "\nUsage: kvreplay %s%s%s%s\n", command->name,
            command->options->name != NULL ? " [options]" : "",
            *command->operands != '\0' ? " " : "", command->operands);
    if (command->text != NULL) {
        fputc('\n', stream);
        kvr_help_paragraphs(stream, command->text);
    }
    size_t widest = strlen("--help");
    for (const struct kvr_option *option = command->options; option->name != NULL; option++) {
        size_t width = kvr_help_term_width(option->name, option->value);
        widest = width > widest ? width : widest;
    }
    fputs("\nOptions:\n", stream);
    for (const struct kvr_option *option = command->options; option->name != NULL; option++)
        kvr_help_item(stream, option->name, option->value, option->help, widest + 4);
    kvr_help_item(stream, "--help", NULL, "shows this text", widest + 4);
}

static int run_help(const struct kvr_command *command, const struct kvr_arguments *arguments,
                    struct kvr_error *err)
{
    (void)command;
    const struct kvr_command *asked = NULL;
    if (arguments->operand_count > 0 && strcmp(arguments->operands[0], "policies") == 0) {
        kvr_print_policies(stdout);
        return KVR_EXIT_DONE;
    }
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
    .operands = "[COMMAND | policies]",
    .summary = "shows the commands, how one of them is called, or the policies",
    .most_operands = 1,
    .options = options,
    .run = run_help,
};
