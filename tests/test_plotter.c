/*
 * Drawing: gnuplot that is missing, old, crippled or failing, what its pictures hold, what is left
 * behind. Stand-ins for gnuplot are shell scripts at the front of PATH.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/outfile.h"
#include "formats/base/text.h"
#include "plots/gnuplot.h"
#include "plots/shown_row.h"
#include "plots/svg_polish.h"
#include "tests/plot_fixture.h"
#include "tests/scratch.h"
#include "tests/suites.h"

static const char some_bounds[] = "a.h5,0,0,0,last,1,0.1,3,20,2.5,0.25,0.3,1,1,1,1,1,1,1\n"
                                  "a.h5,0,0,1,last,1,0.1,3,20,1.5,0.75,0.9,1,1,1,1,1,1,1\n";

/* Puts a script called gnuplot into a folder, and that folder at the front of PATH. */
static void put_gnuplot(const char *script)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_text path = {0};
    ck_assert_int_eq(kvr_make_folder(scratch_path("bin"), &err), KVR_OK);
    scratch_write("bin/gnuplot", script, strlen(script));
    ck_assert_int_eq(chmod(scratch_path("bin/gnuplot"), 0755), 0);
    kvr_text_add(&path, "%s:%s", scratch_path("bin"), getenv("PATH"));
    setenv("PATH", path.data, 1);
    kvr_text_free(&path);
}

/* Opens a plotter on the scratch folder for one format; NULL with *err filled. */
static struct kvr_plotter *open_plotter(enum kvr_picture_format format, struct kvr_error *err)
{
    struct kvr_plot_options options = {.folder = scratch_path("")};
    struct kvr_plotter *plotter = NULL;
    *err = KVR_ERROR_NONE;
    options.formats[format] = true;
    plot_table("bounds.csv", bounds_header, some_bounds);
    return kvr_plotter_open(&options, &plotter, err) == KVR_OK ? plotter : NULL;
}

/* Drawings are made below TMPDIR: in a folder of its own that can be looked into. */
static void set_work_folder(void)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_make_folder(scratch_path("work"), &err), KVR_OK);
    setenv("TMPDIR", scratch_path("work"), 1);
}

static void check_work_is_gone(void)
{
    ck_assert_int_eq(remove(scratch_path("work")), 0); /* only an empty folder can be removed */
}

/* ------------------------------------------------------------------------------ which gnuplot */

START_TEST(test_no_gnuplot)
{
    struct kvr_error err;
    setenv("PATH", scratch_path("nowhere"), 1);
    ck_assert_ptr_null(open_plotter(KVR_PICTURE_SVG, &err));
    ck_assert_int_eq(err.status, KVR_IO);
    ck_assert_str_eq(err.message, "gnuplot was not found along PATH");
    ck_assert_ptr_nonnull(strstr(err.hint, "apt-get install gnuplot-nox"));
}
END_TEST

START_TEST(test_an_old_gnuplot)
{
    struct kvr_error err;
    put_gnuplot("#!/bin/sh\necho 'version 4.6  svg dumb ' >&2\n");
    ck_assert_ptr_null(open_plotter(KVR_PICTURE_SVG, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "expected gnuplot 5.2 or newer, found 4.6"));
}
END_TEST

START_TEST(test_something_else_that_is_called_gnuplot)
{
    struct kvr_error err;
    put_gnuplot("#!/bin/sh\necho hello\n");
    ck_assert_ptr_null(open_plotter(KVR_PICTURE_SVG, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "found something else"));
    put_gnuplot("#!/bin/sh\necho 'line 0: no licence' >&2; exit 3\n");
    ck_assert_ptr_null(open_plotter(KVR_PICTURE_SVG, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "failed: line 0: no licence"));
}
END_TEST

/* A terminal that is missing gives way to svg with a note; names that only begin alike don't count.
 */
START_TEST(test_missing_terminals)
{
    struct kvr_error err;
    put_gnuplot("#!/bin/sh\necho 'version 5.4  svg dumb pdfcairox png ' >&2\n");
    struct kvr_plotter *plotter = open_plotter(KVR_PICTURE_PDF, &err);
    ck_assert_ptr_nonnull(plotter);
    ck_assert_str_eq(kvr_plotter_notes(plotter),
                     "pdf: this gnuplot has no pdfcairo terminal, svg takes its place\n");
    kvr_plotter_close(plotter);
    plotter = open_plotter(KVR_PICTURE_PNG, &err);
    ck_assert_str_eq(kvr_plotter_notes(plotter), ""); /* png does what pngcairo does */
    kvr_plotter_close(plotter);
    put_gnuplot("#!/bin/sh\necho 'version 5.4  canvas ' >&2\n");
    ck_assert_ptr_null(open_plotter(KVR_PICTURE_PDF, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "has no terminal for what was asked for"));
}
END_TEST

START_TEST(test_the_locale_of_gnuplot)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_gnuplot gnuplot;
    struct kvr_text seen = {0};
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("LANG", "de_DE.UTF-8", 1);
    setenv("GNUTERM", "qt", 1);
    put_gnuplot("#!/bin/sh\necho 'version 5.4  svg ' >&2\nenv\n");
    ck_assert_int_eq(kvr_gnuplot_find(&gnuplot, &err), KVR_OK);
    ck_assert_int_eq(kvr_gnuplot_run(&gnuplot, NULL, "", NULL, &seen, &err), KVR_OK);
    ck_assert_ptr_nonnull(strstr(seen.data, "LC_NUMERIC=C\n"));
    ck_assert_ptr_null(strstr(seen.data, "de_DE"));
    ck_assert_ptr_null(strstr(seen.data, "GNUTERM"));
    ck_assert_ptr_nonnull(strstr(seen.data, "PATH="));
    kvr_text_free(&seen);
    kvr_gnuplot_free(&gnuplot);
}
END_TEST

/* ------------------------------------------------------------------------------ drawing */

/* What gnuplot leaves when it finds nothing to draw: a file of 0 bytes and status 1. */
START_TEST(test_a_gnuplot_that_fails)
{
    struct kvr_error err;
    struct kvr_drawing drawing;
    set_work_folder();
    put_gnuplot("#!/bin/sh\ncase $3 in print*) echo 'version 5.4  svg ' >&2; exit 0;; esac\n"
                ": >uor-disagreement.svg\n"
                "echo '         line 7: warning: Skipping data file with no valid points' >&2\n"
                "echo '\"uor-disagreement.gp\" line 9: all points y value undefined!' >&2\n"
                "exit 1\n");
    struct kvr_plotter *plotter = open_plotter(KVR_PICTURE_SVG, &err);
    ck_assert_ptr_nonnull(plotter);
    ck_assert_int_eq(kvr_plotter_draw(plotter, kvr_find_figure("uor-disagreement"), &drawing, &err),
                     KVR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "uor-disagreement: "));
    ck_assert_ptr_nonnull(strstr(err.message, "line 9: all points y value undefined!"));
    kvr_drawing_free(&drawing);
    kvr_plotter_close(plotter);
    check_work_is_gone();
}
END_TEST

START_TEST(test_a_gnuplot_that_leaves_nothing)
{
    struct kvr_error err;
    struct kvr_drawing drawing;
    set_work_folder();
    put_gnuplot("#!/bin/sh\ncase $3 in print*) echo 'version 5.4  svg ' >&2; exit 0;; esac\n"
                ": >uor-disagreement.svg\n");
    struct kvr_plotter *plotter = open_plotter(KVR_PICTURE_SVG, &err);
    ck_assert_int_eq(kvr_plotter_draw(plotter, kvr_find_figure("uor-disagreement"), &drawing, &err),
                     KVR_IO);
    ck_assert_str_eq(err.message, "uor-disagreement: gnuplot left uor-disagreement.svg empty");
    kvr_drawing_free(&drawing);
    kvr_plotter_close(plotter);
    check_work_is_gone();
}
END_TEST

START_TEST(test_a_missing_table_is_told)
{
    struct kvr_error err;
    struct kvr_drawing drawing;
    struct kvr_plotter *plotter = open_plotter(KVR_PICTURE_SVG, &err);
    ck_assert_msg(plotter != NULL, "%s", err.message);
    ck_assert_int_eq(kvr_plotter_draw(plotter, kvr_find_figure("uor-curves"), &drawing, &err),
                     KVR_OK);
    ck_assert_str_eq(drawing.reason,
                     "curves.csv is missing: kvreplay replay TRACE --curve log -o DIR writes it");
    ck_assert_uint_eq(drawing.file_count, 0);
    kvr_drawing_free(&drawing);
    kvr_plotter_close(plotter);
}
END_TEST

/* Every format of one figure, begun with what its files begin with. */
START_TEST(test_pictures_of_every_format)
{
    static const struct {
        enum kvr_picture_format format;
        const char *suffix, *begins;
    } formats[] = {
        {KVR_PICTURE_SVG, ".svg", "<?xml"},          {KVR_PICTURE_PDF, ".pdf", "%PDF-"},
        {KVR_PICTURE_PNG, ".png", "\x89PNG"},        {KVR_PICTURE_TEX, "-tex.tex", "% GNUPLOT"},
        {KVR_PICTURE_TEX, "-tex.pdf", "%PDF-"},      {KVR_PICTURE_TEXT, ".text", "     "},
        {KVR_PICTURE_SVG, ".dat", "# scorer last"},  {KVR_PICTURE_SVG, ".gp", "# Union overhead"},
        {KVR_PICTURE_SVG, ".txt", "Union overhead"},
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct kvr_error err;
        struct kvr_drawing drawing;
        struct kvr_plotter *plotter = open_plotter(formats[i].format, &err);
        ck_assert_msg(plotter != NULL, "%s", err.message);
        ck_assert_str_eq(kvr_plotter_notes(plotter), "");
        ck_assert_msg(kvr_plotter_draw(plotter, kvr_find_figure("uor-disagreement"), &drawing,
                                       &err) == KVR_OK,
                      "%s", err.message);
        ck_assert_str_eq(drawing.remarks, "");
        const struct kvr_drawing_file *file = kvr_drawing_find(&drawing, formats[i].suffix);
        ck_assert_msg(file != NULL, "no %s", formats[i].suffix);
        ck_assert_msg(strncmp(file->bytes, formats[i].begins, strlen(formats[i].begins)) == 0,
                      "%s begins with %.20s", formats[i].suffix, file->bytes);
        kvr_drawing_free(&drawing);
        kvr_plotter_close(plotter);
    }
}
END_TEST

/* The script that is saved beside the data draws the same picture. */
START_TEST(test_the_saved_script_draws)
{
    struct kvr_error err;
    struct kvr_drawing drawing;
    struct kvr_gnuplot gnuplot;
    struct kvr_text messages = {0};
    struct kvr_plotter *plotter = open_plotter(KVR_PICTURE_TEXT, &err);
    ck_assert_msg(plotter != NULL, "%s", err.message);
    ck_assert_int_eq(kvr_plotter_draw(plotter, kvr_find_figure("uor-disagreement"), &drawing, &err),
                     KVR_OK);
    ck_assert_int_eq(kvr_make_folder(scratch_path("figs"), &err), KVR_OK);
    ck_assert_int_eq(kvr_drawing_save(&drawing, scratch_path("figs"), &err), KVR_OK);
    ck_assert(!scratch_exists("figs/uor-disagreement.svg"));
    ck_assert_int_eq(kvr_gnuplot_find(&gnuplot, &err), KVR_OK);
    ck_assert_msg(kvr_gnuplot_run(&gnuplot, scratch_path("figs"), "", "uor-disagreement.gp",
                                  &messages, &err) == KVR_OK,
                  "%s", err.message);
    ck_assert(scratch_exists("figs/uor-disagreement.svg"));
    kvr_text_free(&messages);
    kvr_gnuplot_free(&gnuplot);
    kvr_drawing_free(&drawing);
    kvr_plotter_close(plotter);
}
END_TEST

START_TEST(test_no_place_to_draw)
{
    struct kvr_error err;
    struct kvr_drawing drawing;
    struct kvr_plotter *plotter = open_plotter(KVR_PICTURE_SVG, &err);
    setenv("TMPDIR", scratch_path("nowhere"), 1);
    ck_assert_int_eq(kvr_plotter_draw(plotter, kvr_find_figure("uor-disagreement"), &drawing, &err),
                     KVR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "a folder for drawing cannot be made"));
    ck_assert_ptr_nonnull(strstr(err.hint, "TMPDIR"));
    kvr_drawing_free(&drawing);
    kvr_plotter_close(plotter);
}
END_TEST

/* ------------------------------------------------------------------------------ SVG */

START_TEST(test_svg_for_a_page)
{
    struct kvr_text out = {0};
    kvr_svg_polish("<svg><title>Gnuplot</title><g id=\"x\" color=\"black\" fill=\"black\">"
                   "<use xlink:href='#p'/><path stroke='black' d='M0,1'/>"
                   "<path stroke='rgb(  0,   0,   0)'/></g></svg>",
                   "fig", "a < b & c", &out);
    ck_assert_str_eq(out.data, "<svg><title>a &lt; b &amp; c</title><g id=\"fig-x\" "
                               "fill=\"currentColor\"><use xlink:href='#fig-p'/>"
                               "<path stroke='currentColor' d='M0,1'/>"
                               "<path stroke='currentColor'/></g></svg>");
    kvr_text_clear(&out);
    kvr_svg_polish("<title>cut", "fig", "t", &out);
    ck_assert_ptr_nonnull(strstr(out.data, "cut"));
    kvr_text_free(&out);
}
END_TEST

/* ------------------------------------------------------------------------------ rows */

/* Six candidates from position 10 on: the needle is 12 and 13, the sink 10. */
START_TEST(test_a_row_as_text)
{
    float values[] = {0.5f, 0.125f, 0.25f, 0, 0.0625f, 0.0625f};
    unsigned char kept[] = {1, 0, 1, 1, 0, 0};
    int32_t tokens[16] = {[10] = 7, [12] = 42};
    char label[] = "mean";
    struct kvr_shown_policy policy = {.label = label, .kept_tokens = 3, .mass = 0.75, .kept = kept};
    const struct kvr_shown_span needle = {12, 14};
    const struct kvr_shown_row row = {.trace = "a.h5",
                                      .sample = "0",
                                      .scorer = "last",
                                      .budget = "0.5",
                                      .layer = 3,
                                      .group = 1,
                                      .head = 5,
                                      .page_size = 1,
                                      .quota = 3,
                                      .first = 10,
                                      .count = 6,
                                      .sinks = 1,
                                      .row = values,
                                      .tokens = tokens,
                                      .needle_count = 1,
                                      .needles = &needle,
                                      .policy_count = 1,
                                      .policies = &policy};
    struct kvr_text text = {0};
    kvr_shown_row_text(&row, 60, 3, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "layer 3, group 1, query head 5\n"));
    ck_assert_ptr_nonnull(strstr(text.data, "     1e-01 :..   \n"));
    ck_assert_ptr_nonnull(strstr(text.data, "     1e-02 ||| ||\n"));
    ck_assert_ptr_nonnull(strstr(text.data, "           s NN  "));
    ck_assert_ptr_nonnull(strstr(text.data, "  a mean   # ##          3  75.0%\n"));
    ck_assert_ptr_nonnull(strstr(text.data, "          12       42       0.25  a  needle\n"
                                            "          11        0      0.125  -\n"));
    ck_assert_ptr_null(strstr(text.data, "0.0625"));
    kvr_text_free(&text);
}
END_TEST

Suite *kvr_suite_plotter(void)
{
    Suite *suite = suite_create("plotter");
    TCase *which = tcase_create("which gnuplot"), *drawing = tcase_create("drawing");
    tcase_add_checked_fixture(which, scratch_setup, scratch_teardown);
    tcase_add_checked_fixture(drawing, scratch_setup, scratch_teardown);
    tcase_add_test(which, test_no_gnuplot);
    tcase_add_test(which, test_an_old_gnuplot);
    tcase_add_test(which, test_something_else_that_is_called_gnuplot);
    tcase_add_test(which, test_missing_terminals);
    tcase_add_test(which, test_the_locale_of_gnuplot);
    tcase_add_test(drawing, test_a_gnuplot_that_fails);
    tcase_add_test(drawing, test_a_gnuplot_that_leaves_nothing);
    tcase_add_test(drawing, test_a_missing_table_is_told);
    tcase_add_test(drawing, test_pictures_of_every_format);
    tcase_add_test(drawing, test_the_saved_script_draws);
    tcase_add_test(drawing, test_no_place_to_draw);
    tcase_add_test(drawing, test_svg_for_a_page);
    tcase_add_test(drawing, test_a_row_as_text);
    suite_add_tcase(suite, which);
    suite_add_tcase(suite, drawing);
    return suite;
}
