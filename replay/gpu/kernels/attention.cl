/*
 * Column sums of attention rows from query and key, strip by strip: logits of some rows at all keys
 * that they see, then weights, then sums over the strip's rows. Never T x T; each dot product is
 * made once. Every operation and its order are those of replay/attention_tile.c and
 * attention_strip.c, so sums have the host's bits: products are fused in ascending order of the
 * width, a row is weighed block by block, a block's sum has eight lanes by position, and exp is the
 * same polynomial.
 */
#define TILE 64u       /* rows and keys whose logits a group makes */
#define DEPTH 16u      /* of the width that is shared at a time */
#define TILE_KEYS 4u   /* of an item: every 16th */
#define TILE_ROWS (1024u / KVR_GROUP)
#define SUM_LANES 8u
#define BLOCK 1024u /* keys that are weighed by their own greatest logit */
#define LEAST_LOGIT (-3.402823466e+38f)

/* exp(x) for x <= 0, within 2^-22 of its value; 0 below -87; NaN stays NaN. */
FUNCTION f32 exponential(f32 x)
{
    if (x < -87.0f)
        return 0.0f;
    f32 shifted = FUSED(x, 0x1.715476p0f, 12582912.0f), n = shifted - 12582912.0f;
    f32 r = FUSED(n, -0x1.63p-1f, x), p = 1.0f / 5040.0f;
    r = FUSED(n, 0x1.bd0106p-13f, r);
    p = FUSED(p, r, 1.0f / 720.0f);
    p = FUSED(p, r, 1.0f / 120.0f);
    p = FUSED(p, r, 1.0f / 24.0f);
    p = FUSED(p, r, 1.0f / 6.0f);
    p = FUSED(p, r, 0.5f);
    p = FUSED(p, r, 1.0f);
    p = FUSED(p, r, 1.0f);
    return p * FLOAT_OF_BITS((BITS_OF_FLOAT(shifted) + 127u) << 23);
}

#if KVR_DOUBLES
/* out[at + i] = the float next to stored element i. */
KERNEL to_floats(GLOBAL const u8 *stored, u32 kind, u32 swapped, u64 count, u64 at, GLOBAL u32 *out)
{
    u64 i = ITEM_INDEX;
    if (i < count)
        out[at + i] = float_bits_of_double(element_at(stored, i, kind, swapped));
}

/* cap tanh(logit / cap). The quotient of floats is rounded once, from double. */
FUNCTION f32 soft_capped(f32 logit, f32 cap, f32 inverse)
{
    f32 e = exponential(MAGNITUDE(logit * inverse) * -2.0f);
    f32 share = (f32)((f64)(1.0f - e) / (f64)(1.0f + e));
    return ((BITS_OF_FLOAT(logit) & 0x80000000u) != 0u ? -share : share) * cap;
}

/*
 * strip[row][column] = logit of query `row` and key first + column, for tiles that a row sees any
 * key of; spans[row][2] are the first and the end of the keys that it sees, both ascending. Group
 * (tile of rows, tile of columns).
 */
KERNEL strip_logits(GLOBAL const f32 *queries, GLOBAL const f32 *keys, u32 width, u32 rows,
                    u32 first, u32 columns, u32 key_count, GLOBAL const u32 *spans, f32 scale,
                    f32 cap, f32 inverse, GLOBAL f32 *strip)
{
    LOCAL_ROOM f32 shared_queries[DEPTH * TILE];
    LOCAL_ROOM f32 shared_keys[DEPTH * TILE];
    u32 tiles = (columns + TILE - 1u) / TILE;
    u32 row_start = (u32)(GROUP_INDEX / tiles) * TILE, column_start = (u32)(GROUP_INDEX % tiles) * TILE;
    u32 row_last = (row_start + TILE < rows ? row_start + TILE : rows) - 1u;
    u32 key_start = first + column_start;
    if (key_start >= spans[row_last * 2u + 1u] || key_start + TILE <= spans[row_start * 2u])
        return;
    f32 sums[TILE_ROWS][TILE_KEYS];
    u32 own_key = ITEM % 16u, own_row = ITEM / 16u, row_step = KVR_GROUP / 16u;
    for (u32 i = 0u; i < TILE_ROWS; i++)
        for (u32 j = 0u; j < TILE_KEYS; j++)
            sums[i][j] = 0.0f;
    for (u32 start = 0u; start < width; start += DEPTH) {
        for (u32 i = ITEM; i < DEPTH * TILE; i += KVR_GROUP) {
            u32 d = start + i % DEPTH, row = row_start + i / DEPTH, key = key_start + i / DEPTH;
            u32 place = i % DEPTH * TILE + i / DEPTH;
            shared_queries[place] = d < width && row < rows ? queries[(u64)row * width + d] : 0.0f;
            shared_keys[place] = d < width && key < key_count ? keys[(u64)key * width + d] : 0.0f;
        }
        BARRIER();
        u32 depth = width - start < DEPTH ? width - start : DEPTH;
        for (u32 d = 0u; d < depth; d++)
            for (u32 i = 0u; i < TILE_ROWS; i++)
                for (u32 j = 0u; j < TILE_KEYS; j++)
                    sums[i][j] = FUSED(shared_queries[d * TILE + own_row + i * row_step],
                                       shared_keys[d * TILE + own_key + j * 16u], sums[i][j]);
        BARRIER();
    }
    for (u32 i = 0u; i < TILE_ROWS; i++)
        for (u32 j = 0u; j < TILE_KEYS; j++) {
            u32 row = row_start + own_row + i * row_step, column = column_start + own_key + j * 16u;
            f32 logit = sums[i][j] * scale;
            if (row < rows && column < columns)
                strip[(u64)row * columns + column] =
                    cap > 0.0f ? soft_capped(logit, cap, inverse) : logit;
        }
}

/* The greatest of a number over the group's items; every item gets it. */
FUNCTION f32 greatest_of_group(LOCAL f32 *shared, f32 own)
{
    shared[ITEM] = own;
    BARRIER();
    for (u32 step = KVR_GROUP / 2u; step > 0u; step /= 2u) {
        if (ITEM < step && shared[ITEM + step] > shared[ITEM])
            shared[ITEM] = shared[ITEM + step];
        BARRIER();
    }
    f32 most = shared[0];
    BARRIER();
    return most;
}

/*
 * Logits of a row in a block to weights, but for their factor: most[row][block] becomes the
 * greatest of them, sums[row][block] the sum of the weights. Blocks are counted from first_block
 * on. Group (row, block).
 */
KERNEL strip_weights(GLOBAL f32 *strip, u32 first, u32 columns, u32 first_block, u32 blocks,
                     GLOBAL const u32 *spans, GLOBAL f32 *most, GLOBAL f64 *sums)
{
    LOCAL_ROOM f32 tile[KVR_GROUP];
    LOCAL_ROOM f64 lanes[SUM_LANES];
    u64 row_index = GROUP_INDEX / blocks;
    u32 start = (first_block + (u32)(GROUP_INDEX % blocks)) * BLOCK, stop = start + BLOCK;
    u32 seen = spans[row_index * 2], end = spans[row_index * 2 + 1];
    seen = seen > start ? seen : start;
    end = end < stop ? end : stop;
    if (seen >= end) {
        if (ITEM == 0u) {
            most[GROUP_INDEX] = LEAST_LOGIT;
            sums[GROUP_INDEX] = 0;
        }
        return;
    }
    seen -= first;
    end -= first;
    GLOBAL f32 *row = strip + row_index * columns;
    f32 greatest = LEAST_LOGIT;
    for (u32 t = seen + ITEM; t < end; t += KVR_GROUP)
        greatest = row[t] > greatest ? row[t] : greatest;
    greatest = greatest_of_group(tile, greatest);
    f64 sum = 0;
    for (u32 base = seen / SUM_LANES * SUM_LANES; base < end; base += KVR_GROUP) {
        u32 t = base + ITEM;
        f32 weight = t >= seen && t < end ? exponential(row[t] - greatest) : 0.0f;
        if (t >= seen && t < end)
            row[t] = weight;
        tile[ITEM] = weight;
        BARRIER();
        if (ITEM < SUM_LANES)
            for (u32 i = ITEM; i < KVR_GROUP; i += SUM_LANES)
                sum += (f64)tile[i];
        BARRIER();
    }
    if (ITEM < SUM_LANES)
        lanes[ITEM] = sum;
    BARRIER();
    if (ITEM == 0u) {
        most[GROUP_INDEX] = greatest;
        sums[GROUP_INDEX] = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
                            ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    }
}

/* What each row's weights in each block are to be multiplied by; NaN where the row is none. */
KERNEL strip_factors(u32 rows, u32 blocks, GLOBAL const f32 *most, GLOBAL const f64 *sums,
                     GLOBAL u32 *factors)
{
    u64 row = ITEM_INDEX;
    if (row >= rows)
        return;
    most += row * blocks;
    sums += row * blocks;
    f32 greatest = LEAST_LOGIT;
    for (u32 b = 0u; b < blocks; b++)
        greatest = most[b] > greatest ? most[b] : greatest;
    f64 total = 0;
    for (u32 b = 0u; b < blocks; b++) {
        f64 part = sums[b] * (f64)exponential(most[b] - greatest);
        total += part;
    }
    u32 sound = total > 0 && total <= 1.7976931348623157e+308 ? 1u : 0u;
    for (u32 b = 0u; b < blocks; b++)
        factors[row * blocks + b] =
            sound != 0u ? float_bits_of_double((f64)exponential(most[b] - greatest) / total)
                        : 0x7fc00000u;
}

/* weight * factor rounded to float, subnormals included; NaN where the row is not finite. */
FUNCTION f64 share_of(f32 weight, u32 factor_bits)
{
    f32 factor = FLOAT_OF_BITS(factor_bits), product = weight * factor;
    if (is_finite_float(factor_bits) == 0u)
        return (f64)FLOAT_OF_BITS(0x7fc00000u);
    if (product >= 1.17549435e-38f || weight == 0.0f)
        return (f64)product;
    return double_of_float_bits(float_bits_of_double((f64)weight * (f64)factor));
}

/* sums[at + t] += the weights of column from + t, in ascending order of the rows. */
KERNEL strip_columns(GLOBAL const f32 *strip, u32 rows, u32 first, u32 columns, u32 first_block,
                     u32 blocks, GLOBAL const u32 *spans, GLOBAL const u32 *factors, u32 from, u32 count,
                     u32 fresh, u64 at, GLOBAL f64 *sums)
{
    u32 t = (u32)ITEM_INDEX, key = from + t;
    if (t >= count)
        return;
    f64 sum = fresh != 0u ? 0 : sums[at + t];
    u32 block = key / BLOCK - first_block;
    for (u32 row = 0u; row < rows; row++)
        if (key >= spans[row * 2u] && key < spans[row * 2u + 1u])
            sum += share_of(strip[(u64)row * columns + (key - first)],
                            factors[(u64)row * blocks + block]);
    sums[at + t] = sum;
}
#endif
