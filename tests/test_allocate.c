/*
 * Allocations: the pyramid in whole numbers and by hand, competition against one sorted list.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/allocate.h"
#include "replay/bitmap.h"
#include "tests/suites.h"

/* ------------------------------------------------------------------------- names */

static const struct {
    const char *text;
    enum kvr_allocate_kind kind;
    double parameter;
    bool gated;
    double threshold;
} names[] = {
    {"uniform", KVR_ALLOCATE_UNIFORM, 0, false, 0},
    {"pyramid:20", KVR_ALLOCATE_PYRAMID, 20, false, 0},
    {"pyramid:1", KVR_ALLOCATE_PYRAMID, 1, false, 0},
    {"pyramid:1.5", KVR_ALLOCATE_PYRAMID, 1.5, false, 0},
    {"layer:0.2", KVR_ALLOCATE_LAYER, 0.2, false, 0},
    {"layer:1", KVR_ALLOCATE_LAYER, 1, false, 0},
    {"model:0", KVR_ALLOCATE_MODEL, 0, false, 0},
    {"gate:0.07 uniform", KVR_ALLOCATE_UNIFORM, 0, true, 0.07},
    {"gate:0.07+uniform", KVR_ALLOCATE_UNIFORM, 0, true, 0.07},
    {"gate:-0.5+layer:0.2", KVR_ALLOCATE_LAYER, 0.2, true, -0.5},
    {"gate:1 model:0.2", KVR_ALLOCATE_MODEL, 0.2, true, 1},
    {"gate:0+pyramid:20", KVR_ALLOCATE_PYRAMID, 20, true, 0},
};

START_TEST(test_names)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct kvr_allocate found;
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_msg(kvr_allocate_parse(names[i].text, &found, &err) == KVR_OK, "%s", err.message);
        ck_assert_int_eq(found.kind, names[i].kind);
        if (found.kind != KVR_ALLOCATE_UNIFORM)
            ck_assert_double_eq(kvr_decimal_double(found.parameter), names[i].parameter);
        ck_assert(found.gated == names[i].gated);
        if (found.gated)
            ck_assert_double_eq(found.threshold, names[i].threshold);
        ck_assert(kvr_allocate_surveys(&found) ==
                  (names[i].gated || names[i].kind != KVR_ALLOCATE_UNIFORM));
    }
    static const char *const bad[] = {
        "",          "pyramid",    "pyramid:", "pyramid:0.9",     "layer:1.1",      "layer:-0.1",
        "model:2",   "model:x",    "gate:",    "gate:x",          "gate:x uniform", "gate:0.1 what",
        "uniform:1", "layer:0.2 ", "gate 0.1", "gate:nan uniform"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kvr_allocate found;
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_msg(kvr_allocate_parse(bad[i], &found, &err) == KVR_BAD_ARGUMENT, "\"%s\"",
                      bad[i]);
        ck_assert_ptr_nonnull(strstr(err.message, "is not an allocation"));
    }
}
END_TEST

/* ------------------------------------------------------------------------- pyramid */

enum { MOST_LAYERS = 40 };

static void pyramid(uint64_t tenths, uint64_t quota, uint64_t recent, uint64_t units, size_t layers,
                    uint64_t *quotas)
{
    const struct kvr_decimal beta = {tenths, 1};
    ck_assert_int_eq(kvr_allocate_pyramid(beta, quota, recent, units, layers, quotas, NULL),
                     KVR_OK);
}

START_TEST(test_pyramids_by_hand)
{
    const struct {
        uint64_t tenths, quota, recent, units;
        size_t layers;
        uint64_t expected[4];
    } cases[] = {
        /* 132.6, 68, 3.4 and 32 each: the largest remainder is the first */
        {200, 100, 32, 1000, 3, {165, 100, 35}},
        /* not more than the 88 that are not recent: 88, 68, 48 */
        {200, 100, 32, 120, 3, {120, 100, 80}},
        /* 20.43, 14.14, 7.86, 1.57: floors sum to 42 of 44, the last two are rounded up */
        {70, 11, 0, 100, 4, {20, 14, 8, 2}},
        {20, 1, 0, 100, 2, {2, 0}}, /* 1.5 and 0.5: of equal remainders the lower layer's */
        {10, 100, 32, 1000, 3, {100, 100, 100}}, /* beta 1 */
        {200, 32, 32, 1000, 3, {32, 32, 32}},    /* nothing to share beside the recent ones */
        {200, 10, 32, 1000, 3, {10, 10, 10}},
        {200, 100, 0, 1000, 1, {100}},
        {200, 1000, 0, 1000, 3, {1000, 1000, 1000}}, /* everything */
        {200, 1, 0, 1000, 2, {2, 0}},                /* 1.95 and 0.05 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t quotas[4];
        pyramid(cases[i].tenths, cases[i].quota, cases[i].recent, cases[i].units, cases[i].layers,
                quotas);
        for (size_t l = 0; l < cases[i].layers; l++)
            ck_assert_msg(quotas[l] == cases[i].expected[l], "case %zu, layer %zu: %llu", i, l,
                          (unsigned long long)quotas[l]);
    }
}
END_TEST

/* In fractions with the denominator beta (L - 1), which small numbers allow. */
START_TEST(test_pyramids_in_whole_numbers)
{
    struct kvr_random random = kvr_random_stream(141, 0);
    for (int round = 0; round < 3000; round++) {
        uint64_t tenths = 10 + kvr_random_below(&random, 400);
        uint64_t units = 1 + kvr_random_below(&random, 3000);
        uint64_t quota = 1 + kvr_random_below(&random, units);
        uint64_t recent = kvr_random_below(&random, 2) == 0 ? kvr_random_below(&random, units) : 0;
        size_t layers = 2 + kvr_random_below(&random, MOST_LAYERS - 2);
        uint64_t quotas[MOST_LAYERS], sum = 0;
        pyramid(tenths, quota, recent, units, layers, quotas);
        for (size_t l = 0; l < layers; l++)
            sum += quotas[l];
        ck_assert_uint_eq(sum, quota * layers);
        if (quota <= recent)
            continue;
        int64_t base = (int64_t)(quota - recent), beta = (int64_t)tenths,
                steps = (int64_t)layers - 1;
        int64_t low = base * 10, high = 2 * base * beta - low; /* in 1 / beta */
        if (high > (int64_t)(units - recent) * beta) {
            high = (int64_t)(units - recent) * beta;
            low = 2 * base * beta - high;
        }
        int64_t left = base * (int64_t)layers, floors[MOST_LAYERS], rests[MOST_LAYERS];
        for (size_t l = 0; l < layers; l++) {
            int64_t share = high * steps - (int64_t)l * (high - low); /* in 1 / (beta steps) */
            floors[l] = share / (beta * steps);
            rests[l] = share % (beta * steps);
            left -= floors[l];
        }
        for (; left > 0; left--) {
            size_t best = 0;
            for (size_t l = 1; l < layers; l++)
                if (rests[l] > rests[best])
                    best = l;
            floors[best]++;
            rests[best] = -1;
        }
        for (size_t l = 0; l < layers; l++) {
            ck_assert_uint_eq(quotas[l], (uint64_t)floors[l] + recent);
            ck_assert_uint_le(quotas[l], units);
            if (l > 0)
                ck_assert_uint_le(quotas[l], quotas[l - 1] + 1);
        }
    }
}
END_TEST

/* The largest numbers that a plan can ask for: exact and within 128 bits. */
START_TEST(test_large_pyramids)
{
    uint64_t quotas[1000], sum = 0;
    const struct kvr_decimal beta = {999999999999999999u, 17};
    ck_assert_int_eq(kvr_allocate_pyramid(beta, 4294967290u, 17, 4294967295u, 1000, quotas, NULL),
                     KVR_OK);
    for (size_t l = 0; l < 1000; l++)
        sum += quotas[l];
    ck_assert_uint_eq(sum, 4294967290000u);
    ck_assert_uint_eq(quotas[0], 4294967295u);
    ck_assert_uint_eq(quotas[999], 4294967285u);
}
END_TEST

/* ------------------------------------------------------------------------- competition */

enum { MOST_RIVALS = 8, MOST_UNITS = 100, WORDS = 2 };

struct entry {
    float score;
    size_t rival, unit;
};

static int by_score(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    if (x->rival != y->rival)
        return x->rival < y->rival ? -1 : 1;
    return x->unit < y->unit ? -1 : 1;
}

START_TEST(test_competition_is_one_sorted_list)
{
    struct kvr_random random = kvr_random_stream(142, 0);
    struct kvr_select_scratch scratch = {0};
    for (int round = 0; round < 500; round++) {
        static float scores[MOST_RIVALS][MOST_UNITS];
        static struct entry entries[MOST_RIVALS * MOST_UNITS];
        uint64_t secured[MOST_RIVALS][WORDS] = {{0}}, found[MOST_RIVALS];
        const float *score_rows[MOST_RIVALS];
        const uint64_t *secured_rows[MOST_RIVALS];
        size_t count = 1 + kvr_random_below(&random, MOST_RIVALS);
        size_t units = 1 + kvr_random_below(&random, MOST_UNITS), entry_count = 0;
        uint64_t quota = kvr_random_below(&random, units + 1), expected[MOST_RIVALS] = {0};
        uint64_t rest = count * quota;
        for (size_t i = 0; i < count; i++) {
            uint64_t own = kvr_random_below(&random, quota + 1);
            score_rows[i] = scores[i];
            secured_rows[i] = secured[i];
            for (size_t u = 0; u < units; u++)
                scores[i][u] = (float)kvr_random_below(&random, 15) - 4;
            for (; expected[i] < own; expected[i]++) { /* any units may be secured */
                size_t unit;
                do
                    unit = kvr_random_below(&random, units);
                while (kvr_bitmap_has(secured[i], unit));
                kvr_bitmap_add(secured[i], unit);
            }
            rest -= own;
            for (size_t u = 0; u < units; u++)
                if (!kvr_bitmap_has(secured[i], u))
                    entries[entry_count++] = (struct entry){scores[i][u], i, u};
        }
        qsort(entries, entry_count, sizeof *entries, by_score);
        for (size_t i = 0; i < rest; i++)
            expected[entries[i].rival]++;
        ck_assert_int_eq(kvr_allocate_compete(score_rows, secured_rows, count, units, quota, found,
                                              &scratch, NULL),
                         KVR_OK);
        for (size_t i = 0; i < count; i++)
            ck_assert_msg(found[i] == expected[i], "round %d, rival %zu: %llu, expected %llu",
                          round, i, (unsigned long long)found[i], (unsigned long long)expected[i]);
    }
    kvr_select_scratch_free(&scratch);
}
END_TEST

START_TEST(test_competition_of_nobody)
{
    struct kvr_select_scratch scratch = {0};
    ck_assert_int_eq(kvr_allocate_compete(NULL, NULL, 0, 10, 3, NULL, &scratch, NULL), KVR_OK);
    kvr_select_scratch_free(&scratch);
}
END_TEST

START_TEST(test_too_many_competitors)
{
    struct kvr_select_scratch scratch = {0};
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_allocate_compete(NULL, NULL, 70000, 70000, 3, NULL, &scratch, &err),
                     KVR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.message, "too many to compete"));
    kvr_select_scratch_free(&scratch);
}
END_TEST

Suite *kvr_suite_allocate(void)
{
    Suite *suite = suite_create("allocate");
    TCase *all = tcase_create("allocate");
    tcase_add_test(all, test_names);
    tcase_add_test(all, test_pyramids_by_hand);
    tcase_add_test(all, test_pyramids_in_whole_numbers);
    tcase_add_test(all, test_large_pyramids);
    tcase_add_test(all, test_competition_is_one_sorted_list);
    tcase_add_test(all, test_competition_of_nobody);
    tcase_add_test(all, test_too_many_competitors);
    suite_add_tcase(suite, all);
    return suite;
}
