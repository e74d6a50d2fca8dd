/*
 * The ground: status, memory, strict numbers, text and random numbers.
 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/random.h"
#include "formats/base/status.h"
#include "formats/base/text.h"
#include "tests/suites.h"

/* ------------------------------------------------------------------------------------ status */

START_TEST(test_fail_fills_the_record)
{
    struct kvr_error err = KVR_ERROR_NONE;
    strcpy(err.hint, "an older hint");
    ck_assert_int_eq(kvr_fail(&err, KVR_IO, "\"%s\": expected %d", "run.h5", 3), KVR_IO);
    ck_assert_int_eq(err.status, KVR_IO);
    ck_assert_str_eq(err.message, "\"run.h5\": expected 3");
    ck_assert_str_eq(err.hint, "");
}
END_TEST

START_TEST(test_hint_and_place_are_added)
{
    struct kvr_error err = KVR_ERROR_NONE;
    kvr_fail(&err, KVR_BAD_INPUT, "expected 1");
    ck_assert_int_eq(kvr_hint(&err, "write %d", 1), KVR_BAD_INPUT);
    ck_assert_int_eq(kvr_at(&err, "\"%s\"", "a.h5"), KVR_BAD_INPUT);
    ck_assert_int_eq(kvr_at(&err, "replay"), KVR_BAD_INPUT);
    ck_assert_str_eq(err.message, "replay: \"a.h5\": expected 1");
    ck_assert_str_eq(err.hint, "write 1");
}
END_TEST

START_TEST(test_no_record_is_allowed)
{
    ck_assert_int_eq(kvr_fail(NULL, KVR_NO_MEMORY, "x"), KVR_NO_MEMORY);
    ck_assert_int_ne(kvr_hint(NULL, "x"), KVR_OK);
    ck_assert_int_ne(kvr_at(NULL, "x"), KVR_OK);
}
END_TEST

static const struct {
    const char *given, *shown;
} printable_cases[] = {
    {"a\nb\tc\x1b[2Jd\x7f", "a?b?c?[2Jd?"},
    {"caf\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x99\x82", "caf\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x99\x82"},
    {"\xc2\x9b"
     "2J",
     "??2J"}, /* CSI, as UTF-8 and as one byte */
    {"\x9b"
     "2J",
     "?2J"},
    {"\xc3", "?"}, /* cut short */
    {"\xe2\x80 x", "?? x"},
    {"\xff\xfe", "??"},
};

START_TEST(test_messages_cannot_move_the_cursor)
{
    struct kvr_error err = KVR_ERROR_NONE;
    const char *given = printable_cases[_i].given, *shown = printable_cases[_i].shown;
    kvr_fail(&err, KVR_BAD_INPUT, "%s", given);
    ck_assert_str_eq(err.message, shown);
    kvr_hint(&err, "%s", given);
    ck_assert_str_eq(err.hint, shown);
    err.message[0] = '\0';
    kvr_at(&err, "%s", given);
    ck_assert_uint_eq(strlen(err.message), strlen(shown) + 2);
    ck_assert_int_eq(strncmp(err.message, shown, strlen(shown)), 0);
}
END_TEST

START_TEST(test_long_messages_are_cut)
{
    static char huge[5000];
    memset(huge, 'x', sizeof huge - 1);
    struct kvr_error err = KVR_ERROR_NONE;
    kvr_fail(&err, KVR_BAD_INPUT, "%s", huge);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
    kvr_at(&err, "%s", huge);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
    kvr_hint(&err, "%s", huge);
    ck_assert_uint_eq(strlen(err.hint), sizeof err.hint - 1);

    /* A character that the cut would leave in half is not shown in half. */
    memcpy(huge + sizeof err.message - 2, "\xc3\xa9", 2);
    kvr_fail(&err, KVR_BAD_INPUT, "%s", huge);
    ck_assert_int_eq(err.message[sizeof err.message - 2], '?');
}
END_TEST

/* ------------------------------------------------------------------------------------ memory */

START_TEST(test_size_product)
{
    size_t product = 7;
    ck_assert(kvr_size_product(SIZE_MAX, 1, &product) && product == SIZE_MAX);
    ck_assert(kvr_size_product(1, SIZE_MAX, &product) && product == SIZE_MAX);
    ck_assert(kvr_size_product(0, SIZE_MAX, &product) && product == 0);
    ck_assert(kvr_size_product(SIZE_MAX, 0, &product) && product == 0);
    product = 7;
    ck_assert(!kvr_size_product(SIZE_MAX, 2, &product));
    ck_assert(!kvr_size_product(SIZE_MAX / 2 + 1, 2, &product));
    ck_assert(!kvr_size_product((size_t)1 << 32, (size_t)1 << 32, &product));
    ck_assert_uint_eq(product, 7);
}
END_TEST

static bool all_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

START_TEST(test_alloc_is_zeroed_and_aligned)
{
    for (size_t count = 0; count < 300; count += 7) {
        unsigned char *plain = kvr_alloc(count, 3, NULL);
        unsigned char *vector = kvr_alloc_vector(count, 3, NULL);
        ck_assert_ptr_nonnull(plain);
        ck_assert_ptr_nonnull(vector);
        ck_assert_uint_eq((uintptr_t)vector % 64, 0);
        ck_assert(all_zero(plain, count * 3) && all_zero(vector, count * 3));
        memset(plain, 0xff, count * 3); /* so that memory which is used again is not zero */
        memset(vector, 0xff, count * 3);
        free(plain);
        free(vector);
    }
}
END_TEST

START_TEST(test_impossible_sizes_are_refused)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_ptr_null(kvr_alloc(SIZE_MAX, 2, &err));
    ck_assert_int_eq(err.status, KVR_NO_MEMORY);
    ck_assert_ptr_nonnull(strstr(err.message, "2 bytes"));
    err = KVR_ERROR_NONE;
    ck_assert_ptr_null(kvr_alloc_vector(SIZE_MAX, 2, &err));
    ck_assert_int_eq(err.status, KVR_NO_MEMORY);
    ck_assert_ptr_null(kvr_alloc_vector(SIZE_MAX, 1, NULL)); /* rounding up would overflow */
    ck_assert_ptr_null(kvr_alloc(SIZE_MAX / 4, 2, NULL));

    void *items = NULL;
    size_t capacity = 0;
    err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_reserve(&items, &capacity, SIZE_MAX / 2, 16, &err), KVR_NO_MEMORY);
    ck_assert_int_eq(err.status, KVR_NO_MEMORY);
    ck_assert_ptr_null(items);
    ck_assert_uint_eq(capacity, 0);
}
END_TEST

START_TEST(test_reserve_keeps_what_is_there)
{
    void *items = NULL;
    size_t capacity = 0, growths = 0;
    for (size_t count = 0; count < 10000; count++) {
        size_t before = capacity;
        enum kvr_status status = kvr_reserve(&items, &capacity, count + 1, sizeof(uint64_t), NULL);
        if (status != KVR_OK || capacity <= count)
            ck_abort_msg("no room for %zu elements", count + 1);
        growths += capacity != before;
        ((uint64_t *)items)[count] = count * count;
    }
    ck_assert_uint_lt(growths, 16); /* doubling, not one at a time */
    unsigned wrong = 0;
    for (uint64_t i = 0; i < 10000; i++)
        wrong += ((uint64_t *)items)[i] != i * i;
    ck_assert_uint_eq(wrong, 0);
    free(items);
}
END_TEST

START_TEST(test_copies_of_strings)
{
    char *whole = kvr_copy_string("needle", NULL);
    char *part = kvr_copy_bytes("needle", 3, NULL);
    char *nothing = kvr_copy_bytes("needle", 0, NULL);
    ck_assert_str_eq(whole, "needle");
    ck_assert_str_eq(part, "nee");
    ck_assert_str_eq(nothing, "");
    free(whole);
    free(part);
    free(nothing);
}
END_TEST

/* ------------------------------------------------------------------------------------ number */

START_TEST(test_unsigned_numbers)
{
    uint64_t value = 5;
    ck_assert(kvr_parse_unsigned("0", 0, UINT64_MAX, &value) && value == 0);
    ck_assert(kvr_parse_unsigned("18446744073709551615", 0, UINT64_MAX, &value));
    ck_assert_uint_eq(value, UINT64_MAX);
    ck_assert(kvr_parse_unsigned("007", 7, 7, &value) && value == 7);
    static const char *const wrong[] = {"",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1.0",
                                        "1e3",
                                        "0x10",
                                        "one",
                                        "18446744073709551616",
                                        "99999999999999999999",
                                        "1\n"};
    value = 5;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!kvr_parse_unsigned(wrong[i], 0, UINT64_MAX, &value), "%s", wrong[i]);
    ck_assert(!kvr_parse_unsigned("3", 4, 8, &value));
    ck_assert(!kvr_parse_unsigned("9", 4, 8, &value));
    ck_assert_uint_eq(value, 5);
}
END_TEST

START_TEST(test_doubles)
{
    double value = 5;
    ck_assert(kvr_parse_double("0.5", &value) && value == 0.5);
    ck_assert(kvr_parse_double("-1.25e-3", &value) && value == -0.00125);
    ck_assert(kvr_parse_double("+2.", &value) && value == 2);
    ck_assert(kvr_parse_double(".5E1", &value) && value == 5);
    static const char *const wrong[] = {"",         " 1", "1 ",    "0,5",   "inf", "nan",
                                        "0x1p3",    "1e", "1e400", "1.2.3", "-",   ".",
                                        "infinity", "1f", "1e5.",  "--1"};
    value = 7;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!kvr_parse_double(wrong[i], &value), "%s", wrong[i]);
    ck_assert_double_eq(value, 7);
}
END_TEST

static struct kvr_decimal decimal(const char *text)
{
    struct kvr_decimal value = {0, 0};
    ck_assert_msg(kvr_parse_decimal(text, &value), "%s", text);
    return value;
}

START_TEST(test_decimals_are_parsed)
{
    struct kvr_decimal value = decimal("0.29");
    ck_assert(value.digits == 29 && value.scale == 2);
    value = decimal(".5");
    ck_assert(value.digits == 5 && value.scale == 1);
    value = decimal("1.");
    ck_assert(value.digits == 1 && value.scale == 0);
    value = decimal("999999999999999999");
    ck_assert(value.digits == UINT64_C(999999999999999999) && value.scale == 0);
    value = decimal("0.00000000000000001");
    ck_assert(value.digits == 1 && value.scale == 17);
    static const char *const wrong[] = {"",
                                        ".",
                                        "-0.1",
                                        "+0.1",
                                        "1e-1",
                                        "0.1.2",
                                        "0,1",
                                        " 0.1",
                                        "0.1 ",
                                        "1000000000000000000",
                                        "0.000000000000000001",
                                        "abc"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!kvr_parse_decimal(wrong[i], &value), "%s", wrong[i]);
    ck_assert(value.digits == 1 && value.scale == 17);
}
END_TEST

START_TEST(test_budgets_are_exact)
{
    /* In binary, 0.29 * 100 is 28.999… and 0.07 * 100 is 7.000…01: the first truncates wrongly. */
    ck_assert_uint_eq(kvr_decimal_floor(decimal("0.29"), 100, 1), 29);
    ck_assert_uint_eq(kvr_decimal_floor(decimal("0.07"), 100, 1), 7);
    ck_assert_uint_eq(kvr_decimal_floor(decimal("0.1"), 10, 1), 1);
    ck_assert_uint_eq(kvr_decimal_floor(decimal("0.02"), 1024, 1), 20);
    ck_assert_uint_eq(kvr_decimal_floor(decimal("0.02"), 1024, 16), 1);
    ck_assert_uint_eq(kvr_decimal_floor(decimal("1"), 1024, 16), 64);
    ck_assert_uint_eq(kvr_decimal_floor(decimal("0"), 1024, 16), 0);
    unsigned wrong = 0; /* an assertion per value would be slow */
    for (unsigned percent = 0; percent <= 100; percent++) {
        char text[16];
        snprintf(text, sizeof text, "%u.%02u", percent / 100, percent % 100);
        struct kvr_decimal budget = decimal(text);
        for (uint64_t tokens = 0; tokens <= 1000; tokens++)
            for (uint64_t page = 1; page <= 16; page *= 4)
                wrong += kvr_decimal_floor(budget, tokens, page) != percent * tokens / 100 / page;
    }
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(test_decimal_floor_saturates)
{
    struct kvr_decimal most = decimal("999999999999999999");
    ck_assert_uint_eq(kvr_decimal_floor(most, UINT64_MAX, 1), UINT64_MAX);
    ck_assert_uint_eq(kvr_decimal_floor(most, 18, 1), UINT64_C(17999999999999999982));
    ck_assert_uint_eq(kvr_decimal_floor(most, 19, 1), UINT64_MAX);
    ck_assert_uint_eq(kvr_decimal_floor(most, UINT64_MAX, UINT64_MAX), most.digits);
    /* The product of scale and divisor does not fit 64 bits. */
    struct kvr_decimal tiny = decimal("0.00000000000000001");
    ck_assert_uint_eq(kvr_decimal_floor(tiny, UINT64_MAX, 184), 1);
    ck_assert_uint_eq(kvr_decimal_floor(tiny, UINT64_MAX, 185), 0);
    ck_assert_uint_eq(kvr_decimal_floor(tiny, UINT64_MAX, UINT64_MAX), 0);
}
END_TEST

START_TEST(test_decimals_compare)
{
    ck_assert_int_eq(kvr_decimal_compare(decimal("1"), 1), 0);
    ck_assert_int_eq(kvr_decimal_compare(decimal("1.000"), 1), 0);
    ck_assert_int_eq(kvr_decimal_compare(decimal("0.9999999999999999"), 1), -1);
    ck_assert_int_eq(kvr_decimal_compare(decimal("1.0000000000000001"), 1), 1);
    ck_assert_int_eq(kvr_decimal_compare(decimal("0.00"), 0), 0);
    ck_assert_int_eq(kvr_decimal_compare(decimal("0.00000000000000001"), UINT64_MAX), -1);
    ck_assert_double_eq(kvr_decimal_double(decimal("0.29")), 0.29);
    ck_assert_double_eq(kvr_decimal_double(decimal("12.5")), 12.5);
}
END_TEST

/* -------------------------------------------------------------------------------------- text */

START_TEST(test_text_grows)
{
    struct kvr_text text = {0};
    ck_assert_int_eq(kvr_text_check(&text, NULL), KVR_OK);
    for (unsigned i = 0; i < 2000; i++) {
        kvr_text_add(&text, "%u", i % 10);
        kvr_text_string(&text, ",");
        kvr_text_bytes(&text, "ab\0cd", i % 2 == 0 ? 2 : 0);
    }
    ck_assert_int_eq(kvr_text_check(&text, NULL), KVR_OK);
    ck_assert_uint_eq(text.length, 2000 * 2 + 1000 * 2);
    ck_assert_uint_eq(strlen(text.data), text.length);
    ck_assert_int_eq(strncmp(text.data, "0,ab1,2,ab3,", 12), 0);
    size_t room = text.capacity;
    kvr_text_clear(&text);
    ck_assert_str_eq(text.data, "");
    ck_assert_uint_eq(text.length, 0);
    ck_assert_uint_eq(text.capacity, room);
    kvr_text_free(&text);
    ck_assert_ptr_null(text.data);
    kvr_text_clear(&text); /* also without room */
    kvr_text_free(&text);
}
END_TEST

START_TEST(test_text_remembers_failure)
{
    struct kvr_text text = {0};
    struct kvr_error err = KVR_ERROR_NONE;
    kvr_text_string(&text, "a");
    text.failed = true;
    kvr_text_string(&text, "b");
    kvr_text_figure(&text, 1);
    ck_assert_str_eq(text.data, "a");
    ck_assert_int_eq(kvr_text_check(&text, &err), KVR_NO_MEMORY);
    ck_assert_int_eq(err.status, KVR_NO_MEMORY);
    kvr_text_free(&text);
    kvr_text_bytes(&text, "", SIZE_MAX); /* length + 1 would be 0 */
    ck_assert(text.failed);
}
END_TEST

static void assert_written(void (*write)(struct kvr_text *, double), double value,
                           const char *expected)
{
    struct kvr_text text = {0};
    kvr_text_string(&text, "");
    write(&text, value);
    ck_assert_str_eq(text.data, expected);
    kvr_text_free(&text);
}

START_TEST(test_figures)
{
    assert_written(kvr_text_figure, 1.0 / 3, "0.333333333");
    assert_written(kvr_text_figure, 20, "20");
    assert_written(kvr_text_figure, 1e-12, "1e-12");
    assert_written(kvr_text_figure, 0, "0");
    assert_written(kvr_text_figure, NAN, "");
    assert_written(kvr_text_exact, NAN, "");
    assert_written(kvr_text_exact, 0.1, "0.1");
    assert_written(kvr_text_exact, 2, "2");
    assert_written(kvr_text_exact, 1.0 / 3, "0.3333333333333333");
    assert_written(kvr_text_exact, 0.1 + 0.2, "0.30000000000000004");
}
END_TEST

START_TEST(test_exact_figures_read_back)
{
    struct kvr_random random = kvr_random_stream(1, 2);
    struct kvr_text text = {0};
    unsigned wrong = 0;
    for (int i = 0; i < 20000; i++) {
        double value = ldexp(kvr_random_uniform(&random), (int)kvr_random_below(&random, 80) - 60);
        kvr_text_clear(&text);
        kvr_text_exact(&text, value);
        double back = strtod(text.data, NULL);
        wrong += back < value || back > value;
    }
    ck_assert_uint_eq(wrong, 0);
    kvr_text_free(&text);
    assert_written(kvr_text_exact, DBL_MAX, "1.7976931348623157e+308");
}
END_TEST

START_TEST(test_unsigned_text)
{
    struct kvr_text text = {0};
    kvr_text_unsigned(&text, 0);
    kvr_text_string(&text, " ");
    kvr_text_unsigned(&text, UINT64_MAX);
    kvr_text_string(&text, " ");
    kvr_text_unsigned(&text, 1024);
    ck_assert_str_eq(text.data, "0 18446744073709551615 1024");
    kvr_text_free(&text);
}
END_TEST

/* ------------------------------------------------------------------------------------ random */

START_TEST(test_bits_are_splitmix64)
{
    /* The published test vector of SplitMix64 for the seed 1234567. */
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431), UINT64_C(16408922859458223821)};
    struct kvr_random random = {1234567};
    for (size_t i = 0; i < 5; i++)
        ck_assert_uint_eq(kvr_random_bits(&random), expected[i]);
}
END_TEST

START_TEST(test_streams_differ_and_repeat)
{
    enum { SIDE = 40 };
    uint64_t first[SIDE * SIDE];
    for (uint64_t seed = 0; seed < SIDE; seed++)
        for (uint64_t cell = 0; cell < SIDE; cell++) {
            struct kvr_random random = kvr_random_stream(seed, cell);
            struct kvr_random again = kvr_random_stream(seed, cell);
            first[seed * SIDE + cell] = kvr_random_bits(&random);
            ck_assert_uint_eq(first[seed * SIDE + cell], kvr_random_bits(&again));
        }
    unsigned same = 0;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        for (size_t j = 0; j < i; j++)
            same += first[i] == first[j];
    ck_assert_uint_eq(same, 0);
    struct kvr_random low = kvr_random_stream(3, 1);
    struct kvr_random high = kvr_random_stream(3, 1 + (UINT64_C(1) << 63));
    ck_assert_uint_ne(kvr_random_bits(&low), kvr_random_bits(&high));
}
END_TEST

START_TEST(test_neighbouring_streams_are_unrelated)
{
    /* Bits of neighbouring cells agree half of the time: 64,000 bits, within 5 sigma (633). */
    int agree = 0;
    for (uint64_t cell = 0; cell < 1000; cell++) {
        struct kvr_random one = kvr_random_stream(0, cell), other = kvr_random_stream(0, cell + 1);
        agree += 64 - __builtin_popcountll(kvr_random_bits(&one) ^ kvr_random_bits(&other));
    }
    ck_assert_int_gt(agree, 32000 - 633);
    ck_assert_int_lt(agree, 32000 + 633);
}
END_TEST

START_TEST(test_uniform_and_below)
{
    enum { DRAWS = 60000 };
    struct kvr_random random = kvr_random_stream(5, 0);
    double sum = 0;
    unsigned counts[6] = {0}, outside = 0;
    for (int i = 0; i < DRAWS; i++) {
        double value = kvr_random_uniform(&random);
        outside += !(value >= 0 && value < 1);
        sum += value;
        counts[kvr_random_below(&random, 6)]++;
    }
    ck_assert_double_eq_tol(sum / DRAWS, 0.5, 5 * sqrt(1.0 / 12 / DRAWS));
    for (int i = 0; i < 6; i++)
        ck_assert_double_eq_tol(counts[i], DRAWS / 6.0, 5 * sqrt(DRAWS / 6.0));

    /* A bound of 3/4 of the range: without rejection its lowest third would come half of the time.
     */
    uint64_t third = UINT64_C(1) << 62;
    int low = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t value = kvr_random_below(&random, 3 * third);
        outside += value >= 3 * third;
        low += value < third;
    }
    ck_assert_uint_eq(outside, 0);
    ck_assert_double_eq_tol(low, DRAWS / 3.0, 5 * sqrt(DRAWS * 2 / 9.0));
    ck_assert_uint_eq(kvr_random_below(&random, 1), 0);
    ck_assert_uint_lt(kvr_random_below(&random, UINT64_MAX), UINT64_MAX);
}
END_TEST

START_TEST(test_normal)
{
    enum { DRAWS = 50000 };
    struct kvr_random random = kvr_random_stream(6, 1);
    double sum = 0, squares = 0;
    int beyond = 0, infinite = 0;
    for (int i = 0; i < DRAWS; i++) {
        double value = kvr_random_normal(&random);
        infinite += !isfinite(value);
        sum += value;
        squares += value * value;
        beyond += fabs(value) > 1.959963985;
    }
    ck_assert_int_eq(infinite, 0);
    ck_assert_double_eq_tol(sum / DRAWS, 0, 5 / sqrt(DRAWS));
    ck_assert_double_eq_tol(squares / DRAWS, 1, 5 * sqrt(2.0 / DRAWS));
    ck_assert_double_eq_tol(beyond, 0.05 * DRAWS, 5 * sqrt(0.05 * 0.95 * DRAWS));
}
END_TEST

Suite *kvr_suite_base(void)
{
    Suite *suite = suite_create("base");
    TCase *status = tcase_create("status");
    tcase_add_test(status, test_fail_fills_the_record);
    tcase_add_test(status, test_hint_and_place_are_added);
    tcase_add_test(status, test_no_record_is_allowed);
    tcase_add_loop_test(status, test_messages_cannot_move_the_cursor, 0,
                        (int)(sizeof printable_cases / sizeof *printable_cases));
    tcase_add_test(status, test_long_messages_are_cut);
    suite_add_tcase(suite, status);

    TCase *memory = tcase_create("memory");
    tcase_add_test(memory, test_size_product);
    tcase_add_test(memory, test_alloc_is_zeroed_and_aligned);
    tcase_add_test(memory, test_impossible_sizes_are_refused);
    tcase_add_test(memory, test_reserve_keeps_what_is_there);
    tcase_add_test(memory, test_copies_of_strings);
    suite_add_tcase(suite, memory);

    TCase *number = tcase_create("number");
    tcase_add_test(number, test_unsigned_numbers);
    tcase_add_test(number, test_doubles);
    tcase_add_test(number, test_decimals_are_parsed);
    tcase_add_test(number, test_budgets_are_exact);
    tcase_add_test(number, test_decimal_floor_saturates);
    tcase_add_test(number, test_decimals_compare);
    suite_add_tcase(suite, number);

    TCase *text = tcase_create("text");
    tcase_add_test(text, test_text_grows);
    tcase_add_test(text, test_text_remembers_failure);
    tcase_add_test(text, test_figures);
    tcase_add_test(text, test_exact_figures_read_back);
    tcase_add_test(text, test_unsigned_text);
    suite_add_tcase(suite, text);

    TCase *random = tcase_create("random");
    tcase_add_test(random, test_bits_are_splitmix64);
    tcase_add_test(random, test_streams_differ_and_repeat);
    tcase_add_test(random, test_neighbouring_streams_are_unrelated);
    tcase_add_test(random, test_uniform_and_below);
    tcase_add_test(random, test_normal);
    suite_add_tcase(suite, random);
    return suite;
}
