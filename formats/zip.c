/*
 * The end record, the central directory and the local headers of a ZIP archive. Nothing is inflated
 * here. Sizes and places are those of the central directory; the local header must not contradict.
 */
#include "formats/zip.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"

enum {
    END_RECORD = 22,
    LOCATOR64 = 20,
    END_RECORD64 = 56,
    DIRECTORY_ENTRY = 46,
    LOCAL_HEADER = 30,
    MOST_COMMENT = 65535,
    ENCRYPTED = 1,
    STORED = 0,
    DEFLATED = 8,
};

static const uint32_t LOCAL_MARK = 0x04034b50, ENTRY_MARK = 0x02014b50, END_MARK = 0x06054b50,
                      LOCATOR64_MARK = 0x07064b50, END64_MARK = 0x06064b50;

static uint64_t little(const unsigned char *bytes, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = width; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

bool kvr_zip_starts(const unsigned char *bytes, size_t size)
{
    return size >= END_RECORD && (little(bytes, 4) == LOCAL_MARK || little(bytes, 4) == END_MARK);
}

/* The central directory. */
struct directory {
    uint64_t entries, size, start;
};

static enum kvr_status damaged(struct kvr_error *err, const char *what)
{
    return kvr_fail(err, KVR_BAD_INPUT, "no ZIP archive that can be read: %s", what);
}

/* The 64-bit end record, which a locator in front of the end record points to. */
static enum kvr_status read_end64(const unsigned char *bytes, size_t end,
                                  struct directory *directory, struct kvr_error *err)
{
    if (end < LOCATOR64 || little(bytes + end - LOCATOR64, 4) != LOCATOR64_MARK)
        return KVR_OK;
    uint64_t at = little(bytes + end - LOCATOR64 + 8, 8);
    if (at > end - LOCATOR64 || end - LOCATOR64 - at < END_RECORD64 ||
        little(bytes + at, 4) != END64_MARK)
        return damaged(err, "its 64-bit end record is not where it should be");
    directory->entries = little(bytes + at + 32, 8);
    directory->size = little(bytes + at + 40, 8);
    directory->start = little(bytes + at + 48, 8);
    return KVR_OK;
}

static enum kvr_status find_directory(const unsigned char *bytes, size_t size,
                                      struct directory *directory, struct kvr_error *err)
{
    if (size < END_RECORD)
        return damaged(err, "it is too short");
    size_t end = size - END_RECORD, least = end > MOST_COMMENT ? end - MOST_COMMENT : 0;
    while (little(bytes + end, 4) != END_MARK ||
           little(bytes + end + 20, 2) != size - END_RECORD - end) {
        if (end == least)
            return damaged(err, "it has no end record, so it was cut off");
        end--;
    }
    *directory = (struct directory){
        .entries = little(bytes + end + 10, 2),
        .size = little(bytes + end + 12, 4),
        .start = little(bytes + end + 16, 4),
    };
    if (little(bytes + end + 4, 2) != 0 && little(bytes + end + 4, 2) != 0xffff)
        return kvr_fail(err, KVR_UNSUPPORTED, "ZIP archives of several volumes are refused");
    enum kvr_status status = read_end64(bytes, end, directory, err);
    if (status != KVR_OK)
        return status;
    if (directory->start > end || directory->size > end - directory->start ||
        directory->entries > directory->size / DIRECTORY_ENTRY)
        return damaged(err, "its directory does not lie within it");
    return KVR_OK;
}

/* Sizes of 32 bits that are full stand in the extra field with 64 bits, in this order. */
static enum kvr_status read_extra(const unsigned char *extra, size_t length, uint64_t *size,
                                  uint64_t *stored, uint64_t *header, struct kvr_error *err)
{
    uint64_t *const values[] = {size, stored, header};
    for (size_t at = 0; at + 4 <= length;) {
        size_t field = little(extra + at + 2, 2), used = 0;
        if (field > length - at - 4)
            break;
        for (size_t i = 0; little(extra + at, 2) == 1 && i < 3; i++) {
            if (*values[i] != UINT32_MAX)
                continue;
            if (field - used < 8)
                return damaged(err, "a ZIP64 field is too short");
            *values[i] = little(extra + at + 4 + used, 8);
            used += 8;
        }
        at += 4 + field;
    }
    return KVR_OK;
}

/* The bytes behind the local header at `header`. */
static enum kvr_status find_bytes(const unsigned char *bytes, size_t size, uint64_t header,
                                  const char *name, size_t name_length, struct kvr_zip_entry *entry,
                                  struct kvr_error *err)
{
    if (header > size || size - header < LOCAL_HEADER || little(bytes + header, 4) != LOCAL_MARK)
        return damaged(err, "a local header is not where the directory says");
    uint64_t own = little(bytes + header + 26, 2);
    uint64_t start = header + LOCAL_HEADER + own + little(bytes + header + 28, 2);
    if (start > size || entry->stored > size - start)
        return damaged(err, "its bytes do not lie within the file");
    if (own != name_length || memcmp(bytes + header + LOCAL_HEADER, name, name_length) != 0)
        return damaged(err, "the local header bears another name");
    entry->bytes = bytes + start;
    return KVR_OK;
}

static enum kvr_status read_entry(const unsigned char *bytes, size_t size, uint64_t *at,
                                  uint64_t end, struct kvr_zip_entry *entry, struct kvr_error *err)
{
    const unsigned char *record = bytes + *at;
    if (end - *at < DIRECTORY_ENTRY || little(record, 4) != ENTRY_MARK)
        return damaged(err, "an entry of its directory is missing");
    size_t name = little(record + 28, 2), extra = little(record + 30, 2);
    size_t comment = little(record + 32, 2);
    if (end - *at - DIRECTORY_ENTRY < name + extra + comment)
        return damaged(err, "an entry of its directory is cut off");
    const char *text = (const char *)record + DIRECTORY_ENTRY;
    uint64_t header = little(record + 42, 4);
    entry->name = kvr_copy_bytes(text, name, err);
    if (entry->name == NULL)
        return KVR_NO_MEMORY;
    if (strlen(entry->name) != name)
        return damaged(err, "a name holds a zero byte");
    entry->crc = (uint32_t)little(record + 16, 4);
    entry->stored = little(record + 20, 4);
    entry->size = little(record + 24, 4);
    enum kvr_status status = read_extra(record + DIRECTORY_ENTRY + name, extra, &entry->size,
                                        &entry->stored, &header, err);
    unsigned method = (unsigned)little(record + 10, 2);
    entry->deflated = method == DEFLATED;
    if (status == KVR_OK && (little(record + 8, 2) & ENCRYPTED) != 0)
        status = kvr_fail(err, KVR_UNSUPPORTED, "it is encrypted");
    if (status == KVR_OK && method != STORED && method != DEFLATED)
        status = kvr_fail(err, KVR_UNSUPPORTED,
                          "expected compression 0 (stored) or 8 (deflate), found %u", method);
    if (status == KVR_OK && method == STORED && entry->stored != entry->size)
        status = damaged(err, "a stored entry has two sizes");
    if (status == KVR_OK)
        status = find_bytes(bytes, size, header, text, name, entry, err);
    *at += DIRECTORY_ENTRY + name + extra + comment;
    return status == KVR_OK ? status : kvr_at(err, "%s", entry->name);
}

static int by_place(const void *left, const void *right)
{
    const struct kvr_zip_entry *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return (a->stored > b->stored) - (a->stored < b->stored);
}

static enum kvr_status check_overlap(struct kvr_zip_entry *entries, size_t count,
                                     struct kvr_error *err)
{
    if (count > 0)
        qsort(entries, count, sizeof *entries, by_place);
    for (size_t i = 1; i < count; i++)
        if (entries[i].bytes < entries[i - 1].bytes + entries[i - 1].stored)
            return kvr_fail(err, KVR_BAD_INPUT, "%s: its bytes overlap those of %s",
                            entries[i].name, entries[i - 1].name);
    return KVR_OK;
}

enum kvr_status kvr_zip_parse(const unsigned char *bytes, size_t size,
                              struct kvr_zip_entry **entries, size_t *count, struct kvr_error *err)
{
    struct directory directory = {0};
    *entries = NULL;
    *count = 0;
    enum kvr_status status = find_directory(bytes, size, &directory, err);
    if (status != KVR_OK)
        return status;
    *entries = kvr_alloc((size_t)directory.entries, sizeof **entries, err);
    if (*entries == NULL)
        return KVR_NO_MEMORY;
    uint64_t at = directory.start;
    while (status == KVR_OK && *count < directory.entries)
        status = read_entry(bytes, size, &at, directory.start + directory.size,
                            &(*entries)[(*count)++], err);
    return status == KVR_OK ? check_overlap(*entries, *count, err) : status;
}

void kvr_zip_free(struct kvr_zip_entry *entries, size_t count)
{
    for (size_t i = 0; entries != NULL && i < count; i++)
        free(entries[i].name);
    free(entries);
}
