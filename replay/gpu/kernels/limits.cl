/*
 * What a device can do at best, for benchmarks: copying, and multiplying and adding.
 */
KERNEL copy_words(GLOBAL const u64 *from, u64 count, GLOBAL u64 *to)
{
    u64 i = ITEM_INDEX;
    if (i < count)
        to[i] = from[i];
}

/* 16 * steps operations an item, on eight numbers that do not wait for each other. */
KERNEL multiply_adds(u32 steps, f32 factor, GLOBAL f32 *out)
{
    f32 sums[8];
    f32 total = 0.0f;
    for (u32 i = 0u; i < 8u; i++)
        sums[i] = (f32)(ITEM + i);
    for (u32 step = 0u; step < steps; step++)
        for (u32 i = 0u; i < 8u; i++)
            sums[i] = FUSED(sums[i], factor, 1.0f);
    for (u32 i = 0u; i < 8u; i++)
        total += sums[i];
    out[ITEM_INDEX] = total;
}
