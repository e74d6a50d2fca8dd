/*
 * How the sets of a group's heads overlap, counted on their bitmaps [head][quota][words].
 */

/* The sum of a number over the group's items; every item gets it. */
FUNCTION u32 sum_group(LOCAL u32 *counts, u32 own)
{
    counts[ITEM] = own;
    BARRIER();
    for (u32 step = KVR_GROUP / 2u; step > 0u; step /= 2u) {
        if (ITEM < step)
            counts[ITEM] += counts[ITEM + step];
        BARRIER();
    }
    u32 sum = counts[0];
    BARRIER();
    return sum;
}

/* sizes[quota] = how many units the union over the heads has. Group (quota). */
KERNEL count_unions(GLOBAL const u64 *sets, u32 heads, u32 quotas, u32 words, GLOBAL u32 *sizes)
{
    LOCAL_ROOM u32 counts[KVR_GROUP];
    u32 quota = (u32)GROUP_INDEX, own = 0u;
    for (u32 word = ITEM; word < words; word += KVR_GROUP) {
        u64 all = 0;
        for (u32 h = 0u; h < heads; h++)
            all |= sets[((u64)h * quotas + quota) * words + word];
        own += POPCOUNT(all);
    }
    own = sum_group(counts, own);
    if (ITEM == 0u)
        sizes[quota] = own;
}

/* pairs[quota][i][j] = how many units the sets of heads i and j share. Group (quota, i, j). */
KERNEL count_pairs(GLOBAL const u64 *sets, u32 heads, u32 quotas, u32 words, GLOBAL u32 *pairs)
{
    LOCAL_ROOM u32 counts[KVR_GROUP];
    u32 j = (u32)(GROUP_INDEX % heads), i = (u32)(GROUP_INDEX / heads % heads);
    u32 quota = (u32)(GROUP_INDEX / heads / heads), own = 0u;
    GLOBAL const u64 *a = sets + ((u64)i * quotas + quota) * words;
    GLOBAL const u64 *b = sets + ((u64)j * quotas + quota) * words;
    for (u32 word = ITEM; word < words; word += KVR_GROUP)
        own += POPCOUNT(a[word] & b[word]);
    own = sum_group(counts, own);
    if (ITEM == 0u)
        pairs[GROUP_INDEX] = own;
}
