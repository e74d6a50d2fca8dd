/*
 * Opening a file: what the operating system says comes first, then what HDF5 says. It must not know
 * what is in it.
 */
#include "formats/h5_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/h5_session.h"

enum { MAGIC_BYTES = 8, FIRST_BLOCK = 512 };

static const char hdf5_magic[MAGIC_BYTES + 1] = "\211HDF\r\n\032\n";

/* The signature stands at byte 0, 512, 1024, 2048, …: a user block may precede it. */
static bool has_signature(int descriptor, off_t size)
{
    char found[MAGIC_BYTES];
    for (off_t at = 0; at + MAGIC_BYTES <= size; at = at > 0 ? at * 2 : FIRST_BLOCK)
        if (pread(descriptor, found, sizeof found, at) == MAGIC_BYTES &&
            memcmp(found, hdf5_magic, MAGIC_BYTES) == 0)
            return true;
    return false;
}

static enum kvr_status not_hdf5(int descriptor, struct kvr_error *err)
{
    char start[MAGIC_BYTES] = {0};
    ssize_t length = pread(descriptor, start, sizeof start, 0);
    kvr_fail(err, KVR_BAD_INPUT, "expected an HDF5 file, found something else");
    bool numpy = length >= 6 && memcmp(start, "\223NUMPY", 6) == 0;
    bool zip = length >= 4 && memcmp(start, "PK\003\004", 4) == 0;
    if (numpy || zip)
        return kvr_hint(err, "NumPy dumps (.npy, .npz) become a trace with: kvreplay import");
    return KVR_BAD_INPUT;
}

static enum kvr_status look_at(int descriptor, struct kvr_error *err)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return kvr_fail(err, KVR_IO, "cannot be read: %s", strerror(errno));
    if (S_ISDIR(info.st_mode))
        return kvr_fail(err, KVR_BAD_INPUT, "expected an HDF5 file, found a folder");
    if (!S_ISREG(info.st_mode))
        return kvr_fail(err, KVR_BAD_INPUT, "expected an HDF5 file, found a pipe or device");
    if (info.st_size == 0)
        return kvr_fail(err, KVR_BAD_INPUT, "expected an HDF5 file, found an empty one");
    if (!has_signature(descriptor, info.st_size))
        return not_hdf5(descriptor, err);
    return KVR_OK;
}

/* Without a writer at the other end, opening a pipe would wait for one: hence O_NONBLOCK. */
static enum kvr_status look_before(const char *path, struct kvr_error *err)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return kvr_fail(err, KVR_IO, "cannot be opened: %s", strerror(errno));
    enum kvr_status status = look_at(descriptor, err);
    close(descriptor);
    return status;
}

static enum kvr_status explain(struct kvr_error *err)
{
    char cause[256];
    kvr_h5_cause(cause, sizeof cause);
    if (strstr(cause, "lock file") != NULL) {
        kvr_fail(err, KVR_IO, "another program has it open for writing (%s)", cause);
        return kvr_hint(err, "wait until it is written; if nothing writes it, set "
                             "HDF5_USE_FILE_LOCKING=FALSE in the environment");
    }
    if (strstr(cause, "truncated") != NULL || strstr(cause, "eof") != NULL) {
        kvr_fail(err, KVR_BAD_INPUT, "the file is cut off (%s)", cause);
        return kvr_hint(err, "copy or record it again: its end is missing");
    }
    if (strstr(cause, "for write") != NULL || strstr(cause, "SWMR") != NULL) {
        kvr_fail(err, KVR_BAD_INPUT, "the program that wrote it has not closed it (%s)", cause);
        return kvr_hint(err, "wait until it is written; if its writer died, try h5clear -s");
    }
    return kvr_h5_failed(err, "cannot be opened as HDF5");
}

/* Raw chunks pass HDF5's chunk cache by, so an open dataset need not hold a table for it. */
static hid_t access_properties(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 && (H5Pset_fapl_sec2(access) < 0 || H5Pset_cache(access, 0, 0, 0, 0.75) < 0 ||
                        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0)) {
        H5Pclose(access);
        return H5I_INVALID_HID;
    }
    return access;
}

static enum kvr_status take_descriptor(hid_t access, struct kvr_h5_file *file,
                                       struct kvr_error *err)
{
    void *handle = NULL;
    struct stat info;
    if (H5Fget_vfd_handle(file->id, access, &handle) < 0 || handle == NULL)
        return kvr_h5_failed(err, "cannot be read");
    file->descriptor = *(int *)handle;
    if (fstat(file->descriptor, &info) != 0)
        return kvr_fail(err, KVR_IO, "cannot be read: %s", strerror(errno));
    file->bytes = (uint64_t)info.st_size;
    return KVR_OK;
}

enum kvr_status kvr_h5_open_file(const char *path, struct kvr_h5_file *file, struct kvr_error *err)
{
    *file = (struct kvr_h5_file){.id = H5I_INVALID_HID, .descriptor = -1};
    enum kvr_status status = look_before(path, err);
    if (status != KVR_OK)
        return status;
    hid_t access = access_properties();
    if (access < 0)
        return kvr_h5_failed(err, "cannot be opened as HDF5");
    file->id = H5Fopen(path, H5F_ACC_RDONLY, access);
    status = file->id >= 0 ? take_descriptor(access, file, err) : explain(err);
    H5Pclose(access);
    if (status != KVR_OK)
        kvr_h5_close_file(file);
    return status;
}

void kvr_h5_close_file(struct kvr_h5_file *file)
{
    if (file->id >= 0)
        H5Fclose(file->id);
    file->id = H5I_INVALID_HID;
}
