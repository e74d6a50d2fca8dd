/*
 * Streams the attention rows of one group, as they were recorded or as query and key give them. It
 * must not know about policies.
 */
#include "replay/rows.h"

#include <math.h>
#include <string.h>

#include "replay/attention.h"
#include "replay/survey.h"

enum {
    WHOLE_BYTES = 1 << 21, /* all rows of a head, or of a part of its tokens, are read at once */
    PART_BYTES = 1 << 15,  /* if that much of each row is: less makes too many reads */
    CHUNK_BYTES = 1 << 23, /* the same where rows lie in chunks, which are decoded whole */
    BLOCK_BYTES = 1 << 19, /* else rows are read in blocks of about this size */
    KEPT_BYTES = 1 << 25,  /* decoded chunks of a cell that all threads together can keep */
    MADE_ROWS =
        24, /* made together of query and key: with fewer, keys are passed over more often */
};

/* One score over rows while the rows of a head stream by. */
struct row_sum {
    struct kvr_scored *scored;
    struct kvr_row_range rows;
    double *sum; /* [heads][tile], or [tile] for head after head; NULL where all rows are at hand at
                    once */
};

struct row_stream {
    struct kvr_cell *cell;
    size_t sum_count;
    struct row_sum *sums;
    size_t decode_start;
    struct kvr_element_type type;
    /* Of the pass under way. */
    struct kvr_row_range rows;
    bool by_rows;         /* heads pass inside rows, not rows inside heads */
    size_t tile;          /* tokens that are read at a time */
    size_t block_rows;    /* rows that are */
    unsigned char *block; /* [block_rows][tile] elements of that type, where they have to be read */
    const void **at;      /* [block_rows] where the rows are */
};

/* A part of a head that is at hand. */
struct row_block {
    size_t head;
    size_t first, rows;  /* query rows */
    size_t token, width; /* candidates */
};

/* Which scores are over rows, and every row that they or the future need. */
static enum kvr_status list_sums(struct kvr_cell *cell, struct row_stream *stream,
                                 struct kvr_error *err)
{
    const struct kvr_sample *sample = cell->key.sample;
    *stream = (struct row_stream){
        .cell = cell,
        .decode_start = kvr_sample_decode_start(sample),
        .type = {.kind = KVR_FLOAT, .big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__},
    };
    if (cell->attention == NULL)
        stream->type = cell->key.layer->attention->type;
    stream->rows = (struct kvr_row_range){stream->decode_start, sample->query_count};
    stream->sums = kvr_room_take_zeroed(cell->room, cell->scored_count, sizeof *stream->sums, err);
    if (stream->sums == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < cell->scored_count; i++) {
        struct kvr_scored *scored = &cell->scored[i];
        if (!kvr_score_is_of_rows(scored->score))
            continue;
        struct row_sum *sum = &stream->sums[stream->sum_count++];
        sum->scored = scored;
        sum->rows = kvr_score_rows(scored->score, sample);
        if (sum->rows.begin < stream->rows.begin)
            stream->rows.begin = sum->rows.begin;
    }
    return KVR_OK;
}

/* Whether chunks would be decoded anew for every head, because a head's rows push them out. */
static bool must_pass_by_rows(const struct row_stream *stream)
{
    const struct kvr_cell *cell = stream->cell;
    const struct kvr_dataset *dataset = cell->key.layer->attention;
    if (cell->attention != NULL || !dataset->chunked || dataset->chunk[0] < 2)
        return false;
    double bytes = (double)kvr_element_size(dataset->type.kind) * (double)cell->candidates.count *
                   (double)(stream->rows.end - stream->rows.begin) * (double)cell->key.ratio;
    return bytes * (double)cell->plan->threads > KEPT_BYTES;
}

/* All rows at once where they fit; of contiguous data a part of their tokens; else some rows, those
   of a chunk if every head is to have them. */
static void plan_blocks(struct row_stream *stream)
{
    const struct kvr_cell *cell = stream->cell;
    const struct kvr_dataset *dataset = cell->attention == NULL ? cell->key.layer->attention : NULL;
    const bool chunked = dataset != NULL && dataset->chunked;
    const size_t row_bytes = cell->candidates.count * kvr_element_size(stream->type.kind);
    const size_t rows = stream->rows.end - stream->rows.begin;
    size_t fit = (chunked ? CHUNK_BYTES : WHOLE_BYTES) / row_bytes;
    stream->tile = cell->candidates.count;
    if (stream->by_rows) {
        fit = fit < dataset->chunk[1] ? fit : (size_t)dataset->chunk[1];
    } else if (rows > fit && dataset != NULL && !chunked && rows <= WHOLE_BYTES / PART_BYTES) {
        stream->tile = WHOLE_BYTES / kvr_element_size(stream->type.kind) / rows / 64 * 64;
        fit = rows;
    } else if (rows > fit) {
        fit = BLOCK_BYTES / row_bytes;
    }
    if (cell->attention != NULL && fit < MADE_ROWS)
        fit = MADE_ROWS;
    fit = fit > 0 ? fit : 1;
    stream->block_rows = fit < rows ? fit : rows;
}

/* Whether a score's rows pass. */
static bool passes(const struct row_stream *stream, const struct row_sum *sum)
{
    return sum->rows.begin >= stream->rows.begin && sum->rows.end <= stream->rows.end;
}

static enum kvr_status take_blocks(struct row_stream *stream, struct kvr_error *err)
{
    const struct kvr_cell *cell = stream->cell;
    bool whole = stream->block_rows >= stream->rows.end - stream->rows.begin;
    size_t sum_size = stream->tile * (stream->by_rows ? cell->key.ratio : 1);
    stream->block = kvr_room_take(cell->room, stream->block_rows * stream->tile,
                                  kvr_element_size(stream->type.kind), err);
    stream->at = kvr_room_take(cell->room, stream->block_rows, sizeof *stream->at, err);
    if (stream->block == NULL || stream->at == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < stream->sum_count; i++) {
        struct row_sum *sum = &stream->sums[i];
        sum->sum = NULL;
        if (whole || !passes(stream, sum))
            continue;
        sum->sum = kvr_room_take_zeroed(cell->room, sum_size, sizeof *sum->sum, err);
        if (sum->sum == NULL)
            return KVR_NO_MEMORY;
    }
    return KVR_OK;
}

/* What the rows of the block and `wanted` have in common. */
static struct kvr_row_range common_rows(const struct row_block *block, struct kvr_row_range wanted)
{
    size_t begin = block->first > wanted.begin ? block->first : wanted.begin;
    size_t end = block->first + block->rows;
    end = end < wanted.end ? end : wanted.end;
    return (struct kvr_row_range){begin, end > begin ? end : begin};
}

/* Whether all that is wanted of the block are means of halves: they need no elements in one piece.
 */
static bool needs_half_means_only(const struct row_stream *stream, const struct row_block *block)
{
    if (stream->type.kind != KVR_HALF)
        return false;
    for (size_t i = 0; i < stream->sum_count; i++) {
        struct kvr_row_range common = common_rows(block, stream->sums[i].rows);
        if (common.end > common.begin && stream->sums[i].sum != NULL)
            return false;
    }
    return block->first + block->rows <= stream->decode_start;
}

/* `planes` as of a view; elements are in one piece where sums need them to be. */
static void add_block(struct row_stream *stream, const struct row_block *block, size_t planes)
{
    struct kvr_cell *cell = stream->cell;
    const struct kvr_element_type type = stream->type;
    for (size_t i = 0; i < stream->sum_count; i++) {
        const struct row_sum *sum = &stream->sums[i];
        struct kvr_row_range common = common_rows(block, sum->rows);
        const void *const *rows = stream->at + (common.begin - block->first);
        if (common.begin == common.end)
            continue;
        if (sum->sum != NULL)
            kvr_element_add_rows(type, rows, common.end - common.begin, block->width,
                                 sum->sum + (stream->by_rows ? block->head * stream->tile : 0));
        else
            kvr_element_mean_planes(type, rows, planes, common.end - common.begin, block->width,
                                    sum->scored->vectors + block->head * cell->candidates.count +
                                        block->token);
    }
    const struct kvr_row_range decoded = {stream->decode_start, stream->rows.end};
    struct kvr_row_range common = common_rows(block, decoded);
    if (common.end > common.begin)
        kvr_element_add_squares(type, stream->at + (common.begin - block->first),
                                common.end - common.begin, block->width,
                                cell->future.mass + block->token, cell->future.peak + block->token);
}

/* Finds the block where it lies in memory, or reads or makes it; what is held in `view` must be
   left. */
static enum kvr_status fetch_block(struct row_stream *stream, const struct row_block *block,
                                   struct kvr_row_view *view, struct kvr_error *err)
{
    const struct kvr_cell *cell = stream->cell;
    const struct kvr_dataset *dataset = cell->key.layer->attention;
    const uint64_t head = (uint64_t)cell->key.group * cell->key.ratio + block->head;
    const uint64_t start[] = {head, block->first, cell->candidates.first + block->token};
    const uint64_t size[] = {1, block->rows, block->width};
    bool there = false;
    *view = (struct kvr_row_view){.chunk_count = 0};
    if (cell->attention == NULL) {
        bool planes = needs_half_means_only(stream, block);
        enum kvr_status status = kvr_trace_view_rows(cell->trace, dataset, start, size, planes,
                                                     stream->at, view, &there, err);
        if (status != KVR_OK || there)
            return status;
    }
    view->planes = 0;
    const size_t row_bytes = block->width * kvr_element_size(stream->type.kind);
    for (size_t row = 0; row < block->rows; row++)
        stream->at[row] = stream->block + row * row_bytes;
    if (cell->attention != NULL)
        return kvr_attention_rows(cell->attention, head, block->first, block->rows, start[2],
                                  block->width, (float *)(void *)stream->block, err);
    return kvr_trace_read_stored(cell->trace, dataset, start, size, stream->block, err);
}

static enum kvr_status pass_block(struct row_stream *stream, const struct row_block *block,
                                  struct kvr_error *err)
{
    struct kvr_row_view view;
    enum kvr_status status = fetch_block(stream, block, &view, err);
    if (status != KVR_OK)
        return status;
    add_block(stream, block, view.planes);
    view.finished &= !kvr_survey_needed(stream->cell->plan); /* else cells are loaded again */
    kvr_trace_leave_rows(stream->cell->trace, &view);
    return KVR_OK;
}

/* Sums of a head over all rows of the pass become means, and 0 for the next head. */
static void round_means(const struct row_stream *stream, const struct row_block *block)
{
    for (size_t i = 0; i < stream->sum_count; i++) {
        const struct row_sum *sum = &stream->sums[i];
        if (sum->sum == NULL)
            continue;
        double rows = (double)(sum->rows.end - sum->rows.begin);
        double *from = sum->sum + (stream->by_rows ? block->head * stream->tile : 0);
        float *vector = sum->scored->vectors + block->head * stream->cell->candidates.count;
        for (size_t t = 0; t < block->width; t++) {
            vector[block->token + t] = (float)(from[t] / rows);
            from[t] = 0;
        }
    }
}

/* Head after head, tile after tile, all rows. */
static enum kvr_status pass_heads(struct row_stream *stream, struct kvr_error *err)
{
    const struct kvr_cell *cell = stream->cell;
    size_t count = cell->candidates.count;
    enum kvr_status status = KVR_OK;
    for (size_t head = 0; head < cell->key.ratio; head++)
        for (size_t token = 0; token < count; token += stream->tile) {
            size_t left = count - token;
            struct row_block block = {.head = head, .token = token};
            block.width = left < stream->tile ? left : stream->tile;
            for (block.first = stream->rows.begin; block.first < stream->rows.end;
                 block.first += block.rows) {
                block.rows = stream->rows.end - block.first;
                if (block.rows > stream->block_rows)
                    block.rows = stream->block_rows;
                status = pass_block(stream, &block, err);
                if (status != KVR_OK)
                    return status;
            }
            round_means(stream, &block);
        }
    return status;
}

/* The rows of a chunk after those of another, every head. */
static enum kvr_status pass_rows(struct row_stream *stream, struct kvr_error *err)
{
    const struct kvr_cell *cell = stream->cell;
    size_t chunk_rows = (size_t)cell->key.layer->attention->chunk[1];
    struct row_block block = {.first = stream->rows.begin, .width = stream->tile};
    for (; block.first < stream->rows.end; block.first += block.rows) {
        block.rows = chunk_rows - block.first % chunk_rows;
        if (block.rows > stream->block_rows)
            block.rows = stream->block_rows;
        if (block.rows > stream->rows.end - block.first)
            block.rows = stream->rows.end - block.first;
        for (block.head = 0; block.head < cell->key.ratio; block.head++) {
            enum kvr_status status = pass_block(stream, &block, err);
            if (status != KVR_OK)
                return status;
        }
    }
    for (block.head = 0; block.head < cell->key.ratio; block.head++)
        round_means(stream, &block);
    return KVR_OK;
}

static enum kvr_status pass_range(struct row_stream *stream, struct kvr_row_range rows,
                                  bool by_rows, struct kvr_error *err)
{
    stream->rows = rows;
    stream->by_rows = by_rows;
    if (rows.begin >= rows.end)
        return KVR_OK;
    struct kvr_room_mark mark = kvr_room_mark(stream->cell->room);
    plan_blocks(stream);
    enum kvr_status status = take_blocks(stream, err);
    if (status == KVR_OK)
        status = by_rows ? pass_rows(stream, err) : pass_heads(stream, err);
    kvr_room_return(stream->cell->room, mark);
    return status;
}

bool kvr_rows_finite(const double *sums, size_t count)
{
    double check = 0;
    for (size_t t = 0; t < count; t++)
        check += sums[t] * 0;
    return !isnan(check);
}

static enum kvr_status load_rows(struct kvr_cell *cell, struct kvr_error *err)
{
    size_t count = cell->candidates.count;
    struct kvr_future *future = &cell->future;
    struct row_stream stream;
    enum kvr_status status = list_sums(cell, &stream, err);
    const struct kvr_row_range all = stream.rows;
    if (status != KVR_OK || all.begin >= all.end)
        return status;
    future->row_count = all.end - stream.decode_start;
    if (future->row_count > 0) {
        future->mass = kvr_room_take_zeroed(cell->room, count, sizeof(double), err);
        future->peak = kvr_room_take_zeroed(cell->room, count, sizeof(double), err);
        if (future->mass == NULL || future->peak == NULL)
            return KVR_NO_MEMORY;
    }
    /* Decode rows are summed over heads, too: always head after head, so that sums are the same. */
    const struct kvr_row_range prompt = {all.begin, stream.decode_start};
    const struct kvr_row_range decoded = {stream.decode_start, all.end};
    if (must_pass_by_rows(&stream)) {
        status = pass_range(&stream, prompt, true, err);
        if (status == KVR_OK)
            status = pass_range(&stream, decoded, false, err);
    } else {
        status = pass_range(&stream, all, false, err);
    }
    future->finite = future->row_count == 0 || kvr_rows_finite(future->mass, count);
    return status;
}

enum kvr_status kvr_rows_load(struct kvr_cell *cell, struct kvr_error *err)
{
    return kvr_layer_rows(cell->key.layer) != KVR_MISSING ? load_rows(cell, err) : KVR_OK;
}
