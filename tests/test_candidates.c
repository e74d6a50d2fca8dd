/*
 * Candidates, needles among them, pages and quotas: the geometry of a layer.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/bitmap.h"
#include "replay/budget.h"
#include "replay/candidates.h"
#include "tests/suites.h"

/* ------------------------------------------------------------------------- candidates */

static const struct {
    uint64_t prompt, pad, window, sinks;
    uint64_t first;
    size_t count, sink_count;
} geometries[] = {
    {100, 0, 0, 4, 0, 100, 4},
    {100, 3, 0, 4, 3, 97, 4},    /* sinks follow the padding */
    {100, 0, 40, 4, 60, 40, 0},  /* a window far from them */
    {100, 0, 98, 4, 2, 98, 2},   /* a window that holds two of them */
    {100, 0, 96, 4, 4, 96, 0},   /* and one that just holds none */
    {100, 0, 100, 4, 0, 100, 4}, /* windows as long as the prompt, or longer */
    {100, 0, 101, 4, 0, 100, 4},
    {100, 0, UINT64_MAX, 4, 0, 100, 4},
    {100, 10, 95, 4, 10, 90, 4}, /* the padding is the later border */
    {100, 10, 90, 4, 10, 90, 4},
    {100, 10, 88, 4, 12, 88, 2}, /* the window is */
    {100, 99, 0, 4, 99, 1, 1},   /* fewer candidates than sinks */
    {100, 97, 0, 4, 97, 3, 3},
    {100, 0, 1, 4, 99, 1, 0},
    {1, 0, 0, 4, 0, 1, 1},
    {100, 0, 0, 0, 0, 100, 0},
    {100, 0, 0, UINT32_MAX, 0, 100, 100},
    {100, 0, 10, UINT32_MAX, 90, 10, 10},
    {100, 0, 0, UINT64_MAX, 0, 100, 100},
};

START_TEST(test_candidates_of_a_layer)
{
    for (size_t i = 0; i < sizeof geometries / sizeof *geometries; i++) {
        const struct kvr_sample sample = {.context_length = geometries[i].prompt + 7,
                                          .prompt_length = geometries[i].prompt,
                                          .pad = geometries[i].pad};
        const struct kvr_layer layer = {.sliding_window = geometries[i].window};
        struct kvr_candidates found = kvr_candidates_of(&sample, &layer, geometries[i].sinks);
        ck_assert_msg(found.first == geometries[i].first && found.count == geometries[i].count &&
                          found.sinks == geometries[i].sink_count,
                      "case %zu: first %llu, %zu candidates, %zu sinks", i,
                      (unsigned long long)found.first, found.count, found.sinks);
    }
}
END_TEST

START_TEST(test_needles_among_candidates)
{
    const struct kvr_candidates candidates = {.first = 60, .count = 40};
    const struct {
        struct kvr_span needle;
        bool held;
        size_t start, end;
    } cases[] = {
        {{60, 62}, true, 0, 2},   {{98, 100}, true, 38, 40}, {{60, 100}, true, 0, 40},
        {{59, 62}, false, 0, 0},  {{98, 101}, false, 0, 0},  {{0, 5}, false, 0, 0},
        {{59, 101}, false, 0, 0}, {{100, 103}, false, 0, 0}, {{77, 78}, true, 17, 18},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kvr_range range = {7, 7};
        ck_assert(kvr_candidates_needle(&candidates, cases[i].needle, &range) == cases[i].held);
        ck_assert_uint_eq(range.start, cases[i].held ? cases[i].start : 7);
        ck_assert_uint_eq(range.end, cases[i].held ? cases[i].end : 7);
    }
}
END_TEST

/* ------------------------------------------------------------------------- pages */

/* Every candidate is asked on which page its position lies; nothing else is assumed. */
static void check_pages(struct kvr_candidates candidates, uint64_t size)
{
    struct kvr_pages pages = kvr_pages_of(&candidates, size);
    size_t t = 0, page = 0;
    for (; t < candidates.count; page++) {
        size_t start = t;
        uint64_t number = (candidates.first + t) / size;
        while (t < candidates.count && (candidates.first + t) / size == number) {
            ck_assert_uint_eq(kvr_pages_unit(&pages, t), page);
            t++;
        }
        struct kvr_range range = kvr_pages_tokens(&pages, page);
        if (range.start != start || range.end != t)
            ck_abort_msg("first %llu, %zu candidates, size %llu: page %zu is [%zu, %zu), "
                         "expected [%zu, %zu)",
                         (unsigned long long)candidates.first, candidates.count,
                         (unsigned long long)size, page, range.start, range.end, start, t);
    }
    ck_assert_uint_eq(pages.count, page);
    ck_assert_uint_eq(pages.size, size);
}

START_TEST(test_pages_are_cut_at_multiples_of_their_size)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 16, 17, 64, 100, 1000, UINT32_MAX, UINT64_MAX};
    for (uint64_t first = 0; first < 40; first++)
        for (size_t count = 1; count < 70; count++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                check_pages((struct kvr_candidates){.first = first, .count = count}, sizes[i]);
    check_pages((struct kvr_candidates){.first = 131072 - 5, .count = 4096}, 16);
    check_pages((struct kvr_candidates){.first = UINT64_MAX - 100, .count = 50}, 16);
}
END_TEST

/* Positions 6 … 12 on pages of 4: 6 7 | 8 9 10 11 | 12. */
START_TEST(test_page_scores)
{
    const struct kvr_candidates candidates = {.first = 6, .count = 7};
    const struct kvr_pages pages = kvr_pages_of(&candidates, 4);
    const float vector[] = {1, 2, 6, 5, 4, 3, 7};
    const float expected[3][3] = {{2, 6, 7}, {1.5f, 4.5f, 7}, {3, 18, 7}};
    ck_assert_uint_eq(pages.count, 3);
    for (int reduce = KVR_PAGE_MAX; reduce <= KVR_PAGE_SUM; reduce++) {
        float scores[4] = {0, 0, 0, 99};
        kvr_pages_score(&pages, (enum kvr_page_reduce)reduce, vector, scores);
        ck_assert_mem_eq(scores, expected[reduce], sizeof expected[reduce]);
        ck_assert_float_eq(scores[3], 99);
    }
}
END_TEST

START_TEST(test_page_maximum_of_negative_scores)
{
    const struct kvr_candidates candidates = {.first = 0, .count = 4};
    const struct kvr_pages pages = kvr_pages_of(&candidates, 2);
    const float vector[] = {-3, -1, -2, -5};
    float scores[2];
    kvr_pages_score(&pages, KVR_PAGE_MAX, vector, scores);
    ck_assert_float_eq(scores[0], -1);
    ck_assert_float_eq(scores[1], -2);
}
END_TEST

/* 2^24 + 1 + 1: a running sum in float would stay at 2^24. */
START_TEST(test_page_sums_are_rounded_once)
{
    const struct kvr_candidates candidates = {.first = 0, .count = 3};
    const struct kvr_pages pages = kvr_pages_of(&candidates, 16);
    const float vector[] = {0x1p24f, 1, 1};
    float score;
    kvr_pages_score(&pages, KVR_PAGE_SUM, vector, &score);
    ck_assert_float_eq(score, 0x1p24f + 2);
    kvr_pages_score(&pages, KVR_PAGE_MEAN, vector, &score);
    ck_assert_float_eq(score, (float)((0x1p24 + 2) / 3));
}
END_TEST

START_TEST(test_page_scores_of_random_vectors)
{
    struct kvr_random random = kvr_random_stream(21, 0);
    for (int round = 0; round < 200; round++) {
        struct kvr_candidates candidates = {.first = kvr_random_below(&random, 50),
                                            .count = 1 + kvr_random_below(&random, 100)};
        uint64_t size = 1 + kvr_random_below(&random, 40);
        struct kvr_pages pages = kvr_pages_of(&candidates, size);
        float vector[100], found[3][100], most[100];
        double sum[100] = {0}, tokens[100] = {0};
        for (size_t t = 0; t < candidates.count; t++) {
            size_t page = (candidates.first + t) / size - candidates.first / size;
            vector[t] = (float)kvr_random_normal(&random);
            most[page] = tokens[page] > 0 ? fmaxf(most[page], vector[t]) : vector[t];
            sum[page] += (double)vector[t];
            tokens[page]++;
        }
        for (int reduce = KVR_PAGE_MAX; reduce <= KVR_PAGE_SUM; reduce++)
            kvr_pages_score(&pages, (enum kvr_page_reduce)reduce, vector, found[reduce]);
        for (size_t page = 0; page < pages.count; page++) {
            ck_assert_float_eq(found[KVR_PAGE_MAX][page], most[page]);
            ck_assert_float_eq(found[KVR_PAGE_MEAN][page], (float)(sum[page] / tokens[page]));
            ck_assert_float_eq(found[KVR_PAGE_SUM][page], (float)sum[page]);
        }
    }
}
END_TEST

START_TEST(test_kept_pages_become_tokens)
{
    struct kvr_random random = kvr_random_stream(22, 0);
    for (int round = 0; round < 200; round++) {
        struct kvr_candidates candidates = {.first = kvr_random_below(&random, 50),
                                            .count = 1 + kvr_random_below(&random, 300)};
        uint64_t size = 1 + kvr_random_below(&random, 40);
        struct kvr_pages pages = kvr_pages_of(&candidates, size);
        uint64_t units[6] = {0}, tokens[6] = {0};
        for (size_t page = 0; page < pages.count; page++)
            if (kvr_random_below(&random, 3) == 0)
                kvr_bitmap_add(units, page);
        kvr_pages_expand(&pages, units, tokens);
        for (size_t t = 0; t < candidates.count; t++) {
            size_t page = (candidates.first + t) / size - candidates.first / size;
            ck_assert(kvr_bitmap_has(tokens, t) == kvr_bitmap_has(units, page));
        }
        for (size_t bit = candidates.count; bit < 6 * 64; bit++)
            ck_assert(!kvr_bitmap_has(tokens, bit));
    }
}
END_TEST

/* ------------------------------------------------------------------------- quotas */

static uint64_t quota_of(const char *text, size_t count, uint64_t page_size)
{
    const struct kvr_candidates candidates = {.first = 0, .count = count};
    const struct kvr_pages pages = kvr_pages_of(&candidates, page_size);
    struct kvr_decimal fraction;
    ck_assert(kvr_parse_decimal(text, &fraction));
    return kvr_budget_quota(fraction, &pages);
}

START_TEST(test_quotas)
{
    const struct {
        const char *budget;
        size_t count;
        uint64_t page_size, quota;
    } cases[] = {
        {"0.29", 100, 1, 29}, /* 28 in binary fractions */
        {"0.07", 100, 1, 7},
        {"0.1", 10, 1, 1},
        {"0.02", 1024, 1, 20}, /* not 20.48 rounded up: the paper's 5.100 = 102 / 20 */
        {"0.02", 850, 1, 17},
        {"0.05", 1024, 16, 3}, /* 3.2 */
        {"0.4", 1024, 16, 25}, /* 25.6 */
        {"0.02", 1024, 16, 1}, /* 1.28 */
        {"0.29", 1600, 16, 29},
        {"0.000001", 100, 1, 1}, /* at least one */
        {"0.01", 100, 16, 1},
        {"1", 7, 1, 7},
        {"1.0", 7, 16, 1}, /* floor(7/16) = 0: still one */
        {"1", 33, 16, 2},  /* three pages, but two of full size */
        {".999999999999999999", 1000, 1, 999},
        {"1", 4294967295, 1, 4294967295},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t found = quota_of(cases[i].budget, cases[i].count, cases[i].page_size);
        ck_assert_msg(found == cases[i].quota, "%s of %zu on pages of %llu: %llu", cases[i].budget,
                      cases[i].count, (unsigned long long)cases[i].page_size,
                      (unsigned long long)found);
    }
}
END_TEST

START_TEST(test_quotas_are_exact_for_every_hundredth)
{
    static const uint64_t sizes[] = {1, 3, 16};
    for (uint64_t hundredths = 1; hundredths <= 100; hundredths++)
        for (size_t count = 1; count <= 400; count++)
            for (size_t i = 0; i < 3; i++) {
                const struct kvr_candidates candidates = {.first = 5, .count = count};
                const struct kvr_pages pages = kvr_pages_of(&candidates, sizes[i]);
                const struct kvr_decimal fraction = {hundredths, 2};
                uint64_t expected = hundredths * count / (100 * sizes[i]);
                ck_assert_uint_eq(kvr_budget_quota(fraction, &pages), expected > 1 ? expected : 1);
            }
}
END_TEST

Suite *kvr_suite_candidates(void)
{
    Suite *suite = suite_create("candidates");
    TCase *positions = tcase_create("positions");
    tcase_add_test(positions, test_candidates_of_a_layer);
    tcase_add_test(positions, test_needles_among_candidates);
    suite_add_tcase(suite, positions);
    TCase *pages = tcase_create("pages");
    tcase_add_test(pages, test_pages_are_cut_at_multiples_of_their_size);
    tcase_add_test(pages, test_page_scores);
    tcase_add_test(pages, test_page_maximum_of_negative_scores);
    tcase_add_test(pages, test_page_sums_are_rounded_once);
    tcase_add_test(pages, test_page_scores_of_random_vectors);
    tcase_add_test(pages, test_kept_pages_become_tokens);
    suite_add_tcase(suite, pages);
    TCase *quotas = tcase_create("quotas");
    tcase_add_test(quotas, test_quotas);
    tcase_add_test(quotas, test_quotas_are_exact_for_every_hundredth);
    suite_add_tcase(suite, quotas);
    return suite;
}
