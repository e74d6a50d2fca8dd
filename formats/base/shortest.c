/*
 * Digits of doubles by exact integer arithmetic. It must not know what the numbers mean.
 */
#include "formats/base/shortest.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum { MOST_DIGITS = 17, MANTISSA_BITS = 52 };

static const uint64_t tens[] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

static const uint64_t fives[] = {
    /* 5^9 … 5^19 */
    UINT64_C(1953125),       UINT64_C(9765625),        UINT64_C(48828125),
    UINT64_C(244140625),     UINT64_C(1220703125),     UINT64_C(6103515625),
    UINT64_C(30517578125),   UINT64_C(152587890625),   UINT64_C(762939453125),
    UINT64_C(3814697265625), UINT64_C(19073486328125),
};
enum { FIRST_FIVE = 9 };

/*
 * value = (digits + rest / 2^64) / 10^(16 - exponent), with exactly 17 digits, the first of which
 * stands for 10^exponent. In the same unit, half the way to the next double is 2^-54 gap.
 */
struct expansion {
    uint64_t digits, rest, gap;
    bool power_of_two; /* then the double below is only half as far */
    int exponent;
};

/*
 * With value = mantissa / 2^shift, mantissa < 2^53, and power = 16 - exponent, the product
 * mantissa 10^power / 2^shift is (2^11 mantissa) (5^power 2^(power + 53 - shift)) / 2^64: both
 * factors are whole and fit 64 bits for every value in the range.
 */
static inline struct expansion expand(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t hidden = UINT64_C(1) << MANTISSA_BITS;
    uint64_t mantissa = bits & (hidden - 1);
    unsigned shift = (unsigned)(1023 + MANTISSA_BITS - (bits >> MANTISSA_BITS));
    /* The doubles 0.1 and 0.01 are the first ones above 1/10 and 1/100, so this is exact. */
    int exponent = value < 0.01 ? -3 : value < 0.1 ? -2 : -1;
    for (int next = 0; next < 8 && value >= (double)tens[next]; next++)
        exponent = next;
    unsigned power = (unsigned)(MOST_DIGITS - 1 - exponent);
    uint64_t gap = fives[power - FIRST_FIVE] << (power + MANTISSA_BITS + 1 - shift);
    wide product = (wide)((mantissa | hidden) << 11) * gap;
    return (struct expansion){
        .digits = (uint64_t)(product >> 64),
        .rest = (uint64_t)product,
        .gap = gap,
        .power_of_two = mantissa == 0,
        .exponent = exponent,
    };
}

/* All 17 digits, rounded to nearest, ties to even. */
static inline uint64_t round_all(const struct expansion *number)
{
    const uint64_t half = UINT64_C(1) << 63;
    bool up = number->rest > half || (number->rest == half && number->digits % 2 != 0);
    return number->digits + up;
}

/* The same to a multiple of `unit`, a power of ten above 1. */
static inline uint64_t round_to(const struct expansion *number, uint64_t unit)
{
    uint64_t kept = number->digits / unit;
    uint64_t twice = 2 * (number->digits - kept * unit);
    bool up = twice > unit || (twice == unit && (number->rest > 0 || kept % 2 != 0));
    return (kept + up) * unit;
}

/* True if `digits` in place of the 17 exact ones still reads back as the same double: it lies less
   than half the way to the next one. Never just half: that takes over 26 decimal places. */
static inline bool reads_back(const struct expansion *number, uint64_t digits)
{
    bool below = digits <= number->digits;
    wide exact = (wide)number->digits << 64 | number->rest, other = (wide)digits << 64;
    wide distance = below ? exact - other : other - exact;
    wide half_gap = (wide)number->gap << (below && number->power_of_two ? 9 : 10);
    return distance < half_gap;
}

static inline void write_pair(uint32_t value, char *out)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233"
        "34353637383940414243444546474849505152535455565758596061626364656667"
        "6869707172737475767778798081828384858687888990919293949596979899";
    memcpy(out, pairs + value * 2, 2);
}

static inline void write_eight(uint32_t value, char *out)
{
    uint32_t high = value / 10000, low = value % 10000;
    write_pair(high / 100, out);
    write_pair(high % 100, out + 2);
    write_pair(low / 100, out + 4);
    write_pair(low % 100, out + 6);
}

static void write_all_digits(uint64_t digits, char *out)
{
    uint64_t below_first = digits % tens[16];
    out[0] = (char)('0' + digits / tens[16]);
    write_eight((uint32_t)(below_first / tens[8]), out + 1);
    write_eight((uint32_t)(below_first % tens[8]), out + 9);
}

/* Lays 17 digits, 0 from `count` on, out as "%g" does: no exponent, no zeros at the end of a
   fraction. They are written where the fraction will be; what belongs before the point then moves
   over by one. */
static size_t lay_out(uint64_t digits, size_t count, int exponent, char *out)
{
    if (digits == tens[MOST_DIGITS]) { /* rounded up to a power of ten */
        digits = tens[MOST_DIGITS - 1];
        exponent++;
    }
    size_t start = exponent < 0 ? (size_t)(1 - exponent) : 1;
    size_t whole = exponent < 0 ? 1 : (size_t)exponent + 1;
    write_all_digits(digits, out + start);
    if (exponent < 0)
        memcpy(out, "0.00", start);
    for (size_t i = 0; exponent >= 0 && i < whole; i++)
        out[i] = out[i + 1];
    size_t length = start + count;
    while (length > whole + 1 && out[length - 1] == '0')
        length--;
    out[whole] = '.';
    return length > whole + 1 ? length : whole;
}

/* Small whole numbers are common; -0 is none of them, it prints as "-0". */
static size_t write_digit(double value, char *out)
{
    if (!(value >= 0 && value < 10) || signbit(value))
        return 0;
    int digit = (int)value;
    if (digit < value)
        return 0;
    out[0] = (char)('0' + digit);
    return 1;
}

static bool in_range(double value)
{
    return value >= 0.001 && value < 1e8;
}

size_t kvr_write_shortest(double value, char out[KVR_SHORTEST_ROOM])
{
    size_t length = write_digit(value, out);
    if (length > 0 || !in_range(value))
        return length;
    struct expansion number = expand(value);
    /* 16 digits are enough every other time, at random: a choice without a branch. */
    uint64_t shorter = round_to(&number, 10), full = round_all(&number);
    bool enough = reads_back(&number, shorter);
    /* 15 digits may only be enough if the last two of 17 are about 0. */
    uint64_t slack = (number.gap >> 54) + 1, last = number.digits % 100;
    if (last <= slack || last + slack >= 100) {
        uint64_t shortest = round_to(&number, 100);
        if (reads_back(&number, shortest))
            return lay_out(shortest, MOST_DIGITS - 2, number.exponent, out);
    }
    uint64_t digits = full ^ ((full ^ shorter) & -(uint64_t)enough);
    return lay_out(digits, MOST_DIGITS - (size_t)enough, number.exponent, out);
}

size_t kvr_write_figure(double value, char out[KVR_SHORTEST_ROOM])
{
    size_t length = write_digit(value, out);
    if (length > 0 || !in_range(value))
        return length;
    struct expansion number = expand(value);
    return lay_out(round_to(&number, UINT64_C(100000000)), 9, number.exponent, out);
}
