/*
 * Loading a group's queries and keys and handing out the rows that strips make of them. It must not
 * know what rows are for, nor how they are made.
 */
#include "replay/attention.h"

#include <math.h>
#include <string.h>

#include "formats/base/memory.h"
#include "replay/attention_strip.h"

enum { READ_VALUES = 1 << 16 }; /* of keys or queries that are read at a time */

/* Query rows [row, row + rows) of a head as they were read. */
struct kvr_attention_queries {
    double *values; /* [capacity][D] */
    uint64_t head;
    size_t row, rows, capacity;
};

static uint64_t tile_start(uint64_t position)
{
    return position / KVR_TILE_KEYS * KVR_TILE_KEYS;
}

static uint64_t tile_end(uint64_t position)
{
    return tile_start(position + KVR_TILE_KEYS - 1);
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---------------------------------------------------------------------------- keys */

static void pack_keys(struct kvr_attention *attention, uint64_t position, const double *keys,
                      size_t count)
{
    size_t width = attention->width;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = position + i - attention->first;
        float *tile = attention->keys + at / KVR_TILE_KEYS * KVR_TILE_KEYS * width;
        float *column = tile + at % KVR_TILE_KEYS;
        for (size_t d = 0; d < width; d++)
            column[d * KVR_TILE_KEYS] = (float)keys[i * width + d];
    }
}

static enum kvr_status load_keys(struct kvr_attention *attention, uint32_t group, uint64_t first,
                                 uint64_t end, struct kvr_room *room, struct kvr_error *err)
{
    size_t width = attention->width, step = width < READ_VALUES ? READ_VALUES / width : 1;
    size_t count = (size_t)(tile_end(end) - attention->first), values;
    if (!kvr_size_product(count, width, &values))
        return kvr_fail(err, KVR_NO_MEMORY, "%s: too many keys", attention->layer->key->path);
    attention->keys = kvr_room_take(room, values, sizeof *attention->keys, err);
    struct kvr_room_mark mark = kvr_room_mark(room);
    double *block = kvr_room_take(room, step * width, sizeof *block, err);
    if (attention->keys == NULL || block == NULL)
        return KVR_NO_MEMORY;
    if (values > 0) { /* the first and the last tile may have keys that nobody sees */
        size_t tile = KVR_TILE_KEYS * width;
        memset(attention->keys, 0, tile * sizeof *attention->keys);
        memset(attention->keys + values - tile, 0, tile * sizeof *attention->keys);
    }
    enum kvr_status status = KVR_OK;
    for (uint64_t t = first; status == KVR_OK && t < end; t += step) {
        size_t here = (size_t)least_of(step, end - t);
        const uint64_t start[] = {group, t, 0}, size[] = {1, here, width};
        status = kvr_trace_read(attention->trace, attention->layer->key, start, size, block, err);
        if (status == KVR_OK)
            pack_keys(attention, t, block, here);
    }
    kvr_room_return(room, mark);
    return status;
}

/* Room for the longest strip that rows from `row` on can make, and for queries. */
static enum kvr_status take_room(struct kvr_attention *attention, size_t row, struct kvr_room *room,
                                 struct kvr_error *err)
{
    const struct kvr_sample *sample = attention->sample;
    size_t rows = sample->query_count - row, width = attention->width;
    uint64_t longest = 0;
    for (size_t q = row; q < sample->query_count; q++) {
        size_t last = (size_t)least_of(q + KVR_STRIP_ROWS, sample->query_count) - 1;
        uint64_t seen =
            tile_start(kvr_layer_first_seen(sample, attention->layer, sample->query_positions[q]));
        uint64_t end = tile_end(sample->query_positions[last] + 1);
        longest = most_of(longest, end > seen ? end - seen : 0);
    }
    struct kvr_attention_queries *queries = kvr_room_take_zeroed(room, 1, sizeof *queries, err);
    attention->strip = kvr_room_take_zeroed(room, 1, sizeof *attention->strip, err);
    attention->queries = queries;
    if (attention->strip == NULL || queries == NULL)
        return KVR_NO_MEMORY;
    queries->capacity =
        (size_t)least_of(most_of(READ_VALUES / width, KVR_STRIP_ROWS), sample->query_count);
    queries->values = kvr_room_take(room, queries->capacity * width, sizeof(double), err);
    if (queries->values == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status =
        kvr_attention_strip_take(room, rows, longest, width, attention->strip, err);
    return status == KVR_OK ? status : kvr_at(err, "%s", attention->layer->query->path);
}

enum kvr_status kvr_attention_open(struct kvr_trace *trace, const struct kvr_sample *sample,
                                   const struct kvr_layer *layer, uint32_t group, size_t row,
                                   struct kvr_room *room, struct kvr_attention *attention,
                                   struct kvr_error *err)
{
    *attention = (struct kvr_attention){
        .trace = trace,
        .sample = sample,
        .layer = layer,
        .width = (size_t)layer->key->shape[2],
    };
    uint64_t first = 0, end = 0;
    if (row < sample->query_count) {
        first = kvr_layer_first_seen(sample, layer, sample->query_positions[row]);
        end = most_of(first, sample->query_positions[sample->query_count - 1] + 1);
    }
    attention->first = tile_start(first);
    attention->end = end;
    enum kvr_status status = take_room(attention, row, room, err);
    return status == KVR_OK ? load_keys(attention, group, first, end, room, err) : status;
}

/* ---------------------------------------------------------------------------- strips */

/* Sees to it that rows row … row + rows - 1 of the head are among those read; `wanted` may follow.
 */
static enum kvr_status read_queries(const struct kvr_attention *attention, uint64_t head,
                                    size_t row, size_t rows, size_t wanted, struct kvr_error *err)
{
    struct kvr_attention_queries *queries = attention->queries;
    if (queries->head == head && row >= queries->row && row + rows <= queries->row + queries->rows)
        return KVR_OK;
    size_t count = wanted < queries->capacity ? wanted : queries->capacity;
    const uint64_t start[] = {head, row, 0}, size[] = {1, count, attention->width};
    queries->head = head;
    queries->row = row;
    queries->rows = 0;
    enum kvr_status status = kvr_trace_read(attention->trace, attention->layer->query, start, size,
                                            queries->values, err);
    queries->rows = status == KVR_OK ? count : 0;
    return status;
}

/* Rows that fill up the last tile are 0. */
static void pack_queries(const struct kvr_attention *attention, size_t row)
{
    const struct kvr_attention_strip *strip = attention->strip;
    size_t width = attention->width, rows = kvr_strip_padded(strip->rows);
    const double *query = attention->queries->values + (row - attention->queries->row) * width;
    for (size_t i = 0; i < rows; i++, query += width) {
        float *column =
            strip->queries + i / KVR_TILE_QUERIES * KVR_TILE_QUERIES * width + i % KVR_TILE_QUERIES;
        for (size_t d = 0; d < width; d++)
            column[d * KVR_TILE_QUERIES] = i < strip->rows ? (float)query[d] : 0;
    }
}

/* The strip that starts with `row` of `wanted` rows. */
static enum kvr_status make_strip(const struct kvr_attention *attention, uint64_t head, size_t row,
                                  size_t wanted, struct kvr_error *err)
{
    const struct kvr_layer *layer = attention->layer;
    const uint64_t *positions = attention->sample->query_positions + row;
    struct kvr_attention_strip *strip = attention->strip;
    strip->rows = wanted < KVR_STRIP_ROWS ? wanted : KVR_STRIP_ROWS;
    enum kvr_status status = read_queries(attention, head, row, strip->rows, wanted, err);
    if (status != KVR_OK)
        return status;
    for (size_t i = 0; i < strip->rows; i++) {
        strip->seen[i] = kvr_layer_first_seen(attention->sample, layer, positions[i]);
        strip->end_seen[i] = most_of(positions[i] + 1, strip->seen[i]);
    }
    pack_queries(attention, row);
    const struct kvr_strip_source source = {
        .tile = kvr_attention_tile(),
        .keys = attention->keys,
        .first = attention->first,
        .width = attention->width,
        .scale = (float)kvr_layer_scale(layer),
        .softcap = isnan(layer->softcap) ? 0 : (float)layer->softcap,
    };
    kvr_attention_strip_make(&source, strip);
    return KVR_OK;
}

/* ---------------------------------------------------------------------------- what comes of them
 */

enum kvr_status kvr_attention_rows(const struct kvr_attention *attention, uint64_t head, size_t row,
                                   size_t rows, uint64_t token, size_t tokens, float *weights,
                                   struct kvr_error *err)
{
    const struct kvr_attention_strip *strip = attention->strip;
    memset(weights, 0, rows * tokens * sizeof *weights);
    for (size_t done = 0; done < rows; done += strip->rows, weights += strip->rows * tokens) {
        enum kvr_status status = make_strip(attention, head, row + done, rows - done, err);
        if (status != KVR_OK)
            return status;
        for (size_t b = 0; b < strip->block_count; b++) {
            struct kvr_strip_part part = kvr_attention_strip_part(strip, b, token, token + tokens);
            for (size_t i = 0; i < part.rows.count; i++)
                for (uint64_t t = part.from; t < part.to; t++)
                    weights[i * tokens + (t - token)] =
                        part.rows.weights[i * part.rows.stride + (t - part.from)] *
                        part.rows.factors[i];
        }
    }
    return KVR_OK;
}

enum kvr_status kvr_attention_add(const struct kvr_attention *attention, uint64_t head, size_t row,
                                  size_t rows, uint64_t token, size_t tokens, double *sums,
                                  struct kvr_error *err)
{
    const struct kvr_attention_strip *strip = attention->strip;
    const struct kvr_attention_tile *tile = kvr_attention_tile();
    for (size_t done = 0; done < rows; done += strip->rows) {
        enum kvr_status status = make_strip(attention, head, row + done, rows - done, err);
        if (status != KVR_OK)
            return status;
        for (size_t b = 0; b < strip->block_count; b++) {
            struct kvr_strip_part part = kvr_attention_strip_part(strip, b, token, token + tokens);
            if (part.from < part.to)
                tile->add(&part.rows, (size_t)(part.to - part.from), sums + (part.from - token));
        }
    }
    return KVR_OK;
}
