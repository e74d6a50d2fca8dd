/*
 * HDF5's virtual file layer on a sink. It must not know what a trace is.
 *
 * Every operation succeeds: the sink remembers failures, and whoever owns it asks.
 */
#include "formats/sink_driver.h"

#include <stdint.h>
#include <stdlib.h>

/* What the access property list carries to sink_open. */
struct driver_info {
    struct kvr_sink *sink;
};

/* HDF5 knows the first member only. */
struct sink_file {
    H5FD_t base;
    struct kvr_sink *sink;
    haddr_t allocated; /* end of what HDF5 has reserved */
    haddr_t end;       /* end of what was written */
};

static H5FD_t *sink_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    (void)name;
    (void)most;
    const struct driver_info *info = H5Pget_driver_info(access);
    struct sink_file *file = info == NULL ? NULL : calloc(1, sizeof *file);
    if (file == NULL)
        return NULL;
    file->sink = info->sink;
    if ((flags & H5F_ACC_TRUNC) != 0)
        kvr_sink_resize(file->sink, 0);
    return &file->base;
}

static herr_t sink_close(H5FD_t *file)
{
    free(file);
    return 0;
}

static int sink_compare(const H5FD_t *first, const H5FD_t *second)
{
    uintptr_t a = (uintptr_t)((const struct sink_file *)first)->sink;
    uintptr_t b = (uintptr_t)((const struct sink_file *)second)->sink;
    return a < b ? -1 : a > b;
}

static herr_t sink_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t sink_get_allocated(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct sink_file *)file)->allocated;
}

static herr_t sink_set_allocated(H5FD_t *file, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((struct sink_file *)file)->allocated = address;
    return 0;
}

static haddr_t sink_get_end(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct sink_file *)file)->end;
}

static herr_t sink_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                        void *buffer)
{
    (void)type;
    (void)transfer;
    kvr_sink_read(((struct sink_file *)file)->sink, buffer, size, address);
    return 0;
}

static herr_t sink_write(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t address,
                         size_t size, const void *buffer)
{
    (void)type;
    (void)transfer;
    struct sink_file *file = (struct sink_file *)base;
    kvr_sink_write(file->sink, buffer, size, address);
    if (address + size > file->end)
        file->end = address + size;
    return 0;
}

/* The file must be as long as its superblock says, even if its last bytes were never written. */
static herr_t sink_truncate(H5FD_t *base, hid_t transfer, hbool_t closing)
{
    (void)transfer;
    (void)closing;
    struct sink_file *file = (struct sink_file *)base;
    if (file->allocated != file->end) {
        kvr_sink_resize(file->sink, file->allocated);
        file->end = file->allocated;
    }
    return 0;
}

static const H5FD_class_t sink_class = {
#ifdef H5FD_CLASS_VERSION /* HDF5 1.13 and later */
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)512, /* the first value for private use */
#endif
    .name = "kvreplay-sink",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct driver_info),
    .open = sink_open,
    .close = sink_close,
    .cmp = sink_compare,
    .query = sink_query,
    .get_eoa = sink_get_allocated,
    .set_eoa = sink_set_allocated,
    .get_eof = sink_get_end,
    .read = sink_read,
    .write = sink_write,
    .truncate = sink_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/*
 * Registered once and kept: HDF5 releases a file's reference to its driver before it calls the
 * driver's close function, and would read the driver after it was freed if that was the last one.
 */
static hid_t registered_driver(void)
{
    static hid_t driver = H5I_INVALID_HID; /* guarded by the lock around HDF5 */
    if (driver < 0 || H5Iget_type(driver) != H5I_VFL)
        driver = H5FDregister(&sink_class);
    return driver;
}

hid_t kvr_sink_create_file(struct kvr_sink *sink, hid_t creation, hid_t access)
{
    struct driver_info info = {sink};
    hid_t driver = registered_driver();
    if (driver < 0 || H5Pset_driver(access, driver, &info) < 0)
        return H5I_INVALID_HID;
    return H5Fcreate("kvreplay-sink", H5F_ACC_TRUNC, creation, access);
}
