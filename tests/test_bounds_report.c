/*
 * The bounds: thousands of adversarial groups against the definitions, and the report that finds a
 * broken table out.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/bound_kinds.h"
#include "analysis/bounds.h"
#include "analysis/bounds_report.h"
#include "analysis/overlap.h"
#include "formats/base/random.h"
#include "formats/table.h"
#include "replay/bitmap.h"
#include "tests/scratch.h"
#include "tests/suites.h"

enum { MOST_HEADS = 16, MOST_UNITS = 1024, WORDS = MOST_UNITS / 64 };

/* A group: the sets of its heads, all of `quota` units, and what is known of them. */
struct group {
    size_t heads;
    uint64_t quota;
    uint64_t words[MOST_HEADS][WORDS];
    uint64_t *sets[MOST_HEADS];
    uint64_t pairs[MOST_HEADS * MOST_HEADS];
    struct kvr_overlap overlap;
    struct kvr_bounds bounds;
    double uor;
};

/* Fills what head h lacks with units that nobody has, as long as there are any. */
static void fill_up(struct group *group, size_t h, size_t *next_free)
{
    uint64_t have = kvr_bitmap_count(group->words[h], WORDS);
    for (; have < group->quota && *next_free < MOST_UNITS; have++)
        kvr_bitmap_add(group->words[h], (*next_free)++);
    ck_assert_uint_eq(have, group->quota);
}

/* The kinds of overlap. Each returns sets of at most `quota` units; fill_up does the rest. */
static void make_identical(struct group *group)
{
    for (size_t h = 0; h < group->heads; h++)
        kvr_bitmap_add_span(group->words[h], 0, group->quota);
}

/* Head h shares the first h / (r-1) of the quota with every later head: cores nested in cores. */
static void make_nested(struct group *group, size_t *next_free)
{
    for (size_t h = 0; h < group->heads; h++)
        kvr_bitmap_add_span(group->words[h], 0, group->quota * h / (group->heads - 1));
    *next_free = group->quota;
}

/* Every pair shares units of its own, and no three heads share any. */
static void make_pairwise(struct group *group, size_t *next_free)
{
    uint64_t each = group->quota / (group->heads - 1);
    for (size_t i = 0; i < group->heads; i++)
        for (size_t j = i + 1; j < group->heads; j++)
            for (uint64_t n = 0; n < each && *next_free < MOST_UNITS / 2; n++) {
                kvr_bitmap_add(group->words[i], *next_free);
                kvr_bitmap_add(group->words[j], (*next_free)++);
            }
}

/* Heads 1, 2, … each share a part with head 0 alone. */
static void make_star(struct group *group, size_t *next_free)
{
    kvr_bitmap_add_span(group->words[0], 0, group->quota);
    *next_free = group->quota;
    uint64_t each = group->quota / (group->heads - 1);
    for (size_t h = 1; h < group->heads; h++)
        kvr_bitmap_add_span(group->words[h], (h - 1) * each, h * each);
}

/* Each head starts a step after the one before. */
static void make_chain(struct group *group, struct kvr_random *random)
{
    size_t most = (MOST_UNITS - group->quota) / group->heads;
    size_t step = kvr_random_below(random, most + 1);
    for (size_t h = 0; h < group->heads; h++)
        kvr_bitmap_add_span(group->words[h], h * step, h * step + group->quota);
}

static void make_random(struct group *group, struct kvr_random *random)
{
    size_t range = group->quota + kvr_random_below(random, MOST_UNITS - group->quota + 1);
    for (size_t h = 0; h < group->heads; h++)
        for (uint64_t have = 0; have < group->quota;) {
            size_t unit = kvr_random_below(random, range);
            if (!kvr_bitmap_has(group->words[h], unit)) {
                kvr_bitmap_add(group->words[h], unit);
                have++;
            }
        }
}

enum { KINDS = 7 };

static void make_group(struct group *group, size_t heads, uint64_t quota, int kind,
                       struct kvr_random *random)
{
    size_t next_free = 0;
    *group = (struct group){.heads = heads, .quota = quota};
    switch (kind) {
    case 0: /* disjoint: nobody has anything yet */
        break;
    case 1:
        make_identical(group);
        break;
    case 2:
        make_nested(group, &next_free);
        break;
    case 3:
        make_pairwise(group, &next_free);
        break;
    case 4:
        make_star(group, &next_free);
        break;
    case 5:
        make_chain(group, random);
        break;
    default:
        make_random(group, random);
    }
    uint64_t together[WORDS];
    for (size_t h = 0; h < heads; h++) {
        fill_up(group, h, &next_free);
        group->sets[h] = group->words[h];
    }
    group->overlap = kvr_overlap_of(group->sets, heads, WORDS, quota, group->pairs, together);
    group->bounds = kvr_bounds_of(&group->overlap);
    group->uor = kvr_overlap_uor(&group->overlap);
}

static void random_group(struct group *group, int n, struct kvr_random *random)
{
    size_t heads = 2 + kvr_random_below(random, MOST_HEADS - 1);
    make_group(group, heads, 1 + kvr_random_below(random, 50), n % KINDS, random);
}

/* The union and J counted unit by unit. */
static void check_counts(const struct group *group)
{
    uint64_t together = 0;
    double jaccards = 0;
    for (size_t unit = 0; unit < MOST_UNITS; unit++) {
        bool any = false;
        for (size_t h = 0; h < group->heads; h++)
            any |= kvr_bitmap_has(group->words[h], unit);
        together += any;
    }
    for (size_t i = 0; i < group->heads; i++)
        for (size_t j = i + 1; j < group->heads; j++) {
            double both = 0, either = 0;
            for (size_t unit = 0; unit < MOST_UNITS; unit++) {
                bool a = kvr_bitmap_has(group->words[i], unit);
                bool b = kvr_bitmap_has(group->words[j], unit);
                both += a && b;
                either += a || b;
            }
            jaccards += both / either;
        }
    double pairs = (double)(group->heads * (group->heads - 1)) / 2;
    ck_assert_double_eq(group->uor, (double)together / (double)group->quota);
    ck_assert_double_eq_tol(group->overlap.jaccard_mean, jaccards / pairs, 1e-12);
}

/* What is known of the bounds among each other, up to rounding; NULL if all of it holds. */
static const char *disorder_of(const struct kvr_bounds *bounds)
{
    const double slack = 1e-9;
    if (bounds->cauchy_lower < bounds->sandwich_lower - slack)
        return "Cauchy is below the sandwich, which follows from it by Jensen";
    if (bounds->decaen_lower < bounds->cauchy_lower - slack)
        return "de Caen is below Cauchy";
    if (bounds->dawson_sankoff_lower < bounds->cauchy_lower - slack)
        return "Dawson-Sankoff, the best from S1 and S2, is below Cauchy";
    if (bounds->dawson_sankoff_lower < bounds->bonferroni_lower - slack)
        return "Dawson-Sankoff is below Bonferroni";
    if (bounds->hunter_upper > bounds->sandwich_upper + slack)
        return "Hunter's tree leaves the heaviest pair out";
    return NULL;
}

START_TEST(test_no_adversarial_group_violates_a_bound)
{
    enum { GROUPS = 10000 };
    struct kvr_random random = kvr_random_stream(4, 10);
    struct group group;
    for (int n = 0; n < GROUPS; n++) {
        random_group(&group, n, &random);
        if (n < 20 * KINDS)
            check_counts(&group);
        const char *disorder = disorder_of(&group.bounds);
        if (disorder != NULL || kvr_bounds_violations(&group.bounds, group.uor) != 0)
            ck_abort_msg("group %d, kind %d, r %zu, k %llu: %s", n, n % KINDS, group.heads,
                         (unsigned long long)group.quota, disorder != NULL ? disorder : "violated");
        if (group.heads == 2 &&
            fabs(kvr_bounds_identity(1 - group.overlap.jaccard_mean) - group.uor) > 1e-12)
            ck_abort_msg("group %d: prop. 1 does not hold", n);
    }
}
END_TEST

/* Each bound in turn is moved past the measured UOR by a little more than the tolerance. */
START_TEST(test_a_broken_bound_is_caught)
{
    struct kvr_random random = kvr_random_stream(4, 11);
    struct group group;
    make_group(&group, 5, 20, 6, &random);
    double *bounds[] = {&group.bounds.bonferroni_lower,     &group.bounds.sandwich_lower,
                        &group.bounds.cauchy_lower,         &group.bounds.decaen_lower,
                        &group.bounds.dawson_sankoff_lower, &group.bounds.sandwich_upper,
                        &group.bounds.hunter_upper};
    for (size_t b = 0; b < KVR_BOUNDS; b++) {
        double sound = *bounds[b], sign = kvr_bound_kinds[b].lower ? 1 : -1;
        *bounds[b] = group.uor + sign * 0.5e-9;
        ck_assert_uint_eq(kvr_bounds_violations(&group.bounds, group.uor), 0);
        *bounds[b] = group.uor + sign * 2e-9;
        ck_assert_uint_eq(kvr_bounds_violations(&group.bounds, group.uor), 1);
        *bounds[b] = sound;
    }
}
END_TEST

/* ------------------------------------------------------------------------------ certificates */

START_TEST(test_golden_thresholds)
{
    ck_assert_double_eq_tol(kvr_certificate_bonferroni(4), 1.0 / 6, 1e-15);
    ck_assert_double_eq_tol(kvr_certificate_sandwich(4), 1.0 / 5, 1e-15);
    ck_assert_double_eq_tol(kvr_certificate_bonferroni(8), 3.0 / 28, 1e-15);
    ck_assert_double_eq_tol(kvr_certificate_sandwich(8), 3.0 / 11, 1e-15);
    /* The sharper bound certifies less where r = 3. */
    ck_assert_double_eq_tol(kvr_certificate_bonferroni(3), 1.0 / 6, 1e-15);
    ck_assert_double_eq_tol(kvr_certificate_sandwich(3), 1.0 / 7, 1e-15);
}
END_TEST

/* At a threshold the bound is 2, a little above it it is not: for every r, with rounding. */
START_TEST(test_thresholds_are_those_of_the_bounds)
{
    uint64_t pairs[MOST_HEADS * MOST_HEADS] = {0};
    for (size_t r = 2; r <= MOST_HEADS; r++) {
        struct kvr_overlap overlap = kvr_overlap_from_pairs(pairs, r, 10, 10);
        overlap.jaccard_mean = kvr_certificate_bonferroni((double)r);
        ck_assert(kvr_bound_certifies(kvr_bounds_of(&overlap).bonferroni_lower));
        overlap.jaccard_mean += 1e-8;
        ck_assert(!kvr_bound_certifies(kvr_bounds_of(&overlap).bonferroni_lower));
        overlap.jaccard_mean = kvr_certificate_sandwich((double)r);
        ck_assert(kvr_bound_certifies(kvr_bounds_of(&overlap).sandwich_lower));
        overlap.jaccard_mean += 1e-8;
        ck_assert(!kvr_bound_certifies(kvr_bounds_of(&overlap).sandwich_lower));
    }
}
END_TEST

/* ------------------------------------------------------------------------------ the report */

static const char header[] =
    "trace,sample,layer,group,scorer,page_size,budget,ratio,quota,uor,j_mean,j_max,"
    "bonferroni_lower,sandwich_lower,sandwich_upper,cauchy_lower,decaen_lower,"
    "dawson_sankoff_lower,hunter_upper\n";
static const char premises_header[] = "trace,sample,layer,group,scorer,needle,owner,peak,"
                                      "owner_mass,owner_entropy,largest_slack,pooled_mass,bound,"
                                      "holds\n";

static void add_row(struct kvr_text *table, const char *sample, const char *scorer,
                    uint64_t page_size, const struct group *group)
{
    const double figures[] = {group->uor,
                              group->overlap.jaccard_mean,
                              group->overlap.jaccard_most,
                              group->bounds.bonferroni_lower,
                              group->bounds.sandwich_lower,
                              group->bounds.sandwich_upper,
                              group->bounds.cauchy_lower,
                              group->bounds.decaen_lower,
                              group->bounds.dawson_sankoff_lower,
                              group->bounds.hunter_upper};
    kvr_csv_string(table, "t.h5");
    kvr_csv_string(table, sample);
    kvr_csv_unsigned(table, 7);
    kvr_csv_unsigned(table, 1);
    kvr_csv_string(table, scorer);
    kvr_csv_unsigned(table, page_size);
    kvr_csv_string(table, "0.1");
    kvr_csv_unsigned(table, group->heads);
    kvr_csv_unsigned(table, group->quota);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        kvr_csv_exact(table, figures[i]);
    kvr_csv_end(table);
}

/* Reads the folder's tables; bounds.csv is `text`, which is released. */
static struct kvr_bounds_report report_of(struct kvr_text *text, uint64_t limit)
{
    struct kvr_bounds_report report;
    struct kvr_error err = KVR_ERROR_NONE;
    scratch_write("bounds.csv", text->data, text->length);
    kvr_text_free(text);
    if (kvr_bounds_report_read(scratch_path(""), limit, &report, &err) != KVR_OK)
        ck_abort_msg("%s", err.message);
    return report;
}

START_TEST(test_tallies_are_those_of_the_groups)
{
    struct kvr_random random = kvr_random_stream(4, 12);
    struct kvr_text table = {0};
    struct group group;
    double gaps = 0, worst = 0;
    uint64_t pairs = 0, twofold = 0;
    kvr_text_string(&table, header);
    for (int n = 0; n < 700; n++) {
        random_group(&group, n, &random);
        add_row(&table, n < 350 ? "0" : "1", n % 2 == 0 ? "last" : "window:8", 16, &group);
        gaps += group.uor - group.bounds.decaen_lower;
        worst = fmax(worst, group.uor - group.bounds.decaen_lower);
        pairs += group.heads == 2;
        twofold += group.uor >= 2;
    }
    struct kvr_bounds_report report = report_of(&table, 20);
    ck_assert_uint_eq(kvr_bounds_report_violations(&report), 0);
    ck_assert_uint_eq(report.all.cells, 700);
    ck_assert_uint_eq(report.samples.count, 2);
    ck_assert_uint_eq(report.traces.count, 1);
    ck_assert_uint_eq(report.pairs, pairs);
    ck_assert_double_le(report.pairs_worst, 1e-12);
    ck_assert_uint_eq(report.least_ratio, 2);
    ck_assert_uint_eq(report.most_ratio, MOST_HEADS);
    ck_assert_uint_eq(report.tally_count, 2);
    ck_assert_uint_eq(report.tallies[1].cells, 350);
    ck_assert_double_eq_tol(report.all.bounds[KVR_DECAEN_LOWER].gap_sum, gaps, 1e-9);
    ck_assert_double_eq(report.all.bounds[KVR_DECAEN_LOWER].gap_worst, worst);
    ck_assert_uint_eq(report.all.bounds[KVR_HUNTER_UPPER].tightest, 700);
    uint64_t counted = 0;
    for (size_t i = 0; i < report.certificate_count; i++) {
        const struct kvr_certificates *row = &report.certificates[i];
        counted += row->twofold;
        for (size_t b = 0; b < KVR_LOWER_BOUNDS; b++)
            ck_assert_uint_le(row->certified[b], row->twofold);
    }
    ck_assert_uint_eq(counted, twofold);
    kvr_bounds_report_free(&report);
}
END_TEST

/* A column that is changed, by how much, and which violations that must be. */
static const struct {
    const char *column;
    double change;
    uint64_t violated[KVR_VIOLATION_KINDS]; /* bound, identity, needle, table */
} breaks[] = {
    {"", 0, {0, 0, 0, 0}},
    {"bonferroni_lower", 5, {1, 0, 0, 1}},
    {"bonferroni_lower", -1e-8, {0, 0, 0, 1}},
    {"sandwich_lower", 5, {1, 0, 0, 1}},
    {"sandwich_lower", 1e-8, {0, 0, 0, 1}},
    {"sandwich_upper", -5, {1, 0, 0, 1}},
    {"cauchy_lower", 5, {1, 0, 0, 0}},
    {"decaen_lower", 5, {1, 0, 0, 0}},
    {"dawson_sankoff_lower", 5, {1, 0, 0, 0}},
    {"hunter_upper", -5, {1, 0, 0, 0}},
    {"uor", 0.01, {0, 0, 0, 1}}, /* no whole number of units */
};

START_TEST(test_a_broken_table_is_caught)
{
    struct kvr_random random = kvr_random_stream(4, 13);
    struct group group;
    struct kvr_text table = {0};
    make_group(&group, 6, 40, 6, &random);
    const struct {
        const char *column;
        double *value;
    } columns[] = {
        {"uor", &group.uor},
        {"bonferroni_lower", &group.bounds.bonferroni_lower},
        {"sandwich_lower", &group.bounds.sandwich_lower},
        {"sandwich_upper", &group.bounds.sandwich_upper},
        {"cauchy_lower", &group.bounds.cauchy_lower},
        {"decaen_lower", &group.bounds.decaen_lower},
        {"dawson_sankoff_lower", &group.bounds.dawson_sankoff_lower},
        {"hunter_upper", &group.bounds.hunter_upper},
    };
    kvr_text_string(&table, header);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i].column, breaks[_i].column) == 0)
            *columns[i].value += breaks[_i].change;
    add_row(&table, "s", "last", 1, &group);
    struct kvr_bounds_report report = report_of(&table, 20);
    for (size_t kind = 0; kind < KVR_VIOLATION_KINDS; kind++)
        ck_assert_uint_eq(report.violated[kind], breaks[_i].violated[kind]);
    for (size_t i = 0; i < report.listed; i++) {
        ck_assert_str_eq(report.violations[i].column, breaks[_i].column);
        ck_assert_str_eq(report.violations[i].sample, "s");
        ck_assert_uint_eq(report.violations[i].layer, 7);
        ck_assert_uint_eq(report.violations[i].line, 2);
    }
    kvr_bounds_report_free(&report);
}
END_TEST

/* J of one pair is I/(2k-I) exactly, so that the table's decimals must give the UOR to 1e-12. */
START_TEST(test_the_identity_is_checked)
{
    struct kvr_random random = kvr_random_stream(4, 14);
    struct group group;
    struct kvr_text table = {0};
    make_group(&group, 2, 37, 6, &random);
    kvr_text_string(&table, header);
    add_row(&table, "0", "last", 1, &group);
    group.overlap.jaccard_mean += 1e-10; /* too little for any other check */
    group.overlap.jaccard_most += 1e-10;
    add_row(&table, "0", "last", 1, &group);
    struct kvr_bounds_report report = report_of(&table, 20);
    ck_assert_uint_eq(report.pairs, 2);
    ck_assert_uint_eq(report.violated[KVR_VIOLATES_IDENTITY], 1);
    ck_assert_uint_eq(kvr_bounds_report_violations(&report), 1);
    ck_assert_uint_eq(report.violations[0].line, 3);
    kvr_bounds_report_free(&report);
}
END_TEST

START_TEST(test_one_vector_has_bounds_of_one)
{
    struct kvr_text table = {0};
    kvr_text_string(&table, header);
    kvr_text_string(&table, "t.h5,0,0,0,column:gate,1,0.1,3,10,1,,,1,1,1,1,1,1,1\n");
    kvr_text_string(&table, "t.h5,0,0,0,column:gate,1,0.2,3,10,1,,,1,1,1,1,1.5,1,1\n");
    struct kvr_bounds_report report = report_of(&table, 20);
    ck_assert_uint_eq(report.single, 2);
    ck_assert_uint_eq(report.all.cells, 0);
    ck_assert_uint_eq(report.violated[KVR_VIOLATES_TABLE], 1);
    ck_assert_str_eq(report.violations[0].column, "decaen_lower");
    kvr_bounds_report_free(&report);
}
END_TEST

START_TEST(test_violations_beyond_the_limit_are_counted)
{
    struct kvr_random random = kvr_random_stream(4, 15);
    struct group group;
    struct kvr_text table = {0};
    make_group(&group, 3, 10, 6, &random);
    group.bounds.hunter_upper = 0.5;
    kvr_text_string(&table, header);
    for (int n = 0; n < 9; n++)
        add_row(&table, "0", "last", 1, &group);
    struct kvr_bounds_report report = report_of(&table, 4);
    ck_assert_uint_eq(report.listed, 4);
    ck_assert_uint_eq(report.violated[KVR_VIOLATES_BOUND], 9);
    ck_assert_uint_eq(report.all.bounds[KVR_HUNTER_UPPER].violated, 9);
    kvr_bounds_report_free(&report);
}
END_TEST

START_TEST(test_needle_bounds)
{
    struct kvr_text table = {0};
    static const char rows[] = "t.h5,0,0,0,last,0,1,20,0.5,1,0,0.4,0.3,1\n"
                               "t.h5,0,0,1,last,0,1,20,0.5,1,0,0.2,0.3,0\n"
                               "t.h5,0,0,2,last,0,1,20,0.5,1,0,0.1,0.1,0\n"
                               "t.h5,0,0,0,column:x,0,1,20,0.5,1,0,-0.2,0.1,0\n";
    char premises[1024];
    snprintf(premises, sizeof premises, "%s%s", premises_header, rows);
    scratch_write("premises.csv", premises, strlen(premises));
    scratch_write("excluded.csv", "heads\n1\n3\n", 10);
    kvr_text_string(&table, header);
    struct kvr_bounds_report report = report_of(&table, 20);
    ck_assert_uint_eq(report.excluded, 2);
    ck_assert_uint_eq(report.needle_count, 2);
    ck_assert_uint_eq(report.needles[0].rows, 3);
    ck_assert_uint_eq(report.needles[0].held, 2);
    ck_assert_uint_eq(report.needles[0].binding, 2);
    ck_assert_double_eq_tol(report.needles[0].least_margin, -0.1, 1e-12);
    ck_assert(!report.needles[0].signed_scores && report.needles[1].signed_scores);
    ck_assert_uint_eq(report.violated[KVR_VIOLATES_NEEDLE], 1);
    ck_assert_uint_eq(report.violated[KVR_VIOLATES_TABLE], 1); /* holds is 0, and it does hold */
    ck_assert_uint_eq(report.beyond_theorem, 1);
    ck_assert_uint_eq(report.listed, 3);
    ck_assert_ptr_null(report.violations[0].budget);
    kvr_bounds_report_free(&report);
}
END_TEST

START_TEST(test_rows_that_cannot_be)
{
    static const struct {
        const char *row, *message;
    } cases[] = {
        {"t,0,0,0,last,1,0.1,3,0,1,0.5,0.5,1,1,1,1,1,1,1\n",
         "bounds.csv\": line 2, column quota: expected at least 1 beside a j_mean, found 0"},
        {"t,0,0,0,last,1,0.1,1,9,1,0.5,0.5,1,1,1,1,1,1,1\n",
         "bounds.csv\": line 2, column ratio: expected at least 2 beside a j_mean, found 1"},
        {"t,0,0,0,last,1,0.1,3,9,1,0.5,,1,1,1,1,1,1,1\n",
         "bounds.csv\": line 2, column j_max: expected a number beside a j_mean, found nothing"},
    };
    struct kvr_bounds_report report;
    struct kvr_error err = KVR_ERROR_NONE;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char table[1024];
        snprintf(table, sizeof table, "%s%s", header, cases[i].row);
        scratch_write("bounds.csv", table, strlen(table));
        ck_assert_int_eq(kvr_bounds_report_read(scratch_path(""), 20, &report, &err),
                         KVR_BAD_INPUT);
        ck_assert_ptr_nonnull(strstr(err.message, cases[i].message));
        kvr_bounds_report_free(&report);
    }
}
END_TEST

Suite *kvr_suite_bounds_report(void)
{
    Suite *suite = suite_create("bounds_report");
    TCase *bounds = tcase_create("bounds");
    tcase_add_test(bounds, test_no_adversarial_group_violates_a_bound);
    tcase_add_test(bounds, test_a_broken_bound_is_caught);
    tcase_add_test(bounds, test_golden_thresholds);
    tcase_add_test(bounds, test_thresholds_are_those_of_the_bounds);
    suite_add_tcase(suite, bounds);

    TCase *report = tcase_create("report");
    tcase_add_checked_fixture(report, scratch_setup, scratch_teardown);
    tcase_add_test(report, test_tallies_are_those_of_the_groups);
    tcase_add_loop_test(report, test_a_broken_table_is_caught, 0,
                        (int)(sizeof breaks / sizeof *breaks));
    tcase_add_test(report, test_the_identity_is_checked);
    tcase_add_test(report, test_one_vector_has_bounds_of_one);
    tcase_add_test(report, test_violations_beyond_the_limit_are_counted);
    tcase_add_test(report, test_needle_bounds);
    tcase_add_test(report, test_rows_that_cannot_be);
    suite_add_tcase(suite, report);
    return suite;
}
