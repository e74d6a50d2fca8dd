/*
 * Making a strip, block by block: logits tile by tile, then each row's weights.
 */
#include "replay/attention_strip.h"

#include <math.h>
#include <string.h>

#include "formats/base/memory.h"

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

enum kvr_status kvr_attention_strip_take(struct kvr_room *room, size_t rows, uint64_t columns,
                                         size_t width, struct kvr_attention_strip *strip,
                                         struct kvr_error *err)
{
    *strip = (struct kvr_attention_strip){0};
    rows = rows < KVR_STRIP_ROWS ? rows : KVR_STRIP_ROWS;
    rows = kvr_strip_padded(rows);
    size_t blocks = (size_t)(columns / KVR_STRIP_BLOCK) + 2, weights;
    if (!kvr_size_product(rows * KVR_STRIP_STRIDE, blocks, &weights))
        return kvr_fail(err, KVR_NO_MEMORY, "rows are too long");
    strip->weights = kvr_room_take(room, weights, sizeof *strip->weights, err);
    strip->factors = kvr_room_take(room, blocks * KVR_STRIP_ROWS, sizeof *strip->factors, err);
    strip->sums = kvr_room_take(room, blocks * KVR_STRIP_ROWS, sizeof *strip->sums, err);
    strip->queries = kvr_room_take(room, KVR_STRIP_ROWS * width, sizeof *strip->queries, err);
    bool failed = strip->weights == NULL || strip->factors == NULL || strip->sums == NULL ||
                  strip->queries == NULL;
    return failed ? KVR_NO_MEMORY : KVR_OK;
}

static uint64_t block_start(const struct kvr_attention_strip *strip, size_t block)
{
    return (strip->first_block + block) * KVR_STRIP_BLOCK;
}

static float *row_of(const struct kvr_attention_strip *strip, size_t block, size_t row)
{
    return strip->weights + (block * kvr_strip_padded(strip->rows) + row) * KVR_STRIP_STRIDE;
}

/* Keys in the outer loop: a tile of them meets all queries of the strip while it is in the cache.
   Tiles that no query sees are left out. */
static void make_logits(const struct kvr_strip_source *source,
                        const struct kvr_attention_strip *strip, size_t block, uint64_t from,
                        uint64_t to)
{
    for (uint64_t t = from; t < to; t += KVR_TILE_KEYS) {
        const float *keys = source->keys + (size_t)(t - source->first) * source->width;
        for (size_t i = 0; i < strip->rows; i += KVR_TILE_QUERIES) {
            size_t last = (size_t)least_of(i + KVR_TILE_QUERIES, strip->rows) - 1;
            if (t >= strip->end_seen[last] || t + KVR_TILE_KEYS <= strip->seen[i])
                continue;
            source->tile->logits(
                strip->queries + i * source->width, keys, source->width, source->scale,
                row_of(strip, block, i) + (t - block_start(strip, block)), KVR_STRIP_STRIDE);
        }
    }
}

static void fill(float *values, uint64_t from, uint64_t to, float value)
{
    for (uint64_t t = from; t < to; t++)
        values[t] = value;
}

/* Logits of a row in columns from … to - 1 of a block to weights; 0 where it does not see. */
static void weigh(const struct kvr_strip_source *source, struct kvr_attention_strip *strip,
                  size_t block, size_t i, uint64_t from, uint64_t to)
{
    const struct kvr_attention_tile *tile = source->tile;
    size_t at = block * KVR_STRIP_ROWS + i;
    float *row = row_of(strip, block, i);
    uint64_t base = block_start(strip, block);
    uint64_t seen = most_of(strip->seen[i], from), end = least_of(strip->end_seen[i], to);
    from -= base, to -= base;
    strip->factors[at] = KVR_TILE_LEAST_LOGIT;
    strip->sums[at] = 0;
    if (seen >= end) {
        fill(row, from, to, 0);
        return;
    }
    seen -= base, end -= base;
    uint64_t first = seen / KVR_TILE_KEYS * KVR_TILE_KEYS;
    uint64_t stop = (end + KVR_TILE_KEYS - 1) / KVR_TILE_KEYS * KVR_TILE_KEYS;
    fill(row, from, first, 0);
    fill(row, stop, to, 0);
    if (source->softcap > 0)
        tile->cap(row + first, (size_t)(stop - first), source->softcap);
    fill(row, first, seen, -INFINITY);
    fill(row, end, stop, -INFINITY);
    strip->factors[at] = tile->greatest(row + first, (size_t)(stop - first));
    strip->sums[at] = tile->weigh(row + first, (size_t)(stop - first), strip->factors[at]);
}

/* A row that is no distribution: NaN where it sees. */
static void break_row(struct kvr_attention_strip *strip, size_t i)
{
    for (size_t block = 0; block < strip->block_count; block++) {
        uint64_t base = block_start(strip, block);
        uint64_t from = most_of(base, strip->first);
        uint64_t to = least_of(base + KVR_STRIP_BLOCK, strip->end);
        float *row = row_of(strip, block, i);
        fill(row, from - base, to - base, 0); /* not NaN, as a product with the factor would be */
        from = most_of(from, strip->seen[i]);
        to = least_of(to, strip->end_seen[i]);
        if (from < to)
            fill(row, from - base, to - base, NAN);
        strip->factors[block * KVR_STRIP_ROWS + i] = 1;
    }
}

/* From the greatest logits and sums of a row's blocks to the factors that make it sum to 1. */
static void normalise(const struct kvr_strip_source *source, struct kvr_attention_strip *strip,
                      size_t i)
{
    float *factors = strip->factors + i, most = KVR_TILE_LEAST_LOGIT;
    const double *sums = strip->sums + i;
    double total = 0;
    for (size_t b = 0; b < strip->block_count; b++)
        most = factors[b * KVR_STRIP_ROWS] > most ? factors[b * KVR_STRIP_ROWS] : most;
    for (size_t b = 0; b < strip->block_count; b++) {
        float share[KVR_TILE_LANES];
        fill(share, 0, KVR_TILE_LANES, factors[b * KVR_STRIP_ROWS]);
        source->tile->weigh(share, KVR_TILE_LANES, most);
        factors[b * KVR_STRIP_ROWS] = share[0];
        total += sums[b * KVR_STRIP_ROWS] * (double)share[0];
    }
    if (strip->seen[i] < strip->end_seen[i] && !(isfinite(total) && total > 0)) {
        break_row(strip, i);
        return;
    }
    for (size_t b = 0; b < strip->block_count && total > 0; b++)
        factors[b * KVR_STRIP_ROWS] = (float)((double)factors[b * KVR_STRIP_ROWS] / total);
}

void kvr_attention_strip_make(const struct kvr_strip_source *source,
                              struct kvr_attention_strip *strip)
{
    size_t last = strip->rows - 1;
    strip->first = strip->seen[0] / KVR_TILE_KEYS * KVR_TILE_KEYS;
    strip->end = (strip->end_seen[last] + KVR_TILE_KEYS - 1) / KVR_TILE_KEYS * KVR_TILE_KEYS;
    strip->first_block = strip->first / KVR_STRIP_BLOCK;
    strip->block_count =
        (size_t)((strip->end + KVR_STRIP_BLOCK - 1) / KVR_STRIP_BLOCK - strip->first_block);
    for (size_t block = 0; block < strip->block_count; block++) {
        uint64_t from = most_of(block_start(strip, block), strip->first);
        uint64_t to = least_of(block_start(strip, block + 1), strip->end);
        make_logits(source, strip, block, from, to);
        for (size_t i = 0; i < strip->rows; i++)
            weigh(source, strip, block, i, from, to);
    }
    for (size_t i = 0; i < strip->rows; i++)
        normalise(source, strip, i);
}

struct kvr_strip_part kvr_attention_strip_part(const struct kvr_attention_strip *strip,
                                               size_t block, uint64_t from, uint64_t to)
{
    uint64_t base = block_start(strip, block);
    from = most_of(from, most_of(base, strip->first));
    to = least_of(to, least_of(base + KVR_STRIP_BLOCK, strip->end));
    struct kvr_strip_part part = {.from = from, .to = to};
    if (from < to)
        part.rows = (struct kvr_tile_rows){
            .weights = row_of(strip, block, 0) + (from - base),
            .stride = KVR_STRIP_STRIDE,
            .count = strip->rows,
            .factors = strip->factors + block * KVR_STRIP_ROWS,
        };
    return part;
}
