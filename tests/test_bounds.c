/*
 * Overlap of kept sets and the bounds on their union, by enumeration: all small families of sets,
 * random ones and those that stretch a bound. Everything is counted here on arrays of truth values.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bounds.h"
#include "analysis/overlap.h"
#include "formats/base/random.h"
#include "replay/bitmap.h"
#include "tests/suites.h"

enum { MOST_HEADS = 16, MOST_UNITS = 1024, WORDS = MOST_UNITS / 64 };

/* `heads` sets of `quota` units each. */
struct family {
    size_t heads, units;
    uint64_t quota;
    bool has[MOST_HEADS][MOST_UNITS];
};

/* ------------------------------------------------------------------------- plain counting */

static uint64_t intersection(const struct family *family, size_t i, size_t j)
{
    uint64_t both = 0;
    for (size_t u = 0; u < family->units; u++)
        both += family->has[i][u] && family->has[j][u];
    return both;
}

static uint64_t size_of_union(const struct family *family)
{
    uint64_t size = 0;
    for (size_t u = 0; u < family->units; u++) {
        bool held = false;
        for (size_t h = 0; h < family->heads; h++)
            held = held || family->has[h][u];
        size += held;
    }
    return size;
}

/* The heaviest of all trees on the heads: every Pruefer sequence is one tree. */
static uint64_t heaviest_tree(const struct family *family)
{
    size_t r = family->heads;
    uint64_t weight[MOST_HEADS][MOST_HEADS], best = 0;
    for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j < r; j++)
            weight[i][j] = intersection(family, i, j);
    if (r == 2)
        return weight[0][1];
    size_t sequences = 1;
    for (size_t i = 2; i < r; i++)
        sequences *= r;
    for (size_t number = 0; number < sequences; number++) {
        size_t sequence[MOST_HEADS], rest = number, degree[MOST_HEADS];
        uint64_t sum = 0;
        for (size_t i = 0; i < r; i++)
            degree[i] = 1;
        for (size_t i = 0; i + 2 < r; i++, rest /= r) {
            sequence[i] = rest % r;
            degree[sequence[i]]++;
        }
        for (size_t i = 0; i + 2 < r; i++) {
            size_t leaf = 0;
            while (degree[leaf] != 1)
                leaf++;
            sum += weight[leaf][sequence[i]];
            degree[leaf]--;
            degree[sequence[i]]--;
        }
        size_t last[2] = {0, 0}, found = 0;
        for (size_t i = 0; i < r; i++)
            if (degree[i] == 1)
                last[found++] = i;
        sum += weight[last[0]][last[1]];
        best = sum > best ? sum : best;
    }
    return best;
}

/* ------------------------------------------------------------------------- the product's view */

static uint64_t bitmaps[MOST_HEADS][WORDS], pair_room[MOST_HEADS * MOST_HEADS];

static struct kvr_overlap overlap_of(const struct family *family)
{
    uint64_t *sets[MOST_HEADS], together[WORDS];
    memset(bitmaps, 0, sizeof bitmaps);
    for (size_t h = 0; h < family->heads; h++) {
        sets[h] = bitmaps[h];
        for (size_t u = 0; u < family->units; u++)
            if (family->has[h][u])
                kvr_bitmap_add(bitmaps[h], u);
    }
    return kvr_overlap_of(sets, family->heads, kvr_bitmap_words(family->units), family->quota,
                          pair_room, together);
}

static void check_overlap(const struct family *family, const struct kvr_overlap *overlap)
{
    size_t r = family->heads;
    uint64_t pair_sum = 0;
    double jaccard_sum = 0, jaccard_most = 0;
    for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j < r; j++) {
            uint64_t both = intersection(family, i, j);
            ck_assert_uint_eq(overlap->pairs[i * r + j], both);
            if (i >= j)
                continue;
            double jaccard = (double)both / (double)(2 * family->quota - both);
            pair_sum += both;
            jaccard_sum += jaccard;
            jaccard_most = fmax(jaccard_most, jaccard);
        }
    ck_assert_uint_eq(overlap->heads, r);
    ck_assert_uint_eq(overlap->quota, family->quota);
    ck_assert_uint_eq(overlap->pair_sum, pair_sum);
    ck_assert_uint_eq(overlap->unions, size_of_union(family));
    ck_assert_double_eq(kvr_overlap_uor(overlap),
                        (double)size_of_union(family) / (double)family->quota);
    if (r == 1) {
        ck_assert_double_nan(overlap->jaccard_mean);
        ck_assert_double_nan(overlap->jaccard_most);
        return;
    }
    ck_assert_double_eq_tol(overlap->jaccard_mean, jaccard_sum / ((double)(r * (r - 1)) / 2),
                            1e-14);
    ck_assert_double_eq(overlap->jaccard_most, jaccard_most);
}

/* Every bound from its formula in MEASURES; Dawson and Sankoff as what it is: the best of a family
   of linear bounds, one for each m. */
static void check_formulas(const struct family *family, const struct kvr_bounds *bounds)
{
    double r = (double)family->heads, k = (double)family->quota;
    double jaccards = 0, most = 0, pair_sum = 0, decaen = 0, dawson = 0;
    for (size_t i = 0; i < family->heads; i++) {
        double row = 0;
        for (size_t j = 0; j < family->heads; j++) {
            double both = (double)intersection(family, i, j);
            if (i == j)
                continue;
            row += both;
            jaccards += both / (2 * k - both) / (r * (r - 1));
            most = fmax(most, both / (2 * k - both));
        }
        pair_sum += row / 2;
        decaen += k / (k + row);
    }
    for (double m = 1; m < r + 1; m++)
        dawson = fmax(dawson, 2 * r / (m + 1) - 2 * pair_sum / k / (m * (m + 1)));
    const double tolerance = 1e-12 * r * r;
    ck_assert_double_eq_tol(bounds->bonferroni_lower, fmax(1, r - r * (r - 1) * jaccards),
                            tolerance);
    ck_assert_double_eq_tol(bounds->sandwich_lower,
                            r / (1 + 2 * (r - 1) * jaccards / (1 + jaccards)), tolerance);
    ck_assert_double_eq_tol(bounds->sandwich_upper, fmin(r, r - 2 * most / (1 + most)), tolerance);
    ck_assert_double_eq_tol(bounds->cauchy_lower, r * r / (r + 2 / k * pair_sum), tolerance);
    ck_assert_double_eq_tol(bounds->decaen_lower, decaen, tolerance);
    ck_assert_double_eq_tol(bounds->dawson_sankoff_lower, dawson, tolerance);
    if (family->heads <= 6)
        ck_assert_double_eq_tol(bounds->hunter_upper, (r * k - (double)heaviest_tree(family)) / k,
                                tolerance);
}

/* What must hold of any family of sets. */
static struct kvr_bounds check_family(const struct family *family)
{
    struct kvr_overlap overlap = overlap_of(family);
    check_overlap(family, &overlap);
    struct kvr_bounds bounds = kvr_bounds_of(&overlap);
    double uor = (double)size_of_union(family) / (double)family->quota;
    if (family->heads > 1)
        check_formulas(family, &bounds);
    unsigned violations = kvr_bounds_violations(&bounds, uor);
    ck_assert_msg(violations == 0, "r %zu, k %llu, UOR %.17g: %u violations", family->heads,
                  (unsigned long long)family->quota, uor, violations);
    /* Not worse than what they improve on. */
    ck_assert_double_ge(bounds.cauchy_lower, bounds.sandwich_lower - 1e-9);
    ck_assert_double_ge(bounds.decaen_lower, bounds.cauchy_lower - 1e-9);
    ck_assert_double_le(bounds.hunter_upper, bounds.sandwich_upper + 1e-9);
    if (family->heads == 2)
        ck_assert_double_eq_tol(kvr_bounds_identity(1 - overlap.jaccard_mean), uor, 1e-12);
    return bounds;
}

static void clear(struct family *family, size_t heads, size_t units, uint64_t quota)
{
    memset(family->has, 0, sizeof family->has);
    family->heads = heads;
    family->units = units;
    family->quota = quota;
}

/* ------------------------------------------------------------------------- all small families */

/* Sets `head` to the subset whose bits are `mask`. */
static void set_mask(struct family *family, size_t head, unsigned mask)
{
    for (size_t u = 0; u < family->units; u++)
        family->has[head][u] = mask >> u & 1;
}

static size_t subsets_of(size_t units, unsigned quota, unsigned *masks)
{
    size_t count = 0;
    for (unsigned mask = 0; mask < 1u << units; mask++)
        if ((unsigned)__builtin_popcount(mask) == quota)
            masks[count++] = mask;
    return count;
}

START_TEST(test_all_small_families)
{
    const size_t heads = (size_t)_i, units = heads <= 3 ? 6 : heads == 4 ? 5 : 4;
    static struct family family;
    for (unsigned quota = 1; quota <= units; quota++) {
        unsigned masks[64];
        size_t subsets = subsets_of(units, quota, masks), families = 1;
        for (size_t h = 0; h < heads; h++)
            families *= subsets;
        for (size_t number = 0; number < families; number++) {
            clear(&family, heads, units, quota);
            for (size_t h = 0, rest = number; h < heads; h++, rest /= subsets)
                set_mask(&family, h, masks[rest % subsets]);
            check_family(&family);
        }
    }
}
END_TEST

/* ------------------------------------------------------------------------- random families */

static void draw_set(struct kvr_random *random, struct family *family, size_t head)
{
    for (uint64_t kept = 0; kept < family->quota;) {
        size_t unit = kvr_random_below(random, family->units);
        kept += !family->has[head][unit];
        family->has[head][unit] = true;
    }
}

START_TEST(test_random_families)
{
    struct kvr_random random = kvr_random_stream(51, (uint64_t)_i);
    static struct family family;
    for (int round = 0; round < 300; round++) {
        size_t units = 1 + kvr_random_below(&random, 30);
        clear(&family, (size_t)_i, units, 1 + kvr_random_below(&random, units));
        for (size_t h = 0; h < family.heads; h++) {
            draw_set(&random, &family, h);
            /* Some heads agree with the one before. */
            if (h > 0 && kvr_random_below(&random, 3) == 0)
                memcpy(family.has[h], family.has[h - 1], sizeof family.has[h]);
        }
        check_family(&family);
    }
}
END_TEST

START_TEST(test_large_random_families)
{
    struct kvr_random random = kvr_random_stream(52, 0);
    static struct family family;
    for (int round = 0; round < 40; round++) {
        clear(&family, 1 + kvr_random_below(&random, MOST_HEADS), MOST_UNITS,
              1 + kvr_random_below(&random, MOST_UNITS));
        for (size_t h = 0; h < family.heads; h++)
            draw_set(&random, &family, h);
        check_family(&family);
    }
}
END_TEST

/* ------------------------------------------------------------------------- stretched families */

START_TEST(test_identical_sets)
{
    static struct family family;
    for (size_t heads = 2; heads <= 8; heads++) {
        clear(&family, heads, 20, 7);
        for (size_t h = 0; h < heads; h++)
            set_mask(&family, h, 0x7f);
        struct kvr_bounds bounds = check_family(&family);
        double r = (double)heads;
        ck_assert_double_eq_tol(bounds.hunter_upper, 1, 1e-12);       /* exact at consensus */
        ck_assert_double_eq_tol(bounds.sandwich_upper, r - 1, 1e-12); /* the paper's is loose */
        ck_assert_double_eq_tol(bounds.bonferroni_lower, 1, 1e-12);
        ck_assert_double_eq_tol(bounds.sandwich_lower, 1, 1e-12);
        ck_assert_double_eq_tol(bounds.cauchy_lower, 1, 1e-12);
        ck_assert_double_eq_tol(bounds.decaen_lower, 1, 1e-12);
        ck_assert_double_eq_tol(bounds.dawson_sankoff_lower, 1, 1e-12);
    }
}
END_TEST

START_TEST(test_disjoint_sets)
{
    static struct family family;
    for (size_t heads = 2; heads <= 8; heads++) {
        clear(&family, heads, heads * 3, 3);
        for (size_t h = 0; h < heads; h++)
            set_mask(&family, h, 7u << 3 * h);
        struct kvr_bounds bounds = check_family(&family);
        const double values[] = {bounds.bonferroni_lower, bounds.sandwich_lower,
                                 bounds.sandwich_upper,   bounds.cauchy_lower,
                                 bounds.decaen_lower,     bounds.dawson_sankoff_lower,
                                 bounds.hunter_upper};
        for (size_t i = 0; i < 7; i++)
            ck_assert_double_eq_tol(values[i], (double)heads, 1e-12);
    }
}
END_TEST

/* Each pair shares one unit that no third head has: unions are counted exactly by pairs. */
START_TEST(test_sets_that_overlap_in_pairs_only)
{
    static struct family family;
    for (size_t heads = 2; heads <= 8; heads++) {
        clear(&family, heads, heads * (heads - 1) / 2, heads - 1);
        size_t unit = 0;
        for (size_t i = 0; i < heads; i++)
            for (size_t j = i + 1; j < heads; j++, unit++)
                family.has[i][unit] = family.has[j][unit] = true;
        struct kvr_bounds bounds = check_family(&family);
        /* Every unit is held twice: UOR = r / 2, and the bounds that count pairs are exact. */
        ck_assert_double_eq_tol(bounds.dawson_sankoff_lower, (double)heads / 2, 1e-12);
        ck_assert_double_eq_tol(bounds.cauchy_lower, (double)heads / 2, 1e-12);
        ck_assert_double_eq_tol(bounds.decaen_lower, (double)heads / 2, 1e-12);
    }
}
END_TEST

/* A core that all share and petals of their own: Hunter's tree is exact. */
START_TEST(test_sunflowers)
{
    static struct family family;
    for (size_t heads = 2; heads <= 8; heads++)
        for (size_t core = 0; core <= 4; core++) {
            const size_t petal = 2;
            clear(&family, heads, core + heads * petal, core + petal);
            for (size_t h = 0; h < heads; h++) {
                for (size_t u = 0; u < core; u++)
                    family.has[h][u] = true;
                for (size_t u = 0; u < petal; u++)
                    family.has[h][core + h * petal + u] = true;
            }
            struct kvr_bounds bounds = check_family(&family);
            double uor = (double)(core + heads * petal) / (double)(core + petal);
            ck_assert_double_eq_tol(bounds.hunter_upper, uor, 1e-12);
        }
}
END_TEST

/* The seven lines of the Fano plane: any two meet in one point. */
START_TEST(test_projective_plane)
{
    static struct family family;
    clear(&family, 7, 7, 3);
    for (size_t line = 0; line < 7; line++)
        for (size_t step = 0; step < 3; step++)
            family.has[line][(line + (step == 2 ? 3 : step)) % 7] = true;
    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_eq(intersection(&family, i, j), 1);
    struct kvr_bounds bounds = check_family(&family);
    ck_assert_double_eq_tol(bounds.cauchy_lower, 7.0 / 3, 1e-12);
    ck_assert_double_eq_tol(bounds.hunter_upper, (21.0 - 6) / 3, 1e-12);
}
END_TEST

/* A chain: neighbours share all but one unit. */
START_TEST(test_chains)
{
    static struct family family;
    clear(&family, 8, 15, 8);
    for (size_t h = 0; h < 8; h++)
        set_mask(&family, h, 0xffu << h);
    struct kvr_bounds bounds = check_family(&family);
    ck_assert_double_eq_tol(bounds.hunter_upper, 15.0 / 8, 1e-12); /* exact: it follows the chain */
}
END_TEST

START_TEST(test_one_head)
{
    static struct family family;
    clear(&family, 1, 20, 5);
    set_mask(&family, 0, 0x1f);
    struct kvr_bounds bounds = check_family(&family);
    const struct kvr_bounds ones = {1, 1, 1, 1, 1, 1, 1};
    ck_assert_mem_eq(&bounds, &ones, sizeof ones);
}
END_TEST

/* ------------------------------------------------------------------------- golden values */

static struct kvr_bounds of_equal_pairs(size_t heads, uint64_t quota, uint64_t both)
{
    uint64_t pairs[MOST_HEADS * MOST_HEADS];
    for (size_t i = 0; i < heads * heads; i++)
        pairs[i] = i % (heads + 1) == 0 ? quota : both;
    struct kvr_overlap overlap = kvr_overlap_from_pairs(pairs, heads, quota, 2 * quota);
    return kvr_bounds_of(&overlap);
}

/* Where the paper's certificates of twofold overhead end: J = 1/6 and 1/5 for r = 4, 3/28 and 3/11
   for r = 8. */
START_TEST(test_certificate_thresholds)
{
    const struct {
        size_t heads;
        uint64_t quota, both; /* J = both / (2 quota - both) */
        bool sandwich;
    } cases[] = {
        {4, 7, 2, false},     {4, 3, 1, true},     {8, 31, 6, false},     {8, 7, 3, true},
        {4, 700, 200, false}, {4, 300, 100, true}, {8, 3100, 600, false}, {8, 700, 300, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int step = -1; step <= 1; step++) {
            uint64_t both = cases[i].both + (uint64_t)step;
            struct kvr_bounds bounds = of_equal_pairs(cases[i].heads, cases[i].quota, both);
            double bound = cases[i].sandwich ? bounds.sandwich_lower : bounds.bonferroni_lower;
            if (step == 0)
                ck_assert_double_eq_tol(bound, 2, 1e-12);
            else
                ck_assert_msg(step < 0 ? bound > 2.001 : bound < 1.999, "case %zu: %g", i, bound);
        }
}
END_TEST

START_TEST(test_measured_overheads_of_the_paper)
{
    const struct {
        uint64_t quota, unions;
        double uor;
    } cases[] = {{20, 102, 5.1}, {17, 76, 4.470588235294118}};
    const uint64_t pairs[4] = {0};
    for (size_t i = 0; i < 2; i++) {
        struct kvr_overlap overlap =
            kvr_overlap_from_pairs(pairs, 1, cases[i].quota, cases[i].unions);
        ck_assert_double_eq_tol(kvr_overlap_uor(&overlap), cases[i].uor, 1e-15);
    }
}
END_TEST

START_TEST(test_identity)
{
    ck_assert_double_eq(kvr_bounds_identity(0), 1);
    ck_assert_double_eq(kvr_bounds_identity(1), 2);
    ck_assert_double_eq_tol(kvr_bounds_identity(0.5), 4.0 / 3, 1e-15);
}
END_TEST

/* ------------------------------------------------------------------------- violations */

/* At consensus and without any overlap the bounds are exact, so that a billionth shows. */
START_TEST(test_wrong_overhead_is_found)
{
    struct kvr_bounds consensus = of_equal_pairs(4, 10, 10);
    ck_assert_uint_eq(kvr_bounds_violations(&consensus, 1), 0);
    ck_assert_uint_eq(kvr_bounds_violations(&consensus, 1 + 0.5e-9), 0);
    ck_assert_uint_eq(kvr_bounds_violations(&consensus, 1 - 0.5e-9), 0);
    ck_assert_uint_eq(kvr_bounds_violations(&consensus, 1 + 2e-9), 1); /* hunter_upper */
    ck_assert_uint_eq(kvr_bounds_violations(&consensus, 1 - 2e-9), 5); /* all lower ones */
    ck_assert_uint_eq(kvr_bounds_violations(&consensus, 3 + 2e-9), 2); /* sandwich_upper too */
    struct kvr_bounds disjoint = of_equal_pairs(4, 10, 0);
    ck_assert_uint_eq(kvr_bounds_violations(&disjoint, 4), 0);
    ck_assert_uint_eq(kvr_bounds_violations(&disjoint, 4 + 2e-9), 2);
    ck_assert_uint_eq(kvr_bounds_violations(&disjoint, 4 - 2e-9), 5);
}
END_TEST

START_TEST(test_each_bound_is_checked)
{
    const struct kvr_bounds wide = {1, 1, 4, 1, 1, 1, 4};
    ck_assert_uint_eq(kvr_bounds_violations(&wide, 2), 0);
    for (size_t i = 0; i < sizeof wide / sizeof(double); i++) {
        struct kvr_bounds bounds = wide;
        double values[sizeof wide / sizeof(double)];
        memcpy(values, &bounds, sizeof values);
        values[i] = values[i] > 2 ? 1.9 : 2.1; /* now on the wrong side of 2 */
        memcpy(&bounds, values, sizeof values);
        ck_assert_uint_eq(kvr_bounds_violations(&bounds, 2), 1);
    }
}
END_TEST

Suite *kvr_suite_bounds(void)
{
    Suite *suite = suite_create("bounds");
    TCase *families = tcase_create("families");
    tcase_add_loop_test(families, test_all_small_families, 1, 6);
    tcase_add_loop_test(families, test_random_families, 1, 9);
    tcase_add_test(families, test_large_random_families);
    tcase_add_test(families, test_identical_sets);
    tcase_add_test(families, test_disjoint_sets);
    tcase_add_test(families, test_sets_that_overlap_in_pairs_only);
    tcase_add_test(families, test_sunflowers);
    tcase_add_test(families, test_projective_plane);
    tcase_add_test(families, test_chains);
    tcase_add_test(families, test_one_head);
    suite_add_tcase(suite, families);
    TCase *golden = tcase_create("golden values");
    tcase_add_test(golden, test_certificate_thresholds);
    tcase_add_test(golden, test_measured_overheads_of_the_paper);
    tcase_add_test(golden, test_identity);
    suite_add_tcase(suite, golden);
    TCase *violations = tcase_create("violations");
    tcase_add_test(violations, test_wrong_overhead_is_found);
    tcase_add_test(violations, test_each_bound_is_checked);
    suite_add_tcase(suite, violations);
    return suite;
}
