/*
 * Exact arithmetic of the oracle: decimals as fractions of 128-bit integers, quotas, remainders.
 *
 * Nothing here may go through a binary floating-point number: 0.29 of 100 tokens is 29.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

enum { MOST_DIGITS = 18 };

struct decimal decimal_of(const char *text)
{
    struct decimal d = {0, 1};
    bool point = false;
    int digits = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '.' && !point) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)*c) || ++digits > MOST_DIGITS)
            die(2, "not a decimal number: %s", text);
        d.numerator = 10 * d.numerator + (*c - '0');
        if (point)
            d.denominator *= 10;
    }
    if (digits == 0)
        die(2, "not a decimal number: %s", text);
    return d;
}

double real_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || isnan(value))
        die(2, "not a number: %s", text);
    return value;
}

long whole_of(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0)
        die(2, "not a whole number: %s", text);
    return value;
}

long floor_of(struct decimal fraction, long of, long by)
{
    return (long)(fraction.numerator * of / (fraction.denominator * by));
}

long uniform_quota(struct decimal budget, long tokens, long page_size)
{
    long quota = floor_of(budget, tokens, page_size);
    return quota < 1 ? 1 : quota;
}

void largest_remainder(long count, const wide *values, wide denominator, long total, long *whole)
{
    wide *remainders = room(count, sizeof *remainders);
    long sum = 0;
    for (long i = 0; i < count; i++) {
        whole[i] = (long)(values[i] / denominator);
        remainders[i] = values[i] % denominator;
        sum += whole[i];
    }
    for (; sum < total; sum++) {
        long best = 0;
        for (long i = 1; i < count; i++)
            if (remainders[i] > remainders[best])
                best = i;
        whole[best]++;
        remainders[best] = -1;
    }
    free(remainders);
}
