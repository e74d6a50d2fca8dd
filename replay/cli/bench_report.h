/*
 * What a benchmark found, and how it is shown: as a page, as JSON.
 */
#ifndef KVR_BENCH_REPORT_H
#define KVR_BENCH_REPORT_H

#include "formats/element.h"
#include "formats/json.h"
#include "replay/cli/bench_limits.h"
#include "replay/cli/bench_process.h"
#include "replay/cli/bench_stages.h"
#include "replay/cli/bench_sweep.h"
#include "replay/cli/bench_traces.h"

enum { KVR_BENCH_CASES = 4, KVR_BENCH_PEERS = 2, KVR_BENCH_AXES = 8 };

/* A whole replay of one kind of trace in a fresh process, file in the page cache. */
struct kvr_bench_case {
    const char *name; /* "half, raw" */
    enum kvr_element element;
    enum kvr_bench_storage storage;
    double row_bytes; /* uncompressed */
    uint64_t file_bytes;
    struct kvr_bench_usage usage;
};

struct kvr_bench_peer {
    const char *name, *script;
    bool ran;
    double row_bytes; /* of the trace that it replayed */
    double seconds;
};

struct kvr_bench_report {
    struct kvr_bench_shape shape;
    unsigned threads, rounds;
    const char *device;
    struct kvr_bench_limits limits;
    double start_up; /* seconds of a replay of 512 tokens and one layer */
    size_t case_count;
    struct kvr_bench_case cases[KVR_BENCH_CASES];
    struct kvr_bench_usage one_budget; /* of half, raw */
    struct kvr_bench_stages stages;
    const char *no_peers; /* why there is none, NULL if they ran */
    size_t peer_cells;    /* that were compared and agree */
    struct kvr_bench_peer peers[KVR_BENCH_PEERS];
    struct kvr_bench_usage reading; /* h5py reading the compressed half trace, and no more */
    size_t sweep_count;
    struct kvr_bench_sweep sweeps[KVR_BENCH_AXES];
};

/* The rate that a case cannot exceed on this machine, bytes of rows per second, and its name. */
double kvr_bench_limit_of(const struct kvr_bench_report *report, const struct kvr_bench_case *one,
                          const char **name);

void kvr_bench_print(const struct kvr_bench_report *report);
void kvr_bench_json(const struct kvr_bench_report *report, struct kvr_json *json);

#endif
