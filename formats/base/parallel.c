/*
 * Ordered parallel work on POSIX threads. It must not know what a task is.
 *
 * Tasks are handed out in order. A finished result waits in a ring of `window` slots until its turn
 * to be committed; whichever thread finishes the next one in line commits it and its successors.
 */
#include "formats/base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "formats/base/memory.h"

enum { RESULTS_PER_THREAD = 4, MOST_THREADS = 1024 };

struct slot {
    bool done;
    void *result;
};

struct run {
    const struct kvr_tasks *tasks;
    pthread_mutex_t lock;
    pthread_cond_t room; /* a slot was freed, or the run failed */
    struct slot *slots;
    size_t window;
    size_t next;      /* the next task to hand out */
    size_t committed; /* tasks below this one have been committed */
    bool committing;  /* a thread is inside commit, with the lock released */
    size_t failed;    /* lowest failing index; tasks->count if none */
    struct kvr_error error;
};

struct worker {
    struct run *run;
    unsigned thread;
    pthread_t handle;
};

static void note_failure(struct run *run, size_t index, const struct kvr_error *err)
{
    if (index < run->failed) {
        run->failed = index;
        run->error = *err;
    }
    pthread_cond_broadcast(&run->room);
}

/* Commits every result whose turn has come. Called and left with the lock held. */
static void commit_ready(struct run *run)
{
    if (run->committing)
        return;
    run->committing = true;
    while (run->committed < run->failed && run->slots[run->committed % run->window].done) {
        size_t index = run->committed;
        struct slot *slot = &run->slots[index % run->window];
        void *result = slot->result;
        pthread_mutex_unlock(&run->lock);
        struct kvr_error err = KVR_ERROR_NONE;
        enum kvr_status status = run->tasks->commit(run->tasks->context, index, result, &err);
        pthread_mutex_lock(&run->lock);
        *slot = (struct slot){0};
        if (status != KVR_OK) {
            note_failure(run, index, &err);
            break;
        }
        run->committed++;
        pthread_cond_broadcast(&run->room);
    }
    run->committing = false;
}

static void *work_loop(void *argument)
{
    struct worker *worker = argument;
    struct run *run = worker->run;
    pthread_mutex_lock(&run->lock);
    for (;;) {
        while (run->next < run->failed && run->next >= run->committed + run->window)
            pthread_cond_wait(&run->room, &run->lock);
        if (run->next >= run->failed)
            break;
        size_t index = run->next++;
        pthread_mutex_unlock(&run->lock);
        struct kvr_error err = KVR_ERROR_NONE;
        void *result = NULL;
        enum kvr_status status =
            run->tasks->work(run->tasks->context, index, worker->thread, &result, &err);
        pthread_mutex_lock(&run->lock);
        if (status != KVR_OK)
            note_failure(run, index, &err);
        else
            run->slots[index % run->window] = (struct slot){true, result};
        commit_ready(run);
    }
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

static enum kvr_status run_inline(const struct kvr_tasks *tasks, struct kvr_error *err)
{
    for (size_t i = 0; i < tasks->count; i++) {
        void *result = NULL;
        enum kvr_status status = tasks->work(tasks->context, i, 0, &result, err);
        if (status == KVR_OK)
            status = tasks->commit(tasks->context, i, result, err);
        if (status != KVR_OK)
            return status;
    }
    return KVR_OK;
}

static void run_threads(struct run *run, struct worker *workers, unsigned threads)
{
    unsigned started = 0;
    for (unsigned i = 1; i < threads; i++) {
        struct worker *worker = &workers[i];
        *worker = (struct worker){.run = run, .thread = i};
        if (pthread_create(&worker->handle, NULL, work_loop, worker) != 0)
            break; /* fewer threads give the same result */
        started = i;
    }
    workers[0] = (struct worker){.run = run, .thread = 0};
    work_loop(&workers[0]);
    for (unsigned i = 1; i <= started; i++)
        pthread_join(workers[i].handle, NULL);
}

enum kvr_status kvr_run_ordered(unsigned threads, const struct kvr_tasks *tasks,
                                struct kvr_error *err)
{
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    if (threads > tasks->count)
        threads = (unsigned)tasks->count;
    if (threads <= 1)
        return run_inline(tasks, err);

    struct run run = {.tasks = tasks, .failed = tasks->count};
    run.window = (size_t)threads * RESULTS_PER_THREAD;
    run.slots = kvr_alloc(run.window, sizeof *run.slots, err);
    struct worker *workers = kvr_alloc(threads, sizeof *workers, err);
    if (run.slots == NULL || workers == NULL) {
        free(run.slots);
        free(workers);
        return KVR_NO_MEMORY;
    }
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.room, NULL);
    run_threads(&run, workers, threads);
    for (size_t i = 0; i < run.window; i++)
        if (run.slots[i].done && tasks->discard != NULL)
            tasks->discard(tasks->context, run.slots[i].result);
    pthread_cond_destroy(&run.room);
    pthread_mutex_destroy(&run.lock);
    free(run.slots);
    free(workers);
    if (run.failed == tasks->count)
        return KVR_OK;
    if (err != NULL)
        *err = run.error;
    return run.error.status;
}

unsigned kvr_processor_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? (unsigned)count : 1;
}
