/*
 * Dropped mass along the quota: every k against a select order written out.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/dropped.h"
#include "formats/base/random.h"
#include "tests/suites.h"

enum { MOST = 60 };

static bool stands_before(const float *scores, size_t a, size_t b)
{
    return a < b ? scores[a] >= scores[b] : scores[a] > scores[b];
}

/* The mass of the first `quota` of the select order that POLICIES fixes: sinks from the first on,
   then the newest from the end back, then by falling score. */
static double kept_mass(const struct kvr_protect *protect, const float *scores, const float *vector,
                        size_t count, size_t quota)
{
    bool taken[MOST] = {false};
    size_t order[MOST], length = 0;
    size_t sinks = protect->sinks < count ? (size_t)protect->sinks : count;
    size_t recent = (size_t)protect->recent;
    if (protect->has_fraction)
        recent = (size_t)kvr_decimal_floor(protect->fraction, quota, 1);
    for (size_t t = 0; t < sinks; t++)
        taken[order[length++] = t] = true;
    for (size_t t = count; t > 0 && count - t < recent; t--)
        if (!taken[t - 1])
            taken[order[length++] = t - 1] = true;
    while (length < count) {
        size_t best = count;
        for (size_t t = 0; t < count; t++)
            if (!taken[t] && (best == count || stands_before(scores, t, best)))
                best = t;
        taken[order[length++] = best] = true;
    }
    double mass = 0;
    for (size_t i = 0; i < quota; i++)
        mass += (double)vector[order[i]];
    return mass;
}

static void check_curve(const char *text, const float *scores, const float *vector, size_t count)
{
    const struct kvr_candidates candidates = {.first = 5, .count = count, .sinks = 0};
    const struct kvr_pages pages = kvr_pages_of(&candidates, 1);
    struct kvr_room room = {0};
    struct kvr_select_scratch scratch = {0};
    struct kvr_protect protect;
    struct kvr_dropped dropped;
    ck_assert_int_eq(kvr_protect_parse(text, &protect, NULL), KVR_OK);
    ck_assert_int_eq(
        kvr_dropped_start(&protect, &pages, scores, vector, &room, &scratch, &dropped, NULL),
        KVR_OK);
    double all = kept_mass(&protect, scores, vector, count, count);
    ck_assert_double_eq(kvr_dropped_mass(&dropped), 1);
    for (size_t k = 1; k <= count; k++) {
        kvr_dropped_step(&dropped);
        double expected = 1 - kept_mass(&protect, scores, vector, count, k) / all;
        ck_assert_uint_eq(dropped.quota, k);
        ck_assert_msg(fabs(kvr_dropped_mass(&dropped) - expected) < 1e-12, "%s, %zu of %zu", text,
                      k, count);
    }
    kvr_select_scratch_free(&scratch);
    kvr_room_free(&room);
}

START_TEST(test_every_quota)
{
    static const char *const protections[] = {
        "none",
        "sinks:4",
        "recent:7",
        "sinks:100",
        "recent:100",
        "recent:0.5",
        "recent:1.0",
        "sinks:3+recent:5",
        "sinks:3+recent:0.4",
        "recent:0.0",
        "recent:0.9",
        "sinks:50+recent:0.5",
        "sinks:40+recent:40",
    };
    struct kvr_random random = kvr_random_stream(5, 0);
    for (size_t p = 0; p < sizeof protections / sizeof *protections; p++)
        for (int round = 0; round < 20; round++) {
            float scores[MOST], vector[MOST];
            size_t count = 1 + kvr_random_below(&random, MOST);
            for (size_t t = 0; t < count; t++) {
                vector[t] = (float)kvr_random_uniform(&random);
                /* what is ranked may be smoothed, so another vector; with ties */
                scores[t] = (float)kvr_random_below(&random, 10);
            }
            check_curve(protections[p], scores, vector, count);
        }
}
END_TEST

/* Ranked by itself and nothing protected, the curve is convex: the best token goes first. */
START_TEST(test_the_curve_of_a_top_k_is_convex)
{
    struct kvr_random random = kvr_random_stream(6, 0);
    float vector[MOST];
    const struct kvr_candidates candidates = {.first = 0, .count = MOST, .sinks = 0};
    const struct kvr_pages pages = kvr_pages_of(&candidates, 1);
    const struct kvr_protect nothing = {0};
    struct kvr_room room = {0};
    struct kvr_select_scratch scratch = {0};
    struct kvr_dropped dropped;
    for (size_t t = 0; t < MOST; t++)
        vector[t] = (float)kvr_random_uniform(&random);
    ck_assert_int_eq(
        kvr_dropped_start(&nothing, &pages, vector, vector, &room, &scratch, &dropped, NULL),
        KVR_OK);
    double before = 1, fall = 1;
    for (size_t k = 1; k <= MOST; k++) {
        kvr_dropped_step(&dropped);
        double now = kvr_dropped_mass(&dropped);
        ck_assert_double_le(before - now, fall + 1e-12);
        fall = before - now;
        before = now;
    }
    ck_assert_double_lt(fabs(before), 1e-12);
    kvr_select_scratch_free(&scratch);
    kvr_room_free(&room);
}
END_TEST

START_TEST(test_no_mass_no_curve)
{
    const float nothing[3] = {0, 0, 0};
    const struct kvr_candidates candidates = {.first = 0, .count = 3, .sinks = 0};
    const struct kvr_pages pages = kvr_pages_of(&candidates, 1);
    const struct kvr_protect protect = {0};
    struct kvr_room room = {0};
    struct kvr_select_scratch scratch = {0};
    struct kvr_dropped dropped;
    ck_assert_int_eq(
        kvr_dropped_start(&protect, &pages, nothing, nothing, &room, &scratch, &dropped, NULL),
        KVR_OK);
    kvr_dropped_step(&dropped);
    ck_assert(isnan(kvr_dropped_mass(&dropped)));
    kvr_select_scratch_free(&scratch);
    kvr_room_free(&room);
}
END_TEST

Suite *kvr_suite_dropped(void)
{
    Suite *suite = suite_create("dropped");
    TCase *all = tcase_create("dropped");
    tcase_add_test(all, test_every_quota);
    tcase_add_test(all, test_the_curve_of_a_top_k_is_convex);
    tcase_add_test(all, test_no_mass_no_curve);
    suite_add_tcase(suite, all);
    return suite;
}
