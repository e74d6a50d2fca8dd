/*
 * The shards of one replay, as their run.json tell: are all there, each once, and made alike?
 */
#ifndef KVR_SHARD_SET_H
#define KVR_SHARD_SET_H

#include <stddef.h>
#include <stdint.h>

#include "formats/json_reader.h"

struct kvr_shard {
    const char *folder; /* NULL: not there */
    struct kvr_json_document record;
};

/* Zero-initialised is empty. */
struct kvr_shard_set {
    size_t count;             /* of the shards that the replay was cut into */
    struct kvr_shard *shards; /* [count] */
    uint64_t run;             /* in the stamps of the parts */
    uint32_t tables;          /* bit t: kvr_result_tables[t] has rows in the parts */
    size_t units;
    size_t *owners; /* [units] index of the shard that has the part */
};

/*
 * Reads the records of all folders, in any order. KVR_BAD_INPUT names the folder, or the shards
 * that are missing, if one is no shard, is of another version, other options, inputs or number of
 * shards than the first, is there twice, or if not every unit has one owner. The folders' names
 * must outlive the set. Release with kvr_shard_set_free in any case.
 */
enum kvr_status kvr_shard_set_read(struct kvr_shard_set *set, const char *const *folders,
                                   size_t count, struct kvr_error *err);

void kvr_shard_set_free(struct kvr_shard_set *set);

#endif
