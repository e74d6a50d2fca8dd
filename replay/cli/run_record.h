/*
 * run.json and its like: what was run on what, so that a table can be traced back to its inputs.
 */
#ifndef KVR_RUN_RECORD_H
#define KVR_RUN_RECORD_H

#include <stdint.h>

#include "formats/table.h"
#include "formats/trace.h"
#include "replay/cli/command.h"
#include "replay/plan.h"

struct kvr_run_record {
    const char *name; /* of the file: "run.json" of a replay */
    const struct kvr_arguments *arguments;
    const struct kvr_plan *plan;
    size_t trace_count;
    struct kvr_trace *const *traces; /* [trace_count] */
    double seconds;
    uint64_t bytes_read;
};

enum kvr_status kvr_run_record_write(const struct kvr_run_record *record, struct kvr_tables *tables,
                                     struct kvr_error *err);

#endif
