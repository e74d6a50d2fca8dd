/*
 * The level of the processor, and what KVREPLAY_CPU may say.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cpu.h"
#include "tests/suites.h"

START_TEST(test_names_of_levels)
{
    for (int level = 0; level < KVR_CPU_LEVELS; level++) {
        struct kvr_error err = KVR_ERROR_NONE;
        const char *name = kvr_cpu_name((enum kvr_cpu)level);
        setenv("KVREPLAY_CPU", name, 1);
        bool there = kvr_cpu_supports((enum kvr_cpu)level);
        ck_assert_int_eq(kvr_cpu_check(&err), there ? KVR_OK : KVR_UNSUPPORTED);
        ck_assert(there || strstr(err.message, name) != NULL);
    }
    ck_assert(kvr_cpu_supports(KVR_CPU_SCALAR));
    ck_assert(!kvr_cpu_supports(KVR_CPU_LEVELS));
}
END_TEST

START_TEST(test_a_name_that_is_none)
{
    struct kvr_error err = KVR_ERROR_NONE;
    setenv("KVREPLAY_CPU", "sse9", 1);
    ck_assert_int_eq(kvr_cpu_check(&err), KVR_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "KVREPLAY_CPU: expected scalar, avx2 or avx512, found \"sse9\"");
    enum kvr_cpu level = kvr_cpu_level(); /* the highest, as if nothing was said */
    ck_assert(kvr_cpu_supports(level) && !kvr_cpu_supports(level + 1));
}
END_TEST

START_TEST(test_the_level_asked_for)
{
    setenv("KVREPLAY_CPU", "scalar", 1);
    ck_assert_int_eq(kvr_cpu_level(), KVR_CPU_SCALAR);
    setenv("KVREPLAY_CPU", "avx2", 1);
    ck_assert_int_eq(kvr_cpu_level(), KVR_CPU_SCALAR); /* asked once */
}
END_TEST

START_TEST(test_nothing_asked_for)
{
    setenv("KVREPLAY_CPU", "", 1);
    ck_assert_int_eq(kvr_cpu_check(NULL), KVR_OK);
    unsetenv("KVREPLAY_CPU");
    ck_assert_int_eq(kvr_cpu_check(NULL), KVR_OK);
    ck_assert(kvr_cpu_supports(kvr_cpu_level()));
}
END_TEST

Suite *kvr_suite_cpu(void)
{
    Suite *suite = suite_create("cpu");
    TCase *all = tcase_create("level");
    tcase_add_test(all, test_names_of_levels);
    tcase_add_test(all, test_a_name_that_is_none);
    tcase_add_test(all, test_the_level_asked_for);
    tcase_add_test(all, test_nothing_asked_for);
    suite_add_tcase(suite, all);
    return suite;
}
