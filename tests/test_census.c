/*
 * The sink census: masses by hand, classes at their thresholds, needles that overlap or lie partly
 * outside the candidates.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/census.h"
#include "tests/made_cell.h"
#include "tests/suites.h"

enum { MOST_HEADS = 8 };

static struct kvr_census census[MOST_HEADS];

static void take_census(struct made_cell *made)
{
    memset(census, 0x7f, sizeof census);
    made_cell_finish(made);
    ck_assert_int_eq(kvr_census_of(&made->cell, &made->scored, census, NULL), KVR_OK);
}

static void spread(struct made_cell *made, size_t head, size_t start, size_t end, float each)
{
    for (size_t t = start; t < end; t++)
        made_cell_head(made, head)[t] = each;
}

static void add_needle(struct made_cell *made, uint64_t start, uint64_t end)
{
    made->needles[made->sample.needle_count++] = (struct kvr_span){start, end};
}

START_TEST(test_names_of_classes)
{
    ck_assert_str_eq(kvr_head_class_name(KVR_HEAD_SINK), "sink");
    ck_assert_str_eq(kvr_head_class_name(KVR_HEAD_RETRIEVAL), "retrieval");
    ck_assert_str_eq(kvr_head_class_name(KVR_HEAD_CONTEXTUAL), "contextual");
}
END_TEST

/* Two heads of 20 candidates with 4 sinks; alpha 2, tau 1/2. */
START_TEST(test_figures_of_a_group)
{
    struct made_cell made;
    made_cell_start(&made, 2, 20, 4);
    spread(&made, 0, 0, 4, 0.125f);    /* sinks: a half */
    spread(&made, 0, 4, 20, 0.03125f); /* 16 others share the other half */
    spread(&made, 1, 10, 12, 0.5f);
    add_needle(&made, 9, 11);
    take_census(&made);

    ck_assert_double_eq(census[0].sink_mass, 0.5);
    ck_assert_double_eq(census[1].sink_mass, 0);
    ck_assert_double_eq(census[0].max_probability, 0.03125);
    ck_assert_double_eq(census[1].max_probability, 0.5);
    ck_assert_double_eq(census[0].needle_mass, 0.0625);
    ck_assert_double_eq(census[1].needle_mass, 0.5);
    /* Squares: 4/64 + 16/1024 = 5/64; isolated, 1/16. */
    ck_assert_double_eq_tol(census[0].entropy_raw, log(64.0 / 5), 1e-14);
    ck_assert_double_eq_tol(census[0].entropy_isolated, log(16), 1e-14);
    ck_assert_double_eq_tol(census[1].entropy_raw, log(2), 1e-14);
    ck_assert_double_eq_tol(census[1].entropy_isolated, log(2), 1e-14);
    /* Weights are squares of the reciprocal supports: (5/64)^2 and 1/4, (1/16)^2 and 1/4. */
    double raw = 25.0 / 4096, isolated = 1.0 / 256;
    ck_assert_double_eq_tol(census[0].weight_raw, raw / (raw + 0.25), 1e-14);
    ck_assert_double_eq_tol(census[1].weight_raw, 0.25 / (raw + 0.25), 1e-14);
    ck_assert_double_eq_tol(census[0].weight_isolated, isolated / (isolated + 0.25), 1e-14);
    ck_assert_double_eq_tol(census[1].weight_isolated, 0.25 / (isolated + 0.25), 1e-14);
    ck_assert_int_eq(census[0].class, KVR_HEAD_SINK);
    ck_assert_int_eq(census[1].class, KVR_HEAD_RETRIEVAL);
    made_cell_free(&made);
}
END_TEST

START_TEST(test_sink_threshold)
{
    struct made_cell made;
    made_cell_start(&made, 3, 100, 4);
    add_needle(&made, 50, 51);
    spread(&made, 0, 0, 4, 0.125f); /* just a half */
    spread(&made, 1, 0, 3, 0.125f);
    made_cell_head(&made, 1)[3] = 0.125f - 0x1p-26f; /* just less */
    spread(&made, 2, 0, 5, 0.25f);                   /* candidate 4 is no sink */
    take_census(&made);
    ck_assert_int_eq(census[0].class, KVR_HEAD_SINK);
    ck_assert_int_eq(census[1].class, KVR_HEAD_CONTEXTUAL);
    ck_assert_double_eq(census[1].sink_mass, 0.5 - 0x1p-26);
    ck_assert_double_eq(census[2].sink_mass, 1);
    ck_assert_double_eq(census[2].max_probability, 0.25);
    made.plan.sink_threshold = 1;
    take_census(&made);
    ck_assert_int_eq(census[0].class, KVR_HEAD_CONTEXTUAL);
    ck_assert_int_eq(census[2].class, KVR_HEAD_SINK);
    made.plan.sink_threshold = 0; /* every head */
    take_census(&made);
    for (size_t h = 0; h < 3; h++)
        ck_assert_int_eq(census[h].class, KVR_HEAD_SINK);
    made_cell_free(&made);
}
END_TEST

/* A sink head that holds the needle too is a sink head. */
START_TEST(test_retrieval_threshold)
{
    struct made_cell made;
    made_cell_start(&made, 4, 100, 4);
    made.plan.retrieval_mass = 0.125;
    add_needle(&made, 50, 52);
    spread(&made, 0, 50, 52, 0.0625f); /* just the threshold */
    made_cell_head(&made, 1)[50] = 0.125f - 0x1p-27f;
    spread(&made, 2, 0, 4, 0.125f);
    spread(&made, 2, 50, 52, 0.25f);
    made_cell_head(&made, 3)[60] = 1; /* sharp, but not at the needle */
    take_census(&made);
    ck_assert_int_eq(census[0].class, KVR_HEAD_RETRIEVAL);
    ck_assert_int_eq(census[1].class, KVR_HEAD_CONTEXTUAL);
    ck_assert_int_eq(census[2].class, KVR_HEAD_SINK);
    ck_assert_int_eq(census[3].class, KVR_HEAD_CONTEXTUAL);
    made_cell_free(&made);
}
END_TEST

/* Without needles a head that looks at few tokens is a retrieval head. */
START_TEST(test_support_threshold)
{
    struct made_cell made;
    made_cell_start(&made, 3, 100, 4);
    spread(&made, 0, 40, 49, 0.1f);
    spread(&made, 1, 40, 51, 0.05f);
    take_census(&made);
    for (size_t h = 0; h < 3; h++)
        ck_assert_double_nan(census[h].needle_mass);
    ck_assert_int_eq(census[0].class, KVR_HEAD_RETRIEVAL);  /* 9 tokens */
    ck_assert_int_eq(census[1].class, KVR_HEAD_CONTEXTUAL); /* 11 */
    ck_assert_int_eq(census[2].class, KVR_HEAD_CONTEXTUAL); /* nothing at all: 27.6 nats */
    ck_assert_double_eq(census[2].entropy_isolated, KVR_ENTROPY_EMPTY);
    made.plan.retrieval_support = 11.01;
    take_census(&made);
    ck_assert_int_eq(census[1].class, KVR_HEAD_RETRIEVAL);
    made.plan.retrieval_support = 8.99;
    take_census(&made);
    ck_assert_int_eq(census[0].class, KVR_HEAD_CONTEXTUAL);
    made_cell_free(&made);
}
END_TEST

START_TEST(test_overlapping_needles_count_once)
{
    struct made_cell made;
    made_cell_start(&made, 1, 64, 4);
    for (size_t t = 0; t < 64; t++)
        made_cell_head(&made, 0)[t] = (float)t;
    add_needle(&made, 10, 14);
    add_needle(&made, 12, 16); /* 12 and 13 again */
    add_needle(&made, 10, 14); /* all of it again */
    add_needle(&made, 11, 12); /* inside */
    add_needle(&made, 20, 21);
    add_needle(&made, 8, 11); /* 10 again */
    take_census(&made);
    ck_assert_double_eq(census[0].needle_mass, 8 + 9 + 10 + 11 + 12 + 13 + 14 + 15 + 20);
    made_cell_free(&made);
}
END_TEST

/* Candidates are positions 100 … 119; needles that they hold in part count in part. */
START_TEST(test_needles_at_the_borders_of_a_window)
{
    struct made_cell made;
    made_cell_start(&made, 1, 20, 0);
    made.cell.candidates.first = 100;
    made.sample.prompt_length = 120;
    for (size_t t = 0; t < 20; t++)
        made_cell_head(&made, 0)[t] = (float)(t + 1);
    add_needle(&made, 98, 102);  /* candidates 0 and 1 */
    add_needle(&made, 117, 125); /* 17, 18, 19 */
    add_needle(&made, 0, 50);
    add_needle(&made, 130, 140);
    take_census(&made);
    ck_assert_double_eq(census[0].needle_mass, 1 + 2 + 18 + 19 + 20);
    made_cell_free(&made);
}
END_TEST

/* A sample with needles of which the layer holds none: 0, and so never a retrieval head. */
START_TEST(test_needles_outside_the_window)
{
    struct made_cell made;
    made_cell_start(&made, 1, 20, 0);
    made.cell.candidates.first = 100;
    made.sample.prompt_length = 120;
    made_cell_head(&made, 0)[7] = 1;
    add_needle(&made, 10, 20);
    take_census(&made);
    ck_assert_double_eq(census[0].needle_mass, 0);
    ck_assert_int_eq(census[0].class, KVR_HEAD_CONTEXTUAL);
    made_cell_free(&made);
}
END_TEST

START_TEST(test_candidates_that_are_all_sinks)
{
    struct made_cell made;
    made_cell_start(&made, 2, 3, 3);
    spread(&made, 0, 0, 3, 0.25f);
    spread(&made, 1, 0, 3, 0.1f);
    take_census(&made);
    ck_assert_double_eq(census[0].max_probability, 0);
    ck_assert_double_eq(census[0].sink_mass, 0.75);
    ck_assert_double_eq(census[0].entropy_isolated, KVR_ENTROPY_EMPTY);
    ck_assert_int_eq(census[0].class, KVR_HEAD_SINK);
    ck_assert_int_eq(census[1].class, KVR_HEAD_CONTEXTUAL);
    made_cell_free(&made);
}
END_TEST

/* Columns may be negative: the largest is still the largest. */
START_TEST(test_negative_values)
{
    struct made_cell made;
    made_cell_start(&made, 1, 10, 2);
    for (size_t t = 0; t < 10; t++)
        made_cell_head(&made, 0)[t] = -(float)(t + 1);
    take_census(&made);
    ck_assert_double_eq(census[0].sink_mass, -3);
    ck_assert_double_eq(census[0].max_probability, -3);
    made_cell_free(&made);
}
END_TEST

START_TEST(test_options_reach_the_entropies)
{
    struct made_cell made;
    made_cell_start(&made, 2, 20, 4);
    made.plan.entropy = (struct kvr_entropy_options){.alpha = 1, .window = 8};
    made.plan.tau = 1;
    spread(&made, 0, 0, 20, 0.05f);
    spread(&made, 1, 16, 18, 0.05f);
    take_census(&made);
    ck_assert_double_eq_tol(census[0].entropy_raw, log(8), 1e-12);
    ck_assert_double_eq_tol(census[1].entropy_isolated, log(2), 1e-12);
    ck_assert_double_eq_tol(census[0].weight_raw, 0.2, 1e-12); /* 1/8 against 1/2 */
    ck_assert_double_eq_tol(census[1].weight_isolated, 0.8, 1e-12);
    made_cell_free(&made);
}
END_TEST

Suite *kvr_suite_census(void)
{
    Suite *suite = suite_create("census");
    TCase *figures = tcase_create("figures");
    tcase_add_test(figures, test_names_of_classes);
    tcase_add_test(figures, test_figures_of_a_group);
    tcase_add_test(figures, test_candidates_that_are_all_sinks);
    tcase_add_test(figures, test_negative_values);
    tcase_add_test(figures, test_options_reach_the_entropies);
    suite_add_tcase(suite, figures);
    TCase *classes = tcase_create("classes");
    tcase_add_test(classes, test_sink_threshold);
    tcase_add_test(classes, test_retrieval_threshold);
    tcase_add_test(classes, test_support_threshold);
    suite_add_tcase(suite, classes);
    TCase *needles = tcase_create("needles");
    tcase_add_test(needles, test_overlapping_needles_count_once);
    tcase_add_test(needles, test_needles_at_the_borders_of_a_window);
    tcase_add_test(needles, test_needles_outside_the_window);
    suite_add_tcase(suite, needles);
    return suite;
}
