/*
 * Fast digits of doubles against those of the C library.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "formats/base/shortest.h"
#include "formats/base/text.h"
#include "tests/suites.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The definition: the first of 15, 16 and 17 digits that reads back. */
static void slow_shortest(double value, char out[64])
{
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(out, 64, "%.*g", precision, value);
        if (bits_of(strtod(out, NULL)) == bits_of(value))
            return;
    }
}

static void slow_figure(double value, char out[64])
{
    snprintf(out, 64, "%.9g", value);
}

static const struct {
    const char *name;
    size_t (*fast)(double value, char out[KVR_SHORTEST_ROOM]);
    void (*slow)(double value, char out[64]);
} kinds[] = {
    {"shortest", kvr_write_shortest, slow_shortest},
    {"figure", kvr_write_figure, slow_figure},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Both ways must agree on value; *taken counts those within the fast range. */
static void compare(size_t kind, double value, uint64_t *taken)
{
    char fast[KVR_SHORTEST_ROOM + 1], slow[64];
    size_t length = kinds[kind].fast(value, fast);
    if (length == 0)
        return;
    fast[length] = '\0';
    kinds[kind].slow(value, slow);
    if (strcmp(fast, slow) != 0)
        ck_abort_msg("%s of %a: expected %s, found %s", kinds[kind].name, value, slow, fast);
    (*taken)++;
}

/* The doubles around value, 3 to each side. */
static void compare_around(size_t kind, double value, uint64_t *taken)
{
    double below = value, above = value;
    compare(kind, value, taken);
    for (int i = 0; i < 3; i++) {
        below = nextafter(below, 0);
        above = nextafter(above, INFINITY);
        compare(kind, below, taken);
        compare(kind, above, taken);
    }
}

START_TEST(test_ratios)
{
    struct kvr_random random = kvr_random_stream(1, 0);
    uint64_t taken = 0;
    enum { ROUNDS = 200000 };
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t most = UINT64_C(1) << (1 + kvr_random_below(&random, 20));
        double below = (double)(1 + kvr_random_below(&random, most));
        double above = (double)kvr_random_below(&random, most * 8);
        compare((size_t)_i, above / below, &taken);
    }
    ck_assert_uint_gt(taken, ROUNDS * 9 / 10);
}
END_TEST

START_TEST(test_any_bits)
{
    struct kvr_random random = kvr_random_stream(2, 0);
    uint64_t taken = 0;
    enum { ROUNDS = 200000 };
    for (int i = 0; i < ROUNDS; i++) {
        /* All mantissas, exponents -12 ... 30: past both ends of the range. */
        double mantissa = 1 + kvr_random_uniform(&random);
        double value = ldexp(mantissa, (int)kvr_random_below(&random, 43) - 12);
        compare((size_t)_i, value, &taken);
    }
    ck_assert_uint_gt(taken, ROUNDS / 2);
}
END_TEST

START_TEST(test_edges)
{
    uint64_t taken = 0;
    for (int exponent = -12; exponent < 30; exponent++)
        compare_around((size_t)_i, ldexp(1, exponent), &taken);
    for (int exponent = -4; exponent < 10; exponent++) {
        double power = pow(10, exponent);
        compare_around((size_t)_i, power, &taken);
        for (int digit = 1; digit < 10; digit++) {
            compare_around((size_t)_i, power * digit, &taken);
            compare_around((size_t)_i, power * (digit - 5e-9), &taken);
            compare_around((size_t)_i, power * (digit - 5e-16), &taken);
        }
    }
    /* Halves, quarters …: ties between two decimals of 9, 15, 16 and 17 digits. */
    for (uint64_t i = 1; i < 20000; i++)
        for (int bits = 1; bits < 26; bits += 4)
            compare((size_t)_i, (double)(i * 2 + 1) + ldexp(1, -bits), &taken);
    for (uint64_t i = 0; i < 3000; i++)
        compare((size_t)_i, (double)i, &taken);
    ck_assert_uint_gt(taken, 100000);
}
END_TEST

/* Decimals as people write them, and the doubles beside them. */
START_TEST(test_decimals_of_few_digits)
{
    struct kvr_random random = kvr_random_stream(3, 0);
    uint64_t taken = 0;
    char text[64];
    for (int i = 0; i < 200000; i++) {
        uint64_t digits = kvr_random_below(&random, UINT64_C(1) << (4 + i % 50));
        snprintf(text, sizeof text, "%llue-%d", (unsigned long long)digits,
                 (int)kvr_random_below(&random, 18));
        compare_around((size_t)_i, strtod(text, NULL), &taken);
    }
    ck_assert_uint_gt(taken, 100000);
}
END_TEST

START_TEST(test_what_is_left_to_the_library)
{
    char out[KVR_SHORTEST_ROOM];
    const double others[] = {-0.0,   -1.5,   1e8,      123456789012.0, 0.00099999999999999,
                             1e-300, 5e-324, HUGE_VAL, -HUGE_VAL,      NAN};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        out[0] = 'x';
        ck_assert_uint_eq(kinds[_i].fast(others[i], out), 0);
        ck_assert_int_eq(out[0], 'x');
    }
    ck_assert_uint_eq(kinds[_i].fast(0, out), 1);
    ck_assert_int_eq(out[0], '0');
}
END_TEST

START_TEST(test_text_uses_either)
{
    const double values[] = {0, -0.0, 1, 0.1, 1.0 / 3, 5.1, 1e-7, 1e15, -2.5, 0x1p-1074, HUGE_VAL};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char slow[64];
        struct kvr_text text = {0};
        kvr_text_exact(&text, values[i]);
        slow_shortest(values[i], slow);
        ck_assert_str_eq(text.data, slow);
        kvr_text_clear(&text);
        kvr_text_figure(&text, values[i]);
        slow_figure(values[i], slow);
        ck_assert_str_eq(text.data, slow);
        kvr_text_free(&text);
    }
}
END_TEST

Suite *kvr_suite_shortest(void)
{
    Suite *suite = suite_create("shortest");
    TCase *tcase = tcase_create("digits");
    tcase_add_loop_test(tcase, test_ratios, 0, KINDS);
    tcase_add_loop_test(tcase, test_any_bits, 0, KINDS);
    tcase_add_loop_test(tcase, test_edges, 0, KINDS);
    tcase_add_loop_test(tcase, test_decimals_of_few_digits, 0, KINDS);
    tcase_add_loop_test(tcase, test_what_is_left_to_the_library, 0, KINDS);
    tcase_add_test(tcase, test_text_uses_either);
    suite_add_tcase(suite, tcase);
    return suite;
}
