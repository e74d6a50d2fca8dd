/*
 * Relative output error of kept sets. It must not know which policy kept them.
 */
#include "analysis/output_error.h"

#include <math.h>
#include <string.h>

#include "replay/attention.h"
#include "replay/bitmap.h"

enum { BLOCK_VALUES = 1 << 18 };

/* Reads a block of a dataset as float; values are judged to a few parts in 10^7. */
static enum kvr_status read_floats(const struct kvr_cell *cell, const struct kvr_dataset *dataset,
                                   const uint64_t start[3], const uint64_t count[3], float *out,
                                   double *block, struct kvr_error *err)
{
    uint64_t row_length = count[2];
    uint64_t step = row_length < BLOCK_VALUES ? BLOCK_VALUES / row_length : 1;
    for (uint64_t row = 0; row < count[1]; row += step) {
        uint64_t rows = count[1] - row < step ? count[1] - row : step;
        const uint64_t at[] = {start[0], start[1] + row, start[2]};
        const uint64_t size[] = {1, rows, row_length};
        enum kvr_status status = kvr_trace_read(cell->trace, dataset, at, size, block, err);
        if (status != KVR_OK)
            return status;
        for (uint64_t i = 0; i < rows * row_length; i++)
            out[row * row_length + i] = (float)block[i];
    }
    return KVR_OK;
}

/* Rows of a head over all positions. */
static enum kvr_status read_rows(const struct kvr_cell *cell, uint64_t head, size_t first,
                                 size_t count, float *rows, double *block, struct kvr_error *err)
{
    uint64_t context = cell->key.sample->context_length;
    if (cell->attention != NULL)
        return kvr_attention_rows(cell->attention, head, first, count, 0, (size_t)context, rows,
                                  err);
    const uint64_t start[] = {head, first, 0}, size[] = {1, count, context};
    return read_floats(cell, cell->key.layer->attention, start, size, rows, block, err);
}

static enum kvr_status take(const struct kvr_cell *cell, struct kvr_output_error *judge,
                            uint64_t context, double **block, struct kvr_error *err)
{
    size_t r = cell->key.ratio, longest = context > judge->width ? context : judge->width;
    size_t block_size = longest > BLOCK_VALUES ? longest : BLOCK_VALUES;
    judge->rows = kvr_room_take(cell->room, r * judge->row_count * context, sizeof(float), err);
    judge->values = kvr_room_take(cell->room, context * judge->width, sizeof(float), err);
    judge->outputs =
        kvr_room_take(cell->room, r * judge->row_count * judge->width, sizeof(double), err);
    judge->scratch = kvr_room_take(cell->room, judge->width, sizeof(double), err);
    *block = kvr_room_take(cell->room, block_size, sizeof(double), err);
    bool failed = judge->rows == NULL || judge->values == NULL || judge->outputs == NULL ||
                  judge->scratch == NULL || *block == NULL;
    return failed ? KVR_NO_MEMORY : KVR_OK;
}

/* out += sum over [start, end) of a_t v_t; returns the sum of a_t. */
static double add_span(const struct kvr_output_error *judge, const float *row, uint64_t start,
                       uint64_t end, double *out)
{
    double total = 0;
    for (uint64_t t = start; t < end; t++) {
        double a = (double)row[t];
        const float *value = judge->values + t * judge->width;
        total += a;
        for (size_t d = 0; d < judge->width; d++)
            out[d] += a * (double)value[d];
    }
    return total;
}

static double norm(const double *vector, size_t width)
{
    double sum = 0;
    for (size_t d = 0; d < width; d++)
        sum += vector[d] * vector[d];
    return sqrt(sum);
}

static void compute_outputs(const struct kvr_cell *cell, struct kvr_output_error *judge)
{
    uint64_t context = cell->key.sample->context_length;
    size_t count = cell->key.ratio * judge->row_count;
    judge->finite = true;
    for (size_t i = 0; i < count; i++) {
        double *out = judge->outputs + i * judge->width;
        memset(out, 0, judge->width * sizeof *out);
        double total = add_span(judge, judge->rows + i * context, 0, context, out);
        for (size_t d = 0; d < judge->width; d++)
            out[d] /= total;
        double length = norm(out, judge->width);
        judge->finite = judge->finite && isfinite(length) && length > 0;
    }
}

enum kvr_status kvr_output_error_load(const struct kvr_cell *cell, struct kvr_output_error *judge,
                                      struct kvr_error *err)
{
    const struct kvr_sample *sample = cell->key.sample;
    const struct kvr_layer *layer = cell->key.layer;
    *judge = (struct kvr_output_error){0};
    if (layer->value == NULL || kvr_layer_rows(layer) == KVR_MISSING || sample->query_count == 0)
        return KVR_OK;
    size_t first_row = kvr_sample_decode_start(sample);
    if (first_row == sample->query_count)
        first_row--;
    judge->row_count = sample->query_count - first_row;
    judge->width = (size_t)layer->value->shape[2];
    double *block;
    enum kvr_status status = take(cell, judge, sample->context_length, &block, err);
    for (size_t h = 0; status == KVR_OK && h < cell->key.ratio; h++) {
        uint64_t head = (uint64_t)cell->key.group * cell->key.ratio + h;
        float *rows = judge->rows + h * judge->row_count * sample->context_length;
        status = read_rows(cell, head, first_row, judge->row_count, rows, block, err);
    }
    if (status == KVR_OK) {
        const uint64_t start[] = {cell->key.group, 0, 0};
        const uint64_t count[] = {1, sample->context_length, judge->width};
        status = read_floats(cell, layer->value, start, count, judge->values, block, err);
    }
    if (status == KVR_OK)
        compute_outputs(cell, judge);
    return status;
}

/* The output of one row over the kept candidates and the positions from P on, into scratch. */
static void kept_output(const struct kvr_cell *cell, const struct kvr_output_error *judge,
                        const float *row, const uint64_t *tokens)
{
    uint64_t first = cell->candidates.first, context = cell->key.sample->context_length;
    double *out = judge->scratch, total = 0;
    memset(out, 0, judge->width * sizeof *out);
    for (size_t word = 0; word < kvr_bitmap_words(cell->candidates.count); word++)
        for (uint64_t bits = tokens[word]; bits != 0; bits &= bits - 1) {
            uint64_t t = first + word * 64 + (uint64_t)__builtin_ctzll(bits);
            total += add_span(judge, row, t, t + 1, out);
        }
    total += add_span(judge, row, cell->key.sample->prompt_length, context, out);
    for (size_t d = 0; d < judge->width; d++)
        out[d] = total > 0 ? out[d] / total : 0;
}

double kvr_output_error_of(const struct kvr_cell *cell, const struct kvr_output_error *judge,
                           const uint64_t *tokens)
{
    if (judge->row_count == 0 || !judge->finite)
        return NAN;
    uint64_t context = cell->key.sample->context_length;
    size_t count = cell->key.ratio * judge->row_count;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double *full = judge->outputs + i * judge->width;
        kept_output(cell, judge, judge->rows + i * context, tokens);
        double length = norm(full, judge->width);
        for (size_t d = 0; d < judge->width; d++)
            judge->scratch[d] -= full[d];
        sum += norm(judge->scratch, judge->width) / length;
    }
    return sum / (double)count;
}
