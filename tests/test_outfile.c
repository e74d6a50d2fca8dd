/*
 * Output files: whole or not at all, whatever goes wrong on the way.
 */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/base/temporary.h"
#include "tests/scratch.h"
#include "tests/suites.h"

static void assert_content(const char *name, const char *expected)
{
    char *found = scratch_read(name, NULL);
    ck_assert_str_eq(found, expected);
    free(found);
}

static struct kvr_outfile *open_file(const char *name)
{
    struct kvr_outfile *file = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_outfile_open(scratch_path(name), &file, &err) == KVR_OK, "%s", err.message);
    return file;
}

static void put(struct kvr_outfile *file, const char *text)
{
    ck_assert_int_eq(kvr_outfile_write(file, text, strlen(text), NULL), KVR_OK);
}

START_TEST(test_file_appears_at_the_commit)
{
    struct kvr_outfile *file = open_file("a.csv");
    put(file, "one,");
    put(file, "two\n");
    ck_assert(!scratch_exists("a.csv"));
    ck_assert(scratch_exists("a.csv.tmp"));
    ck_assert_int_eq(kvr_outfile_commit(file, NULL), KVR_OK);
    assert_content("a.csv", "one,two\n");
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

START_TEST(test_old_file_stays_until_the_commit)
{
    scratch_write("a.csv", "old", 3);
    struct kvr_outfile *file = open_file("a.csv");
    put(file, "new");
    assert_content("a.csv", "old");
    ck_assert_int_eq(kvr_outfile_finish(file, NULL), KVR_OK);
    assert_content("a.csv", "old");
    ck_assert_int_eq(kvr_outfile_finish(file, NULL), KVR_OK); /* again is harmless */
    ck_assert_int_eq(kvr_outfile_commit(file, NULL), KVR_OK);
    assert_content("a.csv", "new");
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

/* Two programs that write one file: the second is told, and the first's bytes stay its own. */
START_TEST(test_one_writer_at_a_time)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_outfile *file = open_file("a.csv"), *second = NULL;
    put(file, "first");
    for (int finished = 0; finished < 2; finished++) {
        ck_assert_int_eq(kvr_outfile_open(scratch_path("a.csv"), &second, &err), KVR_IO);
        ck_assert_ptr_nonnull(strstr(err.message, "in use by another process"));
        ck_assert_int_eq(kvr_outfile_finish(file, NULL), KVR_OK);
    }
    ck_assert(scratch_exists("a.csv.tmp"));
    ck_assert_int_eq(kvr_outfile_commit(file, NULL), KVR_OK);
    assert_content("a.csv", "first");
    second = open_file("a.csv");
    kvr_outfile_abandon(second);
    /* What a killed writer left is nobody's, and does not shine through. */
    scratch_write("a.csv.tmp", "left behind", 11);
    second = open_file("a.csv");
    put(second, "new");
    ck_assert_int_eq(kvr_outfile_commit(second, NULL), KVR_OK);
    assert_content("a.csv", "new");
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

START_TEST(test_same_file)
{
    scratch_write("a", "x", 1);
    scratch_write("b", "x", 1);
    char *a = strdup(scratch_path("a")), *b = strdup(scratch_path("b"));
    ck_assert_int_eq(symlink("a", scratch_path("link")), 0);
    ck_assert(kvr_same_file(a, a));
    ck_assert(kvr_same_file(a, scratch_path("link")));
    ck_assert(!kvr_same_file(a, b));
    ck_assert(!kvr_same_file(a, scratch_path("nothing")));
    ck_assert(!kvr_same_file(scratch_path("nothing"), scratch_path("nothing")));
    free(a);
    free(b);
}
END_TEST

START_TEST(test_abandoned_file_leaves_nothing)
{
    scratch_write("a.csv", "old", 3);
    struct kvr_outfile *file = open_file("a.csv");
    put(file, "new");
    kvr_outfile_abandon(file);
    kvr_outfile_abandon(NULL);
    assert_content("a.csv", "old");
    ck_assert_uint_eq(scratch_entries(), 1);

    file = open_file("b.csv");
    put(file, "new");
    ck_assert_int_eq(kvr_outfile_finish(file, NULL), KVR_OK);
    kvr_outfile_abandon(file); /* finished, but not wanted after all */
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

START_TEST(test_killed_writer_leaves_the_old_file)
{
    scratch_write("a.csv", "old", 3);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct kvr_outfile *file = open_file("a.csv");
        for (int i = 0; i < 5000; i++)
            put(file, "new and longer\n");
        raise(SIGKILL);
    }
    int how = 0;
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    assert_content("a.csv", "old");

    struct kvr_outfile *file = open_file("a.csv"); /* what the killed one left is no hindrance */
    put(file, "new");
    ck_assert_int_eq(kvr_outfile_commit(file, NULL), KVR_OK);
    assert_content("a.csv", "new");
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

/* A temporary file that is a link to /dev/full: every flush finds the disk full. */
static struct kvr_outfile *open_on_full_disk(void)
{
    scratch_write("a.csv", "old", 3);
    ck_assert_int_eq(symlink("/dev/full", scratch_path("a.csv.tmp")), 0);
    return open_file("a.csv");
}

static void assert_disk_full(const struct kvr_error *err)
{
    ck_assert_int_eq(err->status, KVR_IO);
    ck_assert_ptr_nonnull(strstr(err->message, "a.csv\": cannot be written: No space left"));
    ck_assert_ptr_nonnull(strstr(err->hint, "free some space"));
}

START_TEST(test_full_disk_shows_at_the_commit)
{
    struct kvr_outfile *file = open_on_full_disk();
    struct kvr_error err = KVR_ERROR_NONE;
    put(file, "little enough for the buffer");
    ck_assert_int_eq(kvr_outfile_commit(file, &err), KVR_IO);
    assert_disk_full(&err);
    assert_content("a.csv", "old");
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

START_TEST(test_full_disk_shows_at_a_write)
{
    struct kvr_outfile *file = open_on_full_disk();
    struct kvr_error err = KVR_ERROR_NONE;
    enum kvr_status status = KVR_OK;
    for (int i = 0; i < 10000 && status == KVR_OK; i++)
        status = kvr_outfile_write(file, "0123456789abcdef", 16, &err);
    ck_assert_int_eq(status, KVR_IO);
    assert_disk_full(&err);
    /* Even a caller who overlooked the failure cannot give the file its name. */
    ck_assert_int_eq(kvr_outfile_commit(file, &err), KVR_IO);
    assert_content("a.csv", "old");
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

static void assert_refused(const char *path, const char *cause)
{
    struct kvr_outfile *file = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_outfile_open(path, &file, &err), KVR_IO);
    ck_assert_ptr_null(file);
    ck_assert_ptr_nonnull(strstr(err.message, path));
    ck_assert_msg(strstr(err.message, cause) != NULL, "%s", err.message);
    ck_assert_int_eq(kvr_outfile_open(path, &file, NULL), KVR_IO);
}

START_TEST(test_places_that_cannot_be_written)
{
    scratch_write("file", "", 0);
    ck_assert_int_eq(mkdir(scratch_path("folder"), 0777), 0);
    assert_refused(scratch_path("missing/a.csv"), "No such file");
    assert_refused(scratch_path("file/a.csv"), "Not a directory");
    assert_refused(scratch_path("folder"), "found a folder");
    assert_refused("/dev/null", "found a device");
    struct stat info;
    ck_assert(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode));
    ck_assert_uint_eq(scratch_entries(), 2);
}
END_TEST

START_TEST(test_folder_without_permission)
{
    const char *folder = scratch_path("locked");
    ck_assert_int_eq(mkdir(folder, 0555), 0);
    if (geteuid() == 0) { /* root may do everything: be nobody for a while */
        ck_assert_int_eq(chmod(scratch_path("."), 0755), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    }
    struct kvr_outfile *file = NULL;
    struct kvr_error err = KVR_ERROR_NONE, folder_err = KVR_ERROR_NONE;
    enum kvr_status status = kvr_outfile_open(scratch_path("locked/a.csv"), &file, &err);
    enum kvr_status folder_status = kvr_make_folder(scratch_path("locked/b"), &folder_err);
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(status, KVR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "Permission denied"));
    ck_assert_ptr_nonnull(strstr(err.hint, "choose a folder"));
    ck_assert_int_eq(folder_status, KVR_IO);
    ck_assert_ptr_nonnull(strstr(folder_err.message, "Permission denied"));
}
END_TEST

START_TEST(test_failing_rename_leaves_nothing)
{
    struct kvr_outfile *file = open_file("a.csv");
    put(file, "new");
    ck_assert_int_eq(mkdir(scratch_path("a.csv"), 0777), 0); /* someone took the name meanwhile */
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_outfile_commit(file, &err), KVR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "a.csv\": cannot be written"));
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

START_TEST(test_folders_are_made)
{
    struct stat info;
    const char *path = scratch_path("a/b//c/");
    ck_assert_int_eq(kvr_make_folder(path, NULL), KVR_OK);
    ck_assert(stat(scratch_path("a/b/c"), &info) == 0 && S_ISDIR(info.st_mode));
    ck_assert_int_eq(kvr_make_folder(path, NULL), KVR_OK); /* there already */
    ck_assert_int_eq(kvr_make_folder("/", NULL), KVR_OK);
    ck_assert_int_eq(kvr_make_folder(".", NULL), KVR_OK);

    scratch_write("a/file", "", 0);
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_make_folder(scratch_path("a/file"), &err), KVR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "a/file\": folder cannot be made: Not a directory"));
    ck_assert_int_eq(kvr_make_folder(scratch_path("a/file/b"), &err), KVR_IO);
    ck_assert_int_eq(kvr_make_folder("", &err), KVR_IO);
}
END_TEST

static const struct {
    const char *folder, *name, *joined;
} join_cases[] = {
    {"out", "a.csv", "out/a.csv"}, {"out/", "a.csv", "out/a.csv"}, {"/", "a.csv", "/a.csv"},
    {"", "a.csv", "a.csv"},        {".", "a.csv", "./a.csv"},
};

START_TEST(test_paths)
{
    for (size_t i = 0; i < sizeof join_cases / sizeof *join_cases; i++) {
        char *path = kvr_join_path(join_cases[i].folder, join_cases[i].name, NULL);
        ck_assert_str_eq(path, join_cases[i].joined);
        ck_assert_str_eq(kvr_base_name(path), "a.csv");
        free(path);
    }
    ck_assert_str_eq(kvr_base_name("/a/b/"), "");
}
END_TEST

/* What a signal handler does, in a process of its own: it is for good. */
START_TEST(test_noted_files_are_removed)
{
    scratch_write("old.csv", "old", 3);
    pid_t child = fork();
    if (child == 0) {
        struct kvr_outfile *kept = open_file("kept.csv"), *old = open_file("old.csv");
        put(kept, "kept");
        put(old, "new");
        kvr_outfile_abandon(open_file("gone.csv"));
        if (kvr_outfile_commit(kept, NULL) != KVR_OK)
            _exit(1);
        kvr_temporaries_remove();
        bool left = scratch_exists("old.csv.tmp");
        kvr_outfile_abandon(open_file("late.csv"));
        (void)open_file("later.csv");
        _exit(left || scratch_exists("later.csv.tmp") ? 2 : 0);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    assert_content("kept.csv", "kept");
    assert_content("old.csv", "old");
    ck_assert_uint_eq(scratch_entries(), 2);
}
END_TEST

static volatile sig_atomic_t handled;

static void handle(int signal_number)
{
    if (!kvr_signals_defer(signal_number))
        handled++;
}

START_TEST(test_held_signals_come_at_the_release)
{
    signal(SIGUSR1, handle);
    kvr_signals_hold();
    kvr_signals_hold();
    raise(SIGUSR1);
    kvr_signals_release();
    ck_assert_int_eq(handled, 0);
    kvr_signals_release();
    ck_assert_int_eq(handled, 1);
    raise(SIGUSR1);
    ck_assert_int_eq(handled, 2);
}
END_TEST

Suite *kvr_suite_outfile(void)
{
    Suite *suite = suite_create("outfile");
    TCase *tcase = tcase_create("atomic");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_test(tcase, test_file_appears_at_the_commit);
    tcase_add_test(tcase, test_old_file_stays_until_the_commit);
    tcase_add_test(tcase, test_one_writer_at_a_time);
    tcase_add_test(tcase, test_same_file);
    tcase_add_test(tcase, test_abandoned_file_leaves_nothing);
    tcase_add_test(tcase, test_killed_writer_leaves_the_old_file);
    tcase_add_test(tcase, test_full_disk_shows_at_the_commit);
    tcase_add_test(tcase, test_full_disk_shows_at_a_write);
    tcase_add_test(tcase, test_places_that_cannot_be_written);
    tcase_add_test(tcase, test_folder_without_permission);
    tcase_add_test(tcase, test_failing_rename_leaves_nothing);
    tcase_add_test(tcase, test_folders_are_made);
    tcase_add_test(tcase, test_paths);
    tcase_add_test(tcase, test_noted_files_are_removed);
    tcase_add_test(tcase, test_held_signals_come_at_the_release);
    suite_add_tcase(suite, tcase);
    return suite;
}
