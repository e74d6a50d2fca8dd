/*
 * Tables and summary from parts: the same bytes and the same bits as those of one replay, however
 * it was cut and whoever replayed what.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/result_parts.h"
#include "formats/part_folder.h"
#include "tests/scratch.h"
#include "tests/small_trace.h"
#include "tests/suites.h"

enum { RUN = 77 };

static struct kvr_plan plan;
static struct kvr_trace *trace;
static struct kvr_units units;

static void start(void)
{
    static struct small_trace small;
    scratch_setup();
    small_begin(&small, SMALL_TOKENS, 56);
    small.samples = 3;
    small.layers = 4;
    small.needle_count = 1;
    small.needles[0] = (struct kvr_span){20, 24};
    small_compute(&small, &(struct small_truth){.scale = 1});
    small_write(&small, scratch_path("t.h5"));
    ck_assert_int_eq(kvr_trace_open(scratch_path("t.h5"), NULL, &trace, NULL), KVR_OK);
}

static void end(void)
{
    kvr_units_free(&units);
    kvr_plan_free(&plan);
    kvr_trace_close(trace);
    scratch_teardown();
}

static void make_plan(const char *const policies[], size_t count)
{
    plan = kvr_plan_default();
    plan.threads = 3;
    plan.curve = KVR_CURVE_LOG;
    ck_assert_int_eq(kvr_plan_add_score(&plan, "last", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_score(&plan, "window:8", NULL), KVR_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(kvr_plan_add_policy(&plan, policies[i], NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_budget(&plan, "0.1", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_budget(&plan, "0.3", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "1", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "16", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_settle(&plan, &trace, 1, NULL), KVR_OK);
}

static void replay_whole(struct kvr_summary *summary)
{
    struct kvr_tables tables;
    struct kvr_results results;
    ck_assert_int_eq(kvr_summary_open(&plan, summary, NULL), KVR_OK);
    ck_assert_int_eq(kvr_tables_open(&tables, scratch_path("whole"), NULL), KVR_OK);
    ck_assert_int_eq(kvr_results_open(&results, &tables, summary, NULL), KVR_OK);
    ck_assert_int_eq(kvr_replay_trace(&plan, trace, results.observers, results.count, NULL, NULL),
                     KVR_OK);
    kvr_results_free(&results);
    kvr_summary_finish(summary);
    ck_assert_int_eq(kvr_tables_commit(&tables, NULL), KVR_OK);
}

/* Every taker its units, the last one first, as processes finish in any order. */
static void replay_parts(size_t takers)
{
    bool *todo = calloc(units.count, sizeof *todo);
    ck_assert_ptr_nonnull(todo);
    ck_assert_int_eq(kvr_part_folder_make(scratch_path("parts"), NULL), KVR_OK);
    for (size_t taker = takers; taker-- > 0;) {
        for (size_t u = 0; u < units.count; u++)
            todo[u] = units.all[u].owner == taker;
        struct kvr_part_recorder recorder = {
            .folder = scratch_path("parts"), .run = RUN, .units = &units, .todo = todo};
        kvr_part_recorder_open(&recorder, &plan);
        ck_assert_int_eq(kvr_part_recorder_run(&recorder, &plan, trace, 0, NULL, NULL), KVR_OK);
        kvr_part_recorder_close(&recorder);
    }
    free(todo);
}

static void gather(struct kvr_summary *summary)
{
    struct kvr_tables tables;
    struct kvr_results results;
    ck_assert_int_eq(kvr_summary_open(&plan, summary, NULL), KVR_OK);
    ck_assert_int_eq(kvr_tables_open(&tables, scratch_path("gathered"), NULL), KVR_OK);
    ck_assert_int_eq(kvr_results_open(&results, &tables, summary, NULL), KVR_OK);
    for (size_t u = 0; u < units.count; u++) {
        const struct kvr_part_stamp stamp = {RUN, u, units.count};
        ck_assert(kvr_part_is_good(scratch_path("parts"), &stamp));
        ck_assert_int_eq(kvr_results_take_part(&results, scratch_path("parts"), &stamp,
                                               &trace->samples[units.all[u].sample], NULL),
                         KVR_OK);
    }
    kvr_results_free(&results);
    kvr_summary_finish(summary);
    ck_assert_int_eq(kvr_tables_commit(&tables, NULL), KVR_OK);
}

static void assert_same_tables(void)
{
    uint32_t wanted = kvr_result_tables_wanted(&plan);
    for (uint32_t t = 0; t < KVR_RESULT_TABLES; t++) {
        char whole[64], gathered[64];
        snprintf(whole, sizeof whole, "whole/%s", kvr_result_tables[t]->name);
        snprintf(gathered, sizeof gathered, "gathered/%s", kvr_result_tables[t]->name);
        ck_assert_int_eq(scratch_exists(whole), wanted >> t & 1);
        if ((wanted >> t & 1) == 0)
            continue;
        char *expected = scratch_read(whole, NULL), *found = scratch_read(gathered, NULL);
        ck_assert_msg(strcmp(expected, found) == 0, "%s", kvr_result_tables[t]->name);
        free(expected);
        free(found);
    }
}

/* All members are of 64 bits, so there is nothing between them. */
static void assert_same_summary(const struct kvr_summary *a, const struct kvr_summary *b)
{
    size_t budgets = plan.page_size_count * plan.budget_count;
    ck_assert_mem_eq(a->overlaps, b->overlaps, plan.score_count * budgets * sizeof *a->overlaps);
    ck_assert_mem_eq(a->kept, b->kept, plan.use_count * budgets * sizeof *a->kept);
    ck_assert_mem_eq(a->census, b->census, plan.score_count * sizeof *a->census);
    ck_assert_uint_eq(a->premises, b->premises);
    ck_assert_uint_eq(a->premises_held, b->premises_held);
    ck_assert_uint_gt(a->kept[0].future_samples, 0);
}

static void assert_same(size_t takers)
{
    struct kvr_summary whole, gathered;
    replay_whole(&whole);
    ck_assert_int_eq(kvr_units_make(&plan, &trace, 1, takers, &units, NULL), KVR_OK);
    replay_parts(takers);
    gather(&gathered);
    assert_same_tables();
    assert_same_summary(&whole, &gathered);
    kvr_summary_free(&whole);
    kvr_summary_free(&gathered);
}

START_TEST(test_policies_of_a_group)
{
    static const char *const policies[] = {"independent", "mean", "page-entrokv"};
    make_plan(policies, 3);
    assert_same((size_t)_i);
}
END_TEST

START_TEST(test_policies_of_a_sample)
{
    static const char *const policies[] = {"mean",      "pyramidkv",  "ada-snapkv",
                                           "page-gate", "model-mass", "tova"};
    make_plan(policies, 6);
    assert_same((size_t)_i);
}
END_TEST

/* A fact about what the run does not have is refused, not followed. */
START_TEST(test_facts_outside_the_plan)
{
    static const char *const policies[] = {"mean"};
    const struct {
        size_t table;
        uint64_t words[9];
        size_t count;
    } facts[] = {
        {0, {0, 99}, 9}, {0, {0, 0, 99}, 9},      {0, {0, 0, 0, 99}, 9}, {0, {0}, 8},
        {1, {99}, 9},    {1, {0, 0, 99}, 9},      {2, {99}, 5},          {2, {0, 3}, 5},
        {3, {0, 99}, 6}, {3, {0, 0, 0, 0, 1}, 6}, {6, {2}, 3},           {5, {0}, 1},
    };
    make_plan(policies, 1);
    ck_assert_int_eq(kvr_part_folder_make(scratch_path("parts"), NULL), KVR_OK);
    char *path = kvr_part_folder_unit(scratch_path("parts"), 0, NULL);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const struct kvr_part_stamp stamp = {RUN, 0, 1};
        struct kvr_part_writer *writer;
        struct kvr_summary summary;
        struct kvr_tables tables;
        struct kvr_results results;
        ck_assert_int_eq(kvr_part_start(path, &stamp, &writer, NULL), KVR_OK);
        ck_assert_int_eq(kvr_part_add(writer, KVR_PART_FACTS, (uint32_t)facts[i].table,
                                      facts[i].words, 8 * facts[i].count, NULL),
                         KVR_OK);
        ck_assert_int_eq(kvr_part_commit(writer, NULL), KVR_OK);
        ck_assert_int_eq(kvr_summary_open(&plan, &summary, NULL), KVR_OK);
        ck_assert_int_eq(kvr_tables_open(&tables, scratch_path("out"), NULL), KVR_OK);
        ck_assert_int_eq(kvr_results_open(&results, &tables, &summary, NULL), KVR_OK);
        ck_assert_msg(kvr_results_take_part(&results, scratch_path("parts"), &stamp,
                                            &trace->samples[0], NULL) == KVR_BAD_INPUT,
                      "fact %zu", i);
        kvr_results_free(&results);
        kvr_tables_abandon(&tables);
        kvr_summary_free(&summary);
    }
    free(path);
}
END_TEST

/* Only what was asked for is replayed; a part that was there is not touched. */
START_TEST(test_some_units)
{
    static const char *const policies[] = {"mean"};
    make_plan(policies, 1);
    ck_assert_int_eq(kvr_units_make(&plan, &trace, 1, 1, &units, NULL), KVR_OK);
    ck_assert_uint_eq(units.count, 9); /* three samples of four layers, eight units wished */
    bool todo[9] = {false, true, false, false, false, true};
    ck_assert_int_eq(kvr_part_folder_make(scratch_path("some"), NULL), KVR_OK);
    struct kvr_part_recorder recorder = {
        .folder = scratch_path("some"), .run = RUN, .units = &units, .todo = todo};
    kvr_part_recorder_open(&recorder, &plan);
    size_t layers = 0;
    for (size_t u = 0; u < 9; u++)
        layers += todo[u] ? units.all[u].layer_end - units.all[u].layer_begin : 0;
    ck_assert_uint_eq(kvr_part_recorder_cells(&recorder, &plan, trace, 0), layers * 2);
    ck_assert_int_eq(kvr_part_recorder_run(&recorder, &plan, trace, 0, NULL, NULL), KVR_OK);
    kvr_part_recorder_close(&recorder);
    for (size_t u = 0; u < 9; u++) {
        const struct kvr_part_stamp stamp = {RUN, u, 9}, other = {RUN + 1, u, 9};
        ck_assert_int_eq(kvr_part_is_good(scratch_path("some"), &stamp), todo[u]);
        ck_assert(!kvr_part_is_good(scratch_path("some"), &other));
    }
}
END_TEST

Suite *kvr_suite_result_parts(void)
{
    Suite *suite = suite_create("result_parts");
    TCase *tcase = tcase_create("parts");
    tcase_add_checked_fixture(tcase, start, end);
    tcase_add_loop_test(tcase, test_policies_of_a_group, 1, 6);
    tcase_add_loop_test(tcase, test_policies_of_a_sample, 1, 4);
    tcase_add_test(tcase, test_facts_outside_the_plan);
    tcase_add_test(tcase, test_some_units);
    suite_add_tcase(suite, tcase);
    return suite;
}
