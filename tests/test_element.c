/*
 * Element types: every 16-bit pattern against its definition, rounding against exact arithmetic.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "formats/element.h"
#include "tests/suites.h"

enum { PATTERNS = 1 << 16 };

/* A 16-bit float by its definition: sign, exponent with bias, fraction of `mantissa` bits. */
static double defined_value(unsigned bits, int mantissa)
{
    int exponent_bits = 15 - mantissa, bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = (int)(bits >> mantissa) & ((1 << exponent_bits) - 1);
    int fraction = (int)bits & ((1 << mantissa) - 1);
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - mantissa);
    return sign * ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

/* Equal in every bit that counts: signs of zeros matter, payloads of NaN do not. */
static bool same(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    uint64_t bits_a, bits_b;
    memcpy(&bits_a, &a, sizeof a);
    memcpy(&bits_b, &b, sizeof b);
    return bits_a == bits_b;
}

static const struct {
    enum kvr_element kind;
    int mantissa;
    uint16_t (*from_double)(double);
    float (*to_float)(uint16_t);
} narrow[] = {
    {KVR_HALF, 10, kvr_half_from_double, kvr_half_to_float},
    {KVR_BFLOAT16, 7, kvr_bfloat16_from_double, kvr_bfloat16_to_float},
};

START_TEST(every_pattern_has_its_value)
{
    for (unsigned bits = 0; bits < PATTERNS; bits++) {
        double expected = defined_value(bits, narrow[_i].mantissa);
        double found = (double)narrow[_i].to_float((uint16_t)bits);
        if (!same(found, expected))
            ck_abort_msg("%s %04x: %.17g, not %.17g", kvr_element_name(narrow[_i].kind), bits,
                         found, expected);
    }
}
END_TEST

/* Decodes `count` elements at an odd address, both the wide and the last few. */
static void check_decoding(struct kvr_element_type type, const unsigned char *stored, size_t offset,
                           size_t count, const double *expected)
{
    size_t size = kvr_element_size(type.kind);
    unsigned char *moved = malloc(count * size + offset + 1);
    double *values = malloc((count + 1) * sizeof *values);
    ck_assert(moved != NULL && values != NULL);
    memcpy(moved + offset, stored, count * size);
    values[count] = 12345;
    kvr_element_decode(type, moved + offset, count, values);
    for (size_t i = 0; i < count; i++)
        if (!same(values[i], expected[i]))
            ck_abort_msg("%s, element %zu of %zu: %.17g, not %.17g", kvr_element_name(type.kind), i,
                         count, values[i], expected[i]);
    ck_assert(same(values[count], 12345));
    free(moved);
    free(values);
}

static void check_every_pattern(int mantissa, enum kvr_element kind, bool big_endian)
{
    static unsigned char stored[2 * PATTERNS];
    static double expected[PATTERNS];
    for (unsigned bits = 0; bits < PATTERNS; bits++) {
        stored[2 * bits + !big_endian] = (unsigned char)(bits >> 8);
        stored[2 * bits + big_endian] = (unsigned char)bits;
        expected[bits] = defined_value(bits, mantissa);
    }
    struct kvr_element_type type = {.kind = kind, .big_endian = big_endian};
    check_decoding(type, stored, 0, PATTERNS, expected);
    for (size_t count = 0; count < 40; count++)
        for (size_t offset = 0; offset < 4; offset++)
            check_decoding(type, stored + 2 * 0x3bf0, offset, count, expected + 0x3bf0);
}

/* Bit 0: big-endian. Bit 1: without SIMD. */
START_TEST(blocks_decode_as_single_values_do)
{
    if (_i & 2)
        setenv("KVREPLAY_CPU", "scalar", 1);
    for (size_t k = 0; k < sizeof narrow / sizeof *narrow; k++)
        check_every_pattern(narrow[k].mantissa, narrow[k].kind, _i & 1);
}
END_TEST

START_TEST(floats_and_doubles_decode_exactly)
{
    const double values[] = {0.0,      -0.0,      1.0, -2.5,     0x1p-149, 0x1.fffffep127,
                             INFINITY, -INFINITY, NAN, 0x1p-126, 3.0,      -0x1.8p-130};
    enum { COUNT = sizeof values / sizeof *values };
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        unsigned char floats[4 * COUNT], doubles[8 * COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            float single = (float)values[i];
            uint32_t bits4;
            uint64_t bits8;
            memcpy(&bits4, &single, 4);
            memcpy(&bits8, &values[i], 8);
            for (size_t b = 0; b < 4; b++)
                floats[4 * i + b] = (unsigned char)(bits4 >> 8 * (big_endian ? 3 - b : b));
            for (size_t b = 0; b < 8; b++)
                doubles[8 * i + b] = (unsigned char)(bits8 >> 8 * (big_endian ? 7 - b : b));
        }
        check_decoding((struct kvr_element_type){.kind = KVR_FLOAT, .big_endian = big_endian},
                       floats, 1, COUNT, values);
        check_decoding((struct kvr_element_type){.kind = KVR_DOUBLE, .big_endian = big_endian},
                       doubles, 3, COUNT, values);
    }
}
END_TEST

START_TEST(every_pattern_survives_the_way_there_and_back)
{
    for (unsigned bits = 0; bits < PATTERNS; bits++) {
        double value = defined_value(bits, narrow[_i].mantissa);
        uint16_t found = narrow[_i].from_double(value);
        bool right =
            isnan(value) ? isnan(defined_value(found, narrow[_i].mantissa)) : found == bits;
        if (!right)
            ck_abort_msg("%s %04x became %04x", kvr_element_name(narrow[_i].kind), bits, found);
    }
}
END_TEST

/* Between each two neighbours: the middle goes to the even one, the rest to the nearer one. */
START_TEST(rounding_is_to_the_nearest_and_ties_to_even)
{
    const int mantissa = narrow[_i].mantissa;
    const unsigned infinity = ((1u << (15 - mantissa)) - 1) << mantissa;
    for (unsigned bits = 0; bits < infinity; bits++) {
        double low = defined_value(bits, mantissa);
        /* Beyond the largest number, rounding acts as if the next one existed. */
        double high = bits + 1 == infinity ? 2 * low - defined_value(bits - 1, mantissa)
                                           : defined_value(bits + 1, mantissa);
        double middle = low + (high - low) / 2;
        unsigned even = bits & 1 ? bits + 1 : bits;
        /* One check for four: Check notes each of them in a file. */
        bool right = narrow[_i].from_double(middle) == even &&
                     narrow[_i].from_double(-middle) == (even | 0x8000) &&
                     narrow[_i].from_double(nextafter(middle, 0)) == bits &&
                     narrow[_i].from_double(nextafter(middle, INFINITY)) == bits + 1;
        if (!right)
            ck_abort_msg("%s between %04x and the next", kvr_element_name(narrow[_i].kind), bits);
    }
}
END_TEST

START_TEST(values_out_of_range_become_infinity_or_zero)
{
    const unsigned infinity = ((1u << (15 - narrow[_i].mantissa)) - 1) << narrow[_i].mantissa;
    ck_assert_uint_eq(narrow[_i].from_double(1e300), infinity);
    ck_assert_uint_eq(narrow[_i].from_double(-1e300), infinity | 0x8000);
    ck_assert_uint_eq(narrow[_i].from_double(1e-300), 0);
    ck_assert_uint_eq(narrow[_i].from_double(-0x1p-1074), 0x8000);
    ck_assert_uint_eq(narrow[_i].from_double(-0.0), 0x8000);
}
END_TEST

START_TEST(doubles_are_rounded_once)
{
    /* Just above the middle between two halves: rounding to float first would make it the middle.
     */
    ck_assert_uint_eq(kvr_half_from_double(1 + 0x1p-11 + 0x1p-40), 0x3c01);
    ck_assert_uint_eq(kvr_bfloat16_from_double(1 + 0x1p-8 + 0x1p-40), 0x3f81);
    /* HDF5 1.10.8 makes half of this its half. */
    ck_assert_uint_eq(kvr_half_from_double(1.5249286e-05), 0x0100);
}
END_TEST

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void check_encoding(const double *values, size_t count, bool big_endian)
{
    unsigned char stored[2 * 64];
    const struct kvr_element_type type = {.kind = KVR_HALF, .big_endian = big_endian};
    kvr_element_encode(type, values, count, stored);
    for (size_t i = 0; i < count; i++) {
        unsigned bits = (unsigned)stored[2 * i + big_endian] | (unsigned)stored[2 * i + !big_endian]
                                                                   << 8;
        unsigned expected = kvr_half_from_double(values[i]);
        if (bits != expected)
            ck_abort_msg("%a: 0x%04x, not 0x%04x", values[i], bits, expected);
    }
}

/* Bit 0: big-endian. Bit 1: without SIMD. Around every half and every midpoint between two, where
   a value rounded twice would go wrong; beyond the range; any pattern of a double. */
START_TEST(blocks_encode_as_single_values_do)
{
    if (_i & 2)
        setenv("KVREPLAY_CPU", "scalar", 1);
    static const double factors[] = {1,           1 + 0x1p-52, 1 - 0x1p-53, 1 + 0x1p-30,
                                     1 - 0x1p-30, 1 + 0x1p-24, 1 - 0x1p-24};
    enum { FACTORS = sizeof factors / sizeof *factors };
    double values[2 * FACTORS];
    for (uint16_t bits = 0; bits < 0x7c00; bits++) {
        double low = (double)kvr_half_to_float(bits);
        double high = bits == 0x7bff ? 65536 : (double)kvr_half_to_float((uint16_t)(bits + 1));
        for (size_t i = 0; i < FACTORS; i++) {
            values[2 * i] = low * factors[i];
            values[2 * i + 1] = -0.5 * (low + high) * factors[i];
        }
        check_encoding(values, 2 * FACTORS, _i & 1);
    }
    static const double extremes[] = {1e300,    -1e300,      1e-300,   -1e-300, 0x1p-149, 0x1p-1074,
                                      INFINITY, -INFINITY,   NAN,      0.0,     -0.0,     0x1p128,
                                      0x1p127,  -0x1.fp-150, 65519.99, 65520};
    check_encoding(extremes, sizeof extremes / sizeof *extremes, _i & 1);
    struct kvr_random random = kvr_random_stream(4, 0);
    for (size_t round = 0; round < 2000; round++) {
        for (size_t i = 0; i < 2 * FACTORS; i++) {
            uint64_t bits = kvr_random_bits(&random);
            if (i % 2 == 0) /* an exponent near those of halves, or that of NaN */
                bits = (bits & ~(UINT64_C(0x7ff) << 52)) |
                       (i % 8 == 0 ? UINT64_C(0x7ff) : 990 + bits % 60) << 52;
            values[i] = from_bits(i % 16 == 8 ? bits & (UINT64_C(0xfff) << 52 | 0xfff) : bits);
        }
        check_encoding(values, round % (2 * FACTORS) + 1, _i & 1);
    }
}
END_TEST

START_TEST(encoding_undoes_decoding)
{
    enum { COUNT = 1000 };
    static const enum kvr_element kinds[] = {KVR_HALF, KVR_BFLOAT16, KVR_FLOAT, KVR_DOUBLE};
    static unsigned char stored[8 * COUNT], again[8 * COUNT];
    static double values[COUNT];
    struct kvr_random random = kvr_random_stream(3, (uint64_t)_i);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = kvr_random_normal(&random) * ldexp(1, (int)(i % 40) - 30);
    struct kvr_element_type type = {.kind = kinds[_i / 2], .big_endian = _i % 2 != 0};
    size_t bytes = kvr_element_size(type.kind) * COUNT;
    kvr_element_encode(type, values, COUNT, stored);
    kvr_element_decode(type, stored, COUNT, values);
    kvr_element_encode(type, values, COUNT, again);
    ck_assert_mem_eq(stored, again, bytes);
    for (size_t i = 0; type.kind == KVR_FLOAT && i < COUNT; i++)
        ck_assert(same(values[i], (double)(float)values[i]));
}
END_TEST

Suite *kvr_suite_element(void)
{
    Suite *suite = suite_create("element");
    TCase *tcase = tcase_create("element");
    tcase_add_loop_test(tcase, every_pattern_has_its_value, 0, 2);
    tcase_add_loop_test(tcase, blocks_decode_as_single_values_do, 0, 4);
    tcase_add_test(tcase, floats_and_doubles_decode_exactly);
    tcase_add_loop_test(tcase, every_pattern_survives_the_way_there_and_back, 0, 2);
    tcase_add_loop_test(tcase, rounding_is_to_the_nearest_and_ties_to_even, 0, 2);
    tcase_add_loop_test(tcase, values_out_of_range_become_infinity_or_zero, 0, 2);
    tcase_add_test(tcase, doubles_are_rounded_once);
    tcase_add_loop_test(tcase, blocks_encode_as_single_values_do, 0, 4);
    tcase_add_loop_test(tcase, encoding_undoes_decoding, 0, 8);
    suite_add_tcase(suite, tcase);
    return suite;
}
