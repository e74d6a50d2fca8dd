/*
 * Ordered parallel work: order, bounded memory, the error that is told, what is released.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/parallel.h"
#include "formats/base/random.h"
#include "tests/suites.h"

enum { MOST_THREADS = 64, NEVER = -1 };

struct plan {
    size_t count;
    long work_fails, also_fails, commit_fails; /* indices; NEVER */
    unsigned longest_pause;                    /* microseconds, drawn per task */

    atomic_uint busy[MOST_THREADS]; /* tasks at work on each thread */
    atomic_uint committing;
    atomic_size_t produced, committed, discarded;
    atomic_size_t most_waiting;  /* results that were alive at once */
    atomic_size_t order_errors;  /* commits out of turn, or beside another */
    atomic_size_t thread_errors; /* thread numbers out of range or used twice */
    unsigned threads;
};

static void pause_for(const struct plan *plan, size_t index)
{
    if (plan->longest_pause == 0)
        return;
    struct kvr_random random = kvr_random_stream(11, index);
    usleep((useconds_t)kvr_random_below(&random, plan->longest_pause + 1));
}

static enum kvr_status work(void *context, size_t index, unsigned thread, void **result,
                            struct kvr_error *err)
{
    struct plan *plan = context;
    if (thread >= plan->threads || atomic_fetch_add(&plan->busy[thread], 1) != 0)
        atomic_fetch_add(&plan->thread_errors, 1);
    pause_for(plan, index);
    if (thread < plan->threads)
        atomic_fetch_sub(&plan->busy[thread], 1);
    if ((long)index == plan->work_fails || (long)index == plan->also_fails)
        return kvr_fail(err, KVR_BAD_INPUT, "task %zu", index);

    size_t *value = malloc(sizeof *value);
    if (value == NULL)
        return kvr_fail(err, KVR_NO_MEMORY, "no memory");
    *value = index * index;
    *result = value;
    size_t waiting = atomic_fetch_add(&plan->produced, 1) + 1 - atomic_load(&plan->committed);
    size_t most = atomic_load(&plan->most_waiting);
    while (waiting > most && !atomic_compare_exchange_weak(&plan->most_waiting, &most, waiting))
        ;
    return KVR_OK;
}

static enum kvr_status commit(void *context, size_t index, void *result, struct kvr_error *err)
{
    struct plan *plan = context;
    if (atomic_fetch_add(&plan->committing, 1) != 0 || index != atomic_load(&plan->committed) ||
        *(size_t *)result != index * index)
        atomic_fetch_add(&plan->order_errors, 1);
    free(result);
    atomic_fetch_sub(&plan->committing, 1);
    if ((long)index == plan->commit_fails)
        return kvr_fail(err, KVR_IO, "commit %zu", index);
    atomic_fetch_add(&plan->committed, 1);
    return KVR_OK;
}

static void discard(void *context, void *result)
{
    struct plan *plan = context;
    atomic_fetch_add(&plan->discarded, 1);
    free(result);
}

static enum kvr_status run_plan(struct plan *plan, unsigned threads, struct kvr_error *err)
{
    plan->threads = threads;
    struct kvr_tasks tasks = {
        .count = plan->count, .context = plan, .work = work, .commit = commit, .discard = discard};
    enum kvr_status status = kvr_run_ordered(threads, &tasks, err);
    ck_assert_uint_eq(plan->order_errors, 0);
    ck_assert_uint_eq(plan->thread_errors, 0);
    /* The result of a failing commit was released by that commit. */
    size_t lost = status == KVR_IO ? 1 : 0;
    ck_assert_uint_eq(plan->produced, plan->committed + plan->discarded + lost);
    return status;
}

static const unsigned thread_counts[] = {1, 2, 3, 8, 64};
static const size_t task_counts[] = {0, 1, 2, 7, 100, 1000};
enum {
    THREAD_CASES = sizeof thread_counts / sizeof *thread_counts,
    TASK_CASES = sizeof task_counts / sizeof *task_counts,
};

START_TEST(test_results_come_in_order)
{
    for (size_t i = 0; i < TASK_CASES; i++) {
        struct plan plan = {.count = task_counts[i],
                            .work_fails = NEVER,
                            .also_fails = NEVER,
                            .commit_fails = NEVER,
                            .longest_pause = task_counts[i] <= 100 ? 400 : 0};
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_int_eq(run_plan(&plan, thread_counts[_i], &err), KVR_OK);
        ck_assert_int_eq(err.status, KVR_OK);
        ck_assert_uint_eq(plan.committed, plan.count);
        ck_assert_uint_eq(plan.discarded, 0);
    }
}
END_TEST

/* The first task takes long: the others must not pile up behind it. */
static enum kvr_status slow_first(void *context, size_t index, unsigned thread, void **result,
                                  struct kvr_error *err)
{
    if (index == 0)
        usleep(100000);
    return work(context, index, thread, result, err);
}

START_TEST(test_memory_is_bounded)
{
    struct plan plan = {
        .count = 5000, .work_fails = NEVER, .also_fails = NEVER, .commit_fails = NEVER};
    plan.threads = 4;
    struct kvr_tasks tasks = {plan.count, &plan, slow_first, commit, discard};
    ck_assert_int_eq(kvr_run_ordered(4, &tasks, NULL), KVR_OK);
    ck_assert_uint_eq(plan.committed, plan.count);
    ck_assert_uint_le(plan.most_waiting, 4 * 8);
}
END_TEST

START_TEST(test_lowest_failure_is_told)
{
    /* Task 61 fails at once, 60 often later: 60 must be told, and 0 … 59 be committed. */
    for (size_t round = 0; round < 30; round++) {
        struct plan plan = {.count = 200,
                            .work_fails = 61,
                            .also_fails = 60,
                            .commit_fails = NEVER,
                            .longest_pause = (unsigned)round * 10};
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_int_eq(run_plan(&plan, thread_counts[_i], &err), KVR_BAD_INPUT);
        ck_assert_int_eq(err.status, KVR_BAD_INPUT);
        ck_assert_str_eq(err.message, "task 60");
        ck_assert_uint_eq(plan.committed, 60);
    }
}
END_TEST

START_TEST(test_failing_commit_stops)
{
    for (long failing = 0; failing < 100; failing += 33) {
        struct plan plan = {.count = 100,
                            .work_fails = failing + 1,
                            .also_fails = NEVER,
                            .commit_fails = failing,
                            .longest_pause = 100};
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_int_eq(run_plan(&plan, thread_counts[_i], &err), KVR_IO);
        ck_assert_int_eq(strncmp(err.message, "commit ", 7), 0);
        ck_assert_uint_eq(plan.committed, (size_t)failing);
    }
}
END_TEST

START_TEST(test_failure_without_record)
{
    struct plan plan = {.count = 9, .work_fails = 0, .also_fails = NEVER, .commit_fails = NEVER};
    ck_assert_int_eq(run_plan(&plan, thread_counts[_i], NULL), KVR_BAD_INPUT);
    ck_assert_uint_eq(plan.committed, 0);
}
END_TEST

/* Work that only ends when all threads are inside it at once. */
static enum kvr_status meet(void *context, size_t index, unsigned thread, void **result,
                            struct kvr_error *err)
{
    (void)index, (void)thread, (void)result, (void)err;
    pthread_barrier_wait(context);
    return KVR_OK;
}

static enum kvr_status accept(void *context, size_t index, void *result, struct kvr_error *err)
{
    (void)context, (void)index, (void)result, (void)err;
    return KVR_OK;
}

START_TEST(test_threads_work_at_once)
{
    pthread_barrier_t barrier;
    ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, 4), 0);
    struct kvr_tasks tasks = {.count = 12, .context = &barrier, .work = meet, .commit = accept};
    ck_assert_int_eq(kvr_run_ordered(4, &tasks, NULL), KVR_OK);
    pthread_barrier_destroy(&barrier);
}
END_TEST

static enum kvr_status note_thread(void *context, size_t index, unsigned thread, void **result,
                                   struct kvr_error *err)
{
    (void)result;
    if (thread != 0 || !pthread_equal(*(pthread_t *)context, pthread_self()))
        return kvr_fail(err, KVR_INTERNAL, "task %zu ran elsewhere", index);
    return KVR_OK;
}

START_TEST(test_one_thread_is_the_caller)
{
    pthread_t self = pthread_self();
    struct kvr_tasks tasks = {.count = 5, .context = &self, .work = note_thread, .commit = accept};
    ck_assert_int_eq(kvr_run_ordered(1, &tasks, NULL), KVR_OK);
    ck_assert_int_eq(kvr_run_ordered(0, &tasks, NULL), KVR_OK);
    ck_assert_uint_ge(kvr_processor_count(), 1);
}
END_TEST

Suite *kvr_suite_parallel(void)
{
    Suite *suite = suite_create("parallel");
    TCase *tcase = tcase_create("ordered");
    tcase_add_loop_test(tcase, test_results_come_in_order, 0, THREAD_CASES);
    tcase_add_test(tcase, test_memory_is_bounded);
    tcase_add_loop_test(tcase, test_lowest_failure_is_told, 0, THREAD_CASES);
    tcase_add_loop_test(tcase, test_failing_commit_stops, 0, THREAD_CASES);
    tcase_add_loop_test(tcase, test_failure_without_record, 0, THREAD_CASES);
    tcase_add_test(tcase, test_threads_work_at_once);
    tcase_add_test(tcase, test_one_thread_is_the_caller);
    suite_add_tcase(suite, tcase);
    return suite;
}
