/*
 * Names as numbers: the same name, the same number, however many there are.
 */
#include <check.h>
#include <stdio.h>

#include "formats/base/names.h"
#include "tests/suites.h"

static size_t index_of(struct kvr_names *names, const char *name)
{
    size_t index = 0;
    struct kvr_error err = KVR_ERROR_NONE;
    if (kvr_names_index(names, name, &index, &err) != KVR_OK)
        ck_abort_msg("%s", err.message);
    return index;
}

START_TEST(test_names_keep_their_number)
{
    enum { NAMES = 5000 };
    struct kvr_names names = {0};
    char name[32];
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < NAMES; i++) {
            snprintf(name, sizeof name, "%zu", i * 7919 % NAMES);
            if (index_of(&names, name) != i)
                ck_abort_msg("%s in round %d", name, round);
        }
    ck_assert_uint_eq(names.count, NAMES);
    ck_assert_str_eq(names.items[1], "2919");
    ck_assert_uint_eq(index_of(&names, ""), NAMES);
    kvr_names_free(&names);
    ck_assert_uint_eq(index_of(&names, "again"), 0);
    kvr_names_free(&names);
}
END_TEST

START_TEST(test_pairs_are_no_joined_names)
{
    struct kvr_names names = {0};
    size_t first, second, third, again;
    ck_assert_int_eq(kvr_names_pair(&names, "a/b", "c", &first, NULL), KVR_OK);
    ck_assert_int_eq(kvr_names_pair(&names, "a", "b/c", &second, NULL), KVR_OK);
    ck_assert_int_eq(kvr_names_pair(&names, "", "3 a/b/c", &third, NULL), KVR_OK);
    ck_assert_int_eq(kvr_names_pair(&names, "a/b", "c", &again, NULL), KVR_OK);
    ck_assert_uint_eq(first, again);
    ck_assert_uint_ne(first, second);
    ck_assert_uint_ne(first, third);
    kvr_names_free(&names);
}
END_TEST

Suite *kvr_suite_names(void)
{
    Suite *suite = suite_create("names");
    TCase *names = tcase_create("names");
    tcase_add_test(names, test_names_keep_their_number);
    tcase_add_test(names, test_pairs_are_no_joined_names);
    suite_add_tcase(suite, names);
    return suite;
}
