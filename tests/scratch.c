/*
 * Scratch folders of tests. It knows files, not what a test does with them.
 */
#include "tests/scratch.h"

#include <check.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path that was handed out; released at the teardown. */
struct path {
    struct path *older;
    char text[];
};

static char folder[256];
static struct path *newest;

void scratch_setup(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/kvreplay-test-XXXXXX", parent != NULL ? parent : "/tmp");
    ck_assert_msg(mkdtemp(folder) != NULL, "no scratch folder %s", folder);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

void scratch_teardown(void)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    while (newest != NULL) {
        struct path *path = newest;
        newest = path->older;
        free(path);
    }
}

const char *scratch_path(const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    struct path *path = malloc(sizeof *path + size);
    ck_assert_ptr_nonnull(path);
    snprintf(path->text, size, "%s/%s", folder, name);
    path->older = newest;
    newest = path;
    return path->text;
}

void scratch_write(const char *name, const void *bytes, size_t length)
{
    FILE *stream = fopen(scratch_path(name), "wb");
    ck_assert_ptr_nonnull(stream);
    ck_assert_uint_eq(fwrite(bytes, 1, length, stream), length);
    ck_assert_int_eq(fclose(stream), 0);
}

char *scratch_read(const char *name, size_t *length)
{
    FILE *stream = fopen(scratch_path(name), "rb");
    ck_assert_msg(stream != NULL, "%s is not there", name);
    struct stat info;
    ck_assert_int_eq(fstat(fileno(stream), &info), 0);
    size_t size = (size_t)info.st_size;
    char *bytes = malloc(size + 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, size, stream), size);
    bytes[size] = '\0';
    fclose(stream);
    if (length != NULL)
        *length = size;
    return bytes;
}

bool scratch_exists(const char *name)
{
    return access(scratch_path(name), F_OK) == 0;
}

size_t scratch_entries(void)
{
    DIR *stream = opendir(folder);
    ck_assert_ptr_nonnull(stream);
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(stream)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(stream);
    return count;
}
