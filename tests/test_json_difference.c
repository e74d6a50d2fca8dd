/*
 * The first difference of two JSON values.
 */
#include <check.h>
#include <string.h>

#include "formats/json_difference.h"
#include "tests/suites.h"

static const struct {
    const char *expected, *found, *place, *said_expected,
        *said_found; /* place NULL: no difference */
} cases[] = {
    {"{}", "{}", NULL, NULL, NULL},
    {"{\"a\": 1, \"b\": [1, 2]}", "{\"a\":1,\"b\":[1,2]}", NULL, NULL, NULL},
    {"{\"a\": 1}", "{\"a\": 2}", "/a", "1", "2"},
    {"{\"a\": 1}", "{\"a\": 1.0}", "/a", "1", "1.0"},
    {"{\"a\": {\"b\": \"x\"}}", "{\"a\": {\"b\": \"y\"}}", "/a/b", "x", "y"},
    {"{\"a\": [\"x\", \"y\"]}", "{\"a\": [\"x\"]}", "/a", "the list x,y", "the list x"},
    {"{\"a\": [{\"b\": 1}, {\"b\": 2}]}", "{\"a\": [{\"b\": 1}, {\"b\": 3}]}", "/a/1/b", "2", "3"},
    {"{\"a\": [{}, {}]}", "{\"a\": [{}]}", "/a/1", "an object", "nothing"},
    {"{\"a\": null}", "{\"a\": false}", "/a", "null", "false"},
    {"{\"a\": true}", "{\"a\": true}", NULL, NULL, NULL},
    {"{\"a\": true}", "{\"a\": false}", "/a", "true", "false"},
    {"{\"a\": 1}", "{\"a\": \"1\"}", "/a", "1", "1"},
    {"{\"a\": 1}", "{}", "/a", "1", "nothing"},
    {"{}", "{\"a\": 1}", "/a", "nothing", "1"},
    {"{\"a\": 1}", "{\"b\": 1}", "/a", "1", "nothing"},
    {"{\"path\": 1, \"a\": 1}", "{\"a\": 1, \"path\": 2}", NULL, NULL, NULL},
    {"{\"a\": {\"path\": 1}}", "{\"a\": {}}", NULL, NULL, NULL},
    {"[1]", "{}", "", "the list 1", "an object"},
};

START_TEST(test_cases)
{
    struct kvr_json_document expected, found;
    struct kvr_json_difference difference;
    const char *a = cases[_i].expected, *b = cases[_i].found;
    ck_assert_int_eq(kvr_json_parse(a, strlen(a), &expected, NULL), KVR_OK);
    ck_assert_int_eq(kvr_json_parse(b, strlen(b), &found, NULL), KVR_OK);
    bool differ = kvr_json_differ(expected.root, found.root, "path", &difference);
    ck_assert_int_eq(differ, cases[_i].place != NULL);
    if (differ) {
        ck_assert_str_eq(difference.place, cases[_i].place);
        ck_assert_str_eq(difference.expected, cases[_i].said_expected);
        ck_assert_str_eq(difference.found, cases[_i].said_found);
    }
    kvr_json_free(&expected);
    kvr_json_free(&found);
}
END_TEST

START_TEST(test_values_that_are_not_there)
{
    struct kvr_json_document one;
    struct kvr_json_difference difference;
    ck_assert_int_eq(kvr_json_parse("1", 1, &one, NULL), KVR_OK);
    ck_assert(kvr_json_differ(NULL, one.root, NULL, &difference));
    ck_assert_str_eq(difference.expected, "nothing");
    ck_assert(!kvr_json_differ(NULL, NULL, NULL, &difference));
    kvr_json_free(&one);
}
END_TEST

/* What does not fit is cut, and never written past its room. */
START_TEST(test_long_names)
{
    char text[2000] = "{\"";
    memset(text + 2, 'k', 600);
    strcpy(text + 602, "\": \"");
    memset(text + 606, 'v', 600);
    strcpy(text + 1206, "\"}");
    struct kvr_json_document one, none;
    struct kvr_json_difference difference;
    ck_assert_int_eq(kvr_json_parse(text, strlen(text), &one, NULL), KVR_OK);
    ck_assert_int_eq(kvr_json_parse("{}", 2, &none, NULL), KVR_OK);
    ck_assert(kvr_json_differ(one.root, none.root, NULL, &difference));
    ck_assert_uint_eq(strlen(difference.place), sizeof difference.place - 1);
    ck_assert_uint_eq(strlen(difference.expected), sizeof difference.expected - 1);
    kvr_json_free(&one);
    kvr_json_free(&none);
}
END_TEST

Suite *kvr_suite_json_difference(void)
{
    Suite *suite = suite_create("json_difference");
    TCase *tcase = tcase_create("differences");
    tcase_add_loop_test(tcase, test_cases, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tcase, test_values_that_are_not_there);
    tcase_add_test(tcase, test_long_names);
    suite_add_tcase(suite, tcase);
    return suite;
}
