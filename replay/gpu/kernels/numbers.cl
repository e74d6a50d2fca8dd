/*
 * Elements of a trace and float vectors as numbers. Float vectors travel as their bits, so that a
 * device that flushes subnormal floats to zero still gives every bit of the host's results.
 */
#define ITEM_INDEX (GROUP_INDEX * KVR_GROUP + ITEM)

/* enum kvr_element */
#define ELEMENT_HALF 0u
#define ELEMENT_BFLOAT16 1u
#define ELEMENT_FLOAT 2u

/* Exact: a half's subnormals are normal floats. No cl_khr_fp16 is needed. */
FUNCTION u32 float_bits_of_half(u32 bits)
{
    u32 sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31u, fraction = bits & 1023u;
    if (exponent == 31u)
        return sign | 0x7f800000u | fraction << 13;
    if (exponent != 0u)
        return sign | (exponent + 112u) << 23 | fraction << 13;
    return sign | BITS_OF_FLOAT((f32)fraction * 5.9604644775390625e-08f);
}

FUNCTION u32 is_finite_float(u32 bits)
{
    return (bits & 0x7f800000u) != 0x7f800000u;
}

/* Order of keys as unsigned numbers = order of floats; both zeros have one key. */
FUNCTION u32 key_of(u32 bits)
{
    if (bits == 0x80000000u)
        bits = 0u;
    return bits ^ ((bits & 0x80000000u) != 0u ? 0xffffffffu : 0x80000000u);
}

FUNCTION u32 swap_16(u32 bits)
{
    return (bits >> 8 | bits << 8) & 0xffffu;
}

FUNCTION u32 swap_32(u32 bits)
{
    return bits >> 24 | (bits >> 8 & 0xff00u) | (bits << 8 & 0xff0000u) | bits << 24;
}

#if KVR_DOUBLES
FUNCTION f64 double_of_float_bits(u32 bits)
{
    if ((bits & 0x7f800000u) != 0u)
        return (f64)FLOAT_OF_BITS(bits);
    f64 size = (f64)(bits & 0x7fffffu) * 1.4012984643248171e-45; /* 2^-149 */
    return (bits & 0x80000000u) != 0u ? -size : size;
}

/* To nearest even, subnormals included: below 2^-126 a float is a multiple of 2^-149. */
FUNCTION u32 float_bits_of_double(f64 value)
{
    f64 size = MAGNITUDE(value);
    if (size < 1.1754943508222875e-38)
        return (u32)(BITS_OF_DOUBLE(value) >> 63) << 31 |
               (u32)ROUND_EVEN(size * 7.1362384635297994e+44);
    return BITS_OF_FLOAT((f32)value);
}

FUNCTION f64 double_at(GLOBAL const u8 *stored, u64 index, u32 swapped)
{
    u64 bits = ((GLOBAL const u64 *)stored)[index];
    if (swapped != 0u)
        bits = (u64)swap_32((u32)bits) << 32 | swap_32((u32)(bits >> 32));
    return DOUBLE_OF_BITS(bits);
}

/* Stored element `index`, of any type and byte order, exact. */
FUNCTION f64 element_at(GLOBAL const u8 *stored, u64 index, u32 kind, u32 swapped)
{
    u32 bits;
    if (kind == ELEMENT_HALF || kind == ELEMENT_BFLOAT16) {
        bits = ((GLOBAL const u16 *)stored)[index];
        if (swapped != 0u)
            bits = swap_16(bits);
        return double_of_float_bits(kind == ELEMENT_HALF ? float_bits_of_half(bits) : bits << 16);
    }
    if (kind != ELEMENT_FLOAT)
        return double_at(stored, index, swapped);
    bits = ((GLOBAL const u32 *)stored)[index];
    return double_of_float_bits(swapped != 0u ? swap_32(bits) : bits);
}
#endif
