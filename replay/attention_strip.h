/*
 * Private to attention.c: a strip, some consecutive rows of one head while they are made.
 *
 * A strip's columns are cut into blocks at absolute positions, small enough for the cache. A block
 * is weighed by its own greatest logit; what each row's weights in each block are to be multiplied
 * by is known when all blocks are done. It knows positions, not samples or layers.
 */
#ifndef KVR_ATTENTION_STRIP_H
#define KVR_ATTENTION_STRIP_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/room.h"
#include "formats/base/status.h"
#include "replay/attention_tile.h"

enum {
    KVR_STRIP_TILES = 12,
    KVR_STRIP_ROWS = KVR_STRIP_TILES * KVR_TILE_QUERIES,
    KVR_STRIP_BLOCK = 1024,                                 /* columns of a block */
    KVR_STRIP_STRIDE = KVR_STRIP_BLOCK + 2 * KVR_TILE_KEYS, /* rows must not share cache sets */
};

/* Rows with those that fill up the last tile: they are computed, too. */
static inline size_t kvr_strip_padded(size_t rows)
{
    return (rows + KVR_TILE_QUERIES - 1) / KVR_TILE_QUERIES * KVR_TILE_QUERIES;
}

struct kvr_attention_strip {
    /* Set before the strip is made: row i sees the positions seen[i] … end_seen[i] - 1, none if
       these are equal; both ascend. */
    size_t rows;
    uint64_t seen[KVR_STRIP_ROWS], end_seen[KVR_STRIP_ROWS];
    float *queries; /* [KVR_STRIP_TILES][D][KVR_TILE_QUERIES], 0 behind the last row */

    /* The strip: columns first … end - 1, multiples of a tile, in blocks first_block … */
    uint64_t first, end, first_block;
    size_t block_count;
    float *weights; /* [block_count][rows][KVR_STRIP_STRIDE] */
    float *factors; /* [block_count][KVR_STRIP_ROWS]; until the end the greatest logits */
    double *sums;   /* [block_count][KVR_STRIP_ROWS] of a block's weights */
};

/* What rows are made of. */
struct kvr_strip_source {
    const struct kvr_attention_tile *tile;
    const float *keys;    /* packed: tile after tile, from the one at position `first` on */
    uint64_t first;       /* a multiple of a tile */
    size_t width;         /* D */
    float scale, softcap; /* softcap 0: none */
};

/* Room for strips of up to `rows` rows that are up to `columns` long, and for their queries. */
enum kvr_status kvr_attention_strip_take(struct kvr_room *room, size_t rows, uint64_t columns,
                                         size_t width, struct kvr_attention_strip *strip,
                                         struct kvr_error *err);

void kvr_attention_strip_make(const struct kvr_strip_source *source,
                              struct kvr_attention_strip *strip);

/* Columns from … to - 1 of the strip that lie in one block, at its weights and factors. */
struct kvr_strip_part {
    uint64_t from, to;
    struct kvr_tile_rows rows; /* the weights begin at `from` */
};

/* The part of a block, counted from the strip's first, within [from, to); from >= to if none. */
struct kvr_strip_part kvr_attention_strip_part(const struct kvr_attention_strip *strip,
                                               size_t block, uint64_t from, uint64_t to);

#endif
