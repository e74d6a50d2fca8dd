/*
 * The run.json of merged shards: options and inputs are those of every shard, machine and time are
 * each shard's own.
 */
#ifndef KVR_MERGED_RECORD_H
#define KVR_MERGED_RECORD_H

#include "formats/table.h"
#include "replay/cli/command.h"
#include "replay/cli/shard_set.h"

enum kvr_status kvr_merged_record_write(const struct kvr_shard_set *set,
                                        const struct kvr_arguments *arguments,
                                        struct kvr_tables *tables, struct kvr_error *err);

#endif
