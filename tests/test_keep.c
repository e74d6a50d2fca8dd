/*
 * Protection and select order against a list that is written out: protected units first, then
 * falling score. The quota at equal memory against trying every one.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/bitmap.h"
#include "replay/keep.h"
#include "tests/made_cell.h"
#include "tests/suites.h"

enum { MOST_UNITS = 150, MOST_WORDS = MOST_UNITS / 64 + 1, MOST_HEADS = 5 };

/* ------------------------------------------------------------------------- names */

static const struct {
    const char *text;
    uint64_t sinks, recent;
    double fraction; /* negative: none */
} names[] = {
    {"none", 0, 0, -1},        {"sinks:4", 4, 0, -1},
    {"recent:32", 0, 32, -1},  {"sinks:4+recent:32", 4, 32, -1},
    {"recent:0.5", 0, 0, 0.5}, {"recent:.25", 0, 0, 0.25},
    {"recent:1.0", 0, 0, 1},   {"recent:0.0", 0, 0, 0},
    {"recent:1", 0, 1, -1},    {"sinks:2+recent:0.5", 2, 0, 0.5},
    {"sinks:0", 0, 0, -1},     {"recent:4294967295", 0, 4294967295, -1},
};

static struct kvr_protect parsed(const char *text)
{
    struct kvr_protect protect;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_protect_parse(text, &protect, &err) == KVR_OK, "%s", err.message);
    return protect;
}

START_TEST(test_names)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct kvr_protect protect = parsed(names[i].text);
        ck_assert_uint_eq(protect.sinks, names[i].sinks);
        ck_assert_uint_eq(protect.recent, names[i].recent);
        ck_assert(protect.has_fraction == (names[i].fraction >= 0));
        if (protect.has_fraction)
            ck_assert_double_eq(kvr_decimal_double(protect.fraction), names[i].fraction);
        ck_assert(kvr_protect_any(&protect) ==
                  (names[i].sinks > 0 || names[i].recent > 0 || names[i].fraction >= 0));
    }
    static const char *const bad[] = {"",
                                      "sinks",
                                      "sinks:",
                                      "sinks:-1",
                                      "sinks:1.5",
                                      "recent:1.5",
                                      "recent:x",
                                      "recent:",
                                      "recent:4+sinks:4",
                                      "sinks:4+",
                                      "sinks:4+sinks:4",
                                      "+recent:4",
                                      "sinks:4 recent:4",
                                      "none+recent:4",
                                      "recent:4294967296"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kvr_protect protect;
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_msg(kvr_protect_parse(bad[i], &protect, &err) == KVR_BAD_ARGUMENT, "\"%s\"",
                      bad[i]);
        ck_assert_ptr_nonnull(strstr(err.message, "is not a protection"));
    }
}
END_TEST

/* ------------------------------------------------------------------------- select order */

/* A layer's candidates on pages, what is protected, and scores with many ties. */
struct problem {
    struct kvr_protect protect;
    struct kvr_pages pages;
    uint64_t quota; /* of which a fraction is protected */
    float scores[MOST_UNITS];
};

static bool is_sink(const struct problem *problem, size_t unit)
{
    struct kvr_range tokens = kvr_pages_tokens(&problem->pages, unit);
    return tokens.start < problem->protect.sinks;
}

static bool is_recent(const struct problem *problem, size_t unit)
{
    size_t all = problem->pages.candidates.count;
    if (problem->protect.has_fraction) {
        /* Fractions here are halves and quarters: exact. */
        double newest =
            floor(kvr_decimal_double(problem->protect.fraction) * (double)problem->quota);
        return (double)(problem->pages.count - unit) <= newest;
    }
    struct kvr_range tokens = kvr_pages_tokens(&problem->pages, unit);
    return tokens.end + problem->protect.recent > all && problem->protect.recent > 0;
}

/* Every unit in select order. */
static void list_order(const struct problem *problem, size_t *order)
{
    size_t count = problem->pages.count, listed = 0;
    bool taken[MOST_UNITS] = {false};
    for (size_t unit = 0; unit < count; unit++)
        if (is_sink(problem, unit)) {
            order[listed++] = unit;
            taken[unit] = true;
        }
    for (size_t unit = count; unit-- > 0;)
        if (!taken[unit] && is_recent(problem, unit)) {
            order[listed++] = unit;
            taken[unit] = true;
        }
    while (listed < count) {
        size_t best = count;
        for (size_t unit = 0; unit < count; unit++)
            if (!taken[unit] && (best == count || problem->scores[unit] > problem->scores[best]))
                best = unit;
        order[listed++] = best;
        taken[best] = true;
    }
}

static void draw(struct kvr_random *random, struct problem *problem)
{
    static const char *const kinds[] = {
        "none",        "sinks:4",          "recent:8",           "recent:0.5",
        "recent:0.25", "sinks:3+recent:5", "sinks:2+recent:0.5", "sinks:40+recent:90"};
    static const uint64_t sizes[] = {1, 1, 4, 16};
    const struct kvr_candidates candidates = {.first = kvr_random_below(random, 40),
                                              .count = 1 + kvr_random_below(random, 120)};
    *problem = (struct problem){
        .protect = parsed(kinds[kvr_random_below(random, 8)]),
        .pages = kvr_pages_of(&candidates, sizes[kvr_random_below(random, 4)]),
    };
    problem->quota = kvr_random_below(random, problem->pages.count + 1);
    for (size_t unit = 0; unit < problem->pages.count; unit++)
        problem->scores[unit] = (float)kvr_random_below(random, 12) - 3;
}

START_TEST(test_protected_units_stand_first)
{
    struct kvr_random random = kvr_random_stream(131, 0);
    for (int round = 0; round < 2000; round++) {
        struct problem problem;
        size_t order[MOST_UNITS], held = 0;
        draw(&random, &problem);
        list_order(&problem, order);
        struct kvr_protected units =
            kvr_protect_units(&problem.protect, &problem.pages, problem.quota);
        for (size_t unit = 0; unit < problem.pages.count; unit++)
            held += is_sink(&problem, unit) || is_recent(&problem, unit);
        ck_assert_uint_eq(kvr_protected_count(units), held);
        for (size_t rank = 0; rank < problem.pages.count; rank++) {
            if (rank < held)
                ck_assert_uint_eq(kvr_protected_at(units, rank), order[rank]);
            ck_assert_uint_eq(kvr_protected_rank(units, order[rank]),
                              rank < held ? rank : problem.pages.count);
        }
    }
}
END_TEST

START_TEST(test_first_units_in_select_order)
{
    struct kvr_random random = kvr_random_stream(132, 0);
    struct kvr_select_scratch scratch = {0};
    struct kvr_room room = {0};
    for (int round = 0; round < 2000; round++) {
        enum { QUOTAS = 4 };
        struct problem problem;
        draw(&random, &problem);
        size_t n = problem.pages.count;
        uint64_t words[QUOTAS][MOST_WORDS], *sets[QUOTAS];
        uint64_t quotas[QUOTAS] = {n, 0, kvr_random_below(&random, n + 1),
                                   kvr_random_below(&random, n + 1)};
        uint64_t protect_quotas[QUOTAS];
        memset(words, 0xff, sizeof words);
        for (size_t i = 0; i < QUOTAS; i++) {
            sets[i] = words[i];
            protect_quotas[i] = i == 3 ? kvr_random_below(&random, n + 1) : quotas[i];
        }
        ck_assert_int_eq(kvr_keep_first(&problem.protect, &problem.pages, problem.scores, quotas,
                                        protect_quotas, QUOTAS, sets, &room, &scratch, NULL),
                         KVR_OK);
        for (size_t i = 0; i < QUOTAS; i++) {
            size_t order[MOST_UNITS];
            problem.quota = protect_quotas[i];
            list_order(&problem, order);
            for (size_t rank = 0; rank < n; rank++)
                if (kvr_bitmap_has(sets[i], order[rank]) != (rank < quotas[i]))
                    ck_abort_msg("round %d, quota %zu of %zu: unit %zu at rank %zu", round,
                                 (size_t)quotas[i], n, order[rank], rank);
        }
    }
    kvr_select_scratch_free(&scratch);
    kvr_room_free(&room);
}
END_TEST

/* Ten tokens, sinks:2+recent:3; by hand. */
START_TEST(test_select_order_by_hand)
{
    const struct kvr_candidates candidates = {.first = 0, .count = 10};
    const struct kvr_pages pages = kvr_pages_of(&candidates, 1);
    struct kvr_protect protect = parsed("sinks:2+recent:3");
    const float scores[] = {0, 0, 5, 9, 9, 1, 0, 7, 0, 0};
    const uint64_t quotas[] = {1, 2, 3, 5, 6, 7, 8};
    const uint64_t expected[] = {0x001, 0x003, 0x203, 0x383, 0x38b, 0x39b, 0x39f};
    struct kvr_select_scratch scratch = {0};
    struct kvr_room room = {0};
    for (size_t i = 0; i < 7; i++) {
        uint64_t set = 0, *sets[] = {&set};
        ck_assert_int_eq(kvr_keep_first(&protect, &pages, scores, &quotas[i], &quotas[i], 1, sets,
                                        &room, &scratch, NULL),
                         KVR_OK);
        ck_assert_uint_eq(set, expected[i]);
    }
    kvr_select_scratch_free(&scratch);
    kvr_room_free(&room);
}
END_TEST

/* ------------------------------------------------------------------------- equal memory */

/* Size of the union of the heads' `quota` first units. */
static uint64_t union_of(const struct problem *heads, size_t head_count, uint64_t quota)
{
    bool held[MOST_UNITS] = {false};
    uint64_t size = 0;
    for (size_t h = 0; h < head_count; h++) {
        struct problem head = heads[h];
        size_t order[MOST_UNITS];
        head.quota = quota; /* a fraction is one of the quota in force */
        list_order(&head, order);
        for (size_t rank = 0; rank < quota; rank++) {
            size += !held[order[rank]];
            held[order[rank]] = true;
        }
    }
    return size;
}

START_TEST(test_largest_quota_whose_union_fits)
{
    struct kvr_random random = kvr_random_stream(133, 0);
    struct kvr_select_scratch scratch = {0};
    for (int round = 0; round < 300; round++) {
        struct problem heads[MOST_HEADS];
        struct made_cell made;
        size_t head_count = 1 + kvr_random_below(&random, MOST_HEADS);
        made_cell_start(&made, head_count, 1, 0);
        float *scores[MOST_HEADS];
        draw(&random, &heads[0]);
        for (size_t h = 0; h < head_count; h++) {
            struct problem other = heads[0];
            if (h > 0)
                for (size_t unit = 0; unit < other.pages.count; unit++)
                    if (kvr_random_below(&random, 3) == 0)
                        other.scores[unit] = (float)kvr_random_below(&random, 12) - 3;
            heads[h] = other;
            scores[h] = heads[h].scores;
        }
        uint64_t limits[] = {1, 1 + kvr_random_below(&random, heads[0].pages.count),
                             heads[0].pages.count};
        uint64_t quotas[3];
        memcpy(quotas, limits, sizeof quotas);
        made.plan.budget_count = 3;
        const struct kvr_stages stages = {.protect = heads[0].protect};
        const struct kvr_selection selection = {
            .scored = &made.scored,
            .stages = &stages,
            .pages = &heads[0].pages,
            .vector_count = head_count,
            .unit_scores = scores,
        };
        ck_assert_int_eq(kvr_keep_match_union(&made.cell, &selection, quotas, &scratch, NULL),
                         KVR_OK);
        for (size_t b = 0; b < 3; b++) {
            uint64_t expected = limits[b];
            while (expected > 0 && union_of(heads, head_count, expected) > limits[b])
                expected--;
            ck_assert_uint_eq(quotas[b], expected);
        }
        made_cell_free(&made);
    }
    kvr_select_scratch_free(&scratch);
}
END_TEST

Suite *kvr_suite_keep(void)
{
    Suite *suite = suite_create("keep");
    TCase *all = tcase_create("keep");
    tcase_add_test(all, test_names);
    tcase_add_test(all, test_protected_units_stand_first);
    tcase_add_test(all, test_first_units_in_select_order);
    tcase_add_test(all, test_select_order_by_hand);
    tcase_add_test(all, test_largest_quota_whose_union_fits);
    suite_add_tcase(suite, all);
    return suite;
}
