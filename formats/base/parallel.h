/*
 * Ordered parallel work: tasks run on any thread, their results are taken in order.
 *
 * Output is the same for any number of threads, because everything that leaves the program passes
 * through `commit`, which runs for task 0, 1, 2, … one at a time. A bounded number of results wait,
 * so memory does not grow with the number of tasks.
 */
#ifndef KVR_PARALLEL_H
#define KVR_PARALLEL_H

#include <stddef.h>

#include "formats/base/status.h"

struct kvr_tasks {
    size_t count;
    void *context; /* given to both functions */

    /*
     * Runs task `index` on thread `thread` (0 … threads-1; one task at a time on each) and leaves
     * its result in *result. If it fails it leaves nothing to release.
     */
    enum kvr_status (*work)(void *context, size_t index, unsigned thread, void **result,
                            struct kvr_error *err);

    /* Takes the result of task `index`, in ascending order of index, and releases it. */
    enum kvr_status (*commit)(void *context, size_t index, void *result, struct kvr_error *err);

    /* Releases a result that will not be committed because an earlier task failed. */
    void (*discard)(void *context, void *result);
};

/*
 * Runs all tasks on `threads` threads (at least 1; 1 uses the calling thread alone). On failure
 * *err is that of the lowest failing index, all tasks below it have been committed, none above.
 */
enum kvr_status kvr_run_ordered(unsigned threads, const struct kvr_tasks *tasks,
                                struct kvr_error *err);

/* The number of processors that this process may use, at least 1. */
unsigned kvr_processor_count(void);

#endif
