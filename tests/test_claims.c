/*
 * Claims on tables that are made up, so that every verdict is known beforehand.
 */
#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims.h"
#include "formats/base/text.h"
#include "tests/scratch.h"
#include "tests/suites.h"

enum table { BOUNDS, MEASURES, NEEDLES, HEADS, LAYERS, PREMISES, EXCLUDED, TABLES };

static const struct {
    const char *name, *header;
} kinds[TABLES] = {
    {"bounds.csv", "trace,sample,layer,group,scorer,page_size,budget,ratio,quota,uor,j_mean,j_max,"
                   "bonferroni_lower,sandwich_lower,sandwich_upper,cauchy_lower,decaen_lower,"
                   "dawson_sankoff_lower,hunter_upper"},
    {"measures.csv", "trace,sample,layer,group,scorer,policy,page_size,budget,context,ratio,quota,"
                     "selected,uor,kept_tokens,retained_mass,future_mass,future_weight,"
                     "future_peak,peak_weight,output_error"},
    {"needles.csv", "trace,sample,layer,group,scorer,policy,page_size,budget,needle,start,end,"
                    "kept_fraction,pooled_mass,rank,needle_future,needle_future_weight"},
    {"heads.csv", "trace,sample,layer,group,head,scorer,sink_mass,h2_raw,h2_isolated,weight_raw,"
                  "weight_isolated,max_prob,needle_mass,class"},
    {"layers.csv", "trace,sample,layer,scorer,policy,page_size,budget,quota,union,pur"},
    {"premises.csv", "trace,sample,layer,group,scorer,needle,owner,peak,owner_mass,owner_entropy,"
                     "largest_slack,pooled_mass,bound,holds"},
    {"excluded.csv", "trace,sample,layer,group,scorer,heads"},
};

/* What the tests read and judge; released by `forget`. */
static struct kvr_text tables[TABLES];
static const char *run_record;
static struct kvr_replay_results results;
static struct kvr_bounds_report bounds;
static struct kvr_claims claims;

static void begin(void)
{
    scratch_setup();
    for (size_t t = 0; t < TABLES; t++) {
        tables[t] = (struct kvr_text){0};
        kvr_text_add(&tables[t], "%s\n", kinds[t].header);
    }
    run_record = "{\"options\": {\"match\": \"nominal\", \"nan\": \"exclude\"}}\n";
    claims = (struct kvr_claims){.count = 0};
}

static void forget(void)
{
    for (size_t t = 0; t < TABLES; t++)
        kvr_text_free(&tables[t]);
    kvr_claims_free(&claims);
    kvr_bounds_report_free(&bounds);
    kvr_replay_results_free(&results);
    scratch_teardown();
}

static void add(enum table table, const char *format, ...) KVR_PRINTF(2, 3);
static void add(enum table table, const char *format, ...)
{
    char row[512];
    va_list args;
    va_start(args, format);
    vsnprintf(row, sizeof row, format, args);
    va_end(args);
    kvr_text_add(&tables[table], "%s\n", row);
}

static enum kvr_status read_tables(struct kvr_error *err)
{
    for (size_t t = 0; t < TABLES; t++)
        scratch_write(kinds[t].name, tables[t].data, tables[t].length);
    scratch_write("run.json", run_record, strlen(run_record));
    const char *folder = scratch_path("");
    enum kvr_status status = kvr_replay_results_read(folder, &results, err);
    return status == KVR_OK ? kvr_bounds_report_read(folder, 10, &bounds, err) : status;
}

static void judge(void)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_bootstrap bootstrap = kvr_bootstrap_default();
    bootstrap.draws = 2000;
    enum kvr_status status = read_tables(&err);
    if (status == KVR_OK)
        status = kvr_claims_judge(&results, &bounds, &bootstrap, &claims, &err);
    if (status != KVR_OK)
        ck_abort_msg("%s", err.message);
}

static const struct kvr_claim *claim_of(const char *id)
{
    for (size_t i = 0; i < claims.count; i++)
        if (strcmp(claims.claims[i].statement->id, id) == 0)
            return &claims.claims[i];
    ck_abort_msg("no claim %s", id);
}

static void expect(const char *id, enum kvr_verdict verdict, const char *reason)
{
    const struct kvr_claim *claim = claim_of(id);
    ck_assert_msg(claim->verdict == verdict, "%s: %s, %s", id, kvr_verdict_name(claim->verdict),
                  claim->reason);
    ck_assert_str_eq(claim->reason, reason);
}

/* A row of measures.csv at token granularity, budget 0.1 of 100 tokens. */
static void add_measures(int sample, int layer, const char *policy, double retained, double mass,
                         double mass_weight, double peak)
{
    add(MEASURES, "t.h5,%d,%d,0,last,%s,1,0.1,100,4,10,10,1,10,%.9g,%.9g,%.9g,%.9g,2,", sample,
        layer, policy, retained, mass, mass_weight, peak);
}

/* ------------------------------------------------------------ comparisons */

/* Prompts differ by 0.1, policies by 0.01: only pairing tells them apart. */
static void add_policies(int samples)
{
    for (int s = 0; s < samples; s++) {
        double base = 0.3 + 0.1 * s, noise = s % 2 == 0 ? 0.01 : -0.01;
        add_measures(s, 0, "independent", base, base, 1, base);
        add_measures(s, 0, "mean", base, base, 1, base + 0.02);
        add_measures(s, 0, "max", base + noise, base + 0.001 * s, 1, base);
        add_measures(s, 0, "page-entrokv", base, base + 0.01, 1, base + 0.01);
    }
}

START_TEST(test_policies_are_compared_sample_by_sample)
{
    add_policies(6);
    judge();
    expect("future-vs-mean", KVR_HOLDS, "in the one setting");
    expect("peak-vs-mean", KVR_FAILS, "fails in the one setting");
    expect("retained-vs-max", KVR_OPEN, "the one setting's interval leaves it open");
    const struct kvr_claim_line *line = &claim_of("future-vs-mean")->lines[0];
    ck_assert_double_eq_tol(line->figures[0], 0.01, 1e-12);
    ck_assert_double_eq_tol(line->figures[1], 0.56, 1e-12);
    ck_assert_double_eq_tol(line->figures[2], 0.55, 1e-12);
    ck_assert_double_eq_tol(line->interval.low, 0.01, 1e-12);
    ck_assert_double_eq_tol(line->interval.high, 0.01, 1e-12);
    ck_assert_uint_eq(line->interval.samples, 6);
    expect("future-vs-independent", KVR_OPEN,
           "independent holds up to r times the quota here: replay with --match physical");
    expect("needle-vs-mean", KVR_OPEN, "no needle was recorded");
}
END_TEST

START_TEST(test_equal_memory_lets_independent_heads_in)
{
    run_record = "{\"options\": {\"match\": \"physical\", \"nan\": \"exclude\"}}\n";
    add_policies(3);
    judge();
    expect("future-vs-independent", KVR_HOLDS, "in the one setting");
}
END_TEST

START_TEST(test_two_samples_are_too_few)
{
    add_policies(2);
    judge();
    expect("future-vs-mean", KVR_OPEN, "2 samples, an interval needs 3");
    ck_assert_double_eq_tol(claim_of("future-vs-mean")->lines[0].figures[0], 0.01, 1e-12);
    ck_assert(isnan(claim_of("future-vs-mean")->lines[0].interval.low));
}
END_TEST

START_TEST(test_policies_that_are_not_there)
{
    for (int s = 0; s < 4; s++)
        add_measures(s, 0, "mean", 0.5, 0.5, 1, 0.5);
    judge();
    expect("future-vs-mean", KVR_OPEN, "the replay has no rows of page-entrokv");
}
END_TEST

/* A sample's future mass is pooled: sum(ratio weight) / sum(weight), not a mean of ratios. */
START_TEST(test_ratios_are_pooled_with_their_weights)
{
    for (int s = 0; s < 3; s++)
        for (int layer = 0; layer < 2; layer++) {
            add_measures(s, layer, "mean", 0.5, 0.5, 1, 0.5);
            add_measures(s, layer, "page-entrokv", 0.5, layer == 0 ? 0.9 : 0.1, layer == 0 ? 1 : 9,
                         0.5);
        }
    judge();
    const struct kvr_claim_line *line = &claim_of("future-vs-mean")->lines[0];
    ck_assert_double_eq_tol(line->figures[1], (0.9 + 0.9) / 10, 1e-12);
    ck_assert_double_eq_tol(line->figures[2], 0.5, 1e-12);
}
END_TEST

static void add_needle(int sample, int needle, const char *policy, double kept, double mass)
{
    add(NEEDLES, "t.h5,%d,%d,0,last,%s,1,0.1,%d,0,6,%g,%.9g,3,0.5,1", sample, needle % 2, policy,
        needle, kept, mass);
}

/* Needle 0 is in two rows, needle 1 in one: each counts as one needle. */
START_TEST(test_needles_are_averaged_within_a_sample)
{
    for (int s = 0; s < 4; s++) {
        add_needle(s, 0, "page-entrokv", 1, 0.2 + 0.01 * s);
        add_needle(s, 0, "page-entrokv", 0.99, 0.2 + 0.01 * s);
        add_needle(s, 1, "page-entrokv", 1, 0.4);
        add_needle(s, 0, "mean", 0, 0.1);
        add_needle(s, 0, "mean", 0.5, 0.1);
        add_needle(s, 1, "mean", 1, 0.2);
    }
    judge();
    const struct kvr_claim_line *line = &claim_of("needle-vs-mean")->lines[0];
    ck_assert_double_eq_tol(line->figures[1], 0.75, 1e-12);
    ck_assert_double_eq_tol(line->figures[2], 0.5, 1e-12);
    expect("needle-vs-mean", KVR_HOLDS, "in the one setting");
    expect("needle-mass", KVR_HOLDS, "in the one setting");
    ck_assert_double_eq_tol(claim_of("needle-mass")->lines[0].figures[0], 0.3075 / 0.15, 1e-12);
    expect("needle-vs-max", KVR_OPEN, "the replay has no rows of max");
}
END_TEST

/* ------------------------------------------------------------ overlap */

static void add_bounds(int sample, int group, double uor, double j, double certificate)
{
    add(BOUNDS, "t.h5,%d,0,%d,last,1,0.1,4,10,%.17g,%.17g,%.17g,%.17g,%.17g,4,1,1,1,4", sample,
        group, uor, j, j, certificate, certificate);
}

START_TEST(test_union_overhead)
{
    for (int s = 0; s < 4; s++) {
        add_bounds(s, 0, 3.5, 0.05, 2.5);
        add_bounds(s, 1, 2.5, 0.2, 1);
    }
    judge();
    expect("union-overhead", KVR_HOLDS, "in the one setting");
    ck_assert_double_eq(claim_of("union-overhead")->lines[0].figures[0], 3);
    expect("near-r", KVR_HOLDS, "in the one setting"); /* (3 - 1) / (4 - 1) */
    ck_assert_double_eq_tol(claim_of("near-r")->lines[0].figures[0], 2.0 / 3, 1e-12);
    expect("twofold", KVR_HOLDS, "in the one setting");
    expect("certificates-reach", KVR_HOLDS, "in the one setting");
    ck_assert_double_eq(claim_of("certificates-reach")->lines[0].figures[0], 0.5);
    ck_assert_double_eq(claim_of("certificates-reach")->lines[0].figures[1], 1);
    expect("certificates-sound", KVR_HOLDS, "4 of 4 certified cells");
    expect("identity", KVR_OPEN, "no group has r = 2");
}
END_TEST

START_TEST(test_overhead_that_is_small)
{
    for (int s = 0; s < 4; s++) {
        add_bounds(s, 0, 1.5, 0.6, 1);
        add_bounds(s, 1, 1.9, 0.5, 2); /* a certificate that is wrong */
    }
    judge();
    expect("near-r", KVR_FAILS, "fails in the one setting");
    expect("twofold", KVR_FAILS, "fails in the one setting");
    expect("certificates-reach", KVR_OPEN, "no group has twofold overhead");
    expect("certificates-sound", KVR_FAILS, "0 of 4 certified cells");
    ck_assert_int_eq(claim_of("bounds")->verdict, KVR_FAILS);
}
END_TEST

START_TEST(test_groups_that_are_not_finite)
{
    for (int s = 0; s < 2; s++) {
        add_bounds(s, 0, 3, 0.25, 1);
        add_bounds(s, 1, 2, 0.5, 1);
        add(EXCLUDED, "t.h5,%d,0,2,last,3", s);
    }
    judge();
    ck_assert_uint_eq(claims.nan_count, 1);
    const struct kvr_nan_line *line = &claims.nan_lines[0];
    ck_assert_uint_eq(line->groups, 4);
    ck_assert_uint_eq(line->excluded, 2);
    ck_assert_double_eq(line->uor, 2.5);
    ck_assert_double_eq(line->uor_careless, 12.0 / 6);
    ck_assert_double_eq(line->disagreement, 0.625);
    ck_assert_double_eq_tol(line->disagreement_careless, 2.5 / 6, 1e-12);
    ck_assert_uint_eq(results.groups[0].measured, 4);
    ck_assert_uint_eq(results.groups[0].excluded_heads, 6);
}
END_TEST

static void add_head(int sample, const char *class, double raw, double isolated)
{
    add(HEADS, "t.h5,%d,0,0,0,last,0.5,1,1,%g,%g,0.1,,%s", sample, raw, isolated, class);
}

START_TEST(test_masquerade)
{
    for (int s = 0; s < 5; s++) {
        add_head(s, "sink", 0.5, 0.1);
        add_head(s, "sink", 0.3, 0.1);
        add_head(s, "contextual", 0.2, 0.3 + 0.01 * s);
        add_head(s, "retrieval", 9, 9);
    }
    judge();
    expect("masquerade", KVR_HOLDS, "in the one setting");
    expect("isolation", KVR_HOLDS, "in the one setting");
    const struct kvr_claim_line *raw = &claim_of("masquerade")->lines[0];
    const struct kvr_claim_line *isolated = &claim_of("isolation")->lines[0];
    ck_assert_double_eq_tol(raw->figures[0], 2, 1e-12);
    ck_assert_double_eq_tol(isolated->figures[0], 0.1 / 0.32, 1e-12);
    ck_assert_double_eq_tol(raw->figures[1], 2 / (0.1 / 0.32), 1e-12);
    ck_assert_double_eq_tol(isolated->figures[1], raw->figures[1], 1e-12);
    ck_assert_double_eq(raw->figures[2], 10);
    ck_assert_double_eq(raw->figures[3], 5);
}
END_TEST

START_TEST(test_masquerade_that_isolation_leaves)
{
    for (int s = 0; s < 5; s++) {
        add_head(s, "sink", 0.1, 0.9);
        add_head(s, "contextual", 0.2, 0.1);
    }
    judge();
    expect("masquerade", KVR_FAILS, "fails in the one setting");
    expect("isolation", KVR_FAILS, "fails in the one setting");
}
END_TEST

/* ------------------------------------------------------------ exact statements */

static const struct {
    const char *row; /* of measures.csv, from policy to kept_tokens */
    const char *pooled, *cardinality;
} exact[] = {
    {"mean,1,0.29,100,4,29,29,1,29", "1 of 1 rows", "2 of 2 sizes"},
    {"mean,1,0.29,100,4,28,28,1,28", "1 of 1 rows",
     "0 of 2 sizes; measures.csv line 2: selected 28, expected 29"},
    {"max,16,0.02,1024,4,1,1,1,16", "1 of 1 rows", "1 of 1 sizes"},
    {"max,16,0.4,1024,4,25,26,1.04,400", "0 of 1 rows; measures.csv line 2: uor 1.04, expected 1",
     "0 of 1 sizes; measures.csv line 2: selected 26, expected 25"},
    {"page-entrokv,1,0.1,100,4,10,10,1,11", "1 of 1 rows",
     "1 of 2 sizes; measures.csv line 2: kept_tokens 11, expected 10"},
    {"streaming-llm,1,0.1,100,4,10,10,1,10", "1 of 1 rows", "2 of 2 sizes"},
    {"mine,1,0.1,100,4,10,30,3,30", "the replay has no pooled policy with the uniform quota",
     "the replay has no pooled policy with the uniform quota"},
    {"independent,1,0.1,100,4,10,30,3,30", "the replay has no pooled policy with the uniform quota",
     "the replay has no pooled policy with the uniform quota"},
    {"mean,1,0.1,100,4,10,30,,30", "the replay has no pooled policy with the uniform quota",
     "the replay has no pooled policy with the uniform quota"},
};

START_TEST(test_pooled_policies_are_exact)
{
    add(MEASURES, "t.h5,0,0,0,last,%s,0.5,,,,,", exact[_i].row);
    judge();
    ck_assert_str_eq(claim_of("pooled-uor")->reason, exact[_i].pooled);
    ck_assert_str_eq(claim_of("cardinality")->reason, exact[_i].cardinality);
    ck_assert_int_eq(claim_of("pooled-uor")->verdict == KVR_FAILS,
                     strstr(exact[_i].pooled, "line 2") != NULL);
}
END_TEST

START_TEST(test_pages_that_groups_share)
{
    for (int g = 0; g < 3; g++)
        add(MEASURES, "t.h5,0,5,%d,last,mean,16,0.1,1000,4,6,6,1,96,0.5,,,,,", g);
    add(LAYERS, "t.h5,0,5,last,mean,16,0.1,6,18,3");
    add(LAYERS, "t.h5,0,5,last,mean,16,0.1,6,6,1");
    add(LAYERS, "t.h5,0,5,last,pyramidkv,16,0.1,6,40,"); /* allocations have none */
    judge();
    expect("page-union", KVR_HOLDS, "2 of 2 rows, from 1 to 3");
}
END_TEST

START_TEST(test_pages_beyond_the_groups)
{
    for (int g = 0; g < 3; g++)
        add(MEASURES, "t.h5,0,5,%d,last,mean,16,0.1,1000,4,6,6,1,96,0.5,,,,,", g);
    add(LAYERS, "t.h5,0,5,last,mean,16,0.1,6,24,4");
    add(LAYERS, "t.h5,0,5,last,mean,16,0.1,6,12,1.5"); /* is 2 */
    judge();
    expect("page-union", KVR_FAILS,
           "0 of 2 rows, from 1.5 to 4; layers.csv line 2: pur 4, expected 3");
}
END_TEST

START_TEST(test_needle_bound)
{
    add(PREMISES, "t.h5,0,0,0,last,0,0,5,0.5,1,0,0.4,0.3,1");
    add(PREMISES, "t.h5,0,0,1,last,0,0,5,0.5,1,0,0.2,0.3,0");
    add(PREMISES, "t.h5,0,0,1,column:gate,0,0,5,0.5,1,0,0.2,0.3,0");
    judge();
    expect("needle-bound", KVR_FAILS,
           "1 of 2 needles (by layer, group, scorer); \"kvreplay bounds\" lists them");
}
END_TEST

/* ------------------------------------------------------------ refusals */

static void expect_refused(const char *message)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(read_tables(&err), KVR_BAD_INPUT);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
}

START_TEST(test_samples_that_come_twice)
{
    add_measures(0, 0, "mean", 0.5, 0.5, 1, 0.5);
    add_measures(1, 0, "mean", 0.5, 0.5, 1, 0.5);
    add_measures(0, 1, "mean", 0.5, 0.5, 1, 0.5);
    expect_refused("measures.csv\": line 4, column sample: expected the rows of a sample together, "
                   "found \"0\" a second time");
}
END_TEST

START_TEST(test_values_that_cannot_be)
{
    add_head(0, "sinking", 1, 1);
    expect_refused("heads.csv\": line 2, column class: expected sink, retrieval or contextual, "
                   "found \"sinking\"");
}
END_TEST

START_TEST(test_layers_that_were_not_measured)
{
    add(LAYERS, "t.h5,0,5,last,mean,16,0.1,6,18,3");
    expect_refused("layers.csv\": line 2, column layer: expected a layer of measures.csv, found 5");
}
END_TEST

START_TEST(test_run_records_that_say_nothing)
{
    run_record = "{\"options\": {}}\n";
    expect_refused("run.json\": expected strings options.match and options.nan");
}
END_TEST

Suite *kvr_suite_claims(void)
{
    Suite *suite = suite_create("claims");
    TCase *verdicts = tcase_create("verdicts");
    tcase_add_checked_fixture(verdicts, begin, forget);
    tcase_add_test(verdicts, test_policies_are_compared_sample_by_sample);
    tcase_add_test(verdicts, test_equal_memory_lets_independent_heads_in);
    tcase_add_test(verdicts, test_two_samples_are_too_few);
    tcase_add_test(verdicts, test_policies_that_are_not_there);
    tcase_add_test(verdicts, test_ratios_are_pooled_with_their_weights);
    tcase_add_test(verdicts, test_needles_are_averaged_within_a_sample);
    tcase_add_test(verdicts, test_union_overhead);
    tcase_add_test(verdicts, test_overhead_that_is_small);
    tcase_add_test(verdicts, test_groups_that_are_not_finite);
    tcase_add_test(verdicts, test_masquerade);
    tcase_add_test(verdicts, test_masquerade_that_isolation_leaves);
    tcase_add_loop_test(verdicts, test_pooled_policies_are_exact, 0,
                        (int)(sizeof exact / sizeof *exact));
    tcase_add_test(verdicts, test_pages_that_groups_share);
    tcase_add_test(verdicts, test_pages_beyond_the_groups);
    tcase_add_test(verdicts, test_needle_bound);
    suite_add_tcase(suite, verdicts);

    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, begin, forget);
    tcase_add_test(refusals, test_samples_that_come_twice);
    tcase_add_test(refusals, test_values_that_cannot_be);
    tcase_add_test(refusals, test_layers_that_were_not_measured);
    tcase_add_test(refusals, test_run_records_that_say_nothing);
    suite_add_tcase(suite, refusals);
    return suite;
}
