/*
 * The JSON writer: layout, escapes, and what JSON cannot hold.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "formats/json.h"
#include "tests/suites.h"

static struct kvr_text text;
static struct kvr_json json;

static void setup(void)
{
    text = (struct kvr_text){0};
    json = (struct kvr_json){.text = &text};
}

static void teardown(void)
{
    kvr_text_free(&text);
}

START_TEST(test_containers_and_commas)
{
    kvr_json_object(&json, NULL);
    kvr_json_string(&json, "a", "b");
    kvr_json_object(&json, "empty");
    kvr_json_end(&json);
    kvr_json_array(&json, "items");
    kvr_json_unsigned(&json, NULL, UINT64_MAX);
    kvr_json_bool(&json, NULL, false);
    kvr_json_list(&json, NULL);
    kvr_json_unsigned(&json, NULL, 1);
    kvr_json_object(&json, NULL);
    kvr_json_null(&json, "n");
    kvr_json_bool(&json, "t", true);
    kvr_json_end(&json);
    kvr_json_end(&json);
    kvr_json_end(&json);
    kvr_json_array(&json, "none");
    kvr_json_end(&json);
    kvr_json_end(&json);
    ck_assert_str_eq(text.data, "{\n"
                                "  \"a\": \"b\",\n"
                                "  \"empty\": {},\n"
                                "  \"items\": [\n"
                                "    18446744073709551615,\n"
                                "    false,\n"
                                "    [1, {\"n\": null, \"t\": true}]\n"
                                "  ],\n"
                                "  \"none\": []\n"
                                "}\n");
}
END_TEST

START_TEST(test_numbers)
{
    kvr_json_list(&json, NULL);
    kvr_json_number(&json, NULL, 0.1);
    kvr_json_number(&json, NULL, 1.0 / 3);
    kvr_json_number(&json, NULL, -1e300);
    kvr_json_number(&json, NULL, NAN);
    kvr_json_number(&json, NULL, INFINITY);
    kvr_json_number(&json, NULL, -INFINITY);
    kvr_json_end(&json);
    ck_assert_str_eq(text.data, "[0.1, 0.3333333333333333, -1e+300, null, null, null]\n");
}
END_TEST

START_TEST(test_strings)
{
    static const struct {
        const char *value, *expected;
    } cases[] = {
        {NULL, "null"},
        {"", "\"\""},
        {"\"\\/", "\"\\\"\\\\/\""},
        {"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
        {"\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80\""},
        /* A lone byte, an overlong form, a surrogate, beyond U+10FFFF, a form that is cut. */
        {"a\xff"
         "b",
         "\"a\xef\xbf\xbd"
         "b\""},
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xe2\x80", "\"\xef\xbf\xbd\""},
        {"\xf0\x9f\x98"
         "a\"",
         "\"\xef\xbf\xbd"
         "a\\\"\""},
    };
    kvr_json_list(&json, NULL);
    size_t at = text.length;
    kvr_json_string(&json, NULL, cases[_i].value);
    ck_assert_str_eq(text.data + at, cases[_i].expected);
}
END_TEST

START_TEST(test_keys_are_escaped)
{
    kvr_json_object(&json, NULL);
    kvr_json_unsigned(&json, "a\"\n", 0);
    kvr_json_end(&json);
    ck_assert_str_eq(text.data, "{\n  \"a\\\"\\n\": 0\n}\n");
}
END_TEST

Suite *kvr_suite_json(void)
{
    Suite *suite = suite_create("json");
    TCase *tcase = tcase_create("writer");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, test_containers_and_commas);
    tcase_add_test(tcase, test_numbers);
    tcase_add_loop_test(tcase, test_strings, 0, 12);
    tcase_add_test(tcase, test_keys_are_escaped);
    suite_add_tcase(suite, tcase);
    return suite;
}
