/*
 * Cells of layers without rows: the same scores, future and output error as with the rows that
 * query and key define; what is recorded comes first; what cannot be had; recorded models.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/output_error.h"
#include "replay/attention.h"
#include "replay/bitmap.h"
#include "tests/qk_layer.h"
#include "tests/suites.h"

static struct kvr_plan plan;
static struct kvr_room room;
static struct kvr_cell cell;

static void add_scores(void)
{
    static const char *const asked[] = {"last", "window:3", "window", "accumulated"};
    static const char *const policies[] = {"a=observed/mean", "b=future/mean"};
    struct kvr_error err = KVR_ERROR_NONE;
    plan = kvr_plan_default();
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        ck_assert_int_eq(kvr_plan_add_score(&plan, asked[i], &err), KVR_OK);
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        ck_assert_int_eq(kvr_plan_add_policy(&plan, policies[i], &err), KVR_OK);
    ck_assert_int_eq(kvr_plan_settle(&plan, NULL, 0, &err), KVR_OK);
}

static void start(void)
{
    qk_start();
    add_scores();
    room = (struct kvr_room){0};
}

static void end(void)
{
    kvr_room_free(&room);
    kvr_plan_free(&plan);
    qk_end();
}

static void load(uint32_t group)
{
    struct kvr_cell_key key = made_key(qk_trace, 0, 0, group);
    kvr_room_reset(&room);
    made_load(&plan, qk_trace, &key, &room, &cell);
}

static const struct kvr_scored *scored_as(const char *label)
{
    for (size_t i = 0; i < cell.scored_count; i++)
        if (strcmp(cell.scored[i].score->label, label) == 0)
            return &cell.scored[i];
    return NULL;
}

/* ------------------------------------------------------------------------- with and without rows
 */

enum { MOST_SCORES = 8 };

/* What a cell holds that is computed from rows, and the error of keeping every third token. */
struct loaded {
    size_t count, tokens, heads[MOST_SCORES];
    float vectors[MOST_SCORES][QK_HEADS * QK_TOKENS];
    double mass[QK_TOKENS], peak[QK_TOKENS], mass_total, peak_total, error;
    size_t decode_rows;
};

static double output_error(const uint64_t *kept)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_output_error judge;
    ck_assert_msg(kvr_output_error_load(&cell, &judge, &err) == KVR_OK, "%s", err.message);
    return kvr_output_error_of(&cell, &judge, kept);
}

static void take(uint32_t group, struct loaded *loaded)
{
    uint64_t kept[QK_TOKENS / 64 + 1] = {0};
    load(group);
    memset(loaded, 0, sizeof *loaded);
    loaded->count = cell.scored_count;
    loaded->tokens = cell.candidates.count;
    for (size_t i = 0; i < cell.scored_count; i++) {
        loaded->heads[i] = cell.scored[i].heads;
        memcpy(loaded->vectors[i], cell.scored[i].vectors,
               cell.scored[i].heads * loaded->tokens * sizeof(float));
    }
    loaded->decode_rows = cell.future.row_count;
    loaded->mass_total = cell.future.mass_total;
    loaded->peak_total = cell.future.peak_total;
    for (size_t t = 0; loaded->decode_rows > 0 && t < loaded->tokens; t++) {
        loaded->mass[t] = cell.future.mass[t];
        loaded->peak[t] = cell.future.peak[t];
    }
    for (size_t t = 0; t < loaded->tokens; t += 3)
        kvr_bitmap_add_span(kept, t, t + 1);
    loaded->error = output_error(kept);
}

static void near(double found, double expected)
{
    if (isnan(expected))
        ck_assert_double_nan(found);
    else
        ck_assert_double_eq_tol(found, expected, 1e-5 * fabs(expected) + 1e-30);
}

static void expect_near(const struct loaded *found, const struct loaded *expected)
{
    ck_assert_uint_eq(found->count, expected->count);
    ck_assert_uint_eq(found->tokens, expected->tokens);
    for (size_t i = 0; i < found->count; i++)
        for (size_t t = 0; t < found->heads[i] * found->tokens; t++)
            near((double)found->vectors[i][t], (double)expected->vectors[i][t]);
    ck_assert_uint_eq(found->decode_rows, expected->decode_rows);
    near(found->mass_total, expected->mass_total);
    near(found->peak_total, expected->peak_total);
    for (size_t t = 0; t < found->tokens; t++) {
        near(found->mass[t], expected->mass[t]);
        near(found->peak[t], expected->peak[t]);
    }
    near(found->error, expected->error);
}

static void draw_layer(struct kvr_random *random, uint64_t decode)
{
    uint32_t groups = 1 + (uint32_t)kvr_random_below(random, 2);
    uint32_t ratio = 1 + (uint32_t)kvr_random_below(random, 4);
    uint64_t prompt = 20 + kvr_random_below(random, 100);
    qk_shape(ratio * groups, groups, prompt + decode, prompt,
             1 + kvr_random_below(random, QK_WIDTH), KVR_FLOAT);
    qk.sample.pad = kvr_random_below(random, 2) * kvr_random_below(random, 15);
    qk.layer.sliding_window = kvr_random_below(random, 2) * (1 + kvr_random_below(random, prompt));
    qk.layer.softcap = kvr_random_below(random, 2) == 0 ? (double)NAN : 20;
    qk_draw(random, 1);
    qk.value = true;
}

static void expect_same_cells(uint64_t round, uint64_t decode)
{
    static struct loaded with, without;
    struct kvr_random random = kvr_random_stream(21, 4 * round + decode);
    draw_layer(&random, decode);
    for (uint32_t group = 0; group < qk.sample.kv_heads; group++) {
        qk.attention = qk.accumulated = true;
        qk_write();
        take(group, &with);
        ck_assert_ptr_null(cell.attention);
        ck_assert_ptr_null(cell.column_sums);
        qk.attention = qk.accumulated = false;
        qk_write();
        take(group, &without);
        ck_assert_ptr_nonnull(cell.attention);
        expect_near(&without, &with);
    }
}

START_TEST(test_cells_are_the_same_without_rows)
{
    for (uint64_t round = 0; round < 6; round++)
        expect_same_cells(round, (uint64_t)_i); /* decode rows */
}
END_TEST

/* ------------------------------------------------------------------------- what comes first */

/* A layer whose recorded rows and sums are those of another scale than it declares. */
static void write_contradiction(bool attention, bool accumulated)
{
    struct kvr_random random = kvr_random_stream(22, 0);
    qk_shape(2, 1, 40, 38, 8, KVR_FLOAT);
    qk_draw(&random, 1);
    qk.attention = attention;
    qk.accumulated = accumulated;
    qk.recorded_scale = 0.01;
    qk_write();
}

/* The mean of the last row's weights on the last tokens tells sharp from even rows. */
static double sharpness(const char *label)
{
    const struct kvr_scored *scored = scored_as(label);
    double squares = 0;
    for (size_t t = 0; t < cell.candidates.count; t++)
        squares += (double)scored->vectors[t] * (double)scored->vectors[t];
    return squares * (double)cell.candidates.count;
}

START_TEST(test_what_is_recorded_is_used)
{
    write_contradiction(_i & 1, _i & 2);
    load(0);
    ck_assert_int_eq(kvr_layer_rows(cell.key.layer), _i & 1 ? KVR_RECORDED : KVR_RECOMPUTED);
    ck_assert_int_eq(kvr_layer_column_sums(cell.key.sample, cell.key.layer),
                     _i & 2 ? KVR_RECORDED : KVR_RECOMPUTED);
    ck_assert((cell.attention == NULL) == ((_i & 1) != 0));
    ck_assert((cell.column_sums == NULL) == ((_i & 2) != 0));
    ck_assert((sharpness("last") < 1.01) == ((_i & 1) != 0));
    load(0); /* sums of even rows are those of 1/1 + 1/2 + … */
    double first = (double)scored_as("accumulated")->vectors[0] * 38, even = 0;
    for (int row = 1; row <= 38; row++)
        even += 1.0 / row;
    ck_assert((fabs(first - even) < 0.05) == ((_i & 2) != 0));
}
END_TEST

START_TEST(test_what_cannot_be_had)
{
    struct kvr_random random = kvr_random_stream(23, 0);
    qk_shape(2, 1, 40, 38, 8, KVR_FLOAT);
    if (_i == 0)
        qk.layer.sink_logits = true;
    if (_i == 1) { /* a prompt row is missing */
        memmove(&qk.positions[7], &qk.positions[8], 32 * sizeof *qk.positions);
        qk.sample.query_count--;
    }
    if (_i == 2) { /* decode rows only */
        qk.positions[0] = 38;
        qk.positions[1] = 39;
        qk.sample.query_count = 2;
    }
    qk_draw(&random, 1);
    qk_write();
    load(0);
    ck_assert((scored_as("last") != NULL) == (_i == 1 || _i == 3));
    ck_assert((scored_as("future") != NULL) == (_i > 0));
    ck_assert((scored_as("accumulated") != NULL) == (_i == 3));
    ck_assert((scored_as("observed") != NULL) == (_i == 3));
    ck_assert((cell.attention != NULL) == (_i > 0));
    ck_assert(isnan(cell.future.mass_total) == (_i == 0));
}
END_TEST

START_TEST(test_query_that_is_not_a_number)
{
    struct kvr_random random = kvr_random_stream(24, 0);
    qk_shape(2, 1, 40, 38, 8, KVR_HALF);
    qk_draw(&random, 1);
    qk.query[1][20][3] = NAN;
    qk_write();
    load(0);
    ck_assert_uint_eq(scored_as("last")->not_finite, 0);
    ck_assert_uint_eq(scored_as("window:3")->not_finite, 0);
    ck_assert_uint_eq(scored_as("window")->not_finite, 1);
    ck_assert_uint_eq(scored_as("accumulated")->not_finite, 1);
}
END_TEST

/* ------------------------------------------------------------------------- dropped tokens */

/* o - o' = d / (1 - d) (o_dropped - o), with d the share of the row on what is dropped. */
static void expect_identity(uint64_t round)
{
    struct kvr_random random = kvr_random_stream(25, round);
    qk_shape(1, 1, 60, 60, 24, KVR_BFLOAT16);
    qk_draw(&random, 1);
    qk.value = true;
    qk_write();
    load(0);
    double row[QK_TOKENS];
    qk_row(0, 59, row);
    uint64_t kept = kvr_random_bits(&random) >> 4;
    double all[QK_WIDTH] = {0}, gone[QK_WIDTH] = {0}, mass = 0, length = 0, difference = 0;
    for (size_t t = 0; t < 60; t++) {
        bool dropped = (kept >> t & 1) == 0;
        mass += dropped ? row[t] : 0;
        for (size_t d = 0; d < qk.width; d++) {
            all[d] += row[t] * qk.values[0][t][d];
            gone[d] += dropped ? row[t] * qk.values[0][t][d] : 0;
        }
    }
    for (size_t d = 0; d < qk.width; d++) {
        double by_identity = mass / (1 - mass) * (gone[d] / mass - all[d]);
        difference += by_identity * by_identity;
        length += all[d] * all[d];
    }
    ck_assert_double_eq_tol(output_error(&kept), sqrt(difference / length), 1e-5);
}

START_TEST(test_identity_of_dropped_mass)
{
    for (uint64_t round = 0; round < 20; round++)
        expect_identity(round);
}
END_TEST

/* ------------------------------------------------------------------------- recorded models */

static struct kvr_trace *open_bundled(const char *name)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_trace *trace = NULL;
    const char *folder = getenv("TRACES");
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "traces", name);
    ck_assert_msg(kvr_trace_open(path, NULL, &trace, &err) == KVR_OK, "%s", err.message);
    return trace;
}

static void read_recorded(const struct kvr_dataset *dataset, uint64_t head, uint64_t row,
                          double *values)
{
    struct kvr_error err = KVR_ERROR_NONE;
    bool rows = dataset->rank == 3;
    const uint64_t at[] = {head, row, 0};
    const uint64_t size[] = {1, rows ? 1 : dataset->shape[1], rows ? dataset->shape[2] : 1};
    ck_assert_int_eq(kvr_trace_read(qk_trace, dataset, at, size, values, &err), KVR_OK);
}

static void open_group(const struct kvr_layer *layer, uint32_t group, size_t row,
                       struct kvr_attention *attention)
{
    struct kvr_error err = KVR_ERROR_NONE;
    kvr_room_reset(&room);
    ck_assert_int_eq(kvr_attention_open(qk_trace, &qk_trace->samples[0], layer, group, row, &room,
                                        attention, &err),
                     KVR_OK);
}

/* Rows as they were recorded, and those of queries and keys of up to 27, whose rounding to half
   moves logits by some hundredths. */
START_TEST(test_rows_of_a_model)
{
    static float row[512];
    static double recorded_row[512];
    struct kvr_error err = KVR_ERROR_NONE;
    qk_trace = open_bundled("stories260k-512.h5");
    const struct kvr_sample *sample = &qk_trace->samples[0];
    for (size_t l = 0; l < sample->layer_count; l++) {
        const struct kvr_layer *layer = &sample->layers[l];
        struct kvr_attention attention;
        for (uint32_t head = 0; head < layer->query_heads; head++)
            for (size_t q = 0; q < sample->query_count; q += 7) {
                open_group(layer, head / 2, q, &attention);
                ck_assert_int_eq(kvr_attention_rows(&attention, head, q, 1, 0, 512, row, &err),
                                 KVR_OK);
                read_recorded(layer->attention, head, q, recorded_row);
                for (size_t t = 0; t < 512; t++)
                    ck_assert_double_eq_tol((double)row[t], recorded_row[t], 1.0 / 64);
            }
    }
}
END_TEST

/* Column sums of all 500 prompt rows, as they were recorded in float. */
START_TEST(test_column_sums_of_a_model)
{
    static double recorded_sums[507];
    struct kvr_error err = KVR_ERROR_NONE;
    qk_trace = open_bundled("smollm2-qk-500.h5");
    const struct kvr_layer *layer = &qk_trace->samples[0].layers[0];
    struct kvr_attention attention;
    for (uint32_t head = 0; head < layer->query_heads; head++) {
        double sums[507] = {0};
        open_group(layer, head / 3, 0, &attention);
        ck_assert_int_eq(kvr_attention_add(&attention, head, 0, 500, 0, 507, sums, &err), KVR_OK);
        read_recorded(layer->accumulated, head, 0, recorded_sums);
        for (size_t t = 0; t < 507; t++)
            ck_assert_double_eq_tol(sums[t], recorded_sums[t], 1e-5 * recorded_sums[t] + 1e-12);
    }
}
END_TEST

Suite *kvr_suite_recompute(void)
{
    Suite *suite = suite_create("recompute");
    TCase *cells = tcase_create("cells");
    tcase_add_checked_fixture(cells, start, end);
    tcase_add_loop_test(cells, test_cells_are_the_same_without_rows, 0, 4);
    tcase_add_loop_test(cells, test_what_is_recorded_is_used, 0, 4);
    tcase_add_loop_test(cells, test_what_cannot_be_had, 0, 4);
    tcase_add_test(cells, test_query_that_is_not_a_number);
    tcase_add_test(cells, test_identity_of_dropped_mass);
    suite_add_tcase(suite, cells);
    TCase *models = tcase_create("models");
    tcase_add_checked_fixture(models, start, end);
    tcase_add_test(models, test_rows_of_a_model);
    tcase_add_test(models, test_column_sums_of_a_model);
    suite_add_tcase(suite, models);
    return suite;
}
