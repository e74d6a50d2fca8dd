/*
 * Statistics of whole vectors, one group a vector. Items load and divide side by side, but one of
 * them adds, in ascending order: an exact order costs little beside the upload of the rows and
 * gives the host's bits.
 */
#if KVR_DOUBLES
/* Loads [base, base + KVR_GROUP) of a vector; what lies beyond its end is 0. */
FUNCTION f64 value_at(GLOBAL const u32 *vector, u64 t, u64 count)
{
    return t < count ? double_of_float_bits(vector[t]) : 0;
}

/*
 * results[vector][5]: sum; sum of the first `sinks`; sum of the rest; of the rest, sum of
 * (value / sum of the rest)^2; sum of all squares. not_finite[vector]: how many values are not
 * finite.
 */
KERNEL statistics(GLOBAL const u32 *vectors, u64 count, u64 sinks,
                  GLOBAL f64 *results, GLOBAL u32 *not_finite)
{
    LOCAL_ROOM f64 tile[KVR_GROUP];
    LOCAL_ROOM f64 squares[KVR_GROUP];
    LOCAL_ROOM f64 shared_rest;
    LOCAL_ROOM u32 bad;
    GLOBAL const u32 *vector = vectors + GROUP_INDEX * count;
    f64 total = 0, sink_mass = 0, rest = 0, isolated = 0, square = 0;
    if (ITEM == 0u)
        bad = 0u;
    BARRIER();
    for (u64 base = 0; base < count; base += KVR_GROUP) {
        u64 t = base + ITEM, left = count - base < KVR_GROUP ? count - base : KVR_GROUP;
        if (t < count && is_finite_float(vector[t]) == 0u)
            LOCAL_ADD(&bad, 1u);
        tile[ITEM] = value_at(vector, t, count);
        BARRIER();
        if (ITEM == 0u)
            for (u64 i = 0; i < left; i++) {
                total += tile[i];
                if (base + i + 1 == sinks)
                    sink_mass = total;
            }
        if (ITEM == KVR_GROUP - 1u)
            for (u64 i = 0; i < left; i++)
                if (base + i >= sinks)
                    rest += tile[i];
        BARRIER();
    }
    if (ITEM == KVR_GROUP - 1u)
        shared_rest = rest;
    BARRIER();
    rest = shared_rest;
    for (u64 base = 0; base < count; base += KVR_GROUP) {
        u64 t = base + ITEM, left = count - base < KVR_GROUP ? count - base : KVR_GROUP;
        f64 value = value_at(vector, t, count), share = value / rest;
        tile[ITEM] = share * share;
        squares[ITEM] = value * value;
        BARRIER();
        if (ITEM == 0u)
            for (u64 i = 0; i < left; i++)
                if (base + i >= sinks)
                    isolated += tile[i];
        if (ITEM == KVR_GROUP - 1u)
            for (u64 i = 0; i < left; i++)
                square += squares[i];
        BARRIER();
    }
    GLOBAL f64 *result = results + GROUP_INDEX * 5;
    if (ITEM == KVR_GROUP - 1u)
        result[4] = square;
    if (ITEM == 0u) {
        result[0] = total;
        result[1] = sink_mass;
        result[2] = rest;
        result[3] = isolated;
        not_finite[GROUP_INDEX] = bad;
    }
}
#endif
