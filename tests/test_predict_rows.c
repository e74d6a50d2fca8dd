/*
 * The rows behind predictions: what is counted, left out and refused.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/predict_fixture.h"
#include "tests/scratch.h"
#include "tests/suites.h"

/* ------------------------------------------------------------------------------ what is counted */

START_TEST(test_rows_without_a_counterpart)
{
    struct kvr_prediction prediction;
    struct kvr_predict_options options = default_options();
    make_tables(1);
    write_tables();
    append_live("a.h5,99,mean,last,1,0.1,1,-1,-1,0\n"
                "c.h5,0,mean,last,1,0.1,1,-1,-1,0\n"
                "a.h5,0,mean,last,1,0.10,1,-1,-1,0\n"
                "a.h5,0,max,last,1,0.1,1,-1,-1,0\n"
                "a.h5,0,mean,last,32,0.1,1,-1,-1,0\n");
    must_predict(&options, &prediction);
    const struct kvr_predict_data *data = &prediction.data;
    ck_assert_uint_eq(data->strange_samples, 2);
    ck_assert_uint_eq(data->strange_settings, 3);
    ck_assert_uint_eq(data->matched_rows, SAMPLES * SETTINGS - 4);
    ck_assert_uint_eq(data->live_rows, data->matched_rows + 5);
    ck_assert_uint_eq(data->unlived, 4);
    ck_assert_uint_eq(data->sample_count, SAMPLES);
    ck_assert_ptr_nonnull(strstr(data->first_strange, "no table has its sample: trace a.h5"));
    kvr_prediction_free(&prediction);
}
END_TEST

/* All right, all wrong, and nothing lost. */
START_TEST(test_floor_and_ceiling)
{
    struct kvr_prediction prediction;
    struct kvr_predict_options options = default_options();
    make_tables(1);
    for (size_t s = 0; s < SAMPLES; s++)
        for (size_t i = 0; i < SETTINGS; i++) {
            lives[s][i].right = i < 4 ? 0 : i < 12 ? 1 : s == 0;
            lives[s][i].kl = i == 22 ? 1e-8 : 0.5;
        }
    write_tables();
    must_predict(&options, &prediction);
    ck_assert_uint_eq(prediction.sections[0].floor, 2);
    ck_assert_uint_eq(prediction.sections[1].floor, 2 + 1); /* setting 14 lacks its sample 0 */
    ck_assert_uint_eq(prediction.sections[0].ceiling, 4);
    ck_assert_uint_eq(prediction.sections[1].same, 1);
    ck_assert_uint_eq(prediction.sections[2].settings, SETTINGS);
    kvr_prediction_free(&prediction);
}
END_TEST

START_TEST(test_filters)
{
    struct kvr_prediction prediction;
    struct kvr_predict_options options = default_options();
    char budget[] = "0.5", page[] = "16", trace[] = "a.h5", *items[] = {budget, page, trace};
    make_tables(2);
    write_tables();
    options.filters.budgets = (struct kvr_compare_filter){1, &items[0]};
    options.filters.page_sizes = (struct kvr_compare_filter){1, &items[1]};
    options.filters.traces = (struct kvr_compare_filter){1, &items[2]};
    must_predict(&options, &prediction);
    ck_assert_uint_eq(prediction.section_count, 1);
    ck_assert_uint_eq(prediction.data.setting_count, POLICIES);
    ck_assert_uint_eq(prediction.data.sample_count, 3);
    ck_assert_uint_eq(prediction.data.strange_samples + prediction.data.strange_settings, 0);
    kvr_prediction_free(&prediction);
}
END_TEST

/* ------------------------------------------------------------------------------ what is refused */

START_TEST(test_refused)
{
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"a.h5,0,mean,last,1,0.1,2,-1,-1,0\n", "column right: expected 0 to 1, found 2"},
        {"a.h5,0,mean,last,1,0.1,1,0.5,-1,0\n", "column logprob: expected at most 0, found 0.5"},
        {"a.h5,0,mean,last,1,0.1,1,-1,-1,-1\n", "column kl: expected at least 0, found -1"},
        {"a.h5,0,mean,last,1,0.1,True,-1,-1,0\n", "column right"},
        {"a.h5,0,mean,last,1,0.1,1,-1,-1,nan\n", "column kl"},
        {"a.h5,0,mean,last,1,0.1,1,-1,-1,0\n", "column policy: expected one row a trace"},
        {"a.h5,0,mean,last,1,0.1,1,-1,-1\n", "line"},
        {"a.h5,0,mean,last,1,0.1,1,-1,-1,0", "expected a line break"},
    };
    struct kvr_prediction prediction;
    struct kvr_predict_options options = default_options();
    struct kvr_error err = KVR_ERROR_NONE;
    make_tables(1);
    write_tables();
    append_live(cases[_i].line);
    ck_assert_int_eq(predict(&options, &prediction, &err), KVR_BAD_INPUT);
    ck_assert_msg(strstr(err.message, cases[_i].words) != NULL, "%s", err.message);
    ck_assert_ptr_nonnull(strstr(err.message, "live.csv"));
    kvr_prediction_free(&prediction);
}
END_TEST

START_TEST(test_nothing_in_common)
{
    struct kvr_prediction prediction;
    struct kvr_predict_options options = default_options();
    struct kvr_error err = KVR_ERROR_NONE;
    make_tables(1);
    write_tables();
    scratch_write("live.csv", live_header, strlen(live_header));
    append_live("other.h5,0,mean,last,1,0.1,1,-1,-1,0\n");
    ck_assert_int_eq(predict(&options, &prediction, &err), KVR_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "no row has a counterpart in the tables"));
    ck_assert_ptr_nonnull(strstr(err.hint, "trace other.h5"));
    kvr_prediction_free(&prediction);
}
END_TEST

START_TEST(test_a_cell_twice)
{
    struct kvr_prediction prediction;
    struct kvr_predict_options options = default_options();
    struct kvr_error err = KVR_ERROR_NONE;
    make_tables(1);
    write_tables();
    char *folder = strdup(scratch_path("replay")), *live = strdup(scratch_path("live.csv"));
    const char *const folders[] = {folder, folder};
    ck_assert_int_eq(kvr_predict(folders, 2, live, &options, &prediction, &err), KVR_BAD_INPUT);
    ck_assert_msg(strstr(err.message, "expected one row a layer and group") != NULL, "%s",
                  err.message);
    kvr_prediction_free(&prediction);
    free(folder);
    free(live);
}
END_TEST

Suite *kvr_suite_predict_rows(void)
{
    Suite *suite = suite_create("predict_rows");
    TCase *rows_case = tcase_create("rows");
    tcase_add_checked_fixture(rows_case, scratch_setup, scratch_teardown);
    tcase_add_test(rows_case, test_rows_without_a_counterpart);
    tcase_add_test(rows_case, test_floor_and_ceiling);
    tcase_add_test(rows_case, test_filters);
    tcase_add_loop_test(rows_case, test_refused, 0, 8);
    tcase_add_test(rows_case, test_nothing_in_common);
    tcase_add_test(rows_case, test_a_cell_twice);
    suite_add_tcase(suite, rows_case);
    return suite;
}
