/*
 * The rules of comparing: equal memory, baselines, filters, where a policy loses, what several
 * folders may not do.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "tests/compare_fixture.h"
#include "tests/scratch.h"
#include "tests/suites.h"

enum { MOST_ROWS = 64 };

static const char *const samples[] = {"0", "1", "2", "3"};
static struct compare_row rows[MOST_ROWS];
static size_t row_count;
static struct kvr_compare_options options;
static struct kvr_comparison comparison;
static struct kvr_error err;

static void setup(void)
{
    scratch_setup();
    row_count = 0;
    options = (struct kvr_compare_options){
        .bootstrap = kvr_bootstrap_default(),
        .element_bytes = 2,
    };
    comparison = (struct kvr_comparison){0};
    err = KVR_ERROR_NONE;
}

static void teardown(void)
{
    kvr_comparison_free(&comparison);
    scratch_teardown();
}

/* A row whose future peak is `peak` with weight 1; to be changed further. */
static struct compare_row *add(const char *sample, unsigned layer, const char *policy, double peak)
{
    ck_assert_uint_lt(row_count, MOST_ROWS);
    struct compare_row *row = &rows[row_count++];
    *row = compare_row_of(sample, layer, 0, policy);
    row->future_peak = peak;
    row->peak_weight = 1;
    return row;
}

static enum kvr_status compare(void)
{
    const char *folder = scratch_path("tables");
    compare_folder_write(folder, rows, row_count, &compare_run_default);
    kvr_comparison_free(&comparison);
    return kvr_compare(&folder, 1, &options, &comparison, &err);
}

static const struct kvr_compared *compared_of(const char *policy)
{
    size_t use = 0;
    while (use < comparison.use_count && strcmp(comparison.uses[use].policy, policy) != 0)
        use++;
    ck_assert_msg(use < comparison.use_count, "%s", policy);
    return kvr_compared_at(&comparison, 0, use, 0);
}

static void assert_compared(void)
{
    ck_assert_msg(compare() == KVR_OK, "%s", err.message);
}

static void assert_refused(enum kvr_status status, const char *message)
{
    ck_assert_int_eq(compare(), status);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
}

/* ------------------------------------------------------------------------------ memory */

START_TEST(test_more_memory_is_not_paired)
{
    for (unsigned s = 0; s < 3; s++) {
        add(samples[s], 0, "random", 0.5);
        add(samples[s], 0, "equal", 0.6)->selected = 10;
        add(samples[s], 0, "more", 0.7)->selected = s == 0 ? 11 : 10; /* 31 of 30: 3 % more */
        add(samples[s], 0, "less", 0.4)->selected = 7;
    }
    assert_compared();
    ck_assert_int_eq(compared_of("equal")->pairing, KVR_PAIRED);
    ck_assert_double_eq_tol(compared_of("equal")->difference.estimate, 0.1, 1e-12);
    ck_assert_uint_eq(compared_of("equal")->wins, 3);
    ck_assert_int_eq(compared_of("more")->pairing, KVR_PAIR_MORE_MEMORY);
    ck_assert(kvr_compared_over(compared_of("more")));
    ck_assert_double_eq_tol(compared_of("more")->memory, 31.0 / 30, 1e-12);
    ck_assert_double_eq_tol(compared_of("more")->means[KVR_METRIC_FUTURE_PEAK], 0.7, 1e-12);
    ck_assert_int_eq(compared_of("less")->pairing, KVR_PAIRED);
    ck_assert(kvr_compared_under(compared_of("less")));
    /* A baseline that holds more is no baseline for anyone. */
    options.baseline = "more";
    assert_compared();
    ck_assert_int_eq(compared_of("more")->pairing, KVR_PAIR_BASELINE);
    ck_assert_int_eq(compared_of("equal")->pairing, KVR_PAIR_MORE_MEMORY);
    ck_assert_int_eq(compared_of("random")->pairing, KVR_PAIR_MORE_MEMORY);
    ck_assert(isnan(compared_of("equal")->difference.estimate));
}
END_TEST

/* Within 1 % memory counts as equal; exactly 1 % still does. */
START_TEST(test_the_slack)
{
    struct compare_row *row = add("0", 0, "random", 0.5);
    row->context = 1000;
    row->selected = 100;
    row = add("0", 0, "near", 0.5);
    row->context = 1000;
    row->selected = 101;
    row = add("0", 0, "far", 0.5);
    row->context = 1000;
    row->selected = 102;
    assert_compared();
    ck_assert_int_eq(compared_of("near")->pairing, KVR_PAIRED);
    ck_assert_int_eq(compared_of("far")->pairing, KVR_PAIR_MORE_MEMORY);
    ck_assert_double_eq(comparison.budget_units[0], 100);
}
END_TEST

/* ------------------------------------------------------------------------------ baselines */

START_TEST(test_the_default_baseline)
{
    add("0", 0, "wide", 0.5)->selected = 20;
    add("0", 0, "mean", 0.5);
    add("0", 0, "max", 0.5);
    assert_compared(); /* no random: the first that fits */
    ck_assert_int_eq(compared_of("mean")->pairing, KVR_PAIR_BASELINE);
    ck_assert(!comparison.baseline_asked);
    add("0", 0, "random", 0.1);
    assert_compared();
    ck_assert_int_eq(compared_of("random")->pairing, KVR_PAIR_BASELINE);
    options.baseline = "max";
    assert_compared();
    ck_assert_int_eq(compared_of("max")->pairing, KVR_PAIR_BASELINE);
    ck_assert(comparison.baseline_asked);
    options.baseline = "median";
    assert_refused(KVR_BAD_ARGUMENT, "\"median\" is none of the policies wide, mean, max, random");
}
END_TEST

START_TEST(test_nobody_fits)
{
    add("0", 0, "mean", 0.5)->selected = 12;
    assert_compared();
    ck_assert_uint_eq(comparison.baseline, comparison.use_count);
    ck_assert_int_eq(compared_of("mean")->pairing, KVR_PAIR_MORE_MEMORY);
}
END_TEST

/* A policy under several scorers is several rows; scorer/policy names one of them. */
START_TEST(test_a_policy_under_several_scorers)
{
    add("0", 0, "mean", 0.5);
    add("0", 0, "mean", 0.7)->scorer = "column:a";
    add("0", 0, "snapkv", 0.9)->scorer = "window:32";
    options.baseline = "column:a/mean";
    assert_compared();
    ck_assert_uint_eq(comparison.use_count, 3);
    ck_assert_uint_eq(comparison.baseline, 1);
    ck_assert(!comparison.uses[0].named && !comparison.uses[1].named);
    ck_assert(comparison.uses[2].named);
    ck_assert_double_eq_tol(compared_of("snapkv")->difference.estimate, 0.2, 1e-12);
}
END_TEST

/* ------------------------------------------------------------------------------ samples */

START_TEST(test_no_interval_from_two_samples)
{
    for (unsigned s = 0; s < 2; s++) {
        add(samples[s], 0, "random", 0.5);
        add(samples[s], 0, "mean", 0.6 + 0.1 * s);
    }
    assert_compared();
    ck_assert_uint_eq(compared_of("mean")->difference.samples, 2);
    ck_assert_double_eq_tol(compared_of("mean")->difference.estimate, 0.15, 1e-12);
    ck_assert(!kvr_interval_exists(&compared_of("mean")->difference));
    add("2", 0, "random", 0.5);
    add("2", 0, "mean", 0.8);
    assert_compared();
    const struct kvr_interval *interval = &compared_of("mean")->difference;
    ck_assert(kvr_interval_exists(interval));
    ck_assert_double_ge(interval->low, 0.1 - 1e-12);
    ck_assert_double_le(interval->high, 0.3 + 1e-12);
    ck_assert_double_lt(interval->low, interval->high);
}
END_TEST

/* Samples and units without a partner take no part. */
START_TEST(test_only_what_both_have_is_paired)
{
    add("0", 0, "random", 0.5);
    add("0", 1, "random", 0.1);
    add("0", 0, "mean", 0.6);
    add("0", 1, "mean", NAN);
    add("1", 0, "mean", 0.9);
    add("1", 0, "other", 0.9);
    add("2", 0, "random", 0.2);
    assert_compared();
    const struct kvr_compared *mean = compared_of("mean");
    ck_assert_double_eq_tol(mean->means[KVR_METRIC_FUTURE_PEAK], 0.75, 1e-12);
    ck_assert_double_eq_tol(mean->difference.estimate, 0.1, 1e-12);
    ck_assert_uint_eq(mean->difference.samples, 1);
    ck_assert_uint_eq(mean->wins + mean->ties + mean->losses, 1);
    ck_assert_int_eq(compared_of("other")->pairing, KVR_PAIR_NOTHING);
}
END_TEST

/* ------------------------------------------------------------------------------ losses */

START_TEST(test_where_a_policy_loses)
{
    static const double change[] = {-0.1, 0.2, 0, -0.2};
    static const unsigned starts[] = {0, 25, 45, 99};
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned layer = 0; layer < 4; layer++) {
            struct compare_row *row = add(samples[i], layer, "random", 0.5);
            row->needles[0] = (struct compare_needle_row){true, starts[i], 1, NAN, NAN};
            row = add(samples[i], layer, "mean", 0.5 + change[layer]);
            double kept = i < 2 && layer == 3 ? 0.5 : 1; /* lost in samples 0 and 1 */
            row->needles[0] = (struct compare_needle_row){true, starts[i], kept, NAN, NAN};
        }
    }
    assert_compared();
    const struct kvr_compared *mean = compared_of("mean");
    ck_assert_uint_eq(mean->layer_count, 4);
    ck_assert_uint_eq(mean->losing_count, 2);
    ck_assert_uint_eq(mean->losing_layers[0], 0);
    ck_assert_uint_eq(mean->losing_layers[1], 3);
    static const bool known[] = {true, true, true, false, true};
    static const bool lost[] = {true, true, false, false, false};
    for (int d = 0; d < KVR_COMPARE_DEPTHS; d++) {
        ck_assert(mean->depth_known[d] == known[d]);
        ck_assert(mean->depth_lost[d] == lost[d]);
    }
    /* Where less is better, so is losing turned round. */
    for (size_t i = 0; i < row_count; i++)
        rows[i].output_error = rows[i].future_peak;
    options.metric = KVR_METRIC_OUTPUT_ERROR;
    assert_compared();
    mean = compared_of("mean");
    ck_assert_uint_eq(mean->losing_count, 1);
    ck_assert_uint_eq(mean->losing_layers[0], 1);
    ck_assert_uint_eq(mean->wins, 8);
    ck_assert_uint_eq(mean->losses, 4);
    ck_assert_uint_eq(mean->ties, 4);
}
END_TEST

/* ------------------------------------------------------------------------------ measures */

START_TEST(test_the_measure_that_the_tables_have)
{
    add("0", 0, "random", NAN)->output_error = 0.5;
    add("0", 0, "mean", NAN)->output_error = 0.25;
    assert_compared();
    ck_assert_int_eq(comparison.metric, KVR_METRIC_FUTURE_PEAK);
    ck_assert_int_eq(compared_of("mean")->pairing, KVR_PAIR_NOTHING);
    options.any_metric = true;
    assert_compared();
    ck_assert_int_eq(comparison.metric, KVR_METRIC_OUTPUT_ERROR);
    ck_assert_double_eq_tol(compared_of("mean")->difference.estimate, -0.25, 1e-12);
    ck_assert_uint_eq(compared_of("mean")->wins, 1);
    rows[0].output_error = rows[1].output_error = NAN;
    assert_compared();
    ck_assert_int_eq(comparison.metric, KVR_METRIC_FUTURE_PEAK);
}
END_TEST

/* ------------------------------------------------------------------------------ filters */

START_TEST(test_filters)
{
    static char scorer[] = "last", policy[] = "mean", budget[] = "0.5";
    char *one[] = {scorer}, *two[] = {policy}, *three[] = {budget};
    uint64_t size = 16;
    add("0", 0, "mean", 0.5);
    add("0", 0, "mean", 0.6)->scorer = "window";
    add("0", 0, "max", 0.7);
    struct compare_row *row = add("0", 0, "mean", 0.8);
    row->page_size = 16;
    row->budget = "0.5";
    row->selected = 3;
    assert_compared();
    ck_assert_uint_eq(comparison.use_count, 3);
    ck_assert_uint_eq(comparison.page_count, 2);
    ck_assert_uint_eq(comparison.budget_count, 2);
    options.scorers = (struct kvr_compare_filter){1, one};
    options.policies = (struct kvr_compare_filter){1, two};
    assert_compared();
    ck_assert_uint_eq(comparison.use_count, 1);
    ck_assert_uint_eq(comparison.page_count, 2);
    options.page_size_count = 1;
    options.page_sizes = &size;
    assert_compared();
    ck_assert_uint_eq(comparison.page_count, 1);
    ck_assert_uint_eq(comparison.budget_count, 1);
    ck_assert_double_eq(compared_of("mean")->means[KVR_METRIC_FUTURE_PEAK], 0.8);
    options.budgets = (struct kvr_compare_filter){1, three};
    assert_compared();
    size = 1;
    assert_refused(KVR_BAD_ARGUMENT, "no row of the tables has what was asked for");
}
END_TEST

/* ------------------------------------------------------------------------------ folders */

static enum kvr_status compare_two(const struct compare_run *second, size_t split)
{
    const char *folders[] = {scratch_path("one"), scratch_path("two")};
    compare_folder_write(folders[0], rows, split, &compare_run_default);
    compare_folder_write(folders[1], rows + split, row_count - split, second);
    return kvr_compare(folders, 2, &options, &comparison, &err);
}

START_TEST(test_folders_of_other_policies)
{
    add("0", 0, "random", 0.5);
    add("0", 0, "mean", 0.7);
    ck_assert_msg(compare_two(&compare_run_default, 1) == KVR_OK, "%s", err.message);
    ck_assert_uint_eq(comparison.cells, 1);
    ck_assert_double_eq_tol(compared_of("mean")->difference.estimate, 0.2, 1e-12);
}
END_TEST

START_TEST(test_folders_of_other_samples)
{
    for (unsigned s = 0; s < 3; s++) {
        add(samples[s], 0, "random", 0.5);
        add(samples[s], 0, "mean", 0.7);
    }
    ck_assert_msg(compare_two(&compare_run_default, 4) == KVR_OK, "%s", err.message);
    ck_assert_uint_eq(comparison.samples, 3);
    ck_assert_uint_eq(comparison.traces, 1);
    ck_assert(kvr_interval_exists(&compared_of("mean")->difference));
}
END_TEST

START_TEST(test_the_same_row_twice)
{
    add("0", 0, "random", 0.5);
    add("0", 0, "random", 0.5);
    ck_assert_int_eq(compare_two(&compare_run_default, 1), KVR_BAD_INPUT);
    ck_assert_msg(strstr(err.message, "two/measures.csv\": line 2, column policy: expected one row "
                                      "a group, page size and budget, found a second one of policy "
                                      "random under scorer last") != NULL,
                  "%s", err.message);
}
END_TEST

START_TEST(test_other_options)
{
    struct compare_run other = compare_run_default;
    other.tau = "1";
    add("0", 0, "random", 0.5);
    add("0", 0, "mean", 0.5);
    ck_assert_int_eq(compare_two(&other, 1), KVR_BAD_INPUT);
    ck_assert_msg(strstr(err.message, "two/run.json\": /options/tau: expected 0.5 as in ") != NULL,
                  "%s", err.message);
    ck_assert_ptr_nonnull(strstr(err.message, "found 1"));
}
END_TEST

START_TEST(test_another_trace_of_the_name)
{
    struct compare_run other = compare_run_default;
    other.checksum = "1234";
    add("0", 0, "random", 0.5);
    add("0", 0, "mean", 0.5);
    ck_assert_int_eq(compare_two(&other, 1), KVR_BAD_INPUT);
    ck_assert_msg(strstr(err.message, "/inputs/0: \"made.h5\" is another file") != NULL, "%s",
                  err.message);
}
END_TEST

static void assert_file_refused(const char *name, const char *text, const char *message)
{
    char path[64];
    add("0", 0, "mean", 0.5);
    compare_folder_write(scratch_path("tables"), rows, row_count, &compare_run_default);
    snprintf(path, sizeof path, "tables/%s", name);
    scratch_write(path, text, strlen(text));
    const char *folder = scratch_path("tables");
    ck_assert_int_eq(kvr_compare(&folder, 1, &options, &comparison, &err), KVR_BAD_INPUT);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    row_count = 0;
}

START_TEST(test_records_that_are_none)
{
    static const char head[] = "{\"options\": {}, \"inputs\": [";
    static const struct {
        const char *inputs, *message;
    } cases[] = {
        {"{\"path\": \"x\"}]}", "/inputs/0/name: expected the name of a trace"},
        {"{\"name\": \"x\"}]}", "/inputs/0/fnv1a: expected the checksum of a trace"},
        {"{\"name\": \"x\", \"fnv1a\": \"0\"}]}", "/inputs/0/samples: expected a list of samples"},
        {"{\"name\": \"x\", \"fnv1a\": \"0\", \"samples\": [{}]}]}",
         "/inputs/0/name: expected the name of a sample"},
        {"{\"name\": \"x\", \"fnv1a\": \"0\", \"samples\": [{\"name\": \"0\", \"prompt_length\": "
         "0}]}]}",
         "/inputs/0/prompt_length: expected a whole number above 0"},
        {"{\"name\": \"x\", \"fnv1a\": \"0\", \"samples\": [{\"name\": \"0\", \"prompt_length\": "
         "5, \"head_dim\": 1.5}]}]}",
         "/inputs/0/head_dim: expected a whole number above 0"},
        {"]}", "expected a sample of run.json, found \"0\" of \"made.h5\""},
    };
    assert_file_refused("run.json", "[]", "run.json\": expected options and inputs of a replay");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s", head, cases[i].inputs);
        assert_file_refused("run.json", text, cases[i].message);
    }
}
END_TEST

START_TEST(test_tables_that_are_none)
{
    static const char header[] =
        "trace,sample,layer,group,scorer,policy,page_size,budget,needle,start,kept_fraction,"
        "needle_future,needle_future_weight\n";
    char text[512];
    assert_file_refused("measures.csv", "trace\n", "line 1: expected a column sample");
    snprintf(text, sizeof text, "%smade.h5,0,0,0,last,max,1,0.1,0,5,1,,\n", header);
    assert_file_refused("needles.csv", text,
                        "needles.csv\": line 2, column policy: expected a policy of measures.csv, "
                        "found max under scorer last");
}
END_TEST

Suite *kvr_suite_compare_rules(void)
{
    Suite *suite = suite_create("compare_rules");
    TCase *all = tcase_create("compare_rules");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, test_more_memory_is_not_paired);
    tcase_add_test(all, test_the_slack);
    tcase_add_test(all, test_the_default_baseline);
    tcase_add_test(all, test_nobody_fits);
    tcase_add_test(all, test_a_policy_under_several_scorers);
    tcase_add_test(all, test_no_interval_from_two_samples);
    tcase_add_test(all, test_only_what_both_have_is_paired);
    tcase_add_test(all, test_where_a_policy_loses);
    tcase_add_test(all, test_the_measure_that_the_tables_have);
    tcase_add_test(all, test_filters);
    tcase_add_test(all, test_folders_of_other_policies);
    tcase_add_test(all, test_folders_of_other_samples);
    tcase_add_test(all, test_the_same_row_twice);
    tcase_add_test(all, test_other_options);
    tcase_add_test(all, test_another_trace_of_the_name);
    tcase_add_test(all, test_records_that_are_none);
    tcase_add_test(all, test_tables_that_are_none);
    suite_add_tcase(suite, all);
    return suite;
}
