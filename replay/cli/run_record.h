/*
 * run.json and its like: what was run on what, so that a table can be traced back to its inputs.
 */
#ifndef KVR_RUN_RECORD_H
#define KVR_RUN_RECORD_H

#include <stdint.h>

#include "formats/json.h"
#include "formats/table.h"
#include "formats/trace.h"
#include "replay/cli/command.h"
#include "replay/plan.h"
#include "replay/units.h"

/* What a shard leaves for `merge`. */
struct kvr_shard_record {
    size_t index, count; /* from 1 on */
    uint64_t run;        /* in the stamps of its parts */
    const struct kvr_units *units;
};

struct kvr_run_record {
    const char *name; /* of the file: "run.json" of a replay */
    const struct kvr_arguments *arguments;
    const struct kvr_plan *plan;
    size_t trace_count;
    struct kvr_trace *const *traces; /* [trace_count] */
    size_t ranks;                    /* processes that shared the work; 0: one */
    double seconds;
    uint64_t bytes_read;
    const struct kvr_shard_record *shard; /* NULL: the whole replay */
};

enum kvr_status kvr_run_record_write(const struct kvr_run_record *record, struct kvr_tables *tables,
                                     struct kvr_error *err);

/* Members of a record: the command line; host, threads, device, instruction set. */
void kvr_run_record_command_line(struct kvr_json *json, const struct kvr_arguments *arguments);
void kvr_run_record_machine(struct kvr_json *json, unsigned threads,
                            const struct kvr_compute *compute);

/*
 * Adds everything that decides what the tables say to `text`, as a JSON object: version, options,
 * inputs with their checksums but without their folders. Runs whose text is the same may share
 * work.
 */
enum kvr_status kvr_run_identity(const struct kvr_plan *plan, struct kvr_trace *const *traces,
                                 size_t trace_count, struct kvr_text *text, struct kvr_error *err);

#endif
