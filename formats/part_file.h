/*
 * Part files: what one unit of a replay adds to each table, in the order in which it was added.
 *
 * A part is written as it is made, so it needs no memory, and appears whole or not at all. It says
 * which run and which unit it belongs to, and ends with a checksum. Layout, in 64-bit words of the
 * machine's byte order: the magic, the three words of the stamp, blocks, the end. A block is a word
 * of table and kind, a word of its length in bytes, and its bytes, padded with 0; the end is a word
 * like that of a block, the number of blocks and the checksum of all words before it.
 */
#ifndef KVR_PART_FILE_H
#define KVR_PART_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

struct kvr_part_stamp {
    uint64_t run; /* a digest of everything that decides what the tables say */
    uint64_t unit, units;
};

enum kvr_part_kind {
    KVR_PART_ROWS = 1,  /* text for the table */
    KVR_PART_FACTS = 2, /* what the rows add to the summary */
};

struct kvr_part_writer;

/* Starts the part at `path`. Release with kvr_part_commit or kvr_part_abandon. */
enum kvr_status kvr_part_start(const char *path, const struct kvr_part_stamp *stamp,
                               struct kvr_part_writer **out, struct kvr_error *err);

enum kvr_status kvr_part_add(struct kvr_part_writer *writer, enum kvr_part_kind kind,
                             uint32_t table, const void *bytes, size_t length,
                             struct kvr_error *err);

/* Ends the part, gives it its name and releases; on failure nothing is left. */
enum kvr_status kvr_part_commit(struct kvr_part_writer *writer, struct kvr_error *err);

/* NULL is allowed. */
void kvr_part_abandon(struct kvr_part_writer *writer);

struct kvr_part_visitor {
    enum kvr_status (*block)(void *state, enum kvr_part_kind kind, uint32_t table,
                             const void *bytes, size_t length, struct kvr_error *err);
    void *state;
};

/*
 * Reads a part in order; visitor NULL: only checks it. KVR_IO, or KVR_BAD_INPUT with what is wrong,
 * if it is no part, has another stamp or is damaged: the latter may show only after blocks were
 * visited. Blocks are aligned to 8 bytes.
 */
enum kvr_status kvr_part_read(const char *path, const struct kvr_part_stamp *stamp,
                              const struct kvr_part_visitor *visitor, struct kvr_error *err);

#endif
