/*
 * Column sums from query and key on the device: a group's keys stay there, rows go by in strips. It
 * must not know what the sums are for.
 */
#include <math.h>

#include "replay/attention_strip.h"
#include "replay/gpu/gpu_lane.h"

enum {
    STRIP_BYTES = 64 << 20,  /* of logits, about */
    MOST_ROWS = 1024,        /* of a strip */
    ROW_TILE = 64,           /* as in attention.cl */
    READ_BYTES = 4 << 20,    /* of keys that are read at a time, at most */
    BLOCK = KVR_STRIP_BLOCK, /* of positions; rows are weighed block by block */
    LANE_ALIGN = 16,         /* and summed by position modulo 8 */
};

_Static_assert(KVR_STRIP_BLOCK == 1024, "blocks of attention.cl");

struct gpu_columns {
    struct kvr_cell *cell;
    struct gpu_lane *lane;
    const struct kvr_device_host *host;
    size_t row, rows; /* query rows that are summed */
    size_t width;     /* D */
    uint64_t first;   /* position of key 0 on the device; a multiple of BLOCK */
    size_t keys;      /* on the device */
    size_t strip_rows;
    size_t read_bytes;    /* of keys at a time */
    uint32_t (*spans)[2]; /* [rows] the keys that each row sees */
};

/* ------------------------------------------------------------------------------ preparing */

/* What the rows see, relative to the first key that is held. */
static enum kvr_status list_spans(struct gpu_columns *columns, struct kvr_error *err)
{
    const struct kvr_cell_key *key = &columns->cell->key;
    const uint64_t *positions = key->sample->query_positions + columns->row;
    columns->spans = kvr_room_take(columns->cell->room, columns->rows, sizeof *columns->spans, err);
    if (columns->spans == NULL)
        return KVR_NO_MEMORY;
    uint64_t first = kvr_layer_first_seen(key->sample, key->layer, positions[0]);
    columns->first = first / BLOCK * BLOCK;
    columns->keys = (size_t)(positions[columns->rows - 1] + 1 - columns->first);
    for (size_t i = 0; i < columns->rows; i++) {
        uint64_t seen = kvr_layer_first_seen(key->sample, key->layer, positions[i]);
        uint64_t end = positions[i] + 1 > seen ? positions[i] + 1 : seen;
        columns->spans[i][0] = (uint32_t)(seen - columns->first);
        columns->spans[i][1] = (uint32_t)(end - columns->first);
    }
    return KVR_OK;
}

/* Rows of a strip: its logits are as many columns wide as the last row sees. */
static size_t rows_of_strip(const struct gpu_columns *columns)
{
    uint64_t bytes = STRIP_BYTES, share = columns->lane->compute->memory / 8;
    bytes = bytes < share ? bytes : share;
    size_t rows = (size_t)(bytes / (columns->keys * sizeof(float)));
    rows = rows < MOST_ROWS ? rows : MOST_ROWS;
    rows = rows < columns->rows ? rows : columns->rows;
    return rows > 0 ? rows : 1;
}

static enum kvr_status reserve(struct gpu_columns *columns, struct kvr_error *err)
{
    struct gpu_lane *lane = columns->lane;
    const struct kvr_layer *layer = columns->cell->key.layer;
    size_t rows = columns->strip_rows, width = columns->width;
    size_t blocks = columns->keys / BLOCK + 1;
    const struct {
        struct kvr_buffer *buffer;
        size_t count, size;
    } wanted[] = {
        {&lane->keys, columns->keys * width, sizeof(float)},
        {&lane->queries, rows * width, sizeof(float)},
        {&lane->spans, columns->rows, sizeof *columns->spans},
        {&lane->strip, rows * columns->keys, sizeof(float)},
        {&lane->most, rows * blocks, sizeof(float)},
        {&lane->parts, rows * blocks, sizeof(double)},
        {&lane->factors, rows * blocks, sizeof(float)},
        {&lane->columns, columns->cell->candidates.count, sizeof(double)},
    };
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sizeof wanted / sizeof *wanted; i++)
        status = gpu_reserve(lane, wanted[i].buffer, wanted[i].count, wanted[i].size, err);
    size_t most = rows * width * kvr_element_size(layer->query->type.kind);
    most = most > columns->read_bytes ? most : columns->read_bytes;
    size_t one = width * kvr_element_size(layer->key->type.kind);
    most = most > one ? most : one;
    for (size_t i = 0; status == KVR_OK && i < GPU_SLOTS; i++) {
        status = gpu_reserve(lane, &lane->slots[i].block, most, 1, err);
        if (status == KVR_OK)
            status = gpu_reserve_staging(lane, &lane->slots[i], most, err);
    }
    return status;
}

/* `count` rows of a dataset [heads][rows][D] as floats on the device, from row `at` of `to` on.
   Slots take turns: staging memory is written again when the device has passed it. */
static enum kvr_status send_floats(struct gpu_columns *columns, const struct kvr_dataset *dataset,
                                   uint64_t head, uint64_t row, size_t count, unsigned turn,
                                   struct kvr_buffer to, uint64_t at, struct kvr_error *err)
{
    struct gpu_slot *slot = &columns->lane->slots[turn % GPU_SLOTS];
    struct kvr_queue *queue = columns->lane->slots[0].queue; /* all in one order */
    const struct kvr_device_host *host = columns->host;
    const uint64_t start[] = {head, row, 0}, size[] = {1, count, columns->width};
    uint32_t kind = (uint32_t)dataset->type.kind, swapped = dataset->type.big_endian ? 1 : 0;
    uint64_t values = count * columns->width;
    at *= columns->width;
    enum kvr_status status = slot->mark != NULL ? host->await(slot->mark, err) : KVR_OK;
    if (status == KVR_OK)
        status = kvr_trace_read_stored(columns->cell->trace, dataset, start, size,
                                       slot->staging.bytes, err);
    if (status == KVR_OK)
        status = host->upload(queue, slot->block, 0, slot->staging.bytes,
                              (size_t)values * kvr_element_size(dataset->type.kind), err);
    if (status == KVR_OK)
        status = GPU_LAUNCH(
            columns->lane, 0, GPU_TO_FLOATS, gpu_groups(columns->lane, (size_t)values), err,
            KVR_ARGUMENT(slot->block.handle), KVR_ARGUMENT(kind), KVR_ARGUMENT(swapped),
            KVR_ARGUMENT(values), KVR_ARGUMENT(at), KVR_ARGUMENT(to.handle));
    return status == KVR_OK ? host->mark(queue, &slot->mark, err) : status;
}

static enum kvr_status send_keys(struct gpu_columns *columns, struct kvr_error *err)
{
    const struct kvr_dataset *key = columns->cell->key.layer->key;
    size_t bytes = columns->width * kvr_element_size(key->type.kind);
    size_t step = bytes < columns->read_bytes ? columns->read_bytes / bytes : 1;
    enum kvr_status status = KVR_OK;
    unsigned turn = 0;
    for (size_t t = 0; status == KVR_OK && t < columns->keys; t += step, turn++) {
        size_t count = columns->keys - t < step ? columns->keys - t : step;
        status = send_floats(columns, key, columns->cell->key.group, columns->first + t, count,
                             turn, columns->lane->keys, t, err);
    }
    return status;
}

/* ------------------------------------------------------------------------------ strips */

/* Where the arrays of a strip lie and what its columns are. */
struct strip {
    size_t row; /* among the rows that are summed */
    uint32_t rows, first, columns, first_block, blocks;
};

static enum kvr_status launch_strip(struct gpu_columns *columns, const struct strip *strip,
                                    uintptr_t spans, struct kvr_error *err)
{
    struct gpu_lane *lane = columns->lane;
    const struct kvr_layer *layer = columns->cell->key.layer;
    uint32_t width = (uint32_t)columns->width, keys = (uint32_t)columns->keys;
    float scale = (float)kvr_layer_scale(layer);
    float cap = isnan(layer->softcap) ? 0 : (float)layer->softcap, inverse = 1 / cap;
    size_t tiles = (size_t)((strip->columns + ROW_TILE - 1) / ROW_TILE) *
                   ((strip->rows + ROW_TILE - 1) / ROW_TILE);
    enum kvr_status status =
        GPU_LAUNCH(lane, 0, GPU_STRIP_LOGITS, tiles, err, KVR_ARGUMENT(lane->queries.handle),
                   KVR_ARGUMENT(lane->keys.handle), KVR_ARGUMENT(width), KVR_ARGUMENT(strip->rows),
                   KVR_ARGUMENT(strip->first), KVR_ARGUMENT(strip->columns), KVR_ARGUMENT(keys),
                   KVR_ARGUMENT(spans), KVR_ARGUMENT(scale), KVR_ARGUMENT(cap),
                   KVR_ARGUMENT(inverse), KVR_ARGUMENT(lane->strip.handle));
    if (status == KVR_OK)
        status = GPU_LAUNCH(lane, 0, GPU_STRIP_WEIGHTS, (size_t)strip->rows * strip->blocks, err,
                            KVR_ARGUMENT(lane->strip.handle), KVR_ARGUMENT(strip->first),
                            KVR_ARGUMENT(strip->columns), KVR_ARGUMENT(strip->first_block),
                            KVR_ARGUMENT(strip->blocks), KVR_ARGUMENT(spans),
                            KVR_ARGUMENT(lane->most.handle), KVR_ARGUMENT(lane->parts.handle));
    if (status == KVR_OK)
        status = GPU_LAUNCH(lane, 0, GPU_STRIP_FACTORS, gpu_groups(lane, strip->rows), err,
                            KVR_ARGUMENT(strip->rows), KVR_ARGUMENT(strip->blocks),
                            KVR_ARGUMENT(lane->most.handle), KVR_ARGUMENT(lane->parts.handle),
                            KVR_ARGUMENT(lane->factors.handle));
    return status;
}

static enum kvr_status launch_sums(struct gpu_columns *columns, const struct strip *strip,
                                   uintptr_t spans, struct kvr_error *err)
{
    struct gpu_lane *lane = columns->lane;
    const struct kvr_candidates *candidates = &columns->cell->candidates;
    uint32_t from = (uint32_t)(candidates->first - columns->first);
    uint32_t count = (uint32_t)candidates->count, fresh = strip->row == 0 ? 1 : 0;
    uint64_t at = 0;
    return GPU_LAUNCH(
        lane, 0, GPU_STRIP_COLUMNS, gpu_groups(lane, count), err, KVR_ARGUMENT(lane->strip.handle),
        KVR_ARGUMENT(strip->rows), KVR_ARGUMENT(strip->first), KVR_ARGUMENT(strip->columns),
        KVR_ARGUMENT(strip->first_block), KVR_ARGUMENT(strip->blocks), KVR_ARGUMENT(spans),
        KVR_ARGUMENT(lane->factors.handle), KVR_ARGUMENT(from), KVR_ARGUMENT(count),
        KVR_ARGUMENT(fresh), KVR_ARGUMENT(at), KVR_ARGUMENT(lane->columns.handle));
}

static enum kvr_status sum_strip(struct gpu_columns *columns, uint64_t head, size_t row,
                                 unsigned turn, struct kvr_error *err)
{
    struct gpu_lane *lane = columns->lane;
    size_t left = columns->rows - row;
    size_t rows = left < columns->strip_rows ? left : columns->strip_rows;
    uint32_t first = columns->spans[row][0] / LANE_ALIGN * LANE_ALIGN;
    uint32_t end = columns->spans[row + rows - 1][1];
    const struct strip strip = {
        .row = row,
        .rows = (uint32_t)rows,
        .first = first,
        .columns = end - first,
        .first_block = first / BLOCK,
        .blocks = (end + BLOCK - 1) / BLOCK - first / BLOCK,
    };
    enum kvr_status status = send_floats(columns, columns->cell->key.layer->query, head,
                                         columns->row + row, rows, turn, lane->queries, 0, err);
    if (status == KVR_OK)
        status =
            gpu_upload(lane, lane->spans, columns->spans + row, rows * sizeof *columns->spans, err);
    if (status == KVR_OK)
        status = launch_strip(columns, &strip, lane->spans.handle, err);
    if (status == KVR_OK)
        status = launch_sums(columns, &strip, lane->spans.handle, err);
    return status;
}

static enum kvr_status sum_head(struct gpu_columns *columns, size_t h, struct kvr_error *err)
{
    struct kvr_cell *cell = columns->cell;
    uint64_t head = (uint64_t)cell->key.group * cell->key.ratio + h;
    size_t count = cell->candidates.count;
    enum kvr_status status = KVR_OK;
    unsigned turn = 0;
    for (size_t row = 0; status == KVR_OK && row < columns->rows; row += columns->strip_rows)
        status = sum_strip(columns, head, row, turn++, err);
    if (status == KVR_OK)
        status = gpu_download(columns->lane, columns->lane->columns, cell->column_sums + h * count,
                              count * sizeof(double), err);
    enum kvr_status ended = gpu_finish(columns->lane, status == KVR_OK ? err : NULL);
    return status == KVR_OK ? ended : status;
}

enum kvr_status gpu_columns(struct kvr_cell *cell, struct kvr_attention *attention,
                            struct kvr_row_range rows, struct kvr_error *err)
{
    (void)attention; /* what the host has prepared for itself */
    struct gpu_lane *lane = gpu_lane_of(cell);
    struct gpu_columns columns = {
        .cell = cell,
        .lane = lane,
        .host = lane->compute->device->host,
        .row = rows.begin,
        .rows = rows.end - rows.begin,
        .width = (size_t)cell->key.layer->key->shape[2],
    };
    enum kvr_status status = list_spans(&columns, err);
    if (status != KVR_OK)
        return status;
    columns.strip_rows = rows_of_strip(&columns);
    uint64_t share = lane->compute->memory / 16;
    columns.read_bytes = share < READ_BYTES ? (size_t)share : READ_BYTES;
    status = reserve(&columns, err);
    if (status == KVR_OK)
        status = send_keys(&columns, err);
    for (size_t h = 0; status == KVR_OK && h < cell->key.ratio; h++)
        status = sum_head(&columns, h, err);
    enum kvr_status ended = gpu_finish(lane, status == KVR_OK ? err : NULL);
    return status == KVR_OK ? ended : status;
}
