/*
 * The engine: what observers are told and in which order, for any number of threads, and what
 * happens to their records when something fails.
 */
#include <check.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "formats/base/text.h"
#include "replay/bitmap.h"
#include "replay/engine.h"
#include "tests/made_trace.h"
#include "tests/scratch.h"
#include "tests/suites.h"

enum { SAMPLES = 3, LAYERS = 2, HEADS = 4, GROUPS = 2, TOKENS = 30, PROMPT = 28, ROWS = 5 };
enum { CELLS = SAMPLES * LAYERS * GROUPS };

/* The layers' numbers; the second cell of sample 1 has a NaN that `last` reads. */
static const uint32_t numbers[LAYERS] = {2, 11};
enum { NAN_CELL = 5 };

static struct kvr_plan plan;
static struct kvr_trace *trace;

static void add_layer(struct made_trace *made, const struct kvr_sample *sample, int index,
                      struct kvr_random *random)
{
    static double rows[HEADS][ROWS][TOKENS], sums[HEADS][TOKENS];
    struct kvr_layer layer = made_layer(numbers[index % LAYERS], sample);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t t = 0; t < TOKENS; t++) {
            for (size_t q = 0; q < ROWS; q++)
                rows[h][q][t] = (double)kvr_random_below(random, 2048) / 2048;
            sums[h][t] = kvr_random_uniform(random);
        }
    if (index == NAN_CELL / GROUPS)
        rows[HEADS - 1][ROWS - (TOKENS - PROMPT) - 1][9] = NAN;
    made_trace_layer(made, &layer);
    made_trace_data(made, "attention", KVR_HALF, HEADS, ROWS, TOKENS, rows[0][0]);
    made_trace_data(made, "accumulated", KVR_FLOAT, HEADS, TOKENS, 0, sums[0]);
}

static void start_unsettled(void)
{
    scratch_setup();
    uint64_t positions[ROWS];
    for (uint64_t q = 0; q < ROWS; q++)
        positions[q] = TOKENS - ROWS + q;
    struct kvr_random random = kvr_random_stream(111, 0);
    struct made_trace made;
    made_trace_start(&made, "t.h5");
    for (int s = 0; s < SAMPLES; s++) {
        char name[] = {(char)('0' + s), '\0'};
        const struct kvr_sample sample = {
            .name = name,
            .context_length = TOKENS,
            .prompt_length = PROMPT,
            .query_heads = HEADS,
            .kv_heads = GROUPS,
            .query_count = ROWS,
            .query_positions = positions,
        };
        made_trace_sample(&made, &sample);
        for (int l = 0; l < LAYERS; l++)
            add_layer(&made, &sample, s * LAYERS + l, &random);
    }
    trace = made_trace_finish(&made);
    plan = kvr_plan_default();
    static const char *const scores[] = {"last", "accumulated", "column:none", "window:2"};
    static const char *const policies[] = {"mean", "independent", "page-entrokv"};
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(kvr_plan_add_score(&plan, scores[i], NULL), KVR_OK);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(kvr_plan_add_policy(&plan, policies[i], NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_budget(&plan, "0.3", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_budget(&plan, "0.1", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "4", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "1", NULL), KVR_OK);
}

static void start(void)
{
    start_unsettled();
    ck_assert_int_eq(kvr_plan_settle(&plan, &trace, 1, NULL), KVR_OK);
}

/* With policies that bring a score of their own; one of them pools over the layer, so that samples
   are surveyed first. */
static void start_surveyed(void)
{
    start_unsettled();
    ck_assert_int_eq(kvr_plan_add_policy(&plan, "streaming-llm", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_policy(&plan, "tova", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_settle(&plan, &trace, 1, NULL), KVR_OK);
}

static void end(void)
{
    kvr_trace_close(trace);
    kvr_plan_free(&plan);
    scratch_teardown();
}

/* ------------------------------------------------------------------------- a watching observer */

enum event { BEGIN, SCORED, OWN_SETS, SELECTED, COMMIT, EVENTS, SURVEYED };

struct watcher {
    /* Read while cells run. */
    enum event fail_event;  /* where cells of fail_cells fail; EVENTS: nowhere */
    bool fail_cells[CELLS]; /* of a survey, its first cell */
    atomic_int alive;       /* records begun, but neither committed nor discarded */
    atomic_int begun;
    /* Written by commit and surveyed alone. */
    struct kvr_text log;
    size_t committed;
};

struct record {
    size_t cell;
    struct kvr_text log;
};

static size_t cell_of(const struct kvr_cell_key *key)
{
    size_t sample = (size_t)(key->sample - key->trace->samples);
    size_t layer = key->layer->number == numbers[0] ? 0 : 1;
    return (sample * LAYERS + layer) * GROUPS + key->group;
}

static enum kvr_status fail_if_asked(const struct watcher *watcher, enum event event, size_t cell,
                                     struct kvr_error *err)
{
    if (watcher->fail_event == event && watcher->fail_cells[cell])
        return kvr_fail(err, KVR_IO, "cell %zu failed", cell);
    return KVR_OK;
}

static enum kvr_status watch_survey(void *state, const struct kvr_survey *survey,
                                    struct kvr_error *err)
{
    struct watcher *watcher = state;
    size_t first = cell_of(&survey->cells[0]);
    kvr_text_add(&watcher->log, "survey of %zu cells from %zu\n", survey->cell_count, first);
    return fail_if_asked(watcher, SURVEYED, first, err);
}

static enum kvr_status watch_begin(void *state, const struct kvr_cell *cell, void **out,
                                   struct kvr_error *err)
{
    struct watcher *watcher = state;
    size_t index = cell_of(&cell->key);
    if (fail_if_asked(watcher, BEGIN, index, err) != KVR_OK)
        return KVR_IO;
    struct record *record = calloc(1, sizeof *record);
    record->cell = index;
    atomic_fetch_add(&watcher->alive, 1);
    atomic_fetch_add(&watcher->begun, 1);
    kvr_text_add(&record->log, "cell %zu", index);
    *out = record;
    return KVR_OK;
}

static enum kvr_status watch_scored(void *state, void *opaque, const struct kvr_cell *cell,
                                    const struct kvr_scored *scored, struct kvr_error *err)
{
    struct record *record = opaque;
    if (cell_of(&cell->key) != record->cell)
        return kvr_fail(err, KVR_INTERNAL, "a record of another cell");
    kvr_text_add(&record->log, " | %s", scored->score->label);
    return fail_if_asked(state, SCORED, record->cell, err);
}

static enum kvr_status watch_heads(void *state, void *opaque, const struct kvr_cell *cell,
                                   const struct kvr_head_sets *sets, struct kvr_error *err)
{
    struct record *record = opaque;
    size_t words = kvr_bitmap_words(sets->pages->count);
    kvr_text_add(&record->log, " own/%llu", (unsigned long long)sets->pages->size);
    for (size_t b = 0; b < cell->plan->budget_count; b++)
        for (size_t h = 0; h < sets->scored->heads; h++)
            if (kvr_bitmap_count(sets->sets[b][h], words) != sets->quotas[b])
                return kvr_fail(err, KVR_INTERNAL, "an own set is not of the quota");
    return fail_if_asked(state, OWN_SETS, record->cell, err);
}

/* What holds of every selection. */
static const char *wrong_selection(const struct kvr_cell *cell,
                                   const struct kvr_selection *selection)
{
    size_t count = cell->candidates.count, pages = selection->pages->count;
    bool own = strcmp(selection->stages->label, "independent") == 0;
    for (size_t b = 0; b < cell->plan->budget_count; b++) {
        const struct kvr_kept *kept = &selection->kept[b];
        uint64_t expected[TOKENS / 64 + 1] = {0};
        if (kvr_bitmap_count(kept->units, kvr_bitmap_words(pages)) != kept->selected)
            return "selected is not the number of units";
        kvr_pages_expand(selection->pages, kept->units, expected);
        if (memcmp(expected, kept->tokens, kvr_bitmap_words(count) * sizeof *expected) != 0)
            return "tokens are not those of the units";
        if (kvr_bitmap_count(expected, kvr_bitmap_words(count)) != kept->kept_tokens)
            return "kept_tokens is not the number of tokens";
        if (own ? kept->selected < kept->quota : kept->selected != kept->quota)
            return "selected is not the quota";
    }
    return own == (selection->pooled == NULL) ? NULL : "a pooled vector where there is none";
}

static enum kvr_status watch_selected(void *state, void *opaque, const struct kvr_cell *cell,
                                      const struct kvr_selection *selection, struct kvr_error *err)
{
    struct record *record = opaque;
    const char *wrong = wrong_selection(cell, selection);
    if (wrong != NULL)
        return kvr_fail(err, KVR_INTERNAL, "%s", wrong);
    kvr_text_add(&record->log, " %s/%llu", selection->stages->label,
                 (unsigned long long)selection->pages->size);
    return fail_if_asked(state, SELECTED, record->cell, err);
}

static void watch_discard(void *state, void *opaque)
{
    struct record *record = opaque;
    if (record == NULL)
        return;
    kvr_text_free(&record->log);
    free(record);
    atomic_fetch_sub(&((struct watcher *)state)->alive, 1);
}

static enum kvr_status watch_commit(void *state, const struct kvr_cell_key *key, void *opaque,
                                    struct kvr_error *err)
{
    struct watcher *watcher = state;
    const struct record *record = opaque;
    enum kvr_status status = fail_if_asked(watcher, COMMIT, record->cell, err);
    if (cell_of(key) != record->cell || record->cell != watcher->committed)
        status = kvr_fail(err, KVR_INTERNAL, "cell %zu out of turn", record->cell);
    if (status == KVR_OK) {
        kvr_text_bytes(&watcher->log, record->log.data, record->log.length);
        kvr_text_bytes(&watcher->log, "\n", 1);
        watcher->committed++;
    }
    watch_discard(watcher, opaque);
    return status;
}

/* Sees every event; the second one has only what is obligatory, and no record. */
static struct kvr_observer watching(struct watcher *watcher)
{
    *watcher = (struct watcher){.fail_event = EVENTS};
    return (struct kvr_observer){
        .state = watcher,
        .surveyed = watch_survey,
        .begin = watch_begin,
        .scored = watch_scored,
        .heads = watch_heads,
        .selected = watch_selected,
        .commit = watch_commit,
        .discard = watch_discard,
    };
}

static enum kvr_status count_commit(void *state, const struct kvr_cell_key *key, void *record,
                                    struct kvr_error *err)
{
    (void)key;
    if (record != NULL)
        return kvr_fail(err, KVR_INTERNAL, "a record that nobody made");
    ++*(size_t *)state;
    return KVR_OK;
}

static void count_discard(void *state, void *record)
{
    (void)state;
    if (record != NULL)
        abort();
}

static struct kvr_observer counting(size_t *count)
{
    *count = 0;
    return (struct kvr_observer){.state = count, .commit = count_commit, .discard = count_discard};
}

/* What a watcher should have been told of a cell. */
static void expect_cell(struct kvr_text *text, size_t cell)
{
    static const char all[] = " own/4 own/1 mean/4 mean/1 independent/4 independent/1 "
                              "page-entrokv/4 page-entrokv/1";
    const char *rows = cell == NAN_CELL ? "" : all; /* excluded: nothing but that it was scored */
    kvr_text_add(text, "cell %zu | last%s | accumulated%s | window:2%s\n", cell, rows, all, rows);
}

/* The same with the policies of start_surveyed. */
static void expect_surveyed_cell(struct kvr_text *text, size_t cell)
{
    if (cell % (LAYERS * GROUPS) == 0)
        kvr_text_add(text, "survey of %d cells from %zu\n", LAYERS * GROUPS, cell);
    expect_cell(text, cell);
    text->length--; /* the end of the line */
    kvr_text_add(text, " | recency streaming-llm/4 streaming-llm/1%s\n",
                 cell == NAN_CELL ? "" : " tova/4 tova/1");
}

static const unsigned thread_counts[] = {1, 2, 5, 40};
enum { THREAD_COUNTS = sizeof thread_counts / sizeof *thread_counts };

/* ------------------------------------------------------------------------- order */

START_TEST(test_observers_are_told_everything_in_order)
{
    struct watcher first, third;
    size_t second;
    const struct kvr_observer observers[] = {watching(&first), counting(&second), watching(&third)};
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_text expected = {0};
    plan.threads = thread_counts[_i];
    ck_assert_msg(kvr_replay_trace(&plan, trace, observers, 3, NULL, &err) == KVR_OK, "%s",
                  err.message);
    for (size_t cell = 0; cell < CELLS; cell++)
        expect_cell(&expected, cell);
    ck_assert_str_eq(first.log.data, expected.data);
    ck_assert_str_eq(third.log.data, expected.data);
    ck_assert_uint_eq(second, CELLS);
    ck_assert_int_eq(atomic_load(&first.alive), 0);
    ck_assert_int_eq(atomic_load(&first.begun), CELLS);
    kvr_text_free(&expected);
    kvr_text_free(&first.log);
    kvr_text_free(&third.log);
}
END_TEST

START_TEST(test_surveys_come_before_their_cells)
{
    struct watcher watcher;
    const struct kvr_observer observer = watching(&watcher);
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_text expected = {0};
    plan.threads = thread_counts[_i];
    ck_assert_msg(kvr_replay_trace(&plan, trace, &observer, 1, NULL, &err) == KVR_OK, "%s",
                  err.message);
    for (size_t cell = 0; cell < CELLS; cell++)
        expect_surveyed_cell(&expected, cell);
    ck_assert_str_eq(watcher.log.data, expected.data);
    ck_assert_int_eq(atomic_load(&watcher.alive), 0);
    kvr_text_free(&expected);
    kvr_text_free(&watcher.log);
}
END_TEST

/* A survey that an observer refuses: nothing of its sample is committed, all before it is. */
START_TEST(test_survey_that_fails)
{
    struct watcher watcher;
    const struct kvr_observer observer = watching(&watcher);
    struct kvr_error err = KVR_ERROR_NONE;
    watcher.fail_event = SURVEYED;
    watcher.fail_cells[LAYERS * GROUPS] = true;
    plan.threads = thread_counts[_i];
    ck_assert_int_eq(kvr_replay_trace(&plan, trace, &observer, 1, NULL, &err), KVR_IO);
    ck_assert_str_eq(err.message, "cell 4 failed");
    ck_assert_uint_eq(watcher.committed, LAYERS * GROUPS);
    ck_assert_int_eq(atomic_load(&watcher.alive), 0);
    kvr_text_free(&watcher.log);
}
END_TEST

START_TEST(test_filters_choose_cells)
{
    char name[] = "1";
    plan.samples = malloc(sizeof *plan.samples);
    plan.samples[0] = name;
    plan.sample_count = 1;
    plan.layers = malloc(2 * sizeof *plan.layers);
    plan.layers[0] = numbers[1];
    plan.layers[1] = 12345;
    plan.layer_count = 2;
    plan.threads = thread_counts[_i];
    ck_assert_uint_eq(kvr_replay_cells(&plan, trace), GROUPS);
    size_t count;
    const struct kvr_observer observer = counting(&count);
    ck_assert_int_eq(kvr_replay_trace(&plan, trace, &observer, 1, NULL, NULL), KVR_OK);
    ck_assert_uint_eq(count, GROUPS);
    plan.layers[0] = 0;
    ck_assert_uint_eq(kvr_replay_cells(&plan, trace), 0);
    ck_assert_int_eq(kvr_replay_trace(&plan, trace, &observer, 1, NULL, NULL), KVR_OK);
    ck_assert_uint_eq(count, GROUPS);
}
END_TEST

/* No observer, no policy, no score: cells run and nobody listens. */
START_TEST(test_plans_with_nothing_in_them)
{
    struct kvr_plan bare = kvr_plan_default();
    bare.threads = thread_counts[_i];
    ck_assert_int_eq(kvr_replay_trace(&plan, trace, NULL, 0, NULL, NULL), KVR_OK);
    size_t count;
    const struct kvr_observer observer = counting(&count);
    ck_assert_int_eq(kvr_replay_trace(&bare, trace, &observer, 1, NULL, NULL), KVR_OK);
    ck_assert_uint_eq(count, CELLS);
    kvr_plan_free(&bare);
}
END_TEST

struct steps {
    size_t done, total;
    uint64_t bytes;
    bool wrong;
};

static void step(void *state, size_t done, size_t cells, uint64_t bytes_read)
{
    struct steps *steps = state;
    steps->wrong |= done != steps->done + 1 || cells != CELLS || bytes_read < steps->bytes;
    steps->done = done;
    steps->total = cells;
    steps->bytes = bytes_read;
}

START_TEST(test_progress_goes_cell_by_cell)
{
    struct steps steps = {0};
    const struct kvr_progress progress = {step, &steps};
    size_t count;
    const struct kvr_observer observer = counting(&count);
    plan.threads = thread_counts[_i];
    ck_assert_int_eq(kvr_replay_trace(&plan, trace, &observer, 1, &progress, NULL), KVR_OK);
    ck_assert(!steps.wrong);
    ck_assert_uint_eq(steps.done, CELLS);
    ck_assert_uint_gt(steps.bytes, 0);
}
END_TEST

/* ------------------------------------------------------------------------- failures */

/* Cells 4, 7 and 11 fail, in any order of time: the error is that of cell 4, what was committed is
   cells 0 … 3, and every record is released once. */
START_TEST(test_the_lowest_failing_cell_is_told)
{
    for (size_t i = 0; i < THREAD_COUNTS; i++)
        for (int round = 0; round < 4; round++) {
            struct watcher before, failing, after;
            const struct kvr_observer observers[] = {watching(&before), watching(&failing),
                                                     watching(&after)};
            struct kvr_error err = KVR_ERROR_NONE;
            failing.fail_event = (enum event)_i;
            failing.fail_cells[4] = failing.fail_cells[7] = failing.fail_cells[11] = true;
            plan.threads = thread_counts[i];
            ck_assert_int_eq(kvr_replay_trace(&plan, trace, observers, 3, NULL, &err), KVR_IO);
            ck_assert_str_eq(err.message, "cell 4 failed");
            ck_assert_uint_eq(failing.committed, 4);
            /* An observer before the failing commit has had its turn, one behind it has not. */
            ck_assert_uint_eq(before.committed, _i == COMMIT ? 5 : 4);
            ck_assert_uint_eq(after.committed, 4);
            ck_assert_int_eq(atomic_load(&before.alive), 0);
            ck_assert_int_eq(atomic_load(&failing.alive), 0);
            ck_assert_int_eq(atomic_load(&after.alive), 0);
            kvr_text_free(&before.log);
            kvr_text_free(&failing.log);
            kvr_text_free(&after.log);
        }
}
END_TEST

/* --nan fail: found while a cell is loaded, before any observer has a record of it. */
START_TEST(test_cell_that_cannot_be_loaded)
{
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        struct watcher watcher;
        const struct kvr_observer observer = watching(&watcher);
        struct kvr_error err = KVR_ERROR_NONE;
        plan.threads = thread_counts[i];
        plan.nan = KVR_NAN_FAIL;
        ck_assert_int_eq(kvr_replay_trace(&plan, trace, &observer, 1, NULL, &err), KVR_BAD_INPUT);
        ck_assert_ptr_nonnull(strstr(
            err.message, "/samples/1/layers/2: query head 3 is not finite under scorer last"));
        ck_assert_uint_eq(watcher.committed, NAN_CELL);
        ck_assert_int_eq(atomic_load(&watcher.alive), 0);
        kvr_text_free(&watcher.log);
    }
}
END_TEST

Suite *kvr_suite_engine(void)
{
    Suite *suite = suite_create("engine");
    TCase *order = tcase_create("order");
    tcase_add_checked_fixture(order, start, end);
    tcase_add_loop_test(order, test_observers_are_told_everything_in_order, 0, THREAD_COUNTS);
    tcase_add_loop_test(order, test_filters_choose_cells, 0, THREAD_COUNTS);
    tcase_add_loop_test(order, test_plans_with_nothing_in_them, 0, THREAD_COUNTS);
    tcase_add_loop_test(order, test_progress_goes_cell_by_cell, 0, THREAD_COUNTS);
    suite_add_tcase(suite, order);
    TCase *surveys = tcase_create("surveys");
    tcase_add_checked_fixture(surveys, start_surveyed, end);
    tcase_add_loop_test(surveys, test_surveys_come_before_their_cells, 0, THREAD_COUNTS);
    tcase_add_loop_test(surveys, test_survey_that_fails, 0, THREAD_COUNTS);
    tcase_add_loop_test(surveys, test_progress_goes_cell_by_cell, 0, THREAD_COUNTS);
    suite_add_tcase(suite, surveys);
    TCase *failures = tcase_create("failures");
    tcase_add_checked_fixture(failures, start, end);
    tcase_add_loop_test(failures, test_the_lowest_failing_cell_is_told, 0, EVENTS);
    tcase_add_test(failures, test_cell_that_cannot_be_loaded);
    suite_add_tcase(suite, failures);
    return suite;
}
