/*
 * Options of pictures, from words to what a plotter is asked for.
 */
#include "replay/cli/picture_options.h"

#include <stdlib.h>
#include <string.h>

static enum kvr_status choose_formats(const char *text, struct kvr_plot_options *options,
                                      struct kvr_error *err)
{
    char **names = NULL;
    size_t count = 0;
    enum kvr_status status =
        kvr_argument_list("--format", text != NULL ? text : "svg", &names, &count, err);
    for (size_t i = 0; status == KVR_OK && i < count; i++) {
        unsigned format = 0;
        while (format < KVR_PICTURE_TEXT && strcmp(names[i], kvr_picture_format_names[format]) != 0)
            format++;
        if (format == KVR_PICTURE_TEXT)
            status =
                kvr_fail(err, KVR_BAD_ARGUMENT,
                         "--format: expected svg, pdf, png or tex, found \"%.100s\"", names[i]);
        else
            options->formats[format] = true;
    }
    free(names);
    return status;
}

static enum kvr_status choose_width(const char *text, struct kvr_plot_options *options,
                                    struct kvr_error *err)
{
    options->wide = text != NULL && strcmp(text, "double") == 0;
    if (text == NULL || options->wide || strcmp(text, "single") == 0)
        return KVR_OK;
    return kvr_fail(err, KVR_BAD_ARGUMENT, "--width: expected single or double, found \"%.100s\"",
                    text);
}

enum kvr_status kvr_picture_options_parse(const struct kvr_command *command,
                                          const struct kvr_arguments *arguments,
                                          struct kvr_plot_options *options, struct kvr_error *err)
{
    enum kvr_status status =
        choose_formats(kvr_argument(command, arguments, "--format"), options, err);
    return status == KVR_OK
               ? choose_width(kvr_argument(command, arguments, "--width"), options, err)
               : status;
}

void kvr_print_plot_notes(const char *before, const char *lines)
{
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        if (strspn(lines, " \t^") < length)
            fprintf(stderr, "note: %s%.*s\n", before, (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}
