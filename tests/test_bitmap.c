/*
 * Bitmaps against arrays of truth values, at every border of a word.
 */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/bitmap.h"
#include "tests/suites.h"

enum { BITS = 200, WORDS = (BITS + 63) / 64 };

/* A random set, denser or thinner, both as bitmap and as an array. */
static void make_set(struct kvr_random *random, size_t bits, uint64_t *set, bool *has)
{
    uint64_t density = 1 + kvr_random_below(random, 6);
    memset(set, 0, WORDS * sizeof *set);
    for (size_t i = 0; i < bits; i++) {
        has[i] = kvr_random_below(random, density) == 0;
        if (has[i])
            kvr_bitmap_add(set, i);
    }
}

START_TEST(test_words)
{
    static const size_t cases[][2] = {{0, 0},  {1, 1},   {63, 1}, {64, 1},
                                      {65, 2}, {128, 2}, {129, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_eq(kvr_bitmap_words(cases[i][0]), cases[i][1]);
    ck_assert_uint_eq(kvr_bitmap_words(SIZE_MAX), SIZE_MAX / 64 + 1);
}
END_TEST

START_TEST(test_every_span)
{
    for (size_t start = 0; start <= BITS; start++)
        for (size_t end = start; end <= BITS; end++) {
            uint64_t set[WORDS + 1] = {0};
            set[0] = 1;
            kvr_bitmap_add_span(set, start, end);
            for (size_t i = 0; i < BITS; i++)
                if (kvr_bitmap_has(set, i) != (i == 0 || (i >= start && i < end)))
                    ck_abort_msg("[%zu, %zu): bit %zu", start, end, i);
            ck_assert_uint_eq(set[WORDS], 0);
            ck_assert_uint_eq(kvr_bitmap_count_span(set, start, end), end - start);
        }
}
END_TEST

START_TEST(test_counts)
{
    struct kvr_random random = kvr_random_stream(11, 0);
    for (size_t bits = 1; bits <= BITS; bits++) {
        uint64_t a[WORDS], b[WORDS], both = 0, in_a = 0;
        bool has_a[BITS], has_b[BITS];
        make_set(&random, bits, a, has_a);
        make_set(&random, bits, b, has_b);
        for (size_t i = 0; i < bits; i++) {
            in_a += has_a[i];
            both += has_a[i] && has_b[i];
        }
        size_t words = kvr_bitmap_words(bits);
        ck_assert_uint_eq(kvr_bitmap_count(a, words), in_a);
        ck_assert_uint_eq(kvr_bitmap_count_and(a, b, words), both);
        kvr_bitmap_unite(b, a, words);
        for (size_t i = 0; i < bits; i++)
            ck_assert(kvr_bitmap_has(b, i) == (has_a[i] || has_b[i]));
        ck_assert_uint_eq(kvr_bitmap_count(a, words), in_a); /* the other one is left alone */
    }
    ck_assert_uint_eq(kvr_bitmap_count(NULL, 0), 0);
}
END_TEST

START_TEST(test_counts_of_spans)
{
    struct kvr_random random = kvr_random_stream(12, 0);
    uint64_t set[WORDS];
    bool has[BITS];
    make_set(&random, BITS, set, has);
    for (size_t start = 0; start <= BITS; start++) {
        uint64_t expected = 0;
        for (size_t end = start; end <= BITS; end++) {
            ck_assert_uint_eq(kvr_bitmap_count_span(set, start, end), expected);
            expected += end < BITS && has[end];
        }
    }
}
END_TEST

START_TEST(test_sums_run_in_ascending_order)
{
    struct kvr_random random = kvr_random_stream(13, 0);
    for (int round = 0; round < 100; round++) {
        uint64_t set[WORDS];
        bool has[BITS];
        float floats[BITS];
        double doubles[BITS], sum_float = 0, sum_double = 0;
        make_set(&random, BITS, set, has);
        for (size_t i = 0; i < BITS; i++) {
            doubles[i] = kvr_random_normal(&random);
            floats[i] = (float)doubles[i];
            if (has[i]) {
                sum_float += (double)floats[i];
                sum_double += doubles[i];
            }
        }
        ck_assert_double_eq(kvr_bitmap_sum_float(set, WORDS, floats), sum_float);
        ck_assert_double_eq(kvr_bitmap_sum_double(set, WORDS, doubles), sum_double);
    }
}
END_TEST

/* 2^60 + 1 - 2^60 loses the one; in any other order it would not. Bits 63, 64 and 130. */
START_TEST(test_sums_across_words)
{
    static float floats[BITS];
    static double doubles[BITS];
    uint64_t set[WORDS] = {0};
    const size_t at[] = {63, 64, 130};
    const double values[] = {0x1p60, 1, -0x1p60};
    for (size_t i = 0; i < 3; i++) {
        kvr_bitmap_add(set, at[i]);
        doubles[at[i]] = values[i];
        floats[at[i]] = (float)values[i];
    }
    ck_assert_double_eq(kvr_bitmap_sum_float(set, WORDS, floats), 0);
    ck_assert_double_eq(kvr_bitmap_sum_double(set, WORDS, doubles), 0);
    doubles[130] = 0.5;
    ck_assert_double_eq(kvr_bitmap_sum_double(set, WORDS, doubles), 0x1p60);
    ck_assert_double_eq(kvr_bitmap_sum_double(set, 1, doubles), 0x1p60);
    ck_assert_double_eq(kvr_bitmap_sum_double(set, 0, doubles), 0);
}
END_TEST

Suite *kvr_suite_bitmap(void)
{
    Suite *suite = suite_create("bitmap");
    TCase *all = tcase_create("bitmap");
    tcase_add_test(all, test_words);
    tcase_add_test(all, test_every_span);
    tcase_add_test(all, test_counts);
    tcase_add_test(all, test_counts_of_spans);
    tcase_add_test(all, test_sums_run_in_ascending_order);
    tcase_add_test(all, test_sums_across_words);
    suite_add_tcase(suite, all);
    return suite;
}
