/*
 * Sums over kept sets, nested or not, in any number of vectors: of small multiples of a power of
 * two, for which order does not matter, and of any values, where it does.
 */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/bitmap.h"
#include "replay/mass.h"
#include "tests/suites.h"

enum { MOST_TOKENS = 2500, WORDS = MOST_TOKENS / 64 + 1, MOST_VECTORS = 9, SETS = 6 };

static float floats[MOST_VECTORS][MOST_TOKENS];
static double doubles[MOST_VECTORS][MOST_TOKENS];
static uint64_t sets[SETS][WORDS];

/* Sets that grow, sets that grow but for one token, equal sets, sets without any order, empty ones.
 */
enum growth { GROWING, ALMOST_GROWING, EQUAL, ANY, EMPTY_BETWEEN, GROWTHS };

static void draw_sets(struct kvr_random *random, size_t count, enum growth growth)
{
    memset(sets, 0, sizeof sets);
    for (size_t s = 0; s < SETS; s++) {
        bool follows = s > 0 && growth != ANY && growth != EMPTY_BETWEEN;
        if (follows)
            memcpy(sets[s], sets[s - 1], sizeof sets[s]);
        if ((growth == EQUAL && s > 0) || (growth == EMPTY_BETWEEN && s % 2 == 1))
            continue;
        for (size_t t = 0; t < count; t++)
            if (kvr_random_below(random, 5) == 0)
                kvr_bitmap_add(sets[s], t);
        if (growth == ALMOST_GROWING && s > 0) {
            size_t lost = kvr_random_below(random, count);
            sets[s][lost / 64] &= ~(UINT64_C(1) << lost % 64);
        }
    }
}

static void check_sums(size_t count, size_t float_count, size_t double_count, bool exact)
{
    static float planar[MOST_VECTORS * MOST_TOKENS];
    const double *double_rows[MOST_VECTORS];
    const uint64_t *set_rows[SETS];
    double sums[SETS * 2 * MOST_VECTORS + 1];
    size_t width = float_count + double_count;
    for (size_t v = 0; v < MOST_VECTORS; v++)
        double_rows[v] = doubles[v];
    for (size_t s = 0; s < SETS; s++)
        set_rows[s] = sets[s];
    sums[SETS * width] = 99;
    for (size_t v = 0; v < float_count; v++)
        memcpy(planar + v * count, floats[v], count * sizeof *planar);
    const struct kvr_mass_vectors vectors = {
        .count = count,
        .float_count = float_count,
        .floats = planar,
        .floats_exact = exact,
        .double_count = double_count,
        .doubles = double_rows,
        .doubles_exact = exact,
    };
    kvr_mass_sums(&vectors, set_rows, SETS, sums);
    for (size_t s = 0; s < SETS; s++)
        for (size_t v = 0; v < width; v++) {
            double expected = 0;
            for (size_t t = 0; t < count; t++)
                if (kvr_bitmap_has(sets[s], t))
                    expected +=
                        v < float_count ? (double)floats[v][t] : doubles[v - float_count][t];
            if (sums[s * width + v] < expected || sums[s * width + v] > expected)
                ck_abort_msg("set %zu, vector %zu of %zu + %zu: %.17g, expected %.17g", s, v,
                             float_count, double_count, sums[s * width + v], expected);
        }
    ck_assert_double_eq(sums[SETS * width], 99);
}

/* Multiples of 2^-11, or anything. */
static double draw_value(struct kvr_random *random, bool exact)
{
    return exact ? (double)kvr_random_below(random, 4096) / 2048 - 1 : kvr_random_normal(random);
}

START_TEST(test_sums_of_sets)
{
    static const size_t counts[] = {1, 63, 64, 65, 128, 200, 1024, 1025, MOST_TOKENS};
    struct kvr_random random = kvr_random_stream(171, (uint64_t)_i);
    bool exact = _i < GROWTHS;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t float_count = 0; float_count <= MOST_VECTORS; float_count++)
            for (size_t double_count = 0; double_count <= 4; double_count++) {
                for (size_t v = 0; v < MOST_VECTORS; v++)
                    for (size_t t = 0; t < counts[i]; t++) {
                        floats[v][t] = (float)draw_value(&random, exact);
                        doubles[v][t] = draw_value(&random, exact);
                    }
                draw_sets(&random, counts[i], (enum growth)(_i % GROWTHS));
                check_sums(counts[i], float_count, double_count, exact);
            }
}
END_TEST

Suite *kvr_suite_mass(void)
{
    Suite *suite = suite_create("mass");
    TCase *all = tcase_create("sums");
    tcase_add_loop_test(all, test_sums_of_sets, 0, 2 * GROWTHS);
    suite_add_tcase(suite, all);
    return suite;
}
