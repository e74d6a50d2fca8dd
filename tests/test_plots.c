/*
 * The data of figures, against numbers worked out by hand from tables written by hand. No gnuplot.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "formats/base/text.h"
#include "plots/statistics.h"
#include "tests/plot_fixture.h"
#include "tests/scratch.h"
#include "tests/suites.h"

#define NEAR(found, expected) ck_assert_double_eq_tol(found, expected, 1e-8)

static void close_figure(struct kvr_source *source, struct kvr_draft *draft)
{
    kvr_draft_free(draft);
    kvr_source_free(source);
}

/* ------------------------------------------------------------------------------ choices */

static const char two_scorers[] = "a.h5,0,0,0,window,1,0.02,2,20,1.5,0.4,0.4,1,1,1,1,1,1,1\n"
                                  "a.h5,0,0,0,last,16,0.2,2,20,1.5,0.4,0.4,1,1,1,1,1,1,1\n"
                                  "a.h5,0,0,0,last,1,0.08,2,20,1.5,0.4,0.4,1,1,1,1,1,1,1\n";

START_TEST(test_what_is_shown_by_default)
{
    plot_table("bounds.csv", bounds_header, two_scorers);
    struct kvr_source source = plot_source();
    ck_assert_str_eq(source.scorer, "last");
    ck_assert_str_eq(source.budget, "0.08");
    ck_assert_str_eq(source.page_size, "1");
    ck_assert_str_eq(kvr_source_pages(&source), "16");
    ck_assert_ptr_null(source.trace);
    ck_assert(kvr_source_shows_trace(&source, "any.h5"));
    ck_assert(!source.run_known);
    kvr_source_free(&source);
}
END_TEST

START_TEST(test_what_the_tables_lack_is_refused)
{
    struct kvr_source source;
    struct kvr_error err = KVR_ERROR_NONE;
    plot_table("bounds.csv", bounds_header, two_scorers);
    const struct kvr_plot_options options = {.folder = scratch_path(""), .scorer = "lost"};
    ck_assert_int_eq(kvr_source_open(&options, &source, &err), KVR_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "--scorer: expected one of window, last, found \"lost\"");
    kvr_source_free(&source);
}
END_TEST

/* A policy that ranks by what was asked for is shown under the shown scorer, another one under its
   own, even if that is asked for too. */
START_TEST(test_policies_and_their_scorers)
{
    plot_table("measures.csv", measures_header,
               "a.h5,0,0,0,last,mean,1,0.1,100,1,10,10,1,10,0.5,,,,,\n"
               "a.h5,0,0,0,window,mean,1,0.1,100,1,10,10,1,10,0.5,,,,,\n"
               "a.h5,0,0,0,window,tova,1,0.1,100,1,10,10,1,10,0.5,,,,,\n"
               "a.h5,0,0,0,recency,random,1,0.1,100,1,10,10,1,10,,,,,,\n");
    plot_table("bounds.csv", bounds_header, two_scorers);
    struct kvr_source source = plot_source();
    ck_assert(kvr_source_shows_policy(&source, "mean", "last"));
    ck_assert(!kvr_source_shows_policy(&source, "mean", "window"));
    ck_assert(kvr_source_shows_policy(&source, "tova", "window"));
    ck_assert(kvr_source_shows_policy(&source, "random", "recency"));
    kvr_source_free(&source);
}
END_TEST

START_TEST(test_options_of_the_run)
{
    static const char run[] = "{\n  \"command_line\": [\"--sinks\", \"\\\"sinks\\\": 9\"],\n"
                              "  \"options\": {\n    \"alpha\": \"inf\",\n    \"sinks\": 7,\n"
                              "    \"match\": \"physical\"\n  }\n}\n";
    plot_table("bounds.csv", bounds_header, two_scorers);
    scratch_write("run.json", run, strlen(run));
    struct kvr_source source = plot_source();
    ck_assert(source.run_known);
    ck_assert_uint_eq(source.sinks, 7);
    ck_assert_str_eq(source.alpha, "inf");
    ck_assert(source.match_physical);
    kvr_source_free(&source);
}
END_TEST

/* ------------------------------------------------------------------------------ policies */

/* Two groups of sample 0 with weights 1 and 3, one of sample 1: pooled within, then the mean. */
START_TEST(test_future_is_pooled_by_sample)
{
    plot_table("measures.csv", measures_header,
               "a.h5,0,0,0,last,mean,1,0.1,100,2,10,10,1,10,0.5,0.2,1,0.8,0.5,\n"
               "a.h5,0,0,1,last,mean,1,0.1,100,2,10,10,1,30,0.7,0.6,3,0.4,1.5,\n"
               "a.h5,0,0,1,last,mean,16,0.1,100,2,10,10,1,99,0,0,3,0,1.5,\n"
               "a.h5,1,0,0,last,mean,1,0.1,200,2,20,20,1,20,0.9,1,5,0.1,2,\n"
               "a.h5,1,0,1,last,mean,1,0.1,200,2,20,20,1,20,,,,,,\n"
               "b.h5,1,0,0,last,mean,1,0.1,200,2,20,20,1,20,0.1,0.5,1,0.9,1,\n");
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "policies");
    ck_assert_uint_eq(plot_rows(&draft, 0), 1);
    ck_assert_uint_eq(plot_rows(&draft, 1), 0);
    NEAR(plot_number(&draft, 0, 0, 0), (10 + 30 + 20 + 20 + 20) / 800.0);
    NEAR(plot_number(&draft, 0, 0, 1), ((0.8 * 0.5 + 0.4 * 1.5) / 2 + 0.1 + 0.9) / 3);
    NEAR(plot_number(&draft, 0, 0, 2), ((0.2 * 1 + 0.6 * 3) / 4 + 1 + 0.5) / 3);
    NEAR(plot_number(&draft, 0, 0, 3), 3);
    close_figure(&source, &draft);
    source = plot_source();
    draft = plot_draft(&source, "retained-memory");
    NEAR(plot_number(&draft, 0, 0, 1), (0.5 + 0.7 + 0.9 + 0.1) / 4);
    close_figure(&source, &draft);
}
END_TEST

START_TEST(test_a_trace_without_decode_rows)
{
    plot_table("measures.csv", measures_header,
               "a.h5,0,0,0,last,mean,1,0.1,100,2,10,10,1,10,0.5,,,,,\n");
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "policies");
    ck_assert_uint_eq(draft.data.length, 0);
    ck_assert_ptr_nonnull(strstr(draft.reason.data, "no decode rows"));
    close_figure(&source, &draft);
}
END_TEST

/* ------------------------------------------------------------------------------ bounds */

START_TEST(test_disagreement_and_envelope)
{
    plot_table("bounds.csv", bounds_header,
               "a.h5,0,0,0,last,1,0.1,3,20,2.5,0.25,0.3,1,1,1,1,1,1,1\n"
               "a.h5,0,0,1,last,1,0.1,3,20,1.5,0.75,0.9,1,1,1,1,1,1,1\n"
               "a.h5,0,0,1,last,16,0.1,3,20,1.9,0.5,0.9,1,1,1,1,1,1,1\n"
               "a.h5,0,1,0,last,1,0.1,1,20,1,,,1,1,1,1,1,1,1\n"
               "a.h5,0,1,0,window,1,0.1,2,20,1.2,0.5,0.5,1,1,1,1,1,1,1\n");
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "uor-disagreement");
    ck_assert_uint_eq(plot_rows(&draft, 0), 2);
    NEAR(plot_number(&draft, 0, 0, 0), 0.25);
    NEAR(plot_number(&draft, 0, 0, 1), 1.5);
    NEAR(plot_number(&draft, 0, 1, 0), 0.75);
    NEAR(plot_number(&draft, 0, 1, 1), 2.5);
    size_t points = plot_rows(&draft, 1);
    NEAR(plot_number(&draft, 1, 0, 1), 1);
    NEAR(plot_number(&draft, 1, points - 1, 1), 3);
    NEAR(plot_number(&draft, 1, (points - 1) / 2, 1), 3 / (1 + 4 * 0.5 / 1.5));
    ck_assert_ptr_nonnull(strstr(draft.caption.data, "1 row of another ratio"));
    close_figure(&source, &draft);
}
END_TEST

START_TEST(test_gaps_of_bounds)
{
    plot_table("bounds.csv", bounds_header,
               "a.h5,0,0,0,last,1,0.1,2,20,1.5,0.25,0.3,1.1,1.2,1.9,1.3,1.4,1.5,1.6\n"
               "a.h5,0,0,1,last,1,0.1,2,20,1.7,0.25,0.3,1.1,1.2,1.9,1.3,1.6,1.6,1.7\n"
               "a.h5,0,0,1,last,1,0.1,1,20,1,,,1,1,1,1,1,1,1\n");
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "bound-tightness");
    ck_assert_uint_eq(plot_rows(&draft, 0), 7);
    NEAR(plot_number(&draft, 0, 0, 2), 0.5);  /* median of 0.4 and 0.6 */
    NEAR(plot_number(&draft, 0, 0, 0), 0.41); /* 5 % of the way */
    NEAR(plot_number(&draft, 0, 0, 6), 0);    /* never the tightest */
    NEAR(plot_number(&draft, 0, 3, 6), 0.5);  /* de Caen: once, tied */
    NEAR(plot_number(&draft, 0, 4, 6), 1);    /* Dawson-Sankoff: always */
    NEAR(plot_number(&draft, 0, 6, 5), 0.05); /* Hunter: mean of 0.1 and 0 */
    close_figure(&source, &draft);
}
END_TEST

/* Two curves of different lengths, read at the same shares. */
START_TEST(test_curves_at_equal_shares)
{
    plot_table("bounds.csv", bounds_header, two_scorers);
    plot_table("curves.csv", curves_header,
               "a.h5,0,0,0,last,1,2,1,2,0,0,1,1.5,2,1,1,1,2\n"
               "a.h5,0,0,0,last,1,2,2,1.5,0,0,1,1.25,2,1,1,1,2\n"
               "a.h5,0,0,0,last,1,2,4,1,0,0,1,1,2,1,1,1,2\n"
               "a.h5,0,0,1,last,1,2,1,1,0,0,1,1,2,1,1,1,2\n"
               "a.h5,0,0,1,last,1,2,2,1,0,0,1,1,2,1,1,1,2\n");
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "uor-curves");
    size_t rows = plot_rows(&draft, 0);
    NEAR(plot_number(&draft, 0, rows - 1, 0), 1);
    NEAR(plot_number(&draft, 0, rows - 1, 1), 1);
    NEAR(plot_number(&draft, 0, rows - 1, 7), 2);
    /* exp(-6/8) = 0.472: k = 1 of 4; the shorter one has no token there */
    NEAR(plot_number(&draft, 0, rows - 7, 0), exp(-0.75));
    NEAR(plot_number(&draft, 0, rows - 7, 1), 2);
    NEAR(plot_number(&draft, 0, rows - 7, 6), 1.5);
    NEAR(plot_number(&draft, 0, rows - 7, 7), 1);
    /* exp(-5/8) = 0.535: k = 2 of 4 and 1 of 2 */
    NEAR(plot_number(&draft, 0, rows - 6, 1), 1.25);
    NEAR(plot_number(&draft, 0, 0, 0), exp(-11 / 8.0)); /* the last share of at least 1/4 */
    close_figure(&source, &draft);
}
END_TEST

/* ------------------------------------------------------------------------------ maps */

START_TEST(test_maps_of_layers_and_groups)
{
    plot_table("bounds.csv", bounds_header,
               "a.h5,0,3,0,last,1,0.1,2,20,1.5,0.25,0.3,1,1,1,1,1,1,1\n"
               "a.h5,0,9,1,last,1,0.1,2,20,1.9,0.5,0.3,1,1,1,1,1,1,1\n"
               "a.h5,1,9,1,last,1,0.1,2,20,1.7,0.6,0.3,1,1,1,1,1,1,1\n");
    plot_table("measures.csv", measures_header,
               "a.h5,0,9,1,last,mean,1,0.1,100,2,10,10,1,10,0.5,,,,,\n"
               "a.h5,1,9,1,last,mean,1,0.1,100,2,10,10,1,10,0.9,,,,,\n"
               "a.h5,1,9,1,last,max,1,0.1,100,2,10,10,1,10,0.1,,,,,\n");
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "layer-group");
    ck_assert_uint_eq(plot_rows(&draft, 0), 4);
    NEAR(plot_number(&draft, 0, 0, 2), 1.5);
    ck_assert(isnan(plot_number(&draft, 0, 1, 2)));
    NEAR(plot_number(&draft, 0, 3, 2), 1.8);
    NEAR(plot_number(&draft, 0, 3, 3), 2);
    NEAR(plot_number(&draft, 1, 3, 2), 0.45);
    NEAR(plot_number(&draft, 2, 3, 2), 0.7);
    close_figure(&source, &draft);
}
END_TEST

static const char one_length[] = "a.h5,0,0,0,last,mean,1,0.1,1000,2,10,10,1,10,0.5,,,,,\n"
                                 "a.h5,0,1,0,last,mean,1,0.4,500,2,10,10,1,10,0.5,,,,,\n";
static const char some_needles[] = "a.h5,0,0,0,last,mean,1,0.1,0,10,20,0.25,,0,,\n"
                                   "a.h5,0,0,1,last,mean,1,0.1,0,10,20,0.75,,0,,\n"
                                   "a.h5,0,0,0,last,mean,1,0.4,0,10,20,1,,0,,\n"
                                   "a.h5,0,0,0,last,mean,1,0.1,1,990,1000,0.5,,0,,\n";

START_TEST(test_needles_by_budget)
{
    plot_table("measures.csv", measures_header, one_length);
    plot_table("needles.csv", needles_header, some_needles);
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "needle-retention");
    ck_assert_uint_eq(plot_rows(&draft, 0), 10);
    NEAR(plot_number(&draft, 0, 0, 2), 0.5);
    NEAR(plot_number(&draft, 0, 4, 2), 0.5); /* the last fifth of 1000, though layer 1 sees 500 */
    NEAR(plot_number(&draft, 0, 5, 2), 1);
    ck_assert(isnan(plot_number(&draft, 0, 1, 2)));
    close_figure(&source, &draft);
}
END_TEST

START_TEST(test_needles_by_length)
{
    struct kvr_text rows = {0}, needles = {0};
    kvr_text_add(&rows, "%sa.h5,1,0,0,last,mean,1,0.1,4000,2,10,10,1,10,0.5,,,,,\n", one_length);
    kvr_text_add(&needles, "%sa.h5,1,0,0,last,mean,1,0.1,0,2000,2010,0.125,,0,,\n", some_needles);
    plot_table("measures.csv", measures_header, rows.data);
    plot_table("needles.csv", needles_header, needles.data);
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "needle-retention");
    ck_assert_uint_eq(plot_rows(&draft, 0), 10);
    NEAR(plot_number(&draft, 0, 0, 2), 0.5);
    NEAR(plot_number(&draft, 0, 7, 2), 0.125); /* the third fifth of the second row */
    ck_assert_ptr_nonnull(strstr(draft.facts.data, "rows[2] = ['1k', '4k']"));
    close_figure(&source, &draft);
    kvr_text_free(&rows);
    kvr_text_free(&needles);
}
END_TEST

START_TEST(test_page_unions)
{
    plot_table("bounds.csv", bounds_header, two_scorers);
    plot_table("measures.csv", measures_header,
               "a.h5,0,3,1,last,mean,16,0.08,100,2,10,10,1,10,0.5,,,,,\n");
    plot_table("layers.csv", layers_header,
               "a.h5,0,3,last,mean,16,0.08,4,6,1.5\n"
               "a.h5,1,3,last,mean,16,0.08,4,7,1.75\n"
               "a.h5,1,3,last,mean,1,0.08,4,8,2\n"
               "a.h5,0,9,last,mean,16,0.08,4,,\n");
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "page-union");
    ck_assert_uint_eq(plot_rows(&draft, 0), 1);
    NEAR(plot_number(&draft, 0, 0, 0), 3);
    NEAR(plot_number(&draft, 0, 0, 1), 1.625);
    ck_assert_ptr_nonnull(strstr(draft.facts.data, "kv_heads = 2\n"));
    close_figure(&source, &draft);
}
END_TEST

/* ------------------------------------------------------------------------------ heads, needles */

START_TEST(test_weights_and_means_of_classes)
{
    plot_table("bounds.csv", bounds_header, two_scorers);
    plot_table("heads.csv", heads_header,
               "a.h5,0,0,0,0,last,0.9,1,2,0.75,0.25,0.1,,sink\n"
               "a.h5,0,0,0,1,last,0.1,3,4,0.25,0.75,0.1,,contextual\n"
               "a.h5,0,0,1,2,last,0.1,3,4,0.5,0.5,0.1,,contextual\n"
               "a.h5,0,0,1,2,window,0.1,3,4,0.1,0.1,0.1,,retrieval\n"
               "a.h5,0,0,1,3,last,0.1,3,4,0.5,0.5,0.1,,contextual\n");
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "weights");
    ck_assert_uint_eq(plot_rows(&draft, 0), 1);
    ck_assert_uint_eq(plot_rows(&draft, 1), 2);
    NEAR(plot_number(&draft, 1, 0, 2), 2); /* two heads in one cell */
    NEAR(plot_number(&draft, 2, 0, 0), 0.75);
    NEAR(plot_number(&draft, 2, 1, 0), 1.25 / 3);
    NEAR(plot_number(&draft, 2, 1, 1), 1.75 / 3);
    ck_assert_ptr_nonnull(strstr(draft.facts.data, "ratio = 2\n"));
    close_figure(&source, &draft);
}
END_TEST

START_TEST(test_densities_have_area_one)
{
    plot_table("bounds.csv", bounds_header, two_scorers);
    plot_table("measures.csv", measures_header,
               "a.h5,0,3,1,last,mean,16,0.08,104,2,10,10,1,10,0.5,,,,,\n");
    plot_table("heads.csv", heads_header,
               "a.h5,0,0,0,0,last,0.9,0.1,2,0.75,0.25,0.1,,sink\n"
               "a.h5,0,0,0,1,last,0.1,0.4,4,0.25,0.75,0.1,,sink\n"
               "a.h5,0,0,1,2,last,0.1,2,4.1,0.5,0.5,0.1,,sink\n");
    static const char run[] = "\"options\": {\"sinks\": 4,\n\"alpha\": 2,\n\"match\": \"nominal\"}";
    scratch_write("run.json", run, strlen(run));
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "entropy-densities");
    size_t rows = plot_rows(&draft, 0);
    double area[2] = {0};
    for (size_t i = 0; i + 1 < rows; i++)
        for (size_t k = 0; k < 2; k++)
            area[k] += (plot_number(&draft, 0, i + 1, 0) - plot_number(&draft, 0, i, 0)) *
                       (plot_number(&draft, 0, i, k + 1) + plot_number(&draft, 0, i + 1, k + 1)) /
                       2;
    ck_assert_double_eq_tol(area[0], 1, 1e-3);
    ck_assert_double_eq_tol(area[1], 1, 1e-3);
    ck_assert_ptr_nonnull(strstr(draft.facts.data, "limit = 4.60517019\n"));
    close_figure(&source, &draft);
}
END_TEST

/* Many values are taken together: the density is that of the even spread they come from. */
START_TEST(test_density_of_many_values)
{
    enum { VALUES = 20000, POINTS = 51 };
    struct kvr_random random = kvr_random_stream(7, 0);
    struct kvr_values values = {0};
    struct kvr_error err = KVR_ERROR_NONE;
    double density[POINTS];
    for (size_t i = 0; i < VALUES; i++)
        ck_assert_int_eq(kvr_values_add(&values, 2 * kvr_random_uniform(&random), &err), KVR_OK);
    kvr_values_sort(&values);
    ck_assert_int_eq(kvr_density(&values, 0, 2, POINTS, density, &err), KVR_OK);
    for (size_t p = 0; p < POINTS; p++)
        ck_assert_double_eq_tol(density[p], 0.5, 0.06);
    kvr_values_free(&values);
}
END_TEST

/* bound = 0.5 of 0.6: odds 0.2. The golden closed form of T = 4096 non-sink tokens is near. */
START_TEST(test_odds_of_the_finite_context_bound)
{
    plot_table("bounds.csv", bounds_header, two_scorers);
    plot_table("premises.csv", premises_header,
               "a.h5,0,0,0,last,0,0,22,0.6,0.7,0.1,0.55,0.5,1\n"
               "a.h5,0,0,1,last,0,0,22,0,0.7,0.1,0,0,1\n"
               "a.h5,0,0,1,window,0,0,22,0.6,0.7,0.1,0.55,0.5,1\n");
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "finite-context");
    ck_assert_uint_eq(plot_rows(&draft, 1), 1);
    NEAR(plot_number(&draft, 1, 0, 0), log10(0.2));
    NEAR(plot_number(&draft, 1, 0, 1), 0.55 / 0.6);
    ck_assert_ptr_nonnull(strstr(draft.caption.data, "1 (needle, group) pair"));
    size_t rows = plot_rows(&draft, 0);
    for (size_t i = 0; i < rows; i++) {
        double tokens = plot_number(&draft, 0, i, 0), odds = 7 / (tokens * tokens) / 0.25;
        ck_assert_double_eq_tol(plot_number(&draft, 0, i, 1), odds / (1 + odds), 1e-8 * odds);
    }
    close_figure(&source, &draft);
}
END_TEST

/* ------------------------------------------------------------------------------ ablations */

START_TEST(test_slots_and_temperatures)
{
    plot_table("ablation_slots.csv", "scorer,operator,page_size,slot,groups,share",
               "last,entropy,2,0,5,0.75\nlast,entropy,2,1,5,0.25\n"
               "last,mean,2,0,5,0.5\nlast,mean,2,1,5,0.5\nlast,mean,4,0,5,0.9\n");
    plot_table("ablation_temperature.csv",
               "scorer,tau,groups,max_weight,max_weight_sd,above_uniform",
               "last,0.1,5,0.9,0.1,0.4\nlast,10,5,0.6,0.05,0.1\n");
    plot_table("ablation_order.csv", "scorer,alpha,heads,entropy,entropy_sd",
               "last,0.5,10,5,1\nlast,inf,10,2,0.5\n");
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "slot-share");
    NEAR(plot_number(&draft, 0, 0, 1), 0.75);
    NEAR(plot_number(&draft, 1, 1, 1), 0.5);
    kvr_draft_free(&draft);
    draft = plot_draft(&source, "temperature");
    NEAR(plot_number(&draft, 0, 1, 1), 10);
    NEAR(plot_number(&draft, 0, 1, 2), 0.6);
    ck_assert(isnan(plot_number(&draft, 1, 1, 1)));
    NEAR(plot_number(&draft, 1, 1, 2), 2);
    ck_assert_ptr_nonnull(strstr(draft.facts.data, "uniform = 0.5\n"));
    close_figure(&source, &draft);
}
END_TEST

/* ------------------------------------------------------------------------------ odd tables */

START_TEST(test_tables_without_rows)
{
    plot_table("measures.csv", measures_header, "");
    plot_table("bounds.csv", bounds_header, "");
    plot_table("heads.csv", heads_header, "");
    plot_table("needles.csv", needles_header, "");
    plot_table("premises.csv", premises_header, "");
    plot_table("layers.csv", layers_header, "");
    plot_table("curves.csv", curves_header, "");
    plot_table("ablation_slots.csv", "scorer,operator,page_size,slot,groups,share", "");
    plot_table("ablation_temperature.csv",
               "scorer,tau,groups,max_weight,max_weight_sd,above_uniform", "");
    plot_table("ablation_order.csv", "scorer,alpha,heads,entropy,entropy_sd", "");
    struct kvr_source source = plot_source();
    ck_assert_ptr_null(source.scorer);
    for (const struct kvr_figure *figure = kvr_figures; figure->name != NULL; figure++) {
        struct kvr_draft draft = plot_draft(&source, figure->name);
        ck_assert_msg(draft.data.length == 0, "%s", figure->name);
        kvr_draft_free(&draft);
    }
    kvr_source_free(&source);
}
END_TEST

/* A million groups make a picture of at most a few thousand points. */
START_TEST(test_a_million_points)
{
    enum { ROWS = 1000000 };
    struct kvr_random random = kvr_random_stream(6, 0);
    struct kvr_text rows = {0};
    for (size_t i = 0; i < ROWS; i++) {
        double j = kvr_random_uniform(&random);
        kvr_text_add(&rows, "a.h5,0,0,0,last,1,0.1,3,20,%.4f,%.4f,1,1,1,2,1,1,1,3\n",
                     1 + 2 * kvr_random_uniform(&random), j);
    }
    plot_table("bounds.csv", bounds_header, rows.data);
    kvr_text_free(&rows);
    struct kvr_source source = plot_source();
    struct kvr_draft draft = plot_draft(&source, "uor-disagreement");
    double all = 0;
    ck_assert_uint_le(plot_rows(&draft, 0), 48 * 48);
    for (size_t i = 0; i < plot_rows(&draft, 0); i += 48)
        all += plot_number(&draft, 0, i, 2);
    ck_assert_double_ge(all, ROWS / 48 / 2);
    ck_assert_uint_lt(draft.data.length, 200000);
    ck_assert_ptr_nonnull(strstr(draft.caption.data, "1,000,000 (group, budget) pairs"));
    close_figure(&source, &draft);
}
END_TEST

/* What a name holds is shown, never run: backquotes start commands in gnuplot's double quotes. */
START_TEST(test_names_cannot_break_out)
{
    struct kvr_text quoted = {0};
    kvr_gnuplot_quote(&quoted, "it's `id` \"a\" _b^{c}\n100%\\");
    ck_assert_str_eq(quoted.data, "'it''s -id- -a- \\_b-\\{c\\}-100\\%-'");
    kvr_text_free(&quoted);
    struct kvr_draft draft = {0};
    kvr_draft_block(&draft, "%s", "a\nb");
    kvr_draft_name(&draft, "`x`\n\"y\"");
    kvr_draft_end(&draft);
    ck_assert_str_eq(draft.data.data, "# a b\n\"-x---y-\"\n");
    kvr_draft_free(&draft);
}
END_TEST

Suite *kvr_suite_plots(void)
{
    Suite *suite = suite_create("plots");
    TCase *choices = tcase_create("choices"), *data = tcase_create("data"),
          *odd = tcase_create("odd tables");
    TCase *cases[] = {choices, data, odd};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tcase_add_checked_fixture(cases[i], scratch_setup, scratch_teardown);
        suite_add_tcase(suite, cases[i]);
    }
    tcase_add_test(choices, test_what_is_shown_by_default);
    tcase_add_test(choices, test_what_the_tables_lack_is_refused);
    tcase_add_test(choices, test_policies_and_their_scorers);
    tcase_add_test(choices, test_options_of_the_run);
    tcase_add_test(data, test_future_is_pooled_by_sample);
    tcase_add_test(data, test_a_trace_without_decode_rows);
    tcase_add_test(data, test_disagreement_and_envelope);
    tcase_add_test(data, test_gaps_of_bounds);
    tcase_add_test(data, test_curves_at_equal_shares);
    tcase_add_test(data, test_maps_of_layers_and_groups);
    tcase_add_test(data, test_needles_by_budget);
    tcase_add_test(data, test_needles_by_length);
    tcase_add_test(data, test_page_unions);
    tcase_add_test(data, test_weights_and_means_of_classes);
    tcase_add_test(data, test_densities_have_area_one);
    tcase_add_test(data, test_density_of_many_values);
    tcase_add_test(data, test_odds_of_the_finite_context_bound);
    tcase_add_test(data, test_slots_and_temperatures);
    tcase_add_test(odd, test_tables_without_rows);
    tcase_add_test(odd, test_a_million_points);
    tcase_add_test(odd, test_names_cannot_break_out);
    return suite;
}
