/*
 * Writing and reading part files. It must not know what rows or facts are.
 */
#include "formats/part_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/checksum.h"
#include "formats/base/memory.h"
#include "formats/base/outfile.h"

/* "kvrpart1" on little-endian machines; others read each other's. */
#define MAGIC UINT64_C(0x317472617072766b)

enum { WORD = 8, END = 0 };

static uint64_t head_of(enum kvr_part_kind kind, uint32_t table)
{
    return (uint64_t)table << 32 | (uint64_t)kind;
}

static size_t padding_of(uint64_t length)
{
    return (size_t)((WORD - length % WORD) % WORD);
}

/* ------------------------------------------------------------------------------- writing */

struct kvr_part_writer {
    struct kvr_outfile *file;
    uint64_t checksum, blocks;
};

/* Bytes and what fills their last word; the checksum sees the same words as a reader's. */
static enum kvr_status put(struct kvr_part_writer *writer, const void *bytes, size_t length,
                           struct kvr_error *err)
{
    static const char zeros[WORD];
    writer->checksum = kvr_checksum_add(writer->checksum, bytes, length);
    enum kvr_status status = kvr_outfile_write(writer->file, bytes, length, err);
    if (status == KVR_OK && padding_of(length) > 0)
        status = kvr_outfile_write(writer->file, zeros, padding_of(length), err);
    return status;
}

enum kvr_status kvr_part_start(const char *path, const struct kvr_part_stamp *stamp,
                               struct kvr_part_writer **out, struct kvr_error *err)
{
    struct kvr_part_writer *writer = kvr_alloc(1, sizeof *writer, err);
    if (writer == NULL)
        return KVR_NO_MEMORY;
    const uint64_t start[] = {MAGIC, stamp->run, stamp->unit, stamp->units};
    writer->checksum = KVR_CHECKSUM_START;
    enum kvr_status status = kvr_outfile_open(path, &writer->file, err);
    if (status == KVR_OK)
        status = put(writer, start, sizeof start, err);
    if (status == KVR_OK)
        *out = writer;
    else
        kvr_part_abandon(writer);
    return status;
}

enum kvr_status kvr_part_add(struct kvr_part_writer *writer, enum kvr_part_kind kind,
                             uint32_t table, const void *bytes, size_t length,
                             struct kvr_error *err)
{
    const uint64_t head[] = {head_of(kind, table), length};
    enum kvr_status status = put(writer, head, sizeof head, err);
    writer->blocks++;
    return status == KVR_OK ? put(writer, bytes, length, err) : status;
}

enum kvr_status kvr_part_commit(struct kvr_part_writer *writer, struct kvr_error *err)
{
    const uint64_t end[] = {END, writer->blocks};
    enum kvr_status status = put(writer, end, sizeof end, err);
    uint64_t checksum = writer->checksum;
    if (status == KVR_OK)
        status = put(writer, &checksum, sizeof checksum, err);
    if (status == KVR_OK) {
        status = kvr_outfile_commit(writer->file, err);
        writer->file = NULL;
    }
    kvr_part_abandon(writer);
    return status;
}

void kvr_part_abandon(struct kvr_part_writer *writer)
{
    if (writer == NULL)
        return;
    kvr_outfile_abandon(writer->file);
    free(writer);
}

/* ------------------------------------------------------------------------------- reading */

struct reader {
    const char *path;
    FILE *stream;
    uint64_t at, size; /* bytes read, and those of the file */
    uint64_t checksum;
    void *room;
    size_t capacity;
};

static enum kvr_status damaged(const struct reader *reader, const char *expected,
                               struct kvr_error *err)
{
    return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": at byte %llu: expected %s", reader->path,
                    (unsigned long long)reader->at, expected);
}

static enum kvr_status check_left(const struct reader *reader, uint64_t length,
                                  struct kvr_error *err)
{
    if (length <= reader->size - reader->at)
        return KVR_OK;
    return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected more than its %llu bytes: it was cut",
                    reader->path, (unsigned long long)reader->size);
}

/* `length` bytes, a multiple of a word, that add to the checksum. */
static enum kvr_status get(struct reader *reader, void *bytes, size_t length, struct kvr_error *err)
{
    enum kvr_status status = check_left(reader, length, err);
    if (status != KVR_OK)
        return status;
    errno = 0;
    if (fread(bytes, 1, length, reader->stream) != length)
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be read: %s", reader->path,
                        errno != 0 ? strerror(errno) : "it became shorter");
    reader->at += length;
    reader->checksum = kvr_checksum_add(reader->checksum, bytes, length);
    return KVR_OK;
}

static enum kvr_status read_start(struct reader *reader, const struct kvr_part_stamp *stamp,
                                  struct kvr_error *err)
{
    uint64_t start[4];
    enum kvr_status status = get(reader, start, sizeof start, err);
    if (status != KVR_OK)
        return status;
    if (start[0] != MAGIC)
        return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected a part of a replay", reader->path);
    if (start[1] != stamp->run || start[3] != stamp->units)
        return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected a part of this run, found another's",
                        reader->path);
    if (start[2] != stamp->unit)
        return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected unit %llu, found %llu", reader->path,
                        (unsigned long long)stamp->unit, (unsigned long long)start[2]);
    return KVR_OK;
}

/* The bytes of a block, padding included, in reader->room. */
static enum kvr_status read_bytes(struct reader *reader, uint64_t length, struct kvr_error *err)
{
    enum kvr_status status = check_left(reader, length, err); /* before room is made for it */
    size_t padded = (size_t)length + padding_of(length);
    if (status == KVR_OK)
        status = kvr_reserve(&reader->room, &reader->capacity, padded, 1, err);
    return status == KVR_OK ? get(reader, reader->room, padded, err) : status;
}

/* The words after the last block; `blocks` were read. */
static enum kvr_status check_end(struct reader *reader, uint64_t counted, uint64_t blocks,
                                 struct kvr_error *err)
{
    uint64_t checksum = reader->checksum, stored = 0;
    enum kvr_status status = get(reader, &stored, sizeof stored, err);
    if (status != KVR_OK)
        return status;
    if (counted != blocks || stored != checksum)
        return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": its checksum does not fit: it was changed",
                        reader->path);
    return reader->at == reader->size ? KVR_OK : damaged(reader, "the end of the file", err);
}

static enum kvr_status read_blocks(struct reader *reader, const struct kvr_part_visitor *visitor,
                                   struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (uint64_t blocks = 0; status == KVR_OK; blocks++) {
        uint64_t head[2];
        status = get(reader, head, sizeof head, err);
        if (status != KVR_OK)
            break;
        if (head[0] == END)
            return check_end(reader, head[1], blocks, err);
        uint64_t kind = head[0] & UINT32_MAX;
        if (kind != KVR_PART_ROWS && kind != KVR_PART_FACTS)
            return damaged(reader, "rows or facts", err);
        status = read_bytes(reader, head[1], err);
        if (status == KVR_OK && visitor != NULL)
            status = visitor->block(visitor->state, (enum kvr_part_kind)kind,
                                    (uint32_t)(head[0] >> 32), reader->room, (size_t)head[1], err);
    }
    return status;
}

enum kvr_status kvr_part_read(const char *path, const struct kvr_part_stamp *stamp,
                              const struct kvr_part_visitor *visitor, struct kvr_error *err)
{
    struct reader reader = {.path = path, .checksum = KVR_CHECKSUM_START};
    struct stat info;
    if (stat(path, &info) != 0)
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) /* a pipe would be waited for */
        return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected a file", path);
    reader.stream = fopen(path, "rb");
    if (reader.stream == NULL || fstat(fileno(reader.stream), &info) != 0) {
        int cause = errno;
        if (reader.stream != NULL)
            fclose(reader.stream);
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be read: %s", path, strerror(cause));
    }
    reader.size = (uint64_t)info.st_size;
    enum kvr_status status = read_start(&reader, stamp, err);
    if (status == KVR_OK)
        status = read_blocks(&reader, visitor, err);
    fclose(reader.stream);
    free(reader.room);
    return status;
}
