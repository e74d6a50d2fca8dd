/*
 * Column sums of synthetic traces, and rows that come from queries and keys.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/scratch.h"
#include "tests/suites.h"
#include "tests/synth_fixture.h"

/* Column sums. */

/* The largest difference between accumulated and the sums of the recorded prefill rows; and each
   head's total must be the number of prefill rows. */
static double compare_sums(struct kvr_trace *trace, double tolerance, double *least)
{
    double largest = 0;
    *least = INFINITY;
    for (size_t l = 0; l < trace->samples[0].layer_count; l++) {
        const struct kvr_sample *sample = &trace->samples[0];
        const struct kvr_layer *layer = &sample->layers[l];
        double *rows = synth_read(trace, layer->attention);
        double *sums = synth_read(trace, layer->accumulated);
        size_t length = (size_t)sample->context_length;
        for (size_t h = 0; h < layer->query_heads; h++) {
            double total = 0;
            for (size_t t = 0; t < length; t++) {
                double sum = 0;
                for (size_t q = 0; q < kvr_sample_decode_start(sample); q++)
                    sum += rows[(h * sample->query_count + q) * length + t];
                double difference = sums[h * length + t] - sum;
                largest = fmax(largest, fabs(difference));
                *least = fmin(*least, difference);
                total += sums[h * length + t];
            }
            ck_assert_double_eq_tol(total, (double)(sample->prompt_length - sample->pad),
                                    tolerance);
        }
        free(rows);
        free(sums);
    }
    return largest;
}

START_TEST(column_sums_are_exact_if_all_rows_are_recorded)
{
    struct kvr_synth_options options = synth_small_options();
    double least;
    options.samples = 1;
    options.rows = 297;
    struct kvr_trace *trace = synth_trace(&options);
    ck_assert_double_le(compare_sums(trace, 1e-9, &least), 1e-12);
    kvr_trace_close(trace);
}
END_TEST

START_TEST(column_sums_count_rows_that_are_not_recorded)
{
    struct kvr_synth_options options = synth_small_options();
    double least;
    options.samples = 1;
    struct kvr_trace *trace = synth_trace(&options);
    ck_assert_double_ge(compare_sums(trace, 1e-9, &least), 1);
    ck_assert_double_ge(least, -1e-12); /* never less than the recorded rows give */
    kvr_trace_close(trace);
}
END_TEST

/* The expectation from the profile is close to what the rows would have summed to. */
START_TEST(expected_column_sums_are_near_the_true_ones)
{
    struct kvr_synth_options options = synth_small_options();
    double *sums[2];
    options.samples = 1;
    size_t count = 8 * 307;
    for (unsigned i = 0; i < 2; i++) {
        options.rows = i == 0 ? 297 : 20;
        struct kvr_trace *trace = synth_trace(&options);
        sums[i] = synth_read(trace, trace->samples[0].layers[1].accumulated);
        kvr_trace_close(trace);
    }
    double difference = 0, total = 0;
    for (size_t i = 0; i < count; i++) {
        difference += fabs(sums[0][i] - sums[1][i]);
        total += sums[0][i];
    }
    ck_assert_double_le(difference, 0.1 * total);
    free(sums[0]);
    free(sums[1]);
}
END_TEST

/* Queries, keys, values. */

/* The softmax over what the row sees, from the stored vectors. */
static void recompute(const struct synth_row *row, const double *queries, const double *keys,
                      size_t dim, double *values)
{
    const struct kvr_layer *layer = row->layer;
    size_t length = (size_t)row->sample->context_length;
    size_t group = row->head / (layer->query_heads / layer->kv_heads);
    const double *query = queries + (row->head * row->sample->query_count + row->query) * dim;
    double total = 0;
    memset(values, 0, length * sizeof *values);
    for (uint64_t t = row->first; t <= row->position; t++) {
        double dot = 0;
        for (size_t d = 0; d < dim; d++)
            dot += query[d] * keys[(group * length + t) * dim + d];
        values[t] = exp(layer->scale * dot);
        total += values[t];
    }
    for (uint64_t t = row->first; t <= row->position; t++)
        values[t] /= total;
}

struct recomputation {
    struct kvr_trace *trace;
    double tolerance;
    size_t rows;
};

static void assert_recomputed(const struct synth_row *row, void *context)
{
    struct recomputation *recomputation = context;
    double *queries = synth_read(recomputation->trace, row->layer->query);
    double *keys = synth_read(recomputation->trace, row->layer->key);
    double values[307];
    recompute(row, queries, keys, (size_t)row->layer->query->shape[2], values);
    for (size_t t = 0; t < 307; t++)
        ck_assert_double_eq_tol(values[t], row->values[t], recomputation->tolerance);
    recomputation->rows++;
    free(queries);
    free(keys);
}

START_TEST(rows_are_those_of_the_stored_queries_and_keys)
{
    struct kvr_synth_options options = synth_small_options();
    options.samples = 1;
    options.rows = 3;
    options.decode = 7;
    options.layers = 2;
    options.qkv = true;
    options.storage.type = synth_elements[_i].type;
    struct kvr_trace *trace = synth_trace(&options);
    ck_assert_uint_eq(trace->samples[0].head_dim, 32);
    ck_assert_ptr_nonnull(trace->samples[0].layers[0].value);
    /* Both sides start from the same stored vectors, so that only the row's own rounding is left:
       half a unit in the last place of values below 1. */
    static const double rounding[] = {0x1p-12, 0x1p-9, 0x1p-25, 1e-13};
    struct recomputation recomputation = {trace, rounding[synth_elements[_i].type.kind], 0};
    synth_each_row(trace, assert_recomputed, &recomputation);
    ck_assert_uint_eq(recomputation.rows, 2 * 8 * 10);
    kvr_trace_close(trace);
}
END_TEST

START_TEST(column_sums_of_computed_rows_are_exact)
{
    struct kvr_synth_options options = synth_small_options();
    double least;
    options.samples = 1;
    options.layers = 2;
    options.qkv = true;
    options.rows = 297;
    struct kvr_trace *trace = synth_trace(&options);
    ck_assert_double_le(compare_sums(trace, 1e-9, &least), 1e-12);
    double *all = synth_read(trace, trace->samples[0].layers[0].accumulated);
    kvr_trace_close(trace);
    options.rows = 5; /* and do not depend on what is recorded */
    trace = synth_trace(&options);
    double *few = synth_read(trace, trace->samples[0].layers[0].accumulated);
    kvr_trace_close(trace);
    ck_assert_mem_eq(all, few, 8 * 307 * sizeof *all);
    free(all);
    free(few);
}
END_TEST

Suite *kvr_suite_synth_sums(void)
{
    Suite *suite = suite_create("synth_sums");
    TCase *tcase = tcase_create("synth_sums");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_test(tcase, column_sums_are_exact_if_all_rows_are_recorded);
    tcase_add_test(tcase, column_sums_count_rows_that_are_not_recorded);
    tcase_add_test(tcase, expected_column_sums_are_near_the_true_ones);
    tcase_add_loop_test(tcase, rows_are_those_of_the_stored_queries_and_keys, 0,
                        SYNTH_ELEMENT_TYPES);
    tcase_add_test(tcase, column_sums_of_computed_rows_are_exact);
    suite_add_tcase(suite, tcase);
    return suite;
}
