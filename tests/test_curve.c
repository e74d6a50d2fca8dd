/*
 * Curves over the quota against sets that are made anew for every quota.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bounds.h"
#include "analysis/curve.h"
#include "formats/base/random.h"
#include "replay/bitmap.h"
#include "replay/select.h"
#include "tests/suites.h"

enum { MOST_HEADS = 70, MOST_UNITS = 400 };

/* Scores of a group, its rankings and the curve over them. */
struct group {
    size_t heads, units;
    float scores[MOST_HEADS][MOST_UNITS];
    uint32_t orders[MOST_HEADS][MOST_UNITS];
    const uint32_t *order_list[MOST_HEADS];
    struct kvr_room room;
    struct kvr_curve curve;
};

static struct group group; /* too large for a stack */

static void start_group(void)
{
    struct kvr_select_scratch scratch = {0};
    for (size_t h = 0; h < group.heads; h++) {
        ck_assert_int_eq(kvr_rank(group.scores[h], group.units, group.orders[h], &scratch, NULL),
                         KVR_OK);
        group.order_list[h] = group.orders[h];
    }
    kvr_select_scratch_free(&scratch);
    kvr_room_reset(&group.room);
    ck_assert_int_eq(kvr_curve_start(group.order_list, group.heads, group.units, &group.room,
                                     &group.curve, NULL),
                     KVR_OK);
}

/* True if fewer than k scores of the head come before that of unit: the definition of a top-k. */
static bool is_kept(size_t head, size_t unit, size_t k)
{
    size_t before = 0;
    const float *scores = group.scores[head];
    for (size_t i = 0; i < group.units; i++)
        before += scores[i] > scores[unit] || (i < unit && scores[i] >= scores[unit]);
    return before < k;
}

struct naive {
    uint64_t unions, pairs[MOST_HEADS][MOST_HEADS];
    double jaccard_mean, jaccard_most;
};

static struct naive naive;

static void compute_naively(size_t k)
{
    static bool kept[MOST_HEADS][MOST_UNITS];
    memset(&naive, 0, sizeof naive);
    for (size_t t = 0; t < group.units; t++) {
        bool any = false;
        for (size_t h = 0; h < group.heads; h++) {
            kept[h][t] = is_kept(h, t, k);
            any |= kept[h][t];
        }
        naive.unions += any;
    }
    double sum = 0, count = 0;
    for (size_t i = 0; i < group.heads; i++)
        for (size_t j = 0; j < group.heads; j++) {
            uint64_t both = 0, either = 0;
            for (size_t t = 0; t < group.units; t++) {
                both += kept[i][t] && kept[j][t];
                either += kept[i][t] || kept[j][t];
            }
            naive.pairs[i][j] = both;
            if (j <= i)
                continue;
            double jaccard = (double)both / (double)either;
            sum += jaccard;
            count++;
            naive.jaccard_most = jaccard > naive.jaccard_most ? jaccard : naive.jaccard_most;
        }
    naive.jaccard_mean = sum / count;
}

static void compare_with_naive(size_t k)
{
    struct kvr_overlap overlap = kvr_curve_overlap(&group.curve);
    compute_naively(k);
    ck_assert_uint_eq(overlap.quota, k);
    ck_assert_uint_eq(overlap.unions, naive.unions);
    for (size_t i = 0; i < group.heads; i++)
        for (size_t j = 0; j < group.heads; j++)
            if (overlap.pairs[i * group.heads + j] != naive.pairs[i][j])
                ck_abort_msg("I(%zu, %zu) at %zu: expected %llu, found %llu", i, j, k,
                             (unsigned long long)naive.pairs[i][j],
                             (unsigned long long)overlap.pairs[i * group.heads + j]);
    if (group.heads < 2) {
        ck_assert(isnan(overlap.jaccard_mean) && isnan(overlap.jaccard_most));
        return;
    }
    ck_assert_double_eq_tol(overlap.jaccard_mean, naive.jaccard_mean, 1e-14);
    ck_assert_double_eq_tol(overlap.jaccard_most, naive.jaccard_most, 1e-15);
}

/* Half of the scores are shared by the heads; few levels make ties, many make none. */
static void draw_scores(struct kvr_random *random, uint64_t levels)
{
    for (size_t t = 0; t < group.units; t++) {
        uint64_t shared = kvr_random_below(random, levels);
        for (size_t h = 0; h < group.heads; h++)
            group.scores[h][t] = (float)(shared + kvr_random_below(random, levels));
    }
}

static const size_t head_counts[] = {1, 2, 3, 5, 8, 9, 16, 17, 70};
enum { HEAD_COUNTS = sizeof head_counts / sizeof *head_counts };

START_TEST(test_every_quota_is_the_definition)
{
    struct kvr_random random = kvr_random_stream(31, (uint64_t)_i);
    group.heads = head_counts[_i];
    size_t rounds = group.heads > 20 ? 2 : 12;
    for (size_t round = 0; round < rounds; round++) {
        group.units = 1 + (size_t)kvr_random_below(&random, group.heads > 20 ? 20 : 60);
        draw_scores(&random, round % 2 == 0 ? 4 : 1000000);
        start_group();
        for (size_t k = 1; k <= group.units; k++) {
            kvr_curve_step(&group.curve);
            compare_with_naive(k);
        }
        struct kvr_overlap all = kvr_curve_overlap(&group.curve);
        ck_assert_uint_eq(all.unions, group.units);
    }
    kvr_room_free(&group.room);
}
END_TEST

/* The sets of bounds.csv come from kvr_select_top; here every figure must be the same double. */
static void compare_with_selection(size_t k, struct kvr_select_scratch *scratch)
{
    size_t words = kvr_bitmap_words(group.units);
    static uint64_t bits[MOST_HEADS][MOST_UNITS / 64 + 1], together[MOST_UNITS / 64 + 1];
    static uint64_t pairs[MOST_HEADS * MOST_HEADS];
    uint64_t *sets[MOST_HEADS];
    const uint64_t quota = k;
    for (size_t h = 0; h < group.heads; h++) {
        sets[h] = bits[h];
        ck_assert_int_eq(
            kvr_select_top(group.scores[h], group.units, &quota, 1, &sets[h], scratch, NULL),
            KVR_OK);
    }
    struct kvr_overlap expected = kvr_overlap_of(sets, group.heads, words, k, pairs, together);
    struct kvr_overlap found = kvr_curve_overlap(&group.curve);
    struct kvr_bounds expected_bounds = kvr_bounds_of(&expected);
    struct kvr_bounds found_bounds = kvr_bounds_of(&found);
    double one = kvr_overlap_uor(&expected), other = kvr_overlap_uor(&found);
    ck_assert_mem_eq(&one, &other, sizeof one);
    ck_assert_mem_eq(&expected.jaccard_mean, &found.jaccard_mean, sizeof one);
    ck_assert_mem_eq(&expected.jaccard_most, &found.jaccard_most, sizeof one);
    ck_assert_mem_eq(&expected_bounds, &found_bounds, sizeof found_bounds);
    ck_assert_uint_eq(kvr_bounds_violations(&found_bounds, other), 0);
}

START_TEST(test_same_figures_as_sets_of_one_quota)
{
    struct kvr_random random = kvr_random_stream(37, (uint64_t)_i);
    struct kvr_select_scratch scratch = {0};
    group.heads = head_counts[_i];
    for (size_t round = 0; round < 4; round++) {
        group.units = 100 + (size_t)kvr_random_below(&random, MOST_UNITS - 100);
        draw_scores(&random, round % 2 == 0 ? 5 : 1000000);
        start_group();
        for (size_t k = 1; k <= group.units; k++) {
            kvr_curve_step(&group.curve);
            compare_with_selection(k, &scratch);
        }
    }
    kvr_select_scratch_free(&scratch);
    kvr_room_free(&group.room);
}
END_TEST

START_TEST(test_known_shapes)
{
    /* Identical heads: one set at every quota. */
    group.heads = 4;
    group.units = 48;
    for (size_t h = 0; h < 4; h++)
        for (size_t t = 0; t < 48; t++)
            group.scores[h][t] = (float)(t * 7 % 48);
    start_group();
    for (size_t k = 1; k <= 48; k++) {
        kvr_curve_step(&group.curve);
        struct kvr_overlap overlap = kvr_curve_overlap(&group.curve);
        ck_assert_uint_eq(overlap.unions, k);
        ck_assert_double_eq(overlap.jaccard_mean, 1);
    }

    /* Head h prefers units h * 12 … h * 12 + 11: disjoint up to 12, whatever comes after. */
    for (size_t h = 0; h < 4; h++)
        for (size_t t = 0; t < 48; t++)
            group.scores[h][t] = t / 12 == h ? 2 : 1;
    start_group();
    for (size_t k = 1; k <= 12; k++) {
        kvr_curve_step(&group.curve);
        struct kvr_overlap overlap = kvr_curve_overlap(&group.curve);
        ck_assert_uint_eq(overlap.unions, 4 * k);
        ck_assert_double_eq(overlap.jaccard_most, 0);
        ck_assert_double_eq(kvr_overlap_uor(&overlap), 4);
    }
    kvr_room_free(&group.room);
}
END_TEST

START_TEST(test_spacing_of_quotas)
{
    uint64_t quota = 1, points = 1;
    for (; quota < 131072; points++) {
        uint64_t next = kvr_curve_next(quota);
        ck_assert_uint_gt(next, quota);
        ck_assert(quota < 32 ? next == quota + 1 : next * 16 <= quota * 17);
        ck_assert(quota < 32 || next * 33 > quota * 34);
        quota = next;
    }
    ck_assert_uint_gt(points, 100);
    ck_assert_uint_lt(points, 200);
}
END_TEST

Suite *kvr_suite_curve(void)
{
    Suite *suite = suite_create("curve");
    TCase *tcase = tcase_create("quotas");
    tcase_add_loop_test(tcase, test_every_quota_is_the_definition, 0, HEAD_COUNTS);
    tcase_add_loop_test(tcase, test_same_figures_as_sets_of_one_quota, 0, HEAD_COUNTS);
    tcase_add_test(tcase, test_known_shapes);
    tcase_add_test(tcase, test_spacing_of_quotas);
    suite_add_tcase(suite, tcase);
    return suite;
}
