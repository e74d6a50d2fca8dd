/*
 * Sums over rows of stored elements, in every type, byte order and variant, against decoding each
 * element and adding it in its turn: the same bits.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "formats/element.h"
#include "tests/suites.h"

enum { MOST_ROWS = 9, MOST_COLUMNS = 700 };

static const struct kvr_element_type types[] = {
    {.kind = KVR_HALF},
    {.kind = KVR_HALF, .big_endian = true},
    {.kind = KVR_BFLOAT16},
    {.kind = KVR_FLOAT},
    {.kind = KVR_FLOAT, .big_endian = true},
    {.kind = KVR_DOUBLE},
    {.kind = KVR_DOUBLE, .big_endian = true},
};
enum { TYPES = sizeof types / sizeof *types };

static unsigned char stored[8 * MOST_ROWS * MOST_COLUMNS + 1];
static double values[MOST_ROWS * MOST_COLUMNS];

/* The second half of the tests runs without the processor's own conversion of halves. */
static struct kvr_element_type choose(int test)
{
    if (test >= TYPES)
        setenv("KVREPLAY_CPU", "scalar", 1);
    return types[test % TYPES];
}

/* Values of any size and sign, subnormal halves among them; at an odd address if asked for. */
static const unsigned char *draw(struct kvr_random *random, struct kvr_element_type type,
                                 size_t count, bool odd)
{
    for (size_t i = 0; i < count; i++)
        values[i] = kvr_random_normal(random) * exp(-20 * kvr_random_uniform(random));
    unsigned char *at = stored + odd;
    kvr_element_encode(type, values, count, at);
    kvr_element_decode(type, at, count, values); /* what is stored, after rounding */
    return at;
}

/* Where rows begin that lie `stride` elements apart. */
static const void *const *rows_at(struct kvr_element_type type, const unsigned char *at,
                                  size_t rows, size_t stride)
{
    static const void *begins[MOST_ROWS];
    for (size_t row = 0; row < rows; row++)
        begins[row] = at + row * stride * kvr_element_size(type.kind);
    return begins;
}

/* Sums that start at something else than 0, and one behind the last column. */
static void check_sums(struct kvr_element_type type, const unsigned char *at, size_t rows,
                       size_t count)
{
    static double sums[MOST_COLUMNS + 1], only[MOST_COLUMNS + 1], squares[MOST_COLUMNS + 1];
    for (size_t t = 0; t <= count; t++)
        sums[t] = only[t] = squares[t] = (double)t / 3;
    kvr_element_add_rows(type, rows_at(type, at, rows, count), rows, count, only);
    kvr_element_add_squares(type, rows_at(type, at, rows, count), rows, count, sums, squares);
    for (size_t t = 0; t <= count; t++) {
        double sum = (double)t / 3, square = sum;
        for (size_t row = 0; t < count && row < rows; row++) {
            sum += values[row * count + t];
            square += values[row * count + t] * values[row * count + t];
        }
        if (memcmp(&sum, &only[t], sizeof sum) != 0 || memcmp(&sum, &sums[t], sizeof sum) != 0)
            ck_abort_msg("%zu rows of %zu, column %zu: sum %.17g and %.17g, expected %.17g", rows,
                         count, t, only[t], sums[t], sum);
        if (memcmp(&square, &squares[t], sizeof square) != 0)
            ck_abort_msg("%zu rows of %zu, column %zu: square %.17g, expected %.17g", rows, count,
                         t, squares[t], square);
    }
}

START_TEST(test_sums_are_those_of_decoded_elements)
{
    struct kvr_element_type type = choose(_i);
    struct kvr_random random = kvr_random_stream(161, (uint64_t)_i);
    for (size_t count = 1; count <= MOST_COLUMNS; count += count < 40 ? 1 : 61)
        for (size_t rows = 0; rows <= MOST_ROWS; rows += 1 + rows / 3)
            check_sums(type, draw(&random, type, rows * count, count % 2 == 1), rows, count);
}
END_TEST

/* Values between 0 and 1 that mostly sum to less than 1, as rows of attention do, and any values:
   means are sums in double, divided and rounded once. */
static void check_means(struct kvr_element_type type, struct kvr_random *random, size_t rows,
                        size_t count, bool attention)
{
    static float means[MOST_COLUMNS + 1];
    size_t stride = count + (rows > 3 ? 3 : 0);
    const unsigned char *at = draw(random, type, rows * stride, count % 2 == 1);
    if (attention) {
        for (size_t i = 0; i < rows * stride; i++)
            values[i] = fabs(values[i]) / 8;
        kvr_element_encode(type, values, rows * stride, stored + count % 2);
        kvr_element_decode(type, at, rows * stride, values);
    }
    means[count] = 99;
    kvr_element_mean_rows(type, rows_at(type, at, rows, stride), rows, count, means);
    for (size_t t = 0; t < count; t++) {
        double sum = 0;
        for (size_t row = 0; row < rows; row++)
            sum += values[row * stride + t];
        float mean = (float)(sum / (double)rows);
        if (memcmp(&mean, &means[t], sizeof mean) != 0)
            ck_abort_msg("%zu rows of %zu, column %zu: mean %.9g, expected %.9g", rows, count, t,
                         (double)means[t], (double)mean);
    }
    ck_assert_float_eq(means[count], 99);
}

/* With the bytes of elements apart, means are the same to the bit. */
static void check_planes(struct kvr_element_type type, size_t rows, size_t count)
{
    static float means[MOST_COLUMNS], apart[MOST_COLUMNS];
    static unsigned char planes[2 * MOST_ROWS * MOST_COLUMNS];
    const void *at[MOST_ROWS];
    for (size_t row = 0; row < rows; row++)
        at[row] = planes + row * count;
    for (size_t i = 0; i < rows * count; i++) {
        planes[i] = stored[2 * i];
        planes[rows * count + i] = stored[2 * i + 1];
    }
    kvr_element_mean_rows(type, rows_at(type, stored, rows, count), rows, count, means);
    kvr_element_mean_planes(type, at, rows * count, rows, count, apart);
    ck_assert_mem_eq(means, apart, count * sizeof *means);
}

START_TEST(test_means_of_planes)
{
    struct kvr_element_type type = choose(_i);
    struct kvr_random random = kvr_random_stream(165, (uint64_t)_i);
    if (kvr_element_size(type.kind) != 2)
        return;
    for (size_t count = 1; count <= MOST_COLUMNS - 3; count += count < 70 ? 1 : 61)
        for (size_t rows = 1; rows <= MOST_ROWS - 1; rows++)
            for (int attention = 0; attention < 2; attention++) {
                draw(&random, type, rows * count, false);
                for (size_t i = 0; attention && i < rows * count; i++)
                    values[i] = fabs(values[i]) / 8;
                kvr_element_encode(type, values, rows * count, stored);
                check_planes(type, rows, count);
            }
}
END_TEST

/* More columns than have their sums in one place; some hold more than 1, one row is negative. */
START_TEST(test_means_of_many_columns)
{
    enum { ROWS = 7, COLUMNS = 8300, EACH = ROWS * COLUMNS };
    static unsigned char pairs[2 * EACH], planes[2 * EACH];
    static double parts[EACH];
    static float means[COLUMNS], apart[COLUMNS];
    const struct kvr_element_type type = {.kind = KVR_HALF};
    const void *whole[ROWS], *split[ROWS];
    for (size_t i = 0; i < EACH; i++)
        parts[i] = (double)(i * 7919 % 512) / 8192 + (i % 1013 == 0 ? 1 : 0);
    for (size_t i = 0; i < 64; i++)
        parts[3 * COLUMNS + 4090 + i] *= -1;
    kvr_element_encode(type, parts, EACH, pairs);
    kvr_element_decode(type, pairs, EACH, parts);
    for (size_t i = 0; i < EACH; i++) {
        planes[i] = pairs[2 * i];
        planes[EACH + i] = pairs[2 * i + 1];
    }
    for (size_t row = 0; row < ROWS; row++) {
        whole[row] = pairs + 2 * row * COLUMNS;
        split[row] = planes + row * COLUMNS;
    }
    kvr_element_mean_rows(type, whole, ROWS, COLUMNS, means);
    kvr_element_mean_planes(type, split, EACH, ROWS, COLUMNS, apart);
    for (size_t t = 0; t < COLUMNS; t++) {
        double sum = 0;
        for (size_t row = 0; row < ROWS; row++)
            sum += parts[row * COLUMNS + t];
        float mean = (float)(sum / ROWS);
        ck_assert_mem_eq(&mean, &means[t], sizeof mean);
        ck_assert_mem_eq(&mean, &apart[t], sizeof mean);
    }
}
END_TEST

START_TEST(test_means)
{
    struct kvr_element_type type = choose(_i);
    struct kvr_random random = kvr_random_stream(163, (uint64_t)_i);
    for (size_t count = 1; count <= MOST_COLUMNS - 3; count += count < 70 ? 1 : 61)
        for (size_t rows = 1; rows <= MOST_ROWS - 1; rows++)
            for (int attention = 0; attention < 2; attention++)
                check_means(type, &random, rows, count, attention);
}
END_TEST

/* One odd value among those that sum to less than 1: infinite, NaN, negative, or too much. */
START_TEST(test_means_of_odd_values)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.25, -0.0, 1, 0.96875};
    struct kvr_element_type type = choose(_i);
    const size_t rows = 4, count = 70;
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++)
        for (size_t column = 0; column < count; column += 3) {
            float means[70];
            for (size_t i = 0; i < rows * count; i++)
                values[i] = (double)(i % 7) / 64;
            values[2 * count + column] = odd[k];
            kvr_element_encode(type, values, rows * count, stored);
            kvr_element_mean_rows(type, rows_at(type, stored, rows, count), rows, count, means);
            for (size_t t = 0; t < count; t++) {
                double sum = 0;
                for (size_t row = 0; row < rows; row++)
                    sum += values[row * count + t];
                float mean = (float)(sum / (double)rows);
                if (isnan(mean))
                    ck_assert(isnan(means[t]));
                else
                    ck_assert_mem_eq(&mean, &means[t], sizeof mean);
            }
        }
}
END_TEST

/* A value that is not finite stays so, and touches its own column alone. */
START_TEST(test_values_that_are_not_finite)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    struct kvr_element_type type = choose(_i);
    struct kvr_random random = kvr_random_stream(162, (uint64_t)_i);
    const size_t rows = 4, count = 21;
    for (size_t b = 0; b < 3; b++)
        for (size_t column = 0; column < count; column++) {
            double sums[21] = {0}, squares[21] = {0};
            draw(&random, type, rows * count, false);
            values[count + column] = bad[b];
            kvr_element_encode(type, values, rows * count, stored);
            kvr_element_add_squares(type, rows_at(type, stored, rows, count), rows, count, sums,
                                    squares);
            for (size_t t = 0; t < count; t++) {
                ck_assert(isfinite(sums[t]) == (t != column));
                ck_assert(isfinite(squares[t]) == (t != column));
            }
        }
}
END_TEST

Suite *kvr_suite_element_sum(void)
{
    Suite *suite = suite_create("element_sum");
    TCase *all = tcase_create("sums");
    tcase_add_loop_test(all, test_sums_are_those_of_decoded_elements, 0, 2 * TYPES);
    tcase_add_loop_test(all, test_means, 0, 2 * TYPES);
    tcase_add_loop_test(all, test_means_of_planes, 0, 2 * TYPES);
    tcase_add_test(all, test_means_of_many_columns);
    tcase_add_loop_test(all, test_means_of_odd_values, 0, 2 * TYPES);
    tcase_add_loop_test(all, test_values_that_are_not_finite, 0, 2 * TYPES);
    suite_add_tcase(suite, all);
    return suite;
}
