/*
 * Smoothing against the definition: a centred window over the first entries, the rest as it was.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/smooth.h"
#include "tests/suites.h"

enum { MOST = 60 };

static struct kvr_smooth parsed(const char *text)
{
    struct kvr_smooth smooth;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_smooth_parse(text, &smooth, &err) == KVR_OK, "%s", err.message);
    return smooth;
}

START_TEST(test_names)
{
    ck_assert_int_eq(parsed("none").kind, KVR_SMOOTH_NONE);
    ck_assert_int_eq(parsed("avg:5").kind, KVR_SMOOTH_AVG);
    ck_assert_uint_eq(parsed("avg:5").width, 5);
    ck_assert_int_eq(parsed("max:7").kind, KVR_SMOOTH_MAX);
    ck_assert_uint_eq(parsed("max:7").width, 7);
    ck_assert_uint_eq(parsed("avg:1").width, 1);
    static const char *const bad[] = {"",       "avg",    "avg:",      "avg:0",
                                      "avg:4",  "max:-1", "avg:5 ",    "mean:5",
                                      "none:3", "avg:x5", "avg:65536", "max:99999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kvr_smooth smooth;
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_msg(kvr_smooth_parse(bad[i], &smooth, &err) == KVR_BAD_ARGUMENT, "\"%s\"",
                      bad[i]);
        ck_assert_ptr_nonnull(strstr(err.message, "there are none, avg:N, max:N with N odd"));
    }
}
END_TEST

/* Entry t of the smoothed vector, from the definition. */
static float defined(struct kvr_smooth smooth, const float *in, size_t length, size_t t)
{
    if (t >= length || smooth.kind == KVR_SMOOTH_NONE)
        return in[t];
    long half = (long)smooth.width / 2;
    double sum = 0;
    float most = -INFINITY;
    for (long u = (long)t - half; u <= (long)t + half; u++)
        if (u >= 0 && u < (long)length) {
            sum += (double)in[u];
            most = in[u] > most ? in[u] : most;
        }
    return smooth.kind == KVR_SMOOTH_AVG ? (float)(sum / smooth.width) : most;
}

START_TEST(test_smoothing_is_as_defined)
{
    static const char *const names[] = {"none",  "avg:1", "avg:3", "avg:5",   "avg:59",
                                        "max:1", "max:3", "max:7", "max:199", "avg:65535"};
    struct kvr_smooth smooth = parsed(names[_i]);
    struct kvr_random random = kvr_random_stream(121, (uint64_t)_i);
    for (size_t count = 1; count <= MOST; count++)
        for (size_t length = 0; length <= count; length += 1 + count / 9) {
            float in[MOST], out[MOST + 1];
            for (size_t t = 0; t < count; t++)
                in[t] = (float)kvr_random_normal(&random);
            out[count] = 99;
            kvr_smooth_apply(smooth, in, length, count, out);
            for (size_t t = 0; t < count; t++) {
                float expected = defined(smooth, in, length, t);
                if (out[t] < expected || out[t] > expected)
                    ck_abort_msg("%s, %zu of %zu, entry %zu: %g, expected %g", names[_i], length,
                                 count, t, (double)out[t], (double)expected);
            }
            ck_assert_float_eq(out[count], 99);
        }
}
END_TEST

/* What lies outside counts as 0 in a mean, but does not count in a maximum. */
START_TEST(test_borders_by_hand)
{
    const float in[] = {-3, -6, -9, -12, 30, 1};
    float out[6];
    kvr_smooth_apply(parsed("avg:3"), in, 4, 6, out);
    const float means[] = {-3, -6, -9, -7, 30, 1};
    ck_assert_mem_eq(out, means, sizeof means);
    kvr_smooth_apply(parsed("max:3"), in, 4, 6, out);
    const float most[] = {-3, -3, -6, -9, 30, 1};
    ck_assert_mem_eq(out, most, sizeof most);
}
END_TEST

START_TEST(test_means_are_rounded_once)
{
    const float in[] = {0x1p24f, 1, 1};
    float out[3];
    kvr_smooth_apply(parsed("avg:3"), in, 3, 3, out);
    ck_assert_float_eq(out[1], (float)((0x1p24 + 2) / 3));
}
END_TEST

Suite *kvr_suite_smooth(void)
{
    Suite *suite = suite_create("smooth");
    TCase *all = tcase_create("smooth");
    tcase_add_test(all, test_names);
    tcase_add_loop_test(all, test_smoothing_is_as_defined, 0, 10);
    tcase_add_test(all, test_borders_by_hand);
    tcase_add_test(all, test_means_are_rounded_once);
    suite_add_tcase(suite, all);
    return suite;
}
