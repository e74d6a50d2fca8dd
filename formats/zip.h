/*
 * Reading the directory of a ZIP archive, ZIP64 included: what NumPy's .npz files are.
 */
#ifndef KVR_ZIP_H
#define KVR_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

struct kvr_zip_entry {
    char *name;
    const unsigned char *bytes; /* as stored, inside the file */
    uint64_t stored, size;      /* bytes before and after inflating */
    bool deflated;              /* else stored as they are */
    uint32_t crc;               /* of the inflated bytes */
};

/* True if bytes start as a ZIP archive does. */
bool kvr_zip_starts(const unsigned char *bytes, size_t size);

/*
 * Fills *entries, an allocation of *count, from the archive of `size` bytes; release with
 * kvr_zip_free, after a failure, too. Encrypted, split and overlapping entries, and other
 * compressions than deflate, are refused by name.
 */
enum kvr_status kvr_zip_parse(const unsigned char *bytes, size_t size,
                              struct kvr_zip_entry **entries, size_t *count, struct kvr_error *err);
void kvr_zip_free(struct kvr_zip_entry *entries, size_t count);

#endif
