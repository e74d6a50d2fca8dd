/*
 * Sums over recorded rows. An item owns a column and adds its rows in ascending order in double, as
 * the host does, so that sums have the same bits.
 */
#if KVR_DOUBLES
/* sums[at + t] += rows [begin, end) of a block [rows][count]; `fresh` starts from 0. */
KERNEL row_sums(GLOBAL const u8 *stored, u32 kind, u32 swapped, u64 count, u32 begin, u32 end,
                u32 fresh, u64 at, GLOBAL f64 *sums)
{
    u64 t = ITEM_INDEX;
    if (t >= count)
        return;
    f64 sum = fresh != 0u ? 0 : sums[at + t];
    if (kind == ELEMENT_HALF && swapped == 0u) {
        GLOBAL const u16 *halves = (GLOBAL const u16 *)stored;
        for (u32 row = begin; row < end; row++)
            sum += (f64)FLOAT_OF_BITS(float_bits_of_half(halves[row * count + t]));
    } else {
        for (u32 row = begin; row < end; row++)
            sum += element_at(stored, row * count + t, kind, swapped);
    }
    sums[at + t] = sum;
}

/* The same for the sums and the sums of squares of decode rows. */
KERNEL row_squares(GLOBAL const u8 *stored, u32 kind, u32 swapped, u64 count, u32 begin, u32 end,
                   u32 fresh, GLOBAL f64 *mass, GLOBAL f64 *peak)
{
    u64 t = ITEM_INDEX;
    if (t >= count)
        return;
    f64 sum = fresh != 0u ? 0 : mass[t], squares = fresh != 0u ? 0 : peak[t];
    for (u32 row = begin; row < end; row++) {
        f64 value = element_at(stored, row * count + t, kind, swapped);
        f64 square = value * value;
        sum += value;
        squares += square;
    }
    mass[t] = sum;
    peak[t] = squares;
}

/* vectors[to + t] = sums[from + t] / rows, divided in double and rounded once. */
KERNEL round_means(GLOBAL const f64 *sums, u64 from, f64 rows, u64 count, u64 to,
                   GLOBAL u32 *vectors)
{
    u64 t = ITEM_INDEX;
    if (t < count)
        vectors[to + t] = float_bits_of_double(sums[from + t] / rows);
}
#endif
