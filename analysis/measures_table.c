/*
 * measures.csv: what a policy keeps of a group and what that holds (MEASURES §4, §9).
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/output_error.h"
#include "analysis/result_tables.h"
#include "analysis/rows_record.h"
#include "formats/base/memory.h"
#include "replay/bitmap.h"

/* The rows of a cell, and what is computed once for all of them. */
struct measures_record {
    struct kvr_text rows;
    struct kvr_output_error judge;
    double future_weight, peak_weight; /* NaN where future mass does not apply */
};

static double sum_all(const double *values, size_t count)
{
    double sum = 0;
    for (size_t t = 0; t < count; t++)
        sum += values[t];
    return sum;
}

static enum kvr_status begin(void *state, const struct kvr_cell *cell, void **record,
                             struct kvr_error *err)
{
    (void)state;
    struct measures_record *measures = kvr_alloc(1, sizeof *measures, err);
    if (measures == NULL)
        return KVR_NO_MEMORY;
    *record = measures;
    measures->future_weight = measures->peak_weight = NAN;
    const struct kvr_future *future = &cell->future;
    if (future->row_count > 0 && future->finite) {
        double weight = sum_all(future->mass, cell->candidates.count);
        if (fabs(weight) > 0) {
            measures->future_weight = weight;
            measures->peak_weight = sum_all(future->peak, cell->candidates.count);
        }
    }
    return kvr_output_error_load(cell, &measures->judge, err);
}

/* Mean over the heads of the share of each head's mass that is kept; a head without mass has 0. */
static double retained_mass(const struct kvr_cell *cell, const struct kvr_scored *scored,
                            const uint64_t *tokens)
{
    if (!scored->attention)
        return NAN;
    size_t count = cell->candidates.count, words = kvr_bitmap_words(count);
    double sum = 0;
    for (size_t h = 0; h < scored->heads; h++) {
        double kept = kvr_bitmap_sum_float(tokens, words, scored->vectors + h * count);
        if (fabs(scored->totals[h]) > 0)
            sum += kept / scored->totals[h];
    }
    return sum / (double)scored->heads;
}

static void add_future(struct kvr_text *rows, const struct kvr_cell *cell,
                       const struct measures_record *measures, const uint64_t *tokens)
{
    double mass = NAN, peak = NAN;
    if (!isnan(measures->future_weight)) {
        size_t words = kvr_bitmap_words(cell->candidates.count);
        mass = kvr_bitmap_sum_double(tokens, words, cell->future.mass) / measures->future_weight;
        peak = kvr_bitmap_sum_double(tokens, words, cell->future.peak) / measures->peak_weight;
    }
    kvr_csv_figure(rows, mass);
    kvr_csv_figure(rows, measures->future_weight);
    kvr_csv_figure(rows, peak);
    kvr_csv_figure(rows, measures->peak_weight);
}

static enum kvr_status selected(void *state, void *record, const struct kvr_cell *cell,
                                const struct kvr_selection *selection, struct kvr_error *err)
{
    (void)state;
    (void)err;
    struct measures_record *measures = record;
    struct kvr_text *rows = &measures->rows;
    for (size_t b = 0; b < cell->plan->budget_count; b++) {
        const struct kvr_kept *kept = &selection->kept[b];
        kvr_rows_start_kept(rows, cell, selection, b);
        kvr_csv_unsigned(rows, cell->candidates.count);
        kvr_csv_unsigned(rows, cell->key.ratio);
        kvr_csv_unsigned(rows, kept->quota);
        kvr_csv_unsigned(rows, kept->selected);
        kvr_csv_exact(rows,
                      kept->quota > 0 ? (double)kept->selected / (double)kept->quota : NAN);
        kvr_csv_unsigned(rows, kept->kept_tokens);
        kvr_csv_figure(rows, retained_mass(cell, selection->scored, kept->tokens));
        add_future(rows, cell, measures, kept->tokens);
        kvr_csv_figure(rows, kvr_output_error_of(cell, &measures->judge, kept->tokens));
        kvr_csv_end(rows);
    }
    return KVR_OK;
}

static void discard(void *state, void *record)
{
    (void)state;
    struct measures_record *measures = record;
    if (measures != NULL)
        kvr_text_free(&measures->rows);
    free(measures);
}

static enum kvr_status commit(void *state, const struct kvr_cell_key *key, void *record,
                              struct kvr_error *err)
{
    (void)key;
    const struct measures_record *measures = record;
    enum kvr_status status = kvr_text_check(&measures->rows, err);
    if (status == KVR_OK && measures->rows.length > 0)
        status = kvr_outfile_write(state, measures->rows.data, measures->rows.length, err);
    discard(state, record);
    return status;
}

enum kvr_status kvr_measures_table(struct kvr_outfile *file, struct kvr_observer *out,
                                   struct kvr_error *err)
{
    (void)err;
    *out = (struct kvr_observer){.state = file,
                                 .begin = begin,
                                 .selected = selected,
                                 .commit = commit,
                                 .discard = discard};
    return KVR_OK;
}
