/*
 * The gate: top sets against a plain sort, agreement and the difference of thirds by hand.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/gate.h"
#include "tests/suites.h"

enum { MOST = 200, MOST_HEADS = 9 };

/* The `most` highest of vector[from … count-1], ties to the lower index. */
static size_t mark_top(const float *vector, size_t from, size_t count, size_t most, bool *marked)
{
    size_t kept = 0;
    memset(marked, 0, MOST * sizeof *marked);
    for (; kept < most && kept < count - from; kept++) {
        size_t best = count;
        for (size_t t = from; t < count; t++)
            if (!marked[t] && (best == count || vector[t] > vector[best]))
                best = t;
        marked[best] = true;
    }
    return kept;
}

static void check_top(const uint32_t *top, size_t count, const bool *marked, size_t expected)
{
    ck_assert_uint_eq(count, expected);
    for (size_t i = 0; i < count; i++) {
        ck_assert(marked[top[i]]);
        ck_assert(i == 0 || top[i] > top[i - 1]);
    }
}

static void draw(struct kvr_random *random, float *vector, size_t count)
{
    for (size_t t = 0; t < count; t++)
        vector[t] = (float)kvr_random_below(random, 40);
}

START_TEST(test_top_sets)
{
    struct kvr_random random = kvr_random_stream(151, 0);
    struct kvr_select_scratch scratch = {0};
    for (size_t count = 1; count <= MOST; count++)
        for (size_t sinks = 0; sinks <= count && sinks <= 4; sinks++) {
            float vector[MOST];
            bool marked[MOST];
            struct kvr_gate_head head;
            draw(&random, vector, count);
            ck_assert_int_eq(kvr_gate_head_of(vector, count, sinks, &scratch, &head, NULL), KVR_OK);
            size_t kept = mark_top(vector, 0, count, 32, marked);
            check_top(head.top, head.count, marked, kept);
            kept = mark_top(vector, sinks, count, 32, marked);
            check_top(head.isolated, head.count_isolated, marked, kept);
        }
    kvr_select_scratch_free(&scratch);
}
END_TEST

static struct kvr_gate_head with_top(size_t first, size_t count)
{
    struct kvr_gate_head head = {.count = count, .count_isolated = count};
    for (size_t i = 0; i < count; i++)
        head.top[i] = head.isolated[i] = (uint32_t)(first + i);
    return head;
}

/* Sets 0 … 31, 16 … 47 and 100 … 131: pairs 16/48, 0 and 0. */
START_TEST(test_agreement_by_hand)
{
    const struct kvr_gate_head same[] = {with_top(5, 32), with_top(5, 32), with_top(5, 32)};
    ck_assert_double_eq(kvr_gate_agreement(same, 3, false), 1);
    const struct kvr_gate_head heads[] = {with_top(0, 32), with_top(16, 32), with_top(100, 32)};
    ck_assert_double_eq_tol(kvr_gate_agreement(heads, 3, false), 1.0 / 9, 1e-15);
    ck_assert_double_eq_tol(kvr_gate_agreement(heads, 2, true), 1.0 / 3, 1e-15);
    ck_assert_double_eq(kvr_gate_agreement(heads + 1, 2, true), 0);
    struct kvr_gate_head small[] = {with_top(0, 3), with_top(2, 3)};
    ck_assert_double_eq_tol(kvr_gate_agreement(small, 2, false), 0.2, 1e-15);
    /* All candidates are sinks: without them nothing is left to agree on. */
    small[0].count_isolated = small[1].count_isolated = 0;
    ck_assert_double_nan(kvr_gate_agreement(small, 2, true));
    ck_assert_double_eq_tol(kvr_gate_agreement(small, 2, false), 0.2, 1e-15);
}
END_TEST

START_TEST(test_agreement_is_the_mean_over_pairs)
{
    struct kvr_random random = kvr_random_stream(152, 0);
    struct kvr_select_scratch scratch = {0};
    for (int round = 0; round < 100; round++) {
        size_t count = 33 + kvr_random_below(&random, MOST - 33);
        size_t head_count = 2 + kvr_random_below(&random, MOST_HEADS - 1);
        struct kvr_gate_head heads[MOST_HEADS];
        bool marked[MOST_HEADS][MOST];
        for (size_t h = 0; h < head_count; h++) {
            float vector[MOST];
            draw(&random, vector, count);
            ck_assert_int_eq(kvr_gate_head_of(vector, count, 2, &scratch, &heads[h], NULL), KVR_OK);
            mark_top(vector, 2, count, 32, marked[h]);
        }
        double sum = 0, pairs = 0;
        for (size_t i = 0; i < head_count; i++)
            for (size_t j = 0; j < i; j++, pairs++) {
                double both = 0, either = 0;
                for (size_t t = 0; t < count; t++) {
                    both += marked[i][t] && marked[j][t];
                    either += marked[i][t] || marked[j][t];
                }
                sum += both / either;
            }
        ck_assert_double_eq_tol(kvr_gate_agreement(heads, head_count, true), sum / pairs, 1e-12);
    }
    kvr_select_scratch_free(&scratch);
}
END_TEST

START_TEST(test_difference_of_thirds)
{
    const double agreements[] = {0.5, 0.4, 0.9, 0.3, 0.8, 0.2, 0.1};
    ck_assert_double_nan(kvr_gate_difference(agreements, 0));
    ck_assert_double_eq(kvr_gate_difference(agreements, 1), 0);
    ck_assert_double_eq_tol(kvr_gate_difference(agreements, 2), 0.1, 1e-15);
    ck_assert_double_eq_tol(kvr_gate_difference(agreements, 3), -0.4, 1e-15);
    ck_assert_double_eq_tol(kvr_gate_difference(agreements, 5), -0.3, 1e-15);
    ck_assert_double_eq_tol(kvr_gate_difference(agreements, 6), 0.45 - 0.5, 1e-15);
    ck_assert_double_eq_tol(kvr_gate_difference(agreements, 7), 0.45 - 0.15, 1e-15);
}
END_TEST

Suite *kvr_suite_gate(void)
{
    Suite *suite = suite_create("gate");
    TCase *all = tcase_create("gate");
    tcase_add_test(all, test_top_sets);
    tcase_add_test(all, test_agreement_by_hand);
    tcase_add_test(all, test_agreement_is_the_mean_over_pairs);
    tcase_add_test(all, test_difference_of_thirds);
    suite_add_tcase(suite, all);
    return suite;
}
