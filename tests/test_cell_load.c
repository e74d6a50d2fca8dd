/*
 * From recorded values to score vectors: every score against its definition on random traces, then
 * padding, windows and rounding one by one.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "tests/recorded_layer.h"
#include "tests/suites.h"

/* ------------------------------------------------------------------------- definitions */

/* Scores of a head's candidates, written into out (MEASURES §1). */
static void define_window(size_t head, size_t count, float *out)
{
    const struct kvr_sample *sample = &recorded.sample;
    size_t taken = 0, first = sample->query_count;
    for (size_t q = sample->query_count; q-- > 0 && taken < count;)
        if (recorded.positions[q] < sample->prompt_length && recorded.positions[q] >= sample->pad) {
            first = q;
            taken++;
        }
    for (size_t t = 0; t < recorded_cell.candidates.count; t++) {
        double sum = 0;
        for (size_t q = first; q < first + taken; q++)
            sum += recorded.rows[head][q][recorded_cell.candidates.first + t];
        out[t] = (float)(sum / (double)taken);
    }
}

static void define_future(size_t head, float *out)
{
    const struct kvr_sample *sample = &recorded.sample;
    for (size_t t = 0; t < recorded_cell.candidates.count; t++) {
        double sum = 0, taken = 0;
        for (size_t q = 0; q < sample->query_count; q++)
            if (recorded.positions[q] >= sample->prompt_length) {
                sum += recorded.rows[head][q][recorded_cell.candidates.first + t];
                taken++;
            }
        out[t] = (float)(sum / taken);
    }
}

/* Column sums, divided by the rows that see the column or not, then by their total. */
static void define_sums(size_t head, bool by_rows, float *out)
{
    double values[REC_TOKENS], total = 0;
    for (size_t t = 0; t < recorded_cell.candidates.count; t++) {
        uint64_t position = recorded_cell.candidates.first + t;
        double rows_that_see = (double)(recorded.sample.prompt_length - position);
        values[t] = recorded.sums[head][position] / (by_rows ? rows_that_see : 1);
        total += values[t];
    }
    for (size_t t = 0; t < recorded_cell.candidates.count; t++)
        out[t] = (float)(values[t] / total);
}

static double norm_of(const double *vector)
{
    double sum = 0;
    for (size_t d = 0; d < recorded.width; d++)
        sum += vector[d] * vector[d];
    return sqrt(sum);
}

/* Minus the norm, or minus the cosine to the mean of the unit keys. */
static void define_keys(size_t group, bool cosine, float *out)
{
    double mean[REC_WIDTH] = {0}, count = (double)recorded_cell.candidates.count;
    const double(*keys)[REC_WIDTH] =
        (const double(*)[REC_WIDTH])recorded.keys[group] + recorded_cell.candidates.first;
    for (size_t d = 0; d < recorded.width; d++) {
        for (size_t t = 0; t < recorded_cell.candidates.count; t++)
            mean[d] += keys[t][d] / norm_of(keys[t]);
        mean[d] /= count;
    }
    for (size_t t = 0; t < recorded_cell.candidates.count; t++) {
        double product = 0;
        for (size_t d = 0; d < recorded.width; d++)
            product += keys[t][d] * mean[d];
        out[t] = (float)-(cosine ? product / (norm_of(keys[t]) * norm_of(mean)) : norm_of(keys[t]));
    }
}

static void define_score(const struct kvr_scored *scored, size_t h, size_t group, float *out)
{
    size_t head = group * recorded_cell.key.ratio + h;
    const char *name = scored->score->scorer->name;
    if (strcmp(name, "window") == 0 || strcmp(name, "last") == 0)
        define_window(head, scored->score->number, out);
    else if (strcmp(name, "future") == 0)
        define_future(head, out);
    else if (strcmp(name, "accumulated") == 0 || strcmp(name, "observed") == 0)
        define_sums(head, name[0] == 'o', out);
    else if (strcmp(name, "key-norm") == 0 || strcmp(name, "key-diff") == 0)
        define_keys(group, name[4] == 'd', out);
    else if (strcmp(name, "column") == 0)
        for (size_t t = 0; t < recorded_cell.candidates.count; t++)
            out[t] = (float)recorded.gates[group][recorded_cell.candidates.first + t];
    else if (strcmp(name, "recency") == 0)
        for (size_t t = 0; t < recorded_cell.candidates.count; t++)
            out[t] = (float)t;
    else
        ck_abort_msg("no definition of %s", name);
}

/* Scores that a group has once: of its KV head, or of no head at all. */
static bool has_one_vector(const char *name)
{
    static const char *const names[] = {"column", "key-norm", "key-diff", "recency", "random"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void check_vector(const struct kvr_scored *scored, size_t h, size_t group)
{
    size_t count = recorded_cell.candidates.count;
    float expected[REC_TOKENS];
    double total = 0;
    define_score(scored, h, group, expected);
    for (size_t t = 0; t < count; t++) {
        float found = scored->vectors[h * count + t];
        if (found < expected[t] || found > expected[t] || isnan(found))
            ck_abort_msg("%s, head %zu, candidate %zu: %.9g, expected %.9g", scored->score->label,
                         h, t, (double)found, (double)expected[t]);
        total += (double)found;
    }
    ck_assert_double_eq(scored->totals[h], total);
}

static void check_vectors(size_t group)
{
    for (size_t i = 0; i < recorded_cell.scored_count; i++) {
        const struct kvr_scored *scored = &recorded_cell.scored[i];
        bool once = has_one_vector(scored->score->scorer->name);
        ck_assert_uint_eq(scored->heads, once ? 1 : recorded_cell.key.ratio);
        ck_assert_msg(scored->not_finite == 0, "%s is not finite", scored->score->label);
        for (size_t h = 0; h < scored->heads; h++)
            check_vector(scored, h, group);
    }
}

static void check_future(size_t group)
{
    const struct kvr_sample *sample = &recorded.sample;
    size_t decode_rows = 0;
    for (size_t q = 0; q < sample->query_count; q++)
        decode_rows += recorded.positions[q] >= sample->prompt_length;
    ck_assert_uint_eq(recorded_cell.future.row_count, decode_rows);
    if (decode_rows == 0) {
        ck_assert_double_nan(recorded_cell.future.mass_total);
        ck_assert_double_nan(recorded_cell.future.peak_total);
        return;
    }
    double mass_total = 0, peak_total = 0;
    for (size_t t = 0; t < recorded_cell.candidates.count; t++) {
        double mass = 0, peak = 0;
        for (size_t h = group * recorded_cell.key.ratio; h < (group + 1) * recorded_cell.key.ratio;
             h++)
            for (size_t q = sample->query_count - decode_rows; q < sample->query_count; q++) {
                double a = recorded.rows[h][q][recorded_cell.candidates.first + t];
                mass += a;
                peak += a * a;
            }
        ck_assert_double_eq_tol(recorded_cell.future.mass[t], mass, 1e-13);
        ck_assert_double_eq_tol(recorded_cell.future.peak[t], peak, 1e-13);
        mass_total += mass;
        peak_total += peak;
    }
    ck_assert_double_eq_tol(recorded_cell.future.mass_total, mass_total, 1e-12);
    ck_assert_double_eq_tol(recorded_cell.future.peak_total, peak_total, 1e-12);
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
    uint32_t ratio = 1 + (uint32_t)kvr_random_below(random, REC_HEADS / kv_heads);
    uint64_t tokens = 2 + kvr_random_below(random, 40);
    uint64_t prompt = 1 + kvr_random_below(random, tokens);
    uint64_t most = tokens < REC_ROWS ? tokens : REC_ROWS;
    recorded_shape(ratio * kv_heads, kv_heads, tokens, prompt, 1 + kvr_random_below(random, most));
    recorded.width = 2 + kvr_random_below(random, REC_WIDTH - 1); /* of 1, means may be 0 */
    recorded.sample.pad = kvr_random_below(random, 2) == 0 ? kvr_random_below(random, prompt) : 0;
    recorded.layer.sliding_window =
        kvr_random_below(random, 2) == 0 ? kvr_random_below(random, tokens + 2) : 0;
    for (size_t h = 0; h < recorded.sample.query_heads; h++)
        for (size_t t = 0; t < tokens; t++) {
            for (size_t q = 0; q < recorded.sample.query_count; q++)
                recorded.rows[h][q][t] = draw(random, kind);
            recorded.sums[h][t] = 100 * kvr_random_uniform(random);
            recorded.gates[h][t] = kvr_random_normal(random);
            for (size_t d = 0; d < REC_WIDTH; d++)
                recorded.keys[h][t][d] = (double)(float)kvr_random_normal(random);
        }
}

static size_t rows_between(uint64_t begin, uint64_t end)
{
    size_t count = 0;
    for (size_t q = 0; q < recorded.sample.query_count; q++)
        count += recorded.positions[q] >= begin && recorded.positions[q] < end;
    return count;
}

START_TEST(test_vectors_are_as_defined)
{
    static const enum kvr_element kinds[] = {KVR_HALF, KVR_BFLOAT16, KVR_FLOAT, KVR_DOUBLE};
    static const char *const asked[] = {"window:3", "accumulated", "column:gate",
                                        "last",     "window",      "column:none"};
    static const char *const of_policies[] = {"future", "observed", "key-norm", "key-diff",
                                              "recency"};
    struct kvr_random random = kvr_random_stream(91, (uint64_t)_i);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        recorded_score(asked[i]);
    for (size_t i = 0; i < sizeof of_policies / sizeof *of_policies; i++)
        recorded_policy_score(of_policies[i]);
    for (int round = 0; round < 30; round++) {
        draw_trace(&random, kinds[_i % 4]);
        recorded_write(kinds[_i % 4]);
        const struct kvr_sample *sample = &recorded.sample;
        size_t prefill = rows_between(sample->pad, sample->prompt_length);
        size_t decode = rows_between(sample->prompt_length, sample->context_length);
        for (uint32_t group = 0; group < sample->kv_heads; group++) {
            recorded_load(group);
            size_t expected = 6 + (prefill > 0 ? 3u : 0) + (decode > 0);
            ck_assert_uint_eq(recorded_cell.scored_count, expected);
            check_vectors(group);
            check_future(group);
        }
    }
}
END_TEST

/* The same in every group of a layer; not the same elsewhere, or under another seed. */
START_TEST(test_random_scores)
{
    float first[4][80];
    recorded_policy_score("random");
    recorded_policy_score("random:0");
    recorded_policy_score("random:7");
    for (size_t i = 0; i < 4; i++) {
        static char other[] = "1";
        recorded_shape(4, 2, 80, 80, 1);
        recorded.layer.number = i == 2 ? 5 : 0;
        if (i == 3)
            recorded.sample.name = other;
        recorded_write(KVR_HALF);
        recorded_load(i == 1 ? 1 : 0);
        memcpy(first[i], recorded_cell.scored[0].vectors, sizeof first[i]);
    }
    double sum = 0;
    for (size_t t = 0; t < 80; t++) {
        ck_assert(first[0][t] >= 0 && first[0][t] < 1);
        sum += (double)first[0][t];
    }
    ck_assert_double_eq_tol(sum / 80, 0.5, 0.15);
    ck_assert_mem_eq(first[1], first[0], sizeof first[0]);                        /* a group */
    ck_assert_mem_ne(first[2], first[0], sizeof first[0]);                        /* a layer */
    ck_assert_mem_ne(first[3], first[0], sizeof first[0]);                        /* a sample */
    ck_assert_mem_eq(recorded_cell.scored[1].vectors, first[3], sizeof first[3]); /* seed 0 */
    ck_assert_mem_ne(recorded_cell.scored[2].vectors, first[3], sizeof first[3]); /* seed 7 */
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
    recorded_trace = made_trace_finish(&made);
    recorded_score("window:199");
    recorded_score("last");
    recorded_load(0);
    size_t first = rows > 199 ? rows - 199 : 0;
    for (size_t h = 0; h < 2; h++)
        for (size_t t = 0; t < tokens; t++) {
            double sum = 0;
            for (size_t q = first; q < rows; q++)
                sum += values[(h * rows + q) * tokens + t];
            const float expected[] = {(float)(sum / (double)(rows - first)),
                                      (float)values[(h * rows + rows - 1) * tokens + t]};
            for (size_t i = 0; i < 2; i++)
                if (memcmp(&recorded_cell.scored[i].vectors[h * tokens + t], &expected[i],
                           sizeof(float)) != 0)
                    ck_abort_msg("%s, head %zu, candidate %zu",
                                 recorded_cell.scored[i].score->label, h, t);
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
    recorded_shape(1, 1, 3, 3, 3);
    for (size_t q = 0; q < 3; q++)
        recorded.rows[0][q][0] = values[q];
    recorded_write(KVR_DOUBLE);
    recorded_score("window:3");
    recorded_load(0);
    ck_assert_float_eq(recorded_cell.scored[0].vectors[0], (float)((1 + 0x1p-23) / 3));
    ck_assert_float_ne((float)((1 + 0x1p-23) / 3), (float)(1.0 / 3));
}
END_TEST

/* Doubles just above the middle of two floats: rounding them first would lose the bit that decides.
 */
START_TEST(test_doubles_are_not_rounded_first)
{
    recorded_shape(1, 1, 2, 2, 2);
    recorded.rows[0][0][0] = 1 + 0x1p-24 + 0x1p-50;
    recorded.rows[0][1][0] = 1 + 0x1p-24 - 0x1p-51;
    recorded.rows[0][1][1] = 1e-60; /* below the least float */
    recorded_write(KVR_DOUBLE);
    recorded_score("window:2");
    recorded_load(0);
    ck_assert_float_eq(recorded_cell.scored[0].vectors[0],
                       1 + 0x1p-23f); /* floats first: 1 + 2^-24 ties */
    ck_assert_float_eq(recorded_cell.scored[0].vectors[1], 0);
}
END_TEST

/* Query rows of padding are NaN, zero or uniform by framework: they are not looked at. */
START_TEST(test_padding_rows_are_skipped)
{
    static const double forms[] = {NAN, 0, 0.125};
    for (size_t form = 0; form < 3; form++) {
        recorded_shape(1, 1, 8, 8, 6); /* rows of positions 2 … 7 */
        recorded.sample.pad = 4;
        for (size_t t = 0; t < 8; t++) {
            recorded.rows[0][0][t] = recorded.rows[0][1][t] = forms[form];
            for (size_t q = 2; q < 6; q++)
                recorded.rows[0][q][t] = t < 4 ? 0 : 0.25;
            recorded.sums[0][t] = 1;
        }
        recorded_write(KVR_FLOAT);
        if (form == 0) {
            recorded_score("window");
            recorded_score("accumulated");
        }
        recorded_load(0);
        ck_assert_uint_eq(recorded_cell.candidates.first, 4);
        ck_assert_uint_eq(recorded_cell.candidates.count, 4);
        for (size_t t = 0; t < 4; t++) {
            ck_assert_float_eq(recorded_cell.scored[0].vectors[t], 0.25f);
            ck_assert_float_eq(recorded_cell.scored[1].vectors[t],
                               0.25f); /* of four, not of eight */
        }
    }
}
END_TEST

START_TEST(test_column_sums_are_divided_by_those_of_the_candidates)
{
    const double sums[] = {70, 30, 1, 3, 2, 2, 100};
    recorded_shape(1, 1, 7, 6, 1);
    recorded.layer.sliding_window = 4; /* positions 2 … 5 */
    memcpy(recorded.sums[0], sums, sizeof sums);
    recorded_write(KVR_FLOAT);
    recorded_score("accumulated");
    recorded_load(0);
    const float expected[] = {0.125f, 0.375f, 0.25f, 0.25f};
    ck_assert_uint_eq(recorded_cell.candidates.count, 4);
    ck_assert_mem_eq(recorded_cell.scored[0].vectors, expected, sizeof expected);
    ck_assert_double_eq(recorded_cell.scored[0].totals[0], 1);
}
END_TEST

/* Rows are used as recorded: a row that sums to 2/3 stays so. */
START_TEST(test_rows_are_not_renormalised)
{
    recorded_shape(1, 1, 4, 4, 1);
    recorded.rows[0][0][1] = 0.25;
    recorded.rows[0][0][3] = 0.375;
    recorded_write(KVR_HALF);
    recorded_score("last");
    recorded_load(0);
    ck_assert_double_eq(recorded_cell.scored[0].totals[0], 0.625);
}
END_TEST

START_TEST(test_entropies_and_weights_follow_the_plan)
{
    recorded_shape(2, 1, 8, 8, 1);
    for (size_t t = 0; t < 8; t++) {
        recorded.rows[0][0][t] = t < 4 ? 0.25 : 0;
        recorded.rows[1][0][t] = 0.125;
    }
    recorded_write(KVR_HALF);
    recorded_score("last");
    recorded_plan.sinks = 2;
    recorded_plan.tau = 1;
    recorded_plan.entropy.alpha = 1;
    recorded_load(0);
    ck_assert_double_eq_tol(recorded_cell.scored[0].entropies[0], log(2), 1e-14);
    ck_assert_double_eq_tol(recorded_cell.scored[0].entropies[1], log(6), 1e-14);
    ck_assert_double_eq_tol(recorded_cell.scored[0].weights[0], 0.75, 1e-14);
    ck_assert_double_eq_tol(recorded_cell.scored[0].weights[1], 0.25, 1e-14);
}
END_TEST

START_TEST(test_geometry_of_a_cell)
{
    struct kvr_span needles[] = {{0, 2}, {3, 5}, {4, 8}, {7, 9}};
    recorded_shape(2, 1, 10, 8, 3);
    recorded.sample.needle_count = 4;
    recorded.sample.needles = needles;
    recorded.layer.sliding_window = 6; /* positions 2 … 7 */
    recorded_write(KVR_HALF);
    recorded_score("last");
    ck_assert_int_eq(kvr_plan_add_page_size(&recorded_plan, "4", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_page_size(&recorded_plan, "1", NULL), KVR_OK);
    recorded_load(0);
    ck_assert_uint_eq(recorded_cell.candidates.first, 2);
    ck_assert_uint_eq(recorded_cell.candidates.sinks, 2);
    ck_assert_uint_eq(recorded_cell.pages[0].count, 2);
    ck_assert_uint_eq(recorded_cell.pages[1].count, 6);
    ck_assert_uint_eq(recorded_cell.needle_count, 4);
    ck_assert(!kvr_cell_holds_needle(&recorded_cell, 0));
    ck_assert(kvr_cell_holds_needle(&recorded_cell, 1));
    ck_assert_uint_eq(recorded_cell.needles[1].start, 1);
    ck_assert_uint_eq(recorded_cell.needles[1].end, 3);
    ck_assert(kvr_cell_holds_needle(&recorded_cell, 2));
    ck_assert(!kvr_cell_holds_needle(&recorded_cell, 3));
}
END_TEST

Suite *kvr_suite_cell_load(void)
{
    Suite *suite = suite_create("cell_load");
    TCase *random = tcase_create("random traces");
    tcase_add_checked_fixture(random, recorded_start, recorded_end);
    tcase_add_loop_test(random, test_vectors_are_as_defined, 0, 8);
    tcase_add_loop_test(random, test_long_rows_are_read_in_blocks, 0, 2);
    tcase_add_test(random, test_random_scores);
    suite_add_tcase(suite, random);
    TCase *hand = tcase_create("by hand");
    tcase_add_checked_fixture(hand, recorded_start, recorded_end);
    tcase_add_test(hand, test_means_are_rounded_once);
    tcase_add_test(hand, test_doubles_are_not_rounded_first);
    tcase_add_test(hand, test_padding_rows_are_skipped);
    tcase_add_test(hand, test_column_sums_are_divided_by_those_of_the_candidates);
    tcase_add_test(hand, test_rows_are_not_renormalised);
    tcase_add_test(hand, test_entropies_and_weights_follow_the_plan);
    tcase_add_test(hand, test_geometry_of_a_cell);
    suite_add_tcase(suite, hand);
    return suite;
}
