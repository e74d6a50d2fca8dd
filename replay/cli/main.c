/*
 * kvreplay: finds the command, parses its line, runs it and tells what went wrong. Everything else
 * is in the commands.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/cpu.h"
#include "formats/base/temporary.h"
#include "replay/cli/command.h"
#include "replay/cli/ranks.h"

/*
 * A closed standard stream would give its number to the next file that is opened, and the summary
 * would be printed into a table. What is opened in its place refuses to be written or read.
 */
static void reserve_standard_streams(void)
{
    for (int stream = 0; stream <= 2; stream++)
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
}

/* Leaves nothing half-written behind, then lets the signal do what it does by default. */
static void clean_up_and_die(int signal_number)
{
    if (kvr_signals_defer(signal_number))
        return;
    kvr_temporaries_remove();
    signal(signal_number, SIG_DFL);
    sigset_t these;
    sigemptyset(&these);
    sigaddset(&these, signal_number);
    kill(getpid(), signal_number);
    pthread_sigmask(SIG_UNBLOCK, &these, NULL);
}

/* A signal that is ignored already, as nohup does, stays ignored. */
static void handle_signals(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action;
        if (sigaction(signals[i], NULL, &action) != 0 || action.sa_handler == SIG_IGN)
            continue;
        action = (struct sigaction){.sa_handler = clean_up_and_die, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(signals[i], &action, NULL);
    }
}

static void print_error(const struct kvr_command *command, const struct kvr_error *err)
{
    fflush(stdout); /* keeps the order where both streams go to one terminal */
    fprintf(stderr, "kvreplay%s%s: %s\n", command != NULL ? " " : "",
            command != NULL ? command->name : "", err->message);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int run_command(const struct kvr_command *command, int argc, char **argv,
                       struct kvr_error *err)
{
    if (asks_for_help(argc, argv)) {
        kvr_print_help(stdout, command);
        return KVR_EXIT_DONE;
    }
    struct kvr_arguments arguments;
    if (kvr_cpu_check(err) != KVR_OK ||
        kvr_arguments_parse(command, argc, argv, &arguments, err) != KVR_OK)
        return KVR_EXIT_USAGE;
    int status = command->run(command, &arguments, err);
    kvr_arguments_free(&arguments);
    return status;
}

static int run(int argc, char **argv, const struct kvr_command **command, struct kvr_error *err)
{
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) {
        puts("kvreplay " KVREPLAY_VERSION);
        return KVR_EXIT_DONE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    *command = kvr_find_command(name);
    if (*command == NULL) {
        kvr_fail_unknown_command(name, err);
        return KVR_EXIT_USAGE;
    }
    return run_command(*command, argc, argv, err);
}

/* What was printed is only done once the system has taken it: a full disk shows here. */
static enum kvr_status close_output(struct kvr_error *err)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fclose(stdout) == 0 && !failed)
        return KVR_OK;
    return kvr_fail(err, KVR_IO, "standard output cannot be written%s%s", errno != 0 ? ": " : "",
                    errno != 0 ? strerror(errno) : "");
}

/* Buffers of chunks and cells come and go: the system is not asked for each of them anew. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 8 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

int main(int argc, char **argv)
{
    keep_memory();
    reserve_standard_streams();
    handle_signals();
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of the write, told like others */
    if (argc < 2) {
        fputs("usage: kvreplay <command> [options] …\n"
              "hint: \"kvreplay help\" lists the commands\n",
              stderr);
        return KVR_EXIT_USAGE;
    }
    const struct kvr_command *command = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    int status = run(argc, argv, &command, &err);
    bool told = err.status != KVR_OK;
    if (told) {
        print_error(command, &err);
        status = kvr_exit_status(err.status);
    }
    if (close_output(&err) != KVR_OK && !told) {
        print_error(command, &err);
        status = KVR_EXIT_FAILED;
    }
    return kvr_ranks_end(status);
}
