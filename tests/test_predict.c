/*
 * Predictions: random tables and live figures against the definitions written out the slow way,
 * intervals included.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "tests/predict_fixture.h"
#include "tests/scratch.h"
#include "tests/suites.h"

/* ------------------------------------------------------------------------------ definitions */

struct mean {
    double sum, weight;
};

static void add(struct mean *mean, double value, double weight)
{
    if (isnan(value) || isnan(weight))
        return;
    mean->sum += value * weight;
    mean->weight += weight;
}

static double value_of(const struct mean *mean)
{
    return mean->weight > 0 ? mean->sum / mean->weight : NAN;
}

static double needle_share(size_t s, size_t setting)
{
    struct mean over_needles = {0};
    for (size_t n = 0; n < COMPARE_NEEDLES; n++) {
        struct mean whole = {0};
        for (size_t c = 0; c < LAYERS * GROUPS; c++) {
            size_t i = (s * LAYERS * GROUPS + c) * SETTINGS + setting;
            if (row_present[i] && rows[i].needles[n].held)
                add(&whole, rows[i].needles[n].fraction >= 1, 1);
        }
        add(&over_needles, value_of(&whole), 1);
    }
    return value_of(&over_needles);
}

/* What a row adds to a measure; of needles, the one with this number. */
static void add_row(struct mean *mean, const struct compare_row *row, enum kvr_predictor predictor)
{
    switch (predictor) {
    case KVR_BY_FUTURE_PEAK_POOLED:
        add(mean, row->future_peak, row->peak_weight);
        break;
    case KVR_BY_FUTURE_PEAK:
        add(mean, row->future_peak, 1);
        break;
    case KVR_BY_FUTURE_MASS_POOLED:
        add(mean, row->future_mass, row->future_weight);
        break;
    case KVR_BY_FUTURE_MASS:
        add(mean, row->future_mass, 1);
        break;
    case KVR_BY_NEEDLE_FUTURE_POOLED:
    case KVR_BY_NEEDLE_FUTURE:
        for (size_t n = 0; n < COMPARE_NEEDLES; n++)
            if (row->needles[n].held)
                add(mean, row->needles[n].future,
                    predictor == KVR_BY_NEEDLE_FUTURE ? 1 : row->needles[n].weight);
        break;
    case KVR_BY_OUTPUT_ERROR:
        add(mean, row->output_error, 1);
        break;
    case KVR_BY_RETAINED_MASS:
        add(mean, row->retained_mass, 1);
        break;
    case KVR_BY_KEPT_BYTES:
        mean->sum += row->kept_tokens;
        mean->weight = 1;
        break;
    case KVR_BY_NEEDLE:
    case KVR_PREDICTORS:
        break;
    }
}

static double offline(size_t s, size_t setting, enum kvr_predictor predictor)
{
    struct mean mean = {0};
    if (predictor == KVR_BY_NEEDLE)
        return needle_share(s, setting);
    for (size_t c = 0; c < LAYERS * GROUPS; c++) {
        size_t i = (s * LAYERS * GROUPS + c) * SETTINGS + setting;
        if (row_present[i])
            add_row(&mean, &rows[i], predictor);
    }
    return value_of(&mean);
}

static double live_of(size_t s, size_t setting, enum kvr_live live)
{
    const struct live_row *row = &lives[s][setting];
    if (!row->present)
        return NAN;
    return live == KVR_LIVE_RIGHT  ? row->right
           : live == KVR_LIVE_LOSS ? row->logprob_full - row->logprob
                                   : row->kl;
}

/* Settings of one ranking: of a page size (SIZES: all) and a budget (BUDGETS: all). */
struct ranked {
    size_t count, settings[SETTINGS];
};

static struct ranked ranked_of(size_t size, size_t budget, bool equal)
{
    struct ranked ranked = {0};
    for (size_t i = 0; i < SETTINGS; i++) {
        bool more = i / (SIZES * BUDGETS) == 0 && i % BUDGETS == 0; /* twice the budget */
        if ((size == SIZES || i / BUDGETS % SIZES == size) &&
            (budget == BUDGETS || i % BUDGETS == budget) && !(equal && more))
            ranked.settings[ranked.count++] = i;
    }
    return ranked;
}

/* What is asked: a measure, or the difference of two. */
struct question {
    size_t measures;
    enum kvr_predictor by[2];
    enum kvr_live live;
};

static bool has_both(const struct question *question, size_t s, size_t setting)
{
    bool has = !isnan(live_of(s, setting, question->live));
    for (size_t m = 0; m < question->measures; m++)
        has = has && !isnan(offline(s, setting, question->by[m]));
    return has;
}

/* Settings with less than half of the most samples go, then samples that some setting lacks. */
static size_t choose(const struct question *question, struct ranked *groups, size_t group_count,
                     size_t samples[SAMPLES])
{
    size_t most = 0, count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t g = 0; g < group_count; g++) {
            struct ranked left = {0};
            for (size_t i = 0; i < groups[g].count; i++) {
                size_t have = 0, setting = groups[g].settings[i];
                for (size_t s = 0; s < SAMPLES; s++)
                    have += has_both(question, s, setting);
                most = have > most ? have : most;
                if (have > 0 && 2 * have >= most)
                    left.settings[left.count++] = setting;
            }
            if (pass == 1)
                groups[g] = left;
        }
    for (size_t s = 0; s < SAMPLES; s++) {
        bool all = true;
        size_t settings = 0;
        for (size_t g = 0; g < group_count; g++)
            for (size_t i = 0; i < groups[g].count; i++, settings++)
                all = all && has_both(question, s, groups[g].settings[i]);
        if (all && settings > 0)
            samples[count++] = s;
    }
    return count;
}

/* Twice the mid-rank by counting; means that differ by rounding tie. */
static double rank_of(const double *values, size_t count, size_t i)
{
    double rank = 1;
    for (size_t j = 0; j < count; j++) {
        double near = 1e-11 * fmax(fabs(values[i]), fabs(values[j]));
        bool tie = fabs(values[i] - values[j]) <= near;
        rank += tie ? (j == i ? 0 : 0.5) : values[j] < values[i];
    }
    return rank;
}

static double correlate(const double *x, const double *y, size_t count)
{
    double xx = 0, yy = 0, xy = 0, middle = ((double)count + 1) / 2;
    if (count < 3)
        return NAN;
    for (size_t i = 0; i < count; i++) {
        double a = rank_of(x, count, i) - middle, b = rank_of(y, count, i) - middle;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* The mean over groups of rho (or of the difference) of means over `drawn` samples. */
static double slow_rho(const struct question *question, const struct ranked *groups,
                       size_t group_count, const size_t *drawn, size_t count)
{
    struct mean over_groups = {0};
    for (size_t g = 0; g < group_count; g++) {
        double by[2][SETTINGS], live[SETTINGS], rho = 0;
        for (size_t i = 0; i < groups[g].count; i++) {
            size_t setting = groups[g].settings[i];
            struct mean means[3] = {{0}};
            for (size_t s = 0; s < count; s++) {
                for (size_t m = 0; m < question->measures; m++)
                    add(&means[m], offline(drawn[s], setting, question->by[m]), 1);
                add(&means[2], live_of(drawn[s], setting, question->live), 1);
            }
            for (size_t m = 0; m < question->measures; m++)
                by[m][i] = value_of(&means[m]) * (question->by[m] == KVR_BY_OUTPUT_ERROR ? -1 : 1);
            live[i] = value_of(&means[2]) * (question->live == KVR_LIVE_RIGHT ? 1 : -1);
        }
        for (size_t m = 0; m < question->measures; m++)
            rho += (m == 0 ? 1 : -1) * correlate(by[m], live, groups[g].count);
        add(&over_groups, rho, 1);
    }
    return value_of(&over_groups);
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Draws as bootstrap.h says: a stream for (seed, samples), a sample by the upper half of 64 bits.
 */
static void slow_interval(const struct question *question, const struct ranked *groups,
                          size_t group_count, const size_t *samples, size_t count,
                          struct kvr_interval *interval)
{
    double values[DRAWS];
    size_t there = 0, drawn[SAMPLES];
    *interval = (struct kvr_interval){count, NAN, NAN, NAN};
    if (count > 0)
        interval->estimate = slow_rho(question, groups, group_count, samples, count);
    if (count < 3 || isnan(interval->estimate))
        return;
    struct kvr_random random = kvr_random_stream(0, count);
    for (int d = 0; d < DRAWS; d++) {
        for (size_t i = 0; i < count; i++)
            drawn[i] = samples[((kvr_random_bits(&random) >> 32) * count) >> 32];
        double rho = slow_rho(question, groups, group_count, drawn, count);
        if (!isnan(rho))
            values[there++] = rho;
    }
    if (there < 0.95 * DRAWS)
        return;
    qsort(values, there, sizeof *values, ascending);
    double ends[2];
    for (int end = 0; end < 2; end++) {
        double place = (end == 0 ? 0.025 : 0.975) * (double)(there - 1);
        size_t below = (size_t)place;
        double above = below + 1 < there ? values[below + 1] : values[below];
        ends[end] = values[below] + (place - (double)below) * (above - values[below]);
    }
    interval->low = ends[0];
    interval->high = ends[1];
}

/* ------------------------------------------------------------------------------ figures */

static void same(double found, double expected, const char *what)
{
    ck_assert_msg(isnan(found) == isnan(expected), "%s: %g, expected %g", what, found, expected);
    if (!isnan(expected))
        ck_assert_msg(fabs(found - expected) < 1e-9, "%s: %.12g, expected %.12g", what, found,
                      expected);
}

static void same_interval(const struct kvr_interval *found, const struct kvr_interval *expected,
                          const char *what)
{
    ck_assert_msg(found->samples == expected->samples, "%s: %zu samples, expected %zu", what,
                  found->samples, expected->samples);
    same(found->estimate, expected->estimate, what);
    same(found->low, expected->low, what);
    same(found->high, expected->high, what);
}

/* The groups of a scope; returns how many. */
static size_t groups_of(enum kvr_predict_scope scope, size_t size, size_t budget,
                        struct ranked groups[BUDGETS])
{
    bool equal = scope == KVR_EQUAL_MEMORY || scope == KVR_EQUAL_MEMORY_BUDGET;
    if (scope == KVR_OVER_ALL) {
        groups[0] = ranked_of(size, BUDGETS, false);
        return 1;
    }
    if (scope == KVR_WITHIN_BUDGET || scope == KVR_EQUAL_MEMORY_BUDGET) {
        groups[0] = ranked_of(size, budget, equal);
        return 1;
    }
    for (size_t b = 0; b < BUDGETS; b++)
        groups[b] = ranked_of(size, b, equal);
    return BUDGETS;
}

static size_t check_scope(const struct kvr_predict_section *section, size_t size,
                          enum kvr_predict_scope scope, size_t budget)
{
    size_t figures = 0;
    for (unsigned p = 0; p < KVR_PREDICTORS; p++)
        for (unsigned f = 0; f < KVR_LIVES; f++) {
            const struct question question = {1, {(enum kvr_predictor)p}, (enum kvr_live)f};
            struct ranked groups[BUDGETS];
            size_t samples[SAMPLES], settings = 0;
            size_t group_count = groups_of(scope, size, budget, groups);
            size_t count = choose(&question, groups, group_count, samples);
            struct kvr_interval expected;
            char what[120];
            slow_interval(&question, groups, group_count, samples, count, &expected);
            const struct kvr_correlation *found =
                kvr_correlation_at(section, kvr_scope_index(section, scope, budget),
                                   (enum kvr_predictor)p, (enum kvr_live)f);
            snprintf(what, sizeof what, "size %zu, scope %d, budget %zu, %s, %s", size, scope,
                     budget, kvr_predictors[p].heading, kvr_lives[f].name);
            for (size_t g = 0; g < group_count; g++)
                settings += groups[g].count;
            ck_assert_msg(found->settings == settings, "%s: %zu settings, expected %zu", what,
                          found->settings, settings);
            same_interval(&found->rho, &expected, what);
            figures += isnan(expected.low) ? 0 : 1;
        }
    return figures;
}

/* Every scope of every section, for random tables; most have an interval. */
START_TEST(test_correlations_are_the_definitions)
{
    struct kvr_prediction prediction;
    struct kvr_predict_options options = default_options();
    size_t figures = 0;
    options.threads = 1 + (unsigned)_i;
    make_tables((uint64_t)_i);
    write_tables();
    must_predict(&options, &prediction);
    ck_assert_uint_eq(prediction.section_count, SIZES + 1);
    for (size_t z = 0; z <= SIZES; z++) {
        const struct kvr_predict_section *section = &prediction.sections[z];
        ck_assert(section->mixed == (z == SIZES));
        figures += check_scope(section, z, KVR_OVER_ALL, 0);
        figures += check_scope(section, z, KVR_WITHIN_BUDGETS, 0);
        figures += check_scope(section, z, KVR_EQUAL_MEMORY, 0);
        for (size_t b = 0; b < BUDGETS; b++) {
            figures += check_scope(section, z, KVR_WITHIN_BUDGET, b);
            figures += check_scope(section, z, KVR_EQUAL_MEMORY_BUDGET, b);
        }
    }
    ck_assert_uint_gt(figures, 300);
    kvr_prediction_free(&prediction);
}
END_TEST

/* The best is the highest rho; its lead is over the samples of both. */
START_TEST(test_what_ranks_best)
{
    struct kvr_prediction prediction;
    struct kvr_predict_options options = default_options();
    make_tables(9);
    write_tables();
    must_predict(&options, &prediction);
    for (size_t z = 0; z <= SIZES; z++)
        for (unsigned f = 0; f < KVR_LIVES; f++) {
            const struct kvr_predict_section *section = &prediction.sections[z];
            const struct kvr_best *best = &section->best[f];
            ck_assert_int_eq(best->scope, KVR_EQUAL_MEMORY);
            size_t scope = kvr_scope_index(section, best->scope, 0), above = 0, above_second = 0;
            double first =
                kvr_correlation_at(section, scope, best->best, (enum kvr_live)f)->rho.estimate;
            double second =
                kvr_correlation_at(section, scope, best->second, (enum kvr_live)f)->rho.estimate;
            for (unsigned p = 0; p < KVR_PREDICTORS; p++) {
                double rho =
                    kvr_correlation_at(section, scope, (enum kvr_predictor)p, (enum kvr_live)f)
                        ->rho.estimate;
                above += rho > first;
                above_second += rho > second;
            }
            ck_assert_uint_eq(above, 0);
            ck_assert_uint_le(above_second, 1);
            const struct question question = {2, {best->best, best->second}, (enum kvr_live)f};
            struct ranked groups[BUDGETS];
            size_t samples[SAMPLES];
            size_t group_count = groups_of(best->scope, z, 0, groups);
            size_t count = choose(&question, groups, group_count, samples);
            struct kvr_interval expected;
            slow_interval(&question, groups, group_count, samples, count, &expected);
            same_interval(&best->lead, &expected, "lead");
        }
    kvr_prediction_free(&prediction);
}
END_TEST

/* A pair is over the samples that both have; its difference is left - right. */
START_TEST(test_policies_are_paired)
{
    struct kvr_prediction prediction;
    struct kvr_predict_options options = default_options();
    make_tables(3);
    write_tables();
    must_predict(&options, &prediction);
    ck_assert_uint_eq(prediction.pair_count, SIZES * BUDGETS * POLICIES * (POLICIES - 1) / 2);
    for (size_t i = 0; i < prediction.pair_count; i++)
        for (unsigned f = 0; f < KVR_LIVES; f++) {
            const struct kvr_live_pair *pair = &prediction.pairs[i];
            struct mean mean = {0};
            for (size_t s = 0; s < SAMPLES; s++)
                add(&mean,
                    live_of(s, pair->left, (enum kvr_live)f) -
                        live_of(s, pair->right, (enum kvr_live)f),
                    1);
            ck_assert_uint_eq(pair->difference[f].samples, (size_t)mean.weight);
            same(pair->difference[f].estimate, value_of(&mean), "difference");
        }
    kvr_prediction_free(&prediction);
}
END_TEST

Suite *kvr_suite_predict(void)
{
    Suite *suite = suite_create("predict");
    TCase *figures = tcase_create("figures");
    tcase_add_checked_fixture(figures, scratch_setup, scratch_teardown);
    tcase_set_timeout(figures, 120);
    tcase_add_loop_test(figures, test_correlations_are_the_definitions, 0, 2);
    tcase_add_test(figures, test_what_ranks_best);
    tcase_add_test(figures, test_policies_are_paired);
    suite_add_tcase(suite, figures);
    return suite;
}
