/*
 * Mapping a file, finding out its format, inflating what is deflated. What arrays mean it must not
 * know.
 */
#include "formats/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/inflate.h"
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "formats/zip.h"

struct mapping {
    unsigned char *bytes;
    size_t size;
};

struct kvr_archive_memory {
    struct mapping file;
    struct mapping inflated; /* all deflated entries, one after the other */
    size_t inflated_used;
};

/* Entries start at multiples of this, as arrays of any type may. */
enum { ENTRY_ALIGNMENT = 64 };

/* Deflate cannot make more bytes than this of one. */
enum { MOST_INFLATION = 1032 };

static enum kvr_status map_file(const char *path, struct mapping *mapping, struct kvr_error *err)
{
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us up */
    if (file < 0 || fstat(file, &facts) != 0) {
        enum kvr_status status = kvr_fail(err, KVR_IO, "%s", strerror(errno));
        if (file >= 0)
            close(file);
        return status;
    }
    void *bytes = MAP_FAILED;
    if (S_ISREG(facts.st_mode) && facts.st_size > 0)
        bytes = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    int cause = errno;
    close(file);
    if (!S_ISREG(facts.st_mode))
        return kvr_fail(err, KVR_BAD_INPUT, "expected a file");
    if (facts.st_size == 0)
        return kvr_fail(err, KVR_BAD_INPUT, "the file is empty");
    if (bytes == MAP_FAILED)
        return kvr_fail(err, KVR_IO, "%s", strerror(cause));
    *mapping = (struct mapping){bytes, (size_t)facts.st_size};
    return KVR_OK;
}

/* `size` writable bytes of a temporary file that has no name. Room is taken at once: writing to a
   mapped file on a full disk would end the program. */
static enum kvr_status map_temporary(size_t size, struct mapping *mapping, struct kvr_error *err)
{
    FILE *file = tmpfile();
    int cause = file == NULL ? errno : posix_fallocate(fileno(file), 0, (off_t)size);
    mapping->size = size;
    mapping->bytes = MAP_FAILED;
    if (cause == 0) {
        mapping->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
        cause = errno;
    }
    if (file != NULL)
        fclose(file);
    if (mapping->bytes == MAP_FAILED)
        return kvr_fail(err, KVR_IO, "%zu bytes cannot be inflated into a temporary file: %s", size,
                        strerror(cause));
    return KVR_OK;
}

/* What a deflated entry takes of the temporary file. */
static size_t room_of(const struct kvr_zip_entry *entry)
{
    size_t size = entry->deflated ? (size_t)entry->size : 0;
    return (size + ENTRY_ALIGNMENT - 1) / ENTRY_ALIGNMENT * ENTRY_ALIGNMENT;
}

/* One temporary file for all: a file for each of thousands of entries takes minutes. Declared sizes
   are not believed beyond what deflate can do, so it stays in proportion to the archive. */
static enum kvr_status make_room(struct kvr_archive_memory *memory,
                                 const struct kvr_zip_entry *entries, size_t count,
                                 struct kvr_error *err)
{
    size_t room = 0;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].deflated && entries[i].size / MOST_INFLATION > entries[i].stored)
            return kvr_fail(err, KVR_BAD_INPUT, "%s: damaged: %llu deflated bytes cannot hold %llu",
                            entries[i].name, (unsigned long long)entries[i].stored,
                            (unsigned long long)entries[i].size);
        room += room_of(&entries[i]);
    }
    return room > 0 ? map_temporary(room, &memory->inflated, err) : KVR_OK;
}

/* The bytes of an entry, inflated if need be and checked. */
static enum kvr_status entry_bytes(struct kvr_archive_memory *memory,
                                   const struct kvr_zip_entry *entry, const unsigned char **bytes,
                                   struct kvr_error *err)
{
    *bytes = entry->bytes;
    if (entry->deflated && entry->size > 0) {
        unsigned char *inflated = memory->inflated.bytes + memory->inflated_used;
        memory->inflated_used += room_of(entry);
        if (!kvr_inflate_raw(entry->bytes, (size_t)entry->stored, inflated, (size_t)entry->size))
            return kvr_fail(err, KVR_BAD_INPUT, "damaged: it does not inflate to %llu bytes",
                            (unsigned long long)entry->size);
        *bytes = inflated;
    }
    uint32_t crc = kvr_crc32(0, *bytes, (size_t)entry->size);
    if (crc != entry->crc)
        return kvr_fail(err, KVR_BAD_INPUT, "damaged: expected the checksum %08x, found %08x",
                        entry->crc, crc);
    return KVR_OK;
}

static enum kvr_status add_entry(struct kvr_archive *archive, const struct kvr_zip_entry *entry,
                                 struct kvr_error *err)
{
    const unsigned char *bytes = NULL;
    struct kvr_array *array = &archive->arrays[archive->count];
    size_t length = strlen(entry->name);
    enum kvr_status status = entry_bytes(archive->memory, entry, &bytes, err);
    if (status == KVR_OK)
        status = kvr_npy_parse(bytes, (size_t)entry->size, array, err);
    if (status != KVR_OK)
        return kvr_at(err, "%s", entry->name);
    if (length > 4 && strcmp(entry->name + length - 4, ".npy") == 0)
        length -= 4;
    array->name = kvr_copy_bytes(entry->name, length, err);
    if (array->name == NULL)
        return KVR_NO_MEMORY;
    archive->count++;
    return KVR_OK;
}

static enum kvr_status open_zip(struct kvr_archive *archive, struct kvr_error *err)
{
    const struct mapping *file = &archive->memory->file;
    struct kvr_zip_entry *entries;
    size_t count;
    enum kvr_status status = kvr_zip_parse(file->bytes, file->size, &entries, &count, err);
    if (status == KVR_OK) {
        archive->arrays = kvr_alloc(count, sizeof *archive->arrays, err);
        status = archive->arrays != NULL ? make_room(archive->memory, entries, count, err)
                                         : KVR_NO_MEMORY;
    }
    for (size_t i = 0; status == KVR_OK && i < count; i++) {
        size_t length = strlen(entries[i].name);
        if (length > 0 && entries[i].name[length - 1] != '/') /* folders have entries, too */
            status = add_entry(archive, &entries[i], err);
    }
    kvr_zip_free(entries, count);
    return status;
}

static enum kvr_status open_npy(struct kvr_archive *archive, struct kvr_error *err)
{
    const struct mapping *file = &archive->memory->file;
    const char *name = kvr_base_name(archive->path), *dot = strrchr(name, '.');
    archive->arrays = kvr_alloc(1, sizeof *archive->arrays, err);
    if (archive->arrays == NULL)
        return KVR_NO_MEMORY;
    size_t length = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);
    archive->arrays[0].name = kvr_copy_bytes(name, length, err);
    archive->count = 1;
    if (archive->arrays[0].name == NULL)
        return KVR_NO_MEMORY;
    return kvr_npy_parse(file->bytes, file->size, &archive->arrays[0], err);
}

static enum kvr_status open_by_content(struct kvr_archive *archive, struct kvr_error *err)
{
    struct mapping *file = &archive->memory->file;
    enum kvr_status status = map_file(archive->path, file, err);
    if (status != KVR_OK)
        return status;
    if (kvr_zip_starts(file->bytes, file->size))
        status = open_zip(archive, err);
    else if (kvr_npy_starts(file->bytes, file->size))
        status = open_npy(archive, err);
    else if (file->size > 8 && (file->bytes[8] == '{' || strstr(archive->path, ".safetensors")))
        status =
            kvr_safetensors_parse(file->bytes, file->size, &archive->arrays, &archive->count, err);
    else
        status = kvr_fail(err, KVR_BAD_INPUT,
                          "expected a .npy, .npz or .safetensors file, found something else");
    if (status == KVR_OK && archive->count == 0)
        status = kvr_fail(err, KVR_BAD_INPUT, "it holds no arrays");
    return status;
}

enum kvr_status kvr_archive_open(const char *path, struct kvr_archive **out, struct kvr_error *err)
{
    struct kvr_archive *archive = kvr_alloc(1, sizeof *archive, err);
    if (archive == NULL)
        return KVR_NO_MEMORY;
    archive->path = kvr_copy_string(path, err);
    archive->memory = kvr_alloc(1, sizeof *archive->memory, err);
    enum kvr_status status = KVR_NO_MEMORY;
    if (archive->path != NULL && archive->memory != NULL)
        status = open_by_content(archive, err);
    if (status != KVR_OK) {
        kvr_archive_close(archive);
        return status == KVR_NO_MEMORY ? status : kvr_at(err, "\"%s\"", path);
    }
    *out = archive;
    return KVR_OK;
}

void kvr_archive_close(struct kvr_archive *archive)
{
    if (archive == NULL)
        return;
    struct kvr_archive_memory *memory = archive->memory;
    for (size_t i = 0; i < archive->count; i++)
        free(archive->arrays[i].name);
    if (memory != NULL && memory->inflated.bytes != NULL)
        munmap(memory->inflated.bytes, memory->inflated.size);
    if (memory != NULL && memory->file.bytes != NULL)
        munmap(memory->file.bytes, memory->file.size);
    free(memory);
    free(archive->arrays);
    free(archive->path);
    free(archive);
}
