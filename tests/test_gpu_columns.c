/*
 * Column sums of query and key on a device: the CPU's to the last bit, whatever the shape, the
 * values and the memory; and near the definition in double.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "replay/attention.h"
#include "replay/recompute.h"
#include "tests/device_fixture.h"
#include "tests/qk_layer.h"
#include "tests/suites.h"

enum { ROUNDS = 24 };

static void draw_shape(struct kvr_random *random, uint32_t ratio)
{
    uint32_t groups = ratio > QK_HEADS / 2 ? 1 : 2;
    uint64_t tokens = 1 + kvr_random_below(random, QK_TOKENS);
    uint64_t prompt = tokens - kvr_random_below(random, tokens < 5 ? tokens : 5);
    qk_shape(ratio * groups, groups, tokens, prompt, 1 + kvr_random_below(random, QK_WIDTH),
             (enum kvr_element)kvr_random_below(random, 4));
    if (kvr_random_below(random, 2) == 0)
        qk.sample.pad = kvr_random_below(random, prompt);
    if (kvr_random_below(random, 2) == 0)
        qk.layer.sliding_window = 1 + kvr_random_below(random, tokens + 3);
    if (kvr_random_below(random, 2) == 0)
        qk.layer.softcap = 0.5 + 30 * kvr_random_uniform(random);
    if (kvr_random_below(random, 2) == 0)
        qk.layer.scale = kvr_random_uniform(random);
    qk_draw(random, exp(4 * kvr_random_uniform(random) - 1));
}

/* Puts values that are not finite, or so large that logits are not, into some vectors. */
static void spoil(struct kvr_random *random)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 60000};
    for (int i = 0; i < 3; i++) {
        size_t t = kvr_random_below(random, qk.sample.context_length);
        size_t d = kvr_random_below(random, qk.width);
        qk.key[kvr_random_below(random, qk.sample.kv_heads)][t][d] =
            values[kvr_random_below(random, 4)];
        qk.query[kvr_random_below(random, qk.sample.query_heads)][t][d] =
            values[kvr_random_below(random, 4)];
    }
}

static void load(struct kvr_compute *compute, uint32_t group, struct kvr_room *room,
                 struct kvr_plan *plan, struct kvr_cell *cell)
{
    *plan = kvr_plan_default();
    ck_assert_int_eq(kvr_plan_add_score(plan, "accumulated", NULL), KVR_OK);
    plan->compute = compute;
    struct kvr_cell_key key = made_key(qk_trace, 0, 0, group);
    made_load(plan, qk_trace, &key, room, cell);
    ck_assert_ptr_nonnull(cell->column_sums);
    if (compute != NULL)
        ck_assert(!cell->lane->failed);
}

static void compare_group(struct kvr_compute *compute, uint32_t group)
{
    struct kvr_room room[2] = {{0}, {0}};
    struct kvr_plan plan[2];
    struct kvr_cell cell[2];
    load(NULL, group, &room[0], &plan[0], &cell[0]);
    load(compute, group, &room[1], &plan[1], &cell[1]);
    size_t count = cell[0].candidates.count;
    for (size_t i = 0; i < count * cell[0].key.ratio; i++) {
        double found = cell[1].column_sums[i], expected = cell[0].column_sums[i];
        ck_assert_msg(isnan(expected) ? isnan(found) != 0
                                      : memcmp(&found, &expected, sizeof found) == 0,
                      "group %u, head %zu, token %zu: %a, expected %a", group, i / count, i % count,
                      found, expected);
    }
    for (int i = 0; i < 2; i++) {
        kvr_cell_unload(&cell[i]);
        kvr_room_free(&room[i]);
        kvr_plan_free(&plan[i]);
    }
}

static void compare_all(struct kvr_compute *compute)
{
    for (uint32_t group = 0; group < qk.sample.kv_heads; group++)
        compare_group(compute, group);
}

START_TEST(random_shapes)
{
    struct kvr_compute *compute = device_open("query and key", 0);
    for (unsigned round = 0; compute != NULL && round < ROUNDS; round++) {
        struct kvr_random random = kvr_random_stream(23, round);
        draw_shape(&random, 1 + round % QK_HEADS);
        if (round % 4 == 3)
            spoil(&random);
        qk_write();
        compare_all(compute);
    }
    kvr_gpu_close(compute);
}
END_TEST

/* So little memory that strips have few rows, and keys come in several pieces. */
START_TEST(short_strips)
{
    static const uint64_t memories[] = {70000, 90000, 150000, 400000};
    struct kvr_random random = kvr_random_stream(29, 1);
    qk_shape(4, 2, QK_TOKENS, QK_TOKENS - 2, 33, KVR_HALF);
    qk_draw(&random, 2);
    qk_write();
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
        struct kvr_compute *compute = device_open("strips", memories[i]);
        if (compute == NULL)
            return;
        compare_all(compute);
        kvr_gpu_close(compute);
    }
}
END_TEST

/* Sums of the definition's rows in double; 1e-5 is what floats leave of logits of this size. */
START_TEST(as_defined)
{
    struct kvr_compute *compute = device_open("the definition", 0);
    if (compute == NULL)
        return;
    struct kvr_random random = kvr_random_stream(31, 1);
    struct kvr_room room = {0};
    struct kvr_plan plan;
    struct kvr_cell cell;
    double row[QK_TOKENS], sums[QK_TOKENS] = {0};
    qk_shape(3, 1, 200, 190, 40, KVR_FLOAT);
    qk_draw(&random, 2);
    qk_write();
    load(compute, 0, &room, &plan, &cell);
    for (size_t h = 0; h < 3; h++) {
        memset(sums, 0, sizeof sums);
        for (size_t q = 0; q < 190; q++) {
            qk_row(h, q, row);
            for (size_t t = 0; t < 190; t++)
                sums[t] += row[t];
        }
        for (size_t t = 0; t < 190; t++)
            ck_assert_double_eq_tol(cell.column_sums[h * 190 + t], sums[t], 1e-5 * sums[t]);
    }
    kvr_cell_unload(&cell);
    kvr_room_free(&room);
    kvr_plan_free(&plan);
    kvr_gpu_close(compute);
}
END_TEST

Suite *kvr_suite_gpu_columns(void)
{
    Suite *suite = suite_create("gpu_columns");
    TCase *tests = tcase_create("device");
    tcase_add_checked_fixture(tests, qk_start, qk_end);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, random_shapes);
    tcase_add_test(tests, short_strips);
    tcase_add_test(tests, as_defined);
    suite_add_tcase(suite, tests);
    return suite;
}
