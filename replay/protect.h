/*
 * Tokens that are kept whatever their score: attention sinks and the most recent ones.
 */
#ifndef KVR_PROTECT_H
#define KVR_PROTECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/number.h"
#include "formats/base/status.h"
#include "replay/candidates.h"
#include "replay/stage_entry.h"

struct kvr_protect {
    uint64_t sinks;  /* the first min(sinks, T) candidates of the layer, in a window layer too */
    uint64_t recent; /* the last min(recent, T) */
    bool has_fraction;
    struct kvr_decimal fraction; /* instead of `recent`: floor(fraction * quota) of the newest */
};

/* What there is; ends with a NULL pattern. */
extern const struct kvr_stage_entry kvr_protect_entries[];

/* Parses "none", "sinks:4", "recent:32", "recent:0.5", "sinks:4+recent:32". A number with a point
   is a fraction of the quota. */
enum kvr_status kvr_protect_parse(const char *text, struct kvr_protect *protect,
                                  struct kvr_error *err);

/*
 * Protected units: [0, first) and [last, count), with first <= last. At page size B a page that
 * holds a protected token is protected; with a fraction the newest floor(f K) pages are. In select
 * order the first ones come from the beginning on, then the last ones from the newest back.
 */
struct kvr_protected {
    size_t first, last, count;
};

/* `quota` (units) matters only where there is a fraction. */
struct kvr_protected kvr_protect_units(const struct kvr_protect *protect,
                                       const struct kvr_pages *pages, uint64_t quota);

/* Whether anything can be protected. */
static inline bool kvr_protect_any(const struct kvr_protect *protect)
{
    return protect->sinks > 0 || protect->recent > 0 || protect->has_fraction;
}

/* How many units are protected. */
static inline size_t kvr_protected_count(struct kvr_protected units)
{
    return units.first + (units.count - units.last);
}

/* The unit that stands at `rank` < kvr_protected_count in select order. */
static inline size_t kvr_protected_at(struct kvr_protected units, size_t rank)
{
    return rank < units.first ? rank : units.count - 1 - (rank - units.first);
}

/* The rank of a protected unit; units.count if it is not protected. */
static inline size_t kvr_protected_rank(struct kvr_protected units, size_t unit)
{
    if (unit < units.first)
        return unit;
    return unit >= units.last ? units.first + (units.count - 1 - unit) : units.count;
}

#endif
