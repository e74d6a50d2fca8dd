/*
 * Recorded rows through a device: every element type with every kind of value, in blocks of any
 * number of rows, give the vectors and sums of the CPU to the last bit. And what a device cannot
 * do: told in one line, or left to the CPU.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "formats/base/random.h"
#include "tests/device_fixture.h"
#include "tests/made_trace.h"
#include "tests/scratch.h"
#include "tests/suites.h"

enum {
    HEADS = 5,
    KV_HEADS = 1,
    TOKENS = 301,
    PROMPT = 297,
    ROWS = 39,
    VALUES = HEADS * ROWS * TOKENS
};

static double values[VALUES];

/* Any value that the type can hold, subnormals and what is not finite included. */
static double any_value(struct kvr_random *random, enum kvr_element kind, bool finite)
{
    uint64_t bits = kvr_random_bits(random);
    uint32_t narrow = (uint32_t)bits;
    float single;
    double value = 0;
    switch (kind) {
    case KVR_HALF:
        value = (double)kvr_half_to_float((uint16_t)bits);
        break;
    case KVR_BFLOAT16:
        value = (double)kvr_bfloat16_to_float((uint16_t)bits);
        break;
    case KVR_FLOAT:
        if (bits >> 63 != 0)
            narrow &= 0x80ffffffu; /* subnormals and their neighbours */
        memcpy(&single, &narrow, sizeof single);
        value = (double)single;
        break;
    case KVR_DOUBLE:
        value = exp(-120 * kvr_random_uniform(random)); /* below what a float can hold, too */
        break;
    }
    return finite && !isfinite(value) ? 0.5 : value;
}

static struct kvr_trace *write_rows(enum kvr_element kind, bool finite)
{
    static uint64_t positions[ROWS];
    struct kvr_random random = kvr_random_stream(5, kind);
    struct made_trace made;
    struct kvr_sample sample = {
        .name = "0",
        .context_length = TOKENS,
        .prompt_length = PROMPT,
        .query_heads = HEADS,
        .kv_heads = KV_HEADS,
        .query_count = ROWS,
        .query_positions = positions,
    };
    for (size_t i = 0; i < ROWS; i++)
        positions[i] = TOKENS - ROWS + i;
    for (size_t i = 0; i < VALUES; i++)
        values[i] = any_value(&random, kind, finite);
    made_trace_start(&made, "rows.h5");
    made_trace_sample(&made, &sample);
    struct kvr_layer layer = made_layer(0, &sample);
    made_trace_layer(&made, &layer);
    made_trace_data(&made, "attention", kind, HEADS, ROWS, TOKENS, values);
    return made_trace_finish(&made);
}

static struct kvr_plan make_plan(struct kvr_trace *trace)
{
    static const char *const scorers[] = {"last", "window", "window:7"};
    struct kvr_plan plan = kvr_plan_default();
    for (size_t i = 0; i < sizeof scorers / sizeof *scorers; i++)
        ck_assert_int_eq(kvr_plan_add_score(&plan, scorers[i], NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_policy(&plan, "clairvoyant", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_settle(&plan, &trace, 1, NULL), KVR_OK);
    return plan;
}

static bool same_float(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static bool same_double(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void check_same(const struct kvr_cell *found, const struct kvr_cell *expected)
{
    ck_assert_uint_eq(found->scored_count, 4);
    for (size_t i = 0; i < found->scored_count; i++) {
        const struct kvr_scored *a = &found->scored[i], *b = &expected->scored[i];
        ck_assert_uint_eq(a->not_finite, b->not_finite);
        for (size_t j = 0; j < a->heads * PROMPT; j++)
            ck_assert_msg(same_float(a->vectors[j], b->vectors[j]), "%s, %zu: %a, expected %a",
                          a->score->label, j, (double)a->vectors[j], (double)b->vectors[j]);
        for (size_t h = 0; h < a->heads; h++)
            ck_assert(same_double(a->totals[h], b->totals[h]));
    }
    ck_assert_uint_eq(found->future.row_count, TOKENS - PROMPT);
    ck_assert_int_eq(found->future.finite, expected->future.finite);
    for (size_t t = 0; t < PROMPT; t++) {
        ck_assert(same_double(found->future.mass[t], expected->future.mass[t]));
        ck_assert(same_double(found->future.peak[t], expected->future.peak[t]));
    }
}

/* Loads the same cell on the CPU and on the device; true if the device did it. */
static bool check_cell(struct kvr_compute *compute, struct kvr_trace *trace)
{
    struct kvr_plan plan = make_plan(trace);
    struct kvr_room room[2] = {{0}, {0}};
    struct kvr_cell expected, found;
    struct kvr_cell_key key = made_key(trace, 0, 0, 0);
    made_load(&plan, trace, &key, &room[0], &expected);
    plan.compute = compute;
    made_load(&plan, trace, &key, &room[1], &found);
    check_same(&found, &expected);
    bool on_device = found.lane != NULL && !found.lane->failed;
    kvr_cell_unload(&found);
    kvr_room_free(&room[0]);
    kvr_room_free(&room[1]);
    kvr_plan_free(&plan);
    return on_device;
}

static const enum kvr_element kinds[] = {KVR_HALF, KVR_BFLOAT16, KVR_FLOAT, KVR_DOUBLE};

START_TEST(every_element)
{
    struct kvr_compute *compute = device_open("rows", 0);
    if (compute == NULL)
        return;
    for (int finite = 0; finite < 2; finite++) {
        struct kvr_trace *trace = write_rows(kinds[_i], finite != 0);
        ck_assert(check_cell(compute, trace));
        kvr_trace_close(trace);
    }
    kvr_gpu_close(compute);
}
END_TEST

/* A device that holds a few rows at a time: blocks that end anywhere, in both slots. */
START_TEST(small_blocks)
{
    struct kvr_trace *trace = write_rows(KVR_HALF, true);
    for (uint64_t rows = 1; rows < 24; rows += rows < 6 ? 1 : 7) {
        uint64_t memory = rows * 16 * PROMPT * 2 + 16;
        memory += memory < 60000 ? 60000 - memory : 0;
        struct kvr_compute *compute = device_open("blocks of rows", memory);
        if (compute == NULL)
            break;
        ck_assert(check_cell(compute, trace));
        kvr_gpu_close(compute);
    }
    kvr_trace_close(trace);
}
END_TEST

START_TEST(out_of_memory)
{
    struct kvr_compute *compute = device_open("memory", 5000);
    if (compute == NULL)
        return;
    struct kvr_trace *trace = write_rows(KVR_HALF, true);
    struct kvr_plan plan = make_plan(trace);
    struct kvr_room room = {0};
    struct kvr_cell cell;
    struct kvr_cell_key key = made_key(trace, 0, 0, 0);
    struct kvr_error err = KVR_ERROR_NONE;
    plan.compute = compute;
    ck_assert_int_eq(kvr_cell_load(&plan, NULL, trace, &key, &room, &cell, &err), KVR_NO_MEMORY);
    ck_assert_msg(strstr(err.message, "out of device memory") != NULL, "%s", err.message);
    ck_assert_ptr_null(cell.lane);
    kvr_room_free(&room);
    kvr_plan_free(&plan);

    compute->falls_back = true;
    kvr_gpu_close(compute);
    compute = device_open("memory", 5000);
    compute->falls_back = true;
    ck_assert(!check_cell(compute, trace));
    kvr_gpu_close(compute);
    kvr_trace_close(trace);
}
END_TEST

/* ------------------------------------------------------------------------- what is refused */

START_TEST(no_such_device)
{
    unsigned number = 0, count = 0;
    const struct kvr_device_host *host = device_host("numbers of devices", &number);
    struct kvr_device *device = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    if (host == NULL)
        return;
    ck_assert_int_eq(host->count(&count, &err), KVR_OK);
    ck_assert_int_eq(host->open(count, &device, &err), KVR_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "from 0 on") != NULL, "%s", err.message);
    ck_assert_ptr_null(device);
}
END_TEST

START_TEST(broken_program)
{
    unsigned number = 0;
    const struct kvr_device_host *host = device_host("broken kernels", &number);
    struct kvr_device *device = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    if (host == NULL)
        return;
    ck_assert_int_eq(host->open(number, &device, &err), KVR_OK);
    device->group = kvr_gpu_group(&device->limits);
    ck_assert_int_eq(host->build(device, "this is no kernel;\n", &err), KVR_IO);
    ck_assert_msg(strstr(err.message, "compiling the kernels") != NULL, "%s", err.message);
    ck_assert_ptr_null(strchr(err.message, '\n'));
    host->close(device);
}
END_TEST

START_TEST(names)
{
    static const char *const good[] = {"cpu", "auto", "opencl", "cuda", "opencl:0", "cuda:12"};
    static const char *const bad[] = {"",         "gpu",        "opencl:",  "opencl:-1",
                                      "opencl:x", "cpu:0",      "auto:0",   "open",
                                      "openclx",  "opencl:0:1", "cuda:5000"};
    struct kvr_error err = KVR_ERROR_NONE;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(kvr_gpu_check_name(good[i], &err) == KVR_OK, "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(kvr_gpu_check_name(bad[i], &err) == KVR_BAD_ARGUMENT, "%s", bad[i]);
}
END_TEST

/* Groups shrink with the device's limits, until there is no room for the kernels. */
START_TEST(groups_fit)
{
    struct kvr_device_limits limits = {.group_items = 1024, .local_bytes = 32768, .doubles = true};
    ck_assert_uint_eq(kvr_gpu_group(&limits), KVR_MOST_GROUP);
    limits.group_items = 200;
    ck_assert_uint_eq(kvr_gpu_group(&limits), 128);
    limits.local_bytes = 9000;
    ck_assert_uint_eq(kvr_gpu_group(&limits), 64);
    ck_assert(kvr_gpu_can(&limits, KVR_STEP_ROWS));
    limits.doubles = false;
    ck_assert(!kvr_gpu_can(&limits, KVR_STEP_ROWS));
    ck_assert(kvr_gpu_can(&limits, KVR_STEP_KEEP));
    limits.local_bytes = 8192;
    ck_assert_uint_eq(kvr_gpu_group(&limits), 0);
    ck_assert(!kvr_gpu_can(&limits, KVR_STEP_KEEP));
}
END_TEST

Suite *kvr_suite_gpu_rows(void)
{
    Suite *suite = suite_create("gpu_rows");
    TCase *tests = tcase_create("device");
    tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, every_element, 0, sizeof kinds / sizeof *kinds);
    tcase_add_test(tests, small_blocks);
    tcase_add_test(tests, out_of_memory);
    tcase_add_test(tests, no_such_device);
    tcase_add_test(tests, broken_program);
    tcase_add_test(tests, names);
    tcase_add_test(tests, groups_fit);
    suite_add_tcase(suite, tests);
    return suite;
}
