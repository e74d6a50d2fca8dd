/*
 * Units: every wanted layer lies in exactly one, none crosses a sample, and the dealing is the one
 * that a plain implementation of the rule gives.
 */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/survey.h"
#include "replay/units.h"
#include "tests/suites.h"

enum { TRACES = 2, SAMPLES = 3, LAYERS = 5, MOST_TAKERS = 40 };

static struct kvr_plan plan;
static struct kvr_trace traces[TRACES], *list[TRACES];
static struct kvr_sample samples[TRACES][SAMPLES];
static struct kvr_layer layers[TRACES][SAMPLES][LAYERS];
static struct kvr_dataset datasets[TRACES][SAMPLES][LAYERS];
static char names[SAMPLES][2] = {"0", "1", "2"};
static struct kvr_units units;

/* Layer l of a sample is number 2 l; its rows are half, [4][8][width]. */
static void start(void)
{
    plan = kvr_plan_default();
    ck_assert_int_eq(kvr_plan_add_score(&plan, "last", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_budget(&plan, "0.5", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "1", NULL), KVR_OK);
    for (size_t t = 0; t < TRACES; t++) {
        list[t] = &traces[t];
        traces[t] = (struct kvr_trace){.sample_count = SAMPLES, .samples = samples[t]};
        for (size_t s = 0; s < SAMPLES; s++) {
            samples[t][s] = (struct kvr_sample){
                .name = names[s], .layer_count = LAYERS, .layers = layers[t][s]};
            for (uint32_t l = 0; l < LAYERS; l++) {
                datasets[t][s][l] = (struct kvr_dataset){
                    .rank = 3, .shape = {4, 8, 100 * (s + 1)}, .type = {.kind = KVR_HALF}};
                layers[t][s][l] = (struct kvr_layer){.number = 2 * l,
                                                     .query_heads = 4,
                                                     .kv_heads = 2,
                                                     .attention = &datasets[t][s][l]};
            }
        }
    }
}

static void end(void)
{
    kvr_units_free(&units);
    kvr_plan_free(&plan);
}

static void make(const char *policy, size_t takers)
{
    ck_assert_int_eq(kvr_plan_add_policy(&plan, policy, NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_settle(&plan, list, TRACES, NULL), KVR_OK);
    ck_assert_int_eq(kvr_units_make(&plan, list, TRACES, takers, &units, NULL), KVR_OK);
}

static bool holds(const struct kvr_unit *unit, size_t trace, size_t sample, size_t layer)
{
    return unit->trace == trace && unit->sample == sample && layer >= unit->layer_begin &&
           layer < unit->layer_end;
}

/* Each wanted layer is in one unit, which is found; units come in order, with the right bytes. */
static void assert_cut_well(void)
{
    size_t last = 0;
    uint64_t bytes[LAYERS * SAMPLES * TRACES] = {0};
    for (size_t t = 0; t < TRACES; t++)
        for (size_t s = 0; s < SAMPLES; s++)
            for (size_t l = 0; l < LAYERS; l++) {
                size_t holders = 0, holder = units.count;
                for (size_t u = 0; u < units.count; u++)
                    if (holds(&units.all[u], t, s, l)) {
                        holders++;
                        holder = u;
                    }
                ck_assert_uint_eq(kvr_units_find(&units, t, s, l), holder);
                if (!kvr_plan_wants_sample(&plan, &samples[t][s]) ||
                    !kvr_plan_wants_layer(&plan, &layers[t][s][l]))
                    continue;
                ck_assert_uint_eq(holders, 1);
                ck_assert_uint_ge(holder, last);
                last = holder;
                bytes[holder] += 2 * 4 * 8 * 100 * (s + 1);
            }
    for (size_t u = 0; u < units.count; u++)
        ck_assert_uint_eq(units.all[u].bytes, bytes[u]);
}

/* The rule, told plainly: take the largest unit that is left, give it to who has least. */
static void assert_dealt_by_the_rule(size_t takers)
{
    uint64_t loads[MOST_TAKERS] = {0};
    bool dealt[LAYERS * SAMPLES * TRACES] = {false};
    for (size_t round = 0; round < units.count; round++) {
        size_t largest = units.count, least = 0;
        for (size_t u = units.count; u-- > 0;)
            if (!dealt[u] &&
                (largest == units.count || units.all[u].bytes >= units.all[largest].bytes))
                largest = u;
        for (size_t t = takers; t-- > 0;)
            if (loads[t] <= loads[least])
                least = t;
        dealt[largest] = true;
        loads[least] += units.all[largest].bytes;
        ck_assert_uint_eq(units.all[largest].owner, least);
    }
}

START_TEST(test_any_number_of_takers)
{
    size_t takers = (size_t)_i;
    for (size_t t = 0; t < TRACES; t++)
        for (size_t s = 0; s < SAMPLES; s++)
            for (size_t l = 0; l < LAYERS; l++)
                datasets[t][s][l].shape[2] = 100 * (s + 1);
    make("mean", takers);
    assert_cut_well();
    assert_dealt_by_the_rule(takers);
}
END_TEST

/* Six samples: 8 units wished make two a sample, 16 make three, 48 make one a layer. */
START_TEST(test_few_samples_are_cut)
{
    make("mean", 1);
    ck_assert_uint_eq(units.count, 12);
    ck_assert_uint_eq(units.all[0].layer_end, 2); /* of five layers two, then three */
    ck_assert_uint_eq(units.all[1].layer_begin, 2);
    ck_assert_uint_eq(units.all[1].layer_end, 5);
    kvr_units_free(&units);
    ck_assert_int_eq(kvr_units_make(&plan, list, TRACES, 2, &units, NULL), KVR_OK);
    ck_assert_uint_eq(units.count, 18);
    kvr_units_free(&units);
    ck_assert_int_eq(kvr_units_make(&plan, list, TRACES, 6, &units, NULL), KVR_OK);
    ck_assert_uint_eq(units.count, 30);
}
END_TEST

START_TEST(test_policies_over_layers_keep_samples_whole)
{
    make("pyramidkv", 7);
    ck_assert(kvr_survey_needed(&plan));
    ck_assert_uint_eq(units.count, 6);
    assert_cut_well();
    assert_dealt_by_the_rule(7);
}
END_TEST

static void choose(const char *sample, const uint32_t *numbers, size_t count)
{
    plan.sample_count = sample != NULL;
    plan.samples = malloc(sizeof *plan.samples);
    ck_assert_ptr_nonnull(plan.samples);
    plan.samples[0] = names[2];
    plan.layer_count = count;
    plan.layers = malloc((count + 1) * sizeof *plan.layers);
    ck_assert_ptr_nonnull(plan.layers);
    memcpy(plan.layers, numbers, count * sizeof *numbers);
}

/* What is left out by sample or layer is in no unit; wanted layers are spread evenly. */
START_TEST(test_filters)
{
    choose(names[2], (const uint32_t[]){0, 8}, 2);
    make("mean", 3);
    ck_assert_uint_eq(units.count, 4); /* two samples, a layer each */
    assert_cut_well();
    ck_assert_uint_eq(kvr_units_find(&units, 0, 0, 0), 4);
    ck_assert_uint_eq(kvr_units_find(&units, 1, 2, 2), 4);
}
END_TEST

START_TEST(test_nothing_wanted)
{
    choose(NULL, (const uint32_t[]){7}, 1);
    make("mean", 3);
    ck_assert_uint_eq(units.count, 0);
    ck_assert_uint_eq(kvr_units_find(&units, 0, 0, 0), 0);
}
END_TEST

/* Sizes drawn at random: nobody has more than an even share and one unit. */
START_TEST(test_shares_are_even)
{
    struct kvr_random random = kvr_random_stream((uint64_t)_i, 0);
    for (size_t t = 0; t < TRACES; t++)
        for (size_t s = 0; s < SAMPLES; s++)
            for (size_t l = 0; l < LAYERS; l++)
                datasets[t][s][l].shape[2] = 1 + kvr_random_below(&random, 1000);
    make("mean", 4);
    uint64_t all = 0, largest = 0, loads[4] = {0};
    for (size_t u = 0; u < units.count; u++) {
        all += units.all[u].bytes;
        loads[units.all[u].owner] += units.all[u].bytes;
        largest = units.all[u].bytes > largest ? units.all[u].bytes : largest;
    }
    for (size_t t = 0; t < 4; t++)
        ck_assert_uint_le(loads[t], all / 4 + largest);
    assert_dealt_by_the_rule(4);
}
END_TEST

Suite *kvr_suite_units(void)
{
    Suite *suite = suite_create("units");
    TCase *tcase = tcase_create("units");
    tcase_add_checked_fixture(tcase, start, end);
    tcase_add_loop_test(tcase, test_any_number_of_takers, 1, MOST_TAKERS);
    tcase_add_test(tcase, test_few_samples_are_cut);
    tcase_add_test(tcase, test_policies_over_layers_keep_samples_whole);
    tcase_add_test(tcase, test_filters);
    tcase_add_test(tcase, test_nothing_wanted);
    tcase_add_loop_test(tcase, test_shares_are_even, 0, 20);
    suite_add_tcase(suite, tcase);
    return suite;
}
