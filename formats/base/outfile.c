/*
 * Atomic output files: temporary name, checked writes, rename.
 */
#include "formats/base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/temporary.h"

struct kvr_outfile {
    char *path;
    char *temporary;
    FILE *stream; /* NULL once finished */
    int lock;     /* keeps the temporary file ours until it has its name; -1: none */
    bool failed;  /* something is missing in the file, so it must not get its name */
};

static enum kvr_status io_error(const char *path, const char *what, struct kvr_error *err)
{
    int cause = errno;
    enum kvr_status status = kvr_fail(err, KVR_IO, "\"%s\": %s: %s", path, what, strerror(cause));
    if (cause == ENOSPC || cause == EDQUOT)
        kvr_hint(err, "free some space or write elsewhere with -o; nothing was kept");
    else if (cause == EACCES || cause == EROFS || cause == EPERM)
        kvr_hint(err, "choose a folder that you may write to with -o");
    return status;
}

/* Renaming onto a device such as /dev/null would replace it: only files may stand there. */
static enum kvr_status check_replaceable(const char *path, struct kvr_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0 || S_ISREG(info.st_mode))
        return KVR_OK;
    return kvr_fail(err, KVR_IO, "\"%s\": expected a file to write, found a %s", path,
                    S_ISDIR(info.st_mode) ? "folder" : "device");
}

/* Empties the locked file and opens the stream on it. The lock outlives the stream. */
static enum kvr_status open_stream(struct kvr_outfile *file, bool regular, struct kvr_error *err)
{
    int own = fcntl(file->lock, F_DUPFD_CLOEXEC, 0);
    if (own >= 0 && (!regular || ftruncate(own, 0) == 0))
        file->stream = fdopen(own, "wb");
    if (file->stream != NULL)
        return KVR_OK;
    enum kvr_status status = io_error(file->path, "cannot be written", err);
    if (own >= 0)
        close(own);
    return status;
}

/*
 * Opens and locks the temporary file: of two processes that write the same file at the same time,
 * one is told. A writer that held the lock until now may have renamed or removed it; then what was
 * opened is no longer the file of that name, and the next attempt makes a new one.
 */
static enum kvr_status open_locked(struct kvr_outfile *file, struct kvr_error *err)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        struct stat ours, named;
        int lock = open(file->temporary, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
        if (lock < 0 || fstat(lock, &ours) != 0) {
            enum kvr_status status = io_error(file->path, "cannot be written", err);
            if (lock >= 0)
                close(lock);
            return status;
        }
        bool regular = S_ISREG(ours.st_mode); /* a device is everybody's */
        if (regular && flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(lock);
            return kvr_fail(err, KVR_IO,
                            "\"%s\": cannot be written: \"%s\" is in use by another process",
                            file->path, file->temporary);
        }
        if (stat(file->temporary, &named) == 0 && ours.st_ino == named.st_ino &&
            ours.st_dev == named.st_dev) {
            file->lock = lock;
            return open_stream(file, regular, err);
        }
        close(lock);
    }
    return kvr_fail(err, KVR_IO, "\"%s\": cannot be written: \"%s\" keeps changing", file->path,
                    file->temporary);
}

enum kvr_status kvr_outfile_open(const char *path, struct kvr_outfile **out, struct kvr_error *err)
{
    enum kvr_status status = check_replaceable(path, err);
    if (status != KVR_OK)
        return status;
    struct kvr_outfile *file = kvr_alloc(1, sizeof *file, err);
    if (file == NULL)
        return KVR_NO_MEMORY;
    size_t length = strlen(path);
    file->lock = -1;
    file->path = kvr_copy_string(path, err);
    file->temporary = kvr_alloc(length + 5, 1, err);
    if (file->path == NULL || file->temporary == NULL) {
        kvr_outfile_abandon(file);
        return KVR_NO_MEMORY;
    }
    memcpy(file->temporary, path, length);
    memcpy(file->temporary + length, ".tmp", 5);
    kvr_signals_hold();
    status = open_locked(file, err);
    if (status == KVR_OK)
        kvr_temporary_note(file->temporary);
    kvr_signals_release();
    if (status != KVR_OK) {
        if (file->lock < 0) {
            free(file->temporary);
            file->temporary = NULL; /* not ours to remove */
        }
        kvr_outfile_abandon(file);
        return status;
    }
    *out = file;
    return KVR_OK;
}

enum kvr_status kvr_outfile_write(struct kvr_outfile *file, const char *bytes, size_t length,
                                  struct kvr_error *err)
{
    if (fwrite(bytes, 1, length, file->stream) == length)
        return KVR_OK;
    file->failed = true;
    return io_error(file->path, "cannot be written", err);
}

enum kvr_status kvr_outfile_finish(struct kvr_outfile *file, struct kvr_error *err)
{
    if (file->stream == NULL)
        return KVR_OK;
    FILE *stream = file->stream;
    file->stream = NULL;
    int failed = fflush(stream) != 0;
    int cause = errno;
    if (fclose(stream) != 0 && !failed) {
        failed = 1;
        cause = errno;
    }
    errno = cause;
    if (failed) {
        file->failed = true;
        return io_error(file->path, "cannot be written", err);
    }
    return KVR_OK;
}

enum kvr_status kvr_outfile_commit(struct kvr_outfile *file, struct kvr_error *err)
{
    enum kvr_status status = kvr_outfile_finish(file, err);
    if (status == KVR_OK && file->failed)
        status = kvr_fail(err, KVR_IO, "\"%s\": an earlier write failed", file->path);
    if (status == KVR_OK && rename(file->temporary, file->path) != 0)
        status = io_error(file->path, "cannot be written", err);
    if (status == KVR_OK) {
        kvr_temporary_forget(file->temporary);
        free(file->temporary);
        file->temporary = NULL;
    }
    kvr_outfile_abandon(file);
    return status;
}

void kvr_outfile_abandon(struct kvr_outfile *file)
{
    if (file == NULL)
        return;
    if (file->stream != NULL)
        fclose(file->stream);
    if (file->temporary != NULL) {
        unlink(file->temporary);
        kvr_temporary_forget(file->temporary);
    }
    if (file->lock >= 0)
        close(file->lock);
    free(file->temporary);
    free(file->path);
    free(file);
}

static int make_one(const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0)
        return 0;
    if (errno == EEXIST && stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return 0;
        errno = ENOTDIR;
    }
    return -1;
}

enum kvr_status kvr_make_folder(const char *path, struct kvr_error *err)
{
    char *partial = kvr_copy_string(path, err);
    if (partial == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = KVR_OK;
    for (char *c = partial; status == KVR_OK && *c != '\0'; c++) {
        if (*c != '/' || c == partial)
            continue;
        *c = '\0';
        if (make_one(partial) != 0)
            status = io_error(partial, "folder cannot be made", err);
        *c = '/';
    }
    if (status == KVR_OK && make_one(path) != 0)
        status = io_error(path, "folder cannot be made", err);
    free(partial);
    return status;
}

char *kvr_join_path(const char *folder, const char *name, struct kvr_error *err)
{
    size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] != '/' ? "/" : "";
    size_t size = length + strlen(name) + 2;
    char *path = kvr_alloc(size, 1, err);
    if (path != NULL)
        snprintf(path, size, "%s%s%s", folder, slash, name);
    return path;
}

bool kvr_same_file(const char *left, const char *right)
{
    struct stat a, b;
    return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

const char *kvr_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}
