/*
 * Runs the Check suites: all of them, or those named on the command line. Each test runs in a
 * process of its own, so that a crash fails one test and the rest go on (CK_FORK=no for gdb).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suites.h"

static const struct {
    const char *name;
    Suite *(*create)(void);
} suites[] = {
#define X(suite) {#suite, kvr_suite_##suite},
    KVR_EACH_SUITE
#undef X
    {NULL, NULL},
};

static int is_asked(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc < 2;
}

int main(int argc, char **argv)
{
    /* Sanitized builds on a busy machine are slow; a test that hangs still ends. Test cases read it
       when they are created. */
    setenv("CK_DEFAULT_TIMEOUT", "120", 0);
    SRunner *runner = srunner_create(NULL);
    size_t added = 0;
    for (size_t i = 0; suites[i].name != NULL; i++) {
        if (!is_asked(suites[i].name, argc, argv))
            continue;
        srunner_add_suite(runner, suites[i].create());
        added++;
    }
    if (added == 0) {
        fprintf(stderr, "no such suite; there are:");
        for (size_t i = 0; suites[i].name != NULL; i++)
            fprintf(stderr, " %s", suites[i].name);
        fputc('\n', stderr);
        srunner_free(runner);
        return EXIT_FAILURE;
    }
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
