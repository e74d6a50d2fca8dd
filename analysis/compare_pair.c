/*
 * One entry described, two entries paired (MEASURES §9). It must not know which entries there are.
 */
#include "analysis/compare_pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "replay/bitmap.h"

enum kvr_status compare_room_open(const struct compare_store *store, struct compare_room *room,
                                  struct kvr_error *err)
{
    size_t samples = store->samples.count, layer_pools;
    *room = (struct compare_room){.store = store};
    if (!kvr_size_product(store->layer_count, store->pool_count, &layer_pools))
        return kvr_fail(err, KVR_NO_MEMORY, "the tables are too large");
    room->pools = kvr_alloc(store->pool_count, sizeof *room->pools, err);
    room->layers = kvr_alloc(layer_pools, sizeof *room->layers, err);
    room->left = kvr_alloc(samples, sizeof *room->left, err);
    room->right = kvr_alloc(samples, sizeof *room->right, err);
    room->pool_counts = kvr_alloc(samples, sizeof *room->pool_counts, err);
    bool failed = room->pools == NULL || room->layers == NULL || room->left == NULL ||
                  room->right == NULL || room->pool_counts == NULL;
    return failed ? KVR_NO_MEMORY : KVR_OK;
}

void compare_room_close(struct compare_room *room)
{
    free(room->pools);
    free(room->layers);
    free(room->left);
    free(room->right);
    free(room->pool_counts);
}

/* ------------------------------------------------------------------------------ pooling */

static bool has_weight(double weight)
{
    return fabs(weight) > 0;
}

static void add_to_pool(struct compare_pool *pool, struct compare_value left,
                        struct compare_value right)
{
    pool->left += left.value * left.weight;
    pool->left_weight += left.weight;
    pool->right += right.value * right.weight;
    pool->right_weight += right.weight;
}

/* Pools the units that both entries have a value for, in all and by layer. */
static void pool_units(struct compare_room *room, const struct compare_entry *left,
                       const struct compare_entry *right)
{
    const struct compare_store *store = room->store;
    memset(room->pools, 0, store->pool_count * sizeof *room->pools);
    memset(room->layers, 0, store->layer_count * store->pool_count * sizeof *room->layers);
    for (size_t u = 0; u < store->unit_count; u++) {
        struct compare_value a = compare_value_at(left, u), b = compare_value_at(right, u);
        if (!has_weight(a.weight) || !has_weight(b.weight))
            continue;
        const struct compare_unit *unit = &store->units[u];
        add_to_pool(&room->pools[unit->pool], a, b);
        add_to_pool(&room->layers[unit->layer * store->pool_count + unit->pool], a, b);
    }
}

static size_t sample_of_pool(const struct compare_store *store, size_t pool)
{
    return store->metric == KVR_METRIC_NEEDLE ? store->needle_facts[pool].sample : pool;
}

/* room->left and right: a sample's value is the mean of its pools; NaN where it has none. */
static void value_samples(struct compare_room *room, const struct compare_pool *pools)
{
    const struct compare_store *store = room->store;
    size_t samples = store->samples.count;
    memset(room->left, 0, samples * sizeof *room->left);
    memset(room->right, 0, samples * sizeof *room->right);
    memset(room->pool_counts, 0, samples * sizeof *room->pool_counts);
    for (size_t p = 0; p < store->pool_count; p++) {
        size_t s = sample_of_pool(store, p);
        if (!has_weight(pools[p].left_weight) || !has_weight(pools[p].right_weight))
            continue;
        room->left[s] += pools[p].left / pools[p].left_weight;
        room->right[s] += pools[p].right / pools[p].right_weight;
        room->pool_counts[s]++;
    }
    for (size_t s = 0; s < samples; s++) {
        room->left[s] /= (double)room->pool_counts[s]; /* 0 / 0: NaN */
        room->right[s] /= (double)room->pool_counts[s];
    }
}

/* Mean over samples of left - right; NaN without a sample. */
static double mean_difference(const struct compare_room *room)
{
    double sum = 0;
    size_t count = 0;
    for (size_t s = 0; s < room->store->samples.count; s++)
        if (room->pool_counts[s] > 0) {
            sum += room->left[s] - room->right[s];
            count++;
        }
    return count > 0 ? sum / (double)count : NAN;
}

/* ------------------------------------------------------------------------------ one entry */

static double ratio(double part, double whole)
{
    return has_weight(whole) ? part / whole : NAN;
}

/* Mean over the samples of the sample's pooled ratio. */
static double mean_of_samples(const struct compare_store *store, const struct compare_entry *entry,
                              enum kvr_metric metric, uint64_t *samples)
{
    double sum = 0;
    *samples = 0;
    for (size_t s = 0; s < store->samples.count; s++) {
        struct compare_sums sums = compare_sums_at(entry, s);
        if (!has_weight(sums.weight[metric]))
            continue;
        sum += sums.value[metric] / sums.weight[metric];
        (*samples)++;
    }
    return ratio(sum, (double)*samples);
}

/* Needles: the mean of a sample's needles first, then of samples. */
struct needle_means {
    double fraction, any, strict;
};

static struct needle_means mean_of_needles(struct compare_room *room,
                                           const struct compare_entry *entry, uint64_t *samples)
{
    const struct compare_store *store = room->store;
    struct needle_means means = {0, 0, 0};
    *samples = 0;
    memset(room->pool_counts, 0, store->samples.count * sizeof *room->pool_counts);
    for (size_t n = 0; n < store->needles.count; n++)
        room->pool_counts[store->needle_facts[n].sample] += compare_tally_at(entry, n).held > 0;
    for (size_t s = 0; s < store->samples.count; s++)
        *samples += room->pool_counts[s] > 0;
    for (size_t n = 0; n < store->needles.count; n++) {
        struct compare_tally tally = compare_tally_at(entry, n);
        if (tally.held == 0)
            continue;
        double share = 1 / (double)room->pool_counts[store->needle_facts[n].sample];
        means.fraction += share * (double)tally.whole / (double)tally.held;
        means.any += tally.whole > 0 ? share : 0;
        means.strict += tally.whole == tally.held ? share : 0;
    }
    means.fraction = ratio(means.fraction, (double)*samples);
    means.any = ratio(means.any, (double)*samples);
    means.strict = ratio(means.strict, (double)*samples);
    return means;
}

static uint64_t samples_with_cells(const struct compare_room *room,
                                   const struct compare_entry *entry)
{
    const struct compare_store *store = room->store;
    uint64_t count = 0;
    memset(room->pool_counts, 0, store->samples.count * sizeof *room->pool_counts);
    for (size_t c = 0; c < store->cells.count && c / 64 < entry->cell_room; c++)
        if (kvr_bitmap_has(entry->cells, c))
            count += room->pool_counts[store->cell_facts[c].sample]++ == 0 ? 1 : 0;
    return count;
}

void compare_describe(struct compare_room *room, uint64_t element_bytes,
                      const struct compare_entry *entry, struct kvr_compared *compared)
{
    const struct compare_store *store = room->store;
    uint64_t samples[KVR_METRICS] = {0};
    *compared = (struct kvr_compared){
        .present = true,
        .cells = entry->cell_count,
        .tokens = (double)entry->kept_tokens / (double)entry->cell_count,
        .bytes = NAN,
        .memory = (double)entry->units_held / (double)entry->units_due,
        .regret = NAN,
        .difference = {.estimate = NAN, .low = NAN, .high = NAN},
    };
    if (store->head_dim_known)
        compared->bytes = 2 * (double)element_bytes * (double)entry->kept_dims /
                          (double)samples_with_cells(room, entry);
    for (unsigned m = 0; m < KVR_METRICS; m++)
        compared->means[m] = mean_of_samples(store, entry, (enum kvr_metric)m, &samples[m]);
    struct needle_means needles = mean_of_needles(room, entry, &samples[KVR_METRIC_NEEDLE]);
    compared->means[KVR_METRIC_NEEDLE] = needles.fraction;
    compared->needle_any = needles.any;
    compared->needle_strict = needles.strict;
    compared->samples = samples[store->metric];
}

/* ------------------------------------------------------------------------------ pairs */

/* Worse than by this is a loss; the sign makes more always better. */
static double sign_of(const struct compare_store *store)
{
    return kvr_metrics[store->metric].less_is_better ? -1 : 1;
}

static void count_units(const struct compare_store *store, const struct compare_entry *entry,
                        const struct compare_entry *baseline, struct kvr_compared *compared)
{
    double sign = sign_of(store);
    for (size_t u = 0; u < store->unit_count; u++) {
        struct compare_value a = compare_value_at(entry, u), b = compare_value_at(baseline, u);
        if (!has_weight(a.weight) || !has_weight(b.weight))
            continue;
        double better = sign * (a.value - b.value);
        compared->wins += better > 0;
        compared->losses += better < 0;
        compared->ties += !(better > 0) && !(better < 0);
    }
}

static int ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* From room->layers, which it reads layer by layer. */
static enum kvr_status find_losing_layers(struct compare_room *room, struct kvr_compared *compared,
                                          struct kvr_error *err)
{
    const struct compare_store *store = room->store;
    compared->losing_layers = kvr_alloc(store->layer_count, sizeof *compared->losing_layers, err);
    if (compared->losing_layers == NULL)
        return KVR_NO_MEMORY;
    for (size_t l = 0; l < store->layer_count; l++) {
        value_samples(room, room->layers + l * store->pool_count);
        double difference = sign_of(store) * mean_difference(room);
        compared->layer_count += isnan(difference) ? 0 : 1;
        if (difference < 0)
            compared->losing_layers[compared->losing_count++] = store->layers[l];
    }
    qsort(compared->losing_layers, compared->losing_count, sizeof *compared->losing_layers,
          ascending);
    return KVR_OK;
}

/* By the share of (layer, group) that keep a needle whole, over needles that both hold alike. */
static void find_losing_depths(const struct compare_store *store, const struct compare_entry *entry,
                               const struct compare_entry *baseline, struct kvr_compared *compared)
{
    double differences[KVR_COMPARE_DEPTHS] = {0};
    for (size_t n = 0; n < store->needles.count; n++) {
        struct compare_tally a = compare_tally_at(entry, n), b = compare_tally_at(baseline, n);
        if (a.held == 0 || a.held != b.held)
            continue;
        unsigned depth = store->needle_facts[n].depth;
        compared->depth_known[depth] = true;
        differences[depth] += ((double)a.whole - (double)b.whole) / (double)a.held;
    }
    for (size_t d = 0; d < KVR_COMPARE_DEPTHS; d++)
        compared->depth_lost[d] = differences[d] < 0;
}

enum kvr_status compare_pair(struct compare_room *room, const struct kvr_bootstrap *bootstrap,
                             const struct compare_entry *entry,
                             const struct compare_entry *baseline, struct kvr_compared *compared,
                             struct kvr_error *err)
{
    const struct compare_store *store = room->store;
    pool_units(room, entry, baseline);
    value_samples(room, room->pools);
    enum kvr_status status = kvr_bootstrap_difference(
        bootstrap, room->left, room->right, store->samples.count, &compared->difference, err);
    if (status != KVR_OK)
        return status;
    compared->pairing = compared->difference.samples > 0 ? KVR_PAIRED : KVR_PAIR_NOTHING;
    if (compared->pairing == KVR_PAIR_NOTHING)
        return KVR_OK;
    count_units(store, entry, baseline, compared);
    find_losing_depths(store, entry, baseline, compared);
    return find_losing_layers(room, compared, err);
}

double compare_regret(struct compare_room *room, const struct compare_entry *entry,
                      const struct compare_entry *ceiling)
{
    pool_units(room, ceiling, entry);
    value_samples(room, room->pools);
    return sign_of(room->store) * mean_difference(room);
}
