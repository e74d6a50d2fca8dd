/*
 * Starting, waiting and reading the kernel's account of a process. What is run it must not know.
 */
#include "replay/cli/bench_process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/cli/progress_bar.h"

enum { CANNOT_START = 127 };

/* In the child: never returns. */
static void become(const char *const *argv, const char *output)
{
    int out = open(output != NULL ? output : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (out >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        execvp(argv[0], (char *const *)argv);
    _exit(CANNOT_START);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

enum kvr_status kvr_bench_process(const char *const *argv, const char *output,
                                  struct kvr_bench_usage *usage, struct kvr_error *err)
{
    double started = kvr_seconds();
    pid_t child = fork();
    if (child < 0)
        return kvr_fail(err, KVR_IO, "\"%s\" could not be started: %s", argv[0], strerror(errno));
    if (child == 0)
        become(argv, output);
    int how = 0;
    struct rusage used;
    while (wait4(child, &how, 0, &used) < 0)
        if (errno != EINTR)
            return kvr_fail(err, KVR_IO, "\"%s\" was lost: %s", argv[0], strerror(errno));
    *usage = (struct kvr_bench_usage){
        .seconds = kvr_seconds() - started,
        .processor = seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
        .peak_bytes = (uint64_t)used.ru_maxrss * 1024,
    };
    if (WIFEXITED(how) && WEXITSTATUS(how) == CANNOT_START)
        return kvr_fail(err, KVR_IO, "\"%s\" could not be started", argv[0]);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
        return kvr_fail(err, KVR_IO, "\"%s %s\" failed with %s %d", argv[0], argv[1],
                        WIFEXITED(how) ? "status" : "signal",
                        WIFEXITED(how) ? WEXITSTATUS(how) : WTERMSIG(how));
    return KVR_OK;
}

enum kvr_status kvr_bench_best(unsigned rounds, const char *const *argv, const char *output,
                               struct kvr_bench_usage *best, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (unsigned round = 0; status == KVR_OK && round < rounds; round++) {
        struct kvr_bench_usage usage;
        status = kvr_bench_process(argv, output, &usage, err);
        if (status != KVR_OK)
            break;
        uint64_t peak = usage.peak_bytes;
        if (round > 0 && best->peak_bytes > peak)
            peak = best->peak_bytes;
        if (round == 0 || usage.seconds < best->seconds)
            *best = usage;
        best->peak_bytes = peak;
    }
    return status;
}
