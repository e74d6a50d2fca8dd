/*
 * Stepping along the quota. It must not know what the quotas are for.
 */
#include "analysis/dropped.h"

#include <math.h>

#include "replay/bitmap.h"

enum kvr_status kvr_dropped_start(const struct kvr_protect *protect, const struct kvr_pages *pages,
                                  const float *scores, const float *vector, struct kvr_room *room,
                                  struct kvr_select_scratch *scratch, struct kvr_dropped *dropped,
                                  struct kvr_error *err)
{
    size_t count = pages->count;
    *dropped = (struct kvr_dropped){.protect = protect, .pages = pages, .vector = vector};
    dropped->order = kvr_room_take(room, count, sizeof *dropped->order, err);
    dropped->kept = kvr_room_take_zeroed(room, kvr_bitmap_words(count), sizeof *dropped->kept, err);
    if (dropped->order == NULL || dropped->kept == NULL)
        return KVR_NO_MEMORY;
    for (size_t t = 0; t < count; t++)
        dropped->all += (double)vector[t];
    return kvr_rank(scores, count, dropped->order, scratch, err);
}

static void keep(struct kvr_dropped *dropped, size_t token)
{
    kvr_bitmap_add(dropped->kept, token);
    dropped->held += (double)dropped->vector[token];
}

/*
 * What is protected follows one order whatever the quota: sinks, then from the newest back. A
 * fraction of the quota is at most 1, so a step protects at most one token more. If that one is
 * kept already, for its score, the next in rank takes the place that it leaves.
 */
void kvr_dropped_step(struct kvr_dropped *dropped)
{
    uint64_t quota = ++dropped->quota;
    struct kvr_protected units = kvr_protect_units(dropped->protect, dropped->pages, quota);
    size_t held = kvr_protected_count(units);
    if (dropped->protected < held && dropped->protected < quota) {
        size_t token = kvr_protected_at(units, dropped->protected ++);
        if (!kvr_bitmap_has(dropped->kept, token)) {
            keep(dropped, token);
            return;
        }
    }
    while (kvr_bitmap_has(dropped->kept, dropped->order[dropped->ranked]))
        dropped->ranked++;
    keep(dropped, dropped->order[dropped->ranked++]);
}

double kvr_dropped_mass(const struct kvr_dropped *dropped)
{
    return fabs(dropped->all) > 0 ? 1 - dropped->held / dropped->all : NAN;
}
