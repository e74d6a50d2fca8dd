/*
 * Commands run as a user runs them, in a fresh process, and what each took.
 */
#ifndef KVR_BENCH_PROCESS_H
#define KVR_BENCH_PROCESS_H

#include <stdint.h>

#include "formats/base/status.h"

/* What one run took; `processor` is that of all threads, user and system. */
struct kvr_bench_usage {
    double seconds, processor;
    uint64_t peak_bytes; /* largest resident size */
};

/*
 * Runs argv (NULL at its end; argv[0] is looked for in PATH) with its standard output in the file
 * `output`, or nowhere if that is NULL, and waits. KVR_IO if it cannot be started or fails; what
 * it printed on standard error has then been seen by the user.
 */
enum kvr_status kvr_bench_process(const char *const *argv, const char *output,
                                  struct kvr_bench_usage *usage, struct kvr_error *err);

/* The same `rounds` times: the run of the least wall time, with the largest peak of all. */
enum kvr_status kvr_bench_best(unsigned rounds, const char *const *argv, const char *output,
                               struct kvr_bench_usage *best, struct kvr_error *err);

#endif
