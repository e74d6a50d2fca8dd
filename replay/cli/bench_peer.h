/*
 * Replays by others, in Python: do they find the same, and how long do they take?
 */
#ifndef KVR_BENCH_PEER_H
#define KVR_BENCH_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "replay/cli/bench_process.h"

/* True if the program `python` runs and has numpy and h5py. */
bool kvr_bench_peer_available(const char *python);

/*
 * Runs `script` of the folder `peers` on the trace with the last `rows` rows of every head, and
 * leaves what it prints at `table`.
 */
enum kvr_status kvr_bench_peer_run(const char *python, const char *peers, const char *script,
                                   const char *trace, uint64_t rows, const char *table,
                                   struct kvr_bench_usage *usage, struct kvr_error *err);

/*
 * Compares the peer's table folder/name with measures.csv of the folder `ours`: the same cells, the
 * same selected and kept tokens, retained mass within 1e-6. KVR_BAD_INPUT names the first
 * difference; *cells is how many there are.
 */
enum kvr_status kvr_bench_peer_compare(const char *ours, const char *folder, const char *name,
                                       size_t *cells, struct kvr_error *err);

#endif
