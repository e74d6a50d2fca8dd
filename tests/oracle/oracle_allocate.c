/*
 * Allocations of the oracle: how the quotas of groups and layers differ, and the gate.
 *
 * Quotas are exact: fractions over one denominator, made whole by largest remainder.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"

/* -- pyramid -- */

void allocate_pyramid(long layers, long quota, long recent, long items, struct decimal beta,
                      long *quotas)
{
    long base = quota - recent;
    if (beta.numerator < beta.denominator)
        die(2, "pyramid: expected a beta of at least 1");
    if (base <= 0 || layers == 1) {
        for (long i = 0; i < layers; i++)
            quotas[i] = quota;
        return;
    }
    /* lo, hi and w as multiples of 1/beta.numerator */
    wide unit = beta.numerator;
    wide lo = base * beta.denominator, hi = 2 * base * unit - lo;
    if (hi > (items - recent) * unit) {
        hi = (items - recent) * unit;
        lo = 2 * base * unit - hi;
    }
    wide *values = room(layers, sizeof *values); /* multiples of 1/(unit (L - 1)) */
    for (long i = 0; i < layers; i++)
        values[i] = hi * (layers - 1) - i * (hi - lo) + recent * unit * (layers - 1);
    largest_remainder(layers, values, unit * (layers - 1), layers * quota, quotas);
    free(values);
}

/* -- by score over groups -- */

struct bid {
    float score;
    long layer, group, page;
    bool *flag;
};

static int compare_bids(const void *a, const void *b)
{
    const struct bid *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->page > y->page) - (x->page < y->page);
}

static long at_most(long a, long b)
{
    return a < b ? a : b;
}

static long at_least(long a, long b)
{
    return a > b ? a : b;
}

void allocate_by_score(struct share *shares, long count, long quota, struct decimal alpha)
{
    long all = 0, left = quota * count, bid_count = 0;
    for (long s = 0; s < count; s++)
        all += shares[s].pages;
    struct bid *bids = room(all, sizeof *bids);
    for (long s = 0; s < count; s++) {
        struct share *share = &shares[s];
        long first = at_least(floor_of(alpha, quota, 1), at_most(quota, share->protected_count));
        for (long i = 0; i < share->pages; i++) {
            long page = share->order[i];
            share->kept[page] = i < first;
            if (i < first)
                left--;
            else
                bids[bid_count++] = (struct bid){share->scores[page], share->layer, share->group,
                                                 page, &share->kept[page]};
        }
    }
    qsort(bids, (size_t)bid_count, sizeof *bids, compare_bids);
    for (long i = 0; i < left && i < bid_count; i++)
        *bids[i].flag = true;
    free(bids);
}

/* -- the gate -- */

enum { GATE_TOP = 32 };

/* Flags the candidates of the vector's top 32, from `from` on. */
static void top_set(const float *vector, long from, long count, bool *set, long *size)
{
    long *order = room(count, sizeof *order);
    select_order(vector + from, count - from, NULL, 0, order);
    *size = at_most(GATE_TOP, count - from);
    for (long i = 0; i < *size; i++)
        set[from + order[i]] = true;
    free(order);
}

/* Mean Jaccard over all pairs of the heads; false without a pair. */
static bool agreement_of(const float *const *heads, long count, long from, long tokens,
                         double *agreement)
{
    bool *sets = room(count * tokens, sizeof *sets);
    long size = 0, pairs = 0;
    double sum = 0;
    for (long h = 0; h < count; h++)
        top_set(heads[h], from, tokens, &sets[h * tokens], &size);
    for (long i = 0; i < count && size > 0; i++)
        for (long j = i + 1; j < count; j++) {
            long both = 0;
            for (long t = 0; t < tokens; t++)
                both += sets[i * tokens + t] && sets[j * tokens + t];
            sum += (double)both / (double)(2 * size - both);
            pairs++;
        }
    free(sets);
    *agreement = pairs ? sum / (double)pairs : 0;
    return pairs > 0;
}

/* The agreement of one layer over the heads of groups that neither score excludes. */
static void judge_layer(const struct options *o, const struct sample *sample,
                        const struct plan *plan, long l, struct gate *gate)
{
    const struct score window = {.label = "window:32", .kind = SCORE_WINDOW, .rows = 32};
    const struct layer_plan *layer = &plan->layers[l];
    struct vectors v = vectors_of(o, sample, &sample->layers[l], &window);
    const float **heads = room(sample->layers[l].query_heads, sizeof *heads);
    long count = 0;
    for (long g = 0; v.exist && g < v.groups; g++)
        for (long h = 0; h < v.per_group && layer->groups[g].present && !v.bad[g]; h++)
            heads[count++] = group_vectors(&v, g) + h * v.tokens;
    gate->has_agreement[l] =
        layer->counted && agreement_of(heads, count, 0, v.tokens, &gate->agreement[l]);
    if (!agreement_of(heads, count, layer->candidates.sinks, v.tokens,
                      &gate->agreement_without_sinks[l]))
        gate->agreement_without_sinks[l] = NAN; /* no pair, or nothing but sinks */
    free(heads);
    vectors_free(&v);
}

struct gate gate_of(const struct options *o, const struct sample *sample, const struct plan *plan)
{
    long layers = plan->layer_count, count = 0;
    struct gate gate = {
        .has_agreement = room(layers, sizeof(bool)),
        .agreement = room(layers, sizeof(double)),
        .agreement_without_sinks = room(layers, sizeof(double)),
    };
    double *counted = room(layers, sizeof *counted), first = 0, last = 0;
    for (long l = 0; l < layers; l++) {
        judge_layer(o, sample, plan, l, &gate);
        if (gate.has_agreement[l])
            counted[count++] = gate.agreement[l];
    }
    long third = at_least(1, count / 3);
    for (long i = 0; i < third && count > 0; i++) {
        first += counted[i];
        last += counted[count - third + i];
    }
    gate.known = count > 0;
    gate.difference = (first - last) / (double)third;
    gate.open = gate.known && gate.difference >= real_of(plan->row->gate_text);
    free(counted);
    return gate;
}
