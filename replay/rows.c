/*
 * Streams the attention rows of one group, as they were recorded or as query and key give them. It
 * must not know about policies.
 */
#include "replay/rows.h"

#include <math.h>
#include <string.h>

#include "replay/attention.h"

enum {
    BLOCK_BYTES = 1 << 19, /* rows are read in blocks of about this size */
    MADE_ROWS =
        24, /* made together of query and key: with fewer, keys are passed over more often */
};

/* One score over rows while the rows of a head stream by. */
struct row_sum {
    struct kvr_scored *scored;
    struct kvr_row_range rows;
    double *sum; /* [T] */
};

struct row_stream {
    struct kvr_cell *cell;
    size_t sum_count;
    struct row_sum *sums;
    struct kvr_row_range rows; /* every row that a score or the future needs */
    size_t decode_start;
    struct kvr_element_type type;
    unsigned char *block; /* [block_rows][T] elements of that type */
    size_t block_rows;
};

static enum kvr_status prepare_stream(struct kvr_cell *cell, struct row_stream *stream,
                                      struct kvr_error *err)
{
    const struct kvr_sample *sample = cell->key.sample;
    size_t count = cell->candidates.count;
    *stream = (struct row_stream){.cell = cell, .type = {.kind = KVR_FLOAT}};
    if (cell->attention == NULL)
        stream->type = cell->key.layer->attention->type;
    else
        stream->type.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    size_t row_bytes = count * kvr_element_size(stream->type.kind);
    stream->decode_start = kvr_sample_decode_start(sample);
    stream->rows = (struct kvr_row_range){stream->decode_start, sample->query_count};
    stream->sums = kvr_room_take(cell->room, cell->scored_count, sizeof *stream->sums, err);
    stream->block_rows = row_bytes < BLOCK_BYTES ? BLOCK_BYTES / row_bytes : 1;
    if (cell->attention != NULL && stream->block_rows < MADE_ROWS)
        stream->block_rows = MADE_ROWS;
    if (stream->block_rows > sample->query_count)
        stream->block_rows = sample->query_count;
    stream->block = kvr_room_take(cell->room, stream->block_rows, row_bytes, err);
    if (stream->sums == NULL || stream->block == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < cell->scored_count; i++) {
        struct kvr_scored *scored = &cell->scored[i];
        if (scored->score->scorer->source != KVR_FROM_PROMPT_ROWS &&
            scored->score->scorer->source != KVR_FROM_DECODE_ROWS)
            continue;
        struct row_sum *sum = &stream->sums[stream->sum_count++];
        sum->scored = scored;
        sum->rows = kvr_score_rows(scored->score, sample);
        sum->sum = kvr_room_take(cell->room, count, sizeof *sum->sum, err);
        if (sum->sum == NULL)
            return KVR_NO_MEMORY;
        if (sum->rows.begin < stream->rows.begin)
            stream->rows.begin = sum->rows.begin;
    }
    return KVR_OK;
}

/* What rows [first, first + rows) of the block and `wanted` have in common. */
static struct kvr_row_range common_rows(size_t first, size_t rows, struct kvr_row_range wanted)
{
    size_t begin = first > wanted.begin ? first : wanted.begin;
    size_t end = first + rows < wanted.end ? first + rows : wanted.end;
    return (struct kvr_row_range){begin, end > begin ? end : begin};
}

static void add_block(struct row_stream *stream, size_t first, size_t rows)
{
    struct kvr_cell *cell = stream->cell;
    struct kvr_element_type type = stream->type;
    size_t count = cell->candidates.count, row_bytes = count * kvr_element_size(type.kind);
    for (size_t i = 0; i < stream->sum_count; i++) {
        struct kvr_row_range common = common_rows(first, rows, stream->sums[i].rows);
        kvr_element_add_rows(type, stream->block + (common.begin - first) * row_bytes,
                             common.end - common.begin, count, stream->sums[i].sum);
    }
    const struct kvr_row_range decoded = {stream->decode_start, stream->rows.end};
    struct kvr_row_range common = common_rows(first, rows, decoded);
    if (common.end > common.begin)
        kvr_element_add_squares(type, stream->block + (common.begin - first) * row_bytes,
                                common.end - common.begin, count, cell->future.mass,
                                cell->future.peak);
}

/* Rows [row, row + rows) of a head at the candidates, into the block. */
static enum kvr_status read_block(struct row_stream *stream, uint64_t head, size_t row, size_t rows,
                                  struct kvr_error *err)
{
    const struct kvr_cell *cell = stream->cell;
    const struct kvr_candidates *candidates = &cell->candidates;
    if (cell->attention != NULL)
        return kvr_attention_rows(cell->attention, head, row, rows, candidates->first,
                                  candidates->count, (float *)(void *)stream->block, err);
    const uint64_t start[] = {head, row, candidates->first};
    const uint64_t size[] = {1, rows, candidates->count};
    return kvr_trace_read_stored(cell->trace, cell->key.layer->attention, start, size,
                                 stream->block, err);
}

static enum kvr_status stream_head(struct row_stream *stream, uint64_t head, struct kvr_error *err)
{
    const struct kvr_cell *cell = stream->cell;
    for (size_t i = 0; i < stream->sum_count; i++)
        memset(stream->sums[i].sum, 0, cell->candidates.count * sizeof(double));
    for (size_t row = stream->rows.begin; row < stream->rows.end;) {
        size_t rows = stream->rows.end - row;
        if (rows > stream->block_rows)
            rows = stream->block_rows;
        enum kvr_status status = read_block(stream, head, row, rows, err);
        if (status != KVR_OK)
            return status;
        add_block(stream, row, rows);
        row += rows;
    }
    return KVR_OK;
}

static void round_means(const struct row_sum *sum, size_t head, size_t count)
{
    double rows = (double)(sum->rows.end - sum->rows.begin);
    float *vector = sum->scored->vectors + head * count;
    for (size_t t = 0; t < count; t++)
        vector[t] = (float)(sum->sum[t] / rows);
}

/* A value that is not finite makes its column's sum so, whatever is added after it. */
static bool all_finite(const double *values, size_t count)
{
    double check = 0;
    for (size_t t = 0; t < count; t++)
        check += values[t] * 0;
    return !isnan(check);
}

static enum kvr_status load_rows(struct kvr_cell *cell, struct kvr_error *err)
{
    size_t count = cell->candidates.count;
    struct row_stream stream;
    enum kvr_status status = prepare_stream(cell, &stream, err);
    if (status != KVR_OK || stream.rows.begin >= stream.rows.end)
        return status;
    cell->future.row_count = stream.rows.end - stream.decode_start;
    cell->future.mass = kvr_room_take_zeroed(cell->room, count, sizeof(double), err);
    cell->future.peak = kvr_room_take_zeroed(cell->room, count, sizeof(double), err);
    if (cell->future.mass == NULL || cell->future.peak == NULL)
        return KVR_NO_MEMORY;
    for (size_t h = 0; status == KVR_OK && h < cell->key.ratio; h++) {
        status = stream_head(&stream, (uint64_t)cell->key.group * cell->key.ratio + h, err);
        for (size_t i = 0; status == KVR_OK && i < stream.sum_count; i++)
            round_means(&stream.sums[i], h, count);
    }
    cell->future.finite = all_finite(cell->future.mass, count);
    return status;
}

enum kvr_status kvr_rows_load(struct kvr_cell *cell, struct kvr_error *err)
{
    return kvr_layer_rows(cell->key.layer) != KVR_MISSING ? load_rows(cell, err) : KVR_OK;
}
