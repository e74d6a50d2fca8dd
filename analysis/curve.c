/*
 * Counters that run along with the quota. They must not know what a unit is.
 */
#include "analysis/curve.h"

#include <stdbool.h>

enum kvr_status kvr_curve_start(const uint32_t *const *orders, size_t heads, size_t units,
                                struct kvr_room *room, struct kvr_curve *curve,
                                struct kvr_error *err)
{
    *curve = (struct kvr_curve){
        .heads = heads,
        .units = units,
        .orders = orders,
        .bytes = heads / 8 + (heads % 8 != 0),
    };
    curve->holders = kvr_room_take_zeroed(room, units, curve->bytes, err);
    curve->later = kvr_room_take_zeroed(room, heads * curve->bytes, 8 * sizeof *curve->later, err);
    curve->pairs = kvr_room_take(room, heads * heads, sizeof *curve->pairs, err);
    bool failed = curve->holders == NULL || curve->later == NULL || curve->pairs == NULL;
    return failed ? KVR_NO_MEMORY : KVR_OK;
}

/* Head `head` now keeps `unit`, which it shares with every head that kept it before. All bits are
   added, set or not: branches on them would cost more than the additions. */
static void add_unit(struct kvr_curve *curve, size_t head, size_t unit)
{
    unsigned char *holders = curve->holders + unit * curve->bytes;
    uint64_t *later = curve->later + head * curve->bytes * 8;
    unsigned any = 0;
    for (size_t i = 0; i < curve->bytes; i++) {
        any |= holders[i];
        for (unsigned bit = 0; bit < 8; bit++)
            later[i * 8 + bit] += holders[i] >> bit & 1;
    }
    curve->unions += any == 0;
    holders[head / 8] = (unsigned char)(holders[head / 8] | 1u << head % 8);
}

void kvr_curve_step(struct kvr_curve *curve)
{
    enum { AHEAD = 16 }; /* units come in no order that a cache could guess */
    size_t rank = (size_t)curve->quota++;
    size_t soon = rank + AHEAD < curve->units ? rank + AHEAD : rank;
    for (size_t head = 0; head < curve->heads; head++) {
        __builtin_prefetch(curve->holders + curve->orders[head][soon] * curve->bytes, 1);
        add_unit(curve, head, curve->orders[head][rank]);
    }
}

struct kvr_overlap kvr_curve_overlap(struct kvr_curve *curve)
{
    size_t heads = curve->heads, row = curve->bytes * 8;
    for (size_t i = 0; i < heads; i++) {
        curve->pairs[i * heads + i] = curve->quota;
        for (size_t j = 0; j < i; j++)
            curve->pairs[i * heads + j] = curve->pairs[j * heads + i] =
                curve->later[i * row + j] + curve->later[j * row + i];
    }
    return kvr_overlap_from_pairs(curve->pairs, heads, curve->quota, curve->unions);
}

uint64_t kvr_curve_next(uint64_t quota)
{
    return quota + (quota < 16 ? 1 : quota / 16);
}
