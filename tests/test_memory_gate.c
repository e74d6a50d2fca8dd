/*
 * The memory gate: how many cells it lets run side by side.
 */
#include <check.h>
#include <stdatomic.h>

#include "formats/base/parallel.h"
#include "replay/memory_gate.h"
#include "tests/suites.h"

enum { THREADS = 8, CELLS = 200, CELL_BYTES = 1 << 20 };

struct counting {
    struct kvr_memory_gate gate;
    struct kvr_room rooms[THREADS];
    _Atomic int active, most;
    _Atomic int done;
};

static enum kvr_status work(void *context, size_t index, unsigned thread, void **result,
                            struct kvr_error *err)
{
    struct counting *counting = context;
    (void)index, (void)result;
    kvr_memory_gate_enter(&counting->gate);
    int active = ++counting->active;
    for (int seen = counting->most; active > seen;)
        if (atomic_compare_exchange_weak(&counting->most, &seen, active))
            break;
    kvr_room_reset(&counting->rooms[thread]);
    void *bytes = kvr_room_take(&counting->rooms[thread], CELL_BYTES - 4096, 1, err);
    counting->active--;
    counting->done++;
    kvr_memory_gate_leave(&counting->gate, &counting->rooms[thread]);
    return bytes != NULL ? KVR_OK : KVR_NO_MEMORY;
}

static enum kvr_status commit(void *context, size_t index, void *result, struct kvr_error *err)
{
    (void)context, (void)index, (void)result, (void)err;
    return KVR_OK;
}

/* The most cells that ran side by side under a limit that leaves `bytes` for cells. */
static int most_active(size_t bytes)
{
    struct counting counting = {0};
    const struct kvr_tasks tasks = {CELLS, &counting, work, commit, NULL};
    kvr_memory_gate_open(&counting.gate, bytes > 0 ? SIZE_MAX : 0, THREADS);
    if (bytes > 0)
        counting.gate.limit = bytes;
    ck_assert_int_eq(kvr_run_ordered(THREADS, &tasks, NULL), KVR_OK);
    ck_assert_int_eq(counting.done, CELLS);
    for (int i = 0; i < THREADS; i++) {
        if (bytes > 0 && bytes < THREADS * (size_t)CELL_BYTES)
            ck_assert_uint_eq(counting.rooms[i].total, 0);
        kvr_room_free(&counting.rooms[i]);
    }
    kvr_memory_gate_close(&counting.gate);
    return counting.most;
}

START_TEST(test_limit_bounds_what_runs_side_by_side)
{
    ck_assert_int_eq(most_active(1), 1);
    ck_assert_int_eq(most_active(CELL_BYTES), 1);
    ck_assert_int_le(most_active(3 * CELL_BYTES + 1), 3);
    ck_assert_int_le(most_active(0), THREADS);
}
END_TEST

START_TEST(test_share_of_a_limit)
{
    struct kvr_memory_gate gate;
    ck_assert_uint_eq(kvr_memory_for_chunks(0), 64 << 20);
    ck_assert_uint_eq(kvr_memory_for_chunks(1 << 30), 64 << 20);
    ck_assert_uint_eq(kvr_memory_for_chunks(100 << 20), 25 << 20);
    kvr_memory_gate_open(&gate, (size_t)100 << 20, 4);
    ck_assert_uint_eq(gate.limit, (size_t)55 << 20);
    kvr_memory_gate_close(&gate);
    kvr_memory_gate_open(&gate, 1000, 4);
    ck_assert_uint_eq(gate.limit, 1);
    kvr_memory_gate_close(&gate);
}
END_TEST

Suite *kvr_suite_memory_gate(void)
{
    Suite *suite = suite_create("memory gate");
    TCase *gate = tcase_create("gate");
    tcase_add_test(gate, test_limit_bounds_what_runs_side_by_side);
    tcase_add_test(gate, test_share_of_a_limit);
    suite_add_tcase(suite, gate);
    return suite;
}
