/*
 * Local headers, bytes, directory. Sizes always stand in ZIP64 fields, since they are not known
 * when a local header is written; checksum and sizes are put in when the next entry starts.
 */
#include "formats/npz_writer.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/text.h"
#include "formats/inflate.h"
#include "formats/npy.h"
#include "formats/sink.h"

enum {
    LOCAL_HEADER = 30,
    LOCAL_EXTRA = 20,   /* ZIP64: two sizes */
    ENTRY_EXTRA = 28,   /* ZIP64: two sizes and the place of the local header */
    NEEDED_VERSION = 45 /* 4.5: the first that knows ZIP64 */
};

static const uint32_t FULL = UINT32_MAX;

struct kvr_npz_writer {
    struct kvr_sink *sink;
    uint64_t at;               /* end of what was written */
    struct kvr_text directory; /* entries that are complete */
    uint64_t entries;
    /* The entry that is being written; name is NULL if there is none. */
    char *name;
    uint64_t header, size;
    uint32_t crc;
};

static void put(struct kvr_text *text, uint64_t value, unsigned width)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < width; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    kvr_text_bytes(text, (const char *)bytes, width);
}

/* What local header and directory share: version … length of the name. */
static void put_common(struct kvr_text *text, const struct kvr_npz_writer *writer,
                       unsigned extra_length)
{
    put(text, NEEDED_VERSION, 2);
    put(text, 0, 2);          /* flags */
    put(text, 0, 2);          /* stored */
    put(text, 0x00210000, 4); /* 1980-01-01, the least time that there is */
    put(text, writer->crc, 4);
    put(text, FULL, 4);
    put(text, FULL, 4);
    put(text, strlen(writer->name), 2);
    put(text, extra_length, 2);
}

static enum kvr_status write_text(struct kvr_npz_writer *writer, const struct kvr_text *text,
                                  uint64_t at, struct kvr_error *err)
{
    enum kvr_status status = kvr_text_check(text, err);
    if (status != KVR_OK)
        return status;
    kvr_sink_write(writer->sink, text->data, text->length, at);
    return kvr_sink_check(writer->sink, err);
}

static enum kvr_status write_local_header(struct kvr_npz_writer *writer, struct kvr_error *err)
{
    struct kvr_text text = {0};
    put(&text, 0x04034b50, 4);
    put_common(&text, writer, LOCAL_EXTRA);
    kvr_text_string(&text, writer->name);
    put(&text, 1, 2);
    put(&text, LOCAL_EXTRA - 4, 2);
    put(&text, writer->size, 8);
    put(&text, writer->size, 8);
    enum kvr_status status = write_text(writer, &text, writer->header, err);
    kvr_text_free(&text);
    return status;
}

static enum kvr_status finish_entry(struct kvr_npz_writer *writer, struct kvr_error *err)
{
    if (writer->name == NULL)
        return KVR_OK;
    enum kvr_status status = write_local_header(writer, err);
    struct kvr_text *text = &writer->directory;
    put(text, 0x02014b50, 4);
    put(text, NEEDED_VERSION, 2);
    put_common(text, writer, ENTRY_EXTRA);
    put(text, 0, 2); /* comment */
    put(text, 0, 2); /* volume */
    put(text, 0, 2); /* attributes */
    put(text, 0, 4);
    put(text, FULL, 4);
    kvr_text_string(text, writer->name);
    put(text, 1, 2);
    put(text, ENTRY_EXTRA - 4, 2);
    put(text, writer->size, 8);
    put(text, writer->size, 8);
    put(text, writer->header, 8);
    writer->entries++;
    free(writer->name);
    writer->name = NULL;
    return status;
}

enum kvr_status kvr_npz_writer_open(const char *path, struct kvr_npz_writer **out,
                                    struct kvr_error *err)
{
    struct kvr_npz_writer *writer = kvr_alloc(1, sizeof *writer, err);
    if (writer == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_sink_open(path, &writer->sink, err);
    if (status != KVR_OK)
        free(writer);
    else
        *out = writer;
    return status;
}

enum kvr_status kvr_npz_writer_array(struct kvr_npz_writer *writer, const char *name,
                                     const char *descr, unsigned rank, const uint64_t *shape,
                                     struct kvr_error *err)
{
    struct kvr_text full = {0}, header = {0};
    enum kvr_status status = finish_entry(writer, err);
    kvr_text_add(&full, "%s.npy", name);
    if (status == KVR_OK)
        status = kvr_text_check(&full, err);
    if (status != KVR_OK) {
        kvr_text_free(&full);
        return status;
    }
    writer->name = full.data;
    writer->header = writer->at;
    writer->size = 0;
    writer->crc = 0;
    writer->at += LOCAL_HEADER + strlen(writer->name) + LOCAL_EXTRA;
    kvr_npy_add_header(&header, descr, rank, shape);
    status = kvr_text_check(&header, err);
    if (status == KVR_OK)
        status = kvr_npz_writer_bytes(writer, header.data, header.length, err);
    kvr_text_free(&header);
    return status;
}

enum kvr_status kvr_npz_writer_bytes(struct kvr_npz_writer *writer, const void *bytes, size_t size,
                                     struct kvr_error *err)
{
    kvr_sink_write(writer->sink, bytes, size, writer->at);
    writer->crc = kvr_crc32(writer->crc, bytes, size);
    writer->at += size;
    writer->size += size;
    return kvr_sink_check(writer->sink, err);
}

static enum kvr_status write_directory(struct kvr_npz_writer *writer, struct kvr_error *err)
{
    const uint64_t start = writer->at, size = writer->directory.length, end64 = start + size;
    struct kvr_text *text = &writer->directory;
    put(text, 0x06064b50, 4);
    put(text, 44, 8); /* bytes that follow in this record */
    put(text, NEEDED_VERSION, 2);
    put(text, NEEDED_VERSION, 2);
    put(text, 0, 8); /* volumes */
    put(text, writer->entries, 8);
    put(text, writer->entries, 8);
    put(text, size, 8);
    put(text, start, 8);
    put(text, 0x07064b50, 4);
    put(text, 0, 4);
    put(text, end64, 8);
    put(text, 1, 4);
    put(text, 0x06054b50, 4);
    put(text, 0, 4); /* volumes */
    put(text, 0xffff, 2);
    put(text, 0xffff, 2);
    put(text, FULL, 4);
    put(text, FULL, 4);
    put(text, 0, 2);
    return write_text(writer, text, start, err);
}

static void release(struct kvr_npz_writer *writer)
{
    kvr_text_free(&writer->directory);
    free(writer->name);
    free(writer);
}

enum kvr_status kvr_npz_writer_commit(struct kvr_npz_writer *writer, struct kvr_error *err)
{
    enum kvr_status status = finish_entry(writer, err);
    if (status == KVR_OK)
        status = write_directory(writer, err);
    if (status == KVR_OK)
        status = kvr_sink_commit(writer->sink, err);
    else
        kvr_sink_abandon(writer->sink);
    release(writer);
    return status;
}

void kvr_npz_writer_abandon(struct kvr_npz_writer *writer)
{
    if (writer == NULL)
        return;
    kvr_sink_abandon(writer->sink);
    release(writer);
}
