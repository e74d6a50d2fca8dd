/*
 * A folder for the files of one test, and small helpers to look at them.
 *
 * Use scratch_setup and scratch_teardown as the checked fixture of a test case. Failures of the
 * helpers themselves fail the test.
 */
#ifndef KVR_SCRATCH_H
#define KVR_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

void scratch_setup(void);
void scratch_teardown(void);

/* The path of `name` in the folder; valid until the teardown. */
const char *scratch_path(const char *name);

void scratch_write(const char *name, const void *bytes, size_t length);

/* The whole file, allocated and NUL-terminated; *length may be NULL. */
char *scratch_read(const char *name, size_t *length);

bool scratch_exists(const char *name);

/* The number of entries in the folder: a test that leaves nothing behind has 0. */
size_t scratch_entries(void);

#endif
