/*
 * Scores of the oracle: from a layer's datasets to one vector of floats per head, and from the
 * vectors of a group to one (entropy, pooling, smoothing).
 *
 * Every value is summed in double in ascending order and rounded to float once. It knows nothing
 * of budgets, pages or kept sets.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

static const double GUARD = 1e-12;

struct candidates candidates_of(const struct options *o, const struct sample *sample,
                                const struct layer *layer)
{
    struct candidates c = {.first = sample->pad};
    if (layer->window > 0 && sample->prompt - layer->window > c.first)
        c.first = sample->prompt - layer->window;
    c.count = sample->prompt - c.first;
    if (c.count < 1)
        die(1, "sample %s: no candidates", sample->name);
    for (long t = 0; t < c.count; t++)
        c.sinks += c.first + t < sample->pad + o->sinks;
    return c;
}

/* -- one vector per head -- */

/* The mean of the recorded rows from … to - 1 of a head, at the candidates. */
static void mean_of_rows(const struct sample *sample, const struct layer *layer,
                         const struct candidates *c, long head, long from, long to, float *out)
{
    for (long t = 0; t < c->count; t++) {
        double sum = 0;
        for (long q = from; q < to; q++)
            sum += layer->attention[(head * sample->queries + q) * sample->length + c->first + t];
        out[t] = (float)(sum / (double)(to - from));
    }
}

/* Values divided by their total. */
static void normalise(const double *values, long count, float *out)
{
    double total = 0;
    for (long t = 0; t < count; t++)
        total += values[t];
    for (long t = 0; t < count; t++)
        out[t] = (float)(values[t] / total);
}

/* `accumulated`, or `observed`: each column divided by the rows that see it first. */
static void column_sums(const struct sample *sample, const struct layer *layer,
                        const struct candidates *c, long head, bool observed, float *out)
{
    double *values = room(c->count, sizeof *values);
    for (long t = 0; t < c->count; t++) {
        long position = c->first + t;
        values[t] = layer->accumulated[head * sample->length + position];
        if (observed)
            values[t] /= (double)(sample->prompt - position);
    }
    normalise(values, c->count, out);
    free(values);
}

static double dot(const double *a, const double *b, long count)
{
    double sum = 0;
    for (long d = 0; d < count; d++)
        sum += a[d] * b[d];
    return sum;
}

static double norm(const double *a, long count)
{
    return sqrt(dot(a, a, count));
}

static const double *key_at(const struct sample *sample, const struct layer *layer, long kv_head,
                            long position)
{
    return &layer->key[(kv_head * sample->length + position) * layer->key_size];
}

static void key_norms(const struct sample *sample, const struct layer *layer,
                      const struct candidates *c, long kv_head, float *out)
{
    for (long t = 0; t < c->count; t++)
        out[t] = (float)-norm(key_at(sample, layer, kv_head, c->first + t), layer->key_size);
}

/* Minus the cosine of each key to the mean of the candidates' unit keys. */
static void key_differences(const struct sample *sample, const struct layer *layer,
                            const struct candidates *c, long kv_head, float *out)
{
    long size = layer->key_size;
    double *mean = room(size, sizeof *mean);
    for (long d = 0; d < size; d++) {
        for (long t = 0; t < c->count; t++) {
            const double *key = key_at(sample, layer, kv_head, c->first + t);
            mean[d] += key[d] / norm(key, size);
        }
        mean[d] /= (double)c->count;
    }
    for (long t = 0; t < c->count; t++) {
        const double *key = key_at(sample, layer, kv_head, c->first + t);
        out[t] = (float)-(dot(key, mean, size) / (norm(key, size) * norm(mean, size)));
    }
    free(mean);
}

static const struct column *find_column(const struct layer *layer, const char *name)
{
    for (long i = 0; i < layer->column_count; i++)
        if (strcmp(layer->columns[i].name, name) == 0)
            return &layer->columns[i];
    return NULL;
}

static void copy_column(const struct sample *sample, const struct candidates *c,
                        const struct column *column, long line, float *out)
{
    for (long t = 0; t < c->count; t++)
        out[t] = (float)column->values[line * sample->length + c->first + t];
}

/* How many vectors the score has in this layer; 0 if the layer cannot give it. */
static long line_count(const struct sample *sample, const struct layer *layer,
                       const struct score *score)
{
    const struct column *column;
    switch (score->kind) {
    case SCORE_LAST:
    case SCORE_WINDOW:
        return layer->attention && sample->prefill > 0 ? layer->query_heads : 0;
    case SCORE_FUTURE:
        return layer->attention && sample->prefill < sample->queries ? layer->query_heads : 0;
    case SCORE_ACCUMULATED:
    case SCORE_OBSERVED:
        return layer->accumulated ? layer->query_heads : 0;
    case SCORE_KEY_NORM:
    case SCORE_KEY_DIFF:
        return layer->key ? layer->kv_heads : 0;
    case SCORE_RECENCY:
        return layer->kv_heads;
    case SCORE_COLUMN:
        column = find_column(layer, score->column);
        return column ? column->rows : 0;
    }
    return 0;
}

static void fill_line(const struct sample *sample, const struct layer *layer,
                      const struct candidates *c, const struct score *score, long line, float *out)
{
    long prefill = sample->prefill, from;
    switch (score->kind) {
    case SCORE_LAST:
        mean_of_rows(sample, layer, c, line, prefill - 1, prefill, out);
        break;
    case SCORE_WINDOW:
        from = prefill > score->rows ? prefill - score->rows : 0;
        mean_of_rows(sample, layer, c, line, from, prefill, out);
        break;
    case SCORE_FUTURE:
        mean_of_rows(sample, layer, c, line, prefill, sample->queries, out);
        break;
    case SCORE_ACCUMULATED:
    case SCORE_OBSERVED:
        column_sums(sample, layer, c, line, score->kind == SCORE_OBSERVED, out);
        break;
    case SCORE_KEY_NORM:
        key_norms(sample, layer, c, line, out);
        break;
    case SCORE_KEY_DIFF:
        key_differences(sample, layer, c, line, out);
        break;
    case SCORE_RECENCY:
        for (long t = 0; t < c->count; t++)
            out[t] = (float)t;
        break;
    case SCORE_COLUMN:
        copy_column(sample, c, find_column(layer, score->column), line, out);
        break;
    }
}

/* Counts the heads of each group that are not finite, as --nan asks. */
static void judge(const struct options *o, const struct sample *sample, const struct layer *layer,
                  struct vectors *v, const char *score)
{
    for (long line = 0; line < v->groups * v->per_group; line++) {
        bool finite = true;
        for (long t = 0; t < v->tokens; t++) {
            float *value = &v->values[line * v->tokens + t];
            if (isfinite(*value))
                continue;
            finite = false;
            if (o->nan == NAN_ZERO)
                *value = 0;
        }
        if (!finite && o->nan == NAN_FAIL)
            die(1, "sample %s, layer %ld, %s: not finite", sample->name, layer->number, score);
        if (!finite && o->nan == NAN_EXCLUDE)
            v->bad[line / v->per_group]++;
    }
}

struct vectors vectors_of(const struct options *o, const struct sample *sample,
                          const struct layer *layer, const struct score *score)
{
    struct candidates c = candidates_of(o, sample, layer);
    long lines = line_count(sample, layer, score);
    struct vectors v = {
        .exist = lines > 0,
        .groups = layer->kv_heads,
        .per_group = lines / layer->kv_heads,
        .tokens = c.count,
        .values = room(lines * c.count, sizeof(float)),
        .bad = room(layer->kv_heads, sizeof(long)),
    };
    for (long line = 0; line < lines; line++)
        fill_line(sample, layer, &c, score, line, &v.values[line * c.count]);
    judge(o, sample, layer, &v, score->label);
    return v;
}

void vectors_free(struct vectors *vectors)
{
    free(vectors->values);
    free(vectors->bad);
}

const float *group_vectors(const struct vectors *vectors, long group)
{
    return &vectors->values[group * vectors->per_group * vectors->tokens];
}

bool score_has_mass(const struct score *score)
{
    return score->kind != SCORE_RECENCY && score->kind != SCORE_KEY_NORM &&
           score->kind != SCORE_KEY_DIFF && score->kind != SCORE_COLUMN;
}

/* -- entropy -- */

static double guarded_log(double x)
{
    return log(x > GUARD ? x : GUARD);
}

double renyi(const double *p, long count, double alpha)
{
    double sum = 0, largest = 0;
    for (long t = 0; t < count; t++) {
        if (isinf(alpha))
            largest = p[t] > largest ? p[t] : largest;
        else if (alpha == 1)
            sum -= p[t] > 0 ? p[t] * log(p[t]) : 0;
        else if (alpha == 2)
            sum += p[t] * p[t];
        else
            sum += pow(p[t], alpha);
    }
    if (isinf(alpha))
        return -guarded_log(largest);
    return alpha == 1 ? sum : guarded_log(sum) / (1 - alpha);
}

/* The first candidate that the entropy sees. */
static long entropy_start(const struct options *o, const struct candidates *c)
{
    return o->entropy_window > 0 && c->count > o->entropy_window ? c->count - o->entropy_window : 0;
}

/* Entropy of a[from …], divided by its own sum if so asked. */
static double entropy_from(const float *a, long from, long count, bool divide, double alpha)
{
    double sum = 0;
    for (long t = from; t < count; t++)
        sum += (double)a[t];
    double by = divide ? (sum > GUARD ? sum : GUARD) : 1;
    double *p = room(count, sizeof *p);
    for (long t = from; t < count; t++)
        p[t - from] = (double)a[t] / by;
    double entropy = renyi(p, count - from, alpha);
    free(p);
    return entropy;
}

double entropy_raw(const struct options *o, const struct candidates *c, const float *a)
{
    return entropy_from(a, entropy_start(o, c), c->count, o->entropy_window > 0, o->alpha);
}

double entropy_isolated(const struct options *o, const struct candidates *c, const float *a)
{
    long from = entropy_start(o, c);
    from = from > c->sinks ? from : c->sinks;
    double sum = 0;
    for (long t = from; t < c->count; t++)
        sum += (double)a[t];
    if (from >= c->count || sum < GUARD)
        return -log(GUARD);
    return entropy_from(a, from, c->count, true, o->alpha);
}

/* softmax(-H/tau), shifted by its largest exponent so that a small tau does not end in 0/0. */
void softmax_weights(const double *entropies, long count, double tau, double *weights)
{
    double largest = -INFINITY, sum = 0;
    for (long h = 0; h < count; h++)
        largest = -entropies[h] / tau > largest ? -entropies[h] / tau : largest;
    for (long h = 0; h < count; h++)
        sum += weights[h] = exp(-entropies[h] / tau - largest);
    for (long h = 0; h < count; h++)
        weights[h] /= sum;
}

/* -- reduce, smooth -- */

void reduce_vectors(const struct options *o, const struct candidates *c, enum reduce how,
                    const float *vectors, long count, float *out)
{
    double *weights = room(count, sizeof *weights), *entropies = room(count, sizeof *entropies);
    if (how == REDUCE_ENTROPY) {
        for (long h = 0; h < count; h++)
            entropies[h] = entropy_isolated(o, c, &vectors[h * c->count]);
        softmax_weights(entropies, count, o->tau, weights);
    }
    for (long t = 0; t < c->count; t++) {
        double sum = 0, largest = -INFINITY;
        for (long h = 0; h < count; h++) {
            double value = (double)vectors[h * c->count + t];
            sum += how == REDUCE_ENTROPY ? weights[h] * value : value;
            largest = value > largest ? value : largest;
        }
        if (how == REDUCE_MAX)
            out[t] = (float)largest;
        else if (how == REDUCE_MEAN || how == REDUCE_LAYER)
            out[t] = (float)(sum / (double)count);
        else
            out[t] = (float)sum;
    }
    free(weights);
    free(entropies);
}

void smooth_vector(enum smooth how, long width, long range, long tokens, float *vector)
{
    float *old = room(tokens, sizeof *old);
    memcpy(old, vector, (size_t)tokens * sizeof *old);
    for (long t = 0; t < range && how != SMOOTH_NONE; t++) {
        double sum = 0;
        float largest = -INFINITY;
        for (long u = t - width / 2; u <= t + width / 2; u++) {
            if (u < 0 || u >= range)
                continue;
            sum += (double)old[u];
            largest = old[u] > largest ? old[u] : largest;
        }
        vector[t] = how == SMOOTH_AVG ? (float)(sum / (double)width) : largest;
    }
    free(old);
}
