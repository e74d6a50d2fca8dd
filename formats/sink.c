/*
 * A file on POSIX calls with a sticky failure. It must not know what the bytes mean.
 */
#include "formats/sink.h"

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

/* Dirty pages are handed to the disk in steps of this size, so that the final fsync of a large
   file has little left to wait for. */
static const uint64_t writeback_step = UINT64_C(32) << 20;

struct kvr_sink {
    char *path;
    char *temporary;
    int file;             /* -1 once closed */
    int cause;            /* errno of the first failure, 0 so far */
    uint64_t written_to;  /* end of what was written in one run ... */
    uint64_t handed_over; /* ... and how much of it was handed to the disk */
};

static enum kvr_status io_error(const char *path, int cause, struct kvr_error *err)
{
    enum kvr_status status =
        kvr_fail(err, KVR_IO, "\"%s\": cannot be written: %s", path, strerror(cause));
    if (cause == ENOSPC || cause == EDQUOT)
        return kvr_hint(err, "free some space or write elsewhere; nothing was kept");
    if (cause == EFBIG)
        return kvr_hint(err, "files are limited in size here (see \"ulimit -f\")");
    if (cause == EACCES || cause == EROFS || cause == EPERM)
        return kvr_hint(err, "choose a folder that you may write to");
    return status;
}

static void note_failure(struct kvr_sink *sink)
{
    if (sink->cause == 0)
        sink->cause = errno != 0 ? errno : EIO;
}

/* A rename would replace a device or a pipe by a file, which nobody means. */
static enum kvr_status check_target(const char *path, struct kvr_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return errno == ENOENT ? KVR_OK : io_error(path, errno, err);
    if (S_ISREG(info.st_mode))
        return KVR_OK;
    return kvr_fail(err, KVR_IO, "\"%s\": expected a regular file or a new name, found a %s", path,
                    S_ISDIR(info.st_mode) ? "folder" : "device or pipe");
}

/*
 * Opens and locks the .tmp. A writer that held the lock until now may have renamed or removed the
 * file in the meantime: then the open file is no longer the one of that name, and we try again.
 */
static enum kvr_status open_locked(struct kvr_sink *sink, struct kvr_error *err)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        int file = open(sink->temporary, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file < 0)
            return io_error(sink->path, errno, err);
        if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(file);
            return kvr_fail(err, KVR_IO,
                            "\"%s\": cannot be written: \"%s\" is in use by another "
                            "process",
                            sink->path, sink->temporary);
        }
        struct stat ours, named;
        if (fstat(file, &ours) == 0 && stat(sink->temporary, &named) == 0 &&
            ours.st_ino == named.st_ino && ours.st_dev == named.st_dev) {
            sink->file = file;
            kvr_temporary_note(sink->temporary);
            if (ftruncate(file, 0) != 0)
                return io_error(sink->path, errno, err);
            return KVR_OK;
        }
        close(file);
    }
    return kvr_fail(err, KVR_IO, "\"%s\": cannot be written: \"%s\" keeps changing", sink->path,
                    sink->temporary);
}

static void release(struct kvr_sink *sink)
{
    free(sink->temporary);
    free(sink->path);
    free(sink);
}

enum kvr_status kvr_sink_open(const char *path, struct kvr_sink **out, struct kvr_error *err)
{
    enum kvr_status status = check_target(path, err);
    if (status != KVR_OK)
        return status;
    struct kvr_sink *sink = kvr_alloc(1, sizeof *sink, err);
    if (sink == NULL)
        return KVR_NO_MEMORY;
    size_t length = strlen(path);
    sink->file = -1;
    sink->path = kvr_copy_string(path, err);
    sink->temporary = kvr_alloc(length + 5, 1, err);
    if (sink->path == NULL || sink->temporary == NULL) {
        release(sink);
        return KVR_NO_MEMORY;
    }
    memcpy(sink->temporary, path, length);
    memcpy(sink->temporary + length, ".tmp", 5);
    kvr_signals_hold();
    status = open_locked(sink, err);
    kvr_signals_release();
    if (status != KVR_OK) {
        kvr_sink_abandon(sink);
        return status;
    }
    *out = sink;
    return KVR_OK;
}

static void start_writeback(struct kvr_sink *sink, uint64_t offset, size_t length)
{
    /* Only long forward runs are worth it; single blocks of metadata lie elsewhere. */
    if (offset != sink->written_to)
        sink->handed_over = offset;
    sink->written_to = offset + length;
    uint64_t waiting = sink->written_to - sink->handed_over;
    if (waiting < writeback_step)
        return;
#ifdef SYNC_FILE_RANGE_WRITE
    sync_file_range(sink->file, (off_t)sink->handed_over, (off_t)waiting, SYNC_FILE_RANGE_WRITE);
#endif
    sink->handed_over = sink->written_to;
}

void kvr_sink_write(struct kvr_sink *sink, const void *bytes, size_t length, uint64_t offset)
{
    const char *next = bytes;
    size_t left = length;
    uint64_t at = offset;
    while (left > 0 && sink->cause == 0 && sink->file >= 0) {
        ssize_t done = pwrite(sink->file, next, left, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            errno = done == 0 ? ENOSPC : errno;
            note_failure(sink);
            return;
        }
        next += done;
        at += (uint64_t)done;
        left -= (size_t)done;
    }
    if (left == 0)
        start_writeback(sink, offset, length);
}

void kvr_sink_read(struct kvr_sink *sink, void *bytes, size_t length, uint64_t offset)
{
    char *next = bytes;
    while (length > 0 && sink->file >= 0) {
        ssize_t done = pread(sink->file, next, length, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            note_failure(sink);
        if (done <= 0)
            break;
        next += done;
        offset += (uint64_t)done;
        length -= (size_t)done;
    }
    memset(next, 0, length);
}

void kvr_sink_resize(struct kvr_sink *sink, uint64_t length)
{
    if (sink->cause == 0 && sink->file >= 0 && ftruncate(sink->file, (off_t)length) != 0)
        note_failure(sink);
}

enum kvr_status kvr_sink_check(const struct kvr_sink *sink, struct kvr_error *err)
{
    return sink->cause == 0 ? KVR_OK : io_error(sink->path, sink->cause, err);
}

/* A rename is on the disk once its folder is. Not all file systems can be asked for that. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    char *folder = length == 0 ? kvr_copy_string(".", NULL) : kvr_copy_bytes(path, length, NULL);
    int file = folder == NULL ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) {
        fsync(file);
        close(file);
    }
    free(folder);
}

enum kvr_status kvr_sink_commit(struct kvr_sink *sink, struct kvr_error *err)
{
    if (sink->cause == 0 && fsync(sink->file) != 0)
        note_failure(sink);
    /* Renamed before it is closed, so that the lock covers the .tmp for as long as it exists. */
    if (sink->cause == 0 && rename(sink->temporary, sink->path) != 0)
        note_failure(sink);
    enum kvr_status status = kvr_sink_check(sink, err);
    if (status != KVR_OK) {
        kvr_sink_abandon(sink);
        return status;
    }
    kvr_temporary_forget(sink->temporary);
    sync_folder(sink->path);
    close(sink->file);
    release(sink);
    return KVR_OK;
}

void kvr_sink_disown(struct kvr_sink *sink)
{
    if (sink->file < 0)
        return;
    unlink(sink->temporary);
    kvr_temporary_forget(sink->temporary);
    close(sink->file);
    sink->file = -1;
}

void kvr_sink_abandon(struct kvr_sink *sink)
{
    if (sink == NULL)
        return;
    kvr_sink_disown(sink);
    release(sink);
}
