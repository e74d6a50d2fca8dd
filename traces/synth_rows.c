/*
 * Rows from head profiles, and their column sums, piece by piece. It must not know about files.
 *
 * A first pass finds every row's sum of broad weights, a second one makes the values: nothing of
 * the size of a row is kept. Column sums need three vectors over the positions.
 */
#include "traces/synth_source.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/parallel.h"

struct rows {
    const struct kvr_synth_plan *plan;
    const struct kvr_synth_broad *broad;
    struct kvr_synth_head *heads;
    double *scales; /* [H_Q][Q]: from a broad weight to a value */
};

static uint64_t tile_end(uint64_t start, uint64_t end)
{
    uint64_t next = (start / KVR_SYNTH_TILE + 1) * KVR_SYNTH_TILE;
    return next < end ? next : end;
}

/* The columns of [start, end) that a row sees: [*low, *high), empty if *low >= *high. */
static void visible_part(const struct kvr_synth_plan *plan, uint64_t position, uint64_t start,
                         uint64_t end, uint64_t *low, uint64_t *high)
{
    uint64_t first = kvr_synth_first_visible(plan, position);
    *low = first > start ? first : start;
    *high = position + 1 < end ? position + 1 : end;
}

/* Scales. */

static enum kvr_status find_scales(void *context, size_t head, unsigned thread, void **result,
                                   struct kvr_error *err)
{
    (void)thread;
    (void)err;
    const struct rows *rows = context;
    const struct kvr_synth_plan *plan = rows->plan;
    const struct kvr_sample *sample = &plan->sample;
    double *scales = rows->scales + head * sample->query_count;
    double lasting[KVR_SYNTH_TILE];
    uint64_t first = kvr_synth_first_visible(plan, sample->query_positions[0]);
    uint64_t end = sample->query_positions[sample->query_count - 1] + 1;
    for (uint64_t start = first, stop; start < end; start = stop) {
        stop = tile_end(start, end);
        kvr_synth_lasting(rows->broad, plan, (uint32_t)head, start, stop, lasting);
        for (size_t row = 0; row < sample->query_count; row++) {
            uint64_t position = sample->query_positions[row], low, high;
            visible_part(plan, position, start, stop, &low, &high);
            if (low < high)
                scales[row] += kvr_synth_broad_sum(rows->broad, plan, (uint32_t)head, position, low,
                                                   high, lasting + (low - start));
        }
    }
    for (size_t row = 0; row < sample->query_count; row++) {
        struct kvr_synth_masses masses =
            kvr_synth_row_masses(plan, &rows->heads[head], sample->query_positions[row]);
        scales[row] = masses.broad / scales[row];
    }
    *result = NULL;
    return KVR_OK;
}

/* For tasks whose results are where they belong already. */
static enum kvr_status commit_nothing(void *context, size_t index, void *result,
                                      struct kvr_error *err)
{
    (void)context;
    (void)index;
    (void)result;
    (void)err;
    return KVR_OK;
}

static void discard_nothing(void *context, void *result)
{
    (void)context;
    (void)result;
}

/* Blocks. */

/* A piece of a row within one tile; lasting and values belong to column start. */
static void fill_piece(const struct rows *rows, uint32_t head, size_t row, uint64_t start,
                       uint64_t end, const double *lasting, double *values)
{
    const struct kvr_sample *sample = &rows->plan->sample;
    uint64_t position = sample->query_positions[row], low, high;
    visible_part(rows->plan, position, start, end, &low, &high);
    memset(values, 0, (size_t)(end - start) * sizeof *values);
    if (low >= high)
        return;
    double scale = rows->scales[head * sample->query_count + row];
    kvr_synth_broad_fill(rows->broad, rows->plan, head, position, low, high,
                         lasting + (low - start), scale, values + (low - start));
    kvr_synth_add_parts(rows->plan, &rows->heads[head], position, start, end, values);
}

static enum kvr_status rows_fill(const void *context, const struct kvr_synth_block *block,
                                 double *values, struct kvr_error *err)
{
    (void)err;
    const struct rows *rows = context;
    double lasting[KVR_SYNTH_TILE];
    uint64_t end = block->start[2] + block->count[2];
    for (uint64_t h = 0; h < block->count[0]; h++) {
        uint32_t head = (uint32_t)(block->start[0] + h);
        for (uint64_t start = block->start[2], stop; start < end; start = stop) {
            stop = tile_end(start, end);
            kvr_synth_lasting(rows->broad, rows->plan, head, start, stop, lasting);
            for (uint64_t q = 0; q < block->count[1]; q++) {
                uint64_t line = h * block->count[1] + q;
                fill_piece(rows, head, (size_t)(block->start[1] + q), start, stop, lasting,
                           values + line * block->count[2] + (start - block->start[2]));
            }
        }
    }
    return KVR_OK;
}

/* Column sums. Rows that were not recorded count with what their profile lets expect. */

/* The head's lasting weights at all positions below `end`. */
static void all_lasting(const struct rows *rows, uint32_t head, uint64_t end, double *weights)
{
    for (uint64_t start = 0, stop; start < end; start = stop) {
        stop = tile_end(start, end);
        kvr_synth_lasting(rows->broad, rows->plan, head, start, stop, weights + start);
    }
}

/*
 * The broad part: row p gives column t the weight e(t) * m(p) / Z(p), with m its broad mass and
 * Z(p) the sum of e over what it sees, as the row's own factor is 1 on average. So a column gets
 * e(t) times a sum of m/Z over the rows that see it: a difference of running sums.
 */
static void expect_broad(const struct rows *rows, uint32_t head, uint64_t unrecorded,
                         double *running, double *weights, double *sums)
{
    const struct kvr_synth_plan *plan = rows->plan;
    uint64_t pad = plan->sample.pad, window = plan->layer.sliding_window;
    double seen = 0, total = 0;
    all_lasting(rows, head, unrecorded, weights);
    for (uint64_t p = pad; p < unrecorded; p++) {
        uint64_t first = kvr_synth_first_visible(plan, p);
        seen += weights[p];
        if (first > pad)
            seen -= weights[first - 1];
        total += kvr_synth_row_masses(plan, &rows->heads[head], p).broad / seen;
        running[p] = total;
    }
    for (uint64_t t = pad; t < unrecorded; t++) {
        uint64_t last = window > 0 && window < unrecorded - t ? t + window - 1 : unrecorded - 1;
        sums[t] += weights[t] * (running[last] - (t > pad ? running[t - 1] : 0));
    }
}

static void expect_local(const struct rows *rows, uint32_t head, uint64_t unrecorded, double *sums)
{
    for (uint64_t t = rows->plan->sample.pad; t < unrecorded; t++)
        sums[t] += kvr_synth_expected_local(rows->plan, &rows->heads[head], unrecorded - t);
}

static enum kvr_status expect_unrecorded(const struct rows *rows, uint32_t head,
                                         uint64_t unrecorded, double *sums, struct kvr_error *err)
{
    const struct kvr_synth_plan *plan = rows->plan;
    uint64_t pad = plan->sample.pad;
    double *running = kvr_alloc((size_t)unrecorded, sizeof *running, err);
    double *weights = kvr_alloc((size_t)unrecorded, sizeof *weights, err);
    if (running == NULL || weights == NULL) {
        free(running);
        free(weights);
        return KVR_NO_MEMORY;
    }
    expect_broad(rows, head, unrecorded, running, weights, sums);
    expect_local(rows, head, unrecorded, sums);
    for (uint64_t p = pad; p < unrecorded; p++)
        kvr_synth_add_points(plan, &rows->heads[head], p, sums);
    /* The first rows' local parts are cut short; together all parts must be the rows' whole mass.
     */
    double total = 0, whole = (1 - rows->heads[head].leak) * (double)(unrecorded - pad);
    for (uint64_t t = pad; t < unrecorded; t++)
        total += sums[t];
    for (uint64_t t = pad; t < unrecorded; t++)
        sums[t] *= whole / total;
    free(running);
    free(weights);
    return KVR_OK;
}

/* Adds the recorded prefill rows to the sums, tile by tile in any order. */
struct adding {
    const struct rows *rows;
    uint32_t head;
    double *sums;
};

static enum kvr_status add_recorded(void *context, size_t tile, unsigned thread, void **result,
                                    struct kvr_error *err)
{
    (void)thread;
    (void)err;
    const struct adding *adding = context;
    const struct rows *rows = adding->rows;
    double lasting[KVR_SYNTH_TILE], values[KVR_SYNTH_TILE];
    uint64_t start = (uint64_t)tile * KVR_SYNTH_TILE;
    uint64_t end = tile_end(start, rows->plan->sample.prompt_length);
    kvr_synth_lasting(rows->broad, rows->plan, adding->head, start, end, lasting);
    for (size_t row = 0; row < rows->plan->prefill_rows; row++) {
        fill_piece(rows, adding->head, row, start, end, lasting, values);
        for (uint64_t t = start; t < end; t++)
            adding->sums[t] += values[t - start];
    }
    *result = NULL;
    return KVR_OK;
}

static enum kvr_status rows_column_sums(const void *context, uint32_t head, double *sums,
                                        struct kvr_error *err)
{
    const struct rows *rows = context;
    const struct kvr_sample *sample = &rows->plan->sample;
    uint64_t unrecorded = sample->prompt_length - rows->plan->prefill_rows;
    memset(sums, 0, (size_t)sample->context_length * sizeof *sums);
    enum kvr_status status = KVR_OK;
    if (unrecorded > sample->pad)
        status = expect_unrecorded(rows, head, unrecorded, sums, err);
    if (status != KVR_OK || rows->plan->prefill_rows == 0)
        return status;
    struct adding adding = {rows, head, sums};
    const struct kvr_tasks tasks = {
        .count = (size_t)((sample->prompt_length + KVR_SYNTH_TILE - 1) / KVR_SYNTH_TILE),
        .context = &adding,
        .work = add_recorded,
        .commit = commit_nothing,
        .discard = discard_nothing,
    };
    return kvr_run_ordered(rows->plan->options->threads, &tasks, err);
}

/* Life. */

static void rows_release(void *context)
{
    struct rows *rows = context;
    free(rows->heads);
    free(rows->scales);
    free(rows);
}

enum kvr_status kvr_synth_rows_new(const struct kvr_synth_plan *plan,
                                   const struct kvr_synth_broad *broad,
                                   struct kvr_synth_source *source, struct kvr_error *err)
{
    struct rows *rows = kvr_alloc(1, sizeof *rows, err);
    if (rows == NULL)
        return KVR_NO_MEMORY;
    size_t heads = plan->layer.query_heads;
    *rows = (struct rows){.plan = plan, .broad = broad};
    rows->heads = kvr_alloc(heads, sizeof *rows->heads, err);
    rows->scales = kvr_alloc(heads * plan->sample.query_count, sizeof *rows->scales, err);
    enum kvr_status status = KVR_OK;
    if (rows->heads == NULL || rows->scales == NULL)
        status = KVR_NO_MEMORY;
    for (size_t head = 0; status == KVR_OK && head < heads; head++)
        rows->heads[head] = kvr_synth_head(plan, (uint32_t)head);
    const struct kvr_tasks tasks = {
        .count = heads,
        .context = rows,
        .work = find_scales,
        .commit = commit_nothing,
        .discard = discard_nothing,
    };
    if (status == KVR_OK && plan->sample.query_count > 0)
        status = kvr_run_ordered(plan->options->threads, &tasks, err);
    if (status != KVR_OK) {
        rows_release(rows);
        return status;
    }
    *source = (struct kvr_synth_source){rows, rows_fill, rows_column_sums, rows_release};
    return KVR_OK;
}
