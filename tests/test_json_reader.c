/*
 * The reader of JSON: what the writer writes, what the standard allows, and what it forbids.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "formats/json.h"
#include "formats/json_reader.h"
#include "tests/scratch.h"
#include "tests/suites.h"

static struct kvr_json_document parse(const char *text)
{
    struct kvr_json_document document;
    struct kvr_error err = KVR_ERROR_NONE;
    if (kvr_json_parse(text, strlen(text), &document, &err) != KVR_OK)
        ck_abort_msg("%s: %s", text, err.message);
    return document;
}

START_TEST(test_what_was_written_comes_back)
{
    struct kvr_text text = {0};
    struct kvr_json writer = {.text = &text}, *json = &writer;
    kvr_json_object(json, NULL);
    kvr_json_string(json, "name", "a \"b\"\n\t\\ \x01 \xc3\xa9");
    kvr_json_number(json, "tau", 0.1);
    kvr_json_unsigned(json, "size", UINT64_MAX);
    kvr_json_bool(json, "yes", true);
    kvr_json_null(json, "nothing");
    kvr_json_list(json, "list");
    for (unsigned i = 0; i < 3; i++)
        kvr_json_unsigned(json, NULL, i);
    kvr_json_end(json);
    kvr_json_object(json, "empty");
    kvr_json_end(json);
    kvr_json_end(json);

    struct kvr_json_document document = parse(text.data);
    const struct kvr_json_value *root = document.root;
    ck_assert_int_eq(root->kind, KVR_JSON_OBJECT);
    ck_assert_uint_eq(root->count, 7);
    ck_assert_str_eq(kvr_json_member_string(root, "name"), "a \"b\"\n\t\\ \x01 \xc3\xa9");
    ck_assert_double_eq(kvr_json_member(root, "tau")->number, 0.1);
    ck_assert_str_eq(kvr_json_member(root, "size")->text, "18446744073709551615");
    ck_assert(kvr_json_member(root, "yes")->truth);
    ck_assert_int_eq(kvr_json_member(root, "nothing")->kind, KVR_JSON_NULL);
    const struct kvr_json_value *list = kvr_json_member(root, "list");
    ck_assert_uint_eq(list->count, 3);
    ck_assert_double_eq(list->first->next->next->number, 2);
    ck_assert_ptr_null(list->first->next->next->next);
    ck_assert_uint_eq(kvr_json_member(root, "empty")->count, 0);
    ck_assert_ptr_null(kvr_json_member(root, "none"));
    ck_assert_ptr_null(kvr_json_member(list, "none"));
    ck_assert_ptr_null(kvr_json_member_string(root, "tau"));
    ck_assert_ptr_null(kvr_json_member(NULL, "none"));
    kvr_json_free(&document);
    kvr_text_free(&text);
}
END_TEST

START_TEST(test_escapes_and_numbers)
{
    static const struct {
        const char *json, *text;
    } strings[] = {
        {"\"\\u0041\\u00e9\\u20ac\\ud83d\\ude42\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {" \"\xf0\x9f\x99\x82\" ", "\xf0\x9f\x99\x82"},
        {"\"\"", ""},
    };
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        struct kvr_json_document document = parse(strings[i].json);
        ck_assert_str_eq(document.root->text, strings[i].text);
        kvr_json_free(&document);
    }
    static const struct {
        const char *json;
        double number;
    } numbers[] = {{"0", 0}, {"-0.5e+2", -50}, {"1E-2", 0.01}, {"123456789", 123456789}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct kvr_json_document document = parse(numbers[i].json);
        ck_assert_double_eq(document.root->number, numbers[i].number);
        kvr_json_free(&document);
    }
    struct kvr_json_document huge = parse("1e999");
    ck_assert(isinf(huge.root->number));
    kvr_json_free(&huge);
}
END_TEST

static const char *const refused[] = {
    "",
    "nul",
    "[1,]",
    "[1 2]",
    "[1",
    "{\"a\":1,}",
    "{\"a\" 1}",
    "{a:1}",
    "{\"a\":1,\"a\":2}",
    "{\"a\":1]",
    "1 2",
    "01",
    "-",
    "1.",
    ".5",
    "1e",
    "+1",
    "0x1",
    "NaN",
    "'a'",
    "\"a",
    "\"a\\\"",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\ud800\\u0041\"",
    "\"\\udc00\"",
    "\"a\nb\"",
    "\"\xc3\"",
    "\"\xc0\x80\"",
    "\"\xed\xa0\x80\"",
    "\"\xf5\x80\x80\x80\"",
    "\xef\xbb\xbf{}",
    "[1] // text",
};

START_TEST(test_what_the_standard_forbids)
{
    struct kvr_json_document document;
    struct kvr_error err = KVR_ERROR_NONE;
    const char *text = refused[_i];
    ck_assert_int_eq(kvr_json_parse(text, strlen(text), &document, &err), KVR_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "line "));
    ck_assert_ptr_null(document.root);
    kvr_json_free(&document);
}
END_TEST

START_TEST(test_depth_is_limited)
{
    char text[200];
    struct kvr_json_document document;
    struct kvr_error err = KVR_ERROR_NONE;
    memset(text, '[', 100);
    memset(text + 100, ']', 100);
    ck_assert_int_eq(kvr_json_parse(text + 36, 128, &document, &err), KVR_OK);
    kvr_json_free(&document);
    ck_assert_int_eq(kvr_json_parse(text + 35, 130, &document, &err), KVR_BAD_INPUT);
    ck_assert_str_eq(err.message, "line 1: expected at most 64 levels, found \"]]]]]]]]]]]]\"");
}
END_TEST

/* Damaged texts are refused or read, and never read beyond. */
START_TEST(test_damaged_texts)
{
    static const char sound[] =
        "{\"a\": [1, 2.5e3, -0, \"x\\u00e9\\\"\"], \"b\": {\"c\": null, \"d\": true}}";
    struct kvr_random random = kvr_random_stream(4, 20);
    for (int n = 0; n < 20000; n++) {
        size_t length = kvr_random_below(&random, sizeof sound);
        char *text = malloc(length + 1); /* exact, so that a sanitizer sees a byte too far */
        ck_assert(text != NULL);
        memcpy(text, sound, length);
        for (size_t i = 0; i < 2 && length > 0; i++)
            text[kvr_random_below(&random, length)] = (char)kvr_random_bits(&random);
        struct kvr_json_document document;
        if (kvr_json_parse(text, length, &document, NULL) == KVR_OK)
            kvr_json_free(&document);
        free(text);
    }
}
END_TEST

START_TEST(test_files)
{
    struct kvr_json_document document;
    struct kvr_error err = KVR_ERROR_NONE;
    scratch_write("a.json", "{\n\"a\": x}\n", 10);
    ck_assert_int_eq(kvr_json_read(scratch_path("a.json"), 100, &document, &err), KVR_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "a.json\": line 2: expected a value, found \"x}\""));
    scratch_write("a.json", "{\"a\": 1}\n", 9);
    ck_assert_int_eq(kvr_json_read(scratch_path("a.json"), 9, &document, &err), KVR_OK);
    kvr_json_free(&document);
    ck_assert_int_eq(kvr_json_read(scratch_path("a.json"), 8, &document, &err), KVR_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "a.json\": expected at most 8 bytes"));
    ck_assert_int_eq(kvr_json_read(scratch_path("none"), 8, &document, &err), KVR_IO);
    ck_assert_int_eq(kvr_json_read(scratch_path(""), 8, &document, &err), KVR_IO);
}
END_TEST

Suite *kvr_suite_json_reader(void)
{
    Suite *suite = suite_create("json_reader");
    TCase *reading = tcase_create("reading");
    tcase_add_test(reading, test_what_was_written_comes_back);
    tcase_add_test(reading, test_escapes_and_numbers);
    tcase_add_loop_test(reading, test_what_the_standard_forbids, 0,
                        (int)(sizeof refused / sizeof *refused));
    tcase_add_test(reading, test_depth_is_limited);
    tcase_add_test(reading, test_damaged_texts);
    suite_add_tcase(suite, reading);

    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, scratch_setup, scratch_teardown);
    tcase_add_test(files, test_files);
    suite_add_tcase(suite, files);
    return suite;
}
