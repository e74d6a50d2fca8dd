/*
 * The tables of a replay of eight tokens, all figures of which were worked out by hand.
 *
 * Rows are in sixteenths. Layer 0: the heads of group 0 look at tokens 3 and 4, a needle across the
 * border of a page; those of group 1 look at all tokens alike. Layer 3: the same, but one head of
 * group 1 is not finite. The decode row of group 0 looks at tokens 3, 4 and 6, that of group 1 at
 * nothing in the prompt.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/result_tables.h"
#include "replay/engine.h"
#include "tests/made_trace.h"
#include "tests/scratch.h"
#include "tests/suites.h"

enum { HEADS = 4, ROWS = 2, TOKENS = 9 };

static const double sixteenths[HEADS][ROWS][TOKENS] = {
    {{2, 1, 1, 8, 1, 1, 1, 1, 0}, {0, 0, 0, 4, 4, 0, 0, 0, 8}},
    {{2, 1, 1, 1, 8, 1, 1, 1, 0}, {0, 0, 0, 0, 8, 0, 4, 0, 4}},
    {{2, 2, 2, 2, 2, 2, 2, 2, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 16}},
    {{2, 2, 2, 2, 2, 2, 2, 2, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 16}},
};

static struct kvr_plan plan;
static struct kvr_trace *trace;
static struct kvr_summary summary;

static void write_trace(void)
{
    static char name[] = "0";
    static uint64_t positions[ROWS] = {7, 8};
    static struct kvr_span needle = {3, 5};
    const struct kvr_sample sample = {
        .name = name,
        .context_length = TOKENS,
        .prompt_length = 8,
        .query_heads = HEADS,
        .kv_heads = 2,
        .query_count = ROWS,
        .query_positions = positions,
        .needle_count = 1,
        .needles = &needle,
    };
    double rows[HEADS * ROWS * TOKENS];
    for (size_t i = 0; i < HEADS * ROWS * TOKENS; i++)
        rows[i] = (&sixteenths[0][0][0])[i] / 16;
    struct made_trace made;
    made_trace_start(&made, "t.h5");
    made_trace_sample(&made, &sample);
    for (uint32_t number = 0; number <= 3; number += 3) {
        struct kvr_layer layer = made_layer(number, &sample);
        made_trace_layer(&made, &layer);
        if (number == 3)
            rows[3 * ROWS * TOKENS + 5] = NAN;
        made_trace_data(&made, "attention", KVR_HALF, HEADS, ROWS, TOKENS, rows);
    }
    trace = made_trace_finish(&made);
}

static void run(const char *policies[], size_t policy_count, bool match_physical)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_tables tables;
    struct kvr_results results;
    plan = kvr_plan_default();
    plan.sinks = 1;
    plan.match_physical = match_physical;
    plan.threads = 2;
    ck_assert_int_eq(kvr_plan_add_score(&plan, "last", NULL), KVR_OK);
    for (size_t i = 0; i < policy_count; i++)
        ck_assert_int_eq(kvr_plan_add_policy(&plan, policies[i], NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_budget(&plan, "0.25", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_budget(&plan, "0.5", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "1", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "4", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_settle(&plan, &trace, 1, NULL), KVR_OK);
    ck_assert_int_eq(kvr_summary_open(&plan, &summary, NULL), KVR_OK);
    ck_assert_int_eq(kvr_tables_open(&tables, scratch_path("out"), NULL), KVR_OK);
    ck_assert_int_eq(kvr_results_open(&results, &tables, &summary, NULL), KVR_OK);
    enum kvr_status status =
        kvr_replay_trace(&plan, trace, results.observers, results.count, NULL, &err);
    ck_assert_msg(status == KVR_OK, "%s", err.message);
    kvr_results_free(&results);
    kvr_summary_finish(&summary);
    ck_assert_int_eq(kvr_tables_commit(&tables, NULL), KVR_OK);
}

static void start(void)
{
    static const char *policies[] = {"independent", "mean", "page-entrokv"};
    scratch_setup();
    write_trace();
    run(policies, 3, false);
}

static void end(void)
{
    kvr_summary_free(&summary);
    kvr_plan_free(&plan);
    kvr_trace_close(trace);
    scratch_teardown();
}

/* ------------------------------------------------------------------------- reading tables */

/* True if both are the same text, or the same number to the nine digits that tables have. */
static bool same_field(const char *found, const char *expected)
{
    if (strcmp(found, expected) == 0)
        return true;
    char *found_end, *expected_end;
    double a = strtod(found, &found_end), b = strtod(expected, &expected_end);
    return *found != '\0' && *expected != '\0' && *found_end == '\0' && *expected_end == '\0' &&
           fabs(a - b) <= 5e-9 * fabs(b) + 1e-12;
}

/* Cuts the first line off *text, or the first field off a line. */
static char *cut(char **text, char at)
{
    char *start = *text, *end = strchr(start, at);
    if (end != NULL)
        *end = '\0';
    *text = end != NULL ? end + 1 : start + strlen(start);
    return start;
}

static void compare_lines(const char *name, char *found, char *expected)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s", found);
    for (unsigned field = 1; *found != '\0' || *expected != '\0'; field++) {
        const char *a = cut(&found, ','), *b = cut(&expected, ',');
        ck_assert_msg(same_field(a, b), "%s: field %u is \"%s\", expected \"%s\" in\n%s", name,
                      field, a, b, whole);
    }
}

/* The table's header, its first rows, and how many rows there are in all. */
static void assert_table(const char *name, const char *header, const char *first_rows,
                         size_t row_count)
{
    char path[64];
    snprintf(path, sizeof path, "out/%s", name);
    char *text = scratch_read(path, NULL), *at = text, *rows = strdup(first_rows);
    ck_assert_str_eq(cut(&at, '\n'), header);
    size_t count = 0;
    for (char *next = rows; *at != '\0'; count++) {
        char *line = cut(&at, '\n');
        if (*next != '\0')
            compare_lines(name, line, cut(&next, '\n'));
    }
    ck_assert_msg(count == row_count, "%s: %zu rows, expected %zu", name, count, row_count);
    free(rows);
    free(text);
}

/* ------------------------------------------------------------------------- the tables */

START_TEST(test_measures)
{
    assert_table("measures.csv",
                 "trace,sample,layer,group,scorer,policy,page_size,budget,context,ratio,quota,"
                 "selected,uor,kept_tokens,retained_mass,future_mass,future_weight,future_peak,"
                 "peak_weight,output_error",
                 /* 0 and 3, 0 and 4; then 1 and 2 as well */
                 "t.h5,0,0,0,last,independent,1,0.25,8,2,2,3,1.5,3,0.6875,0.8,1.25,"
                 "0.857142857,0.4375,\n"
                 "t.h5,0,0,0,last,independent,1,0.5,8,2,4,5,1.25,5,0.8125,0.8,1.25,"
                 "0.857142857,0.4375,\n"
                 /* a page each */
                 "t.h5,0,0,0,last,independent,4,0.25,8,2,1,2,2,8,1,1,1.25,1,0.4375,\n"
                 "t.h5,0,0,0,last,independent,4,0.5,8,2,1,2,2,8,1,1,1.25,1,0.4375,\n"
                 /* 3 and 4; then 0 and 1; of equal pages the first */
                 "t.h5,0,0,0,last,mean,1,0.25,8,2,2,2,1,2,0.5625,0.8,1.25,0.857142857,0.4375,\n"
                 "t.h5,0,0,0,last,mean,1,0.5,8,2,4,4,1,4,0.75,0.8,1.25,0.857142857,0.4375,\n"
                 "t.h5,0,0,0,last,mean,4,0.25,8,2,1,1,1,4,0.53125,0.2,1.25,0.142857143,0.4375,\n"
                 "t.h5,0,0,0,last,mean,4,0.5,8,2,1,1,1,4,0.53125,0.2,1.25,0.142857143,0.4375,\n"
                 /* the heads have equal entropies: as the mean */
                 "t.h5,0,0,0,last,page-entrokv,1,0.25,8,2,2,2,1,2,0.5625,0.8,1.25,"
                 "0.857142857,0.4375,\n"
                 "t.h5,0,0,0,last,page-entrokv,1,0.5,8,2,4,4,1,4,0.75,0.8,1.25,"
                 "0.857142857,0.4375,\n"
                 "t.h5,0,0,0,last,page-entrokv,4,0.25,8,2,1,1,1,4,0.53125,0.2,1.25,"
                 "0.142857143,0.4375,\n"
                 "t.h5,0,0,0,last,page-entrokv,4,0.5,8,2,1,1,1,4,0.53125,0.2,1.25,"
                 "0.142857143,0.4375,\n"
                 /* equal tokens: the first ones, for both heads */
                 "t.h5,0,0,1,last,independent,1,0.25,8,2,2,2,1,2,0.25,,,,,\n"
                 "t.h5,0,0,1,last,independent,1,0.5,8,2,4,4,1,4,0.5,,,,,\n"
                 "t.h5,0,0,1,last,independent,4,0.25,8,2,1,1,1,4,0.5,,,,,\n",
                 36);
}
END_TEST

START_TEST(test_bounds)
{
    assert_table("bounds.csv",
                 "trace,sample,layer,group,scorer,page_size,budget,ratio,quota,uor,j_mean,j_max,"
                 "bonferroni_lower,sandwich_lower,sandwich_upper,cauchy_lower,decaen_lower,"
                 "dawson_sankoff_lower,hunter_upper",
                 "t.h5,0,0,0,last,1,0.25,2,2,1.5,0.333333333333,0.333333333333,1.33333333333,"
                 "1.33333333333,1.5,1.33333333333,1.33333333333,1.5,1.5\n"
                 "t.h5,0,0,0,last,1,0.5,2,4,1.25,0.6,0.6,1,1.14285714286,1.25,1.14285714286,"
                 "1.14285714286,1.25,1.25\n"
                 "t.h5,0,0,0,last,4,0.25,2,1,2,0,0,2,2,2,2,2,2,2\n"
                 "t.h5,0,0,0,last,4,0.5,2,1,2,0,0,2,2,2,2,2,2,2\n"
                 "t.h5,0,0,1,last,1,0.25,2,2,1,1,1,1,1,1,1,1,1,1\n",
                 12);
}
END_TEST

START_TEST(test_heads)
{
    /* ln(256/74), ln 2.8; ln 8, ln 7 */
    assert_table(
        "heads.csv",
        "trace,sample,layer,group,head,scorer,sink_mass,h2_raw,h2_isolated,weight_raw,"
        "weight_isolated,max_prob,needle_mass,class",
        "t.h5,0,0,0,0,last,0.125,1.24111235128,1.02961941718,0.5,0.5,0.5,0.5625,retrieval\n"
        "t.h5,0,0,0,1,last,0.125,1.24111235128,1.02961941718,0.5,0.5,0.5,0.5625,retrieval\n"
        "t.h5,0,0,1,2,last,0.125,2.07944154168,1.94591014906,0.5,0.5,0.125,0.25,"
        "retrieval\n"
        "t.h5,0,0,1,3,last,0.125,2.07944154168,1.94591014906,0.5,0.5,0.125,0.25,"
        "retrieval\n"
        "t.h5,0,3,0,0,last,0.125,1.24111235128,1.02961941718,0.5,0.5,0.5,0.5625,"
        "retrieval\n",
        6);
}
END_TEST

START_TEST(test_needles)
{
    assert_table("needles.csv",
                 "trace,sample,layer,group,scorer,policy,page_size,budget,needle,start,end,"
                 "kept_fraction,pooled_mass,rank,needle_future,needle_future_weight",
                 "t.h5,0,0,0,last,independent,1,0.25,0,3,5,1,,0,1,1\n"
                 "t.h5,0,0,0,last,independent,1,0.5,0,3,5,1,,0,1,1\n"
                 "t.h5,0,0,0,last,independent,4,0.25,0,3,5,1,,0,1,1\n"
                 "t.h5,0,0,0,last,independent,4,0.5,0,3,5,1,,0,1,1\n"
                 "t.h5,0,0,0,last,mean,1,0.25,0,3,5,1,0.5625,0,1,1\n"
                 "t.h5,0,0,0,last,mean,1,0.5,0,3,5,1,0.5625,0,1,1\n"
                 /* one page holds half of it */
                 "t.h5,0,0,0,last,mean,4,0.25,0,3,5,0.5,0.5625,0,0.25,1\n"
                 "t.h5,0,0,0,last,mean,4,0.5,0,3,5,0.5,0.5625,0,0.25,1\n"
                 "t.h5,0,0,0,last,page-entrokv,1,0.25,0,3,5,1,0.5625,0,1,1\n"
                 "t.h5,0,0,0,last,page-entrokv,1,0.5,0,3,5,1,0.5625,0,1,1\n"
                 "t.h5,0,0,0,last,page-entrokv,4,0.25,0,3,5,0.5,0.5625,0,0.25,1\n"
                 "t.h5,0,0,0,last,page-entrokv,4,0.5,0,3,5,0.5,0.5625,0,0.25,1\n"
                 /* the fourth of equal tokens */
                 "t.h5,0,0,1,last,independent,1,0.25,0,3,5,0,,3,,\n"
                 "t.h5,0,0,1,last,independent,1,0.5,0,3,5,0.5,,3,,\n"
                 "t.h5,0,0,1,last,independent,4,0.25,0,3,5,0.5,,0,,\n",
                 36);
}
END_TEST

START_TEST(test_premises)
{
    /* Group 0: slack ln(7/2.8); C = 1/2.8^2 and D = 2.5^2/7^2 are equal, so Delta is a quarter. */
    assert_table("premises.csv",
                 "trace,sample,layer,group,scorer,needle,owner,peak,owner_mass,owner_entropy,"
                 "largest_slack,pooled_mass,bound,holds",
                 "t.h5,0,0,0,last,0,0,3,0.5,1.02961941718,0.916290731874,0.28125,0.25,1\n"
                 "t.h5,0,0,1,last,0,2,3,0.125,1.94591014906,0,0.125,0.0625,1\n"
                 "t.h5,0,3,0,last,0,0,3,0.5,1.02961941718,0.916290731874,0.28125,0.25,1\n",
                 3);
}
END_TEST

/* Layer 3 has no row: one of its groups is excluded. */
START_TEST(test_layers)
{
    assert_table("layers.csv", "trace,sample,layer,scorer,policy,page_size,budget,quota,union,pur",
                 "t.h5,0,0,last,mean,1,0.25,2,4,2\n"
                 "t.h5,0,0,last,mean,1,0.5,4,5,1.25\n"
                 "t.h5,0,0,last,mean,4,0.25,1,1,1\n"
                 "t.h5,0,0,last,mean,4,0.5,1,1,1\n"
                 "t.h5,0,0,last,page-entrokv,1,0.25,2,4,2\n"
                 "t.h5,0,0,last,page-entrokv,1,0.5,4,5,1.25\n"
                 "t.h5,0,0,last,page-entrokv,4,0.25,1,1,1\n"
                 "t.h5,0,0,last,page-entrokv,4,0.5,1,1,1\n",
                 8);
}
END_TEST

START_TEST(test_excluded)
{
    assert_table("excluded.csv", "trace,sample,layer,group,scorer,heads", "t.h5,0,3,1,last,1\n", 1);
}
END_TEST

/* The summary of the same run. */
START_TEST(test_figures_of_the_summary)
{
    struct kvr_overlap_summary *tokens =
        kvr_summary_overlap(&summary, (struct kvr_place){.budget = 0});
    ck_assert_uint_eq(tokens->groups, 3);
    ck_assert_double_eq_tol(tokens->uor_sum, 1.5 + 1 + 1.5, 1e-12);
    ck_assert_double_eq_tol(tokens->uor_most, 1.5, 1e-12);
    ck_assert_double_eq_tol(tokens->disagreement_sum, 4.0 / 3, 1e-12);
    ck_assert_uint_eq(tokens->certified_sandwich, 0);
    const struct kvr_overlap_summary *pages =
        kvr_summary_overlap(&summary, (struct kvr_place){.page = 1});
    ck_assert_uint_eq(pages->certified_bonferroni, 2);
    ck_assert_uint_eq(pages->certified_sandwich, 2);
    ck_assert_uint_eq(pages->violations, 0);

    const struct kvr_census_summary *census = &summary.census[0];
    ck_assert_uint_eq(census->groups, 4);
    ck_assert_uint_eq(census->excluded, 1);
    ck_assert_uint_eq(census->heads[KVR_HEAD_RETRIEVAL], 6);
    ck_assert_double_eq(census->least_total, 1);
    ck_assert_double_eq(census->most_total, 1);

    /* mean, pages: of both layers' group 0, half a needle in each of three groups. */
    const struct kvr_kept_summary *kept =
        kvr_summary_kept(&summary, (struct kvr_place){.use = 1, .page = 1});
    ck_assert_uint_eq(kept->retained_groups, 3);
    ck_assert_double_eq_tol(kept->retained_sum, 0.53125 + 0.5 + 0.53125, 1e-12);
    ck_assert_uint_eq(kept->future_samples, 1);
    ck_assert_double_eq_tol(kept->future_mass_sum, 0.2, 1e-12);
    ck_assert_double_eq_tol(kept->future_peak_sum, 1.0 / 7, 1e-12);
    ck_assert_uint_eq(kept->needles, 1);
    ck_assert_uint_eq(kept->needles_any, 0);
    /* mean, tokens, 0.25: kept whole in two of three. */
    kept = kvr_summary_kept(&summary, (struct kvr_place){.use = 1});
    ck_assert_uint_eq(kept->needles_any, 1);
    ck_assert_uint_eq(kept->needles_strict, 0);
    ck_assert_double_eq_tol(kept->needle_fraction_sum, 2.0 / 3, 1e-12);
    ck_assert_uint_eq(kept->depth_needles[1], 1); /* 3 of 8: the second fifth */
    ck_assert_uint_eq(summary.premises, 3);
    ck_assert_uint_eq(summary.premises_held, 3);
}
END_TEST

/* Equal memory: of the group's heads together, as many tokens as the quota. */
START_TEST(test_independent_at_equal_memory)
{
    static const char *policies[] = {"independent", "mean"};
    kvr_summary_free(&summary);
    kvr_plan_free(&plan);
    run(policies, 2, true);
    assert_table("measures.csv",
                 "trace,sample,layer,group,scorer,policy,page_size,budget,context,ratio,quota,"
                 "selected,uor,kept_tokens,retained_mass,future_mass,future_weight,future_peak,"
                 "peak_weight,output_error",
                 /* two heads' first tokens; for 4 the union of two each is 3, of three each 4 */
                 "t.h5,0,0,0,last,independent,1,0.25,8,2,1,2,2,2,0.5625,0.8,1.25,"
                 "0.857142857,0.4375,\n"
                 "t.h5,0,0,0,last,independent,1,0.5,8,2,3,4,1.33333333333,4,0.75,0.8,1.25,"
                 "0.857142857,0.4375,\n"
                 /* two pages are wanted and one is granted: nothing is kept */
                 "t.h5,0,0,0,last,independent,4,0.25,8,2,0,0,,0,0,0,1.25,0,0.4375,\n"
                 "t.h5,0,0,0,last,independent,4,0.5,8,2,0,0,,0,0,0,1.25,0,0.4375,\n"
                 "t.h5,0,0,0,last,mean,1,0.25,8,2,2,2,1,2,0.5625,0.8,1.25,0.857142857,0.4375,\n",
                 24);
    /* Bounds speak of the nominal sets. */
    assert_table("bounds.csv",
                 "trace,sample,layer,group,scorer,page_size,budget,ratio,quota,uor,j_mean,j_max,"
                 "bonferroni_lower,sandwich_lower,sandwich_upper,cauchy_lower,decaen_lower,"
                 "dawson_sankoff_lower,hunter_upper",
                 "t.h5,0,0,0,last,1,0.25,2,2,1.5,0.333333333333,0.333333333333,1.33333333333,"
                 "1.33333333333,1.5,1.33333333333,1.33333333333,1.5,1.5\n",
                 12);
}
END_TEST

/* Groups of a layer compete for 2 k tokens: 9 9 4 of group 0 before the fours of group 1, of which
   ties take the rest; of pages both go to group 0. The gate sees heads that agree alike in both
   layers, and lets all stay. */
START_TEST(test_allocations)
{
    static const char *policies[] = {"shared=last/mean/none/none/layer:0", "page-gate"};
    kvr_summary_free(&summary);
    kvr_plan_free(&plan);
    run(policies, 2, false);
    assert_table("allocation.csv",
                 "trace,sample,layer,group,scorer,policy,page_size,budget,quota,allotted,share,"
                 "dropped_mass",
                 "t.h5,0,0,0,last,shared,1,0.25,2,3,1.5,0.3125\n"
                 "t.h5,0,0,0,last,shared,1,0.5,4,3,0.75,0.3125\n"
                 "t.h5,0,0,0,last,shared,4,0.25,1,2,2,0\n"
                 "t.h5,0,0,0,last,shared,4,0.5,1,2,2,0\n"
                 "t.h5,0,0,0,window:32,page-gate,1,0.25,2,8,4,0\n"
                 "t.h5,0,0,0,window:32,page-gate,1,0.5,4,8,2,0\n"
                 "t.h5,0,0,0,window:32,page-gate,4,0.25,1,2,2,0\n"
                 "t.h5,0,0,0,window:32,page-gate,4,0.5,1,2,2,0\n"
                 "t.h5,0,0,1,last,shared,1,0.25,2,1,0.5,0.875\n"
                 "t.h5,0,0,1,last,shared,1,0.5,4,5,1.25,0.375\n"
                 "t.h5,0,0,1,last,shared,4,0.25,1,0,0,1\n"
                 "t.h5,0,0,1,last,shared,4,0.5,1,0,0,1\n"
                 "t.h5,0,0,1,window:32,page-gate,1,0.25,2,8,4,0\n"
                 "t.h5,0,0,1,window:32,page-gate,1,0.5,4,8,2,0\n"
                 "t.h5,0,0,1,window:32,page-gate,4,0.25,1,2,2,0\n"
                 "t.h5,0,0,1,window:32,page-gate,4,0.5,1,2,2,0\n"
                 "t.h5,0,3,0,last,shared,1,0.25,2,2,1,0.4375\n"
                 "t.h5,0,3,0,last,shared,1,0.5,4,4,1,0.25\n"
                 "t.h5,0,3,0,last,shared,4,0.25,1,1,1,0.46875\n"
                 "t.h5,0,3,0,last,shared,4,0.5,1,1,1,0.46875\n"
                 "t.h5,0,3,0,window:32,page-gate,1,0.25,2,8,4,0\n"
                 "t.h5,0,3,0,window:32,page-gate,1,0.5,4,8,2,0\n"
                 "t.h5,0,3,0,window:32,page-gate,4,0.25,1,2,2,0\n"
                 "t.h5,0,3,0,window:32,page-gate,4,0.5,1,2,2,0\n",
                 24);
    assert_table("gate.csv", "trace,sample,difference,threshold,open", "t.h5,0,0,0.07,0\n", 1);
    assert_table("agreement.csv", "trace,sample,layer,agreement,agreement_without_sinks",
                 "t.h5,0,0,1,1\n"
                 "t.h5,0,3,1,1\n",
                 2);
    assert_table("measures.csv",
                 "trace,sample,layer,group,scorer,policy,page_size,budget,context,ratio,quota,"
                 "selected,uor,kept_tokens,retained_mass,future_mass,future_weight,future_peak,"
                 "peak_weight,output_error",
                 "t.h5,0,0,0,last,shared,1,0.25,8,2,2,3,,3,0.6875,0.8,1.25,0.857142857,0.4375,\n"
                 "t.h5,0,0,0,last,shared,1,0.5,8,2,4,3,,3,0.6875,0.8,1.25,0.857142857,0.4375,\n"
                 "t.h5,0,0,0,last,shared,4,0.25,8,2,1,2,,8,1,1,1.25,1,0.4375,\n"
                 "t.h5,0,0,0,last,shared,4,0.5,8,2,1,2,,8,1,1,1.25,1,0.4375,\n"
                 "t.h5,0,0,0,window:32,page-gate,1,0.25,8,2,2,8,,8,1,1,1.25,1,0.4375,\n"
                 "t.h5,0,0,0,window:32,page-gate,1,0.5,8,2,4,8,,8,1,1,1.25,1,0.4375,\n"
                 "t.h5,0,0,0,window:32,page-gate,4,0.25,8,2,1,2,,8,1,1,1.25,1,0.4375,\n"
                 "t.h5,0,0,0,window:32,page-gate,4,0.5,8,2,1,2,,8,1,1,1.25,1,0.4375,\n"
                 "t.h5,0,0,1,last,shared,1,0.25,8,2,2,1,,1,0.125,,,,,\n"
                 "t.h5,0,0,1,last,shared,1,0.5,8,2,4,5,,5,0.625,,,,,\n"
                 "t.h5,0,0,1,last,shared,4,0.25,8,2,1,0,,0,0,,,,,\n",
                 24);
}
END_TEST

/* Pooled over the layer, all groups that are not excluded keep the same tokens. */
START_TEST(test_one_set_for_a_layer)
{
    static const char *policies[] = {"tova"};
    kvr_summary_free(&summary);
    kvr_plan_free(&plan);
    run(policies, 1, false);
    /* Means of four heads in 64ths: 8 6 6 13 13 6 6 6; in layer 3 of two: 4 2 2 9 9 2 2 2. */
    assert_table("layers.csv", "trace,sample,layer,scorer,policy,page_size,budget,quota,union,pur",
                 "t.h5,0,0,last,tova,1,0.25,2,2,1\n"
                 "t.h5,0,0,last,tova,1,0.5,4,4,1\n"
                 "t.h5,0,0,last,tova,4,0.25,1,1,1\n"
                 "t.h5,0,0,last,tova,4,0.5,1,1,1\n",
                 4);
    assert_table("needles.csv",
                 "trace,sample,layer,group,scorer,policy,page_size,budget,needle,start,end,"
                 "kept_fraction,pooled_mass,rank,needle_future,needle_future_weight",
                 "t.h5,0,0,0,last,tova,1,0.25,0,3,5,1,0.40625,0,1,1\n"
                 "t.h5,0,0,0,last,tova,1,0.5,0,3,5,1,0.40625,0,1,1\n"
                 "t.h5,0,0,0,last,tova,4,0.25,0,3,5,0.5,0.40625,0,0.25,1\n"
                 "t.h5,0,0,0,last,tova,4,0.5,0,3,5,0.5,0.40625,0,0.25,1\n"
                 "t.h5,0,0,1,last,tova,1,0.25,0,3,5,1,0.40625,0,,\n"
                 "t.h5,0,0,1,last,tova,1,0.5,0,3,5,1,0.40625,0,,\n"
                 "t.h5,0,0,1,last,tova,4,0.25,0,3,5,0.5,0.40625,0,,\n"
                 "t.h5,0,0,1,last,tova,4,0.5,0,3,5,0.5,0.40625,0,,\n"
                 "t.h5,0,3,0,last,tova,1,0.25,0,3,5,1,0.5625,0,1,1\n",
                 12);
}
END_TEST

/* Both heads keep the first two tokens before their own: 0 1, then 3 2 and 4 2. */
START_TEST(test_protected_tokens_of_heads)
{
    static const char *policies[] = {"kept=asked/head/none/sinks:2"};
    kvr_summary_free(&summary);
    kvr_plan_free(&plan);
    run(policies, 1, false);
    assert_table("measures.csv",
                 "trace,sample,layer,group,scorer,policy,page_size,budget,context,ratio,quota,"
                 "selected,uor,kept_tokens,retained_mass,future_mass,future_weight,future_peak,"
                 "peak_weight,output_error",
                 "t.h5,0,0,0,last,kept,1,0.25,8,2,2,2,1,2,0.1875,0,1.25,0,0.4375,\n"
                 "t.h5,0,0,0,last,kept,1,0.5,8,2,4,5,1.25,5,0.8125,0.8,1.25,0.857142857,0.4375,\n"
                 "t.h5,0,0,0,last,kept,4,0.25,8,2,1,1,1,4,0.53125,0.2,1.25,0.142857143,0.4375,\n",
                 12);
    assert_table("needles.csv",
                 "trace,sample,layer,group,scorer,policy,page_size,budget,needle,start,end,"
                 "kept_fraction,pooled_mass,rank,needle_future,needle_future_weight",
                 "t.h5,0,0,0,last,kept,1,0.25,0,3,5,0,,2,0,1\n"
                 "t.h5,0,0,0,last,kept,1,0.5,0,3,5,1,,2,1,1\n"
                 "t.h5,0,0,0,last,kept,4,0.25,0,3,5,0.5,,0,0.25,1\n",
                 12);
}
END_TEST

Suite *kvr_suite_result_tables(void)
{
    Suite *suite = suite_create("result_tables");
    TCase *tables = tcase_create("tables");
    tcase_add_checked_fixture(tables, start, end);
    tcase_add_test(tables, test_measures);
    tcase_add_test(tables, test_bounds);
    tcase_add_test(tables, test_heads);
    tcase_add_test(tables, test_needles);
    tcase_add_test(tables, test_premises);
    tcase_add_test(tables, test_layers);
    tcase_add_test(tables, test_excluded);
    tcase_add_test(tables, test_figures_of_the_summary);
    tcase_add_test(tables, test_independent_at_equal_memory);
    tcase_add_test(tables, test_allocations);
    tcase_add_test(tables, test_one_set_for_a_layer);
    tcase_add_test(tables, test_protected_tokens_of_heads);
    suite_add_tcase(suite, tables);
    return suite;
}
