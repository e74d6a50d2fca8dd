/*
 * The largest remainder method in integers. It must not know what is shared out.
 */
#include "replay/largest_remainder.h"

#include <stdbool.h>
#include <stdlib.h>

#include "formats/base/memory.h"

__extension__ typedef unsigned __int128 wide;

/* What the floor left of a part, in units of 1 / sum of weights. */
struct remainder {
    uint64_t value;
    size_t index;
};

static int larger_first(const void *left, const void *right)
{
    const struct remainder *a = left, *b = right;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void share_equally(size_t count, uint64_t total, uint64_t *shares)
{
    for (size_t i = 0; i < count; i++)
        shares[i] = total / count + (i < total % count);
}

static bool sum_of(const uint64_t *weights, size_t count, uint64_t *sum)
{
    *sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (weights[i] > UINT64_MAX - *sum)
            return false;
        *sum += weights[i];
    }
    return *sum > 0;
}

enum kvr_status kvr_largest_remainder(const uint64_t *weights, size_t count, uint64_t total,
                                      uint64_t *shares, struct kvr_error *err)
{
    uint64_t sum = 0;
    if (count == 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "nothing to share %llu units among",
                        (unsigned long long)total);
    if (weights == NULL) {
        share_equally(count, total, shares);
        return KVR_OK;
    }
    if (!sum_of(weights, count, &sum))
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "expected weights whose sum is above 0 and below 2^64");
    struct remainder *remainders = kvr_alloc(count, sizeof *remainders, err);
    if (remainders == NULL)
        return KVR_NO_MEMORY;
    uint64_t left = total;
    for (size_t i = 0; i < count; i++) {
        wide part = (wide)total * weights[i];
        shares[i] = (uint64_t)(part / sum);
        remainders[i] = (struct remainder){(uint64_t)(part % sum), i};
        left -= shares[i];
    }
    /* The remainders sum to left * sum and each is below sum, so fewer than count are left. */
    qsort(remainders, count, sizeof *remainders, larger_first);
    for (size_t i = 0; i < left; i++)
        shares[remainders[i].index]++;
    free(remainders);
    return KVR_OK;
}
