/*
 * FNV-1a over words of a file. It guards against mix-ups, not against malice.
 */
#include "formats/base/checksum.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/memory.h"

enum { EDGE = 1 << 20, BLOCK = 1 << 16, BLOCKS = 62, WHOLE = 1 << 24 };

uint64_t kvr_checksum_add(uint64_t hash, const void *values, size_t length)
{
    const unsigned char *bytes = values;
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = 0;
        for (size_t b = 0; b < 8 && i + b < length; b++)
            word |= (uint64_t)bytes[i + b] << (8 * b);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Adds up to `length` bytes at `offset`; false if they cannot be read. */
static bool add_range(FILE *stream, uint64_t offset, size_t length, unsigned char *room,
                      uint64_t *hash)
{
    if (fseeko(stream, (off_t)offset, SEEK_SET) != 0)
        return false;
    size_t got = fread(room, 1, length, stream);
    *hash = kvr_checksum_add(*hash, room, got);
    return got == length;
}

static bool add_sampled(FILE *stream, uint64_t size, unsigned char *room, uint64_t *hash)
{
    bool read = add_range(stream, 0, EDGE, room, hash);
    uint64_t step = (size - 2 * EDGE) / BLOCKS;
    for (uint64_t i = 0; read && i < BLOCKS; i++)
        read = add_range(stream, EDGE + i * step, BLOCK, room, hash);
    return read && add_range(stream, size - EDGE, EDGE, room, hash);
}

static bool add_whole(FILE *stream, uint64_t size, unsigned char *room, uint64_t *hash)
{
    bool read = true;
    for (uint64_t at = 0; read && at < size; at += EDGE)
        read = add_range(stream, at, size - at < EDGE ? (size_t)(size - at) : EDGE, room, hash);
    return read;
}

enum kvr_status kvr_checksum_file(const char *path, struct kvr_checksum *checksum,
                                  struct kvr_error *err)
{
    unsigned char *room = kvr_alloc(EDGE, 1, err);
    if (room == NULL)
        return KVR_NO_MEMORY;
    struct stat info;
    uint64_t hash = KVR_CHECKSUM_START;
    FILE *stream = fopen(path, "rb");
    bool read = stream != NULL && fstat(fileno(stream), &info) == 0;
    if (read) {
        checksum->size = (uint64_t)info.st_size;
        checksum->sampled = checksum->size > WHOLE;
        read = checksum->sampled ? add_sampled(stream, checksum->size, room, &hash)
                                 : add_whole(stream, checksum->size, room, &hash);
    }
    checksum->fnv = hash;
    int cause = errno;
    if (stream != NULL)
        fclose(stream);
    free(room);
    return read ? KVR_OK
                : kvr_fail(err, KVR_IO, "\"%s\": cannot be read: %s", path, strerror(cause));
}
