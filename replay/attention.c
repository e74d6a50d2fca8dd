/*
 * Strips of rows: queries are packed, logits made tile by tile, then each row becomes weights. It
 * must not know what rows are for, nor how a tile is computed.
 */
#include "replay/attention.h"

#include <math.h>
#include <string.h>

#include "formats/base/memory.h"
#include "replay/attention_tile.h"

enum {
    STRIP_TILES = 6,
    STRIP_ROWS = STRIP_TILES * KVR_TILE_QUERIES,
    READ_VALUES = 1 << 16, /* of keys or queries that are read at a time */
};

/* Consecutive rows of one head, as many as fit a strip. Logits and weights of row i start at
   weights + i * stride, with that of position `first`; first and end are multiples of a tile. */
struct kvr_attention_strip {
    size_t rows;
    uint64_t seen[STRIP_ROWS], end_seen[STRIP_ROWS]; /* the row sees seen … end_seen - 1 */
    uint64_t first, end;
    size_t stride;
    float factors[STRIP_ROWS]; /* what makes weights of the row sum to 1 */
    float *weights;
    size_t capacity; /* of weights */

    float *queries; /* [STRIP_TILES][D][KVR_TILE_QUERIES] */

    /* Rows [read_row, read_row + read_rows) of a head as they were read. */
    double *read; /* [read_capacity][D] */
    uint64_t read_head;
    size_t read_row, read_rows, read_capacity;
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

/* Room for the longest strip that rows from `row` on can make. */
static enum kvr_status take_strip(struct kvr_attention *attention, size_t row,
                                  struct kvr_room *room, struct kvr_error *err)
{
    const struct kvr_sample *sample = attention->sample;
    uint64_t longest = 0;
    for (size_t q = row; q < sample->query_count; q++) {
        size_t last = (size_t)least_of(q + STRIP_ROWS, sample->query_count) - 1;
        uint64_t seen = kvr_layer_first_seen(sample, attention->layer, sample->query_positions[q]);
        uint64_t end = tile_end(sample->query_positions[last] + 1);
        longest = most_of(longest, end > tile_start(seen) ? end - tile_start(seen) : 0);
    }
    size_t width = attention->width, rows = sample->query_count - row, values;
    rows = rows < STRIP_ROWS ? rows : STRIP_ROWS;
    rows = (rows + KVR_TILE_QUERIES - 1) / KVR_TILE_QUERIES * KVR_TILE_QUERIES;
    if (!kvr_size_product(rows, (size_t)longest, &values))
        return kvr_fail(err, KVR_NO_MEMORY, "%s: rows are too long", attention->layer->query->path);
    struct kvr_attention_strip *strip = kvr_room_take_zeroed(room, 1, sizeof *strip, err);
    if (strip == NULL)
        return KVR_NO_MEMORY;
    attention->strip = strip;
    strip->capacity = values;
    strip->weights = kvr_room_take(room, values, sizeof *strip->weights, err);
    strip->queries = kvr_room_take(room, STRIP_ROWS * width, sizeof *strip->queries, err);
    strip->read_capacity =
        (size_t)least_of(most_of(READ_VALUES / width, STRIP_ROWS), sample->query_count);
    strip->read = kvr_room_take(room, strip->read_capacity * width, sizeof *strip->read, err);
    bool failed = strip->weights == NULL || strip->queries == NULL || strip->read == NULL;
    return failed ? KVR_NO_MEMORY : KVR_OK;
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
        .tile = kvr_attention_tile(),
        .width = (size_t)layer->key->shape[2],
        .scale = (float)kvr_layer_scale(layer),
    };
    uint64_t first = 0, end = 0;
    if (row < sample->query_count) {
        first = kvr_layer_first_seen(sample, layer, sample->query_positions[row]);
        end = most_of(first, sample->query_positions[sample->query_count - 1] + 1);
    }
    attention->first = tile_start(first);
    attention->end = end;
    enum kvr_status status = take_strip(attention, row, room, err);
    return status == KVR_OK ? load_keys(attention, group, first, end, room, err) : status;
}

/* ---------------------------------------------------------------------------- strips */

/* Sees to it that rows row … row + rows - 1 of the head are among those read. */
static enum kvr_status read_queries(struct kvr_attention *attention, uint64_t head, size_t row,
                                    size_t rows, size_t wanted, struct kvr_error *err)
{
    struct kvr_attention_strip *strip = attention->strip;
    if (strip->read_rows > 0 && strip->read_head == head && row >= strip->read_row &&
        row + rows <= strip->read_row + strip->read_rows)
        return KVR_OK;
    size_t count = wanted < strip->read_capacity ? wanted : strip->read_capacity;
    const uint64_t start[] = {head, row, 0}, size[] = {1, count, attention->width};
    strip->read_rows = 0;
    enum kvr_status status =
        kvr_trace_read(attention->trace, attention->layer->query, start, size, strip->read, err);
    if (status == KVR_OK) {
        strip->read_head = head;
        strip->read_row = row;
        strip->read_rows = count;
    }
    return status;
}

/* Rows that fill up the last tile are 0. */
static void pack_queries(const struct kvr_attention *attention, size_t row)
{
    const struct kvr_attention_strip *strip = attention->strip;
    size_t width = attention->width;
    for (size_t i = 0; i < STRIP_ROWS && i / KVR_TILE_QUERIES * KVR_TILE_QUERIES < strip->rows;
         i++) {
        const double *query = strip->read + (row - strip->read_row + i) * width;
        float *tile = strip->queries + i / KVR_TILE_QUERIES * KVR_TILE_QUERIES * width;
        for (size_t d = 0; d < width; d++)
            tile[d * KVR_TILE_QUERIES + i % KVR_TILE_QUERIES] =
                i < strip->rows ? (float)query[d] : 0;
    }
}

/* What the strip's rows see. */
static void lay_out(const struct kvr_attention *attention, size_t row)
{
    struct kvr_attention_strip *strip = attention->strip;
    const uint64_t *positions = attention->sample->query_positions + row;
    for (size_t i = 0; i < strip->rows; i++) {
        strip->seen[i] = kvr_layer_first_seen(attention->sample, attention->layer, positions[i]);
        strip->end_seen[i] = most_of(positions[i] + 1, strip->seen[i]);
    }
    strip->first = tile_start(strip->seen[0]);
    strip->end = tile_end(strip->end_seen[strip->rows - 1]);
    strip->stride = (size_t)(strip->end - strip->first);
}

/* Keys in the outer loop: a tile of them meets all queries of the strip while it is in the cache.
   Tiles that no query sees are left out. */
static void make_logits(const struct kvr_attention *attention)
{
    const struct kvr_attention_strip *strip = attention->strip;
    size_t width = attention->width;
    for (uint64_t t = strip->first; t < strip->end; t += KVR_TILE_KEYS) {
        const float *keys = attention->keys + (size_t)(t - attention->first) * width;
        for (size_t i = 0; i < strip->rows; i += KVR_TILE_QUERIES) {
            size_t last = (size_t)least_of(i + KVR_TILE_QUERIES, strip->rows) - 1;
            if (t >= strip->end_seen[last] || t + KVR_TILE_KEYS <= strip->seen[i])
                continue;
            attention->tile->logits(strip->queries + i * width, keys, width, attention->scale,
                                    strip->weights + i * strip->stride + (t - strip->first),
                                    strip->stride);
        }
    }
}

static void fill(float *values, uint64_t from, uint64_t to, float value)
{
    for (uint64_t t = from; t < to; t++)
        values[t] = value;
}

/* Logits of row i to weights, but for its factor; 0 where it does not see. */
static void weigh_row(const struct kvr_attention *attention, size_t i)
{
    const struct kvr_attention_tile *tile = attention->tile;
    struct kvr_attention_strip *strip = attention->strip;
    float *row = strip->weights + i * strip->stride;
    uint64_t seen = strip->seen[i] - strip->first, end = strip->end_seen[i] - strip->first;
    uint64_t from = tile_start(seen), to = tile_end(end);
    strip->factors[i] = 1;
    fill(row, 0, from, 0);
    fill(row, to, strip->stride, 0);
    if (seen == end) {
        fill(row, from, to, 0);
        return;
    }
    if (!isnan(attention->layer->softcap))
        tile->cap(row + from, (size_t)(to - from), (float)attention->layer->softcap);
    fill(row, from, seen, -INFINITY);
    fill(row, end, to, -INFINITY);
    float greatest = tile->greatest(row + from, (size_t)(to - from));
    double sum = tile->weigh(row + from, (size_t)(to - from), greatest);
    float factor = (float)(1 / sum);
    if (isfinite(factor)) {
        strip->factors[i] = factor;
        return;
    }
    fill(row, from, to, 0); /* not NaN, as a product with the factor would be */
    fill(row, seen, end, NAN);
}

/* The strip that starts with `row` of `wanted` rows. */
static enum kvr_status make_strip(struct kvr_attention *attention, uint64_t head, size_t row,
                                  size_t wanted, struct kvr_error *err)
{
    struct kvr_attention_strip *strip = attention->strip;
    strip->rows = wanted < STRIP_ROWS ? wanted : STRIP_ROWS;
    enum kvr_status status = read_queries(attention, head, row, strip->rows, wanted, err);
    if (status != KVR_OK)
        return status;
    lay_out(attention, row);
    pack_queries(attention, row);
    make_logits(attention);
    for (size_t i = 0; i < strip->rows; i++)
        weigh_row(attention, i);
    return KVR_OK;
}

/* ---------------------------------------------------------------------------- what comes of them
 */

enum kvr_status kvr_attention_rows(struct kvr_attention *attention, uint64_t head, size_t row,
                                   size_t rows, uint64_t token, size_t tokens, float *weights,
                                   struct kvr_error *err)
{
    const struct kvr_attention_strip *strip = attention->strip;
    memset(weights, 0, rows * tokens * sizeof *weights);
    for (size_t done = 0; done < rows; done += strip->rows, weights += strip->rows * tokens) {
        enum kvr_status status = make_strip(attention, head, row + done, rows - done, err);
        if (status != KVR_OK)
            return status;
        uint64_t from = most_of(token, strip->first), to = least_of(token + tokens, strip->end);
        for (size_t i = 0; i < strip->rows; i++)
            for (uint64_t t = from; t < to; t++)
                weights[i * tokens + (t - token)] =
                    strip->weights[i * strip->stride + (t - strip->first)] * strip->factors[i];
    }
    return KVR_OK;
}

enum kvr_status kvr_attention_add(struct kvr_attention *attention, uint64_t head, size_t row,
                                  size_t rows, uint64_t token, size_t tokens, double *sums,
                                  struct kvr_error *err)
{
    const struct kvr_attention_strip *strip = attention->strip;
    for (size_t done = 0; done < rows; done += strip->rows) {
        enum kvr_status status = make_strip(attention, head, row + done, rows - done, err);
        if (status != KVR_OK)
            return status;
        uint64_t from = most_of(token, strip->first), to = least_of(token + tokens, strip->end);
        if (from >= to)
            continue;
        const struct kvr_tile_rows added = {
            .weights = strip->weights + (from - strip->first),
            .stride = strip->stride,
            .count = strip->rows,
            .factors = strip->factors,
        };
        attention->tile->add(&added, (size_t)(to - from), sums + (from - token));
    }
    return KVR_OK;
}
