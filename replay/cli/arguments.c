/*
 * The one parser of command lines, and the conversion of option values. It knows the option table
 * that it is given, not what any option means.
 */
#include "replay/cli/command.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "replay/cli/nearest.h"

static bool is_option(const char *text)
{
    return text[0] == '-' && text[1] != '\0';
}

/* The option whose name is the first `length` bytes of text, or NULL. */
static const struct kvr_option *find_option(const struct kvr_command *command, const char *text,
                                            size_t length)
{
    for (const struct kvr_option *option = command->options; option->name != NULL; option++)
        if (strlen(option->name) == length && memcmp(option->name, text, length) == 0)
            return option;
    return NULL;
}

/* "--name=value" belongs to the option "--name"; one-letter options stand alone. */
static size_t name_length(const char *text)
{
    const char *equals = text[1] == '-' ? strchr(text, '=') : NULL;
    return equals != NULL ? (size_t)(equals - text) : strlen(text);
}

static enum kvr_status unknown_option(const struct kvr_command *command, const char *text,
                                      struct kvr_error *err)
{
    char typed[64], names[480] = "none";
    snprintf(typed, sizeof typed, "%.*s", (int)name_length(text), text);
    kvr_fail(err, KVR_BAD_ARGUMENT, "unknown option \"%s\"", typed);

    struct kvr_nearest nearest = {.typed = typed};
    size_t used = 0;
    for (const struct kvr_option *option = command->options; option->name != NULL; option++) {
        if (text[1] == option->name[1] && option->name[2] == '\0' && option->value != NULL)
            return kvr_hint(err, "write \"%s %s\", with a blank", option->name, option->value);
        kvr_nearest_offer(&nearest, option->name);
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? ", " : "", option->name);
    }
    if (nearest.name != NULL)
        return kvr_hint(err, "did you mean \"%s\"?", nearest.name);
    return kvr_hint(err, "the options of %s: %s", command->name, names);
}

/* Reads the option at argv[*index], and its value; *index moves to the last word it took. */
static enum kvr_status parse_option(const struct kvr_command *command, int argc, char **argv,
                                    int *index, struct kvr_arguments *arguments,
                                    struct kvr_error *err)
{
    const char *text = argv[*index];
    size_t length = name_length(text);
    const struct kvr_option *option = find_option(command, text, length);
    if (option == NULL)
        return unknown_option(command, text, err);
    const char **value = &arguments->values[option - command->options];
    if (*value != NULL)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: given twice", option->name);

    bool attached = text[length] == '=';
    if (option->value == NULL) {
        if (attached)
            return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: expected no value, found \"%s\"",
                            option->name, text + length + 1);
        *value = "";
        return KVR_OK;
    }
    if (attached) {
        *value = text + length + 1;
        return KVR_OK;
    }
    const char *next = *index + 1 < argc ? argv[*index + 1] : NULL;
    if (next == NULL)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: expected %s, found the end of the line",
                        option->name, option->value);
    if (find_option(command, next, name_length(next)) != NULL || strcmp(next, "--") == 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: expected %s, found the option \"%s\"",
                        option->name, option->value, next);
    *value = next;
    ++*index;
    return KVR_OK;
}

static enum kvr_status check_operands(const struct kvr_command *command,
                                      const struct kvr_arguments *arguments, struct kvr_error *err)
{
    size_t count = arguments->operand_count;
    if (count < command->least_operands) {
        kvr_fail(err, KVR_BAD_ARGUMENT, "expected %s, found %s", command->operands,
                 count == 0 ? "no operand" : "too few operands");
        return kvr_hint(err, "\"kvreplay help %s\" shows how it is called", command->name);
    }
    if (count > command->most_operands) {
        kvr_fail(err, KVR_BAD_ARGUMENT, "unexpected operand \"%s\"",
                 arguments->operands[command->most_operands]);
        return kvr_hint(err, "\"kvreplay help %s\" shows how it is called", command->name);
    }
    return KVR_OK;
}

enum kvr_status kvr_arguments_parse(const struct kvr_command *command, int argc, char **argv,
                                    struct kvr_arguments *arguments, struct kvr_error *err)
{
    *arguments = (struct kvr_arguments){.argc = argc, .argv = argv};
    size_t options = 0;
    while (command->options[options].name != NULL)
        options++;
    if (options > sizeof arguments->values / sizeof arguments->values[0])
        return kvr_fail(err, KVR_INTERNAL, "%s has %zu options, too many for the parser",
                        command->name, options);
    arguments->operands = kvr_alloc((size_t)argc, sizeof *arguments->operands, err);
    if (arguments->operands == NULL)
        return KVR_NO_MEMORY;

    enum kvr_status status = KVR_OK;
    bool ended = false;
    for (int i = 2; i < argc && status == KVR_OK; i++) {
        if (!ended && strcmp(argv[i], "--") == 0)
            ended = true;
        else if (!ended && is_option(argv[i]))
            status = parse_option(command, argc, argv, &i, arguments, err);
        else
            arguments->operands[arguments->operand_count++] = argv[i];
    }
    if (status == KVR_OK)
        status = check_operands(command, arguments, err);
    if (status != KVR_OK)
        kvr_arguments_free(arguments);
    return status;
}

void kvr_arguments_free(struct kvr_arguments *arguments)
{
    free(arguments->operands);
    *arguments = (struct kvr_arguments){0};
}

const char *kvr_argument(const struct kvr_command *command, const struct kvr_arguments *arguments,
                         const char *name)
{
    const struct kvr_option *option = find_option(command, name, strlen(name));
    return option != NULL ? arguments->values[option - command->options] : NULL;
}

enum kvr_status kvr_argument_unsigned(const char *option, const char *text, uint64_t least,
                                      uint64_t most, uint64_t *value, struct kvr_error *err)
{
    if (text == NULL || kvr_parse_unsigned(text, least, most, value))
        return KVR_OK;
    char range[64];
    if (most == UINT64_MAX)
        snprintf(range, sizeof range, "of at least %llu", (unsigned long long)least);
    else
        snprintf(range, sizeof range, "from %llu to %llu", (unsigned long long)least,
                 (unsigned long long)most);
    return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: expected a whole number %s, found \"%s\"", option,
                    range, text);
}

enum kvr_status kvr_argument_double(const char *option, const char *text, double least, double most,
                                    double *value, struct kvr_error *err)
{
    double parsed;
    if (text == NULL)
        return KVR_OK;
    if (kvr_parse_double(text, &parsed) && parsed >= least && parsed <= most) {
        *value = parsed;
        return KVR_OK;
    }
    /* The smallest positive number as a limit means "above 0", a limit beyond any other none. */
    char from[32] = "", to[32] = "";
    if (least > 0 && least <= DBL_MIN)
        snprintf(from, sizeof from, " above 0");
    else if (least > -DBL_MAX)
        snprintf(from, sizeof from, " from %g", least);
    if (most < DBL_MAX)
        snprintf(to, sizeof to, " up to %g", most);
    return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: expected a number%s%s, found \"%s\"", option, from,
                    to, text);
}

enum kvr_status kvr_argument_list(const char *option, const char *text, char ***items,
                                  size_t *count, struct kvr_error *err)
{
    size_t length = strlen(text), number = 1;
    for (const char *c = text; *c != '\0'; c++)
        number += *c == ',';
    if (length == 0 || text[0] == ',' || text[length - 1] == ',' || strstr(text, ",,") != NULL)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "%s: expected a list like a,b,c, found an empty item in \"%s\"", option,
                        text);

    /* One allocation: the pointers, then the characters that they point to. */
    size_t pointers = number * sizeof **items;
    char **list = kvr_alloc(pointers + length + 1, 1, err);
    if (list == NULL)
        return KVR_NO_MEMORY;
    char *characters = (char *)list + pointers;
    memcpy(characters, text, length);
    list[0] = characters;
    for (size_t i = 1; i < number; i++) {
        char *comma = strchr(list[i - 1], ',');
        *comma = '\0';
        list[i] = comma + 1;
    }
    *items = list;
    *count = number;
    return KVR_OK;
}

enum kvr_status kvr_hint_tables(struct kvr_error *err)
{
    return kvr_hint(err, "DIR is a folder that \"kvreplay replay TRACE -o DIR\" has filled");
}

int kvr_exit_status(enum kvr_status status)
{
    switch (status) {
    case KVR_OK:
        return KVR_EXIT_DONE;
    case KVR_BAD_ARGUMENT:
        return KVR_EXIT_USAGE;
    case KVR_BAD_INPUT:
    case KVR_UNSUPPORTED:
    case KVR_IO:
    case KVR_NO_MEMORY:
    case KVR_INTERNAL:
        break;
    }
    return KVR_EXIT_FAILED;
}
