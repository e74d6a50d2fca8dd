/*
 * Comparing policies: thousands of figures of random tables against the definitions written out,
 * then the interval, and what a pair is.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "formats/base/random.h"
#include "tests/compare_fixture.h"
#include "tests/scratch.h"
#include "tests/suites.h"

enum { SAMPLES = 4, LAYERS = 3, GROUPS = 2, POLICIES = 4, SIZES = 2, BUDGETS = 2 };
enum { ROWS = SAMPLES * LAYERS * GROUPS * POLICIES * SIZES * BUDGETS };

static const char *const sample_names[SAMPLES] = {"0", "1", "10", "x"};
static const char *const policy_names[POLICIES] = {"mean", "random", "snapkv", "clairvoyant"};
static const unsigned layer_numbers[LAYERS] = {7, 0, 12}, sizes[SIZES] = {1, 16};
static const char *const budgets[BUDGETS] = {"0.1", "0.5"};

/* A table in memory: rows[…], those of them that are there. */
struct table {
    struct compare_row rows[ROWS];
    bool present[ROWS];
};

static size_t row_index(size_t s, size_t l, size_t g, size_t p, size_t z, size_t b)
{
    return ((((s * LAYERS + l) * GROUPS + g) * POLICIES + p) * SIZES + z) * BUDGETS + b;
}

/* One of few values, so that ties occur. */
static double draw_share(struct kvr_random *random)
{
    return (double)kvr_random_below(random, 8) / 7;
}

static double absent_or(struct kvr_random *random, double value)
{
    return kvr_random_below(random, 6) == 0 ? NAN : value;
}

static void make_needles(struct kvr_random *random, size_t s, size_t l, struct compare_row *row)
{
    for (unsigned n = 0; n < COMPARE_NEEDLES; n++)
        row->needles[n] = (struct compare_needle_row){
            .held = s != 2 && (n == 0 || l != 1), /* one sample has none, one layer lacks one */
            .start = (unsigned)(s * 25 + n * 40) % COMPARE_PROMPT,
            .fraction = draw_share(random),
            .future = draw_share(random),
            .weight = absent_or(random, 0.1 + kvr_random_uniform(random)),
        };
}

static void make_row(struct kvr_random *random, const size_t at[6], struct compare_row *row)
{
    *row = compare_row_of(sample_names[at[0]], layer_numbers[at[1]], (unsigned)at[2],
                          policy_names[at[3]]);
    row->trace = at[0] < 2 ? "a.h5" : "b.h5";
    row->scorer = at[3] == 0 ? "last" : "window:4";
    row->page_size = sizes[at[4]];
    row->budget = budgets[at[5]];
    unsigned due = at[4] == 0 ? (at[5] == 0 ? 10 : 50) : (at[5] == 0 ? 1 : 3);
    row->selected = due;
    row->kept_tokens = due * row->page_size - (unsigned)kvr_random_below(random, 2);
    row->retained_mass = absent_or(random, draw_share(random));
    row->future_mass = absent_or(random, draw_share(random));
    row->future_weight = 1 + kvr_random_uniform(random);
    row->future_peak = absent_or(random, draw_share(random));
    row->peak_weight = kvr_random_uniform(random);
    row->output_error = absent_or(random, draw_share(random));
    make_needles(random, at[0], at[1], row);
}

static void make_table(struct kvr_random *random, struct table *table)
{
    size_t at[6];
    for (at[0] = 0; at[0] < SAMPLES; at[0]++)
        for (at[1] = 0; at[1] < LAYERS; at[1]++)
            for (at[2] = 0; at[2] < GROUPS; at[2]++)
                for (at[3] = 0; at[3] < POLICIES; at[3]++)
                    for (at[4] = 0; at[4] < SIZES; at[4]++)
                        for (at[5] = 0; at[5] < BUDGETS; at[5]++) {
                            size_t i = row_index(at[0], at[1], at[2], at[3], at[4], at[5]);
                            make_row(random, at, &table->rows[i]);
                            table->present[i] = true;
                        }
    for (size_t s = 0; s < SAMPLES; s++) /* a group that a scorer excludes has no row at all */
        for (size_t l = 0; l < LAYERS; l++)
            for (size_t p = 0; p < POLICIES; p++) {
                bool excluded = kvr_random_below(random, 8) == 0;
                for (size_t k = 0; k < SIZES * BUDGETS && excluded; k++)
                    table->present[row_index(s, l, 1, p, k / BUDGETS, k % BUDGETS)] = false;
            }
}

/* ------------------------------------------------------------------------------ definitions */

/* The value and the weight of a row under a measure; weight 0: it has none. */
static void value_of(const struct compare_row *row, enum kvr_metric metric, size_t needle,
                     double *value, double *weight)
{
    const struct compare_needle_row *own = &row->needles[needle];
    const double values[KVR_METRICS] = {
        [KVR_METRIC_FUTURE_PEAK] = row->future_peak,
        [KVR_METRIC_FUTURE_MASS] = row->future_mass,
        [KVR_METRIC_NEEDLE] = own->held ? own->fraction >= 1 : NAN,
        [KVR_METRIC_NEEDLE_FUTURE] = own->held && !isnan(own->weight) ? own->future : NAN,
        [KVR_METRIC_OUTPUT_ERROR] = row->output_error,
        [KVR_METRIC_RETAINED_MASS] = row->retained_mass,
    };
    const double weights[KVR_METRICS] = {
        [KVR_METRIC_FUTURE_PEAK] = row->peak_weight,
        [KVR_METRIC_FUTURE_MASS] = row->future_weight,
        [KVR_METRIC_NEEDLE] = 1,
        [KVR_METRIC_NEEDLE_FUTURE] = own->weight,
        [KVR_METRIC_OUTPUT_ERROR] = 1,
        [KVR_METRIC_RETAINED_MASS] = 1,
    };
    *value = values[metric];
    *weight = isnan(*value) ? 0 : weights[metric];
}

static bool of_needles(enum kvr_metric metric)
{
    return metric == KVR_METRIC_NEEDLE || metric == KVR_METRIC_NEEDLE_FUTURE;
}

/* Policy p pooled over a sample, only where policy q (POLICIES: none) has a value too, and only in
   layer `only` (LAYERS: all). */
struct setting {
    const struct table *table;
    enum kvr_metric metric;
    size_t p, q, only, z, b;
};

/* Pooled over the sample's rows, of one needle (COMPARE_NEEDLES: of all, or no needles). */
static double pool(const struct setting *by, size_t s, size_t needle)
{
    double sum = 0, weights = 0;
    size_t needles = of_needles(by->metric) ? COMPARE_NEEDLES : 1;
    for (size_t l = 0; l < LAYERS; l++)
        for (size_t g = 0; g < GROUPS; g++)
            for (size_t n = 0; n < needles; n++) {
                size_t i = row_index(s, l, g, by->p, by->z, by->b), other = i;
                if (by->q < POLICIES)
                    other = row_index(s, l, g, by->q, by->z, by->b);
                if ((by->only < LAYERS && l != by->only) || (needle < needles && n != needle) ||
                    !by->table->present[i] || !by->table->present[other])
                    continue;
                double value, weight, unused, other_weight;
                value_of(&by->table->rows[i], by->metric, n, &value, &weight);
                value_of(&by->table->rows[other], by->metric, n, &unused, &other_weight);
                if (weight > 0 && other_weight > 0) {
                    sum += value * weight;
                    weights += weight;
                }
            }
    return weights > 0 ? sum / weights : NAN;
}

/* A sample's value: needles kept are pooled one by one and then averaged. */
static double sample_value(const struct setting *by, size_t s)
{
    if (by->metric != KVR_METRIC_NEEDLE)
        return pool(by, s, COMPARE_NEEDLES);
    double sum = 0;
    int count = 0;
    for (size_t n = 0; n < COMPARE_NEEDLES; n++) {
        double value = pool(by, s, n);
        if (!isnan(value)) {
            sum += value;
            count++;
        }
    }
    return count > 0 ? sum / count : NAN;
}

/* The mean over samples of p's value, or of p's minus q's. */
static double mean_over_samples(struct setting by, unsigned *samples)
{
    double sum = 0;
    *samples = 0;
    for (size_t s = 0; s < SAMPLES; s++) {
        double value = sample_value(&by, s);
        if (by.q < POLICIES) {
            struct setting other = by;
            other.p = by.q;
            other.q = by.p;
            value -= sample_value(&other, s);
        }
        if (!isnan(value)) {
            sum += value;
            (*samples)++;
        }
    }
    return *samples > 0 ? sum / *samples : NAN;
}

static void assert_close(double found, double expected)
{
    if (isnan(expected))
        ck_assert_msg(isnan(found), "found %.17g, expected nothing", found);
    else
        ck_assert_msg(fabs(found - expected) <= 1e-12, "found %.17g, expected %.17g", found,
                      expected);
}

/* ------------------------------------------------------------------------------ against them */

static void check_counts(const struct setting *by, const struct kvr_compared *compared)
{
    double sign = by->metric == KVR_METRIC_OUTPUT_ERROR ? -1 : 1;
    size_t needles = of_needles(by->metric) ? COMPARE_NEEDLES : 1;
    unsigned wins = 0, ties = 0, losses = 0;
    for (size_t k = 0; k < SAMPLES * LAYERS * GROUPS * needles; k++) {
        size_t cell = k / needles, n = k % needles, s = cell / (LAYERS * GROUPS),
               l = cell / GROUPS % LAYERS, g = cell % GROUPS;
        size_t i = row_index(s, l, g, by->p, by->z, by->b);
        size_t j = row_index(s, l, g, by->q, by->z, by->b);
        double a, a_weight, b, b_weight;
        value_of(&by->table->rows[i], by->metric, n, &a, &a_weight);
        value_of(&by->table->rows[j], by->metric, n, &b, &b_weight);
        if (!by->table->present[i] || !by->table->present[j] || !(a_weight > 0) || !(b_weight > 0))
            continue;
        wins += sign * a > sign * b;
        losses += sign * a < sign * b;
        ties += fabs(a - b) <= 0;
    }
    ck_assert_uint_eq(compared->wins, wins);
    ck_assert_uint_eq(compared->ties, ties);
    ck_assert_uint_eq(compared->losses, losses);
}

static void check_layers(struct setting by, const struct kvr_compared *compared)
{
    static const size_t ascending[LAYERS] = {1, 0, 2};
    double sign = by.metric == KVR_METRIC_OUTPUT_ERROR ? -1 : 1;
    size_t lost = 0, known = 0;
    for (size_t k = 0; k < LAYERS; k++) {
        unsigned samples;
        by.only = ascending[k];
        double difference = sign * mean_over_samples(by, &samples);
        known += samples > 0;
        if (fabs(difference) < 1e-12) { /* rounding decides: both answers will do */
            lost += lost < compared->losing_count &&
                    compared->losing_layers[lost] == layer_numbers[by.only];
        } else if (difference < 0) {
            ck_assert_uint_lt(lost, compared->losing_count);
            ck_assert_uint_eq(compared->losing_layers[lost++], layer_numbers[by.only]);
        }
    }
    ck_assert_uint_eq(compared->layer_count, known);
    ck_assert_uint_eq(compared->losing_count, lost);
}

static void check_pair(struct setting by, const struct kvr_compared *compared)
{
    unsigned samples;
    double difference = mean_over_samples(by, &samples);
    ck_assert_int_eq(compared->pairing, samples > 0 ? KVR_PAIRED : KVR_PAIR_NOTHING);
    ck_assert_uint_eq(compared->difference.samples, samples);
    assert_close(compared->difference.estimate, difference);
    ck_assert(isnan(compared->difference.low) == (samples < 3));
    if (samples >= 3) {
        ck_assert_double_le(compared->difference.low, difference + 1e-12);
        ck_assert_double_ge(compared->difference.high, difference - 1e-12);
    }
    if (samples > 0) {
        check_counts(&by, compared);
        check_layers(by, compared);
    }
}

/* Any and strict: a needle kept whole in one of the cells that hold it, in every one. */
static void check_needles(const struct setting *by, const struct kvr_compared *compared)
{
    double any = 0, strict = 0;
    unsigned samples = 0;
    for (size_t s = 0; s < SAMPLES; s++) {
        double sample_any = 0, sample_strict = 0;
        unsigned needles = 0;
        for (size_t n = 0; n < COMPARE_NEEDLES; n++) {
            struct setting needle = *by;
            needle.metric = KVR_METRIC_NEEDLE;
            double share = pool(&needle, s, n);
            needles += isnan(share) ? 0 : 1;
            sample_any += share > 0;
            sample_strict += share >= 1;
        }
        if (needles > 0) {
            any += sample_any / needles;
            strict += sample_strict / needles;
            samples++;
        }
    }
    assert_close(compared->needle_any, any / samples);
    assert_close(compared->needle_strict, strict / samples);
}

static void check_memory(const struct setting *by, const struct kvr_compared *compared)
{
    double tokens = 0;
    unsigned cells = 0, samples = 0;
    for (size_t s = 0; s < SAMPLES; s++) {
        unsigned before = cells;
        for (size_t k = 0; k < LAYERS * GROUPS; k++) {
            size_t i = row_index(s, k / GROUPS, k % GROUPS, by->p, by->z, by->b);
            if (by->table->present[i]) {
                tokens += by->table->rows[i].kept_tokens;
                cells++;
            }
        }
        samples += cells > before;
    }
    ck_assert_uint_eq(compared->cells, cells);
    assert_close(compared->memory, 1);
    assert_close(compared->tokens, tokens / cells);
    assert_close(compared->bytes, 2 * 3 * 64 * tokens / samples); /* 3 bytes an element */
}

static void check_comparison(const struct table *table, const struct kvr_comparison *comparison)
{
    ck_assert_uint_eq(comparison->use_count, POLICIES);
    ck_assert_uint_eq(comparison->baseline, 1); /* random */
    ck_assert_uint_eq(comparison->ceiling, 3);
    ck_assert_uint_eq(comparison->token_bytes, 2 * 3 * 64);
    for (size_t k = 0; k < POLICIES * SIZES * BUDGETS; k++) {
        size_t p = k / (SIZES * BUDGETS), z = k / BUDGETS % SIZES, b = k % BUDGETS;
        const struct kvr_compared *compared = kvr_compared_at(comparison, z, p, b);
        struct setting by = {table, comparison->metric, p, POLICIES, LAYERS, z, b};
        unsigned samples;
        ck_assert(compared->present);
        check_memory(&by, compared);
        check_needles(&by, compared);
        for (unsigned m = 0; m < KVR_METRICS; m++) {
            by.metric = (enum kvr_metric)m;
            assert_close(compared->means[m], mean_over_samples(by, &samples));
            if (by.metric == comparison->metric)
                ck_assert_uint_eq(compared->samples, samples);
        }
        by.metric = comparison->metric;
        by.q = 3;
        double regret = mean_over_samples(by, &samples);
        assert_close(compared->regret, by.metric == KVR_METRIC_OUTPUT_ERROR ? regret : -regret);
        by.q = 1;
        if (p == 1)
            ck_assert_int_eq(compared->pairing, KVR_PAIR_BASELINE);
        else
            check_pair(by, compared);
    }
}

START_TEST(test_random_tables)
{
    static struct table table;
    static struct compare_row rows[ROWS];
    const char *folder = scratch_path("tables");
    struct compare_run run = compare_run_default;
    run.head_dim = 64;
    for (unsigned round = 0; round < 12; round++) {
        struct kvr_random random = kvr_random_stream(11, round);
        size_t count = 0;
        make_table(&random, &table);
        for (size_t i = 0; i < ROWS; i++)
            if (table.present[i])
                rows[count++] = table.rows[i];
        compare_folder_write(folder, rows, count, &run);
        struct kvr_compare_options options = {
            .metric = (enum kvr_metric)(round % KVR_METRICS),
            .bootstrap = kvr_bootstrap_default(),
            .element_bytes = 3,
        };
        options.bootstrap.draws = 200;
        struct kvr_comparison comparison;
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_msg(kvr_compare(&folder, 1, &options, &comparison, &err) == KVR_OK, "%s",
                      err.message);
        ck_assert_uint_eq(comparison.metric, options.metric);
        check_comparison(&table, &comparison);
        kvr_comparison_free(&comparison);
    }
}
END_TEST

Suite *kvr_suite_compare(void)
{
    Suite *suite = suite_create("compare");
    TCase *all = tcase_create("compare");
    tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
    tcase_add_test(all, test_random_tables);
    suite_add_tcase(suite, all);
    return suite;
}
