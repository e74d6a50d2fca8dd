/*
 * The paper's tables on a folder written by hand: means, pooling, intervals, exclusions, escapes;
 * and the same numbers in every form and in the report.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"
#include "plots/html_text.h"
#include "plots/paper_tables.h"
#include "plots/report.h"
#include "tests/scratch.h"
#include "tests/suites.h"

static const char *const names[] = {"measures.csv", "bounds.csv",   "heads.csv",   "needles.csv",
                                    "layers.csv",   "premises.csv", "excluded.csv"};
static const char *const headers[] = {
    "trace,sample,layer,group,scorer,policy,page_size,budget,context,ratio,quota,selected,uor,"
    "kept_tokens,retained_mass,future_mass,future_weight,future_peak,peak_weight,output_error\n",
    "trace,sample,layer,group,scorer,page_size,budget,ratio,quota,uor,j_mean,j_max,"
    "bonferroni_lower,sandwich_lower,sandwich_upper,cauchy_lower,decaen_lower,"
    "dawson_sankoff_lower,hunter_upper\n",
    "trace,sample,layer,group,head,scorer,sink_mass,h2_raw,h2_isolated,weight_raw,"
    "weight_isolated,max_prob,needle_mass,class\n",
    "trace,sample,layer,group,scorer,policy,page_size,budget,needle,start,end,kept_fraction,"
    "pooled_mass,rank,needle_future,needle_future_weight\n",
    "trace,sample,layer,scorer,policy,page_size,budget,quota,union,pur\n",
    "trace,sample,layer,group,scorer,needle,owner,peak,owner_mass,owner_entropy,largest_slack,"
    "pooled_mass,bound,holds\n",
    "trace,sample,layer,group,scorer,heads\n",
};
enum { MEASURES, BOUNDS, HEADS, NEEDLES, LAYERS, PREMISES, EXCLUDED, FILES };

/* The folder's tables: headers, and then rows[file], NULL for none. */
static void write_folder(const char *const rows[FILES])
{
    for (size_t i = 0; i < FILES; i++) {
        struct kvr_text text = {0};
        kvr_text_string(&text, headers[i]);
        kvr_text_string(&text, rows[i] != NULL ? rows[i] : "");
        scratch_write(names[i], text.data, text.length);
        kvr_text_free(&text);
    }
}

static const char *folder(void)
{
    static char path[4096];
    strcpy(path, scratch_path("bounds.csv"));
    *strrchr(path, '/') = '\0';
    return path;
}

static void read_source(struct kvr_paper_source *source)
{
    struct kvr_error err = KVR_ERROR_NONE;
    const struct kvr_bootstrap bootstrap = {.seed = 0, .draws = 1000, .level = 0.95};
    enum kvr_status status = kvr_paper_source_read(folder(), &bootstrap, source, &err);
    ck_assert_msg(status == KVR_OK, "%s", err.message);
}

static struct kvr_paper_table build(const struct kvr_paper_kind *kind,
                                    const struct kvr_paper_source *source)
{
    static const struct kvr_paper_filter all = {.scorers = {.count = 0}};
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_paper_table table;
    ck_assert_int_eq(kvr_paper_table_build(kind, source, &all, &table, &err), KVR_OK);
    return table;
}

/* The cell of a column by its CSV name. */
static const struct kvr_table_cell *cell_of(const struct kvr_paper_table *table, size_t row,
                                            const char *column)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, column) == 0)
            return &table->cells[row * table->column_count + i];
    ck_abort_msg("no column %s", column);
    return NULL;
}

static bool notes_say(const struct kvr_paper_table *table, const char *words)
{
    for (size_t i = 0; i < table->note_count; i++)
        if (strstr(table->notes[i], words) != NULL)
            return true;
    return false;
}

/* Groups of two, quota 10: UOR u/10 has J = (20-u)/u, and every bound is that of r = 2. */
static void add_bounds(struct kvr_text *text, const char *sample, int group, int together)
{
    double uor = together / 10.0, j = (20.0 - together) / together;
    double lower = 2 - 2 * j > 1 ? 2 - 2 * j : 1, middle = 2 / (1 + 2 * j / (1 + j));
    kvr_text_add(text, "t.h5,%s,0,%d,last,1,0.1,2,10,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,",
                 sample, group, uor, j, j, lower, middle, uor, middle);
    kvr_text_add(text, "%.17g,%.17g,%.17g\n", middle, middle, uor);
}

/* ------------------------------------------------------------------------------ means */

START_TEST(test_means_are_over_groups)
{
    struct kvr_text bounds = {0};
    struct kvr_paper_source source;
    add_bounds(&bounds, "0", 0, 10);
    add_bounds(&bounds, "0", 1, 20);
    add_bounds(&bounds, "1", 0, 20);
    add_bounds(&bounds, "2", 0, 16);
    write_folder((const char *const[FILES]){[BOUNDS] = bounds.data});
    read_source(&source);
    struct kvr_paper_table table = build(&kvr_paper_union, &source);
    ck_assert_uint_eq(table.row_count, 1);
    ck_assert_double_eq_tol(cell_of(&table, 0, "uor_mean")->value, (1 + 2 + 2 + 1.6) / 4, 1e-12);
    ck_assert_double_eq_tol(cell_of(&table, 0, "uor_max")->value, 2, 1e-12);
    ck_assert_double_eq_tol(cell_of(&table, 0, "disagreement_mean")->value, 2.75 / 4, 1e-12);
    ck_assert_double_eq(cell_of(&table, 0, "groups")->value, 4);
    ck_assert_double_eq(cell_of(&table, 0, "prompts")->value, 3);
    const struct kvr_table_cell *mean = cell_of(&table, 0, "uor_mean");
    /* Prompts are drawn whole: no draw lies outside the prompts' own means, 1.5 to 2. */
    ck_assert(mean->low >= 1.5 && mean->low < mean->value);
    ck_assert(mean->high <= 2 && mean->high > mean->value);
    ck_assert(notes_say(&table, "over 3 prompts (1000 draws, seed 0)"));
    kvr_paper_table_free(&table);
    table = build(&kvr_paper_certificates, &source);
    ck_assert_double_eq_tol(cell_of(&table, 0, "twofold_percent")->value, 50, 1e-12);
    kvr_paper_table_free(&table);
    kvr_paper_source_free(&source);
    kvr_text_free(&bounds);
}
END_TEST

/* MEASURES §9: within a prompt by weight, then the mean over prompts. */
START_TEST(test_future_is_pooled_within_prompts)
{
    struct kvr_paper_source source;
    write_folder((const char *const[FILES]){
        [MEASURES] = "t.h5,0,0,0,last,mean,1,0.1,100,2,10,10,1,10,0.5,0.2,1,0.9,3,\n"
                     "t.h5,0,0,1,last,mean,1,0.1,100,2,10,10,1,10,0.7,0.8,3,0.1,1,\n"
                     "t.h5,1,0,0,last,mean,1,0.1,200,2,20,20,1,30,,0.4,9,0.5,9,\n"
                     "t.h5,2,0,0,last,mean,1,0.1,100,2,10,10,1,10,0.6,,,,,\n"});
    read_source(&source);
    struct kvr_paper_table table = build(&kvr_paper_policies, &source);
    ck_assert_uint_eq(table.row_count, 1);
    double first = (0.9 * 3 + 0.1) / 4;
    ck_assert_double_eq_tol(cell_of(&table, 0, "future_peak")->value, (first + 0.5) / 2, 1e-12);
    ck_assert_double_eq_tol(cell_of(&table, 0, "future_mass")->value, (0.65 + 0.4) / 2, 1e-12);
    ck_assert_double_eq_tol(cell_of(&table, 0, "retained_mass")->value, 0.6, 1e-12);
    ck_assert_double_eq_tol(cell_of(&table, 0, "kept_percent")->value, 45.0 / 4, 1e-12);
    /* Two prompts have a future: too few for an interval; three have the rest. */
    ck_assert(isnan(cell_of(&table, 0, "future_peak")->low));
    ck_assert(!isnan(cell_of(&table, 0, "kept_percent")->low));
    ck_assert(notes_say(&table, "No interval from fewer than 3 prompts; there are 2."));
    ck_assert(isnan(cell_of(&table, 0, "output_error")->value));
    kvr_paper_table_free(&table);
    kvr_paper_source_free(&source);
}
END_TEST

START_TEST(test_needles_are_shares_of_groups)
{
    struct kvr_paper_source source;
    write_folder((const char *const[FILES]){
        [MEASURES] = "t.h5,0,0,0,last,mean,1,0.1,100,2,10,10,1,10,0.5,,,,,\n",
        [NEEDLES] = "t.h5,0,0,0,last,mean,1,0.1,0,5,7,1,,0,0.5,2\n"
                    "t.h5,0,0,0,last,mean,1,0.1,1,95,97,0.5,,0,0.1,2\n"
                    "t.h5,0,0,1,last,mean,1,0.1,0,5,7,1,,0,,\n"
                    "t.h5,0,0,1,last,mean,1,0.1,1,95,97,1,,0,,\n"});
    read_source(&source);
    struct kvr_paper_table table = build(&kvr_paper_needles, &source);
    ck_assert_double_eq_tol(cell_of(&table, 0, "any_percent")->value, 100, 1e-12);
    ck_assert_double_eq_tol(cell_of(&table, 0, "strict_percent")->value, 50, 1e-12);
    ck_assert_double_eq_tol(cell_of(&table, 0, "whole_percent")->value, 75, 1e-12);
    ck_assert_double_eq_tol(cell_of(&table, 0, "depth_0_20_percent")->value, 100, 1e-12);
    ck_assert_double_eq_tol(cell_of(&table, 0, "depth_80_100_percent")->value, 50, 1e-12);
    ck_assert(isnan(cell_of(&table, 0, "depth_40_60_percent")->value));
    ck_assert_double_eq_tol(cell_of(&table, 0, "needle_future")->value, 0.3, 1e-12);
    kvr_paper_table_free(&table);
    table = build(&kvr_paper_policies, &source);
    ck_assert_double_eq_tol(cell_of(&table, 0, "needle_whole_percent")->value, 75, 1e-12);
    kvr_paper_table_free(&table);
    kvr_paper_source_free(&source);
}
END_TEST

START_TEST(test_masquerade_is_a_ratio_of_means)
{
    struct kvr_paper_source source;
    write_folder(
        (const char *const[FILES]){[HEADS] = "t.h5,0,0,0,0,last,0.9,1,1,0.6,0.2,0,,sink\n"
                                             "t.h5,0,0,0,1,last,0.1,1,1,0.4,0.8,0,,contextual\n"
                                             "t.h5,0,0,1,2,last,0.1,1,1,0.2,0.4,0,,contextual\n"
                                             "t.h5,0,0,1,3,last,0.1,1,1,0.8,0.6,0,,retrieval\n"});
    read_source(&source);
    struct kvr_paper_table table = build(&kvr_paper_masquerade, &source);
    ck_assert_double_eq_tol(cell_of(&table, 0, "m_raw")->value, 0.6 / 0.3, 1e-12);
    ck_assert_double_eq_tol(cell_of(&table, 0, "m_isolated")->value, 0.2 / 0.6, 1e-12);
    ck_assert_double_eq_tol(cell_of(&table, 0, "removed")->value, 6, 1e-12);
    ck_assert_double_eq(cell_of(&table, 0, "sink_heads")->value, 1);
    ck_assert_double_eq(cell_of(&table, 0, "contextual_heads")->value, 2);
    ck_assert(notes_say(&table, "there is 1."));
    kvr_paper_table_free(&table);
    kvr_paper_source_free(&source);
}
END_TEST

/* ------------------------------------------------------------------------------ little or nothing
 */

static char *page_of(const struct kvr_paper_source *source)
{
    struct kvr_report_layers layers;
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_text text = {0};
    struct kvr_report_choice choice = kvr_report_choose(&source->sums);
    const char *budget =
        choice.budget == KVR_NO_NAME ? "" : source->sums.budgets.items[choice.budget];
    ck_assert_int_eq(kvr_report_layers_read(folder(), budget, choice.page_size, &layers, &err),
                     KVR_OK);
    const struct kvr_report report = {.folder = "out", .paper = source, .layers = &layers};
    ck_assert_int_eq(kvr_report_write(&report, &text, &err), KVR_OK);
    kvr_report_layers_free(&layers);
    return text.data;
}

START_TEST(test_empty_tables_say_so)
{
    struct kvr_paper_source source;
    write_folder((const char *const[FILES]){NULL});
    read_source(&source);
    for (size_t i = 0; i < KVR_PAPER_KINDS; i++) {
        static const char *const says[KVR_TABLE_FORMATS] = {"no rows", "No rows", ","};
        struct kvr_paper_table table = build(kvr_paper_kinds[i], &source);
        for (int format = 0; format < KVR_TABLE_FORMATS; format++) {
            struct kvr_text text = {0};
            kvr_paper_table_write(&table, (enum kvr_table_format)format, &text);
            ck_assert_ptr_nonnull(strstr(text.data, says[format]));
            kvr_text_free(&text);
        }
        kvr_paper_table_free(&table);
    }
    char *page = page_of(&source);
    ck_assert_ptr_nonnull(strstr(page, "No group could be replayed"));
    ck_assert_ptr_null(strstr(page, ">nan"));
    free(page);
    kvr_paper_source_free(&source);
}
END_TEST

START_TEST(test_a_trace_that_is_excluded_whole)
{
    struct kvr_paper_source source;
    static const char rows[] = "broken.h5,0,0,0,last,2\n"
                               "broken.h5,0,0,1,last,2\n";
    write_folder((const char *const[FILES]){[EXCLUDED] = rows});
    read_source(&source);
    struct kvr_paper_table table = build(&kvr_paper_union, &source);
    ck_assert_uint_eq(table.row_count, 0);
    ck_assert(notes_say(&table, "Excluded under last: 2 of 2 groups"));
    kvr_paper_table_free(&table);
    char *page = page_of(&source);
    ck_assert_ptr_nonnull(strstr(page, "broken.h5: no group is left"));
    ck_assert_ptr_nonnull(strstr(page, ">100.0 %</p>"));
    free(page);
    kvr_paper_source_free(&source);
}
END_TEST

START_TEST(test_one_cell)
{
    struct kvr_text bounds = {0};
    struct kvr_paper_source source;
    add_bounds(&bounds, "0", 0, 15);
    write_folder((const char *const[FILES]){[BOUNDS] = bounds.data});
    read_source(&source);
    char *page = page_of(&source);
    ck_assert_ptr_nonnull(strstr(page, "<p class=\"big\">1.50×</p>"));
    ck_assert_ptr_nonnull(strstr(page, "Layer 0</b>"));
    ck_assert_ptr_nonnull(strstr(page, "No interval from fewer than 3 prompts; there is 1."));
    ck_assert_ptr_null(strstr(page, "[nan"));
    free(page);
    kvr_paper_source_free(&source);
    kvr_text_free(&bounds);
}
END_TEST

/* ------------------------------------------------------------------------------ forms */

/* Every figure of the CSV stands in the page with the same digits. */
START_TEST(test_the_page_has_the_numbers_of_the_csv)
{
    struct kvr_text bounds = {0}, csv = {0}, mark = {0};
    struct kvr_paper_source source;
    for (int sample = 0; sample < 4; sample++) {
        char name[2] = {(char)('0' + sample), '\0'};
        add_bounds(&bounds, name, 0, 11 + sample);
        add_bounds(&bounds, name, 1, 13 + sample * 2);
    }
    write_folder((const char *const[FILES]){[BOUNDS] = bounds.data});
    read_source(&source);
    struct kvr_paper_table table = build(&kvr_paper_union, &source);
    kvr_paper_table_write(&table, KVR_TABLE_CSV, &csv);
    char *page = page_of(&source);
    static const char *const columns[] = {"uor_mean", "uor_max", "disagreement_mean"};
    for (size_t i = 0; i < 3; i++) {
        kvr_text_clear(&mark);
        kvr_text_figure(&mark, cell_of(&table, 0, columns[i])->value);
        ck_assert_ptr_nonnull(strstr(csv.data, mark.data));
        kvr_text_clear(&mark);
        kvr_text_string(&mark, "data-v=\"");
        kvr_text_figure(&mark, cell_of(&table, 0, columns[i])->value);
        kvr_text_string(&mark, "\"");
        ck_assert_ptr_nonnull(strstr(page, mark.data));
    }
    free(page);
    kvr_paper_table_free(&table);
    kvr_paper_source_free(&source);
    kvr_text_free(&bounds);
    kvr_text_free(&csv);
    kvr_text_free(&mark);
}
END_TEST

START_TEST(test_names_are_escaped_everywhere)
{
    struct kvr_paper_source source;
    static const char heads[] =
        "\"<script>alert(1)</script>\"\"&.h5\",<b>,0,0,0,\"column:_a|b$%&\",0.9,1,1,0.6,"
        "0.2,0,,sink\n"
        "\"<script>alert(1)</script>\"\"&.h5\",<b>,0,0,1,\"column:_a|b$%&\",0.1,1,1,0.6,"
        "0.2,0,,contextual\n";
    static const char excluded[] =
        "\"<script>alert(1)</script>\"\"&.h5\",<b>,0,1,\"column:_a|b$%&\",2\n";
    write_folder((const char *const[FILES]){[HEADS] = heads, [EXCLUDED] = excluded});
    read_source(&source);
    struct kvr_paper_table table = build(&kvr_paper_masquerade, &source);
    struct kvr_text text = {0};
    kvr_paper_table_write(&table, KVR_TABLE_LATEX, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "column:\\_a|b\\$\\%\\& &"));
    kvr_text_clear(&text);
    kvr_paper_table_write(&table, KVR_TABLE_MARKDOWN, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "| column:\\_a\\|b$%&amp; |"));
    kvr_text_free(&text);
    kvr_paper_table_free(&table);
    char *page = page_of(&source);
    ck_assert_ptr_null(strstr(page, "<script>alert"));
    ck_assert_ptr_nonnull(strstr(page, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;.h5"));
    free(page);
    kvr_paper_source_free(&source);
}
END_TEST

static const struct {
    const char *raw, *escaped;
} escapes[] = {
    {"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
    {"line\nbreak\x01\x7f", "line break\ufffd\ufffd"},
    {"\xff"
     "a\xc3",
     "\ufffda\ufffd"},
    {"\xc2\x85", "\ufffd"},
    {"x\u202ecod\u2069", "xcod"},
    {"Größe ≥ 2", "Größe ≥ 2"},
};

START_TEST(test_html_escapes)
{
    struct kvr_text text = {0};
    kvr_html_string(&text, escapes[_i].raw);
    ck_assert_str_eq(text.data, escapes[_i].escaped);
    kvr_text_free(&text);
}
END_TEST

START_TEST(test_drawings_that_act_stay_out)
{
    static const char *const drawings[] = {
        "<svg><script>x()</script></svg>",
        "<svg><a href=\"https://x\"/></svg>",
        "<svg><ForeignObject/></svg>",
        "no drawing",
    };
    struct kvr_paper_source source;
    struct kvr_report_layers layers = {.budget = NULL};
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_text text = {0};
    write_folder((const char *const[FILES]){NULL});
    read_source(&source);
    const struct kvr_report_figure figures[] = {
        {.name = "a", .title = "Bad", .svg = drawings[_i], .caption = ""},
        {.name = "b", .title = "Good", .svg = "<?xml?>\n<svg id=\"kept\"></svg>", .caption = "c"},
    };
    const struct kvr_report report = {.folder = "out",
                                      .paper = &source,
                                      .layers = &layers,
                                      .figures = figures,
                                      .figure_count = 2};
    ck_assert_int_eq(kvr_report_write(&report, &text, &err), KVR_OK);
    ck_assert_ptr_null(strstr(text.data, drawings[_i]));
    ck_assert_ptr_nonnull(strstr(text.data, "<div class=\"drawing\">\n<svg id=\"kept\">"));
    kvr_text_free(&text);
    kvr_paper_source_free(&source);
}
END_TEST

Suite *kvr_suite_paper_tables(void)
{
    Suite *suite = suite_create("paper_tables");
    TCase *tests = tcase_create("paper_tables");
    tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
    tcase_add_test(tests, test_means_are_over_groups);
    tcase_add_test(tests, test_future_is_pooled_within_prompts);
    tcase_add_test(tests, test_needles_are_shares_of_groups);
    tcase_add_test(tests, test_masquerade_is_a_ratio_of_means);
    tcase_add_test(tests, test_empty_tables_say_so);
    tcase_add_test(tests, test_a_trace_that_is_excluded_whole);
    tcase_add_test(tests, test_one_cell);
    tcase_add_test(tests, test_the_page_has_the_numbers_of_the_csv);
    tcase_add_test(tests, test_names_are_escaped_everywhere);
    tcase_add_loop_test(tests, test_html_escapes, 0, sizeof escapes / sizeof *escapes);
    tcase_add_loop_test(tests, test_drawings_that_act_stay_out, 0, 4);
    suite_add_tcase(suite, tests);
    return suite;
}
