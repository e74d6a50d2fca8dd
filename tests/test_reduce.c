/*
 * Pooling the heads of a group, against sums written out.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/reduce.h"
#include "tests/suites.h"

enum { MOST_HEADS = 16, MOST_TOKENS = 1300 };

static void pool(const char *name, const float *vectors, size_t heads, size_t count,
                 const double *weights, float *out)
{
    const struct kvr_reduce *reduce = kvr_reduce_find(name);
    ck_assert_ptr_nonnull(reduce);
    ck_assert_str_eq(reduce->name, name);
    reduce->pool(vectors, heads, count, weights, out);
}

START_TEST(test_names)
{
    ck_assert_ptr_null(kvr_reduce_find("median"));
    ck_assert_ptr_null(kvr_reduce_find(""));
    ck_assert_ptr_null(kvr_reduce_find("meanx"));
    /* `head` keeps every head's own set: there is nothing to pool. */
    ck_assert_ptr_nonnull(kvr_reduce_find("head"));
    ck_assert(kvr_reduce_find("head")->pool == NULL);
    for (const struct kvr_reduce *reduce = kvr_reduces; reduce->name != NULL; reduce++) {
        ck_assert_ptr_eq(kvr_reduce_find(reduce->name), reduce);
        ck_assert_uint_gt(strlen(reduce->summary), 0);
    }
}
END_TEST

/* Every pool of [heads][count] vectors against sums over the heads, token by token. */
static void check_pools(const float *vectors, size_t heads, size_t count, const double *weights)
{
    static const char *const names[] = {"mean", "max", "sum", "entropy"};
    static float found[4][MOST_TOKENS + 1];
    for (size_t i = 0; i < 4; i++) {
        found[i][count] = 99;
        pool(names[i], vectors, heads, count, weights, found[i]);
        ck_assert_float_eq(found[i][count], 99);
    }
    for (size_t t = 0; t < count; t++) {
        double plain = 0, by_weight = 0;
        float most = -INFINITY;
        for (size_t h = 0; h < heads; h++) {
            float value = vectors[h * count + t];
            plain += (double)value;
            by_weight += weights[h] * (double)value;
            most = value > most ? value : most;
        }
        const float expected[] = {(float)(plain / (double)heads), most, (float)plain,
                                  (float)by_weight};
        for (size_t i = 0; i < 4; i++)
            if (found[i][t] < expected[i] || found[i][t] > expected[i])
                ck_abort_msg("%s of %zu heads, token %zu of %zu: %.9g, expected %.9g", names[i],
                             heads, t, count, (double)found[i][t], (double)expected[i]);
        if (t % 50 == 0)
            ck_assert_double_eq(kvr_reduce_entropy_at(vectors, heads, count, weights, t),
                                by_weight);
    }
}

START_TEST(test_pools_of_random_vectors)
{
    static const size_t counts[] = {1, 2, 50, 511, 512, 513, 1024, 1025, MOST_TOKENS};
    static float vectors[MOST_HEADS * MOST_TOKENS];
    struct kvr_random random = kvr_random_stream(41, 0);
    for (size_t heads = 1; heads <= MOST_HEADS; heads++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            double weights[MOST_HEADS];
            for (size_t h = 0; h < heads; h++)
                weights[h] = kvr_random_uniform(&random);
            for (size_t v = 0; v < heads * counts[i]; v++)
                vectors[v] = (float)kvr_random_normal(&random);
            check_pools(vectors, heads, counts[i], weights);
        }
}
END_TEST

START_TEST(test_one_head_is_left_as_it_is)
{
    static const char *const names[] = {"mean", "max", "sum", "entropy"};
    const float vector[] = {0.1f, -3, 0, 1e-45f, 3e38f};
    const double weight = 1;
    for (size_t i = 0; i < 4; i++) {
        float out[5];
        pool(names[i], vector, 1, 5, &weight, out);
        ck_assert_mem_eq(out, vector, sizeof vector);
    }
}
END_TEST

/* 2^24 + 1 + 1 needs double; 2^60 + 1 - 2^60 shows that heads are added in their order. */
START_TEST(test_sums_run_in_double_in_head_order)
{
    const float vectors[] = {0x1p24f, 0x1p60f, 1, 1, 1, -0x1p60f};
    const double weights[] = {1, 1, 1};
    float out[2];
    pool("sum", vectors, 3, 2, weights, out);
    ck_assert_float_eq(out[0], 0x1p24f + 2);
    ck_assert_float_eq(out[1], 0);
    pool("entropy", vectors, 3, 2, weights, out);
    ck_assert_float_eq(out[0], 0x1p24f + 2);
    ck_assert_float_eq(out[1], 0);
    pool("mean", vectors, 3, 2, weights, out);
    ck_assert_float_eq(out[0], (float)((0x1p24 + 2) / 3));
    ck_assert_float_eq(out[1], 0);
}
END_TEST

/* The largest floats do not overflow in a mean. */
START_TEST(test_mean_of_large_values)
{
    const float vectors[] = {3e38f, 3e38f, 3e38f};
    float out;
    pool("mean", vectors, 3, 1, NULL, &out);
    ck_assert_float_eq(out, 3e38f);
}
END_TEST

Suite *kvr_suite_reduce(void)
{
    Suite *suite = suite_create("reduce");
    TCase *all = tcase_create("reduce");
    tcase_add_test(all, test_names);
    tcase_add_test(all, test_pools_of_random_vectors);
    tcase_add_test(all, test_one_head_is_left_as_it_is);
    tcase_add_test(all, test_sums_run_in_double_in_head_order);
    tcase_add_test(all, test_mean_of_large_values);
    suite_add_tcase(suite, all);
    return suite;
}
