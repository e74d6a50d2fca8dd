/*
 * Known answers for the oracle itself: golden numbers of the definitions, and small cases where
 * two ways of computing must agree.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

static int failures;

static void check_long(const char *what, long found, long expected)
{
    if (found == expected)
        return;
    failures++;
    printf("%s: expected %ld, found %ld\n", what, expected, found);
}

/* To the digits that the definitions print. */
static void check_near(const char *what, double found, double expected, double relative)
{
    if (fabs(found - expected) <= relative * fabs(expected))
        return;
    failures++;
    printf("%s: expected %.9g, found %.9g\n", what, expected, found);
}

static void check_quotas(void)
{
    check_long("0.29 of 100", uniform_quota(decimal_of("0.29"), 100, 1), 29);
    check_long("0.07 of 100", uniform_quota(decimal_of("0.07"), 100, 1), 7);
    check_long("0.02 of 1024", uniform_quota(decimal_of("0.02"), 1024, 1), 20);
    check_long("0.02 of 100 in pages of 16", uniform_quota(decimal_of("0.02"), 100, 16), 1);
    check_long("all of 100", uniform_quota(decimal_of("1"), 100, 1), 100);
    check_long("0.1 of 10", uniform_quota(decimal_of(".1"), 10, 1), 1);
}

/* Total budgets over 32 layers of 8 KV heads and pages of 16. */
static void check_layer_quotas(void)
{
    enum { LAYERS = 32, UNIT = 8 * 16 };
    long quotas[LAYERS], nines = 0;
    wide values[LAYERS];
    for (int i = 0; i < LAYERS; i++)
        values[i] = 35000 / UNIT; /* pages per KV head in all, over LAYERS */
    largest_remainder(LAYERS, values, LAYERS, 35000 / UNIT, quotas);
    for (int i = 0; i < LAYERS; i++) {
        nines += quotas[i] == 9;
        check_long("35000 tokens: 9 or 8 pages", quotas[i], i < 17 ? 9 : 8);
    }
    check_long("35000 tokens: layers of 9 pages", nines, 17);
    for (int i = 0; i < LAYERS; i++)
        values[i] = 32768 / UNIT;
    largest_remainder(LAYERS, values, LAYERS, 32768 / UNIT, quotas);
    for (int i = 0; i < LAYERS; i++)
        check_long("32768 tokens: 8 pages", quotas[i], 8);
}

/* Theorem 4's premises at r = 8, tau = 0.5, eta = ln 2, no slack, 1 - eps = 0.95. */
static void check_dilution(void)
{
    const double slack[7] = {0};
    double near = dilution(0.95, log(2), slack, 7, 0.5, 4096);
    double far = dilution(0.95, log(2), slack, 7, 0.5, 131072);
    check_near("Delta at 4096", near, 1.59e-6, 4e-3);
    check_near("Delta at 131072", far, 1.55e-9, 4e-3);
    /* Delta = (1 - eps) D/(C + D) gives D back */
    check_near("D at 4096", near * 0.25 / (0.95 - near), 4.18e-7, 2e-3);
    check_near("D at 131072", far * 0.25 / (0.95 - far), 4.07e-10, 2e-3);
}

static void check_entropy(void)
{
    const double fair[4] = {0.25, 0.25, 0.25, 0.25}, alphas[] = {0.5, 1, 2, 3, INFINITY};
    for (int i = 0; i < 5; i++)
        check_near("entropy of four equal parts", renyi(fair, 4, alphas[i]), log(4), 1e-12);
    const double skew[2] = {0.75, 0.25};
    check_near("collision", renyi(skew, 2, 2), -log(0.625), 1e-12);
    check_near("Shannon", renyi(skew, 2, 1), 0.75 * log(4 / 3.0) + 0.25 * log(4), 1e-12);
    check_near("min-entropy", renyi(skew, 2, INFINITY), -log(0.75), 1e-12);
    struct options o = {.alpha = 2};
    struct candidates c = {.count = 6, .sinks = 2};
    const float sink[6] = {0.5f, 0.5f};
    const float spread[6] = {0.5f, 0.25f, 0.0625f, 0.0625f, 0.0625f, 0.0625f};
    check_near("a pure sink", entropy_isolated(&o, &c, sink), 27.631021115928547, 1e-12);
    check_near("isolated", entropy_isolated(&o, &c, spread), log(4), 1e-12);
    c.sinks = 6;
    check_near("nothing but sinks", entropy_isolated(&o, &c, spread), 27.631021115928547, 1e-12);
}

static void check_spanning_tree(void)
{
    unsigned state = 1;
    for (long r = 2; r <= 7; r++)
        for (int trial = 0; trial < 20; trial++) {
            long weights[49] = {0};
            for (long i = 0; i < r; i++)
                for (long j = i + 1; j < r; j++) {
                    state = state * 1664525u + 1013904223u;
                    weights[i * r + j] = weights[j * r + i] = (long)(state >> 24) % 20;
                }
            check_long("spanning tree", spanning_tree(weights, r), spanning_tree_brute(weights, r));
        }
}

/* Random sets: every bound must hold, and the identity at r = 2. */
static void check_bounds(void)
{
    enum { ITEMS = 24, HEADS = 6 };
    unsigned state = 7;
    for (long r = 1; r <= HEADS; r++)
        for (int trial = 0; trial < 200; trial++) {
            bool sets[HEADS * ITEMS] = {false};
            long k = 1 + trial % 12;
            for (long h = 0; h < r; h++)
                for (long held = 0; held < k;) {
                    state = state * 1664525u + 1013904223u;
                    bool *flag = &sets[h * ITEMS + (long)(state >> 20) % (ITEMS - trial % 12)];
                    held += !*flag;
                    *flag = true;
                }
            struct bounds b = bounds_of(sets, r, ITEMS, k);
            double lower = fmax(fmax(b.bonferroni_lower, b.sandwich_lower),
                                fmax(fmax(b.cauchy_lower, b.decaen_lower), b.dawson_sankoff_lower));
            check_long("lower bounds hold", lower <= b.uor + 1e-9, 1);
            check_long("upper bounds hold", fmin(b.sandwich_upper, b.hunter_upper) >= b.uor - 1e-9,
                       1);
            if (r == 2)
                check_near("identity", 2 / (2 - (1 - b.j_mean)), b.uor, 1e-12);
        }
}

static void check_selection(void)
{
    const float scores[6] = {3, 2, 3, 2, 1, 1};
    const long expected[6] = {0, 2, 1, 3, 4, 5}, kept_first[6] = {4, 0, 2, 1, 3, 5};
    const long protected[1] = {4};
    long order[6];
    select_order(scores, 6, NULL, 0, order);
    for (int i = 0; i < 6; i++)
        check_long("ties to the lower index", order[i], expected[i]);
    select_order(scores, 6, protected, 1, order);
    for (int i = 0; i < 6; i++)
        check_long("protected first", order[i], kept_first[i]);

    struct candidates c = {.first = 10, .count = 30}; /* positions 10 … 39: pages 0, 1, 2 */
    struct cut cut = cut_of(&c, 16);
    check_long("pages", cut.pages, 3);
    check_long("short first page", page_of_token(&cut, 5), 0);
    check_long("second page", page_of_token(&cut, 6), 1);
    struct row row = {.protect_sinks = 7, .protect_recent = 9};
    long pages[3], count = protected_pages(&row, &cut, 3, pages);
    check_long("protected pages", count, 3);
    check_long("sinks first", pages[0] == 0 && pages[1] == 1 && pages[2] == 2, 1);
}

static void check_smoothing(void)
{
    float values[5] = {1, 2, 3, 4, 100};
    smooth_vector(SMOOTH_AVG, 3, 4, 5, values);
    const float averaged[5] = {1, 2, 3, 7 / 3.0f, 100};
    for (int i = 0; i < 5; i++)
        check_near("avg:3", (double)values[i], (double)averaged[i], 1e-6);
    float negative[3] = {-1, -2, -3};
    smooth_vector(SMOOTH_MAX, 3, 3, 3, negative);
    check_long("max:3", negative[0] == -1 && negative[1] == -1 && negative[2] == -2, 1);
}

static void check_pyramid(void)
{
    long quotas[5], sum = 0;
    /* base 20, lo 1, hi 39: 39, 29.5, 20, 10.5, 1 */
    const long expected[5] = {39, 30, 20, 10, 1};
    allocate_pyramid(5, 20, 0, 1000, decimal_of("20"), quotas);
    for (int i = 0; i < 5; i++)
        check_long("pyramid:20", quotas[i], expected[i]);
    allocate_pyramid(5, 20, 7, 30, decimal_of("20"), quotas); /* hi capped at 23 */
    for (int i = 0; i < 5; i++)
        sum += quotas[i];
    check_long("pyramid conserves", sum, 100);
    check_long("pyramid, most", quotas[0], 30);
    allocate_pyramid(5, 20, 20, 1000, decimal_of("20"), quotas);
    check_long("pyramid without a base", quotas[0], 20);
}

static void check_competition(void)
{
    const float scores[2][4] = {{9, 8, 7, 1}, {6, 7, 1, 1}};
    const long orders[2][4] = {{0, 1, 2, 3}, {1, 0, 2, 3}};
    bool kept[2][4];
    struct share shares[2] = {{0, 0, 4, 0, scores[0], orders[0], kept[0]},
                              {0, 1, 4, 0, scores[1], orders[1], kept[1]}};
    allocate_by_score(shares, 2, 2, decimal_of("0")); /* 9, 8, then 7 of group 0 before group 1 */
    check_long("ties to the lower group", kept[0][2] && kept[1][1] && !kept[1][0], 1);
    allocate_by_score(shares, 2, 2, decimal_of("1"));
    check_long("all guaranteed", kept[0][1] && !kept[0][2] && kept[1][0], 1);
}

int self_check(void)
{
    check_near("bfloat16", bfloat16_value(0x3fc0), 1.5, 0);
    check_quotas();
    check_layer_quotas();
    check_dilution();
    check_entropy();
    check_spanning_tree();
    check_bounds();
    check_selection();
    check_smoothing();
    check_pyramid();
    check_competition();
    if (!failures)
        printf("oracle: all known answers are right\n");
    return failures;
}
