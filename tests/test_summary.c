/*
 * The summary: facts of a few cells added up, against sums made by hand.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/summary.h"
#include "tests/suites.h"

/* Two scorers, two policies, two page sizes, three budgets; three samples with needles. */
static struct kvr_plan plan;
static struct kvr_summary summary;
static struct kvr_span needles[] = {{0, 5}, {58, 62}, {95, 100}};
static struct kvr_sample samples[3];

static void start(void)
{
    static const char *const scores[] = {"last", "window"}, *const policies[] = {"mean", "max"};
    static const char *const budgets[] = {"0.1", "0.2", "0.4"}, *const pages[] = {"1", "16"};
    plan = kvr_plan_default();
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(kvr_plan_add_score(&plan, scores[i], NULL), KVR_OK);
        ck_assert_int_eq(kvr_plan_add_policy(&plan, policies[i], NULL), KVR_OK);
        ck_assert_int_eq(kvr_plan_add_page_size(&plan, pages[i], NULL), KVR_OK);
    }
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(kvr_plan_add_budget(&plan, budgets[i], NULL), KVR_OK);
        samples[i] = (struct kvr_sample){
            .prompt_length = 100, .needle_count = i < 2 ? 3 : 0, .needles = needles};
    }
    ck_assert_int_eq(kvr_plan_settle(&plan, NULL, 0, NULL), KVR_OK);
    ck_assert_uint_eq(plan.use_count, 4); /* each scorer with each policy */
    ck_assert_int_eq(kvr_summary_open(&plan, &summary, NULL), KVR_OK);
}

static void end(void)
{
    kvr_summary_free(&summary);
    kvr_plan_free(&plan);
}

static struct kvr_cell_key in_sample(size_t sample)
{
    return (struct kvr_cell_key){.sample = &samples[sample]};
}

static void add_kept(size_t sample, struct kvr_place place, double retained, double mass,
                     double weight, double peak, double peak_weight)
{
    struct kvr_cell_key key = in_sample(sample);
    const struct kvr_kept_fact fact = {
        .place = place,
        .retained_mass = retained,
        .future_mass = mass,
        .future_weight = weight,
        .future_peak = peak,
        .peak_weight = peak_weight,
    };
    ck_assert_int_eq(kvr_summary_add_kept(&summary, &key, &fact, NULL), KVR_OK);
}

static void add_needle(size_t sample, struct kvr_place place, size_t needle, bool whole)
{
    struct kvr_cell_key key = in_sample(sample);
    const struct kvr_needle_fact fact = {.place = place, .needle = needle, .whole = whole};
    ck_assert_int_eq(kvr_summary_add_needle(&summary, &key, &fact, NULL), KVR_OK);
}

static const struct kvr_place somewhere = {.score = 1, .use = 3, .page = 0, .budget = 2};

/* ------------------------------------------------------------------------- kept mass */

/* Within a sample by weight, over samples alike: (0.5 2 + 0.2 8) / 10 = 0.26, and 0.9. */
START_TEST(test_future_is_pooled_within_samples)
{
    add_kept(0, somewhere, 0.5, 0.5, 2, 0.75, 4);
    add_kept(0, somewhere, 0.7, 0.2, 8, 0.25, 12);
    add_kept(1, somewhere, NAN, 0.9, 1, 1, 1);
    kvr_summary_finish(&summary);
    const struct kvr_kept_summary *kept = kvr_summary_kept(&summary, somewhere);
    ck_assert_uint_eq(kept->retained_groups, 2);
    ck_assert_double_eq_tol(kept->retained_sum, 1.2, 1e-15);
    ck_assert_uint_eq(kept->future_samples, 2);
    ck_assert_double_eq_tol(kept->future_mass_sum, 0.26 + 0.9, 1e-15);
    ck_assert_double_eq_tol(kept->future_peak_sum, 6.0 / 16 + 1, 1e-15);
}
END_TEST

START_TEST(test_future_that_does_not_apply)
{
    add_kept(0, somewhere, 0.5, NAN, NAN, NAN, NAN);
    add_kept(1, somewhere, 0.5, 0.25, 3, 0.5, 3);
    add_kept(1, somewhere, 0.5, NAN, NAN, NAN, NAN); /* one group of a sample has none */
    kvr_summary_finish(&summary);
    const struct kvr_kept_summary *kept = kvr_summary_kept(&summary, somewhere);
    ck_assert_uint_eq(kept->retained_groups, 3);
    ck_assert_uint_eq(kept->future_samples, 1);
    ck_assert_double_eq(kept->future_mass_sum, 0.25);
    ck_assert_double_eq(kept->future_peak_sum, 0.5);
}
END_TEST

/* A fact goes to its place and no other. */
START_TEST(test_places_are_apart)
{
    size_t number = 0;
    for (size_t s = 0; s < 2; s++)
        for (size_t p = 0; p < 2; p++)
            for (size_t g = 0; g < 2; g++)
                for (size_t b = 0; b < 3; b++) {
                    const struct kvr_place place = {s, 2 * s + p, g, b};
                    const struct kvr_overlap_fact overlap = {.place = place, .uor = 1};
                    struct kvr_cell_key key = in_sample(2);
                    add_kept(2, place, (double)++number, NAN, NAN, NAN, NAN);
                    if (p == 0)
                        kvr_summary_add_overlap(&summary, &key, &overlap, NULL);
                }
    kvr_summary_finish(&summary);
    number = 0;
    for (size_t s = 0; s < 2; s++)
        for (size_t p = 0; p < 2; p++)
            for (size_t g = 0; g < 2; g++)
                for (size_t b = 0; b < 3; b++) {
                    const struct kvr_place place = {s, 2 * s + p, g, b};
                    const struct kvr_kept_summary *kept = kvr_summary_kept(&summary, place);
                    ck_assert_uint_eq(kept->retained_groups, 1);
                    ck_assert_double_eq(kept->retained_sum, (double)++number);
                    ck_assert_uint_eq(kvr_summary_overlap(&summary, place)->groups, 1);
                }
}
END_TEST

/* ------------------------------------------------------------------------- needles */

/* Sample 0: the first needle whole in both groups, the second in one of two, the third in none.
   Sample 1: the first in one of three; the others are held by no layer. */
START_TEST(test_needles_any_strict_and_by_depth)
{
    add_needle(0, somewhere, 0, true);
    add_needle(0, somewhere, 1, false);
    add_needle(0, somewhere, 2, false);
    add_needle(0, somewhere, 0, true);
    add_needle(0, somewhere, 1, true);
    add_needle(0, somewhere, 2, false);
    add_needle(1, somewhere, 0, false);
    add_needle(1, somewhere, 0, false);
    add_needle(1, somewhere, 0, true);
    kvr_summary_finish(&summary);
    const struct kvr_kept_summary *kept = kvr_summary_kept(&summary, somewhere);
    ck_assert_uint_eq(kept->needles, 4);
    ck_assert_uint_eq(kept->needles_any, 3);
    ck_assert_uint_eq(kept->needles_strict, 1);
    ck_assert_double_eq_tol(kept->needle_fraction_sum, 1 + 0.5 + 0 + 1.0 / 3, 1e-15);
    const uint64_t by_depth[KVR_DEPTHS] = {2, 0, 1, 0, 1};
    const double fractions[KVR_DEPTHS] = {1 + 1.0 / 3, 0, 0.5, 0, 0};
    for (size_t d = 0; d < KVR_DEPTHS; d++) {
        ck_assert_uint_eq(kept->depth_needles[d], by_depth[d]);
        ck_assert_double_eq_tol(kept->depth_fraction_sum[d], fractions[d], 1e-15);
    }
}
END_TEST

/* Samples with and without needles take turns, and a sample counts when it has passed. */
START_TEST(test_samples_in_turn)
{
    add_needle(0, somewhere, 1, true);
    add_kept(0, somewhere, 0.5, 0.5, 1, 0.5, 1);
    add_kept(2, somewhere, 0.5, 0.25, 1, 0.25, 1);
    ck_assert_uint_eq(kvr_summary_kept(&summary, somewhere)->needles, 1);
    ck_assert_uint_eq(kvr_summary_kept(&summary, somewhere)->future_samples, 1);
    add_needle(1, somewhere, 1, false);
    kvr_summary_finish(&summary);
    kvr_summary_finish(&summary); /* nothing is left to add */
    const struct kvr_kept_summary *kept = kvr_summary_kept(&summary, somewhere);
    ck_assert_uint_eq(kept->needles, 2);
    ck_assert_uint_eq(kept->needles_any, 1);
    ck_assert_uint_eq(kept->future_samples, 2);
    ck_assert_double_eq(kept->future_mass_sum, 0.75);
}
END_TEST

/* ------------------------------------------------------------------------- overlap, heads, groups
 */

START_TEST(test_overlaps)
{
    const struct kvr_place place = {.score = 0, .page = 1, .budget = 1};
    const struct kvr_overlap_fact facts[] = {
        {place, 1.5, 0.25, false, true, 0},
        {place, 3.5, 0.5, true, true, 2},
        {place, 1, NAN, false, false, 0}, /* r = 1: no pairs */
    };
    struct kvr_cell_key key = in_sample(0);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(kvr_summary_add_overlap(&summary, &key, &facts[i], NULL), KVR_OK);
    const struct kvr_overlap_summary *sums = kvr_summary_overlap(&summary, place);
    ck_assert_uint_eq(sums->groups, 3);
    ck_assert_double_eq(sums->uor_sum, 6);
    ck_assert_double_eq(sums->uor_most, 3.5);
    ck_assert_uint_eq(sums->pair_groups, 2);
    ck_assert_double_eq(sums->disagreement_sum, 0.75 + 0.5);
    ck_assert_uint_eq(sums->certified_bonferroni, 1);
    ck_assert_uint_eq(sums->certified_sandwich, 2);
    ck_assert_uint_eq(sums->violations, 2);
}
END_TEST

/* Mean weight of sink heads against that of contextual heads; retrieval heads stand apart. */
START_TEST(test_masquerade)
{
    const struct kvr_head_fact facts[] = {
        {1, KVR_HEAD_SINK, 0.6, 0.1, 1},
        {1, KVR_HEAD_SINK, 0.2, 0.1, 0.875},
        {1, KVR_HEAD_CONTEXTUAL, 0.2, 0.4, 1.125},
        {1, KVR_HEAD_RETRIEVAL, 0.9, 0.9, 1},
    };
    struct kvr_cell_key key = in_sample(0);
    const struct kvr_census_summary *census = &summary.census[1];
    ck_assert_double_nan(census->least_total);
    ck_assert_double_nan(census->most_total);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_double_nan(kvr_summary_masquerade(&summary.census[0], census->weight_raw));
        ck_assert_int_eq(kvr_summary_add_head(&summary, &key, &facts[i], NULL), KVR_OK);
        if (i < 2) /* no contextual head yet */
            ck_assert_double_nan(kvr_summary_masquerade(census, census->weight_raw));
    }
    ck_assert_double_eq_tol(kvr_summary_masquerade(census, census->weight_raw), 2, 1e-12);
    ck_assert_double_eq_tol(kvr_summary_masquerade(census, census->weight_isolated), 0.25, 1e-12);
    ck_assert_double_eq(census->least_total, 0.875);
    ck_assert_double_eq(census->most_total, 1.125);
    ck_assert_uint_eq(census->heads[KVR_HEAD_SINK], 2);
}
END_TEST

START_TEST(test_groups_and_premises)
{
    const struct kvr_group_fact groups[] = {
        {0, false, 0}, {0, true, 0}, {0, false, 12}, {1, true, 0}};
    const struct kvr_premise_fact premises[] = {{true}, {false}, {true}};
    struct kvr_cell_key key = in_sample(0);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(kvr_summary_add_group(&summary, &key, &groups[i], NULL), KVR_OK);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(kvr_summary_add_premise(&summary, &key, &premises[i], NULL), KVR_OK);
    ck_assert_uint_eq(summary.census[0].groups, 3);
    ck_assert_uint_eq(summary.census[0].excluded, 1);
    ck_assert_uint_eq(summary.census[0].replaced, 12);
    ck_assert_uint_eq(summary.census[1].excluded, 1);
    ck_assert_uint_eq(summary.premises, 3);
    ck_assert_uint_eq(summary.premises_held, 2);
}
END_TEST

Suite *kvr_suite_summary(void)
{
    Suite *suite = suite_create("summary");
    TCase *all = tcase_create("summary");
    tcase_add_checked_fixture(all, start, end);
    tcase_add_test(all, test_future_is_pooled_within_samples);
    tcase_add_test(all, test_future_that_does_not_apply);
    tcase_add_test(all, test_places_are_apart);
    tcase_add_test(all, test_needles_any_strict_and_by_depth);
    tcase_add_test(all, test_samples_in_turn);
    tcase_add_test(all, test_overlaps);
    tcase_add_test(all, test_masquerade);
    tcase_add_test(all, test_groups_and_premises);
    suite_add_tcase(suite, all);
    return suite;
}
