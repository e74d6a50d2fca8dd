/*
 * Ablations against definitions written out: two groups of a layer, made by hand, go through the
 * observer, and every tally is compared with sums made the long way.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ablation.h"
#include "formats/base/random.h"
#include "tests/made_cell.h"
#include "tests/suites.h"

enum { HEADS = 3, COUNT = 57, GROUPS = 2, FIRST_NEEDLE = 20, END_NEEDLE = 23 };

static const char *const tau_labels[] = {"0.1", "0.5", "3", "1000"};
static const double taus[] = {0.1, 0.5, 3, 1000};
static const char *const alpha_labels[] = {"0.5", "1", "2", "inf"};
static const double alphas[] = {0.5, 1, 2, HUGE_VAL};
static const char *const sink_labels[] = {"0", "2", "7"};
static const uint64_t sinks[] = {0, 2, 7};
static const char *const window_labels[] = {"8", "all"};
static const uint64_t windows[] = {8, 0};
enum { TAUS = 4, ALPHAS = 4, SINKS = 3, WINDOWS = 2, SETTINGS = 4 };

static uint64_t page_sizes[] = {4, 16};
enum { PAGE_SIZES = 2 };

/* All that a test needs; groups differ in their vectors alone. */
static struct {
    struct made_cell groups[GROUPS];
    struct kvr_score score;
    struct kvr_scorer scorer;
    struct kvr_budget budget;
    struct kvr_weighting weightings[KVR_ABLATE_GRIDS][SETTINGS];
    struct kvr_ablation ablation;
    struct kvr_future future;
    double future_mass[COUNT], future_peak[COUNT];
} made;

static void draw_head(struct kvr_random *random, float *vector)
{
    double total = 0, values[COUNT];
    for (size_t t = 0; t < COUNT; t++) {
        double u = kvr_random_uniform(random);
        values[t] = u * u * u * u * (t < 2 ? 20 : 1);
        total += values[t];
    }
    for (size_t t = 0; t < COUNT; t++)
        vector[t] = (float)(values[t] / total);
}

static void make_group(size_t group, uint64_t seed)
{
    struct made_cell *cell = &made.groups[group];
    struct kvr_random random = kvr_random_stream(seed, group);
    made_cell_start(cell, HEADS, COUNT, 2);
    for (size_t h = 0; h < HEADS; h++)
        draw_head(&random, made_cell_head(cell, h));
    made_cell_finish(cell);
    cell->plan.scores = &made.score;
    cell->plan.score_count = 1;
    cell->plan.budgets = &made.budget;
    cell->plan.budget_count = 1;
    cell->plan.page_sizes = page_sizes;
    cell->plan.page_size_count = PAGE_SIZES;
    cell->scored.score = &made.score;
    cell->layer.kv_heads = GROUPS;
    cell->cell.key.group = (uint32_t)group;
    cell->sample.needle_count = cell->cell.needle_count = 1;
    cell->cell.needles = kvr_room_take(&cell->room, 1, sizeof *cell->cell.needles, NULL);
    cell->cell.needles[0] = (struct kvr_range){FIRST_NEEDLE, END_NEEDLE};
    cell->cell.future = made.future;
}

/* Sums over decode rows that both groups have. */
static void draw_future(uint64_t seed)
{
    struct kvr_random random = kvr_random_stream(seed, GROUPS);
    made.future =
        (struct kvr_future){.row_count = 1, .mass = made.future_mass, .peak = made.future_peak};
    for (size_t t = 0; t < COUNT; t++) {
        made.future_mass[t] = kvr_random_uniform(&random);
        made.future_peak[t] = made.future_mass[t] * made.future_mass[t];
        made.future.mass_total += made.future_mass[t];
        made.future.peak_total += made.future_peak[t];
    }
}

static void make_grids(void)
{
    const struct kvr_weighting base = kvr_weighting_of(&made.groups[0].plan);
    for (int table = 0; table < KVR_ABLATE_GRIDS; table++)
        for (size_t i = 0; i < SETTINGS; i++)
            made.weightings[table][i] = base;
    for (size_t i = 0; i < TAUS; i++)
        made.weightings[KVR_ABLATE_TEMPERATURE][i].tau = taus[i];
    for (size_t i = 0; i < ALPHAS; i++)
        made.weightings[KVR_ABLATE_ORDER][i].entropy.alpha = alphas[i];
    for (size_t i = 0; i < SINKS; i++)
        made.weightings[KVR_ABLATE_SINKS][i].sinks = sinks[i];
    for (size_t i = 0; i < WINDOWS; i++)
        made.weightings[KVR_ABLATE_WINDOW][i].entropy.window = windows[i];
    made.ablation = (struct kvr_ablation){
        .plan = &made.groups[0].plan,
        .grids =
            {
                [KVR_ABLATE_TEMPERATURE] = {TAUS, tau_labels, made.weightings[0]},
                [KVR_ABLATE_ORDER] = {ALPHAS, alpha_labels, made.weightings[1]},
                [KVR_ABLATE_SINKS] = {SINKS, sink_labels, made.weightings[2]},
                [KVR_ABLATE_WINDOW] = {WINDOWS, window_labels, made.weightings[3]},
            },
        .kept_page_size = 4,
    };
}

static void start(uint64_t seed)
{
    made.scorer = (struct kvr_scorer){.name = "last", .mass = true};
    made.score = (struct kvr_score){.scorer = &made.scorer, .label = "last"};
    made.budget = (struct kvr_budget){"0.3", {3, 1}};
    draw_future(seed);
    make_group(0, seed);
    make_group(1, seed);
    make_grids();
    ck_assert_int_eq(kvr_ablation_open(&made.ablation, NULL), KVR_OK);
}

static void observe(void)
{
    struct kvr_observer observer = kvr_ablation_observer(&made.ablation);
    for (size_t g = 0; g < GROUPS; g++) {
        void *record = NULL;
        const struct kvr_cell *cell = &made.groups[g].cell;
        ck_assert_int_eq(observer.begin(observer.state, cell, &record, NULL), KVR_OK);
        ck_assert_int_eq(
            observer.scored(observer.state, record, cell, &made.groups[g].scored, NULL), KVR_OK);
        ck_assert_int_eq(observer.commit(observer.state, &cell->key, record, NULL), KVR_OK);
    }
}

static void stop(void)
{
    kvr_ablation_close(&made.ablation);
    for (size_t g = 0; g < GROUPS; g++)
        made_cell_free(&made.groups[g]);
}

static const struct kvr_spread *tally(enum kvr_ablation_table table, size_t setting,
                                      enum kvr_ablation_measure measure)
{
    return kvr_ablation_tally(&made.ablation, table, 0, setting, measure);
}

/* -------------------------------------------------------------------------- the long way */

static double naive_entropy(const float *vector, double alpha, size_t first)
{
    double total = 0, sum = 0, most = 0;
    for (size_t t = first; t < COUNT; t++)
        total += (double)vector[t];
    for (size_t t = first; t < COUNT; t++) {
        double p = (double)vector[t] / total;
        if (fabs(alpha - 1) < 1e-12)
            sum -= p > 0 ? p * log(p) : 0;
        else if (isinf(alpha))
            most = fmax(most, p);
        else
            sum += pow(p, alpha);
    }
    if (isinf(alpha))
        return -log(most);
    return fabs(alpha - 1) < 1e-12 ? sum : log(sum) / (1 - alpha);
}

static void naive_weights(size_t group, double tau, double alpha, size_t first, double *entropies,
                          double *weights)
{
    double total = 0;
    for (size_t h = 0; h < HEADS; h++) {
        entropies[h] = naive_entropy(made_cell_head(&made.groups[group], h), alpha, first);
        weights[h] = exp(-entropies[h] / tau);
        total += weights[h];
    }
    for (size_t h = 0; h < HEADS; h++)
        weights[h] /= total;
}

static double largest(const double *values)
{
    return fmax(fmax(values[0], values[1]), values[2]);
}

enum operator{ ENTROPY, MAX, MEAN };

static void naive_pool(size_t group, enum operator operator, const double * weights, float *pooled)
{
    for (size_t t = 0; t < COUNT; t++) {
        double sum = 0, most = 0;
        for (size_t h = 0; h < HEADS; h++) {
            double value = (double)made_cell_head(&made.groups[group], h)[t];
            sum += operator== ENTROPY ? weights[h] * value : value / HEADS;
            most = fmax(most, value);
        }
        pooled[t] = (float)(operator== MAX ? most : sum);
    }
}

/* Which tokens are kept: the K pages with the highest scores, found by comparing all pairs. */
static size_t naive_keep(const float *pooled, size_t size, enum kvr_page_reduce reduce, bool *kept)
{
    size_t pages = (COUNT + size - 1) / size, quota = 3 * COUNT / 10 / size;
    float scores[COUNT];
    quota = quota > 0 ? quota : 1;
    for (size_t page = 0; page < pages; page++) {
        double sum = 0, most = 0, count = 0;
        for (size_t t = page * size; t < COUNT && t < (page + 1) * size; t++, count++) {
            sum += (double)pooled[t];
            most = fmax(most, (double)pooled[t]);
        }
        scores[page] = (float)(reduce == KVR_PAGE_MAX    ? most
                               : reduce == KVR_PAGE_MEAN ? sum / count
                                                         : sum);
    }
    for (size_t t = 0; t < COUNT; t++) {
        size_t before = 0, page = t / size;
        for (size_t other = 0; other < pages; other++)
            before +=
                scores[other] > scores[page] || (other < page && scores[other] >= scores[page]);
        kept[t] = before < quota;
    }
    return quota;
}

/* ------------------------------------------------------------------------------- weights */

static void assert_mean(enum kvr_ablation_table table, size_t setting,
                        enum kvr_ablation_measure measure, double expected)
{
    ck_assert_double_eq_tol(kvr_spread_mean(tally(table, setting, measure)), expected, 1e-7);
}

START_TEST(test_temperature)
{
    start((uint64_t)_i);
    observe();
    for (size_t i = 0; i < TAUS; i++) {
        double sum = 0, least = 1, most = 0;
        for (size_t g = 0; g < GROUPS; g++) {
            double entropies[HEADS], weights[HEADS];
            naive_weights(g, taus[i], 2, 2, entropies, weights);
            sum += largest(weights);
            least = fmin(least, largest(weights));
            most = fmax(most, largest(weights));
        }
        const struct kvr_spread *found = tally(KVR_ABLATE_TEMPERATURE, i, KVR_MEASURE_MAX_WEIGHT);
        ck_assert_uint_eq(found->count, GROUPS);
        assert_mean(KVR_ABLATE_TEMPERATURE, i, KVR_MEASURE_MAX_WEIGHT, sum / GROUPS);
        assert_mean(KVR_ABLATE_TEMPERATURE, i, KVR_MEASURE_ABOVE_UNIFORM,
                    sum / GROUPS - 1.0 / HEADS);
        ck_assert_double_eq_tol(found->least, least, 1e-9);
        ck_assert_double_eq_tol(found->most, most, 1e-9);
        ck_assert_double_eq_tol(kvr_spread_deviation(found), (most - least) / 2, 1e-9);
        ck_assert_double_eq(tally(KVR_ABLATE_TEMPERATURE, i, KVR_MEASURE_WEIGHT_RISES)->sum, 0);
        ck_assert_uint_eq(tally(KVR_ABLATE_TEMPERATURE, i, KVR_MEASURE_WEIGHT_RISES)->count,
                          i == 0 ? 0 : GROUPS);
    }
    /* At tau = 1000 weights are as good as uniform. */
    ck_assert_double_lt(
        kvr_spread_mean(tally(KVR_ABLATE_TEMPERATURE, TAUS - 1, KVR_MEASURE_ABOVE_UNIFORM)), 2e-3);
    stop();
}
END_TEST

/* A grid that falls instead of rising must be seen as one. */
START_TEST(test_rises_are_seen)
{
    start(0);
    for (size_t i = 0; i < TAUS; i++) {
        made.weightings[KVR_ABLATE_TEMPERATURE][i].tau = taus[TAUS - 1 - i];
        made.weightings[KVR_ABLATE_ORDER][i].entropy.alpha = alphas[ALPHAS - 1 - i];
    }
    observe();
    for (size_t i = 1; i < TAUS; i++) {
        ck_assert_double_eq(tally(KVR_ABLATE_TEMPERATURE, i, KVR_MEASURE_WEIGHT_RISES)->sum,
                            GROUPS);
        ck_assert_double_eq(tally(KVR_ABLATE_ORDER, i, KVR_MEASURE_ENTROPY_RISES)->sum,
                            GROUPS * HEADS);
    }
    stop();
}
END_TEST

START_TEST(test_order)
{
    start((uint64_t)_i);
    observe();
    for (size_t i = 0; i < ALPHAS; i++) {
        double sum = 0, weight = 0;
        for (size_t g = 0; g < GROUPS; g++) {
            double entropies[HEADS], weights[HEADS];
            naive_weights(g, 0.5, alphas[i], 2, entropies, weights);
            sum += entropies[0] + entropies[1] + entropies[2];
            weight += largest(weights);
        }
        ck_assert_uint_eq(tally(KVR_ABLATE_ORDER, i, KVR_MEASURE_ENTROPY)->count, GROUPS * HEADS);
        assert_mean(KVR_ABLATE_ORDER, i, KVR_MEASURE_ENTROPY, sum / GROUPS / HEADS);
        assert_mean(KVR_ABLATE_ORDER, i, KVR_MEASURE_MAX_WEIGHT, weight / GROUPS);
        ck_assert_double_eq(tally(KVR_ABLATE_ORDER, i, KVR_MEASURE_OUTSIDE)->sum, 0);
        ck_assert_double_eq(tally(KVR_ABLATE_ORDER, i, KVR_MEASURE_ENTROPY_RISES)->sum, 0);
        ck_assert_double_eq(tally(KVR_ABLATE_ORDER, i, KVR_MEASURE_EMPTY)->sum, 0);
    }
    stop();
}
END_TEST

/* A head with everything on its sinks has no entropy; it is told apart, not called a violation. */
START_TEST(test_empty_heads)
{
    start(5);
    float *head = made_cell_head(&made.groups[0], 1);
    memset(head, 0, COUNT * sizeof *head);
    head[0] = 1;
    observe();
    for (size_t i = 0; i < ALPHAS; i++) {
        ck_assert_double_eq(tally(KVR_ABLATE_ORDER, i, KVR_MEASURE_EMPTY)->sum, 1);
        ck_assert_double_eq(tally(KVR_ABLATE_ORDER, i, KVR_MEASURE_OUTSIDE)->sum, 0);
        ck_assert_uint_eq(tally(KVR_ABLATE_ORDER, i, KVR_MEASURE_ENTROPY)->count,
                          GROUPS * HEADS - 1);
    }
    ck_assert_double_eq(tally(KVR_ABLATE_SINKS, 0, KVR_MEASURE_EMPTY)->sum, 0); /* no sinks */
    stop();
}
END_TEST

START_TEST(test_sinks_and_windows)
{
    start((uint64_t)_i);
    /* A row that sums to 1.004, as half rounding may leave it: with most of it on the sinks,
       1 - sink mass is far from the rest. */
    made_cell_head(&made.groups[0], 0)[1] += 0.004F;
    made_cell_finish(&made.groups[0]);
    observe();
    for (size_t i = 0; i < SINKS; i++) {
        double mass = 0, entropy = 0, sink_heads = 0, sink_weight = 0, off = 0;
        for (size_t g = 0; g < GROUPS; g++) {
            double entropies[HEADS], weights[HEADS];
            naive_weights(g, 0.5, 2, (size_t)sinks[i], entropies, weights);
            for (size_t h = 0; h < HEADS; h++) {
                double own = 0, rest = made.groups[g].scored.totals[h];
                for (size_t t = 0; t < sinks[i]; t++)
                    own += (double)made_cell_head(&made.groups[g], h)[t];
                off += fabs((1 - own) / (rest - own) - 1) > 0.01;
                mass += own;
                entropy += entropies[h];
                sink_heads += own >= 0.5;
                sink_weight += own >= 0.5 ? weights[h] : 0;
            }
        }
        assert_mean(KVR_ABLATE_SINKS, i, KVR_MEASURE_SINK_MASS, mass / GROUPS / HEADS);
        ck_assert_double_eq(tally(KVR_ABLATE_SINKS, i, KVR_MEASURE_DIVISOR_OFF)->sum, off);
        assert_mean(KVR_ABLATE_SINKS, i, KVR_MEASURE_ENTROPY, entropy / GROUPS / HEADS);
        const struct kvr_spread *found = tally(KVR_ABLATE_SINKS, i, KVR_MEASURE_SINK_WEIGHT);
        ck_assert_double_eq((double)found->count, sink_heads);
        ck_assert_double_eq_tol(found->sum, sink_weight, 1e-9);
    }
    for (size_t i = 0; i < WINDOWS; i++) {
        double entropy = 0;
        for (size_t g = 0; g < GROUPS; g++) {
            double entropies[HEADS], weights[HEADS];
            naive_weights(g, 0.5, 2, windows[i] > 0 ? COUNT - (size_t)windows[i] : 2, entropies,
                          weights);
            entropy += entropies[0] + entropies[1] + entropies[2];
        }
        assert_mean(KVR_ABLATE_WINDOW, i, KVR_MEASURE_ENTROPY, entropy / GROUPS / HEADS);
    }
    stop();
}
END_TEST

/* ------------------------------------------------------------------- what is kept */

START_TEST(test_kept_pages_of_weightings)
{
    start((uint64_t)_i);
    observe();
    for (size_t i = 0; i < TAUS; i++) {
        double same = 0, needle = 0, peak = 0;
        for (size_t g = 0; g < GROUPS; g++) {
            double entropies[HEADS], weights[HEADS];
            float pooled[COUNT];
            bool base[COUNT], kept[COUNT];
            naive_weights(g, 0.5, 2, 2, entropies, weights);
            naive_pool(g, ENTROPY, weights, pooled);
            naive_keep(pooled, 4, KVR_PAGE_MAX, base);
            naive_weights(g, taus[i], 2, 2, entropies, weights);
            naive_pool(g, ENTROPY, weights, pooled);
            size_t quota = naive_keep(pooled, 4, KVR_PAGE_MAX, kept), both = 0;
            for (size_t page = 0; page * 4 < COUNT; page++)
                both += base[page * 4] && kept[page * 4];
            same += (double)both / (double)quota;
            for (size_t t = FIRST_NEEDLE; t < END_NEEDLE; t++)
                needle += kept[t] ? 1.0 / (END_NEEDLE - FIRST_NEEDLE) : 0;
            for (size_t t = 0; t < COUNT; t++)
                peak += kept[t] ? made.future_peak[t] / made.future.peak_total : 0;
        }
        assert_mean(KVR_ABLATE_TEMPERATURE, i, KVR_MEASURE_SAME_PAGES, same / GROUPS);
        assert_mean(KVR_ABLATE_TEMPERATURE, i, KVR_MEASURE_NEEDLE, needle / GROUPS);
        assert_mean(KVR_ABLATE_TEMPERATURE, i, KVR_MEASURE_PEAK, peak / GROUPS);
    }
    assert_mean(KVR_ABLATE_TEMPERATURE, 1, KVR_MEASURE_SAME_PAGES, 1); /* tau 0.5 is the plan's */
    stop();
}
END_TEST

START_TEST(test_pages)
{
    static const enum operator operators[] = {ENTROPY, MAX, MEAN};
    start((uint64_t)_i);
    observe();
    for (size_t i = 0; i < 3 * PAGE_SIZES * 3; i++) {
        enum kvr_page_reduce reduce = (enum kvr_page_reduce)(i % 3);
        size_t size = (size_t)page_sizes[i / 3 % PAGE_SIZES], quota = 0;
        bool both[COUNT] = {false};
        double tokens = 0, retained = 0;
        for (size_t g = 0; g < GROUPS; g++) {
            double entropies[HEADS], weights[HEADS];
            float pooled[COUNT];
            bool kept[COUNT];
            naive_weights(g, 0.5, 2, 2, entropies, weights);
            naive_pool(g, operators[i / 3 / PAGE_SIZES], weights, pooled);
            quota = naive_keep(pooled, size, reduce, kept);
            for (size_t t = 0; t < COUNT; t++) {
                tokens += kept[t];
                both[t] = both[t] || kept[t];
                for (size_t h = 0; kept[t] && h < HEADS; h++)
                    retained += (double)made_cell_head(&made.groups[g], h)[t] /
                                made.groups[g].scored.totals[h] / HEADS;
            }
        }
        double pages = 0;
        for (size_t page = 0; page * size < COUNT; page++)
            pages += both[page * size];
        assert_mean(KVR_ABLATE_PAGES, i, KVR_MEASURE_TOKENS, tokens / GROUPS);
        assert_mean(KVR_ABLATE_PAGES, i, KVR_MEASURE_RETAINED, retained / GROUPS);
        assert_mean(KVR_ABLATE_PAGES, i, KVR_MEASURE_PUR, pages / (double)quota);
        ck_assert_uint_eq(tally(KVR_ABLATE_PAGES, i, KVR_MEASURE_PUR)->count, 1);
        ck_assert_double_eq(tally(KVR_ABLATE_PAGES, i, KVR_MEASURE_PUR_OUTSIDE)->sum, 0);
        ck_assert_double_eq(tally(KVR_ABLATE_PAGES, i, KVR_MEASURE_INEXACT)->sum, 0);
    }
    stop();
}
END_TEST

START_TEST(test_slots)
{
    start((uint64_t)_i);
    observe();
    size_t setting = 0;
    for (size_t o = 0; o < 3; o++)
        for (size_t p = 0; p < PAGE_SIZES; p++) {
            size_t size = (size_t)page_sizes[p];
            double expected[16] = {0}, rest[16] = {0}, sum = 0;
            for (size_t g = 0; g < GROUPS; g++) {
                double entropies[HEADS], weights[HEADS], total = 0, total_rest = 0;
                double share[16] = {0}, share_rest[16] = {0};
                float pooled[COUNT];
                bool kept[COUNT];
                naive_weights(g, 0.5, 2, 2, entropies, weights);
                naive_pool(g, (enum operator)o, weights, pooled);
                naive_keep(pooled, size, KVR_PAGE_MAX, kept);
                for (size_t t = 0; t < COUNT; t++) {
                    double mass = kept[t] ? (double)pooled[t] : 0;
                    share[t % size] += mass;
                    share_rest[t % size] += t < 2 ? 0 : mass;
                    total += mass;
                    total_rest += t < 2 ? 0 : mass;
                }
                for (size_t slot = 0; slot < size; slot++) {
                    expected[slot] += share[slot] / total / GROUPS;
                    rest[slot] += share_rest[slot] / total_rest / GROUPS;
                }
            }
            for (size_t slot = 0; slot < size; slot++, setting++) {
                char label[KVR_ABLATION_LABEL], wanted[KVR_ABLATION_LABEL];
                assert_mean(KVR_ABLATE_SLOTS, setting, KVR_MEASURE_SHARE, expected[slot]);
                assert_mean(KVR_ABLATE_SLOTS, setting, KVR_MEASURE_SHARE_REST, rest[slot]);
                sum += kvr_spread_mean(tally(KVR_ABLATE_SLOTS, setting, KVR_MEASURE_SHARE));
                kvr_ablation_label(&made.ablation, KVR_ABLATE_SLOTS, setting, label);
                snprintf(wanted, sizeof wanted, "%s,%zu,%zu", kvr_ablation_operators[o], size,
                         slot);
                ck_assert_str_eq(label, wanted);
            }
            ck_assert_double_eq_tol(sum, 1, 1e-9);
        }
    ck_assert_uint_eq(setting, made.ablation.setting_counts[KVR_ABLATE_SLOTS]);
    stop();
}
END_TEST

START_TEST(test_needles)
{
    start((uint64_t)_i);
    observe();
    for (size_t i = 0; i < TAUS; i++) {
        double owner = 0, mean = 0, pooled = 0, better = 0;
        for (size_t g = 0; g < GROUPS; g++) {
            double entropies[HEADS], weights[HEADS], best = -1, at_mean = 0, at_pooled = 0;
            size_t peak = 0;
            naive_weights(g, taus[i], 2, 2, entropies, weights);
            for (size_t h = 0; h < HEADS; h++)
                for (size_t t = FIRST_NEEDLE; t < END_NEEDLE; t++)
                    if ((double)made_cell_head(&made.groups[g], h)[t] > best) {
                        best = (double)made_cell_head(&made.groups[g], h)[t];
                        peak = t;
                    }
            for (size_t h = 0; h < HEADS; h++) {
                double value = (double)made_cell_head(&made.groups[g], h)[peak];
                at_mean += value / HEADS;
                at_pooled += weights[h] * value;
            }
            owner += best;
            mean += at_mean;
            pooled += at_pooled;
            better += at_pooled > at_mean;
        }
        assert_mean(KVR_ABLATE_NEEDLES, i, KVR_MEASURE_OWNER, owner / GROUPS);
        assert_mean(KVR_ABLATE_NEEDLES, i, KVR_MEASURE_MEAN_POOLED, mean / GROUPS);
        assert_mean(KVR_ABLATE_NEEDLES, i, KVR_MEASURE_POOLED, pooled / GROUPS);
        ck_assert_double_eq(tally(KVR_ABLATE_NEEDLES, i, KVR_MEASURE_BETTER)->sum, better);
        ck_assert_double_eq(tally(KVR_ABLATE_NEEDLES, i, KVR_MEASURE_BROKEN)->sum, 0);
        const struct kvr_spread *bound = tally(KVR_ABLATE_NEEDLES, i, KVR_MEASURE_BOUND);
        ck_assert_double_le(bound->mean, pooled / GROUPS + 1e-9);
    }
    stop();
}
END_TEST

/* One head on one token, its siblings on everything alike: theorem 4's regime. */
START_TEST(test_premise_holds_where_it_should)
{
    start(0);
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t t = 0; t < COUNT; t++)
                made_cell_head(&made.groups[g], h)[t] =
                    h == 1 ? (t == FIRST_NEEDLE + 1 ? 0.95F : 0.05F / (COUNT - 1)) : 1.0F / COUNT;
    observe();
    ck_assert_double_eq(tally(KVR_ABLATE_NEEDLES, 1, KVR_MEASURE_PREMISE)->sum, GROUPS);
    ck_assert_double_eq(tally(KVR_ABLATE_NEEDLES, 1, KVR_MEASURE_BEYOND_MEAN)->sum, GROUPS);
    ck_assert_double_gt(tally(KVR_ABLATE_NEEDLES, 1, KVR_MEASURE_BOUND)->least, 0.9);
    /* At an enormous temperature pooling is a mean, and the theorem promises next to nothing. */
    ck_assert_double_eq(tally(KVR_ABLATE_NEEDLES, 3, KVR_MEASURE_PREMISE)->sum, 0);
    stop();
}
END_TEST

START_TEST(test_excluded_groups_are_counted)
{
    start(3);
    made.groups[1].scored.not_finite = 1;
    observe();
    ck_assert_uint_eq(made.ablation.groups[0], GROUPS);
    ck_assert_uint_eq(made.ablation.excluded[0], 1);
    ck_assert_uint_eq(tally(KVR_ABLATE_TEMPERATURE, 0, KVR_MEASURE_MAX_WEIGHT)->count, 1);
    ck_assert_uint_eq(tally(KVR_ABLATE_PAGES, 0, KVR_MEASURE_TOKENS)->count, 1);
    ck_assert_uint_eq(tally(KVR_ABLATE_PAGES, 0, KVR_MEASURE_PUR)->count, 0); /* not whole */
    stop();
}
END_TEST

Suite *kvr_suite_ablation(void)
{
    Suite *suite = suite_create("ablation");
    TCase *tcase = tcase_create("tallies");
    tcase_add_loop_test(tcase, test_temperature, 0, 10);
    tcase_add_test(tcase, test_rises_are_seen);
    tcase_add_loop_test(tcase, test_order, 0, 10);
    tcase_add_test(tcase, test_empty_heads);
    tcase_add_loop_test(tcase, test_sinks_and_windows, 0, 10);
    tcase_add_loop_test(tcase, test_kept_pages_of_weightings, 0, 10);
    tcase_add_loop_test(tcase, test_pages, 0, 10);
    tcase_add_loop_test(tcase, test_slots, 0, 10);
    tcase_add_loop_test(tcase, test_needles, 0, 10);
    tcase_add_test(tcase, test_premise_holds_where_it_should);
    tcase_add_test(tcase, test_excluded_groups_are_counted);
    suite_add_tcase(suite, tcase);
    return suite;
}
