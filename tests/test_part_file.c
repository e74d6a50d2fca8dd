/*
 * Part files: what is written is read, and any damage is noticed.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/part_file.h"
#include "formats/part_folder.h"
#include "tests/scratch.h"
#include "tests/suites.h"

static const struct kvr_part_stamp stamp = {UINT64_C(0xfedcba9876543210), 3, 12};
static struct kvr_part_writer *writer;

static void begin(const char *name)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_part_start(scratch_path(name), &stamp, &writer, &err) == KVR_OK, "%s",
                  err.message);
}

static void add(enum kvr_part_kind kind, uint32_t table, const char *bytes)
{
    ck_assert_int_eq(kvr_part_add(writer, kind, table, bytes, strlen(bytes), NULL), KVR_OK);
}

/* Blocks of lengths 1, 8 and 13, so with and without padding. */
static void write_small(void)
{
    begin("a.part");
    add(KVR_PART_ROWS, 0, "x");
    add(KVR_PART_FACTS, 0, "12345678");
    add(KVR_PART_ROWS, 11, "a,b\nc,d\ne,ff\n");
    ck_assert_int_eq(kvr_part_commit(writer, NULL), KVR_OK);
}

struct visit {
    char text[256];
    size_t blocks, stop_at;
    bool aligned;
};

static enum kvr_status note_block(void *state, enum kvr_part_kind kind, uint32_t table,
                                  const void *bytes, size_t length, struct kvr_error *err)
{
    struct visit *visit = state;
    size_t used = strlen(visit->text);
    snprintf(visit->text + used, sizeof visit->text - used, "%s%u[%.*s]",
             kind == KVR_PART_ROWS ? "rows" : "facts", table, (int)length, (const char *)bytes);
    visit->aligned &= (uintptr_t)bytes % 8 == 0;
    return ++visit->blocks == visit->stop_at ? kvr_fail(err, KVR_NO_MEMORY, "stop") : KVR_OK;
}

static enum kvr_status read_part(const char *name, struct kvr_error *err)
{
    return kvr_part_read(scratch_path(name), &stamp, NULL, err);
}

static void assert_refused(const char *name, const char *why)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_ne(read_part(name, &err), KVR_OK);
    ck_assert_msg(strstr(err.message, why) != NULL, "%s", err.message);
    ck_assert_msg(strstr(err.message, name) != NULL, "%s", err.message);
}

START_TEST(test_blocks_come_back_in_order)
{
    write_small();
    struct visit visit = {.aligned = true};
    const struct kvr_part_visitor visitor = {note_block, &visit};
    ck_assert_int_eq(kvr_part_read(scratch_path("a.part"), &stamp, &visitor, NULL), KVR_OK);
    ck_assert_str_eq(visit.text, "rows0[x]facts0[12345678]rows11[a,b\nc,d\ne,ff\n]");
    ck_assert(visit.aligned);
}
END_TEST

START_TEST(test_visitor_stops)
{
    write_small();
    struct visit visit = {.stop_at = 2};
    const struct kvr_part_visitor visitor = {note_block, &visit};
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_part_read(scratch_path("a.part"), &stamp, &visitor, &err), KVR_NO_MEMORY);
    ck_assert_uint_eq(visit.blocks, 2);
    ck_assert_str_eq(err.message, "stop");
}
END_TEST

/* A unit may add nothing at all, and one block may be larger than any buffer. */
START_TEST(test_empty_and_large)
{
    begin("empty.part");
    ck_assert_int_eq(kvr_part_commit(writer, NULL), KVR_OK);
    ck_assert_int_eq(read_part("empty.part", NULL), KVR_OK);

    size_t length = 3000001;
    char *bytes = malloc(length);
    ck_assert_ptr_nonnull(bytes);
    memset(bytes, 'y', length);
    begin("large.part");
    ck_assert_int_eq(kvr_part_add(writer, KVR_PART_ROWS, 1, bytes, length, NULL), KVR_OK);
    free(bytes);
    ck_assert_int_eq(kvr_part_commit(writer, NULL), KVR_OK);
    ck_assert_int_eq(read_part("large.part", NULL), KVR_OK);
}
END_TEST

START_TEST(test_other_stamps)
{
    write_small();
    const struct kvr_part_stamp others[] = {
        {stamp.run ^ 1, 3, 12}, {stamp.run, 4, 12}, {stamp.run, 3, 13}};
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(kvr_part_read(scratch_path("a.part"), &others[i], NULL, NULL),
                         KVR_BAD_INPUT);
}
END_TEST

/* Each byte changed in each of two ways: never taken for whole. */
START_TEST(test_every_changed_byte)
{
    size_t length;
    write_small();
    char *bytes = scratch_read("a.part", &length);
    for (size_t i = 0; i < length; i++) {
        static const char changes[] = {1, (char)0x80};
        for (size_t c = 0; c < 2; c++) {
            bytes[i] ^= changes[c];
            scratch_write("b.part", bytes, length);
            ck_assert_msg(read_part("b.part", NULL) != KVR_OK, "byte %zu", i);
            bytes[i] ^= changes[c];
        }
    }
    scratch_write("b.part", bytes, length);
    ck_assert_int_eq(read_part("b.part", NULL), KVR_OK);
    free(bytes);
}
END_TEST

START_TEST(test_every_cut)
{
    size_t length;
    write_small();
    char *bytes = scratch_read("a.part", &length);
    for (size_t cut = 0; cut < length; cut++) {
        scratch_write("b.part", bytes, cut);
        assert_refused("b.part", "it was cut");
    }
    free(bytes);
}
END_TEST

START_TEST(test_what_is_no_part)
{
    size_t length;
    write_small();
    char *bytes = scratch_read("a.part", &length);
    char *longer = calloc(1, length + 8);
    ck_assert_ptr_nonnull(longer);
    memcpy(longer, bytes, length);
    scratch_write("b.part", longer, length + 8);
    free(longer);
    assert_refused("b.part", "expected the end of the file");
    memset(bytes, 'z', 8);
    scratch_write("b.part", bytes, length);
    assert_refused("b.part", "expected a part of a replay");
    free(bytes);
    assert_refused("nothing.part", "cannot be read");
    ck_assert_int_eq(mkfifo(scratch_path("pipe.part"), 0600), 0); /* and nobody writes to it */
    assert_refused("pipe.part", "expected a file");
}
END_TEST

START_TEST(test_nothing_is_left)
{
    struct kvr_error err = KVR_ERROR_NONE;
    begin("a.part");
    add(KVR_PART_ROWS, 0, "x");
    kvr_part_abandon(writer);
    kvr_part_abandon(NULL);
    ck_assert_uint_eq(scratch_entries(), 0);
    ck_assert_int_eq(kvr_part_start(scratch_path("no/a.part"), &stamp, &writer, &err), KVR_IO);
    ck_assert_uint_eq(scratch_entries(), 0);
}
END_TEST

START_TEST(test_full_disk)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(symlink("/dev/full", scratch_path("a.part.tmp")), 0);
    begin("a.part");
    add(KVR_PART_ROWS, 0, "x");
    ck_assert_int_eq(kvr_part_commit(writer, &err), KVR_IO);
    ck_assert_msg(strstr(err.message, "No space left") != NULL, "%s", err.message);
    ck_assert_uint_eq(scratch_entries(), 0);
}
END_TEST

/* Only what the folder of parts may hold is removed; what else lies there stays, and so it does. */
START_TEST(test_folder)
{
    const char *folder = scratch_path("out");
    ck_assert_int_eq(kvr_part_folder_make(folder, NULL), KVR_OK);
    char *unit = kvr_part_folder_unit(folder, 7, NULL), *plan = kvr_part_folder_plan(folder, NULL);
    ck_assert_str_eq(unit, scratch_path("out/parts/000007.part"));
    ck_assert_str_eq(plan, scratch_path("out/parts/plan.json"));
    free(unit);
    free(plan);
    static const char *const ours[] = {"out/parts/000007.part", "out/parts/1234567.part",
                                       "out/parts/000008.part.tmp", "out/parts/plan.json"};
    static const char *const others[] = {"out/parts/7.part", "out/parts/notes.part",
                                         "out/parts/000007.parts"};
    for (size_t i = 0; i < 4; i++)
        scratch_write(ours[i], "", 0);
    for (size_t i = 0; i < 3; i++)
        scratch_write(others[i], "", 0);
    kvr_part_folder_clear(folder);
    for (size_t i = 0; i < 4; i++)
        ck_assert(!scratch_exists(ours[i]));
    for (size_t i = 0; i < 3; i++) {
        ck_assert(scratch_exists(others[i]));
        ck_assert_int_eq(unlink(scratch_path(others[i])), 0);
    }
    kvr_part_folder_clear(folder);
    ck_assert(!scratch_exists("out/parts"));
    kvr_part_folder_clear(folder);
}
END_TEST

Suite *kvr_suite_part_file(void)
{
    Suite *suite = suite_create("part_file");
    TCase *tcase = tcase_create("parts");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_test(tcase, test_blocks_come_back_in_order);
    tcase_add_test(tcase, test_visitor_stops);
    tcase_add_test(tcase, test_empty_and_large);
    tcase_add_test(tcase, test_other_stamps);
    tcase_add_test(tcase, test_every_changed_byte);
    tcase_add_test(tcase, test_every_cut);
    tcase_add_test(tcase, test_what_is_no_part);
    tcase_add_test(tcase, test_nothing_is_left);
    tcase_add_test(tcase, test_full_disk);
    tcase_add_test(tcase, test_folder);
    suite_add_tcase(suite, tcase);
    return suite;
}
