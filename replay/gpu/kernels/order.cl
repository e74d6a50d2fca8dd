/*
 * The whole select order of vectors: falling score, ties by rising index. A score's key and its
 * index make one number, so no two are equal and any sort is stable; it is a bitonic one.
 */
#define SORT_CHUNK (2u * KVR_GROUP) /* numbers that a group sorts in shared memory */

/* numbers[vector][padded] from scores[vector][n]; what is beyond n comes last. padded is a power of
   two, at least SORT_CHUNK. */
KERNEL sort_numbers(GLOBAL const u32 *scores, u32 n, u32 padded, u64 items, GLOBAL u64 *numbers)
{
    u64 item = ITEM_INDEX;
    u32 i = (u32)(item % padded);
    if (item < items)
        numbers[item] = i < n ? (u64)~key_of(scores[item / padded * n + i]) << 32 | i : ~(u64)0;
}

/* Numbers `distance` apart, within runs of 2 * `run` that rise and fall in turns. Item (pair). */
KERNEL sort_step(u32 padded, u32 run, u32 distance, u64 pairs, GLOBAL u64 *numbers)
{
    u64 item = ITEM_INDEX, low = item / distance * 2u * distance + item % distance;
    if (item >= pairs)
        return;
    u64 a = numbers[low], b = numbers[low + distance];
    u32 rises = (low % padded & run) == 0u ? 1u : 0u;
    if ((a > b ? 1u : 0u) == rises) {
        numbers[low] = b;
        numbers[low + distance] = a;
    }
}

/* The steps of runs from `run` to `last` with distances up to KVR_GROUP. Group (chunk). */
KERNEL sort_chunks(u32 padded, u32 run, u32 last, GLOBAL u64 *numbers)
{
    LOCAL_ROOM u64 chunk[SORT_CHUNK];
    GLOBAL u64 *own = numbers + GROUP_INDEX * SORT_CHUNK;
    u32 start = (u32)(GROUP_INDEX * SORT_CHUNK % padded);
    chunk[ITEM] = own[ITEM];
    chunk[ITEM + KVR_GROUP] = own[ITEM + KVR_GROUP];
    BARRIER();
    for (; run <= last; run *= 2u)
        for (u32 distance = run / 2u < KVR_GROUP ? run / 2u : KVR_GROUP; distance > 0u;
             distance /= 2u) {
            u32 low = ITEM / distance * 2u * distance + ITEM % distance;
            u64 a = chunk[low], b = chunk[low + distance];
            u32 rises = ((start + low) & run) == 0u ? 1u : 0u;
            if ((a > b ? 1u : 0u) == rises) {
                chunk[low] = b;
                chunk[low + distance] = a;
            }
            BARRIER();
        }
    own[ITEM] = chunk[ITEM];
    own[ITEM + KVR_GROUP] = chunk[ITEM + KVR_GROUP];
}

/* orders[vector][n] from the sorted numbers. */
KERNEL sort_orders(GLOBAL const u64 *numbers, u32 n, u32 padded, u64 items, GLOBAL u32 *orders)
{
    u64 item = ITEM_INDEX;
    if (item < items)
        orders[item] = (u32)numbers[item / n * padded + item % n];
}
