/*
 * Layer quotas and the largest remainder method: the paper's numbers, and millions of random cases
 * against what proposition 3 says.
 */
#include <check.h>
#include <inttypes.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/largest_remainder.h"
#include "replay/layer_quota.h"
#include "tests/suites.h"

__extension__ typedef unsigned __int128 wide;

/* Check notes every assertion that it passes: cases by the million are tested by functions that
   return what is wrong, NULL if nothing is. */
#define WRONG_UNLESS(condition)                                                                    \
    if (!(condition))                                                                              \
    return #condition

static struct kvr_layer_quota quota_of(uint64_t layers, uint64_t kv_heads, uint64_t page,
                                       uint64_t budget)
{
    struct kvr_layer_quota quota;
    struct kvr_error err = KVR_ERROR_NONE;
    if (kvr_layer_quota_of(layers, kv_heads, page, budget, &quota, &err) != KVR_OK)
        ck_abort_msg("%s", err.message);
    return quota;
}

START_TEST(test_golden_quotas)
{
    struct kvr_layer_quota quota = quota_of(32, 8, 16, 32768);
    ck_assert_uint_eq(quota.floor_pages, 8);
    ck_assert_uint_eq(quota.larger, 0);
    ck_assert_uint_eq(quota.aligned, 32768);
    ck_assert(quota.conserved);

    quota = quota_of(32, 8, 16, 35000);
    ck_assert_uint_eq(quota.aligned, 34944);
    ck_assert_uint_eq(quota.residual, 56);
    ck_assert_uint_eq(quota.floor_pages, 8);
    ck_assert_uint_eq(quota.floor_budget, 32768);
    ck_assert_uint_eq(quota.larger, 17);
    ck_assert(!quota.conserved);
    ck_assert_uint_eq(kvr_layer_quota_pages(&quota, 16), 9);
    ck_assert_uint_eq(kvr_layer_quota_pages(&quota, 17), 8);
}
END_TEST

START_TEST(test_budgets_that_are_too_small)
{
    struct kvr_layer_quota quota = quota_of(32, 8, 16, 127);
    ck_assert_uint_eq(quota.pages, 0);
    ck_assert_uint_eq(quota.residual, 127);
    quota = quota_of(32, 8, 16, 128 * 31); /* the last layer has nothing */
    ck_assert_uint_eq(kvr_layer_quota_pages(&quota, 30), 1);
    ck_assert_uint_eq(kvr_layer_quota_pages(&quota, 31), 0);
    ck_assert(quota_of(1, 1, 1, 0).conserved);
}
END_TEST

START_TEST(test_shapes_that_cannot_be)
{
    struct kvr_layer_quota quota;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_layer_quota_of(0, 1, 1, 1, &quota, &err), KVR_BAD_ARGUMENT);
    ck_assert_int_eq(kvr_layer_quota_of(1, 0, 1, 1, &quota, &err), KVR_BAD_ARGUMENT);
    ck_assert_int_eq(kvr_layer_quota_of(1, 1, 0, 1, &quota, &err), KVR_BAD_ARGUMENT);
    ck_assert_int_eq(kvr_layer_quota_of(1, UINT64_MAX, 2, 1, &quota, &err), KVR_BAD_ARGUMENT);
    ck_assert_int_eq(kvr_layer_quota_of(3, UINT64_MAX / 2, 1, 1, &quota, &err), KVR_BAD_ARGUMENT);
    quota = quota_of(1, UINT64_MAX, 1, UINT64_MAX);
    ck_assert_uint_eq(quota.pages, 1);
    ck_assert(quota.conserved);
}
END_TEST

/* Numbers of every magnitude up to 2^bits, small ones as often as large ones. */
static uint64_t random_size(struct kvr_random *random, unsigned bits)
{
    return kvr_random_bits(random) >> (64 - 1 - kvr_random_below(random, bits));
}

/* Proposition 3 and what else is promised of quotas; `more` are those of a larger budget. */
static const char *fault_of(const struct kvr_layer_quota *quota, const struct kvr_layer_quota *more)
{
    uint64_t pages = 0, previous = kvr_layer_quota_pages(quota, 0);
    uint64_t most = previous, least = kvr_layer_quota_pages(quota, quota->layers - 1);
    for (uint64_t l = 0; l < quota->layers; l++) {
        uint64_t own = kvr_layer_quota_pages(quota, l);
        pages += own;
        WRONG_UNLESS(own <= previous);
        WRONG_UNLESS(own <= kvr_layer_quota_pages(more, l));
        previous = own;
    }
    WRONG_UNLESS(most - least <= 1);
    WRONG_UNLESS((wide)pages * quota->page_tokens == quota->aligned);
    WRONG_UNLESS(quota->aligned + quota->residual == quota->budget);
    WRONG_UNLESS(quota->residual < quota->page_tokens);
    WRONG_UNLESS(quota->conserved == (quota->aligned == quota->budget));
    WRONG_UNLESS(quota->conserved == (quota->budget % quota->page_tokens == 0));
    WRONG_UNLESS(least == quota->floor_pages);
    WRONG_UNLESS((wide)quota->floor_pages * quota->layers * quota->page_tokens ==
                 quota->floor_budget);
    WRONG_UNLESS(quota->budget - quota->floor_budget < (wide)quota->layers * quota->page_tokens);
    return NULL;
}

START_TEST(test_quotas_of_random_budgets)
{
    enum { CASES = 2000000 };
    struct kvr_random random = kvr_random_stream(4, 1);
    for (int i = 0; i < CASES; i++) {
        uint64_t layers = 1 + random_size(&random, 6), kv_heads = 1 + random_size(&random, 6);
        uint64_t page = 1 + random_size(&random, 8), budget = random_size(&random, 44);
        if (i % 3 == 0) /* or a budget that is conserved */
            budget -= budget % (kv_heads * page);
        struct kvr_layer_quota quota = quota_of(layers, kv_heads, page, budget);
        struct kvr_layer_quota more =
            quota_of(layers, kv_heads, page, budget + random_size(&random, 12));
        const char *fault = fault_of(&quota, &more);
        if (fault != NULL)
            ck_abort_msg("L %" PRIu64 ", H %" PRIu64 ", B %" PRIu64 ", budget %" PRIu64 ": not %s",
                         layers, kv_heads, page, budget, fault);
    }
}
END_TEST

/* ------------------------------------------------------------------------------ remainders */

enum { MOST = 12 };

static void share(const uint64_t *weights, size_t count, uint64_t total, uint64_t *shares)
{
    struct kvr_error err = KVR_ERROR_NONE;
    if (kvr_largest_remainder(weights, count, total, shares, &err) != KVR_OK)
        ck_abort_msg("%s", err.message);
}

START_TEST(test_golden_shares)
{
    uint64_t shares[5];
    share((const uint64_t[]){47, 16, 158, 179, 600}, 5, 10, shares); /* 0.47 0.16 1.58 1.79 6 */
    ck_assert(shares[0] == 0 && shares[1] == 0 && shares[2] == 2 && shares[3] == 2);
    ck_assert_uint_eq(shares[4], 6);
    share((const uint64_t[]){1, 1, 1}, 3, 5, shares); /* ties to the lower index */
    ck_assert(shares[0] == 2 && shares[1] == 2 && shares[2] == 1);
    share((const uint64_t[]){0, 7, 0}, 3, 5, shares);
    ck_assert(shares[0] == 0 && shares[1] == 5 && shares[2] == 0);
    share((const uint64_t[]){UINT64_MAX - 1, 1}, 2, UINT64_MAX, shares);
    ck_assert(shares[0] == UINT64_MAX - 1 && shares[1] == 1);
    share(NULL, 3, UINT64_MAX, shares);
    ck_assert(shares[0] == UINT64_MAX / 3 && shares[2] == UINT64_MAX / 3);
}
END_TEST

START_TEST(test_weights_that_cannot_be_shared)
{
    uint64_t shares[2];
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_largest_remainder(NULL, 0, 3, shares, &err), KVR_BAD_ARGUMENT);
    ck_assert_int_eq(kvr_largest_remainder((const uint64_t[]){0, 0}, 2, 3, shares, &err),
                     KVR_BAD_ARGUMENT);
    ck_assert_int_eq(kvr_largest_remainder((const uint64_t[]){UINT64_MAX, 1}, 2, 3, shares, &err),
                     KVR_BAD_ARGUMENT);
}
END_TEST

/* The definition, without sorting: i is rounded up if fewer than `left` parts come before it. */
static void share_naively(const uint64_t *weights, size_t count, uint64_t total, uint64_t *shares)
{
    uint64_t sum = 0, left = total;
    for (size_t i = 0; i < count; i++)
        sum += weights[i];
    for (size_t i = 0; i < count; i++)
        left -= (uint64_t)((wide)total * weights[i] / sum);
    for (size_t i = 0; i < count; i++) {
        wide own = (wide)total * weights[i] % sum;
        uint64_t before = 0;
        for (size_t j = 0; j < count; j++) {
            wide other = (wide)total * weights[j] % sum;
            before += other > own || (other == own && j < i);
        }
        shares[i] = (uint64_t)((wide)total * weights[i] / sum) + (before < left);
    }
}

START_TEST(test_shares_of_random_weights)
{
    enum { CASES = 500000 };
    struct kvr_random random = kvr_random_stream(4, 2);
    for (int n = 0; n < CASES; n++) {
        uint64_t weights[MOST], shares[MOST], expected[MOST], given = 0;
        size_t count = 1 + kvr_random_below(&random, MOST);
        unsigned bits = n % 2 == 0 ? 3 : 60; /* many ties, or none */
        for (size_t i = 0; i < count; i++)
            weights[i] = random_size(&random, bits);
        weights[kvr_random_below(&random, count)] += 1;
        uint64_t total = random_size(&random, 63);
        share(weights, count, total, shares);
        share_naively(weights, count, total, expected);
        for (size_t i = 0; i < count; i++)
            given += shares[i];
        if (given != total || memcmp(shares, expected, count * sizeof *shares) != 0)
            ck_abort_msg("case %d: %zu weights, total %" PRIu64, n, count, total);
    }
}
END_TEST

START_TEST(test_layer_quotas_are_largest_remainders)
{
    struct kvr_random random = kvr_random_stream(4, 3);
    for (int n = 0; n < 20000; n++) {
        uint64_t ones[MOST], equal[MOST], shares[MOST];
        size_t layers = 1 + kvr_random_below(&random, MOST);
        struct kvr_layer_quota quota =
            quota_of(layers, 1 + random_size(&random, 4), 1 + random_size(&random, 6),
                     random_size(&random, 30));
        for (size_t l = 0; l < layers; l++)
            ones[l] = 5;
        share(ones, layers, quota.pages, shares);
        share(NULL, layers, quota.pages, equal);
        for (size_t l = 0; l < layers; l++)
            if (shares[l] != kvr_layer_quota_pages(&quota, l) || equal[l] != shares[l])
                ck_abort_msg("case %d: layer %zu of %zu", n, l, layers);
    }
}
END_TEST

Suite *kvr_suite_layer_quota(void)
{
    Suite *suite = suite_create("layer_quota");
    TCase *quotas = tcase_create("quotas");
    tcase_add_test(quotas, test_golden_quotas);
    tcase_add_test(quotas, test_budgets_that_are_too_small);
    tcase_add_test(quotas, test_shapes_that_cannot_be);
    tcase_add_test(quotas, test_quotas_of_random_budgets);
    suite_add_tcase(suite, quotas);

    TCase *shares = tcase_create("shares");
    tcase_add_test(shares, test_golden_shares);
    tcase_add_test(shares, test_weights_that_cannot_be_shared);
    tcase_add_test(shares, test_shares_of_random_weights);
    tcase_add_test(shares, test_layer_quotas_are_largest_remainders);
    suite_add_tcase(suite, shares);
    return suite;
}
