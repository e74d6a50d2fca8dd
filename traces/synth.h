/*
 * Synthetic traces with planted heads: what a replay finds in them is known beforehand.
 *
 * A head is of one of four kinds. Its rows are a mixture of up to four parts: mass on the first
 * tokens, mass on the needles, a window that decays with distance, and a broad part spread over
 * everything visible by a heavy-tailed random field that is partly shared by the heads of a group.
 * Same options, same bytes, whatever the number of threads.
 */
#ifndef KVR_SYNTH_H
#define KVR_SYNTH_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace_writer.h"

enum kvr_head_kind {
    KVR_KIND_SINK,      /* most mass on the first four tokens */
    KVR_KIND_RETRIEVAL, /* most mass on the needles, in rows that answer the question */
    KVR_KIND_LOCAL,     /* most mass on the last tokens */
    KVR_KIND_DIFFUSE,   /* most mass in the broad part */
};

enum { KVR_SYNTH_SINKS = 4, KVR_SYNTH_MOST_TOKENS = 1 << 20, KVR_SYNTH_MOST_DECODE = 1 << 16 };

struct kvr_synth_options {
    uint64_t samples;
    uint32_t layers, query_heads, kv_heads;
    bool mixed_heads; /* layers 1, 4, … have one KV head, 2, 5, … one query head each */
    uint64_t tokens, decode, pad; /* P, N - P, left padding inside P */
    uint64_t rows;                /* prefill rows recorded, the last ones */
    struct kvr_storage storage;   /* its chunk is ignored */
    uint64_t needles, needle_length;
    double depth;    /* of the needles, 0 ... 1; NaN: the samples spread over it */
    uint64_t window; /* of the layers 0, window_every, …; 0: none has one */
    uint32_t window_every;
    bool sink_logits;    /* rows sum below 1 */
    double nan_fraction; /* of the heads that get NaN rows */
    bool ties;           /* the broad part takes few values */
    bool premise;        /* every group is in the regime of theorem 4, see below */
    bool attention;      /* rows; without them qkv must be there, from which they can be had */
    bool accumulated;    /* column sums */
    bool columns;        /* scores/gate and scores/head-gate */
    bool qkv;          /* query, key and value, from which the rows are computed; queries are those
                          of the recorded rows */
    uint32_t head_dim; /* with qkv */
    double softcap;    /* with qkv: of the logits; 0: none */
    uint64_t seed;
    unsigned threads;
};

/*
 * With `premise`, one head of each group owns the needle: in every prompt row that sees it, 0.95 of
 * its mass lies on the needle's middle token. Its siblings are diffuse heads, and the broad part is
 * uniform, so that their entropies are those of "no idea". This is the regime in which theorem 4 of
 * arXiv 2610.03135 promises something; recorded heads are rarely like that.
 */

/* One sample of 1024 + 8 tokens, 4 layers of 8/2 heads, 32 rows, one needle, stored as half. */
struct kvr_synth_options kvr_synth_defaults(void);

/* The kind of a head (counted within the layer); the same in every sample. */
enum kvr_head_kind kvr_synth_head_kind(const struct kvr_synth_options *options, uint32_t layer,
                                       uint32_t head);

/* "sink", "retrieval", "local" or "diffuse". */
const char *kvr_head_kind_name(enum kvr_head_kind kind);

/* Told now and then how much is done; may be NULL. Runs in one thread at a time. */
struct kvr_synth_progress {
    void *context;
    void (*report)(void *context, double fraction);
};

/*
 * Writes the trace. KVR_BAD_ARGUMENT if the options do not fit together; then, as after any
 * failure, no file is left. Memory stays below 200 MB for up to 4 threads.
 */
enum kvr_status kvr_synth_write(const char *path, const struct kvr_synth_options *options,
                                const struct kvr_synth_progress *progress, struct kvr_error *err);

#endif
