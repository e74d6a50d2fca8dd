/*
 * The stages' lists: every entry that the help shows is one that the parsers take.
 */
#include <check.h>
#include <string.h>

#include "replay/policy.h"
#include "tests/suites.h"

/* Parses a policy whose stage `place` is the entry's example, the others plain. */
static void check_entries(const struct kvr_stage_entry *entries, int place)
{
    static const char *const patterns[] = {"x=last/mean/%s", "x=last/mean/none/%s",
                                           "x=last/mean/none/none/%s"};
    ck_assert_ptr_nonnull(entries[0].pattern);
    for (; entries->pattern != NULL; entries++) {
        char text[128];
        struct kvr_stages stages;
        struct kvr_error err = KVR_ERROR_NONE;
        const char *pattern = patterns[place];
        size_t head = strlen(pattern) - 2;
        memcpy(text, pattern, head);
        strcpy(text + head, entries->example);
        ck_assert_msg(kvr_stages_parse(text, &stages, &err) == KVR_OK, "%s: %s", text, err.message);
        kvr_stages_free(&stages);
        ck_assert_uint_gt(strlen(entries->summary), 0);
        /* The example is of the pattern: both begin alike, up to the parameter. */
        size_t same = strcspn(entries->pattern, ":");
        ck_assert_int_eq(strncmp(entries->pattern, entries->example, same), 0);
    }
}

START_TEST(test_every_example_parses)
{
    check_entries(kvr_smooth_entries, 0);
    check_entries(kvr_protect_entries, 1);
    check_entries(kvr_allocate_entries, 2);
}
END_TEST

Suite *kvr_suite_stage_entries(void)
{
    Suite *suite = suite_create("stage_entries");
    TCase *all = tcase_create("stage_entries");
    tcase_add_test(all, test_every_example_parses);
    suite_add_tcase(suite, all);
    return suite;
}
