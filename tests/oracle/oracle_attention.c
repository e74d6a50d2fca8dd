/*
 * Rows of the oracle from query and key: the whole matrix of a layer, each softmax as it is printed
 * in textbooks, in double.
 *
 * Rows that were recorded stay, and so do column sums; what is missing is computed. It knows
 * nothing of scores.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"

/* Does the query at `position` see the token? */
static bool sees(const struct sample *sample, const struct layer *layer, long position, long token)
{
    bool in_window = layer->window == 0 || position - token < layer->window;
    return token >= sample->pad && token <= position && in_window;
}

static double logit_of(const struct sample *sample, const struct layer *layer, long head, long q,
                       long token)
{
    long size = layer->key_size, ratio = layer->query_heads / layer->kv_heads;
    const double *query = &layer->query[(head * sample->queries + q) * size];
    const double *key = &layer->key[(head / ratio * sample->length + token) * size];
    double sum = 0;
    for (long d = 0; d < size; d++)
        sum += query[d] * key[d];
    sum *= layer->scale != 0 ? layer->scale : 1 / sqrt((double)size);
    return layer->softcap != 0 ? layer->softcap * tanh(sum / layer->softcap) : sum;
}

static void fill_row(const struct sample *sample, const struct layer *layer, long head, long q,
                     double *row)
{
    long position = sample->positions[q];
    double largest = -INFINITY, total = 0;
    for (long t = 0; t < sample->length; t++)
        if (sees(sample, layer, position, t)) {
            row[t] = logit_of(sample, layer, head, q, t);
            largest = fmax(largest, row[t]);
        }
    for (long t = 0; t < sample->length; t++)
        if (sees(sample, layer, position, t))
            total += row[t] = exp(row[t] - largest);
    for (long t = 0; t < sample->length; t++)
        if (sees(sample, layer, position, t))
            row[t] /= total;
}

static double *all_rows(const struct sample *sample, const struct layer *layer)
{
    double *rows = room(layer->query_heads * sample->queries * sample->length, sizeof *rows);
    for (long h = 0; h < layer->query_heads; h++)
        for (long q = 0; q < sample->queries; q++)
            fill_row(sample, layer, h, q, &rows[(h * sample->queries + q) * sample->length]);
    return rows;
}

/* The sums of all prefill rows, or NULL if one of them is not there. */
static double *all_sums(const struct sample *sample, const struct layer *layer, const double *rows)
{
    long found = 0;
    for (long q = 0; q < sample->prefill; q++)
        found += sample->positions[q] >= sample->pad;
    if (found < sample->prompt - sample->pad)
        return NULL;
    double *sums = room(layer->query_heads * sample->length, sizeof *sums);
    for (long h = 0; h < layer->query_heads; h++)
        for (long q = 0; q < sample->prefill; q++)
            for (long t = 0; t < sample->length && sample->positions[q] >= sample->pad; t++)
                sums[h * sample->length + t] +=
                    rows[(h * sample->queries + q) * sample->length + t];
    return sums;
}

void recompute(const struct sample *sample, struct layer *layer)
{
    if (!layer->query || !layer->key || layer->sink_logits)
        return;
    double *rows = all_rows(sample, layer);
    if (!layer->accumulated)
        layer->accumulated = all_sums(sample, layer, rows);
    if (layer->attention)
        free(rows);
    else
        layer->attention = rows;
}
