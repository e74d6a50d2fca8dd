/*
 * The tables of replay folders as compare.c needs them: for each policy at a budget its sums by
 * sample, and the chosen measure by unit so that two policies can be paired. Private to comparing.
 *
 * A unit is a (sample, layer, group), for needle measures one needle of it. Units of a pool are
 * averaged by weight (MEASURES §9); a sample's value is the mean of its pools: one pool a sample,
 * but one a needle where needles count by whether they are kept.
 */
#ifndef KVR_COMPARE_STORE_H
#define KVR_COMPARE_STORE_H

#include "analysis/compare.h"
#include "analysis/compare_metric.h"
#include "analysis/run_facts.h"
#include "formats/base/names.h"
#include "formats/base/number.h"

struct compare_cell {
    size_t sample, layer;
};

struct compare_unit {
    size_t sample, pool, layer; /* indices into the store's lists */
};

struct compare_needle {
    size_t sample;
    unsigned depth; /* fifth of the prompt */
};

/* Sums of ratio * weight and of weight over a sample; weight 0: nothing there. */
struct compare_sums {
    double value[KVR_METRICS], weight[KVR_METRICS];
};

/* A needle in an entry: (layer, group) that hold it, and that keep it whole. */
struct compare_tally {
    uint64_t held, whole;
};

/* The chosen measure of a unit; weight 0: the entry has no value there. */
struct compare_value {
    double value, weight;
};

/* One policy under one scorer at one page size and budget. Names are the store's. */
struct compare_entry {
    const char *scorer, *policy, *budget;
    uint64_t page_size;
    struct kvr_decimal fraction;
    uint64_t units_held, units_due;  /* tokens or pages, and those of the uniform quota */
    uint64_t kept_tokens, kept_dims; /* kept_dims: tokens times head size */
    uint64_t cell_count;
    uint64_t *cells; /* bitmap of (sample, layer, group) that have a row */
    size_t cell_room;
    struct compare_sums *sums; /* [samples], as the following as far as the room goes */
    size_t sums_room;
    struct compare_tally *needles; /* [needles] */
    size_t needle_room;
    struct compare_value *values; /* [units] */
    size_t value_room;
};

struct compare_store {
    enum kvr_metric metric;
    struct kvr_run_facts facts;
    struct kvr_names labels, traces, samples, cells, needles, needle_units;
    size_t layer_count, layer_capacity;
    uint64_t *layers; /* numbers, in the order of the tables */
    size_t unit_count, unit_capacity;
    struct compare_unit *units;
    size_t pool_count;
    struct compare_needle *needle_facts; /* [needles.count] */
    size_t needle_capacity;
    struct compare_cell *cell_facts; /* [cells.count] */
    size_t cell_capacity;
    bool head_dim_known; /* of every sample */
    size_t entry_count, entry_capacity;
    struct compare_entry *entries; /* in the order of the tables */
    size_t last_entry;
};

/* Reads run.json, measures.csv and needles.csv of the folders; release in any case. */
enum kvr_status compare_store_read(const char *const *folders, size_t folder_count,
                                   const struct kvr_compare_options *options,
                                   struct compare_store *store, struct kvr_error *err);
void compare_store_free(struct compare_store *store);

/* What lies beyond the room has nothing there. */
static inline struct compare_value compare_value_at(const struct compare_entry *entry, size_t unit)
{
    return unit < entry->value_room ? entry->values[unit] : (struct compare_value){0, 0};
}

static inline struct compare_tally compare_tally_at(const struct compare_entry *entry,
                                                    size_t needle)
{
    return needle < entry->needle_room ? entry->needles[needle] : (struct compare_tally){0, 0};
}

static inline struct compare_sums compare_sums_at(const struct compare_entry *entry, size_t sample)
{
    return sample < entry->sums_room ? entry->sums[sample] : (struct compare_sums){0};
}

#endif
