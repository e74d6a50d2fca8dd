/*
 * The reader of tables: what the writer wrote comes back, what it cannot have written is refused
 * with its place.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "formats/table.h"
#include "formats/table_reader.h"
#include "tests/scratch.h"
#include "tests/suites.h"

struct row {
    const char *name;
    uint64_t count;
    double number, figure;
};

static const struct kvr_field fields[] = {
    {KVR_FIELD(struct row, name, KVR_FIELD_STRING)},
    {KVR_FIELD(struct row, count, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct row, number, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct row, figure, KVR_FIELD_FIGURE)},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static struct kvr_table_reader *open_table(const char *bytes, size_t length)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_table_reader *reader = NULL;
    scratch_write("table.csv", bytes, length);
    ck_assert_msg(kvr_table_reader_open(scratch_path("table.csv"), fields, FIELDS, &reader, &err) ==
                      KVR_OK,
                  "%s", err.message);
    return reader;
}

static bool next(struct kvr_table_reader *reader, struct row *row)
{
    struct kvr_error err = KVR_ERROR_NONE;
    bool more = false;
    ck_assert_msg(kvr_table_reader_next(reader, row, &more, &err) == KVR_OK, "%s", err.message);
    return more;
}

START_TEST(test_columns_are_found_by_name)
{
    static const char table[] = "figure,other,count,name,number\n"
                                ",x,18446744073709551615,first,-1.5e-3\n"
                                "2.5,,0,,1\r\n"
                                "-inf,\"\",7,\"\",0\n";
    struct kvr_table_reader *reader = open_table(table, strlen(table));
    struct row row;
    ck_assert(next(reader, &row));
    ck_assert_uint_eq(kvr_table_reader_line(reader), 2);
    ck_assert_str_eq(row.name, "first");
    ck_assert_uint_eq(row.count, UINT64_MAX);
    ck_assert_double_eq(row.number, -1.5e-3);
    ck_assert(isnan(row.figure));
    ck_assert(next(reader, &row));
    ck_assert_str_eq(row.name, "");
    ck_assert_double_eq(row.figure, 2.5);
    ck_assert(next(reader, &row));
    ck_assert_uint_eq(kvr_table_reader_line(reader), 4);
    ck_assert(isinf(row.figure) && row.figure < 0);
    ck_assert(!next(reader, &row));
    ck_assert(!next(reader, &row)); /* the end stays the end */
    ck_assert_uint_eq(row.count, 7);
    kvr_table_reader_close(reader);
}
END_TEST

/* Spreadsheets put a mark in front of UTF-8, and may quote every field. */
START_TEST(test_byte_order_mark)
{
    static const char *const tables[] = {
        "\xef\xbb\xbfname,count,number,figure\r\nfirst,1,2,3\r\n",
        "\xef\xbb\xbf\"name\",\"count\",\"number\",\"figure\"\n\"first\",\"1\",\"2\",\"3\"\n",
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct kvr_table_reader *reader = open_table(tables[i], strlen(tables[i]));
        struct row row;
        ck_assert(next(reader, &row));
        ck_assert_str_eq(row.name, "first");
        ck_assert_double_eq(row.figure, 3);
        ck_assert(!next(reader, &row));
        kvr_table_reader_close(reader);
    }
}
END_TEST

START_TEST(test_a_table_without_rows)
{
    static const char table[] = "name,count,number,figure\n";
    struct kvr_table_reader *reader = open_table(table, strlen(table));
    struct row row;
    ck_assert(!next(reader, &row));
    kvr_table_reader_close(reader);
}
END_TEST

/* A name as strangers choose them: quotes, commas, line breaks, UTF-8. */
static void random_name(struct kvr_random *random, char *name, size_t size)
{
    static const char letters[] = "ab,\"\n\r\t '\xc3\xa9";
    size_t length = kvr_random_below(random, size);
    for (size_t i = 0; i < length; i++)
        name[i] = letters[kvr_random_below(random, sizeof letters - 1)];
    name[length] = '\0';
}

static double random_double(struct kvr_random *random)
{
    double scale = pow(10, (double)kvr_random_below(random, 40) - 20);
    return kvr_random_normal(random) * scale;
}

/* Many rows, so that they lie across the reader's blocks. */
START_TEST(test_what_was_written_comes_back)
{
    enum { ROWS = 20000 };
    char name[20];
    struct kvr_text text = {0};
    struct kvr_random random = kvr_random_stream(1, 1);
    kvr_text_string(&text, "name,count,number,figure\n");
    for (size_t i = 0; i < ROWS; i++) {
        random_name(&random, name, sizeof name);
        kvr_csv_string(&text, name);
        kvr_csv_unsigned(&text, kvr_random_bits(&random));
        kvr_csv_exact(&text, random_double(&random));
        kvr_csv_exact(&text, i % 3 == 0 ? NAN : random_double(&random));
        kvr_csv_end(&text);
    }
    struct kvr_table_reader *reader = open_table(text.data, text.length);
    kvr_text_free(&text);
    random = kvr_random_stream(1, 1);
    struct row row;
    for (size_t i = 0; i < ROWS; i++) {
        ck_assert(next(reader, &row));
        random_name(&random, name, sizeof name);
        ck_assert_str_eq(row.name, name);
        ck_assert_uint_eq(row.count, kvr_random_bits(&random));
        ck_assert_double_eq(row.number, random_double(&random));
        if (i % 3 == 0)
            ck_assert(isnan(row.figure));
        else
            ck_assert_double_eq(row.figure, random_double(&random));
    }
    ck_assert(!next(reader, &row));
    kvr_table_reader_close(reader);
}
END_TEST

#define HEADER "name,count,number,figure\n"

/* What follows the path in the message. */
static const struct {
    const char *table;
    const char *message;
} refused[] = {
    {"", "line 1: expected a header line, found an empty file"},
    {"name,count,number\n", "line 1: expected a column figure, found none"},
    {"name,count,number,figure,count\n", "line 1: two columns are called count"},
    {"name,count,number,figure", "line 1: expected a line break, found the end of the file"},
    {HEADER "a,1,2\n", "line 2: expected 4 fields, found 3"},
    {HEADER "a,1,2,3,\n", "line 2: expected 4 fields, found 5"},
    {HEADER "a,1,2,3\n\n", "line 3: expected 4 fields, found 1"},
    {HEADER "a,1,2,3", "line 2: expected a line break, found the end of the file"},
    {HEADER "a,1,2,", "line 2: expected a line break, found the end of the file"},
    {HEADER "\"a,1,2,3\n", "line 2: expected a closing quote, found the end of the file"},
    {HEADER "\"a\"b,1,2,3\n", "line 2: expected a comma after a closing quote"},
    {HEADER "a\"b\",1,2,3\n", "line 2: found a quote in a field that does not start with one"},
    {HEADER "a,1,2,3\r", "line 2: expected a line feed after a carriage return"},
    {HEADER "a\rb,1,2,3\n", "line 2: expected a line feed after a carriage return"},
    {HEADER "a,,2,3\n", "line 2, column count: expected a whole number, found \"\""},
    {HEADER "a,-1,2,3\n", "line 2, column count: expected a whole number, found \"-1\""},
    {HEADER "a,1.0,2,3\n", "line 2, column count: expected a whole number, found \"1.0\""},
    {HEADER "a,18446744073709551616,2,3\n",
     "line 2, column count: expected a whole number, found \"18446744073709551616\""},
    {HEADER "a,1,,3\n", "line 2, column number: expected a number, found \"\""},
    {HEADER "a,1,inf,3\n", "line 2, column number: expected a number, found \"inf\""},
    {HEADER "a,1,2 ,3\n", "line 2, column number: expected a number, found \"2 \""},
    {HEADER "a,1,0x1p3,3\n", "line 2, column number: expected a number, found \"0x1p3\""},
    {HEADER "a,1,2,nan\n", "line 2, column figure: expected a number or nothing, found \"nan\""},
    {HEADER "a,1,2,\"0,5\"\n",
     "line 2, column figure: expected a number or nothing, found \"0,5\""},
    {HEADER "\"x\ny\",1,2,3\nb,1,2,x\n",
     "line 4, column figure: expected a number or nothing, found \"x\""},
};

/* Reads to the first failure; its message must be that of the case. */
static void expect_refused(const char *bytes, size_t length, const char *message)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_table_reader *reader = NULL;
    struct row row;
    bool more = true;
    scratch_write("t.csv", bytes, length);
    const char *path = scratch_path("t.csv");
    enum kvr_status status = kvr_table_reader_open(path, fields, FIELDS, &reader, &err);
    while (status == KVR_OK && more)
        status = kvr_table_reader_next(reader, &row, &more, &err);
    ck_assert_int_eq(status, KVR_BAD_INPUT);
    char expected[600];
    snprintf(expected, sizeof expected, "\"%s\": %s", path, message);
    ck_assert_str_eq(err.message, expected);
    kvr_table_reader_close(reader);
}

START_TEST(test_bad_tables_are_refused_with_their_place)
{
    expect_refused(refused[_i].table, strlen(refused[_i].table), refused[_i].message);
}
END_TEST

START_TEST(test_bytes_that_are_no_text)
{
    static const char plain[] = HEADER "a\0b,1,2,3\n", quoted[] = HEADER "\"a\0b\",1,2,3\n";
    expect_refused(plain, sizeof plain - 1, "line 2: expected text, found a NUL byte");
    expect_refused(quoted, sizeof quoted - 1, "line 2: expected text, found a NUL byte");
}
END_TEST

START_TEST(test_memory_is_bounded)
{
    size_t length = 3 << 20;
    char *bytes = malloc(length);
    ck_assert_ptr_nonnull(bytes);
    memset(bytes, 'x', length);
    memcpy(bytes, HEADER, strlen(HEADER));
    expect_refused(bytes, length, "line 2: expected a row of at most 1 MiB");
    memset(bytes + strlen(HEADER), ',', length - strlen(HEADER));
    expect_refused(bytes, length, "line 2: expected at most 1024 fields");
    free(bytes);
}
END_TEST

START_TEST(test_files_that_are_not_there)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_table_reader *reader = NULL;
    ck_assert_int_eq(kvr_table_reader_open(scratch_path("none.csv"), fields, FIELDS, &reader, &err),
                     KVR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "none.csv\": cannot be opened: No such file"));
    ck_assert_int_eq(kvr_table_reader_open(scratch_path(""), fields, FIELDS, &reader, &err),
                     KVR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "cannot be read: Is a directory"));
    ck_assert_ptr_null(reader);
    kvr_table_reader_close(NULL);
}
END_TEST

struct total {
    struct row row;
    uint64_t sum;
};

static enum kvr_status add_row(void *state, const struct kvr_table_reader *reader,
                               struct kvr_error *err)
{
    struct total *total = state;
    total->sum += total->row.count;
    if (total->row.count > 100)
        return kvr_table_reader_fail(reader, "count", err, "expected at most 100, found %llu",
                                     (unsigned long long)total->row.count);
    return KVR_OK;
}

START_TEST(test_each_row_in_turn)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct total total = {.sum = 0};
    static const char table[] = HEADER "a,1,2,3\nb,2,2,3\nc,101,2,3\nd,5,2,3\n";
    scratch_write("t.csv", table, strlen(table));
    const char *folder = scratch_path("");
    ck_assert_int_eq(
        kvr_table_each(folder, "t.csv", fields, FIELDS, &total.row, add_row, &total, &err),
        KVR_BAD_INPUT);
    ck_assert_uint_eq(total.sum, 104);
    ck_assert_ptr_nonnull(
        strstr(err.message, "t.csv\": line 4, column count: expected at most 100, found 101"));
}
END_TEST

Suite *kvr_suite_table_reader(void)
{
    Suite *suite = suite_create("table_reader");
    TCase *reading = tcase_create("reading");
    tcase_add_checked_fixture(reading, scratch_setup, scratch_teardown);
    tcase_add_test(reading, test_columns_are_found_by_name);
    tcase_add_test(reading, test_byte_order_mark);
    tcase_add_test(reading, test_a_table_without_rows);
    tcase_add_test(reading, test_what_was_written_comes_back);
    tcase_add_test(reading, test_each_row_in_turn);
    suite_add_tcase(suite, reading);

    TCase *refusing = tcase_create("refusing");
    tcase_add_checked_fixture(refusing, scratch_setup, scratch_teardown);
    tcase_add_loop_test(refusing, test_bad_tables_are_refused_with_their_place, 0,
                        (int)(sizeof refused / sizeof *refused));
    tcase_add_test(refusing, test_bytes_that_are_no_text);
    tcase_add_test(refusing, test_memory_is_bounded);
    tcase_add_test(refusing, test_files_that_are_not_there);
    suite_add_tcase(suite, refusing);
    return suite;
}
