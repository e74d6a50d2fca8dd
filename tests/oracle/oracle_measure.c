/*
 * Measures of the oracle: bounds on the union, retained and future mass, output error, premises.
 *
 * Each formula stands as the definitions print it. It knows nothing of policies.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"

/* -- bounds -- */

long spanning_tree(const long *weights, long r)
{
    long *tree = room(r, sizeof *tree), total = 0;
    for (long i = 0; i < r; i++)
        tree[i] = i;
    for (long edges = 0; edges + 1 < r; edges++) {
        long best_i = -1, best_j = -1;
        for (long i = 0; i < r; i++)
            for (long j = i + 1; j < r; j++)
                if (tree[i] != tree[j] &&
                    (best_i < 0 || weights[i * r + j] > weights[best_i * r + best_j])) {
                    best_i = i;
                    best_j = j;
                }
        total += weights[best_i * r + best_j];
        long joined = tree[best_j], into = tree[best_i];
        for (long i = 0; i < r; i++)
            if (tree[i] == joined)
                tree[i] = into;
    }
    free(tree);
    return total;
}

/* The weight of the labelled tree that belongs to a Pruefer sequence of r - 2 labels. */
static long tree_weight(const long *weights, long r, const long *sequence)
{
    long *degree = room(r, sizeof *degree), total = 0;
    for (long i = 0; i < r; i++)
        degree[i] = 1;
    for (long i = 0; i < r - 2; i++)
        degree[sequence[i]]++;
    for (long i = 0; i < r - 2; i++) {
        long leaf = 0;
        while (degree[leaf] != 1)
            leaf++;
        total += weights[leaf * r + sequence[i]];
        degree[leaf]--;
        degree[sequence[i]]--;
    }
    long ends[2] = {0, 0}, found = 0;
    for (long i = 0; i < r; i++)
        if (degree[i] == 1)
            ends[found++] = i;
    free(degree);
    return total + weights[ends[0] * r + ends[1]];
}

long spanning_tree_brute(const long *weights, long r)
{
    if (r < 2)
        return 0;
    long *sequence = room(r, sizeof *sequence), best = -1, digit;
    do {
        long weight = tree_weight(weights, r, sequence);
        best = weight > best ? weight : best;
        for (digit = 0; digit < r - 2 && ++sequence[digit] == r; digit++)
            sequence[digit] = 0;
    } while (digit < r - 2);
    free(sequence);
    return best;
}

static long common(const bool *sets, long i, long j, long items)
{
    long count = 0;
    for (long t = 0; t < items; t++)
        count += sets[i * items + t] && sets[j * items + t];
    return count;
}

static long union_size(const bool *sets, long r, long items)
{
    long count = 0;
    for (long t = 0; t < items; t++) {
        bool held = false;
        for (long i = 0; i < r; i++)
            held = held || sets[i * items + t];
        count += held;
    }
    return count;
}

/* Everything from the pairwise overlaps I; `shared` is their sum over unordered pairs. */
static void fill_bounds(const long *overlaps, long heads, long quota, long shared, struct bounds *b)
{
    double r = (double)heads, k = (double)quota, J = b->j_mean;
    double S1 = r * k, S2 = (double)shared;
    b->bonferroni_lower = fmax(1, r - r * (r - 1) * J);
    b->sandwich_lower = r / (1 + 2 * (r - 1) * J / (1 + J));
    b->sandwich_upper = fmin(r, r - 2 * b->j_max / (1 + b->j_max));
    b->cauchy_lower = r * r / (r + 2 / k * S2);
    for (long i = 0; i < heads; i++) {
        double others = 0;
        for (long j = 0; j < heads; j++)
            others += j == i ? 0 : (double)overlaps[i * heads + j];
        b->decaen_lower += k / (k + others);
    }
    double m = (double)(1 + 2 * shared / (heads * quota));
    b->dawson_sankoff_lower = (2 * S1 / (m + 1) - 2 * S2 / (m * (m + 1))) / k;
    b->hunter_upper = (S1 - (double)spanning_tree(overlaps, heads)) / k;
}

struct bounds bounds_of(const bool *sets, long r, long items, long k)
{
    struct bounds b = {.pairs = r > 1};
    b.uor = (double)union_size(sets, r, items) / (double)k;
    if (r == 1) {
        b.bonferroni_lower = b.sandwich_lower = b.sandwich_upper = b.cauchy_lower = 1;
        b.decaen_lower = b.dawson_sankoff_lower = b.hunter_upper = 1;
        return b;
    }
    long *overlaps = room(r * r, sizeof *overlaps), shared = 0;
    for (long i = 0; i < r; i++)
        for (long j = i + 1; j < r; j++) {
            long both = common(sets, i, j, items);
            double jaccard = (double)both / (double)(2 * k - both);
            overlaps[i * r + j] = overlaps[j * r + i] = both;
            shared += both;
            b.j_mean += jaccard;
            b.j_max = fmax(b.j_max, jaccard);
        }
    b.j_mean /= (double)(r * (r - 1) / 2);
    fill_bounds(overlaps, r, k, shared, &b);
    free(overlaps);
    return b;
}

/* -- mass -- */

double retained_mass(const float *vectors, long count, long tokens, const bool *kept)
{
    double total = 0;
    for (long h = 0; h < count; h++) {
        double all = 0, held = 0;
        for (long t = 0; t < tokens; t++) {
            double a = (double)vectors[h * tokens + t];
            all += a;
            held += kept[t] ? a : 0;
        }
        total += all != 0 ? held / all : 0;
    }
    return total / (double)count;
}

static double attention_at(const struct sample *sample, const struct layer *layer, long head,
                           long q, long position)
{
    return layer->attention[(head * sample->queries + q) * sample->length + position];
}

struct future future_of(const struct sample *sample, const struct layer *layer,
                        const struct candidates *c, long group, const bool *kept, const bool *among)
{
    struct future f = {.known = layer->attention && sample->prefill < sample->queries};
    if (!f.known)
        return f;
    long ratio = layer->query_heads / layer->kv_heads;
    double held = 0, held_squares = 0;
    for (long h = group * ratio; h < (group + 1) * ratio; h++)
        for (long q = sample->prefill; q < sample->queries; q++)
            for (long t = 0; t < c->count; t++) {
                double a = attention_at(sample, layer, h, q, c->first + t);
                if (!isfinite(a))
                    f.known = false;
                if (among && !among[t])
                    continue;
                f.weight += a;
                f.peak_weight += a * a;
                held += kept[t] ? a : 0;
                held_squares += kept[t] ? a * a : 0;
            }
    f.known = f.known && f.weight != 0;
    f.mass = held / f.weight;
    f.peak = held_squares / f.peak_weight;
    return f;
}

/* The output of one recorded row over all positions, or over what is left of them. */
static void attend(const struct sample *sample, const struct layer *layer,
                   const struct candidates *c, long head, long q, const bool *kept, double *out)
{
    long size = layer->value_size, ratio = layer->query_heads / layer->kv_heads;
    double total = 0;
    for (long d = 0; d < size; d++)
        out[d] = 0;
    for (long p = 0; p < sample->length; p++) {
        bool candidate = p >= c->first && p < sample->prompt;
        if (kept && !(candidate ? kept[p - c->first] : p >= sample->prompt))
            continue;
        double a = attention_at(sample, layer, head, q, p);
        const double *value = &layer->value[(head / ratio * sample->length + p) * size];
        total += a;
        for (long d = 0; d < size; d++)
            out[d] += a * value[d];
    }
    for (long d = 0; d < size; d++)
        out[d] = kept && total == 0 ? 0 : out[d] / total;
}

double output_error(const struct sample *sample, const struct layer *layer,
                    const struct candidates *c, long group, const bool *kept)
{
    if (!layer->attention || !layer->value || sample->queries == 0)
        return NAN;
    long size = layer->value_size, ratio = layer->query_heads / layer->kv_heads;
    long from = sample->prefill < sample->queries ? sample->prefill : sample->queries - 1;
    double *whole = room(size, sizeof *whole), *part = room(size, sizeof *part), sum = 0;
    for (long h = group * ratio; h < (group + 1) * ratio; h++)
        for (long q = from; q < sample->queries; q++) {
            double off = 0, length = 0;
            attend(sample, layer, c, h, q, NULL, whole);
            attend(sample, layer, c, h, q, kept, part);
            for (long d = 0; d < size; d++) {
                off += (whole[d] - part[d]) * (whole[d] - part[d]);
                length += whole[d] * whole[d];
            }
            sum += sqrt(off) / sqrt(length);
        }
    free(whole);
    free(part);
    return sum / (double)(ratio * (sample->queries - from));
}

/* -- needles -- */

bool holds_needle(const struct candidates *c, struct span needle)
{
    return needle.start >= c->first && needle.end <= c->first + c->count &&
           needle.start < needle.end;
}

double dilution(double owner_mass, double eta, const double *slack, long siblings, double tau,
                double non_sinks)
{
    /* D / C, because both can be too small for a double at low temperatures. */
    double ratio = 0;
    for (long j = 0; j < siblings; j++)
        ratio += exp((slack[j] + eta - log(non_sinks)) / tau);
    return isinf(ratio) ? owner_mass : owner_mass * ratio / (1 + ratio);
}

/* The theorem speaks of real numbers: the pooled value at the peak is not rounded to float. */
struct premise premise_of(const struct options *o, const struct candidates *c, const float *vectors,
                          long count, struct span needle)
{
    struct premise p = {.largest_slack = NAN};
    double non_sinks = (double)(c->count - c->sinks), largest = -INFINITY;
    double *entropy = room(count, sizeof *entropy), *weight = room(count, sizeof *weight);
    double *slack = room(count, sizeof *slack);
    for (long h = 0; h < count; h++)
        for (long t = needle.start - c->first; t < needle.end - c->first; t++)
            if ((double)vectors[h * c->count + t] > largest) {
                largest = (double)vectors[h * c->count + t];
                p.owner = h;
                p.peak = c->first + t;
            }
    p.owner_mass = largest;
    for (long h = 0; h < count; h++)
        entropy[h] = entropy_isolated(o, c, &vectors[h * c->count]);
    p.owner_entropy = entropy[p.owner];
    long siblings = 0;
    for (long h = 0; h < count; h++) {
        if (h == p.owner)
            continue;
        slack[siblings] = fmax(0, log(non_sinks) - entropy[h]);
        p.largest_slack = fmax(p.largest_slack, slack[siblings]); /* fmax passes over NaN */
        siblings++;
    }
    softmax_weights(entropy, count, o->tau, weight);
    for (long h = 0; h < count; h++)
        p.pooled_mass += weight[h] * (double)vectors[h * c->count + (p.peak - c->first)];
    double delta = dilution(p.owner_mass, p.owner_entropy, slack, siblings, o->tau, non_sinks);
    if (siblings > 0 && !(non_sinks > 0))
        delta = p.owner_mass; /* (T-S)^(-1/tau), and so D, is infinite: the bound says nothing */
    p.bound = p.owner_mass - delta;
    free(entropy);
    free(weight);
    free(slack);
    return p;
}
