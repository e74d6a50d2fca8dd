/*
 * How the cost of a replay grows with each thing that it can grow with.
 */
#ifndef KVR_BENCH_SWEEP_H
#define KVR_BENCH_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

enum { KVR_SWEEP_POINTS = 4 };

/* Along one axis: its values, and what a replay took at each. */
struct kvr_bench_sweep {
    const char *axis; /* "tokens", "ratio", "rows", "budgets", "page sizes" */
    const char *rest; /* what stays as it is */
    struct {
        uint64_t value;
        double processor;   /* seconds of one thread, user and system, best of the rounds */
        double nanoseconds; /* the same per token and query head */
        uint64_t peak_bytes;
    } points[KVR_SWEEP_POINTS];
};

/* The number of axes. */
extern const size_t kvr_bench_sweep_count;

/*
 * Measures axis `index` with fresh processes of `program` on one thread; a trace for each point is
 * made in `folder` and removed.
 */
enum kvr_status kvr_bench_sweep_measure(size_t index, const char *program, const char *folder,
                                        unsigned rounds, struct kvr_bench_sweep *sweep,
                                        struct kvr_error *err);

#endif
