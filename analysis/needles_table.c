/*
 * needles.csv: how much of each needle every policy keeps in every group, and where it ranks it
 * (MEASURES §7). A needle that a layer's candidates do not hold whole has no row there.
 */
#include <math.h>

#include "analysis/result_tables.h"
#include "analysis/rows_record.h"
#include "replay/bitmap.h"

/* What does not depend on the budget, per needle. */
struct needle_facts {
    double pooled_mass;   /* NaN for reduce `head` */
    size_t rank;          /* of its best unit */
    double future_weight; /* the decode rows' mass on the needle; NaN if it does not apply */
};

static double sum_span(const double *values, struct kvr_range range)
{
    double sum = 0;
    for (size_t t = range.start; t < range.end; t++)
        sum += values[t];
    return sum;
}

static double pooled_mass(const float *pooled, struct kvr_range range)
{
    if (pooled == NULL)
        return NAN;
    double sum = 0;
    for (size_t t = range.start; t < range.end; t++)
        sum += (double)pooled[t];
    return sum;
}

static struct needle_facts facts_of(const struct kvr_cell *cell,
                                    const struct kvr_selection *selection, struct kvr_range range)
{
    struct needle_facts facts = {
        .pooled_mass = pooled_mass(selection->pooled, range),
        .rank = kvr_selection_rank(selection, range),
        .future_weight = NAN,
    };
    if (cell->future.row_count > 0 && cell->future.finite) {
        double weight = sum_span(cell->future.mass, range);
        if (fabs(weight) > 0)
            facts.future_weight = weight;
    }
    return facts;
}

static double kept_future(const struct kvr_cell *cell, const uint64_t *tokens,
                          struct kvr_range range)
{
    double sum = 0;
    for (size_t t = range.start; t < range.end; t++)
        if (kvr_bitmap_has(tokens, t))
            sum += cell->future.mass[t];
    return sum;
}

static void add_row(struct kvr_text *rows, const struct kvr_cell *cell,
                    const struct kvr_selection *selection, size_t budget, size_t needle,
                    const struct needle_facts *facts)
{
    struct kvr_range range = cell->needles[needle];
    const uint64_t *tokens = selection->kept[budget].tokens;
    uint64_t kept = kvr_bitmap_count_span(tokens, range.start, range.end);
    kvr_rows_start_kept(rows, cell, selection, budget);
    kvr_csv_unsigned(rows, needle);
    kvr_csv_unsigned(rows, cell->key.sample->needles[needle].start);
    kvr_csv_unsigned(rows, cell->key.sample->needles[needle].end);
    kvr_csv_figure(rows, (double)kept / (double)(range.end - range.start));
    kvr_csv_figure(rows, facts->pooled_mass);
    kvr_csv_unsigned(rows, facts->rank);
    kvr_csv_figure(rows, isnan(facts->future_weight)
                             ? NAN
                             : kept_future(cell, tokens, range) / facts->future_weight);
    kvr_csv_figure(rows, facts->future_weight);
    kvr_csv_end(rows);
}

static enum kvr_status selected(void *state, void *record, const struct kvr_cell *cell,
                                const struct kvr_selection *selection, struct kvr_error *err)
{
    (void)state;
    struct needle_facts *facts =
        kvr_room_take(cell->room, cell->needle_count, sizeof *facts, err);
    if (facts == NULL)
        return KVR_NO_MEMORY;
    for (size_t n = 0; n < cell->needle_count; n++)
        if (kvr_cell_holds_needle(cell, n))
            facts[n] = facts_of(cell, selection, cell->needles[n]);
    for (size_t b = 0; b < cell->plan->budget_count; b++)
        for (size_t n = 0; n < cell->needle_count; n++)
            if (kvr_cell_holds_needle(cell, n))
                add_row(record, cell, selection, b, n, &facts[n]);
    return KVR_OK;
}

enum kvr_status kvr_needles_table(struct kvr_outfile *file, struct kvr_observer *out,
                                  struct kvr_error *err)
{
    (void)err;
    *out = kvr_rows_observer(file);
    out->selected = selected;
    return KVR_OK;
}
