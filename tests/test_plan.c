/*
 * Plans: scorers, policies, budgets and page sizes as they are asked for, and what a trace can
 * give. The traces here are structures in memory; nothing is read.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/plan.h"
#include "tests/suites.h"

static struct kvr_plan plan;

static void start(void)
{
    plan = kvr_plan_default();
}

static void end(void)
{
    kvr_plan_free(&plan);
}

/* ------------------------------------------------------------------------- scorers */

START_TEST(test_scorers)
{
    static const struct {
        const char *text, *scorer;
        uint64_t count;
        const char *column;
    } cases[] = {
        {"last", "last", 1, NULL},
        {"window", "window", 32, NULL},
        {"window:1", "window", 1, NULL},
        {"window:16", "window", 16, NULL},
        {"window:4294967295", "window", 4294967295, NULL},
        {"column:gate", "column", 0, "gate"},
        {"column:a:b", "column", 0, "a:b"},
        {"column:window", "column", 0, "window"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kvr_score score;
        ck_assert_int_eq(kvr_score_parse(cases[i].text, true, &score, NULL), KVR_OK);
        ck_assert_str_eq(score.label, cases[i].text);
        ck_assert_str_eq(score.scorer->name, cases[i].scorer);
        if (cases[i].column == NULL) {
            ck_assert_uint_eq(score.number, cases[i].count);
            ck_assert_ptr_null(score.name);
        } else {
            ck_assert_str_eq(score.name, cases[i].column);
        }
        kvr_score_free(&score);
        ck_assert_ptr_null(score.label);
    }
    struct kvr_score score;
    ck_assert_int_eq(kvr_score_parse("accumulated", true, &score, NULL), KVR_OK);
    ck_assert_int_eq(score.scorer->source, KVR_FROM_ACCUMULATED);
    kvr_score_free(&score);
}
END_TEST

START_TEST(test_scorers_that_are_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "\"\" is not a scorer; there are last, window[:N], accumulated"},
        {"first", "\"first\" is not a scorer"},
        {"LAST", "\"LAST\" is not a scorer"},
        {"last ", "\"last \" is not a scorer"},
        {"las", "\"las\" is not a scorer"},
        {"last:1", "\"last:1\" is not a scorer"},
        {"last:", "\"last:\" is not a scorer"},
        {"accumulated:2", "\"accumulated:2\" is not a scorer"},
        {":", "\":\" is not a scorer"},
        {"column", "\"column\" is not a scorer"},
        {"column:", "\"column:\" is not a scorer"},
        {"column:a/b", "\"column:a/b\" is not a scorer"},
        {"window:", "scorer \"window:\": N must be an integer from 1 to 4294967295"},
        {"window:0", "N must be an integer from 1"},
        {"window:-1", "N must be an integer from 1"},
        {"window:1.5", "N must be an integer from 1"},
        {"window: 4", "N must be an integer from 1"},
        {"window:4x", "N must be an integer from 1"},
        {"window:4294967296", "N must be an integer from 1"},
        {"window:99999999999999999999999", "N must be an integer from 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kvr_score score;
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_msg(kvr_score_parse(cases[i].text, true, &score, &err) == KVR_BAD_ARGUMENT,
                      "\"%s\" passed", cases[i].text);
        ck_assert_msg(strstr(err.message, cases[i].message) != NULL, "\"%s\": %s", cases[i].text,
                      err.message);
    }
}
END_TEST

/* Prefill rows are those at positions pad … P-1. */
START_TEST(test_rows_of_scorers)
{
    uint64_t positions[] = {0, 2, 3, 5, 9, 10, 12};
    const struct {
        uint64_t pad, prompt;
        size_t begin, end;   /* prefill rows */
        size_t window_begin; /* of the last three */
    } cases[] = {
        {0, 13, 0, 7, 4}, {0, 10, 0, 5, 2}, {0, 9, 0, 4, 1}, {3, 10, 2, 5, 2},  {4, 10, 3, 5, 3},
        {4, 9, 3, 4, 3},  {6, 9, 4, 4, 4},  {0, 1, 0, 1, 0}, {12, 20, 6, 7, 6}, {13, 20, 7, 7, 7},
    };
    struct kvr_score window, last;
    ck_assert_int_eq(kvr_score_parse("window:3", true, &window, NULL), KVR_OK);
    ck_assert_int_eq(kvr_score_parse("last", true, &last, NULL), KVR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct kvr_sample sample = {.pad = cases[i].pad,
                                          .prompt_length = cases[i].prompt,
                                          .context_length = 30,
                                          .query_count = 7,
                                          .query_positions = positions};
        struct kvr_row_range rows = kvr_prefill_rows(&sample);
        ck_assert_uint_eq(rows.begin, cases[i].begin);
        ck_assert_uint_eq(rows.end, cases[i].end);
        rows = kvr_score_rows(&window, &sample);
        ck_assert_uint_eq(rows.begin, cases[i].window_begin);
        ck_assert_uint_eq(rows.end, cases[i].end);
        rows = kvr_score_rows(&last, &sample);
        ck_assert_uint_eq(rows.begin, cases[i].end - (cases[i].end > cases[i].begin));
        ck_assert_uint_eq(rows.end, cases[i].end);
    }
    kvr_score_free(&window);
    kvr_score_free(&last);
}
END_TEST

/* ------------------------------------------------------------------------- policies */

START_TEST(test_policies_of_the_paper)
{
    static const char *const names[][2] = {
        {"independent", "head"}, {"mean", "mean"}, {"max", "max"}, {"page-entrokv", "entropy"}};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(kvr_plan_add_policy(&plan, names[i][0], NULL), KVR_OK);
        ck_assert_uint_eq(plan.policy_count, i + 1);
        ck_assert_str_eq(plan.policies[i].label, names[i][0]);
        ck_assert_str_eq(plan.policies[i].reduce->name, names[i][1]);
    }
}
END_TEST

START_TEST(test_policies_that_are_refused)
{
    static const char *const names[] = {"", "Mean", "mean ", "means", "page-entrokv:2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_int_eq(kvr_plan_add_policy(&plan, names[i], &err), KVR_BAD_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(err.message, "is not a policy"));
        ck_assert_ptr_nonnull(strstr(err.message, "independent, mean, max, page-entrokv"));
    }
    ck_assert_uint_eq(plan.policy_count, 0);
}
END_TEST

START_TEST(test_every_policy_names_stages_that_exist)
{
    for (const struct kvr_policy *policy = kvr_policies; policy->name != NULL; policy++) {
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_uint_gt(strlen(policy->summary), 0);
        if (strcmp(policy->name, "learned") != 0) /* asks for a column's name */
            ck_assert_msg(kvr_plan_add_policy(&plan, policy->name, &err) == KVR_OK, "%s",
                          err.message);
    }
}
END_TEST

/* ------------------------------------------------------------------------- budgets, page sizes */

START_TEST(test_budgets)
{
    static const char *const good[] = {"0.02", "0.05", "1", "1.0", ".5", "0.000000000000001"};
    static const char *const bad[] = {"0",    "0.0", "1.5", "1.000001", "2",  "-0.1",
                                      "+0.1", "",    "0,5", "1e-1",     "5%", " 0.1",
                                      "0.1 ", "nan", "inf", "."};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_int_eq(kvr_plan_add_budget(&plan, good[i], NULL), KVR_OK);
        ck_assert_str_eq(plan.budgets[i].label, good[i]);
    }
    ck_assert_double_eq_tol(kvr_decimal_double(plan.budgets[0].fraction), 0.02, 1e-18);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_msg(kvr_plan_add_budget(&plan, bad[i], &err) == KVR_BAD_ARGUMENT, "\"%s\"",
                      bad[i]);
        ck_assert_ptr_nonnull(strstr(err.message, "above 0 and at most 1"));
    }
    ck_assert_uint_eq(plan.budget_count, sizeof good / sizeof *good);
}
END_TEST

START_TEST(test_page_sizes)
{
    static const char *const bad[] = {"0", "-1", "1.5", "", "x", "4294967296", "16 "};
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "16", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "1", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "4294967295", NULL), KVR_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_int_eq(kvr_plan_add_page_size(&plan, bad[i], &err), KVR_BAD_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(err.message, "must be an integer from 1 to 4294967295"));
    }
    ck_assert_uint_eq(plan.page_size_count, 3);
    ck_assert_uint_eq(plan.page_sizes[0], 16);
    ck_assert_uint_eq(plan.page_sizes[2], 4294967295);
}
END_TEST

START_TEST(test_nothing_is_taken_twice)
{
    static const struct {
        enum kvr_status (*add)(struct kvr_plan *, const char *, struct kvr_error *);
        const char *text, *other, *message;
    } cases[] = {
        {kvr_plan_add_score, "window:8", "window", "scorer \"window:8\" is given twice"},
        {kvr_plan_add_policy, "mean", "max", "policy \"mean\" is given twice"},
        {kvr_plan_add_budget, "0.1", "0.2", "budget \"0.1\" is given twice"},
        {kvr_plan_add_page_size, "16", "1", "page size \"16\" is given twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_int_eq(cases[i].add(&plan, cases[i].text, NULL), KVR_OK);
        ck_assert_int_eq(cases[i].add(&plan, cases[i].other, NULL), KVR_OK);
        ck_assert_int_eq(cases[i].add(&plan, cases[i].text, &err), KVR_BAD_ARGUMENT);
        ck_assert_str_eq(err.message, cases[i].message);
    }
    ck_assert_uint_eq(plan.score_count, 2);
    ck_assert_uint_eq(plan.policy_count, 2);
    ck_assert_uint_eq(plan.budget_count, 2);
    ck_assert_uint_eq(plan.page_size_count, 2);
}
END_TEST

START_TEST(test_many_items)
{
    for (unsigned i = 1; i <= 300; i++) {
        char text[32];
        snprintf(text, sizeof text, "window:%u", i);
        ck_assert_int_eq(kvr_plan_add_score(&plan, text, NULL), KVR_OK);
        snprintf(text, sizeof text, "%u", i);
        ck_assert_int_eq(kvr_plan_add_page_size(&plan, text, NULL), KVR_OK);
    }
    for (size_t i = 0; i < 300; i++) {
        ck_assert_uint_eq(plan.scores[i].number, i + 1);
        ck_assert_uint_eq(plan.page_sizes[i], i + 1);
    }
}
END_TEST

/* As `kvreplay help replay` says. */
START_TEST(test_defaults)
{
    ck_assert_double_eq(plan.tau, 0.5);
    ck_assert_double_eq(plan.entropy.alpha, 2);
    ck_assert_uint_eq(plan.entropy.window, 0);
    ck_assert_uint_eq(plan.sinks, 4);
    ck_assert_double_eq(plan.sink_threshold, 0.5);
    ck_assert_double_eq(plan.retrieval_mass, 0.1);
    ck_assert_double_eq(plan.retrieval_support, 10);
    ck_assert_int_eq(plan.page_reduce, KVR_PAGE_MAX);
    ck_assert_int_eq(plan.nan, KVR_NAN_EXCLUDE);
    ck_assert(!plan.match_physical);
}
END_TEST

/* ------------------------------------------------------------------------- what traces give */

/* Traces of one sample with two layers: one with full rows, one with a column or two. */
struct toy_trace {
    struct kvr_trace trace;
    struct kvr_sample sample;
    struct kvr_layer layers[2];
    struct kvr_column columns[2];
    uint64_t positions[3];
};

static struct kvr_dataset some_data;

/* attention, accumulated: in layer 3. Columns: of layer 5, at most two. */
static void toy(struct toy_trace *made, bool attention, bool accumulated, const char *first_column,
                const char *second_column)
{
    static char sample_name[] = "0";
    *made = (struct toy_trace){.positions = {7, 8, 9}};
    made->sample = (struct kvr_sample){
        .name = sample_name,
        .context_length = 10,
        .prompt_length = 10,
        .query_count = 3,
        .query_positions = made->positions,
        .layer_count = 2,
        .layers = made->layers,
    };
    made->layers[0] = (struct kvr_layer){
        .number = 3,
        .attention = attention ? &some_data : NULL,
        .accumulated = accumulated ? &some_data : NULL,
    };
    made->columns[0].name = (char *)(uintptr_t)first_column;
    made->columns[1].name = (char *)(uintptr_t)second_column;
    made->layers[1] = (struct kvr_layer){
        .number = 5,
        .column_count = first_column == NULL    ? 0
                        : second_column == NULL ? 1
                                                : 2,
        .columns = made->columns,
    };
    made->trace = (struct kvr_trace){.sample_count = 1, .samples = &made->sample};
}

static void assert_scores(const char *expected)
{
    char found[256] = "";
    for (size_t i = 0; i < plan.score_count; i++) {
        if (i > 0)
            strcat(found, " ");
        strcat(found, plan.scores[i].label);
    }
    ck_assert_str_eq(found, expected);
}

static void add_available(const struct toy_trace *made)
{
    ck_assert_int_eq(kvr_plan_add_available(&plan, &made->trace, NULL), KVR_OK);
}

START_TEST(test_default_scorers_of_one_trace)
{
    struct toy_trace made;
    toy(&made, true, true, "gate", "age");
    add_available(&made);
    assert_scores("last window accumulated column:age column:gate");
    add_available(&made); /* nothing is added twice */
    assert_scores("last window accumulated column:age column:gate");
}
END_TEST

/* A trace that has what the ones before lack: plain scorers still come first, columns by name. */
START_TEST(test_default_scorers_of_several_traces)
{
    struct toy_trace columns, sums, rows;
    toy(&columns, false, false, "gate", "zeta");
    toy(&sums, false, true, "age", NULL);
    toy(&rows, true, false, "gate", "beta");
    add_available(&columns);
    assert_scores("column:gate column:zeta");
    add_available(&sums);
    assert_scores("accumulated column:age column:gate column:zeta");
    add_available(&rows);
    assert_scores("last window accumulated column:age column:beta column:gate column:zeta");
}
END_TEST

START_TEST(test_default_scorers_follow_the_filters)
{
    struct toy_trace made;
    toy(&made, true, true, "gate", NULL);
    static const uint32_t wanted[] = {3, 5, 7};
    static const char *const expected[] = {"last window accumulated", "column:gate", ""};
    for (size_t i = 0; i < 3; i++) {
        plan.layers = malloc(sizeof *plan.layers);
        plan.layers[0] = wanted[i];
        plan.layer_count = 1;
        add_available(&made);
        assert_scores(expected[i]);
        kvr_plan_free(&plan);
        plan = kvr_plan_default();
    }
    char other[] = "1";
    plan.samples = malloc(sizeof *plan.samples);
    plan.samples[0] = other;
    plan.sample_count = 1;
    add_available(&made);
    assert_scores("");
}
END_TEST

/* Decode rows alone, or rows of padding alone, give no scorer over rows. */
START_TEST(test_no_prefill_rows)
{
    struct toy_trace made;
    toy(&made, true, false, NULL, NULL);
    made.sample.prompt_length = 7; /* all rows are decode rows */
    add_available(&made);
    assert_scores("");
    made.sample.prompt_length = 8;
    add_available(&made);
    assert_scores("last window");
    kvr_plan_free(&plan);
    plan = kvr_plan_default();
    made.sample.pad = 8; /* rows 8 and 9 are decode rows, row 7 is padding */
    made.sample.prompt_length = 9;
    made.sample.query_count = 1;
    add_available(&made);
    assert_scores("");
}
END_TEST

START_TEST(test_score_is_found_in_a_trace)
{
    struct toy_trace made;
    toy(&made, true, false, "gate", NULL);
    static const struct {
        const char *text;
        bool there;
    } cases[] = {{"last", true},        {"window:5", true},    {"accumulated", false},
                 {"column:gate", true}, {"column:gat", false}, {"column:gate2", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kvr_score score;
        ck_assert_int_eq(kvr_score_parse(cases[i].text, true, &score, NULL), KVR_OK);
        ck_assert(kvr_plan_score_in_trace(&plan, &score, &made.trace) == cases[i].there);
        kvr_score_free(&score);
    }
}
END_TEST

START_TEST(test_filters)
{
    struct kvr_sample sample = {.name = NULL};
    struct kvr_layer layer = {.number = 4};
    char a[] = "a", b[] = "b", ab[] = "ab";
    sample.name = ab;
    ck_assert(kvr_plan_wants_sample(&plan, &sample));
    ck_assert(kvr_plan_wants_layer(&plan, &layer));
    plan.samples = malloc(2 * sizeof *plan.samples);
    plan.samples[0] = a;
    plan.samples[1] = b;
    plan.sample_count = 2;
    plan.layers = malloc(2 * sizeof *plan.layers);
    plan.layers[0] = 0;
    plan.layers[1] = 4;
    plan.layer_count = 2;
    ck_assert(!kvr_plan_wants_sample(&plan, &sample));
    sample.name = b;
    ck_assert(kvr_plan_wants_sample(&plan, &sample));
    ck_assert(kvr_plan_wants_layer(&plan, &layer));
    layer.number = 40;
    ck_assert(!kvr_plan_wants_layer(&plan, &layer));
}
END_TEST

Suite *kvr_suite_plan(void)
{
    Suite *suite = suite_create("plan");
    TCase *scorers = tcase_create("scorers");
    tcase_add_test(scorers, test_scorers);
    tcase_add_test(scorers, test_scorers_that_are_refused);
    tcase_add_test(scorers, test_rows_of_scorers);
    suite_add_tcase(suite, scorers);
    TCase *items = tcase_create("items");
    tcase_add_checked_fixture(items, start, end);
    tcase_add_test(items, test_policies_of_the_paper);
    tcase_add_test(items, test_policies_that_are_refused);
    tcase_add_test(items, test_every_policy_names_stages_that_exist);
    tcase_add_test(items, test_budgets);
    tcase_add_test(items, test_page_sizes);
    tcase_add_test(items, test_nothing_is_taken_twice);
    tcase_add_test(items, test_many_items);
    tcase_add_test(items, test_defaults);
    suite_add_tcase(suite, items);
    TCase *traces = tcase_create("traces");
    tcase_add_checked_fixture(traces, start, end);
    tcase_add_test(traces, test_default_scorers_of_one_trace);
    tcase_add_test(traces, test_default_scorers_of_several_traces);
    tcase_add_test(traces, test_default_scorers_follow_the_filters);
    tcase_add_test(traces, test_no_prefill_rows);
    tcase_add_test(traces, test_score_is_found_in_a_trace);
    tcase_add_test(traces, test_filters);
    suite_add_tcase(suite, traces);
    return suite;
}
