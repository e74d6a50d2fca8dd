/*
 * Opens queries and keys for the rows that a cell reads, and adds up the prefill rows of all its
 * heads. It must not know how a row is computed.
 */
#include "replay/recompute.h"

#include <string.h>

#include "replay/attention.h"
#include "replay/backend.h"

static bool needs_sums(const struct kvr_cell *cell)
{
    if (kvr_layer_column_sums(cell->key.sample, cell->key.layer) != KVR_RECOMPUTED)
        return false;
    for (size_t i = 0; i < cell->scored_count; i++)
        if (cell->scored[i].score->scorer->source == KVR_FROM_ACCUMULATED)
            return true;
    return false;
}

/* The first row that a score, the sums over decode rows or the output error reads. */
static size_t first_row(const struct kvr_cell *cell, bool sums)
{
    const struct kvr_sample *sample = cell->key.sample;
    size_t first = kvr_sample_decode_start(sample);
    if (first == sample->query_count && first > 0)
        first--;
    struct kvr_row_range prefill = kvr_prefill_rows(sample);
    if (sums && prefill.begin < first)
        first = prefill.begin;
    for (size_t i = 0; i < cell->scored_count; i++) {
        const struct kvr_score *score = cell->scored[i].score;
        if (score->scorer->source != KVR_FROM_PROMPT_ROWS)
            continue;
        struct kvr_row_range rows = kvr_score_rows(score, sample);
        first = rows.begin < first ? rows.begin : first;
    }
    return first;
}

enum kvr_status kvr_recompute_columns(struct kvr_cell *cell, struct kvr_attention *attention,
                                      struct kvr_row_range rows, struct kvr_error *err)
{
    size_t count = cell->candidates.count, r = cell->key.ratio;
    enum kvr_status status = KVR_OK;
    memset(cell->column_sums, 0, r * count * sizeof *cell->column_sums);
    for (size_t h = 0; status == KVR_OK && h < r; h++)
        status = kvr_attention_add(attention, (uint64_t)cell->key.group * r + h, rows.begin,
                                   rows.end - rows.begin, cell->candidates.first, count,
                                   cell->column_sums + h * count, err);
    return status;
}

static enum kvr_status add_prefill_rows(struct kvr_cell *cell, struct kvr_attention *attention,
                                        struct kvr_error *err)
{
    const struct kvr_row_range rows = kvr_prefill_rows(cell->key.sample);
    cell->column_sums =
        kvr_room_take(cell->room, cell->key.ratio * cell->candidates.count, sizeof(double), err);
    return cell->column_sums != NULL ? kvr_backend_columns(cell, attention, rows, err)
                                     : KVR_NO_MEMORY;
}

enum kvr_status kvr_recompute_load(struct kvr_cell *cell, struct kvr_error *err)
{
    const struct kvr_cell_key *key = &cell->key;
    bool rows = kvr_layer_rows(key->layer) == KVR_RECOMPUTED, sums = needs_sums(cell);
    if (!rows && !sums)
        return KVR_OK;
    struct kvr_attention *attention = kvr_room_take(cell->room, 1, sizeof *attention, err);
    if (attention == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_attention_open(cell->trace, key->sample, key->layer, key->group,
                                                first_row(cell, sums), cell->room, attention, err);
    if (status == KVR_OK && sums)
        status = add_prefill_rows(cell, attention, err);
    if (rows)
        cell->attention = attention;
    return status;
}
