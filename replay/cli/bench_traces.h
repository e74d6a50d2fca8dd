/*
 * The traces and command lines that a benchmark replays.
 */
#ifndef KVR_BENCH_TRACES_H
#define KVR_BENCH_TRACES_H

#include <stdint.h>

#include "formats/base/status.h"
#include "traces/synth.h"

/* The shape of one trace; every head has rows over all tokens. */
struct kvr_bench_shape {
    uint64_t layers, query_heads, kv_heads, tokens, rows;
};

enum kvr_bench_storage { KVR_BENCH_RAW, KVR_BENCH_DEFLATE };

/* Writes a trace without decode rows and column sums: its bytes are those of its rows. */
enum kvr_status kvr_bench_make_trace(const char *path, const struct kvr_bench_shape *shape,
                                     enum kvr_element element, enum kvr_bench_storage storage,
                                     struct kvr_error *err);

/* Bytes of the rows when they are not compressed. */
double kvr_bench_row_bytes(const struct kvr_bench_shape *shape, enum kvr_element element);

/* Layers x query heads x tokens: what a rate per token and head is over. */
double kvr_bench_token_heads(const struct kvr_bench_shape *shape);

/* A replay of `trace`: its lists as the command line has them; NULL stands for the default. */
struct kvr_bench_replay {
    const char *program, *trace, *folder, *scorer, *budgets, *page_sizes, *policies, *device;
    unsigned threads;
};

enum { KVR_BENCH_WORDS = 24 };

/* The command line of a replay, NULL at its end; numbers are written to `digits`. */
void kvr_bench_command_line(const struct kvr_bench_replay *replay, char digits[16],
                            const char *words[KVR_BENCH_WORDS]);

#endif
