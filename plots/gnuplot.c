/*
 * Finding, asking and running gnuplot as a child process.
 */
#include "plots/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/outfile.h"

/* ------------------------------------------------------------------------------ a child */

/* Locales, and what changes gnuplot's defaults. */
static bool is_dropped(const char *entry)
{
    static const char *const starts[] = {"LC_", "LANG=", "LANGUAGE=", "GNUTERM=", "GNUPLOT_LIB="};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(entry, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* The environment with '.' as decimal point and UTF-8 as text; one allocation. */
static char **child_environment(struct kvr_error *err)
{
    static char numbers[] = "LC_NUMERIC=C", characters[] = "LC_CTYPE=C.UTF-8";
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **list = kvr_alloc(count + 3, sizeof *list, err);
    if (list == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_dropped(environ[i]))
            list[kept++] = environ[i];
    list[kept++] = numbers;
    list[kept] = characters;
    return list;
}

static void read_all(int stream, struct kvr_text *text)
{
    char block[4096];
    for (;;) {
        ssize_t length = read(stream, block, sizeof block);
        if (length > 0)
            kvr_text_bytes(text, block, (size_t)length);
        else if (length == 0 || errno != EINTR)
            return;
    }
}

/* Starts the program with both its output streams on `output`. */
static int start(const struct kvr_gnuplot *gnuplot, const char *folder, const char **arguments,
                 char **environment, int output, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0)
        return failed;
    failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    if (failed == 0 && folder != NULL)
        failed = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (failed == 0)
        failed = posix_spawn(child, gnuplot->path, &actions, NULL, (char **)arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static int wait_for(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The line with the place of an error, else the last that says something; echoed commands and
   carets do not. */
static void first_message(const char *text, char *message, size_t room)
{
    message[0] = '\0';
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "\n");
        size_t blanks = strspn(text, " \t^");
        if (blanks < length && strncmp(text, "gnuplot>", 8) != 0) {
            snprintf(message, room, "%.*s", (int)(length - blanks), text + blanks);
            if (strstr(message, "line ") != NULL && strstr(message, "warning") == NULL)
                return;
        }
        text += length + (text[length] == '\n');
    }
}

enum kvr_status kvr_gnuplot_run(const struct kvr_gnuplot *gnuplot, const char *folder,
                                const char *commands, const char *script, struct kvr_text *messages,
                                struct kvr_error *err)
{
    const char *arguments[] = {"gnuplot", "-d", "-e", commands, script, NULL};
    int pipes[2];
    pid_t child;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be run: %s", gnuplot->path, strerror(errno));
    char **environment = child_environment(err);
    int failed = environment == NULL
                     ? ENOMEM
                     : start(gnuplot, folder, arguments, environment, pipes[1], &child);
    free(environment);
    close(pipes[1]);
    if (failed == 0)
        read_all(pipes[0], messages);
    close(pipes[0]);
    if (failed != 0)
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be run: %s", gnuplot->path, strerror(failed));
    int status = wait_for(child);
    if (status == 0)
        return kvr_text_check(messages, err);
    char message[300];
    first_message(messages->data, message, sizeof message);
    return kvr_fail(err, KVR_IO, "\"%s\": failed%s%s", gnuplot->path,
                    message[0] != '\0' ? ": " : "", message);
}

/* ------------------------------------------------------------------------------ which one */

/* The first executable file "gnuplot" in the folders of PATH, or NULL. */
static char *look_along_path(struct kvr_error *err)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        char *folder = kvr_copy_bytes(path, length, err);
        char *file =
            folder != NULL ? kvr_join_path(length > 0 ? folder : ".", "gnuplot", err) : NULL;
        free(folder);
        struct stat info;
        if (file == NULL ||
            (stat(file, &info) == 0 && S_ISREG(info.st_mode) && access(file, X_OK) == 0))
            return file;
        free(file);
        path += length + (path[length] == ':');
    }
    return NULL;
}

static enum kvr_status ask(struct kvr_gnuplot *gnuplot, struct kvr_error *err)
{
    static const char question[] = "print sprintf('version %.1f ', GPVAL_VERSION), GPVAL_TERMINALS";
    struct kvr_text answer = {0};
    enum kvr_status status = kvr_gnuplot_run(gnuplot, NULL, question, NULL, &answer, err);
    const char *version =
        status == KVR_OK && answer.data != NULL ? strstr(answer.data, "version ") : NULL;
    char number[16] = "";
    double value;
    if (version != NULL)
        snprintf(number, sizeof number, "%.*s", (int)strcspn(version + 8, " \n"), version + 8);
    if (status == KVR_OK && (!kvr_parse_double(number, &value) || value < 5.15)) {
        status = kvr_fail(err, KVR_IO, "\"%s\": expected gnuplot 5.2 or newer, found %s",
                          gnuplot->path, number[0] != '\0' ? number : "something else");
    }
    if (status == KVR_OK) {
        gnuplot->terminals = kvr_copy_string(version + 8 + strlen(number), err);
        status = gnuplot->terminals == NULL ? KVR_NO_MEMORY : KVR_OK;
    }
    kvr_text_free(&answer);
    return status;
}

enum kvr_status kvr_gnuplot_find(struct kvr_gnuplot *gnuplot, struct kvr_error *err)
{
    *gnuplot = (struct kvr_gnuplot){.path = look_along_path(err)};
    if (gnuplot->path == NULL) {
        kvr_fail(err, KVR_IO, "gnuplot was not found along PATH");
        return kvr_hint(err, "apt-get install gnuplot-nox (Debian, Ubuntu), or gnuplot elsewhere");
    }
    return ask(gnuplot, err);
}

bool kvr_gnuplot_has(const struct kvr_gnuplot *gnuplot, const char *terminal)
{
    size_t length = strlen(terminal);
    for (const char *at = gnuplot->terminals; (at = strstr(at, terminal)) != NULL; at += length)
        if (at > gnuplot->terminals && at[-1] == ' ' && strchr(" \n", at[length]) != NULL)
            return true;
    return false;
}

void kvr_gnuplot_free(struct kvr_gnuplot *gnuplot)
{
    free(gnuplot->path);
    free(gnuplot->terminals);
    *gnuplot = (struct kvr_gnuplot){0};
}
