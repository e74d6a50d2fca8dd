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
    double inflate; /* bytes out of the inflater, from the chunks of the compressed trace */
};

/*
 * Measures them on `threads` threads. The trace at `raw` is read byte by byte; the chunks are those
 * of the first layer's rows of the trace at `deflated`, at most 64, packed again as they are
 * stored.
 */
enum kvr_status kvr_bench_limits_measure(const char *raw, const char *deflated, unsigned threads,
                                         unsigned rounds, struct kvr_bench_limits *limits,
                                         struct kvr_error *err);

#endif
