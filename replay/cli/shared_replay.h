/*
 * A replay that several processes share or that goes on after an interruption: the ranks of a job,
 * shards, --resume. All three keep what each unit adds to the tables as a part, and put the tables
 * together from the parts of all units.
 */
#ifndef KVR_SHARED_REPLAY_H
#define KVR_SHARED_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/result_tables.h"
#include "replay/cli/run_record.h"
#include "replay/units.h"

enum { KVR_MOST_SHARDS = 1000000 };

/* Fill the first members; the rest starts zeroed. */
struct kvr_shared_replay {
    const struct kvr_plan *plan;
    size_t trace_count;
    struct kvr_trace *const *traces;
    const char *folder;
    size_t shard, shards; /* this is shard 1 … shards; 0 of 0: no shard */
    bool resume;          /* use the parts that are there */
    bool quiet;

    struct kvr_units units; /* from here on set by kvr_shared_replay_prepare */
    uint64_t run;           /* digest of what decides the tables */
    bool *todo;             /* [units.count] */
};

/* "i/n" to shard and shards; text NULL leaves them. */
enum kvr_status kvr_parse_shard(const char *text, size_t *shard, size_t *shards,
                                struct kvr_error *err);

/* True if the replay has to go by parts. */
bool kvr_shared_replay_needed(const struct kvr_shared_replay *shared);

/* Collective: deals the units, and makes the folder ready on rank 0. */
enum kvr_status kvr_shared_replay_prepare(struct kvr_shared_replay *shared, struct kvr_error *err);

/* Replays the units of this process that have no part yet. */
enum kvr_status kvr_shared_replay_run(struct kvr_shared_replay *shared, struct kvr_error *err);

/* Adds the parts of all units, which must be there, to the results, in order. */
enum kvr_status kvr_shared_replay_gather(const struct kvr_shared_replay *shared,
                                         struct kvr_results *results, struct kvr_error *err);

/* What the run record says of a shard. */
struct kvr_shard_record kvr_shared_replay_shard(const struct kvr_shared_replay *shared);

/* Removes the parts: the tables have their names. */
void kvr_shared_replay_clear(const struct kvr_shared_replay *shared);

void kvr_shared_replay_free(struct kvr_shared_replay *shared);

#endif
