/*
 * Queries, keys, values and recorded scores: finite where they are read, and written at all. It
 * must not know what is computed from them.
 */
#include <math.h>

#include "formats/check_layer.h"
#include "formats/row_stream.h"

struct scan {
    uint64_t width;
    const uint64_t *positions;     /* of the rows; NULL where row = position, or for scores */
    uint64_t pad;                  /* rows at positions below are not looked at */
    uint64_t first_read, end_read; /* values of a score that a scorer reads */
    bool is_score; /* one row of tokens for each head, where 0 is a value like any */
    struct kvr_tally not_finite, unread, zero;
};

static enum kvr_status visit(void *context, uint64_t head, uint64_t row, const double *values,
                             struct kvr_error *err)
{
    (void)err;
    struct scan *scan = context;
    uint64_t position = scan->positions != NULL ? scan->positions[row] : row;
    if (!scan->is_score && position < scan->pad)
        return KVR_OK;
    uint64_t bad = 0, read = 0, zeros = 0;
    for (uint64_t i = 0; i < scan->width; i++) {
        zeros += fpclassify(values[i]) == FP_ZERO;
        if (isfinite(values[i]))
            continue;
        bad++;
        read += !scan->is_score || (i >= scan->first_read && i < scan->end_read);
    }
    if (bad > 0)
        kvr_tally_add(read > 0 ? &scan->not_finite : &scan->unread, head, row, bad, 0);
    if (zeros == scan->width)
        kvr_tally_add(&scan->zero, head, row, 1, 0);
    return KVR_OK;
}

static enum kvr_status judge(const struct scan *scan, const struct kvr_dataset *dataset,
                             const struct kvr_row_names *names, struct kvr_findings *findings,
                             struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    uint64_t rows = dataset->shape[0] * (names->rows > 0 ? names->rows : 1);
    if (scan->not_finite.rows > 0)
        status = kvr_findings_tally(findings, KVR_FOUND_NOT_FINITE, KVR_ERROR, dataset->path,
                                    &scan->not_finite, names, err, "values not finite: %llu",
                                    (unsigned long long)scan->not_finite.values);
    if (status == KVR_OK && scan->unread.rows > 0)
        status = kvr_findings_tally(findings, KVR_FOUND_NOT_FINITE, KVR_NOTE, dataset->path,
                                    &scan->unread, names, err,
                                    "values not finite, where no scorer reads them: %llu",
                                    (unsigned long long)scan->unread.values);
    if (status != KVR_OK || scan->zero.rows == 0)
        return status;
    if (scan->zero.rows == rows)
        return kvr_findings_tally(findings, KVR_FOUND_EMPTY, KVR_ERROR, dataset->path, &scan->zero,
                                  names, err, "every value is 0%s",
                                  dataset->stored_bytes == 0 ? ", the dataset was never written"
                                                             : "");
    if (scan->is_score)
        return KVR_OK;
    return kvr_findings_tally(findings, KVR_FOUND_ZERO_ROW, KVR_WARNING, dataset->path, &scan->zero,
                              names, err, "every component is 0");
}

static enum kvr_status check_dataset(struct kvr_layer_check *check,
                                     const struct kvr_dataset *dataset, struct scan *scan,
                                     const struct kvr_row_names *names, struct kvr_error *err)
{
    scan->width = dataset->shape[dataset->rank - 1];
    uint64_t heads = dataset->shape[0];
    enum kvr_status status = kvr_tally_init(&scan->not_finite, heads, err);
    if (status == KVR_OK)
        status = kvr_tally_init(&scan->unread, heads, err);
    if (status == KVR_OK)
        status = kvr_tally_init(&scan->zero, heads, err);
    if (status == KVR_OK)
        status = kvr_visit_rows(check->trace, dataset, visit, scan, err);
    if (status == KVR_OK)
        status = judge(scan, dataset, names, check->findings, err);
    kvr_tally_free(&scan->not_finite);
    kvr_tally_free(&scan->unread);
    kvr_tally_free(&scan->zero);
    return status;
}

/* Keys and values: rows are tokens. */
static enum kvr_status check_tokens(struct kvr_layer_check *check,
                                    const struct kvr_dataset *dataset, struct kvr_error *err)
{
    uint64_t tokens = check->sample->context_length, pad = check->sample->pad;
    const struct kvr_row_names names = {.rows = tokens > pad ? tokens - pad : 0, .name = "token"};
    struct scan scan = {.pad = pad};
    return check_dataset(check, dataset, &scan, &names, err);
}

static enum kvr_status check_queries(struct kvr_layer_check *check, struct kvr_error *err)
{
    const struct kvr_sample *sample = check->sample;
    struct kvr_row_names names = {.name = "row", .positions = sample->query_positions};
    for (size_t q = 0; q < sample->query_count; q++)
        names.rows += sample->query_positions[q] >= sample->pad;
    struct scan scan = {.pad = sample->pad, .positions = sample->query_positions};
    return check_dataset(check, check->layer->query, &scan, &names, err);
}

static enum kvr_status check_scores(struct kvr_layer_check *check, const struct kvr_column *column,
                                    struct kvr_error *err)
{
    const struct kvr_row_names names = {0};
    struct scan scan = {
        .is_score = true,
        .first_read = kvr_layer_first_candidate(check->sample, check->layer),
        .end_read = check->sample->prompt_length,
    };
    return check_dataset(check, &column->data, &scan, &names, err);
}

enum kvr_status kvr_check_vectors(struct kvr_layer_check *check, struct kvr_error *err)
{
    const struct kvr_layer *layer = check->layer;
    enum kvr_status status = KVR_OK;
    if (layer->query != NULL)
        status = check_queries(check, err);
    if (status == KVR_OK && layer->key != NULL)
        status = check_tokens(check, layer->key, err);
    if (status == KVR_OK && layer->value != NULL)
        status = check_tokens(check, layer->value, err);
    for (size_t c = 0; c < layer->column_count && status == KVR_OK; c++)
        status = check_scores(check, &layer->columns[c], err);
    return status;
}
