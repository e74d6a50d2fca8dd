/*
 * Strict parsing and exact decimal arithmetic.
 */
#include "formats/base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 18 };

__extension__ typedef unsigned __int128 wide;

static uint64_t power_of_ten(unsigned exponent)
{
    uint64_t power = 1;
    while (exponent-- > 0)
        power *= 10;
    return power;
}

bool kvr_parse_unsigned(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    uint64_t sum = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    if (sum < least || sum > most)
        return false;
    *value = sum;
    return true;
}

bool kvr_parse_double(const char *text, double *value)
{
    /* strtod also takes blanks, hexadecimal, "inf" and "nan": only plain decimals may pass. */
    if (*text == '\0' || text[strspn(text, "+-.0123456789eE")] != '\0')
        return false;
    char *end;
    double parsed = strtod(text, &end);
    if (*end != '\0' || !isfinite(parsed))
        return false;
    *value = parsed;
    return true;
}

bool kvr_parse_decimal(const char *text, struct kvr_decimal *value)
{
    struct kvr_decimal parsed = {0, 0};
    unsigned count = 0;
    bool point = false;
    for (; *text != '\0'; text++) {
        if (*text == '.' && !point) {
            point = true;
            continue;
        }
        if (*text < '0' || *text > '9')
            return false;
        if (++count > MOST_DIGITS)
            return false;
        parsed.digits = parsed.digits * 10 + (uint64_t)(*text - '0');
        parsed.scale += point;
    }
    if (count == 0)
        return false;
    *value = parsed;
    return true;
}

uint64_t kvr_decimal_floor(struct kvr_decimal value, uint64_t factor, uint64_t divisor)
{
    /* digits < 10^18 < 2^60, so the numerator fits 124 bits; the quotient is taken twice since
       10^scale * divisor might not fit 64 bits: floor(floor(n / a) / b) = floor(n / (a b)). */
    wide quotient = (wide)value.digits * factor / power_of_ten(value.scale) / divisor;
    return quotient > UINT64_MAX ? UINT64_MAX : (uint64_t)quotient;
}

int kvr_decimal_compare(struct kvr_decimal value, uint64_t whole)
{
    wide right = (wide)whole * power_of_ten(value.scale);
    return value.digits < right ? -1 : value.digits > right;
}

double kvr_decimal_double(struct kvr_decimal value)
{
    return (double)value.digits / (double)power_of_ten(value.scale);
}
