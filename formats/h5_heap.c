/*
 * The global heap of an HDF5 file (File Format Specification, III.E). It must not know what strings
 * mean.
 *
 * An attribute holds a reference: the length, the address of a heap collection and the index of an
 * object in it. HDF5 hands out references if it is told that they convert to opaque bytes as they
 * are; the collection is then read from the file.
 */
#include "formats/h5_heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/h5_session.h"

enum {
    LENGTH_BYTES = 4,
    INDEX_BYTES = 4,
    MOST_REFERENCE = LENGTH_BYTES + 8 + INDEX_BYTES,
    COLLECTION_START = 8, /* "GCOL", version, 3 unused bytes; its size follows */
    OBJECT_START = 8,     /* index, references, 4 unused bytes; its size follows */
    ALIGNMENT = 8,
    MOST_OBJECTS = 1 << 16,
};

/* What the file's superblock says of addresses, and where to read. */
struct heap_file {
    int descriptor;
    uint64_t base; /* of addresses, behind a user block */
    size_t address_bytes, size_bytes;
};

struct reference {
    uint64_t length, address, index;
};

static herr_t keep_bytes(hid_t from, hid_t to, H5T_cdata_t *data, size_t count, size_t stride,
                         size_t background_stride, void *bytes, void *background, hid_t transfer)
{
    (void)from, (void)to, (void)count, (void)stride, (void)background_stride, (void)bytes;
    (void)background, (void)transfer;
    if (data->command == H5T_CONV_INIT)
        data->need_bkg = H5T_BKG_NO;
    return 0;
}

/* Tells HDF5, once, that strings of variable length convert to opaque bytes. */
static bool can_keep_bytes(hid_t opaque)
{
    static bool registered; /* HDF5's lock is held */
    if (registered)
        return true;
    hid_t string = H5Tcopy(H5T_C_S1);
    registered = string >= 0 && H5Tset_size(string, H5T_VARIABLE) >= 0 &&
                 H5Tregister(H5T_PERS_SOFT, "kvr_reference", string, opaque, keep_bytes) >= 0;
    if (string >= 0)
        H5Tclose(string);
    return registered;
}

static enum kvr_status read_reference(hid_t attribute, size_t size,
                                      unsigned char stored[MOST_REFERENCE], struct kvr_error *err)
{
    if (H5Aget_storage_size(attribute) != size)
        return kvr_fail(err, KVR_BAD_INPUT, "its reference to a string has a wrong size");
    hid_t opaque = H5Tcreate(H5T_OPAQUE, size);
    bool read = opaque >= 0 && can_keep_bytes(opaque) && H5Aread(attribute, opaque, stored) >= 0;
    if (opaque >= 0)
        H5Tclose(opaque);
    return read ? KVR_OK : kvr_h5_failed(err, "cannot be read");
}

static uint64_t little_endian(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static enum kvr_status find_file(hid_t attribute, struct heap_file *heap, struct kvr_error *err)
{
    void *handle = NULL;
    hsize_t user_block = 0;
    hid_t file = H5Iget_file_id(attribute);
    hid_t creation = file >= 0 ? H5Fget_create_plist(file) : H5I_INVALID_HID;
    bool found = creation >= 0 &&
                 H5Pget_sizes(creation, &heap->address_bytes, &heap->size_bytes) >= 0 &&
                 H5Pget_userblock(creation, &user_block) >= 0 &&
                 H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && handle != NULL;
    enum kvr_status status = found ? KVR_OK : kvr_h5_failed(err, "cannot be read");
    if (found) {
        heap->descriptor = *(int *)handle;
        heap->base = user_block;
        if (heap->address_bytes > 8 || heap->size_bytes > 8)
            status = kvr_fail(err, KVR_UNSUPPORTED, "the file has addresses of over 8 bytes");
    }
    if (creation >= 0)
        H5Pclose(creation);
    if (file >= 0)
        H5Fclose(file);
    return status;
}

static enum kvr_status damaged(struct kvr_error *err)
{
    return kvr_fail(err, KVR_BAD_INPUT, "damaged, its string is not in the file's heap");
}

static enum kvr_status read_at(const struct heap_file *heap, uint64_t offset, void *bytes,
                               size_t size, struct kvr_error *err)
{
    if (offset > INT64_MAX - heap->base)
        return damaged(err);
    ssize_t length = pread(heap->descriptor, bytes, size, (off_t)(heap->base + offset));
    if (length < 0)
        return kvr_fail(err, KVR_IO, "cannot be read: %s", strerror(errno));
    return (size_t)length == size ? KVR_OK : damaged(err);
}

static uint64_t align(uint64_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Walks over the objects of a collection. *offset is where the data of the wanted one begin. */
static enum kvr_status find_object(const struct heap_file *heap, const struct reference *wanted,
                                   uint64_t *offset, struct kvr_error *err)
{
    unsigned char start[OBJECT_START + 8];
    const uint64_t header = align(OBJECT_START + heap->size_bytes);
    enum kvr_status status =
        read_at(heap, wanted->address, start, COLLECTION_START + heap->size_bytes, err);
    if (status != KVR_OK)
        return status;
    if (memcmp(start, "GCOL\1", 5) != 0)
        return damaged(err);
    uint64_t left = little_endian(start + COLLECTION_START, heap->size_bytes);
    uint64_t at = wanted->address + align(COLLECTION_START + heap->size_bytes);
    for (int object = 0; object < MOST_OBJECTS && left > header; object++) {
        status = read_at(heap, at, start, OBJECT_START + heap->size_bytes, err);
        if (status != KVR_OK)
            return status;
        uint64_t index = little_endian(start, 2);
        uint64_t size = little_endian(start + OBJECT_START, heap->size_bytes);
        if (index == 0 || size > left - header)
            break;
        if (index == wanted->index) {
            *offset = at + header;
            return size >= wanted->length ? KVR_OK : damaged(err);
        }
        uint64_t step = header + align(size);
        left -= step < left ? step : left;
        at += step;
    }
    return damaged(err);
}

enum kvr_status kvr_h5_heap_string(hid_t attribute, size_t most, char **text, struct kvr_error *err)
{
    struct heap_file heap = {.descriptor = -1};
    unsigned char stored[MOST_REFERENCE] = {0};
    uint64_t offset = 0;
    enum kvr_status status = find_file(attribute, &heap, err);
    if (status == KVR_OK)
        status =
            read_reference(attribute, LENGTH_BYTES + heap.address_bytes + INDEX_BYTES, stored, err);
    if (status != KVR_OK)
        return status;
    struct reference wanted = {
        .length = little_endian(stored, LENGTH_BYTES),
        .address = little_endian(stored + LENGTH_BYTES, heap.address_bytes),
        .index = little_endian(stored + LENGTH_BYTES + heap.address_bytes, INDEX_BYTES)};
    if (wanted.length > most)
        return kvr_fail(err, KVR_UNSUPPORTED, "expected at most %zu bytes, found %llu", most,
                        (unsigned long long)wanted.length);
    if (wanted.length > 0)
        status = find_object(&heap, &wanted, &offset, err);
    if (status != KVR_OK)
        return status;
    char *copy = kvr_alloc((size_t)wanted.length + 1, 1, err);
    if (copy == NULL)
        return KVR_NO_MEMORY;
    if (wanted.length > 0)
        status = read_at(&heap, offset, copy, (size_t)wanted.length, err);
    if (status != KVR_OK)
        free(copy);
    else
        *text = copy;
    return status;
}
