/*
 * The commands of kvreplay and the one parser of their options.
 *
 * A command is a row of a table: its name, its options and a function. The same option table
 * parses the command line and prints the help, so the two cannot differ.
 */
#ifndef KVR_COMMAND_H
#define KVR_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

#define KVREPLAY_VERSION "0.1.0"

/* Exit statuses, as the README promises them. */
enum {
    KVR_EXIT_DONE = 0,
    KVR_EXIT_FAILED = 1,   /* an input is bad or a step failed */
    KVR_EXIT_USAGE = 2,    /* the command line is wrong */
    KVR_EXIT_VIOLATED = 3, /* `bounds` found a violation */
};

/* An option that takes a value is given as `--name value` or `--name=value`. */
struct kvr_option {
    const char *name;  /* "--budget", or "-o" */
    const char *value; /* what stands for its value in the help, NULL for a switch */
    const char *help;  /* one line; the default in parentheses at its end */
};

/* A parsed command line: values[i] belongs to options[i], NULL if it was not given ("" for a
   switch that was). Strings point into argv. */
struct kvr_arguments {
    const char *values[64];
    size_t operand_count;
    const char **operands;
    int argc; /* the whole command line, for run.json */
    char **argv;
};

struct kvr_command {
    const char *name;
    const char *operands; /* "TRACE…", for the usage line */
    const char *summary;  /* one line for the list of commands */
    const char *text;     /* further paragraphs of its help, or NULL */
    size_t least_operands, most_operands;
    const struct kvr_option *options; /* ends with a NULL name */
    /* Returns an exit status of its own, or fills *err: then the caller prints it. */
    int (*run)(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err);
};

/* Every command, in the order of the help; each is defined in cmd_<name>.c. Ends with NULL. */
extern const struct kvr_command *const kvr_commands[];

/* The command called `name`, or NULL. */
const struct kvr_command *kvr_find_command(const char *name);

/* Fills *err for a name that kvr_find_command does not know. */
enum kvr_status kvr_fail_unknown_command(const char *name, struct kvr_error *err);

/*
 * Parses argv[2] and what follows against the command's options. Options and operands may be mixed;
 * "--" ends the options, "-" is an operand. KVR_BAD_ARGUMENT names an option that is unknown, given
 * twice, or lacks its value, and a wrong number of operands. Release with kvr_arguments_free.
 */
enum kvr_status kvr_arguments_parse(const struct kvr_command *command, int argc, char **argv,
                                    struct kvr_arguments *arguments, struct kvr_error *err);
void kvr_arguments_free(struct kvr_arguments *arguments);

/* The value of option `name` of this command, NULL if it was not given. */
const char *kvr_argument(const struct kvr_command *command, const struct kvr_arguments *arguments,
                         const char *name);

/* Each fills *err with the option's name, its value and the legal range; text NULL leaves *value.
 */
enum kvr_status kvr_argument_unsigned(const char *option, const char *text, uint64_t least,
                                      uint64_t most, uint64_t *value, struct kvr_error *err);
/* least and most are inclusive. */
enum kvr_status kvr_argument_double(const char *option, const char *text, double least, double most,
                                    double *value, struct kvr_error *err);

/* Splits a comma-separated list; *items is one allocation to free. Empty items are refused. */
enum kvr_status kvr_argument_list(const char *option, const char *text, char ***items,
                                  size_t *count, struct kvr_error *err);

/* A hint for a folder of tables that cannot be read. */
enum kvr_status kvr_hint_tables(struct kvr_error *err);

/* The exit status that belongs to a status. */
int kvr_exit_status(enum kvr_status status);

/* The help of one command; command NULL: what kvreplay is and the list of commands. In `text`,
   blank lines separate paragraphs, which are wrapped; lines that start with a blank stay as
   they are. */
void kvr_print_help(FILE *stream, const struct kvr_command *command);

#endif
