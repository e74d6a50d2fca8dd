/*
 * Putting the program together. It must not know what the kernels do.
 */
#include "replay/gpu/kernels.h"

#include <string.h>

static const char prelude[] = "prelude_";
static const char common[] = "numbers";

static void add_lines(const struct kvr_kernel_file *file, struct kvr_text *text)
{
    for (const char *const *line = file->lines; *line != NULL; line++)
        kvr_text_add(text, "%s\n", *line);
}

static bool is_prelude(const struct kvr_kernel_file *file)
{
    return strncmp(file->name, prelude, sizeof prelude - 1) == 0;
}

void kvr_kernel_program(const char *host, struct kvr_text *text)
{
    const struct kvr_kernel_file *file;
    for (file = kvr_kernel_files; file->name != NULL; file++)
        if (is_prelude(file) && strcmp(file->name + sizeof prelude - 1, host) == 0)
            add_lines(file, text);
    for (file = kvr_kernel_files; file->name != NULL; file++)
        if (strcmp(file->name, common) == 0)
            add_lines(file, text);
    for (file = kvr_kernel_files; file->name != NULL; file++)
        if (!is_prelude(file) && strcmp(file->name, common) != 0)
            add_lines(file, text);
}
