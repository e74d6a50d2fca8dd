/*
 * Scores from column sums and recorded columns. Quotients stay in double until the one rounding.
 */
#include "replay/score_columns.h"

#include <string.h>

/* Reads [head][first … P-1] of a dataset of shape [heads][N]; of no dataset, the sums that query
   and key gave. */
static enum kvr_status read_head(const struct kvr_cell *cell, const struct kvr_dataset *dataset,
                                 uint64_t head, double *values, struct kvr_error *err)
{
    size_t count = cell->candidates.count;
    if (dataset == NULL) {
        memcpy(values, cell->column_sums + head % cell->key.ratio * count, count * sizeof *values);
        return KVR_OK;
    }
    const uint64_t start[] = {head, cell->candidates.first, 0};
    const uint64_t size[] = {1, count, 1};
    return kvr_trace_read(cell->trace, dataset, start, size, values, err);
}

static double total_of(const double *values, size_t count)
{
    double total = 0;
    for (size_t t = 0; t < count; t++)
        total += values[t];
    return total;
}

/* Reads each head of the group, lets `shape` change the values, divides by the divisor it gives
   and rounds. */
static enum kvr_status score_heads(struct kvr_cell *cell, struct kvr_scored *scored,
                                   const struct kvr_dataset *dataset,
                                   double (*shape)(const struct kvr_cell *cell, double *values),
                                   struct kvr_error *err)
{
    size_t count = cell->candidates.count;
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    double *values = kvr_room_take(cell->room, count, sizeof *values, err);
    if (values == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = KVR_OK;
    for (size_t h = 0; status == KVR_OK && h < scored->heads; h++) {
        uint64_t head = (uint64_t)cell->key.group * scored->heads + h;
        status = read_head(cell, dataset, head, values, err);
        if (status != KVR_OK)
            break;
        double divisor = shape(cell, values);
        float *vector = scored->vectors + h * count;
        for (size_t t = 0; t < count; t++)
            vector[t] = (float)(values[t] / divisor);
    }
    kvr_room_return(cell->room, mark);
    return status;
}

static double by_total(const struct kvr_cell *cell, double *values)
{
    return total_of(values, cell->candidates.count);
}

static double by_rows_that_see(const struct kvr_cell *cell, double *values)
{
    uint64_t rows = cell->candidates.count; /* P - first: the rows that see the first candidate */
    for (size_t t = 0; t < cell->candidates.count; t++)
        values[t] /= (double)(rows - t);
    return total_of(values, cell->candidates.count);
}

static double as_recorded(const struct kvr_cell *cell, double *values)
{
    (void)cell;
    (void)values;
    return 1;
}

enum kvr_status kvr_score_accumulated(struct kvr_cell *cell, struct kvr_scored *scored,
                                      struct kvr_error *err)
{
    return score_heads(cell, scored, cell->key.layer->accumulated, by_total, err);
}

enum kvr_status kvr_score_observed(struct kvr_cell *cell, struct kvr_scored *scored,
                                   struct kvr_error *err)
{
    return score_heads(cell, scored, cell->key.layer->accumulated, by_rows_that_see, err);
}

enum kvr_status kvr_score_recorded(struct kvr_cell *cell, struct kvr_scored *scored,
                                   struct kvr_error *err)
{
    const struct kvr_column *column = kvr_score_column(scored->score, cell->key.layer);
    return score_heads(cell, scored, &column->data, as_recorded, err);
}
