/*
 * Strict numbers: text to integers, doubles and exact decimal fractions.
 *
 * The whole text must be the number: no blanks, no sign where none is meant, no locale. A budget
 * is read as the decimal fraction that was written, because floor(0.29 * 100) is 28 in binary.
 */
#ifndef KVR_NUMBER_H
#define KVR_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* A non-negative decimal fraction, digits / 10^scale, with scale <= 18. */
struct kvr_decimal {
    uint64_t digits;
    unsigned scale;
};

/* Decimal digits only; false if text is not an integer in [least, most]. */
bool kvr_parse_unsigned(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/* A finite decimal number with optional sign, point and exponent; "inf" and "nan" are refused. */
bool kvr_parse_double(const char *text, double *value);

/* Digits with at most one point: "0.29", "1", ".5". False beyond 18 digits. */
bool kvr_parse_decimal(const char *text, struct kvr_decimal *value);

/* floor(value * factor / divisor), exactly; saturates at UINT64_MAX. divisor > 0. */
uint64_t kvr_decimal_floor(struct kvr_decimal value, uint64_t factor, uint64_t divisor);

/* Sign of value - whole. */
int kvr_decimal_compare(struct kvr_decimal value, uint64_t whole);

double kvr_decimal_double(struct kvr_decimal value);

#endif
