/*
 * A few attention rows again, from the recorded queries and keys: whether the file's own members
 * agree, and what explains it if they don't. It must not know how the rows were judged before.
 *
 * Row p of query head h: softmax over the tokens t that it sees of cap(scale q_h,p . k_g,t), with
 * g = h / r and cap(x) = softcap tanh(x / softcap), or x where no softcap is recorded.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "formats/check_layer.h"

enum { MOST_ROWS = 3, LEAST_POINTS = 8 };

/* Keys that are read at a time, as doubles. */
static const uint64_t block_values = UINT64_C(1) << 17;

/* Explained variance from which logits count as those of a row. */
static const double good_fit = 0.98;

struct work {
    struct kvr_layer_check *check;
    uint64_t tokens, head_dim;
    uint64_t r; /* query heads of a group */
    double scale, softcap;
    size_t row_count;
    uint64_t rows[MOST_ROWS]; /* ascending */

    double *queries; /* [r][MOST_ROWS][head_dim] */
    double *logits;  /* [r][MOST_ROWS][tokens] */
    double *keys;    /* [block_tokens][head_dim] */
    uint64_t block_tokens;
    double *recorded; /* [tokens] */

    struct kvr_tally differs;
    uint64_t fits_grouped, fits_tiled; /* of the rows that differ */
    double slope;                      /* sum over fits_grouped of the fitted factor of scale */
};

struct fit {
    double explained; /* squared correlation; 0 if there are too few points */
    double slope;
};

static double least_difference(const struct kvr_layer *layer)
{
    /* Logits of 8 significant bits are off by 0.1 and more. */
    bool coarse = layer->query->type.kind == KVR_BFLOAT16 || layer->key->type.kind == KVR_BFLOAT16;
    return coarse ? 0.25 : 0.1;
}

/* The row in the middle, the last of the prompt and the last: they see the most tokens. */
static void choose_rows(struct work *work)
{
    const struct kvr_sample *sample = work->check->sample;
    size_t prefill = kvr_sample_decode_start(sample), count = sample->query_count;
    const size_t wanted[MOST_ROWS] = {prefill / 2, prefill > 0 ? prefill - 1 : 0,
                                      count > 0 ? count - 1 : 0};
    for (size_t i = 0; i < MOST_ROWS; i++) {
        size_t q = wanted[i];
        bool new = work->row_count == 0 || q > work->rows[work->row_count - 1];
        if (q < count && new && sample->query_positions[q] > sample->pad)
            work->rows[work->row_count++] = q;
    }
}

static uint64_t first_seen(const struct work *work, uint64_t position)
{
    return kvr_layer_first_seen(work->check->sample, work->check->layer, position);
}

static double capped(const struct work *work, double product)
{
    double logit = work->scale * product;
    return isnan(work->softcap) ? logit : work->softcap * tanh(logit / work->softcap);
}

static enum kvr_status read_queries(struct work *work, uint64_t first_head, struct kvr_error *err)
{
    for (uint64_t i = 0; i < work->r; i++) {
        for (size_t j = 0; j < work->row_count; j++) {
            const uint64_t start[KVR_DATASET_RANK] = {first_head + i, work->rows[j], 0};
            const uint64_t count[KVR_DATASET_RANK] = {1, 1, work->head_dim};
            double *query = work->queries + (i * MOST_ROWS + j) * work->head_dim;
            enum kvr_status status = kvr_trace_read(work->check->trace, work->check->layer->query,
                                                    start, count, query, err);
            if (status != KVR_OK)
                return status;
        }
    }
    return KVR_OK;
}

static double dot(const double *a, const double *b, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Logits of heads[0 … head_count-1] (within the group) with the keys of one KV head. */
static enum kvr_status compute_logits(struct work *work, uint64_t kv_head, uint64_t first_head,
                                      uint64_t head_count, struct kvr_error *err)
{
    for (uint64_t t = 0; t < work->tokens; t += work->block_tokens) {
        uint64_t here =
            work->tokens - t < work->block_tokens ? work->tokens - t : work->block_tokens;
        const uint64_t start[KVR_DATASET_RANK] = {kv_head, t, 0};
        const uint64_t count[KVR_DATASET_RANK] = {1, here, work->head_dim};
        enum kvr_status status = kvr_trace_read(work->check->trace, work->check->layer->key, start,
                                                count, work->keys, err);
        if (status != KVR_OK)
            return status;
        for (uint64_t i = first_head; i < first_head + head_count; i++) {
            for (size_t j = 0; j < work->row_count; j++) {
                const double *query = work->queries + (i * MOST_ROWS + j) * work->head_dim;
                double *logits = work->logits + (i * MOST_ROWS + j) * work->tokens + t;
                for (uint64_t k = 0; k < here; k++)
                    logits[k] =
                        capped(work, dot(query, work->keys + k * work->head_dim, work->head_dim));
            }
        }
    }
    return KVR_OK;
}

/*
 * Half the sum of |recorded - softmax(logits)|, both summing to 1, so that sink logits, which take
 * the same share from every token, make no difference. NaN if one of them has no sum, or a
 * logit is not finite.
 */
static double total_variation(const double *recorded, const double *logits, uint64_t start,
                              uint64_t end)
{
    double most = -INFINITY, recorded_sum = 0, sum = 0, difference = 0;
    for (uint64_t t = start; t < end; t++) {
        if (!isfinite(logits[t]))
            return NAN;
        most = fmax(most, logits[t]);
        recorded_sum += recorded[t];
    }
    for (uint64_t t = start; t < end; t++)
        sum += exp(logits[t] - most);
    if (!(recorded_sum > 0) || !isfinite(recorded_sum))
        return NAN;
    for (uint64_t t = start; t < end; t++)
        difference += fabs(recorded[t] / recorded_sum - exp(logits[t] - most) / sum);
    return difference / 2;
}

/* The line ln recorded = slope * logits + const, over the tokens whose rounding is small. */
static struct fit fit_row(const double *recorded, const double *logits, uint64_t start,
                          uint64_t end)
{
    const double floor = 0x1p-12;
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (uint64_t t = start; t < end; t++) {
        if (!(recorded[t] > floor))
            continue;
        double value = log(recorded[t]);
        n += 1;
        x += logits[t];
        y += value;
        xx += logits[t] * logits[t];
        xy += logits[t] * value;
        yy += value * value;
    }
    double sxx = xx - x * x / n, sxy = xy - x * y / n, syy = yy - y * y / n;
    if (n < LEAST_POINTS || !(sxx > 0) || !(syy > 0))
        return (struct fit){0, 0};
    return (struct fit){sxy * sxy / (sxx * syy), sxy / sxx};
}

static enum kvr_status read_recorded(struct work *work, uint64_t head, uint64_t row,
                                     struct kvr_error *err)
{
    const uint64_t start[KVR_DATASET_RANK] = {head, row, 0};
    const uint64_t count[KVR_DATASET_RANK] = {1, 1, work->tokens};
    return kvr_trace_read(work->check->trace, work->check->layer->attention, start, count,
                          work->recorded, err);
}

/* Whether the rows of query head first_head + i that differ fit the keys of KV head h mod H_KV. */
static enum kvr_status try_tiled(struct work *work, uint64_t first_head, uint64_t i,
                                 const bool *row_differs, struct kvr_error *err)
{
    uint64_t head = first_head + i, kv_head = head % work->check->layer->kv_heads;
    if (kv_head == head / work->r)
        return KVR_OK;
    enum kvr_status status = compute_logits(work, kv_head, i, 1, err);
    for (size_t j = 0; j < work->row_count && status == KVR_OK; j++) {
        if (!row_differs[j])
            continue;
        uint64_t position = work->check->sample->query_positions[work->rows[j]];
        const double *logits = work->logits + (i * MOST_ROWS + j) * work->tokens;
        status = read_recorded(work, head, work->rows[j], err);
        if (status == KVR_OK)
            work->fits_tiled +=
                fit_row(work->recorded, logits, first_seen(work, position), position + 1)
                    .explained > good_fit;
    }
    return status;
}

static enum kvr_status compare_head(struct work *work, uint64_t first_head, uint64_t i,
                                    struct kvr_error *err)
{
    bool row_differs[MOST_ROWS] = {false}, any = false;
    enum kvr_status status = KVR_OK;
    for (size_t j = 0; j < work->row_count && status == KVR_OK; j++) {
        uint64_t row = work->rows[j], position = work->check->sample->query_positions[row];
        uint64_t start = first_seen(work, position);
        const double *logits = work->logits + (i * MOST_ROWS + j) * work->tokens;
        status = read_recorded(work, first_head + i, row, err);
        if (status != KVR_OK)
            break;
        double difference = total_variation(work->recorded, logits, start, position + 1);
        if (!(difference > least_difference(work->check->layer)))
            continue;
        any = row_differs[j] = true;
        kvr_tally_add(&work->differs, first_head + i, row, 1, difference);
        struct fit fit = fit_row(work->recorded, logits, start, position + 1);
        if (fit.explained > good_fit) {
            work->fits_grouped++;
            work->slope += fit.slope;
        }
    }
    return status == KVR_OK && any ? try_tiled(work, first_head, i, row_differs, err) : status;
}

static enum kvr_status judge(struct work *work, struct kvr_error *err)
{
    if (work->differs.rows == 0)
        return KVR_OK;
    char guess[160] = "they fit the keys of no KV head";
    uint64_t half = work->differs.rows / 2;
    if (work->fits_tiled > half && work->fits_tiled > work->fits_grouped)
        snprintf(guess, sizeof guess,
                 "they fit KV head h mod %u instead of h / %llu: tiled, not "
                 "repeated",
                 (unsigned)work->check->layer->kv_heads, (unsigned long long)work->r);
    else if (work->fits_grouped > half)
        snprintf(guess, sizeof guess, "they fit a scale of %.4g instead of %.4g",
                 work->scale * work->slope / (double)work->fits_grouped, work->scale);
    const struct kvr_row_names names = {
        .rows = work->row_count,
        .name = "tried row",
        .positions = work->check->sample->query_positions,
    };
    return kvr_findings_tally(work->check->findings, KVR_FOUND_RECOMPUTED, KVR_WARNING,
                              work->check->layer->attention->path, &work->differs, &names, err,
                              "rows differ from those of query and key by up to %.3g (total "
                              "variation); %s",
                              work->differs.worst, guess);
}

static enum kvr_status begin(struct work *work, struct kvr_layer_check *check,
                             struct kvr_error *err)
{
    const struct kvr_layer *layer = check->layer;
    *work = (struct work){
        .check = check,
        .tokens = check->sample->context_length,
        .head_dim = layer->key->shape[2],
        .r = layer->query_heads / layer->kv_heads,
        .scale = kvr_layer_scale(layer),
        .softcap = layer->softcap,
    };
    work->block_tokens = block_values / work->head_dim > 0 ? block_values / work->head_dim : 1;
    choose_rows(work);
    size_t rows = (size_t)work->r * MOST_ROWS, logits, queries, keys;
    if (!kvr_size_product(rows, (size_t)work->tokens, &logits) ||
        !kvr_size_product(rows, (size_t)work->head_dim, &queries) ||
        !kvr_size_product((size_t)work->block_tokens, (size_t)work->head_dim, &keys))
        return kvr_fail(err, KVR_NO_MEMORY, "%s: rows are too long", layer->attention->path);
    work->logits = kvr_alloc(logits, sizeof *work->logits, err);
    work->queries = kvr_alloc(queries, sizeof *work->queries, err);
    work->keys = kvr_alloc(keys, sizeof *work->keys, err);
    work->recorded = kvr_alloc((size_t)work->tokens, sizeof *work->recorded, err);
    if (work->logits == NULL || work->queries == NULL || work->keys == NULL ||
        work->recorded == NULL)
        return KVR_NO_MEMORY;
    return kvr_tally_init(&work->differs, layer->query_heads, err);
}

enum kvr_status kvr_check_recomputation(struct kvr_layer_check *check, struct kvr_error *err)
{
    struct work work;
    enum kvr_status status = begin(&work, check, err);
    for (uint64_t g = 0; g < check->layer->kv_heads && work.row_count > 0 && status == KVR_OK;
         g++) {
        status = read_queries(&work, g * work.r, err);
        if (status == KVR_OK)
            status = compute_logits(&work, g, 0, work.r, err);
        for (uint64_t i = 0; i < work.r && status == KVR_OK; i++)
            status = compare_head(&work, g * work.r, i, err);
    }
    if (status == KVR_OK)
        status = judge(&work, err);
    kvr_tally_free(&work.differs);
    free(work.logits);
    free(work.queries);
    free(work.keys);
    free(work.recorded);
    return status;
}
