/*
 * Stable ranking: a radix sort of keys with their indices. It must not know what is scored.
 *
 * Only bits in which keys differ are sorted by: rows of halves have few of them.
 */
#include <string.h>

#include "replay/cpu/cpu_kernels.h"
#include "replay/select.h"

enum { DIGIT_BITS = 11, BINS = 1 << DIGIT_BITS, MOST_DIGITS = 3 };

/* How keys become numbers that sort by falling score: (top - key) >> dropped, in `digits` digits of
   `width` bits. */
struct digits {
    int32_t top;
    unsigned dropped, width, count;
};

static struct digits digits_of(const int32_t *keys, size_t n)
{
    struct digits digits = {.top = keys[0]};
    uint32_t differing = 0, used = 0;
    for (size_t i = 0; i < n; i++)
        digits.top = keys[i] > digits.top ? keys[i] : digits.top;
    for (size_t i = 0; i < n; i++)
        differing |= (uint32_t)digits.top - (uint32_t)keys[i];
    if (differing == 0)
        return digits;
    digits.dropped = (unsigned)__builtin_ctz(differing);
    used = 32 - (unsigned)__builtin_clz(differing) - digits.dropped;
    digits.count = (used + DIGIT_BITS - 1) / DIGIT_BITS;
    digits.width = (used + digits.count - 1) / digits.count;
    return digits;
}

/* A key and its index: an item of the sort. */
static inline uint64_t item_of(const struct digits *digits, int32_t key, size_t index)
{
    uint32_t number = ((uint32_t)digits->top - (uint32_t)key) >> digits->dropped;
    return (uint64_t)number << 32 | index;
}

static inline size_t digit_of(const struct digits *digits, uint64_t item, unsigned digit)
{
    return item >> (32 + digit * digits->width) & (((size_t)1 << digits->width) - 1);
}

/* starts[digit][value] = how many items stand before those of that value. */
static void count_digits(const struct digits *digits, const uint64_t *items, size_t n,
                         uint32_t starts[MOST_DIGITS][BINS])
{
    memset(starts, 0, MOST_DIGITS * sizeof *starts);
    for (size_t i = 0; i < n; i++)
        for (unsigned digit = 0; digit < digits->count; digit++)
            starts[digit][digit_of(digits, items[i], digit)]++;
    for (unsigned digit = 0; digit < digits->count; digit++) {
        uint32_t before = 0;
        for (size_t value = 0; value < (size_t)1 << digits->width; value++) {
            uint32_t here = starts[digit][value];
            starts[digit][value] = before;
            before += here;
        }
    }
}

static void sort_items(const struct digits *digits, uint64_t *items, uint64_t *other, size_t n,
                       uint32_t *order)
{
    uint32_t starts[MOST_DIGITS][BINS];
    count_digits(digits, items, n, starts);
    for (unsigned digit = 0; digit + 1 < digits->count; digit++) {
        for (size_t i = 0; i < n; i++)
            other[starts[digit][digit_of(digits, items[i], digit)]++] = items[i];
        uint64_t *swap = items;
        items = other;
        other = swap;
    }
    unsigned last = digits->count - 1;
    for (size_t i = 0; i < n; i++)
        order[starts[last][digit_of(digits, items[i], last)]++] = (uint32_t)items[i];
}

enum kvr_status kvr_rank(const float *scores, size_t n, uint32_t *order,
                         struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    if (n == 0)
        return KVR_OK;
    size_t room = (n + KVR_KERNEL_SLACK) * sizeof(uint64_t);
    uint64_t *items = kvr_select_room(scratch, 2 * room, err);
    if (items == NULL)
        return KVR_NO_MEMORY;
    uint64_t *other = items + n;
    int32_t *keys = (int32_t *)(void *)other; /* until they are items */
    kvr_kernels()->collect(scores, n, INT32_MIN, keys);
    struct digits digits = digits_of(keys, n);
    if (digits.count == 0) {
        for (size_t i = 0; i < n; i++)
            order[i] = (uint32_t)i;
        return KVR_OK;
    }
    for (size_t i = 0; i < n; i++)
        items[i] = item_of(&digits, keys[i], i);
    sort_items(&digits, items, other, n, order);
    return KVR_OK;
}

size_t kvr_rank_of(const float *scores, size_t n, size_t i)
{
    const struct kvr_kernels *kernels = kvr_kernels();
    return kernels->count_at_least(scores, i, scores[i]) +
           kernels->count_above(scores + i + 1, n - i - 1, scores[i]);
}
