/*
 * From recorded values to score vectors: every scorer against its definition on random traces, then
 * padding, windows, rounding and values that are not finite one by one.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "replay/rows.h"
#include "tests/made_trace.h"
#include "tests/scratch.h"
#include "tests/suites.h"

enum { MOST_HEADS = 6, MOST_ROWS = 12, MOST_TOKENS = 40 };

/* One layer's values, as recorded. */
static struct {
    struct kvr_sample sample;
    struct kvr_layer layer;
    uint64_t positions[MOST_ROWS];
    double rows[MOST_HEADS][MOST_ROWS][MOST_TOKENS];
    double sums[MOST_HEADS][MOST_TOKENS];
    double gates[MOST_HEADS][MOST_TOKENS]; /* [H_KV] */
} recorded;

static struct kvr_plan plan;
static struct kvr_room room;
static struct kvr_trace *trace;
static struct kvr_cell cell;

static void start(void)
{
    static char name[] = "0";
    scratch_setup();
    memset(&recorded, 0, sizeof recorded);
    recorded.sample.name = name;
    recorded.sample.query_positions = recorded.positions;
    plan = kvr_plan_default();
    room = (struct kvr_room){0};
    trace = NULL;
}

static void end(void)
{
    kvr_trace_close(trace);
    kvr_room_free(&room);
    kvr_plan_free(&plan);
    scratch_teardown();
}

static void ask_for(const char *scorer)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_plan_add_score(&plan, scorer, &err) == KVR_OK, "%s", err.message);
}

/* Heads, tokens, prompt; the last `rows` positions are recorded. */
static void set_shape(uint32_t heads, uint32_t kv_heads, uint64_t tokens, uint64_t prompt,
                      size_t rows)
{
    struct kvr_sample *sample = &recorded.sample;
    sample->query_heads = heads;
    sample->kv_heads = kv_heads;
    sample->context_length = tokens;
    sample->prompt_length = prompt;
    sample->query_count = rows;
    for (size_t i = 0; i < rows; i++)
        recorded.positions[i] = tokens - rows + i;
    recorded.layer = made_layer(0, sample);
}

/* Writes what is recorded, without the stride of the arrays. */
static void write_trace(enum kvr_element kind)
{
    static double packed[MOST_HEADS * MOST_ROWS * MOST_TOKENS];
    const struct kvr_sample *sample = &recorded.sample;
    size_t tokens = sample->context_length, rows = sample->query_count;
    struct made_trace made;
    made_trace_start(&made, "t.h5");
    made_trace_sample(&made, sample);
    made_trace_layer(&made, &recorded.layer);
    for (size_t h = 0; h < sample->query_heads; h++)
        for (size_t q = 0; q < rows; q++)
            memcpy(packed + (h * rows + q) * tokens, recorded.rows[h][q], tokens * sizeof *packed);
    if (rows > 0)
        made_trace_data(&made, "attention", kind, sample->query_heads, rows, tokens, packed);
    for (size_t h = 0; h < sample->query_heads; h++)
        memcpy(packed + h * tokens, recorded.sums[h], tokens * sizeof *packed);
    made_trace_data(&made, "accumulated", KVR_DOUBLE, sample->query_heads, tokens, 0, packed);
    for (size_t h = 0; h < sample->kv_heads; h++)
        memcpy(packed + h * tokens, recorded.gates[h], tokens * sizeof *packed);
    made_trace_data(&made, "scores/gate", KVR_DOUBLE, sample->kv_heads, tokens, 0, packed);
    trace = made_trace_finish(&made);
}

static void load(uint32_t group)
{
    struct kvr_cell_key key = made_key(trace, 0, 0, group);
    kvr_room_reset(&room);
    made_load(&plan, trace, &key, &room, &cell);
}

static void close_trace(void)
{
    kvr_trace_close(trace);
    trace = NULL;
}

/* ------------------------------------------------------------------------- definitions */

/* Candidate t of head h under a scorer, from the definition (MEASURES, 1). */
static float defined_mean(size_t h, size_t t, size_t count)
{
    const struct kvr_sample *sample = &recorded.sample;
    uint64_t position = cell.candidates.first + t;
    size_t taken = 0, first = sample->query_count;
    for (size_t q = sample->query_count; q-- > 0 && taken < count;)
        if (recorded.positions[q] < sample->prompt_length && recorded.positions[q] >= sample->pad) {
            first = q;
            taken++;
        }
    double sum = 0;
    for (size_t q = first; q < first + taken; q++)
        sum += recorded.rows[h][q][position];
    return (float)(sum / (double)taken);
}

static float defined_accumulated(size_t h, size_t t)
{
    double total = 0;
    for (uint64_t p = cell.candidates.first; p < recorded.sample.prompt_length; p++)
        total += recorded.sums[h][p];
    return (float)(recorded.sums[h][cell.candidates.first + t] / total);
}

static float defined_score(const struct kvr_scored *scored, size_t h, size_t group, size_t t)
{
    size_t head = group * cell.key.ratio + h;
    switch (scored->score->scorer->source) {
    case KVR_FROM_ROWS:
        return defined_mean(head, t, scored->score->count);
    case KVR_FROM_ACCUMULATED:
        return defined_accumulated(head, t);
    default:
        return (float)recorded.gates[group][cell.candidates.first + t];
    }
}

static void check_vectors(size_t group)
{
    for (size_t i = 0; i < cell.scored_count; i++) {
        const struct kvr_scored *scored = &cell.scored[i];
        bool column = scored->score->scorer->source == KVR_FROM_COLUMN;
        ck_assert_uint_eq(scored->heads, column ? 1 : cell.key.ratio);
        ck_assert(scored->attention == !column);
        ck_assert_uint_eq(scored->not_finite, 0);
        for (size_t h = 0; h < scored->heads; h++) {
            double total = 0;
            for (size_t t = 0; t < cell.candidates.count; t++) {
                float found = scored->vectors[h * cell.candidates.count + t];
                float expected = defined_score(scored, h, group, t);
                if (found < expected || found > expected)
                    ck_abort_msg("%s, head %zu, candidate %zu: %.9g, expected %.9g",
                                 scored->score->label, h, t, (double)found, (double)expected);
                total += (double)found;
            }
            ck_assert_double_eq(scored->totals[h], total);
        }
    }
}

static void check_future(size_t group)
{
    const struct kvr_sample *sample = &recorded.sample;
    size_t decode_rows = 0;
    for (size_t q = 0; q < sample->query_count; q++)
        decode_rows += recorded.positions[q] >= sample->prompt_length;
    ck_assert_uint_eq(cell.future.row_count, decode_rows);
    if (decode_rows == 0) {
        ck_assert_double_nan(cell.future.mass_total);
        ck_assert_double_nan(cell.future.peak_total);
        return;
    }
    double mass_total = 0, peak_total = 0;
    for (size_t t = 0; t < cell.candidates.count; t++) {
        double mass = 0, peak = 0;
        for (size_t h = group * cell.key.ratio; h < (group + 1) * cell.key.ratio; h++)
            for (size_t q = sample->query_count - decode_rows; q < sample->query_count; q++) {
                double a = recorded.rows[h][q][cell.candidates.first + t];
                mass += a;
                peak += a * a;
            }
        ck_assert_double_eq_tol(cell.future.mass[t], mass, 1e-13);
        ck_assert_double_eq_tol(cell.future.peak[t], peak, 1e-13);
        mass_total += mass;
        peak_total += peak;
    }
    ck_assert_double_eq_tol(cell.future.mass_total, mass_total, 1e-12);
    ck_assert_double_eq_tol(cell.future.peak_total, peak_total, 1e-12);
}

/* ------------------------------------------------------------------------- random traces */

/* A random value that the element type holds exactly. */
static double draw(struct kvr_random *random, enum kvr_element kind)
{
    switch (kind) {
    case KVR_HALF:
        return (double)kvr_random_below(random, 2048) / 2048;
    case KVR_BFLOAT16:
        return (double)kvr_random_below(random, 256) / 256;
    case KVR_FLOAT:
        return (double)(float)kvr_random_uniform(random);
    default:
        return kvr_random_uniform(random);
    }
}

static void draw_trace(struct kvr_random *random, enum kvr_element kind)
{
    uint32_t kv_heads = 1 + (uint32_t)kvr_random_below(random, 3);
    uint32_t ratio = 1 + (uint32_t)kvr_random_below(random, MOST_HEADS / kv_heads);
    uint64_t tokens = 2 + kvr_random_below(random, MOST_TOKENS - 2);
    uint64_t prompt = 1 + kvr_random_below(random, tokens);
    uint64_t most = tokens < MOST_ROWS ? tokens : MOST_ROWS;
    set_shape(ratio * kv_heads, kv_heads, tokens, prompt, 1 + kvr_random_below(random, most));
    recorded.sample.pad = kvr_random_below(random, 2) == 0 ? kvr_random_below(random, prompt) : 0;
    recorded.layer.sliding_window =
        kvr_random_below(random, 2) == 0 ? kvr_random_below(random, tokens + 2) : 0;
    for (size_t h = 0; h < recorded.sample.query_heads; h++)
        for (size_t t = 0; t < tokens; t++) {
            for (size_t q = 0; q < recorded.sample.query_count; q++)
                recorded.rows[h][q][t] = draw(random, kind);
            recorded.sums[h][t] = 100 * kvr_random_uniform(random);
            recorded.gates[h][t] = kvr_random_normal(random);
        }
}

static size_t prefill_rows(void)
{
    size_t count = 0;
    for (size_t q = 0; q < recorded.sample.query_count; q++)
        count += recorded.positions[q] >= recorded.sample.pad &&
                 recorded.positions[q] < recorded.sample.prompt_length;
    return count;
}

START_TEST(test_vectors_are_as_defined)
{
    static const enum kvr_element kinds[] = {KVR_HALF, KVR_BFLOAT16, KVR_FLOAT, KVR_DOUBLE};
    struct kvr_random random = kvr_random_stream(91, (uint64_t)_i);
    ask_for("window:3");
    ask_for("accumulated");
    ask_for("column:gate");
    ask_for("last");
    ask_for("window");
    ask_for("column:none");
    for (int round = 0; round < 30; round++) {
        draw_trace(&random, kinds[_i % 4]);
        write_trace(kinds[_i % 4]);
        ck_assert_uint_eq(trace->samples[0].kv_heads, recorded.sample.kv_heads);
        for (uint32_t group = 0; group < recorded.sample.kv_heads; group++) {
            load(group);
            ck_assert_uint_eq(cell.scored_count, prefill_rows() > 0 ? 5 : 2);
            check_vectors(group);
            check_future(group);
        }
        close_trace();
    }
}
END_TEST

/* More rows than one read takes, and one row longer than a read. */
START_TEST(test_long_rows_are_read_in_blocks)
{
    const struct {
        size_t tokens, rows;
    } cases[] = {{3000, 200}, {300000, 3}};
    struct kvr_random random = kvr_random_stream(92, (uint64_t)_i);
    const size_t tokens = cases[_i].tokens, rows = cases[_i].rows;
    double *values = calloc(2 * rows * tokens, sizeof *values);
    uint64_t *positions = calloc(rows, sizeof *positions);
    ck_assert(values != NULL && positions != NULL);
    for (size_t i = 0; i < 2 * rows * tokens; i++)
        values[i] = (double)kvr_random_below(&random, 2048) / 2048;
    for (size_t q = 0; q < rows; q++)
        positions[q] = tokens - rows + q;
    struct kvr_sample sample = recorded.sample;
    sample.query_heads = 2;
    sample.kv_heads = 1;
    sample.context_length = sample.prompt_length = tokens;
    sample.query_count = rows;
    sample.query_positions = positions;
    struct kvr_layer layer = made_layer(0, &sample);
    struct made_trace made;
    made_trace_start(&made, "t.h5");
    made_trace_sample(&made, &sample);
    made_trace_layer(&made, &layer);
    made_trace_data(&made, "attention", KVR_HALF, 2, rows, tokens, values);
    trace = made_trace_finish(&made);
    ask_for("window:199");
    ask_for("last");
    load(0);
    size_t first = rows > 199 ? rows - 199 : 0;
    for (size_t h = 0; h < 2; h++)
        for (size_t t = 0; t < tokens; t++) {
            double sum = 0;
            for (size_t q = first; q < rows; q++)
                sum += values[(h * rows + q) * tokens + t];
            const float expected[] = {(float)(sum / (double)(rows - first)),
                                      (float)values[(h * rows + rows - 1) * tokens + t]};
            for (size_t i = 0; i < 2; i++)
                if (memcmp(&cell.scored[i].vectors[h * tokens + t], &expected[i], sizeof(float)))
                    ck_abort_msg("%s, head %zu, candidate %zu", cell.scored[i].score->label, h, t);
        }
    free(values);
    free(positions);
}
END_TEST

/* ------------------------------------------------------------------------- by hand */

/* Three values whose mean depends on where it is rounded: in float after each step, or once. */
START_TEST(test_means_are_rounded_once)
{
    const double values[3] = {1, 0x1p-24, 0x1p-24};
    set_shape(1, 1, 3, 3, 3);
    for (size_t q = 0; q < 3; q++)
        recorded.rows[0][q][0] = values[q];
    write_trace(KVR_DOUBLE);
    ask_for("window:3");
    load(0);
    ck_assert_float_eq(cell.scored[0].vectors[0], (float)((1 + 0x1p-23) / 3));
    ck_assert_float_ne((float)((1 + 0x1p-23) / 3), (float)(1.0 / 3));
}
END_TEST

/* Doubles just above the middle of two floats: rounding them first would lose the bit that decides.
 */
START_TEST(test_doubles_are_not_rounded_first)
{
    set_shape(1, 1, 2, 2, 2);
    recorded.rows[0][0][0] = 1 + 0x1p-24 + 0x1p-50;
    recorded.rows[0][1][0] = 1 + 0x1p-24 - 0x1p-51;
    recorded.rows[0][1][1] = 1e-60; /* below the least float */
    write_trace(KVR_DOUBLE);
    ask_for("window:2");
    load(0);
    ck_assert_float_eq(cell.scored[0].vectors[0], 1 + 0x1p-23f); /* floats first: 1 + 2^-24 ties */
    ck_assert_float_eq(cell.scored[0].vectors[1], 0);
}
END_TEST

/* Query rows of padding are NaN, zero or uniform by framework: they are not looked at. */
START_TEST(test_padding_rows_are_skipped)
{
    static const double forms[] = {NAN, 0, 0.125};
    for (size_t form = 0; form < 3; form++) {
        set_shape(1, 1, 8, 8, 6); /* rows of positions 2 … 7 */
        recorded.sample.pad = 4;
        for (size_t t = 0; t < 8; t++) {
            recorded.rows[0][0][t] = recorded.rows[0][1][t] = forms[form];
            for (size_t q = 2; q < 6; q++)
                recorded.rows[0][q][t] = t < 4 ? 0 : 0.25;
            recorded.sums[0][t] = 1;
        }
        write_trace(KVR_FLOAT);
        if (form == 0) {
            ask_for("window");
            ask_for("accumulated");
        }
        load(0);
        ck_assert_uint_eq(cell.candidates.first, 4);
        ck_assert_uint_eq(cell.candidates.count, 4);
        for (size_t t = 0; t < 4; t++) {
            ck_assert_float_eq(cell.scored[0].vectors[t], 0.25f);
            ck_assert_float_eq(cell.scored[1].vectors[t], 0.25f); /* of four, not of eight */
        }
        close_trace();
    }
}
END_TEST

START_TEST(test_column_sums_are_divided_by_those_of_the_candidates)
{
    const double sums[] = {70, 30, 1, 3, 2, 2, 100};
    set_shape(1, 1, 7, 6, 1);
    recorded.layer.sliding_window = 4; /* positions 2 … 5 */
    memcpy(recorded.sums[0], sums, sizeof sums);
    write_trace(KVR_FLOAT);
    ask_for("accumulated");
    load(0);
    const float expected[] = {0.125f, 0.375f, 0.25f, 0.25f};
    ck_assert_uint_eq(cell.candidates.count, 4);
    ck_assert_mem_eq(cell.scored[0].vectors, expected, sizeof expected);
    ck_assert_double_eq(cell.scored[0].totals[0], 1);
}
END_TEST

/* Rows are used as recorded: a row that sums to 2/3 stays so. */
START_TEST(test_rows_are_not_renormalised)
{
    set_shape(1, 1, 4, 4, 1);
    recorded.rows[0][0][1] = 0.25;
    recorded.rows[0][0][3] = 0.375;
    write_trace(KVR_HALF);
    ask_for("last");
    load(0);
    ck_assert_double_eq(cell.scored[0].totals[0], 0.625);
}
END_TEST

START_TEST(test_entropies_and_weights_follow_the_plan)
{
    set_shape(2, 1, 8, 8, 1);
    for (size_t t = 0; t < 8; t++) {
        recorded.rows[0][0][t] = t < 4 ? 0.25 : 0;
        recorded.rows[1][0][t] = 0.125;
    }
    write_trace(KVR_HALF);
    ask_for("last");
    plan.sinks = 2;
    plan.tau = 1;
    plan.entropy.alpha = 1;
    load(0);
    ck_assert_double_eq_tol(cell.scored[0].entropies[0], log(2), 1e-14);
    ck_assert_double_eq_tol(cell.scored[0].entropies[1], log(6), 1e-14);
    ck_assert_double_eq_tol(cell.scored[0].weights[0], 0.75, 1e-14);
    ck_assert_double_eq_tol(cell.scored[0].weights[1], 0.25, 1e-14);
}
END_TEST

START_TEST(test_geometry_of_a_cell)
{
    struct kvr_span needles[] = {{0, 2}, {3, 5}, {4, 8}, {7, 9}};
    set_shape(2, 1, 10, 8, 3);
    recorded.sample.needle_count = 4;
    recorded.sample.needles = needles;
    recorded.layer.sliding_window = 6; /* positions 2 … 7 */
    write_trace(KVR_HALF);
    ask_for("last");
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "4", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&plan, "1", NULL), KVR_OK);
    load(0);
    ck_assert_uint_eq(cell.candidates.first, 2);
    ck_assert_uint_eq(cell.candidates.sinks, 2);
    ck_assert_uint_eq(cell.pages[0].count, 2);
    ck_assert_uint_eq(cell.pages[1].count, 6);
    ck_assert_uint_eq(cell.needle_count, 4);
    ck_assert(!kvr_cell_holds_needle(&cell, 0));
    ck_assert(kvr_cell_holds_needle(&cell, 1));
    ck_assert_uint_eq(cell.needles[1].start, 1);
    ck_assert_uint_eq(cell.needles[1].end, 3);
    ck_assert(kvr_cell_holds_needle(&cell, 2));
    ck_assert(!kvr_cell_holds_needle(&cell, 3));
}
END_TEST

/* ------------------------------------------------------------------------- not finite */

/* Two groups of two heads, rows at positions 4 … 9 of which 8 and 9 are decode rows; candidates are
   2 … 7. Row q is (q + 1) / 16 everywhere, sums are 2. */
static void set_plain_values(void)
{
    set_shape(4, 2, 10, 8, 6);
    recorded.sample.pad = 2;
    for (size_t h = 0; h < 4; h++)
        for (size_t t = 0; t < 10; t++) {
            for (size_t q = 0; q < 6; q++)
                recorded.rows[h][q][t] = (double)(q + 1) / 16;
            recorded.sums[h][t] = 2;
            recorded.gates[h][t] = 1;
        }
}

static void ask_for_all(void)
{
    ask_for("last");
    ask_for("window:2");
    ask_for("accumulated");
    ask_for("column:gate");
}

static void assert_not_finite(const size_t expected[4])
{
    ck_assert_uint_eq(cell.scored_count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_msg(cell.scored[i].not_finite == expected[i], "%s: %zu, expected %zu",
                      cell.scored[i].score->label, cell.scored[i].not_finite, expected[i]);
}

/* What a scorer does not read does not matter to it. */
START_TEST(test_only_what_is_read_matters)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        set_plain_values();
        recorded.rows[0][3][1] = bad[i]; /* last prefill row, but padding */
        recorded.rows[0][3][8] = bad[i]; /* a decoded position */
        recorded.rows[0][1][4] = bad[i]; /* a row before the window */
        recorded.sums[0][0] = recorded.sums[1][9] = bad[i];
        recorded.gates[0][1] = recorded.gates[0][8] = bad[i];
        recorded.rows[0][5][9] = recorded.rows[0][5][0] = bad[i]; /* a decode row, no candidate */
        write_trace(KVR_FLOAT);
        if (i == 0)
            ask_for_all();
        load(0);
        assert_not_finite((const size_t[]){0, 0, 0, 0});
        ck_assert(cell.future.finite);
        ck_assert_double_eq_tol(cell.future.mass_total, 2 * 6 * 11.0 / 16, 1e-12);
        close_trace();
    }
}
END_TEST

START_TEST(test_heads_that_are_not_finite_are_counted)
{
    set_plain_values();
    recorded.rows[1][2][5] = NAN; /* the window of head 1 */
    recorded.sums[0][2] = NAN;
    recorded.sums[1][7] = INFINITY;
    recorded.gates[0][7] = -INFINITY;
    write_trace(KVR_FLOAT);
    ask_for_all();
    load(0);
    assert_not_finite((const size_t[]){0, 1, 2, 1});
    load(1); /* the other group is whole */
    assert_not_finite((const size_t[]){0, 0, 0, 0});
}
END_TEST

/* A finite double beyond the largest float is not finite as a score. */
START_TEST(test_scores_that_overflow)
{
    set_plain_values();
    recorded.rows[2][3][6] = 1e39;
    recorded.gates[1][6] = -1e39;
    write_trace(KVR_DOUBLE);
    ask_for_all();
    load(1);
    assert_not_finite((const size_t[]){1, 1, 0, 1});
}
END_TEST

START_TEST(test_zero_rule_replaces_and_counts)
{
    set_plain_values();
    plan.nan = KVR_NAN_ZERO;
    recorded.rows[0][3][5] = NAN; /* read by last and by the window */
    recorded.rows[0][2][6] = INFINITY;
    recorded.rows[1][2][6] = -INFINITY;
    recorded.sums[0][3] = NAN; /* the total is NaN, and every quotient */
    recorded.gates[0][2] = NAN;
    write_trace(KVR_FLOAT);
    ask_for_all();
    load(0);
    assert_not_finite((const size_t[]){0, 0, 0, 0});
    ck_assert_uint_eq(cell.scored[0].replaced, 1);
    ck_assert_uint_eq(cell.scored[1].replaced, 3);
    ck_assert_uint_eq(cell.scored[2].replaced, 6);
    ck_assert_uint_eq(cell.scored[3].replaced, 1);
    const float last[] = {0.25f, 0.25f, 0.25f, 0, 0.25f, 0.25f};
    const float window[] = {0.21875f, 0.21875f, 0.21875f, 0, 0, 0.21875f};
    ck_assert_mem_eq(cell.scored[0].vectors, last, sizeof last);
    ck_assert_mem_eq(cell.scored[1].vectors, window, sizeof window);
    ck_assert_double_eq(cell.scored[0].totals[0], 1.25);
    ck_assert_double_eq(cell.scored[2].totals[0], 0);
    load(1);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(cell.scored[i].replaced, 0);
}
END_TEST

/* The message names file, place, head and scorer; per KV head where the score is. */
START_TEST(test_fail_rule_names_the_place)
{
    const struct {
        const char *scorer, *message;
    } cases[] = {
        {"window:2", "/samples/0/layers/0: query head 3 is not finite under scorer window:2"},
        {"accumulated", "/samples/0/layers/0: query head 2 is not finite under scorer accumulated"},
        {"column:gate", "/samples/0/layers/0: KV head 1 is not finite under scorer column:gate"},
    };
    set_plain_values();
    recorded.rows[3][2][5] = NAN;
    recorded.sums[2][5] = recorded.sums[3][5] = NAN;
    recorded.gates[1][3] = NAN;
    write_trace(KVR_FLOAT);
    for (size_t i = 0; i < 3; i++) {
        struct kvr_error err = KVR_ERROR_NONE;
        struct kvr_cell_key key = made_key(trace, 0, 0, 1);
        kvr_plan_free(&plan);
        plan = kvr_plan_default();
        plan.nan = KVR_NAN_FAIL;
        ask_for("last");
        ask_for(cases[i].scorer);
        kvr_room_reset(&room);
        ck_assert_int_eq(kvr_cell_load(&plan, trace, &key, &room, &cell, &err), KVR_BAD_INPUT);
        ck_assert_msg(strstr(err.message, cases[i].message) != NULL, "%s", err.message);
        ck_assert_ptr_nonnull(strstr(err.message, "t.h5\": "));
        ck_assert_ptr_nonnull(strstr(err.hint, "--nan exclude"));
        load(0); /* the other group passes */
    }
}
END_TEST

START_TEST(test_futures_that_do_not_apply)
{
    set_plain_values();
    recorded.rows[1][5][4] = NAN; /* a decode row at a candidate, in group 0 */
    for (size_t h = 2; h < 4; h++)
        for (size_t q = 4; q < 6; q++)
            for (size_t t = 2; t < 8; t++)
                recorded.rows[h][q][t] = 0; /* nothing looks at the prompt in group 1 */
    write_trace(KVR_FLOAT);
    ask_for("last");
    load(0);
    ck_assert(!cell.future.finite);
    ck_assert_double_nan(cell.future.mass_total);
    ck_assert_double_nan(cell.future.peak_total);
    ck_assert_uint_eq(cell.scored[0].not_finite, 0); /* no score reads decode rows */
    load(1);
    ck_assert(cell.future.finite);
    ck_assert_double_nan(cell.future.mass_total);
    ck_assert_double_nan(cell.future.peak_total);
}
END_TEST

/* Decode rows are read where no scorer over rows is asked for. */
START_TEST(test_future_without_scorers_over_rows)
{
    set_plain_values();
    write_trace(KVR_FLOAT);
    ask_for("column:gate");
    load(1);
    ck_assert_uint_eq(cell.future.row_count, 2);
    ck_assert_double_eq_tol(cell.future.mass_total, 2 * 6 * 11.0 / 16, 1e-12);
}
END_TEST

Suite *kvr_suite_cell_load(void)
{
    Suite *suite = suite_create("cell_load");
    TCase *random = tcase_create("random traces");
    tcase_add_checked_fixture(random, start, end);
    tcase_add_loop_test(random, test_vectors_are_as_defined, 0, 8);
    tcase_add_loop_test(random, test_long_rows_are_read_in_blocks, 0, 2);
    suite_add_tcase(suite, random);
    TCase *hand = tcase_create("by hand");
    tcase_add_checked_fixture(hand, start, end);
    tcase_add_test(hand, test_means_are_rounded_once);
    tcase_add_test(hand, test_doubles_are_not_rounded_first);
    tcase_add_test(hand, test_padding_rows_are_skipped);
    tcase_add_test(hand, test_column_sums_are_divided_by_those_of_the_candidates);
    tcase_add_test(hand, test_rows_are_not_renormalised);
    tcase_add_test(hand, test_entropies_and_weights_follow_the_plan);
    tcase_add_test(hand, test_geometry_of_a_cell);
    suite_add_tcase(suite, hand);
    TCase *finite = tcase_create("not finite");
    tcase_add_checked_fixture(finite, start, end);
    tcase_add_test(finite, test_only_what_is_read_matters);
    tcase_add_test(finite, test_heads_that_are_not_finite_are_counted);
    tcase_add_test(finite, test_scores_that_overflow);
    tcase_add_test(finite, test_zero_rule_replaces_and_counts);
    tcase_add_test(finite, test_fail_rule_names_the_place);
    tcase_add_test(finite, test_futures_that_do_not_apply);
    tcase_add_test(finite, test_future_without_scorers_over_rows);
    suite_add_tcase(suite, finite);
    return suite;
}
