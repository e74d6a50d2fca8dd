/*
 * Selection of the highest scores against a plain stable sort: many sizes, many mixes of values.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/bitmap.h"
#include "replay/select.h"
#include "tests/suites.h"

enum { MOST = 40009, MOST_WORDS = MOST / 64 + 2, QUOTAS = 10 };

/* ------------------------------------------------------------------------- mixes of values */

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float uniform(struct kvr_random *random, size_t i)
{
    (void)i;
    return (float)kvr_random_uniform(random);
}

static float all_equal(struct kvr_random *random, size_t i)
{
    (void)random;
    (void)i;
    return 0.25f;
}

static float mostly_zero(struct kvr_random *random, size_t i)
{
    (void)i;
    return kvr_random_below(random, 20) == 0 ? (float)kvr_random_uniform(random) : 0;
}

static float zeros_of_both_signs(struct kvr_random *random, size_t i)
{
    (void)i;
    return kvr_random_below(random, 2) == 0 ? 0.0f : -0.0f;
}

static float around_zero(struct kvr_random *random, size_t i)
{
    static const float values[] = {0.0f, -0.0f, 1e-45f, -1e-45f, 1, -1};
    (void)i;
    return values[kvr_random_below(random, 6)];
}

static float subnormal(struct kvr_random *random, size_t i)
{
    (void)i;
    return from_bits((uint32_t)kvr_random_bits(random) & 0x807fffffu);
}

static float of_both_signs(struct kvr_random *random, size_t i)
{
    (void)i;
    return (float)kvr_random_normal(random);
}

static float with_infinities(struct kvr_random *random, size_t i)
{
    uint64_t kind = kvr_random_below(random, 8);
    if (kind < 2)
        return kind == 0 ? INFINITY : -INFINITY;
    return of_both_signs(random, i);
}

static float three_values(struct kvr_random *random, size_t i)
{
    (void)i;
    return 0.125f * (float)kvr_random_below(random, 3);
}

/* Small multiples of the least half: what a recorded row of a long context looks like. */
static float half_tail(struct kvr_random *random, size_t i)
{
    double x = kvr_random_uniform(random);
    (void)i;
    return (float)floor(400 * x * x * x * x) * 0x1p-24f;
}

/* Values that differ in the last bits only. */
static float last_bits(struct kvr_random *random, size_t i)
{
    (void)i;
    return from_bits(0x3f800000u + (uint32_t)kvr_random_below(random, 3000));
}

static float any_bits(struct kvr_random *random, size_t i)
{
    float value = from_bits((uint32_t)kvr_random_bits(random));
    return isnan(value) ? (float)i : value;
}

static float wide(struct kvr_random *random, size_t i)
{
    (void)i;
    return (float)exp(-40 * kvr_random_uniform(random));
}

static float rising(struct kvr_random *random, size_t i)
{
    (void)random;
    return (float)(i / 3);
}

static float falling(struct kvr_random *random, size_t i)
{
    (void)random;
    return -(float)(i / 3);
}

typedef float (*mix)(struct kvr_random *random, size_t i);
static const mix mixes[] = {
    uniform,       all_equal,       mostly_zero,  zeros_of_both_signs, around_zero, subnormal,
    of_both_signs, with_infinities, three_values, half_tail,           last_bits,   any_bits,
    wide,          rising,          falling,
};
enum { MIXES = sizeof mixes / sizeof *mixes };

static void fill(float *scores, size_t n, int kind)
{
    struct kvr_random random = kvr_random_stream(n, (uint64_t)kind);
    for (size_t i = 0; i < n; i++)
        scores[i] = mixes[kind](&random, i);
}

/* Every size up to 130, then sizes around multiples of the word and powers of two. */
static size_t next_size(size_t n)
{
    static const size_t larger[] = {191,  192,  193,  255,  256,  257,   511,
                                    512,  513,  1023, 1024, 1025, 2047,  2048,
                                    2049, 4095, 4096, 4097, 5000, 16384, MOST};
    if (n < 130)
        return n + 1;
    for (size_t i = 0; i < sizeof larger / sizeof *larger; i++)
        if (larger[i] > n)
            return larger[i];
    return 0;
}

/* ------------------------------------------------------------------------- the plain sort */

struct item {
    float score;
    uint32_t index;
};

static int by_falling_score(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->score > y->score)
        return -1;
    if (x->score < y->score)
        return 1;
    return x->index < y->index ? -1 : 1;
}

static void sort_plainly(const float *scores, size_t n, struct item *items)
{
    for (size_t i = 0; i < n; i++)
        items[i] = (struct item){scores[i], (uint32_t)i};
    qsort(items, n, sizeof *items, by_falling_score);
}

/* ------------------------------------------------------------------------- select_top */

/* Sets that start full of rubbish and have a word behind them that must not be touched. */
static uint64_t rooms[QUOTAS][MOST_WORDS];
static const uint64_t rubbish = UINT64_C(0xdeadbeefcafef00d);

static void spoil_rooms(void)
{
    for (size_t i = 0; i < QUOTAS; i++)
        for (size_t word = 0; word < MOST_WORDS; word++)
            rooms[i][word] = rubbish;
}

static void check_set(const uint64_t *set, size_t n, uint64_t quota, const struct item *sorted)
{
    static bool kept[MOST];
    memset(kept, 0, n * sizeof *kept);
    for (size_t i = 0; i < n && i < quota; i++)
        kept[sorted[i].index] = true;
    for (size_t i = 0; i < n; i++)
        if (kvr_bitmap_has(set, i) != kept[i])
            ck_abort_msg("n %zu, quota %llu: unit %zu is %skept", n, (unsigned long long)quota, i,
                         kept[i] ? "not " : "");
    for (size_t bit = n; bit < kvr_bitmap_words(n) * 64; bit++)
        if (kvr_bitmap_has(set, bit))
            ck_abort_msg("n %zu: bit %zu beyond the end", n, bit);
    if (set[kvr_bitmap_words(n)] != rubbish)
        ck_abort_msg("n %zu: the word behind the set was written", n);
}

START_TEST(test_top_is_the_head_of_a_stable_sort)
{
    static float scores[MOST];
    static struct item sorted[MOST];
    struct kvr_select_scratch scratch = {0};
    uint64_t *sets[QUOTAS];
    for (size_t i = 0; i < QUOTAS; i++)
        sets[i] = rooms[i];
    for (size_t n = 1; n > 0; n = next_size(n)) {
        fill(scores, n, _i);
        sort_plainly(scores, n, sorted);
        const uint64_t quotas[QUOTAS] = {n / 2, 0,      1,     n - 1, n,
                                         n + 5, n / 50, n / 5, 2,     UINT64_MAX};
        spoil_rooms();
        ck_assert_int_eq(kvr_select_top(scores, n, quotas, QUOTAS, sets, &scratch, NULL), KVR_OK);
        for (size_t i = 0; i < QUOTAS; i++)
            check_set(rooms[i], n, quotas[i], sorted);
    }
    kvr_select_scratch_free(&scratch);
    kvr_select_scratch_free(&scratch); /* empty again: no harm */
}
END_TEST

START_TEST(test_one_quota_and_many_agree)
{
    static float scores[MOST];
    static struct item sorted[MOST];
    struct kvr_select_scratch scratch = {0};
    const size_t n = 777;
    uint64_t *sets[] = {rooms[0]};
    fill(scores, n, _i);
    sort_plainly(scores, n, sorted);
    for (uint64_t quota = 0; quota <= n; quota++) {
        spoil_rooms();
        ck_assert_int_eq(kvr_select_top(scores, n, &quota, 1, sets, &scratch, NULL), KVR_OK);
        check_set(rooms[0], n, quota, sorted);
    }
    kvr_select_scratch_free(&scratch);
}
END_TEST

/* A sample of every 64th score says nothing of the others: all that is high lies between. */
START_TEST(test_samples_that_mislead)
{
    static float scores[MOST];
    static struct item sorted[MOST];
    struct kvr_select_scratch scratch = {0};
    uint64_t *sets[] = {rooms[0], rooms[1], rooms[2]};
    const size_t n = 32768, step = n / 512;
    for (int high_between = 0; high_between < 2; high_between++) {
        for (size_t i = 0; i < n; i++)
            scores[i] = (float)((i % step == 0) == (high_between == 0)) + (float)(i % 1000) * 1e-6f;
        sort_plainly(scores, n, sorted);
        const uint64_t quotas[] = {n / 50, n / 600, n - 700};
        spoil_rooms();
        ck_assert_int_eq(kvr_select_top(scores, n, quotas, 3, sets, &scratch, NULL), KVR_OK);
        for (size_t i = 0; i < 3; i++)
            check_set(rooms[i], n, quotas[i], sorted);
    }
    kvr_select_scratch_free(&scratch);
}
END_TEST

/* Every budget of a curve at once: many quotas cut the same bins, in no order and some twice. */
START_TEST(test_hundreds_of_quotas)
{
    enum { MANY = 300 };
    static float scores[MOST];
    static struct item sorted[MOST];
    static uint64_t words[MANY][5003 / 64 + 2], *sets[MANY], quotas[MANY];
    struct kvr_select_scratch scratch = {0};
    struct kvr_random random = kvr_random_stream(7, (uint64_t)_i);
    const size_t sizes[] = {1, 64, 100, 1000, 5003};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        fill(scores, sizes[s], _i);
        sort_plainly(scores, sizes[s], sorted);
        for (size_t i = 0; i < MANY; i++) {
            sets[i] = words[i];
            words[i][kvr_bitmap_words(sizes[s])] = rubbish;
            quotas[i] = kvr_random_below(&random, sizes[s] + 2);
        }
        ck_assert_int_eq(kvr_select_top(scores, sizes[s], quotas, MANY, sets, &scratch, NULL),
                         KVR_OK);
        for (size_t i = 0; i < MANY; i++)
            check_set(words[i], sizes[s], quotas[i], sorted);
    }
    kvr_select_scratch_free(&scratch);
}
END_TEST

/* Half rows tie across the cut in most cases: the lower index wins, and sets are nested. */
START_TEST(test_ties_of_the_field_notes)
{
    const float scores[] = {3, 2, 3, 2, 1, 1};
    const uint64_t quotas[] = {1, 2, 3, 4, 5};
    const uint64_t expected[] = {0x01, 0x05, 0x07, 0x0f, 0x1f};
    uint64_t sets[5];
    uint64_t *pointers[] = {&sets[0], &sets[1], &sets[2], &sets[3], &sets[4]};
    struct kvr_select_scratch scratch = {0};
    ck_assert_int_eq(kvr_select_top(scores, 6, quotas, 5, pointers, &scratch, NULL), KVR_OK);
    for (size_t i = 0; i < 5; i++)
        ck_assert_uint_eq(sets[i], expected[i]);
    const uint32_t order[] = {0, 2, 1, 3, 4, 5};
    uint32_t found[6];
    ck_assert_int_eq(kvr_rank(scores, 6, found, &scratch, NULL), KVR_OK);
    ck_assert_mem_eq(found, order, sizeof order);
    kvr_select_scratch_free(&scratch);
}
END_TEST

START_TEST(test_nothing_to_select_from)
{
    uint64_t quota = 1, none = 0;
    uint64_t *sets[] = {&none};
    struct kvr_select_scratch scratch = {0};
    ck_assert_int_eq(kvr_select_top(NULL, 0, &quota, 1, sets, &scratch, NULL), KVR_OK);
    ck_assert_int_eq(kvr_rank(NULL, 0, NULL, &scratch, NULL), KVR_OK);
    kvr_select_scratch_free(&scratch);
}
END_TEST

/* ------------------------------------------------------------------------- ranks */

START_TEST(test_ranks_are_those_of_a_stable_sort)
{
    static float scores[MOST];
    static struct item sorted[MOST];
    static uint32_t order[MOST + 1];
    struct kvr_select_scratch scratch = {0};
    for (size_t n = 1; n > 0; n = next_size(n)) {
        fill(scores, n, _i);
        sort_plainly(scores, n, sorted);
        order[n] = 0xabcdefu;
        ck_assert_int_eq(kvr_rank(scores, n, order, &scratch, NULL), KVR_OK);
        for (size_t i = 0; i < n; i++)
            if (order[i] != sorted[i].index)
                ck_abort_msg("n %zu: rank %zu is %u, expected %u", n, i, order[i], sorted[i].index);
        ck_assert_uint_eq(order[n], 0xabcdefu);
        for (size_t i = 0; i < n; i += 1 + n / 20)
            if (kvr_rank_of(scores, n, sorted[i].index) != i)
                ck_abort_msg("n %zu: the rank of unit %u is not %zu", n, sorted[i].index, i);
    }
    kvr_select_scratch_free(&scratch);
}
END_TEST

Suite *kvr_suite_select(void)
{
    Suite *suite = suite_create("select");
    TCase *top = tcase_create("top");
    tcase_add_loop_test(top, test_top_is_the_head_of_a_stable_sort, 0, MIXES);
    tcase_add_loop_test(top, test_one_quota_and_many_agree, 0, MIXES);
    tcase_add_loop_test(top, test_hundreds_of_quotas, 0, MIXES);
    tcase_add_test(top, test_samples_that_mislead);
    tcase_add_test(top, test_ties_of_the_field_notes);
    tcase_add_test(top, test_nothing_to_select_from);
    suite_add_tcase(suite, top);
    TCase *ranks = tcase_create("ranks");
    tcase_add_loop_test(ranks, test_ranks_are_those_of_a_stable_sort, 0, MIXES);
    suite_add_tcase(suite, ranks);
    return suite;
}
