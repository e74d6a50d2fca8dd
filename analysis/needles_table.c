/*
 * needles.csv: how much of each needle every policy keeps in every group, and where it ranks it
 * (MEASURES §7). A needle that a layer's candidates do not hold whole has no row there.
 */
#include <math.h>

#include "analysis/result_tables.h"
#include "replay/bitmap.h"

/* What does not depend on the budget, per needle. */
struct needle_facts {
    double pooled_mass;   /* NaN where nothing was pooled */
    size_t rank;          /* of its best unit, where that does not depend on the budget */
    double future_weight; /* the decode rows' mass on the needle; NaN if it does not apply */
};

static double sum_span(const double *values, struct kvr_range range)
{
    double sum = 0;
    for (size_t t = range.start; t < range.end; t++)
        sum += values[t];
    return sum;
}

/* NaN for reduce `head`, and for scores without heads: nothing was pooled. */
static double pooled_mass(const struct kvr_selection *selection, struct kvr_range range)
{
    if (selection->pooled == NULL || selection->scored->score->scorer->heads == KVR_PER_LAYER)
        return NAN;
    double sum = 0;
    for (size_t t = range.start; t < range.end; t++)
        sum += (double)selection->pooled[t];
    return sum;
}

static struct needle_facts facts_of(const struct kvr_cell *cell,
                                    const struct kvr_selection *selection, struct kvr_range range)
{
    struct needle_facts facts = {
        .pooled_mass = pooled_mass(selection, range),
        .rank = kvr_selection_rank(selection, 0, range),
        .future_weight = NAN,
    };
    if (!isnan(cell->future.mass_total)) {
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

static enum kvr_status add_row(struct kvr_rows *rows, const struct kvr_cell *cell,
                               const struct kvr_selection *selection, size_t budget, size_t needle,
                               const struct needle_facts *facts, struct kvr_error *err)
{
    struct kvr_range range = cell->needles[needle];
    const uint64_t *tokens = selection->kept[budget].tokens;
    uint64_t kept = kvr_bitmap_count_span(tokens, range.start, range.end);
    struct kvr_text *text = &rows->text;
    kvr_rows_start_kept(text, cell, selection, budget);
    kvr_csv_unsigned(text, needle);
    kvr_csv_unsigned(text, cell->key.sample->needles[needle].start);
    kvr_csv_unsigned(text, cell->key.sample->needles[needle].end);
    kvr_csv_figure(text, (double)kept / (double)(range.end - range.start));
    kvr_csv_figure(text, facts->pooled_mass);
    bool varies = selection->stages->protect.has_fraction;
    kvr_csv_unsigned(text, varies ? kvr_selection_rank(selection, budget, range) : facts->rank);
    kvr_csv_figure(text, isnan(facts->future_weight)
                             ? NAN
                             : kept_future(cell, tokens, range) / facts->future_weight);
    kvr_csv_figure(text, facts->future_weight);
    kvr_csv_end(text);
    const struct kvr_needle_fact fact = {
        .place = kvr_rows_place(cell, selection, budget),
        .needle = needle,
        .whole = kept == range.end - range.start,
    };
    return kvr_rows_add_fact(rows, &fact, err);
}

static enum kvr_status selected(void *sink, void *record, const struct kvr_cell *cell,
                                const struct kvr_selection *selection, struct kvr_error *err)
{
    (void)sink;
    struct needle_facts *facts = kvr_room_take(cell->room, cell->needle_count, sizeof *facts, err);
    if (facts == NULL)
        return KVR_NO_MEMORY;
    for (size_t n = 0; n < cell->needle_count; n++)
        if (kvr_cell_holds_needle(cell, n))
            facts[n] = facts_of(cell, selection, cell->needles[n]);
    enum kvr_status status = KVR_OK;
    for (size_t b = 0; b < cell->plan->budget_count; b++)
        for (size_t n = 0; status == KVR_OK && n < cell->needle_count; n++)
            if (kvr_cell_holds_needle(cell, n))
                status = add_row(record, cell, selection, b, n, &facts[n], err);
    return status;
}

const struct kvr_result_table kvr_needles_table = {
    .name = "needles.csv",
    .header = "trace,sample,layer,group,scorer,policy,page_size,budget,needle,start,end,"
              "kept_fraction,pooled_mass,rank,needle_future,needle_future_weight",
    .fact_size = sizeof(struct kvr_needle_fact),
    .add_fact = kvr_summary_add_needle,
    .observer =
        {
            .begin = kvr_rows_begin,
            .selected = selected,
            .commit = kvr_rows_commit,
            .discard = kvr_rows_discard,
        },
};
