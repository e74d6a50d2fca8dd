/*
 * Tables: fields and their quoting read back by a small CSV reader, files that appear together.
 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/base/random.h"
#include "formats/table.h"
#include "tests/scratch.h"
#include "tests/suites.h"

/* ------------------------------------------------------------------------- fields */

static void assert_row(struct kvr_text *row, const char *expected)
{
    ck_assert_int_eq(kvr_text_check(row, NULL), KVR_OK);
    ck_assert_str_eq(row->data, expected);
    kvr_text_free(row);
}

START_TEST(test_row)
{
    struct kvr_text row = {0};
    kvr_csv_string(&row, "run.h5");
    kvr_csv_string(&row, "0");
    kvr_csv_unsigned(&row, 0);
    kvr_csv_unsigned(&row, UINT64_MAX);
    kvr_csv_figure(&row, 1.0 / 3);
    kvr_csv_exact(&row, 1.0 / 3);
    kvr_csv_figure(&row, NAN);
    kvr_csv_exact(&row, NAN);
    kvr_csv_figure(&row, 20);
    kvr_csv_string(&row, "");
    kvr_csv_string(&row, "sink");
    kvr_csv_end(&row);
    kvr_csv_string(&row, "next"); /* a new line: no comma before it */
    kvr_csv_unsigned(&row, 7);
    kvr_csv_end(&row);
    assert_row(&row, "run.h5,0,0,18446744073709551615,0.333333333,0.3333333333333333,,,20,,sink\n"
                     "next,7\n");
}
END_TEST

static const struct {
    const char *field, *written;
} quoting[] = {
    {"plain", "plain"},
    {"with blank", "with blank"},
    {"semi;colon", "semi;colon"},
    {"a,b", "\"a,b\""},
    {",", "\",\""},
    {"\"", "\"\"\"\""},
    {"say \"no\"", "\"say \"\"no\"\"\""},
    {"two\nlines", "\"two\nlines\""},
    {"two\rlines", "\"two\rlines\""},
    {"ends\n", "\"ends\n\""},
    {"caf\xc3\xa9", "caf\xc3\xa9"},
    {"=1+1", "=1+1"},
};

START_TEST(test_quoting)
{
    struct kvr_text row = {0};
    char expected[64];
    kvr_csv_string(&row, quoting[_i].field);
    kvr_csv_string(&row, quoting[_i].field);
    kvr_csv_unsigned(&row, 1);
    snprintf(expected, sizeof expected, "%s,%s,1", quoting[_i].written, quoting[_i].written);
    assert_row(&row, expected);
}
END_TEST

/* An empty field at the start of a line must not swallow the comma behind it. */
START_TEST(test_empty_first_field)
{
    struct kvr_text row = {0};
    kvr_csv_string(&row, "");
    kvr_csv_string(&row, "b");
    kvr_csv_end(&row);
    kvr_csv_string(&row, "");
    kvr_csv_string(&row, "");
    kvr_csv_unsigned(&row, 3);
    kvr_csv_end(&row);
    assert_row(&row, "\"\",b\n\"\",,3\n");
}
END_TEST

/* Reads one field of RFC 4180 at *text into field; false at the end of the line. */
static bool next_field(const char **text, char *field)
{
    const char *at = *text;
    bool quoted = *at == '"';
    at += quoted;
    while (quoted ? *at != '"' || at[1] == '"' : *at != ',' && *at != '\n') {
        at += quoted && *at == '"';
        *field++ = *at++;
    }
    at += quoted;
    *field = '\0';
    bool more = *at == ',';
    ck_assert(more || *at == '\n');
    *text = at + 1;
    return more;
}

START_TEST(test_any_field_is_read_back)
{
    static const char letters[] = "ab,\"\n\r; 1";
    struct kvr_random random = kvr_random_stream(81, 0);
    for (int round = 0; round < 2000; round++) {
        char fields[4][12], found[12];
        struct kvr_text row = {0};
        for (int f = 0; f < 4; f++) {
            size_t length = kvr_random_below(&random, 10);
            for (size_t i = 0; i < length; i++)
                fields[f][i] = letters[kvr_random_below(&random, sizeof letters - 1)];
            fields[f][length] = '\0';
            kvr_csv_string(&row, fields[f]);
        }
        kvr_csv_end(&row);
        const char *at = row.data;
        for (int f = 0; f < 4; f++) {
            ck_assert(next_field(&at, found) == (f < 3));
            ck_assert_str_eq(found, fields[f]);
        }
        ck_assert_ptr_eq(at, row.data + row.length);
        kvr_text_free(&row);
    }
}
END_TEST

/* ------------------------------------------------------------------------- files */

static struct kvr_tables tables;

static void open_tables(const char *folder)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_tables_open(&tables, scratch_path(folder), &err) == KVR_OK, "%s",
                  err.message);
}

static struct kvr_outfile *add_table(const char *name, const char *header)
{
    struct kvr_outfile *file = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_tables_add(&tables, name, header, &file, &err) == KVR_OK, "%s", err.message);
    return file;
}

static void put(struct kvr_outfile *file, const char *text)
{
    ck_assert_int_eq(kvr_outfile_write(file, text, strlen(text), NULL), KVR_OK);
}

static void assert_content(const char *name, const char *expected)
{
    char *found = scratch_read(name, NULL);
    ck_assert_str_eq(found, expected);
    free(found);
}

START_TEST(test_tables_appear_at_the_commit)
{
    open_tables("new/folder");
    put(add_table("a.csv", "x,y"), "1,2\n");
    put(add_table("run.json", NULL), "{}\n");
    add_table("empty.csv", "z");
    ck_assert(!scratch_exists("new/folder/a.csv"));
    ck_assert_int_eq(kvr_tables_commit(&tables, NULL), KVR_OK);
    assert_content("new/folder/a.csv", "x,y\n1,2\n");
    assert_content("new/folder/run.json", "{}\n");
    assert_content("new/folder/empty.csv", "z\n");
    ck_assert(!scratch_exists("new/folder/a.csv.tmp"));
    ck_assert_ptr_null(tables.folder);
}
END_TEST

START_TEST(test_abandoned_tables_leave_the_old_ones)
{
    scratch_write("a.csv", "old", 3);
    open_tables(".");
    put(add_table("a.csv", "x"), "1\n");
    add_table("b.csv", "x");
    kvr_tables_abandon(&tables);
    assert_content("a.csv", "old");
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

/* The second of three finds the disk full, at the very end: none gets its name. */
START_TEST(test_full_disk_leaves_the_old_tables)
{
    static const char *const names[] = {"a.csv", "b.csv", "c.csv"};
    for (int i = 0; i < 3; i++)
        scratch_write(names[i], "old", 3);
    ck_assert_int_eq(symlink("/dev/full", scratch_path("b.csv.tmp")), 0);
    open_tables(".");
    for (int i = 0; i < 3; i++)
        put(add_table(names[i], "x"), "1\n");
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_tables_commit(&tables, &err), KVR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "b.csv\": cannot be written: No space left"));
    for (int i = 0; i < 3; i++)
        assert_content(names[i], "old");
    ck_assert_uint_eq(scratch_entries(), 3);
}
END_TEST

START_TEST(test_folder_that_cannot_be_made)
{
    scratch_write("file", "x", 1);
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_tables_open(&tables, scratch_path("file/folder"), &err), KVR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "folder cannot be made: Not a directory"));
    ck_assert_ptr_null(tables.folder);
    kvr_tables_abandon(&tables); /* nothing to do, and no harm */
}
END_TEST

START_TEST(test_table_that_cannot_be_started)
{
    ck_assert_int_eq(mkdir(scratch_path("b.csv"), 0777), 0);
    open_tables(".");
    add_table("a.csv", "x");
    struct kvr_outfile *file = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_tables_add(&tables, "b.csv", "x", &file, &err), KVR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "b.csv\": expected a file to write, found a folder"));
    kvr_tables_abandon(&tables);
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

START_TEST(test_too_many_tables)
{
    open_tables(".");
    for (unsigned i = 0; i < KVR_MOST_TABLES; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u.csv", i);
        add_table(name, "x");
    }
    struct kvr_outfile *file = NULL;
    ck_assert_int_eq(kvr_tables_add(&tables, "more.csv", "x", &file, NULL), KVR_INTERNAL);
    ck_assert_int_eq(kvr_tables_commit(&tables, NULL), KVR_OK);
    ck_assert_uint_eq(scratch_entries(), KVR_MOST_TABLES);
}
END_TEST

Suite *kvr_suite_table(void)
{
    Suite *suite = suite_create("table");
    TCase *fields = tcase_create("fields");
    tcase_add_test(fields, test_row);
    tcase_add_loop_test(fields, test_quoting, 0, (int)(sizeof quoting / sizeof *quoting));
    tcase_add_test(fields, test_empty_first_field);
    tcase_add_test(fields, test_any_field_is_read_back);
    suite_add_tcase(suite, fields);
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, scratch_setup, scratch_teardown);
    tcase_add_test(files, test_tables_appear_at_the_commit);
    tcase_add_test(files, test_abandoned_tables_leave_the_old_ones);
    tcase_add_test(files, test_full_disk_leaves_the_old_tables);
    tcase_add_test(files, test_folder_that_cannot_be_made);
    tcase_add_test(files, test_table_that_cannot_be_started);
    tcase_add_test(files, test_too_many_tables);
    suite_add_tcase(suite, files);
    return suite;
}
