/*
 * Drawing, defining and writing the layer. It must not use what is tested.
 */
#include "tests/qk_layer.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "tests/scratch.h"

struct qk_layer qk;
struct kvr_trace *qk_trace;

void qk_start(void)
{
    scratch_setup();
    qk_trace = NULL;
}

void qk_end(void)
{
    kvr_trace_close(qk_trace);
    scratch_teardown();
}

void qk_shape(uint32_t heads, uint32_t kv_heads, uint64_t tokens, uint64_t prompt, size_t width,
              enum kvr_element kind)
{
    static char name[] = "0";
    ck_assert(heads <= QK_HEADS && tokens <= QK_TOKENS && width <= QK_WIDTH);
    memset(&qk, 0, sizeof qk);
    qk.sample = (struct kvr_sample){
        .name = name,
        .query_heads = heads,
        .kv_heads = kv_heads,
        .context_length = tokens,
        .prompt_length = prompt,
        .query_count = (size_t)tokens,
        .query_positions = qk.positions,
    };
    for (size_t i = 0; i < tokens; i++)
        qk.positions[i] = i;
    qk.layer = made_layer(0, &qk.sample);
    qk.width = width;
    qk.kind = kind;
}

void qk_thin_rows(struct kvr_random *random, double chance)
{
    size_t kept = 0, count = qk.sample.query_count;
    for (size_t i = 0; i < count; i++)
        if (kvr_random_uniform(random) < chance || i + 1 == count)
            qk.positions[kept++] = qk.positions[i];
    qk.sample.query_count = kept;
}

static void draw(struct kvr_random *random, double deviation, double *vector)
{
    unsigned char stored[QK_WIDTH * sizeof(double)];
    struct kvr_element_type type = {.kind = qk.kind};
    for (size_t d = 0; d < qk.width; d++)
        vector[d] = deviation * kvr_random_normal(random);
    kvr_element_encode(type, vector, qk.width, stored);
    kvr_element_decode(type, stored, qk.width, vector);
}

void qk_draw(struct kvr_random *random, double deviation)
{
    for (size_t h = 0; h < qk.sample.query_heads; h++)
        for (size_t q = 0; q < qk.sample.query_count; q++)
            draw(random, deviation, qk.query[h][q]);
    for (size_t g = 0; g < qk.sample.kv_heads; g++)
        for (size_t t = 0; t < qk.sample.context_length; t++) {
            draw(random, 1, qk.key[g][t]);
            draw(random, 1, qk.values[g][t]);
        }
}

static const double *pack(double vectors[QK_HEADS][QK_TOKENS][QK_WIDTH], size_t heads, size_t rows)
{
    static double packed[QK_HEADS * QK_TOKENS * QK_WIDTH];
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < rows; i++)
            memcpy(packed + (h * rows + i) * qk.width, vectors[h][i], qk.width * sizeof *packed);
    return packed;
}

static void write_rows(struct made_trace *made)
{
    static double rows[QK_HEADS * QK_TOKENS * QK_TOKENS], sums[QK_HEADS * QK_TOKENS];
    size_t tokens = qk.sample.context_length, count = qk.sample.query_count;
    double declared = qk.layer.scale;
    if (fabs(qk.recorded_scale) > 0)
        qk.layer.scale = qk.recorded_scale;
    memset(sums, 0, sizeof sums);
    for (size_t h = 0; h < qk.sample.query_heads; h++)
        for (size_t q = 0; q < count; q++) {
            double *row = rows + (h * count + q) * tokens;
            qk_row(h, q, row);
            bool counts =
                qk.positions[q] >= qk.sample.pad && qk.positions[q] < qk.sample.prompt_length;
            for (size_t t = 0; counts && t < tokens; t++)
                sums[h * tokens + t] += row[t];
        }
    qk.layer.scale = declared;
    if (qk.attention)
        made_trace_data(made, "attention", KVR_DOUBLE, qk.sample.query_heads, count, tokens, rows);
    if (qk.accumulated)
        made_trace_data(made, "accumulated", KVR_DOUBLE, qk.sample.query_heads, tokens, 0, sums);
}

void qk_write(void)
{
    struct made_trace made;
    size_t heads = qk.sample.query_heads, kv_heads = qk.sample.kv_heads;
    size_t tokens = qk.sample.context_length, rows = qk.sample.query_count;
    kvr_trace_close(qk_trace);
    made_trace_start(&made, "t.h5");
    made_trace_sample(&made, &qk.sample);
    made_trace_layer(&made, &qk.layer);
    if (qk.attention || qk.accumulated)
        write_rows(&made);
    made_trace_data(&made, "query", qk.kind, heads, rows, qk.width, pack(qk.query, heads, rows));
    made_trace_data(&made, "key", qk.kind, kv_heads, tokens, qk.width,
                    pack(qk.key, kv_heads, tokens));
    if (qk.value)
        made_trace_data(&made, "value", qk.kind, kv_heads, tokens, qk.width,
                        pack(qk.values, kv_heads, tokens));
    qk_trace = made_trace_finish(&made);
}

double qk_row(size_t head, size_t q, double *row)
{
    uint64_t position = qk.positions[q], window = qk.layer.sliding_window, first = qk.sample.pad;
    double scale = isnan(qk.layer.scale) ? 1 / sqrt((double)qk.width) : qk.layer.scale;
    double cap = qk.layer.softcap, greatest = -INFINITY, total = 0, size = 0;
    if (window > 0 && position + 1 > first + window)
        first = position + 1 - window;
    memset(row, 0, qk.sample.context_length * sizeof *row);
    for (uint64_t t = first; t <= position; t++) {
        const double *key = qk.key[head / (qk.sample.query_heads / qk.sample.kv_heads)][t];
        double sum = 0, sizes = 0;
        for (size_t d = 0; d < qk.width; d++) {
            sum += qk.query[head][q][d] * key[d];
            sizes += fabs(scale * qk.query[head][q][d] * key[d]);
        }
        row[t] = isnan(cap) ? scale * sum : cap * tanh(scale * sum / cap);
        greatest = row[t] > greatest ? row[t] : greatest;
        size = sizes > size ? sizes : size;
    }
    for (uint64_t t = first; t <= position; t++)
        total += row[t] = exp(row[t] - greatest);
    for (uint64_t t = first; t <= position; t++)
        row[t] /= total;
    return size;
}
