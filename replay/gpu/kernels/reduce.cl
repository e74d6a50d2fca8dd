/*
 * From the vectors of a group's heads to what is ranked: pooling over heads, smoothing along the
 * tokens, scores of pages. Every value is summed in double in the host's order and rounded once.
 */
#if KVR_DOUBLES
/* out[t] = sum over heads of (weights[h] or 1) * vectors[h][t], divided by `divisor`. */
KERNEL pool_sums(GLOBAL const u32 *vectors, u32 heads, u64 count, GLOBAL const f64 *weights,
                 u32 weighted, f64 divisor, GLOBAL u32 *out)
{
    u64 t = ITEM_INDEX;
    if (t >= count)
        return;
    f64 sum = 0;
    for (u32 h = 0; h < heads; h++) {
        f64 value = double_of_float_bits(vectors[h * count + t]);
        if (weighted != 0u)
            value = weights[h] * value;
        sum += value;
    }
    out[t] = float_bits_of_double(sum / divisor);
}

/* Over the first `length` tokens of each vector the mean of the centred window, always divided by
   its width; the others are copied. Item (vector, t). */
KERNEL smooth_means(GLOBAL const u32 *vectors, u64 count, u64 length, u32 width, u64 items,
                    GLOBAL u32 *out)
{
    u64 item = ITEM_INDEX, t = item % count, half_width = width / 2u;
    if (item >= items)
        return;
    if (t >= length) {
        out[item] = vectors[item];
        return;
    }
    u64 start = t > half_width ? t - half_width : 0;
    u64 end = length - t > half_width + 1 ? t + half_width + 1 : length;
    f64 sum = 0;
    for (u64 i = start; i < end; i++)
        sum += double_of_float_bits(vectors[item - t + i]);
    out[item] = float_bits_of_double(sum / (f64)width);
}

/* The tokens on a page, as kvr_pages_tokens gives them: pages are cut at absolute positions. */
FUNCTION u64 page_start(u64 page, u64 size, u64 first_page, u64 first)
{
    u64 start = (first_page + page) * size;
    return start > first ? start - first : 0;
}

FUNCTION u64 page_end(u64 page, u64 size, u64 first_page, u64 first, u64 count)
{
    u64 start = (first_page + page) * size, left = first + count - start;
    return size < left ? start + size - first : count;
}

/* scores[vector][page]: the sum over the page's tokens, or their mean. Item (vector, page). */
KERNEL page_sums(GLOBAL const u32 *vectors, u64 count, u64 first, u64 size, u64 first_page,
                 u64 pages, u32 mean, u64 items, GLOBAL u32 *scores)
{
    u64 item = ITEM_INDEX;
    if (item >= items)
        return;
    GLOBAL const u32 *vector = vectors + item / pages * count;
    u64 start = page_start(item % pages, size, first_page, first);
    u64 end = page_end(item % pages, size, first_page, first, count);
    f64 sum = 0;
    for (u64 t = start; t < end; t++)
        sum += double_of_float_bits(vector[t]);
    scores[item] = float_bits_of_double(mean != 0u ? sum / (f64)(end - start) : sum);
}

KERNEL page_maxima(GLOBAL const u32 *vectors, u64 count, u64 first, u64 size, u64 first_page,
                   u64 pages, u64 items, GLOBAL u32 *scores)
{
    u64 item = ITEM_INDEX;
    if (item >= items)
        return;
    GLOBAL const u32 *vector = vectors + item / pages * count;
    u64 start = page_start(item % pages, size, first_page, first);
    u64 end = page_end(item % pages, size, first_page, first, count);
    u32 best = vector[start];
    for (u64 t = start + 1; t < end; t++)
        if (key_of(vector[t]) > key_of(best))
            best = vector[t];
    scores[item] = best;
}

KERNEL pool_maxima(GLOBAL const u32 *vectors, u32 heads, u64 count, GLOBAL u32 *out)
{
    u64 t = ITEM_INDEX;
    if (t >= count)
        return;
    u32 best = vectors[t];
    for (u32 h = 1; h < heads; h++)
        if (key_of(vectors[h * count + t]) > key_of(best))
            best = vectors[h * count + t];
    out[t] = best;
}

KERNEL smooth_maxima(GLOBAL const u32 *vectors, u64 count, u64 length, u32 width, u64 items,
                     GLOBAL u32 *out)
{
    u64 item = ITEM_INDEX, t = item % count, half_width = width / 2u;
    if (item >= items)
        return;
    u32 best = vectors[item];
    if (t < length) {
        u64 start = t > half_width ? t - half_width : 0;
        u64 end = length - t > half_width + 1 ? t + half_width + 1 : length;
        best = vectors[item - t + start];
        for (u64 i = start + 1; i < end; i++)
            if (key_of(vectors[item - t + i]) > key_of(best))
                best = vectors[item - t + i];
    }
    out[item] = best;
}
#endif
