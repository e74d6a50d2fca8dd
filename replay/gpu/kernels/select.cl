/*
 * Keeping the highest scores, exactly, ties to the lower index: a group finds the cut of one
 * (vector, quota) digit by digit, then writes the set as a bitmap. No ranking is made.
 */
#define SELECT_BINS 2048u
#define KEY_OF_NOTHING 0x007fffffu /* of minus infinity */

/* Units outside [first, last) are protected: out of the way. */
FUNCTION u32 free_key(GLOBAL const u32 *scores, u32 i, u32 first, u32 last)
{
    return i >= first && i < last ? key_of(scores[i]) : KEY_OF_NOTHING;
}

/*
 * Of a histogram, the bin in which the `quota` highest end: every item adds up its share of the
 * bins, the first item walks the shares. place[0] becomes the bin, place[1] what is left for it.
 */
FUNCTION void find_cut(LOCAL u32 *histogram, LOCAL u32 *shares, u32 bins, u32 quota,
                       LOCAL u32 *place)
{
    u32 width = bins / KVR_GROUP, sum = 0u;
    for (u32 i = 0u; i < width; i++)
        sum += histogram[ITEM * width + i];
    shares[ITEM] = sum;
    BARRIER();
    if (ITEM == 0u) {
        u32 share = KVR_GROUP - 1u;
        while (shares[share] < quota)
            quota -= shares[share--];
        u32 bin = share * width + width - 1u;
        while (histogram[bin] < quota)
            quota -= histogram[bin--];
        place[0] = bin;
        place[1] = quota;
    }
    BARRIER();
}

/* The sum of counts before each item: an inclusive scan by doubling, minus the item's own. */
FUNCTION u32 sum_before(LOCAL u32 *counts, u32 own)
{
    counts[ITEM] = own;
    BARRIER();
    for (u32 step = 1u; step < KVR_GROUP; step *= 2u) {
        u32 other = ITEM >= step ? counts[ITEM - step] : 0u;
        BARRIER();
        counts[ITEM] += other;
        BARRIER();
    }
    return counts[ITEM] - own;
}

/*
 * sets[vector][quota] as words of 64 bits from scores[vector][n]; cuts[quota][3] = quota, first and
 * last unit that is not protected. Group (vector, quota).
 */
KERNEL select_top(GLOBAL const u32 *all_scores, u32 n, u32 quotas, GLOBAL const u32 *cuts,
                  GLOBAL u64 *sets)
{
    LOCAL_ROOM u32 histogram[SELECT_BINS];
    LOCAL_ROOM u32 counts[KVR_GROUP];
    LOCAL_ROOM u32 place[2];
    u32 words = n / 64u + (n % 64u != 0u ? 1u : 0u);
    GLOBAL const u32 *scores = all_scores + GROUP_INDEX / quotas * n;
    GLOBAL const u32 *cut = cuts + GROUP_INDEX % quotas * 3u;
    GLOBAL u64 *set = sets + GROUP_INDEX * words;
    u32 quota = cut[0], first = cut[1], last = cut[2];
    if (quota == 0u || quota >= n) {
        for (u32 word = ITEM; word < words; word += KVR_GROUP) {
            u64 all = ~(u64)0;
            if (word * 64u + 64u > n)
                all >>= 64u - n % 64u;
            set[word] = quota == 0u ? 0 : all;
        }
        return;
    }
    u32 prefix = 0u, known = 0u; /* the cut's leading digits, and which bits those are */
    for (u32 digit = 0u; digit < 3u; digit++) {
        u32 shift = digit == 0u ? 21u : digit == 1u ? 10u : 0u;
        u32 bins = digit == 2u ? 1024u : 2048u;
        for (u32 bin = ITEM; bin < bins; bin += KVR_GROUP)
            histogram[bin] = 0u;
        BARRIER();
        for (u32 i = ITEM; i < n; i += KVR_GROUP) {
            u32 key = free_key(scores, i, first, last);
            if ((key & known) == prefix)
                LOCAL_ADD(&histogram[key >> shift & (bins - 1u)], 1u);
        }
        BARRIER();
        find_cut(histogram, counts, bins, quota, place);
        prefix |= place[0] << shift;
        known |= (bins - 1u) << shift;
        quota = place[1];
        BARRIER();
    }
    for (u32 base = 0u; base < words; base += KVR_GROUP) {
        u32 word = base + ITEM;
        u64 above = 0, equal = 0;
        for (u32 bit = 0u; bit < 64u && word < words && word * 64u + bit < n; bit++) {
            u32 key = free_key(scores, word * 64u + bit, first, last);
            above |= (u64)(key > prefix ? 1u : 0u) << bit;
            equal |= (u64)(key == prefix ? 1u : 0u) << bit;
        }
        u32 before = sum_before(counts, POPCOUNT(equal));
        u32 ties = before < quota ? quota - before : 0u;
        for (; equal != 0 && ties > 0u; ties--) {
            above |= equal & (~equal + 1);
            equal &= equal - 1;
        }
        if (word < words)
            set[word] = above;
        u32 all = counts[KVR_GROUP - 1u];
        quota -= all < quota ? all : quota;
        BARRIER();
    }
}
