/*
 * Digits of doubles by exact integer arithmetic. It must not know what the numbers mean.
 */
#include "formats/base/shortest.h"

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

/*
 * value = mantissa / 2^shift = (digits + rest / 2^shift) / 10^power, with exactly 17 digits: of
 * the first, 10^exponent is the place. mantissa < 2^53, power <= 19 and shift <= 62, so that the
 * product mantissa * 10^power stays below 2^117.
 */
struct expansion {
    uint64_t mantissa, digits, rest;
    unsigned shift, power;
    int exponent;
};

static struct expansion expand(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t hidden = UINT64_C(1) << MANTISSA_BITS;
    struct expansion number = {
        .mantissa = (bits & (hidden - 1)) | hidden,
        .shift = (unsigned)(1023 + MANTISSA_BITS - (bits >> MANTISSA_BITS)),
    };
    /* The doubles 0.1 and 0.01 are the first ones above 1/10 and 1/100, so this is exact. */
    int exponent = value < 0.01 ? -3 : value < 0.1 ? -2 : -1;
    for (int next = 0; next < 8 && value >= (double)tens[next]; next++)
        exponent = next;
    number.exponent = exponent;
    number.power = (unsigned)(MOST_DIGITS - 1 - exponent);
    wide product = (wide)number.mantissa * tens[number.power];
    number.digits = (uint64_t)(product >> number.shift);
    number.rest = (uint64_t)product & ((UINT64_C(1) << number.shift) - 1);
    return number;
}

/* All 17 digits, rounded to nearest, ties to even. */
static uint64_t round_all(const struct expansion *number)
{
    uint64_t half = UINT64_C(1) << (number->shift - 1);
    bool up = number->rest > half || (number->rest == half && number->digits % 2 != 0);
    return number->digits + up;
}

/* The same without the last `dropped` digits, at least one. */
static uint64_t round_off(const struct expansion *number, unsigned dropped)
{
    uint64_t unit = tens[dropped], kept = number->digits / unit;
    uint64_t twice = 2 * (number->digits - kept * unit);
    bool up = twice > unit || (twice == unit && (number->rest > 0 || kept % 2 != 0));
    return kept + up;
}

/* True if `digits` in place of the 17 exact ones still reads back as the same double: it lies less
   than half the way to the next one. Never just half: that takes over 26 decimal places. */
static bool reads_back(const struct expansion *number, uint64_t digits)
{
    bool below = digits <= number->digits;
    uint64_t whole = below ? number->digits - digits : digits - number->digits;
    wide distance = (wide)whole << number->shift;
    distance = below ? distance + number->rest : distance - number->rest;
    /* In these units doubles are 10^power apart, and half as far below a power of two. */
    if (below && number->mantissa == UINT64_C(1) << MANTISSA_BITS)
        distance *= 2;
    return 2 * distance < tens[number->power];
}

/* Writes exactly `count` digits of a number below 10^count, two at a time. */
static void write_digits(uint64_t digits, size_t count, char *out)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                                "34353637383940414243444546474849505152535455565758596061626364656667"
                                "6869707172737475767778798081828384858687888990919293949596979899";
    while (count >= 2) {
        count -= 2;
        memcpy(out + count, pairs + digits % 100 * 2, 2);
        digits /= 100;
    }
    if (count == 1)
        out[0] = (char)('0' + digits);
}

/* Lays `count` digits out as "%g" does: no exponent, no zeros at the end of a fraction. */
static size_t lay_out(uint64_t digits, size_t count, int exponent, char *out)
{
    char text[MOST_DIGITS + 1];
    if (digits == tens[count]) { /* rounded up to a power of ten */
        digits /= 10;
        exponent++;
    }
    write_digits(digits, count, text);
    while (count > 1 && text[count - 1] == '0')
        count--;
    size_t length = 0;
    if (exponent < 0) {
        static const char zeros[] = "0.00";
        length = (size_t)(1 - exponent);
        memcpy(out, zeros, length);
        memcpy(out + length, text, count);
        return length + count;
    }
    size_t whole = (size_t)exponent + 1;
    for (; length < whole; length++)
        out[length] = length < count ? text[length] : '0';
    if (count <= whole)
        return length;
    out[length++] = '.';
    memcpy(out + length, text + whole, count - whole);
    return length + count - whole;
}

/* 0 takes the short way; -0 does not, it prints as "-0". */
static size_t write_zero(double value, char *out)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (bits != 0)
        return 0;
    out[0] = '0';
    return 1;
}

static bool in_range(double value)
{
    return value >= 0.001 && value < 1e8;
}

size_t kvr_write_shortest(double value, char out[KVR_SHORTEST_ROOM])
{
    if (!in_range(value))
        return write_zero(value, out);
    struct expansion number = expand(value);
    for (unsigned dropped = 2; dropped > 0; dropped--) {
        uint64_t digits = round_off(&number, dropped);
        if (reads_back(&number, digits * tens[dropped]))
            return lay_out(digits, MOST_DIGITS - dropped, number.exponent, out);
    }
    return lay_out(round_all(&number), MOST_DIGITS, number.exponent, out);
}

size_t kvr_write_figure(double value, char out[KVR_SHORTEST_ROOM])
{
    enum { FIGURE_DIGITS = 9 };
    if (!in_range(value))
        return write_zero(value, out);
    struct expansion number = expand(value);
    return lay_out(round_off(&number, MOST_DIGITS - FIGURE_DIGITS), FIGURE_DIGITS,
                   number.exponent, out);
}
