/*
 * Where a replay's time goes, stage by stage, seen from between its observers.
 */
#ifndef KVR_BENCH_STAGES_H
#define KVR_BENCH_STAGES_H

#include <stddef.h>

#include "formats/base/status.h"
#include "replay/plan.h"

enum { KVR_BENCH_STAGES = 48 };

struct kvr_bench_stage {
    char name[64]; /* "read and score", "select mean", "measures.csv" */
    double seconds;
};

struct kvr_bench_stages {
    size_t count;
    struct kvr_bench_stage stages[KVR_BENCH_STAGES]; /* in the order of the work */
    double seconds;                                  /* of the whole replay */
};

/*
 * Replays the trace at `path` by `plan` on one thread, with all tables, which it writes to
 * `folder`, and charges the time between two calls of an observer to the stage that ended with the
 * second. The plan is settled here; it is the caller's to free.
 */
enum kvr_status kvr_bench_stages_measure(struct kvr_plan *plan, const char *path,
                                         const char *folder, struct kvr_bench_stages *stages,
                                         struct kvr_error *err);

#endif
