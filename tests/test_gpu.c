/*
 * A device against the CPU on random groups: statistics, pooled and smoothed vectors, page scores
 * and sets must agree to the last bit, whatever the values and shapes.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/bitmap.h"
#include "replay/scored.h"
#include "tests/device_fixture.h"
#include "tests/made_cell.h"
#include "tests/suites.h"

enum { GROUPS = 1000, MOST_HEADS = 16, QUOTAS = 6 };

/* ------------------------------------------------------------------------- mixes of values */

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* One value of a vector; kind says of which mix. */
static float draw(struct kvr_random *random, unsigned kind)
{
    double x = kvr_random_uniform(random);
    uint32_t bits = (uint32_t)kvr_random_bits(random);
    switch (kind) {
    case 0: /* as softmax rows are: few large values, many small multiples of the least half */
        return (float)floor(400 * x * x * x * x) * 0x1p-24f;
    case 1:
        return 0.125f * (float)kvr_random_below(random, 3); /* ties */
    case 2:
        return from_bits(bits & 0x807fffffu); /* subnormal, of both signs */
    case 3:
        return x < 0.9 ? (x < 0.5 ? 0.0f : -0.0f) : (float)x;
    case 4:
        return (float)exp(-100 * x); /* down to subnormals */
    case 5: {
        float any = from_bits(bits);
        return isfinite(any) ? any : 1;
    }
    case 6:
        return from_bits(0x3f800000u + (uint32_t)kvr_random_below(random, 300)); /* last bits */
    default:
        return (float)x;
    }
}

static size_t draw_count(struct kvr_random *random, unsigned group)
{
    static const size_t edges[] = {1, 2, 63, 64, 65, 255, 256, 257, 511, 513, 1025};
    if (group % 50 == 49)
        return 3000 + kvr_random_below(random, 6000);
    if (group % 5 == 0)
        return edges[kvr_random_below(random, sizeof edges / sizeof *edges)];
    return 1 + kvr_random_below(random, 700);
}

/* ------------------------------------------------------------------------- one group */

/* A cell in memory, its values drawn, and what the CPU makes of its vectors. */
struct group {
    struct made_cell made;
    struct kvr_score score;
    struct kvr_scorer scorer;
    struct kvr_scored expected;
    struct kvr_random random;
    struct kvr_select_scratch scratch;
};

static void *take(struct group *group, size_t count, size_t size)
{
    void *piece = kvr_room_take_zeroed(&group->made.room, count, size, NULL);
    ck_assert_ptr_nonnull(piece);
    return piece;
}

static void make_group(struct group *group, struct kvr_compute *compute, unsigned number)
{
    group->random = kvr_random_stream(17, number);
    size_t count = draw_count(&group->random, number), heads = 1 + number % MOST_HEADS;
    size_t sinks = kvr_random_below(&group->random, 6);
    made_cell_start(&group->made, heads, count, sinks < count ? sinks : count);
    struct kvr_cell *cell = &group->made.cell;
    group->score = (struct kvr_score){.scorer = &group->scorer, .label = "made", .weighted = true};
    group->made.scored.score = &group->score;
    group->made.plan.nan = number % 3 == 0 ? KVR_NAN_ZERO : KVR_NAN_EXCLUDE;
    if (number % 7 == 0)
        group->made.plan.entropy.window = 1 + kvr_random_below(&group->random, 2 * count);
    if (number % 11 == 0)
        group->made.plan.entropy.alpha = 1;
    cell->candidates.first = kvr_random_below(&group->random, 40);
    unsigned kind = (unsigned)kvr_random_below(&group->random, 8);
    for (size_t i = 0; i < heads * count; i++)
        group->made.scored.vectors[i] = draw(&group->random, kind);
    if (number % 4 == 1)
        for (int i = 0; i < 3; i++)
            group->made.scored.vectors[kvr_random_below(&group->random, heads * count)] =
                i == 0 ? NAN : INFINITY;
    group->made.scored.raw_entropies = take(group, heads, sizeof(double));
    group->expected = group->made.scored;
    group->expected.vectors = take(group, heads * count, sizeof(float));
    group->expected.totals = take(group, heads, sizeof(double));
    group->expected.entropies = take(group, heads, sizeof(double));
    group->expected.weights = take(group, heads, sizeof(double));
    group->expected.raw_entropies = take(group, heads, sizeof(double));
    memcpy(group->expected.vectors, group->made.scored.vectors, heads * count * sizeof(float));
    ck_assert_int_eq(compute->backend->enter(compute, cell, NULL), KVR_OK);
    ck_assert_ptr_nonnull(cell->lane);
}

static void free_group(struct group *group)
{
    kvr_cell_unload(&group->made.cell);
    kvr_select_scratch_free(&group->scratch);
    made_cell_free(&group->made);
}

static void check_doubles(const double *found, const double *expected, size_t count, unsigned group)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(expected[i]) ? !isnan(found[i])
                               : memcmp(&found[i], &expected[i], sizeof *found) != 0)
            ck_abort_msg("group %u, %zu: %a, expected %a", group, i, found[i], expected[i]);
}

/* Which of two zeros is the largest of a page is left open: as scores they are one. */
static void check_floats(const float *found, const float *expected, size_t count, unsigned group)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&found[i], &expected[i], sizeof *found) != 0 &&
            (fabsf(found[i]) > 0 || fabsf(expected[i]) > 0 ||
             isnan(found[i]) != isnan(expected[i])))
            ck_abort_msg("group %u, %zu: %a, expected %a", group, i, (double)found[i],
                         (double)expected[i]);
}

static void check_statistics(struct group *group, unsigned number)
{
    struct kvr_scored *scored = &group->made.scored;
    struct kvr_error err = KVR_ERROR_NONE;
    kvr_scored_finish(&group->made.cell, &group->expected);
    enum kvr_status status = kvr_backend_statistics(&group->made.cell, scored, &err);
    ck_assert_msg(status == KVR_OK, "%s", err.message);
    ck_assert_uint_eq(scored->not_finite, group->expected.not_finite);
    ck_assert_uint_eq(scored->replaced, group->expected.replaced);
    check_doubles(scored->totals, group->expected.totals, scored->heads, number);
    if (scored->not_finite > 0)
        return;
    check_doubles(scored->entropies, group->expected.entropies, scored->heads, number);
    check_doubles(scored->weights, group->expected.weights, scored->heads, number);
    check_doubles(scored->raw_entropies, group->expected.raw_entropies, scored->heads, number);
    ck_assert_int_eq(scored->exact, group->expected.exact);
}

/* ------------------------------------------------------------------------- one ranking */

static struct kvr_ranking draw_ranking(struct group *group, struct kvr_pages *pages)
{
    static const char *const names[] = {"head", "mean", "max", "sum", "entropy"};
    struct kvr_random *random = &group->random;
    const struct kvr_candidates *candidates = &group->made.cell.candidates;
    bool tokens = kvr_random_below(random, 3) == 0;
    *pages = kvr_pages_of(candidates, tokens ? 1 : 2 + kvr_random_below(random, 40));
    struct kvr_ranking ranking = {
        .scored = &group->made.scored,
        .reduce = kvr_reduce_find(names[kvr_random_below(random, 5)]),
        .pages = pages,
        .page_reduce = (enum kvr_page_reduce)kvr_random_below(random, 3),
    };
    if (kvr_random_below(random, 3) == 0) {
        ranking.smooth.kind = kvr_random_below(random, 2) == 0 ? KVR_SMOOTH_AVG : KVR_SMOOTH_MAX;
        ranking.smooth.width = 1 + 2 * (uint32_t)kvr_random_below(random, 9);
        ranking.smooth_length = kvr_random_below(random, candidates->count + 1);
    }
    return ranking;
}

/* What the device has counted, against the sets. */
static void check_counts(const struct kvr_ranking_sets *kept, size_t vectors, size_t words,
                         unsigned number)
{
    for (size_t b = 0; b < kept->count; b++) {
        uint64_t held = 0;
        for (size_t i = 0; i < vectors; i++)
            for (size_t j = 0; j < vectors; j++) {
                uint64_t both = kvr_bitmap_count_and(kept->sets[b][i], kept->sets[b][j], words);
                uint64_t found = kept->pairs[(b * vectors + i) * vectors + j];
                ck_assert_msg(found == both, "group %u: quota %zu, vectors %zu and %zu", number, b,
                              i, j);
            }
        for (size_t word = 0; word < words; word++) {
            uint64_t together = 0;
            for (size_t v = 0; v < vectors; v++)
                together |= kept->sets[b][v][word];
            held += (uint64_t)__builtin_popcountll(together);
        }
        ck_assert_uint_eq(kept->unions[b], held);
    }
}

static void check_ranking(struct group *group, unsigned number)
{
    const struct kvr_cell *cell = &group->made.cell;
    struct kvr_pages pages;
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_ranking found = draw_ranking(group, &pages), expected = found;
    expected.scored = &group->expected;
    ck_assert_int_eq(kvr_ranking_score(cell, &expected, NULL), KVR_OK);
    ck_assert_msg(kvr_backend_score(cell, &found, &err) == KVR_OK, "%s", err.message);
    ck_assert_uint_ne(found.resident, 0);
    ck_assert_uint_eq(found.vector_count, expected.vector_count);
    if (expected.pooled != NULL)
        check_floats(found.pooled, expected.pooled, cell->candidates.count, number);
    for (size_t v = 0; v < found.vector_count; v++)
        check_floats(found.unit_scores[v], expected.unit_scores[v], pages.count, number);

    uint64_t quotas[QUOTAS] = {0, pages.count};
    for (size_t i = 2; i < QUOTAS; i++)
        quotas[i] = kvr_random_below(&group->random, pages.count + 1);
    struct kvr_protect protect = {0};
    if (number % 2 == 0) {
        protect.sinks = kvr_random_below(&group->random, 6);
        protect.recent = kvr_random_below(&group->random, 50);
    }
    struct kvr_ranking_sets wanted = {
        .protect = &protect,
        .quotas = quotas,
        .protect_quotas = quotas,
        .count = QUOTAS,
        .counted = true,
    };
    struct kvr_ranking_sets kept = wanted;
    if (kvr_random_below(&group->random, 4) == 0)
        found.resident = 0; /* as scores that the host has made: they are uploaded */
    ck_assert_int_eq(kvr_ranking_keep(cell, &expected, &wanted, &group->scratch, NULL), KVR_OK);
    ck_assert_msg(kvr_backend_keep(cell, &found, &kept, &group->scratch, &err) == KVR_OK, "%s",
                  err.message);
    size_t words = kvr_bitmap_words(pages.count);
    for (size_t b = 0; b < QUOTAS; b++)
        for (size_t v = 0; v < found.vector_count; v++)
            ck_assert_msg(memcmp(kept.sets[b][v], wanted.sets[b][v], words * sizeof(uint64_t)) == 0,
                          "group %u: quota %zu of vector %zu", number, b, v);
    ck_assert(wanted.pairs == NULL);
    ck_assert((kept.pairs != NULL) == !kvr_protect_any(&protect));
    if (kept.pairs != NULL)
        check_counts(&kept, found.vector_count, words, number);
}

/* Whole orders of the heads' vectors. */
static void check_order(struct group *group, unsigned number)
{
    const struct kvr_cell *cell = &group->made.cell;
    size_t units = cell->candidates.count, heads = group->made.scored.heads;
    struct kvr_error err = KVR_ERROR_NONE;
    float **scores = take(group, heads, sizeof *scores);
    uint32_t **orders[2] = {take(group, heads, sizeof **orders),
                            take(group, heads, sizeof **orders)};
    for (int i = 0; i < 2; i++) {
        orders[i][0] = take(group, heads * units, sizeof(uint32_t));
        for (size_t h = 1; h < heads; h++)
            orders[i][h] = orders[i][0] + h * units;
    }
    for (size_t h = 0; h < heads; h++)
        scores[h] = made_cell_head(&group->made, h);
    struct kvr_orders expected = {heads, units, scores, orders[0]};
    struct kvr_orders found = {heads, units, scores, orders[1]};
    ck_assert_int_eq(kvr_ranking_order(cell, &expected, NULL), KVR_OK);
    ck_assert_msg(kvr_backend_order(cell, &found, &err) == KVR_OK, "%s", err.message);
    ck_assert_msg(memcmp(orders[0][0], orders[1][0], heads * units * sizeof(uint32_t)) == 0,
                  "group %u", number);
}

START_TEST(thousand_groups)
{
    struct kvr_compute *compute = device_open("random groups", 0);
    for (unsigned number = 0; compute != NULL && number < GROUPS; number++) {
        struct group group = {0};
        make_group(&group, compute, number);
        check_statistics(&group, number);
        for (int i = 0; group.made.scored.not_finite == 0 && i < 3; i++)
            check_ranking(&group, number);
        if (group.made.scored.not_finite == 0)
            check_order(&group, number);
        ck_assert(!group.made.cell.lane->failed);
        free_group(&group);
    }
    kvr_gpu_close(compute);
}
END_TEST

/* Ties across every cut of a long vector: half of all values are equal. */
START_TEST(long_ties)
{
    enum { COUNT = 131073 };
    struct kvr_compute *compute = device_open("ties", 0);
    if (compute == NULL)
        return;
    struct group group = {0};
    made_cell_start(&group.made, 2, COUNT, 0);
    group.score.scorer = &group.scorer;
    group.made.scored.score = &group.score;
    for (size_t i = 0; i < 2 * COUNT; i++)
        group.made.scored.vectors[i] = i % 2 == 0 ? 0 : (float)(i % 7) * 0x1p-24f;
    group.expected = group.made.scored;
    ck_assert_int_eq(compute->backend->enter(compute, &group.made.cell, NULL), KVR_OK);
    for (unsigned i = 0; i < 4; i++)
        check_ranking(&group, i);
    check_order(&group, 0);
    free_group(&group);
    kvr_gpu_close(compute);
}
END_TEST

Suite *kvr_suite_gpu(void)
{
    Suite *suite = suite_create("gpu");
    TCase *tests = tcase_create("device");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, thousand_groups);
    tcase_add_test(tests, long_ties);
    suite_add_tcase(suite, tests);
    return suite;
}
