/*
 * What this machine can do at most: the rates against which a replay is held.
 */
#ifndef KVR_BENCH_LIMITS_H
#define KVR_BENCH_LIMITS_H

#include "formats/base/status.h"

/* Bytes per second of all threads together; the best of several rounds. */
struct kvr_bench_limits {
    double memory;  /* reading memory that is already mapped */
    double mapping; /* reading the raw trace through a fresh mapping, page cache warm */
    double inflate_half, inflate_float; /* bytes out of the inflater, from a trace's chunks */
};

/* The traces that limits are measured on. */
struct kvr_bench_samples {
    const char *raw;         /* read byte by byte */
    const char *half, *real; /* compressed, of half and of float elements */
};

/*
 * Measures them on `threads` threads. Chunks are those of the first layer's rows, at most 64,
 * packed again as they are stored.
 */
enum kvr_status kvr_bench_limits_measure(const struct kvr_bench_samples *samples, unsigned threads,
                                         unsigned rounds, struct kvr_bench_limits *limits,
                                         struct kvr_error *err);

#endif
