/*
 * Entries of the store described and paired: what compare.c puts together. Private to comparing.
 */
#ifndef KVR_COMPARE_PAIR_H
#define KVR_COMPARE_PAIR_H

#include "analysis/compare_store.h"

/* Of a pool: sums over the units that both sides have. */
struct compare_pool {
    double left, left_weight, right, right_weight;
};

/* What describing and pairing use again and again. Zero-initialised is empty. */
struct compare_room {
    const struct compare_store *store;
    struct compare_pool *pools;  /* [pools] */
    struct compare_pool *layers; /* [layers][pools] */
    double *left, *right;        /* [samples] */
    uint64_t *pool_counts;       /* [samples] */
};

enum kvr_status compare_room_open(const struct compare_store *store, struct compare_room *room,
                                  struct kvr_error *err);
void compare_room_close(struct compare_room *room);

/* Fills what an entry says on its own: memory and means over its own units. */
void compare_describe(struct compare_room *room, uint64_t element_bytes,
                      const struct compare_entry *entry, struct kvr_compared *compared);

/* Fills what a pair says: difference, interval, units won, layers and depths lost. */
enum kvr_status compare_pair(struct compare_room *room, const struct kvr_bootstrap *bootstrap,
                             const struct compare_entry *entry,
                             const struct compare_entry *baseline, struct kvr_compared *compared,
                             struct kvr_error *err);

/* What the ceiling does better, over shared units: mean over samples; NaN if nothing is shared. */
double compare_regret(struct compare_room *room, const struct compare_entry *entry,
                      const struct compare_entry *ceiling);

#endif
