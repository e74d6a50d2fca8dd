/*
 * Recorded rows through the device: blocks are read, uploaded and summed side by side, in order.
 * It must not know about policies.
 */
#include <string.h>

#include "replay/gpu/gpu_lane.h"
#include "replay/rows.h"

enum { BLOCK_BYTES = 8 << 20 }; /* rows go up in blocks of about this size */

/* A score that averages rows. */
struct row_sum {
    struct kvr_scored *scored;
    struct kvr_row_range rows;
};

struct gpu_stream {
    struct kvr_cell *cell;
    struct gpu_lane *lane;
    const struct kvr_device_host *host;
    size_t sum_count;
    struct row_sum *sums;
    struct kvr_row_range rows; /* every row that a score or the future needs */
    size_t decode_start;
    size_t block_rows, row_bytes;
    size_t blocks; /* started so far */
};

/* A block costs memory twice; what is left of a small device goes to vectors. */
static size_t rows_of_block(const struct gpu_stream *stream)
{
    uint64_t bytes = BLOCK_BYTES, share = stream->lane->compute->memory / 16;
    size_t rows = (size_t)((bytes < share ? bytes : share) / stream->row_bytes);
    size_t most = stream->rows.end - stream->rows.begin;
    rows = rows < most ? rows : most;
    return rows > 0 ? rows : 1;
}

static enum kvr_status list_sums(struct gpu_stream *stream, struct kvr_error *err)
{
    struct kvr_cell *cell = stream->cell;
    const struct kvr_sample *sample = cell->key.sample;
    stream->decode_start = kvr_sample_decode_start(sample);
    stream->rows = (struct kvr_row_range){stream->decode_start, sample->query_count};
    stream->sums = kvr_room_take(cell->room, cell->scored_count, sizeof *stream->sums, err);
    if (stream->sums == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < cell->scored_count; i++) {
        struct kvr_scored *scored = &cell->scored[i];
        if (!kvr_score_is_of_rows(scored->score))
            continue;
        struct row_sum *sum = &stream->sums[stream->sum_count++];
        *sum = (struct row_sum){scored, kvr_score_rows(scored->score, sample)};
        if (sum->rows.begin < stream->rows.begin)
            stream->rows.begin = sum->rows.begin;
    }
    return KVR_OK;
}

static enum kvr_status reserve_stream(struct gpu_stream *stream, struct kvr_error *err)
{
    struct kvr_cell *cell = stream->cell;
    struct gpu_lane *lane = stream->lane;
    size_t count = cell->candidates.count;
    stream->row_bytes = count * kvr_element_size(cell->key.layer->attention->type.kind);
    stream->block_rows = rows_of_block(stream);
    enum kvr_status status =
        gpu_reserve(lane, &lane->sums, stream->sum_count * count, sizeof(double), err);
    if (status == KVR_OK)
        status = gpu_reserve(lane, &lane->mass, count, sizeof(double), err);
    if (status == KVR_OK)
        status = gpu_reserve(lane, &lane->peak, count, sizeof(double), err);
    for (size_t i = 0; status == KVR_OK && i < stream->sum_count; i++) {
        const struct kvr_scored *scored = stream->sums[i].scored;
        status = gpu_reserve(lane, &lane->vectors[scored - cell->scored].buffer,
                             scored->heads * count, sizeof *scored->vectors, err);
    }
    for (size_t i = 0; status == KVR_OK && i < GPU_SLOTS; i++) {
        status =
            gpu_reserve(lane, &lane->slots[i].block, stream->block_rows, stream->row_bytes, err);
        if (status == KVR_OK)
            status = gpu_reserve_staging(lane, &lane->slots[i],
                                         stream->block_rows * stream->row_bytes, err);
    }
    return status;
}

/* What rows [first, first + rows) of a block and `wanted` have in common, within the block. */
static struct kvr_row_range common_rows(size_t first, size_t rows, struct kvr_row_range wanted)
{
    size_t begin = first > wanted.begin ? first : wanted.begin;
    size_t end = first + rows < wanted.end ? first + rows : wanted.end;
    return begin < end ? (struct kvr_row_range){begin - first, end - first}
                       : (struct kvr_row_range){0, 0};
}

/* Adds the rows of a block that lies in `slot` to every sum that wants some of them. */
static enum kvr_status add_block(struct gpu_stream *stream, unsigned slot, size_t head,
                                 size_t first, size_t rows, struct kvr_error *err)
{
    struct gpu_lane *lane = stream->lane;
    struct kvr_element_type type = stream->cell->key.layer->attention->type;
    uintptr_t stored = lane->slots[slot].block.handle, sums = lane->sums.handle;
    uint32_t kind = (uint32_t)type.kind, swapped = type.big_endian ? 1 : 0;
    uint64_t count = stream->cell->candidates.count;
    size_t groups = gpu_groups(lane, (size_t)count);
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < stream->sum_count; i++) {
        struct kvr_row_range wanted = stream->sums[i].rows;
        struct kvr_row_range common = common_rows(first, rows, wanted);
        uint32_t begin = (uint32_t)common.begin, end = (uint32_t)common.end;
        uint32_t fresh = first + begin == wanted.begin ? 1 : 0;
        uint64_t at = i * count;
        if (begin < end)
            status = GPU_LAUNCH(lane, slot, GPU_ROW_SUMS, groups, err, KVR_ARGUMENT(stored),
                                KVR_ARGUMENT(kind), KVR_ARGUMENT(swapped), KVR_ARGUMENT(count),
                                KVR_ARGUMENT(begin), KVR_ARGUMENT(end), KVR_ARGUMENT(fresh),
                                KVR_ARGUMENT(at), KVR_ARGUMENT(sums));
    }
    const struct kvr_row_range decoded = {stream->decode_start, stream->rows.end};
    struct kvr_row_range common = common_rows(first, rows, decoded);
    uint32_t begin = (uint32_t)common.begin, end = (uint32_t)common.end;
    uint32_t fresh = head == 0 && first + begin == decoded.begin ? 1 : 0;
    if (status == KVR_OK && begin < end)
        status = GPU_LAUNCH(lane, slot, GPU_ROW_SQUARES, groups, err, KVR_ARGUMENT(stored),
                            KVR_ARGUMENT(kind), KVR_ARGUMENT(swapped), KVR_ARGUMENT(count),
                            KVR_ARGUMENT(begin), KVR_ARGUMENT(end), KVR_ARGUMENT(fresh),
                            KVR_ARGUMENT(lane->mass.handle), KVR_ARGUMENT(lane->peak.handle));
    return status;
}

/* The means of a head, rounded, into the vectors on the device and on the host. */
static enum kvr_status round_head(struct gpu_stream *stream, unsigned slot, size_t head,
                                  struct kvr_error *err)
{
    struct gpu_lane *lane = stream->lane;
    uint64_t count = stream->cell->candidates.count, to = head * count;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < stream->sum_count; i++) {
        const struct row_sum *sum = &stream->sums[i];
        struct gpu_vectors *vectors = &lane->vectors[sum->scored - stream->cell->scored];
        double rows = (double)(sum->rows.end - sum->rows.begin);
        uint64_t from = i * count;
        status =
            GPU_LAUNCH(lane, slot, GPU_ROUND_MEANS, gpu_groups(lane, (size_t)count), err,
                       KVR_ARGUMENT(lane->sums.handle), KVR_ARGUMENT(from), KVR_ARGUMENT(rows),
                       KVR_ARGUMENT(count), KVR_ARGUMENT(to), KVR_ARGUMENT(vectors->buffer.handle));
        if (status == KVR_OK)
            status = stream->host->download(lane->slots[slot].queue, vectors->buffer,
                                            to * sizeof(float), sum->scored->vectors + to,
                                            (size_t)count * sizeof(float), err);
        vectors->valid = true;
    }
    return status;
}

/* One block: the slot's former work must be done before its memory is written again, and sums are
   added to in order. */
static enum kvr_status send_block(struct gpu_stream *stream, size_t head, size_t first, size_t rows,
                                  bool last, struct kvr_error *err)
{
    const struct kvr_cell *cell = stream->cell;
    const struct kvr_device_host *host = stream->host;
    unsigned at = (unsigned)(stream->blocks % GPU_SLOTS);
    struct gpu_slot *slot = &stream->lane->slots[at];
    struct kvr_mark *former = stream->lane->slots[(at + 1) % GPU_SLOTS].mark;
    const uint64_t start[] = {(uint64_t)cell->key.group * cell->key.ratio + head, first,
                              cell->candidates.first};
    const uint64_t size[] = {1, rows, cell->candidates.count};
    enum kvr_status status = slot->mark != NULL ? host->await(slot->mark, err) : KVR_OK;
    if (status == KVR_OK)
        status = kvr_trace_read_stored(cell->trace, cell->key.layer->attention, start, size,
                                       slot->staging.bytes, err);
    if (status == KVR_OK)
        status = host->upload(slot->queue, slot->block, 0, slot->staging.bytes,
                              rows * stream->row_bytes, err);
    if (status == KVR_OK && former != NULL)
        status = host->follow(slot->queue, former, err);
    if (status == KVR_OK)
        status = add_block(stream, at, head, first, rows, err);
    if (status == KVR_OK && last)
        status = round_head(stream, at, head, err);
    if (status == KVR_OK)
        status = host->mark(slot->queue, &slot->mark, err);
    stream->blocks++;
    return status;
}

static enum kvr_status send_head(struct gpu_stream *stream, size_t head, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t row = stream->rows.begin; status == KVR_OK && row < stream->rows.end;) {
        size_t left = stream->rows.end - row;
        size_t rows = left < stream->block_rows ? left : stream->block_rows;
        status = send_block(stream, head, row, rows, rows == left, err);
        row += rows;
    }
    return status;
}

static enum kvr_status finish_both(struct gpu_stream *stream, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; i < GPU_SLOTS; i++) {
        enum kvr_status ended =
            stream->host->finish(stream->lane->slots[i].queue, status == KVR_OK ? err : NULL);
        status = status == KVR_OK ? ended : status;
    }
    return status;
}

/* Sums of decode rows to the host. */
static enum kvr_status take_future(struct gpu_stream *stream, struct kvr_error *err)
{
    struct kvr_future *future = &stream->cell->future;
    struct gpu_lane *lane = stream->lane;
    size_t bytes = stream->cell->candidates.count * sizeof(double);
    if (future->row_count == 0)
        return KVR_OK;
    enum kvr_status status = gpu_download(lane, lane->mass, future->mass, bytes, err);
    if (status == KVR_OK)
        status = gpu_download(lane, lane->peak, future->peak, bytes, err);
    enum kvr_status ended = gpu_finish(lane, status == KVR_OK ? err : NULL);
    return status == KVR_OK ? ended : status;
}

enum kvr_status gpu_rows(struct kvr_cell *cell, struct kvr_error *err)
{
    struct gpu_lane *lane = gpu_lane_of(cell);
    struct gpu_stream stream = {
        .cell = cell,
        .lane = lane,
        .host = lane->compute->device->host,
    };
    size_t count = cell->candidates.count;
    enum kvr_status status = list_sums(&stream, err);
    if (status != KVR_OK || stream.rows.begin >= stream.rows.end)
        return status;
    cell->future.row_count = stream.rows.end - stream.decode_start;
    cell->future.mass = kvr_room_take_zeroed(cell->room, count, sizeof(double), err);
    cell->future.peak = kvr_room_take_zeroed(cell->room, count, sizeof(double), err);
    if (cell->future.mass == NULL || cell->future.peak == NULL)
        return KVR_NO_MEMORY;
    status = reserve_stream(&stream, err);
    for (size_t h = 0; status == KVR_OK && h < cell->key.ratio; h++)
        status = send_head(&stream, h, err);
    /* Even after a failure nothing may be under way to memory that is about to be given back. */
    enum kvr_status ended = finish_both(&stream, status == KVR_OK ? err : NULL);
    status = status == KVR_OK ? ended : status;
    if (status == KVR_OK)
        status = take_future(&stream, err);
    cell->future.finite = kvr_rows_finite(cell->future.mass, count);
    return status;
}
