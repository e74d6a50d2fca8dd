/*
 * Synthetic rows: what was planted is there, and rows are rows.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/scratch.h"
#include "tests/suites.h"
#include "tests/synth_fixture.h"

/* Rows. */

START_TEST(rows_are_causal_and_sum_to_one)
{
    struct kvr_synth_options options = synth_small_options();
    options.storage.type = synth_elements[_i].type;
    double tolerance = synth_elements[_i].tolerance;
    struct kvr_trace *trace = synth_trace(&options);
    ck_assert_uint_eq(trace->samples[0].query_count, 27);
    ck_assert_uint_eq(trace->samples[0].query_positions[0], 280);
    ck_assert_int_eq((int)trace->samples[0].layers[1].attention->type.kind,
                     (int)synth_elements[_i].type.kind);
    synth_each_row(trace, synth_assert_row, &tolerance);
    kvr_trace_close(trace);
}
END_TEST

/* Most weights of such rows are below half's smallest number. */
START_TEST(long_rows_of_half_keep_their_sum)
{
    struct kvr_synth_options options = kvr_synth_defaults();
    options.tokens = 200000;
    options.rows = 1;
    options.decode = 1;
    options.layers = 1;
    options.accumulated = false;
    double tolerance = 6e-4; /* largest value's rounding, and 2^-24 * sqrt(T) * some */
    struct kvr_trace *trace = synth_trace(&options);
    synth_each_row(trace, synth_assert_row, &tolerance);
    kvr_trace_close(trace);
}
END_TEST

static void assert_short_row(const struct synth_row *row, void *context)
{
    double sum = synth_mass(row, 0, row->sample->context_length);
    ck_assert(row->layer->sink_logits);
    ck_assert_double_ge(sum, 0.39);
    ck_assert_double_le(sum, 0.96);
    ++*(size_t *)context;
}

START_TEST(sink_logits_take_mass_out_of_rows)
{
    struct kvr_synth_options options = synth_small_options();
    size_t rows = 0;
    options.sink_logits = true;
    struct kvr_trace *trace = synth_trace(&options);
    synth_each_row(trace, assert_short_row, &rows);
    ck_assert_uint_eq(rows, 2 * 4 * 8 * 27);
    kvr_trace_close(trace);
}
END_TEST

/* Heads. */

struct census {
    const struct kvr_synth_options *options;
    size_t rows[4];
};

static void assert_kind(const struct synth_row *row, void *context)
{
    struct census *census = context;
    enum kvr_head_kind kind = kvr_synth_head_kind(census->options, row->layer->number, row->head);
    const struct kvr_sample *sample = row->sample;
    double sinks = synth_mass(row, sample->pad, sample->pad + KVR_SYNTH_SINKS), needles = 0;
    for (size_t i = 0; i < sample->needle_count; i++)
        needles += synth_mass(row, sample->needles[i].start, sample->needles[i].end);
    double recent = synth_mass(row, row->position - 30, row->position + 1);
    bool all_visible = row->layer->sliding_window == 0;
    bool asks = row->position + 4 >= sample->prompt_length;
    census->rows[kind]++;
    if (all_visible)
        ck_assert_msg((sinks >= 0.5) == (kind == KVR_KIND_SINK), "sink mass %g", sinks);
    if (all_visible && asks)
        ck_assert_msg((needles >= 0.45) == (kind == KVR_KIND_RETRIEVAL), "needle mass %g", needles);
    if (kind == KVR_KIND_LOCAL)
        ck_assert_double_ge(recent, 0.35);
    if (kind == KVR_KIND_DIFFUSE && all_visible)
        ck_assert_double_le(recent, 0.5);
    if (!all_visible)
        ck_assert_double_eq(sinks, 0);
}

START_TEST(heads_are_of_their_kind)
{
    struct kvr_synth_options options = synth_small_options();
    struct census census = {.options = &options};
    struct kvr_trace *trace = synth_trace(&options);
    synth_each_row(trace, assert_kind, &census);
    for (int kind = 0; kind < 4; kind++)
        ck_assert_msg(census.rows[kind] > 0, "no %s head",
                      kvr_head_kind_name((enum kvr_head_kind)kind));
    kvr_trace_close(trace);
}
END_TEST

/* Decode row j looks at needle token j before all others. */
static void assert_copies(const struct synth_row *row, void *context)
{
    const struct kvr_synth_options *options = context;
    const struct kvr_sample *sample = row->sample;
    if (kvr_synth_head_kind(options, row->layer->number, row->head) != KVR_KIND_RETRIEVAL ||
        row->position < sample->prompt_length || row->layer->sliding_window > 0)
        return;
    uint64_t j = row->position - sample->prompt_length, best = 0;
    for (uint64_t t = 1; t < sample->context_length; t++)
        best = row->values[t] > row->values[best] ? t : best;
    ck_assert_uint_eq(best, sample->needles[j / 6 % 2].start + j % 6);
    ck_assert_int_eq(sample->tokens[row->position], sample->tokens[best]);
}

START_TEST(decode_rows_copy_the_needles)
{
    struct kvr_synth_options options = synth_small_options();
    struct kvr_trace *trace = synth_trace(&options);
    synth_each_row(trace, assert_copies, &options);
    kvr_trace_close(trace);
}
END_TEST

START_TEST(needles_spread_over_depths)
{
    struct kvr_synth_options options = synth_small_options();
    options.samples = 3;
    options.needles = 1;
    options.layers = 1;
    struct kvr_trace *trace = synth_trace(&options);
    const struct kvr_span *first = trace->samples[0].needles, *last = trace->samples[2].needles;
    ck_assert_uint_eq(first->start, 3 + 4); /* after padding and sinks */
    ck_assert_uint_eq(last->end, 300 - 16); /* before the question */
    ck_assert_uint_eq(first->end - first->start, 6);
    uint64_t middle = trace->samples[1].needles->start;
    ck_assert_uint_le(first->start + last->start, 2 * middle + 1);
    ck_assert_uint_ge(first->start + last->start + 1, 2 * middle);
    ck_assert_str_eq(trace->samples[1].subset, "depth-50");
    kvr_trace_close(trace);
}
END_TEST

/* Layers. */

START_TEST(layers_differ_where_asked)
{
    struct kvr_synth_options options = synth_small_options();
    options.mixed_heads = true;
    options.window_every = 3;
    options.columns = true;
    struct kvr_trace *trace = synth_trace(&options);
    static const struct {
        uint32_t query_heads, kv_heads;
        uint64_t window;
    } expected[] = {{8, 2, 64}, {8, 1, 0}, {2, 2, 0}, {8, 2, 64}};
    const struct kvr_sample *sample = &trace->samples[1];
    ck_assert_uint_eq(sample->layer_count, 4);
    for (size_t l = 0; l < 4; l++) {
        const struct kvr_layer *layer = &sample->layers[l];
        ck_assert_uint_eq(layer->query_heads, expected[l].query_heads);
        ck_assert_uint_eq(layer->kv_heads, expected[l].kv_heads);
        ck_assert_uint_eq(layer->sliding_window, expected[l].window);
        ck_assert_uint_eq(layer->column_count, 2);
        ck_assert_str_eq(layer->columns[0].name, "gate");
        ck_assert_uint_eq(layer->columns[0].data.shape[0], expected[l].kv_heads);
        ck_assert_uint_eq(layer->columns[1].data.shape[0], expected[l].query_heads);
        double *gate = synth_read(trace, &layer->columns[1].data);
        for (size_t i = 0; i < expected[l].query_heads * sample->context_length; i++)
            ck_assert(gate[i] > 0 && gate[i] < 1);
        free(gate);
    }
    kvr_trace_close(trace);
}
END_TEST

/* Damage and ties. */

static void count_nan(const struct synth_row *row, void *context)
{
    size_t *counts = context, found = 0;
    for (uint64_t t = 0; t < row->sample->context_length; t++)
        found += isnan(row->values[t]) != 0;
    ck_assert(found == 0 || found == row->sample->context_length);
    counts[found > 0]++;
}

START_TEST(some_heads_get_rows_that_are_not_finite)
{
    struct kvr_synth_options options = synth_small_options();
    size_t none[2] = {0, 0}, some[2] = {0, 0};
    struct kvr_trace *trace = synth_trace(&options);
    synth_each_row(trace, count_nan, none);
    kvr_trace_close(trace);
    ck_assert_uint_eq(none[1], 0);
    options.nan_fraction = 0.25;
    trace = synth_trace(&options);
    synth_each_row(trace, count_nan, some);
    kvr_trace_close(trace);
    ck_assert_uint_ge(some[1], 3);
    ck_assert_uint_le(some[1], some[0]);
}
END_TEST

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void count_ties(const struct synth_row *row, void *context)
{
    size_t *counts = context;
    double sorted[307];
    size_t seen = (size_t)(row->position - row->first + 1);
    memcpy(sorted, row->values + row->first, seen * sizeof *sorted);
    qsort(sorted, seen, sizeof *sorted, compare_doubles);
    for (size_t i = 1; i < seen; i++)
        counts[0] += !(sorted[i] > sorted[i - 1]);
    counts[1] += seen;
}

START_TEST(ties_are_many_where_asked)
{
    struct kvr_synth_options options = synth_small_options();
    size_t few[2] = {0, 0}, many[2] = {0, 0};
    struct kvr_trace *trace = synth_trace(&options);
    synth_each_row(trace, count_ties, few);
    kvr_trace_close(trace);
    options.ties = true;
    trace = synth_trace(&options);
    synth_each_row(trace, count_ties, many);
    double tolerance = 1e-14;
    synth_each_row(trace, synth_assert_row, &tolerance);
    kvr_trace_close(trace);
    ck_assert_uint_lt(few[0], few[1] / 100);
    ck_assert_uint_gt(many[0], many[1] / 4);
}
END_TEST

/* The regime of theorem 4: an owner of the needle, and siblings that look at everything alike. */

struct premise_counts {
    size_t owners, siblings;
};

/* Between the sinks and the row's end a sibling's values are all the same. */
static bool is_uniform(const struct synth_row *row)
{
    uint64_t start = row->first > row->sample->pad + 4 ? row->first : row->sample->pad + 4;
    for (uint64_t t = start; t <= row->position; t++)
        if (fabs(row->values[t] / row->values[start] - 1) > 1e-12)
            return false;
    return true;
}

static void look_at_premise(const struct synth_row *row, void *context)
{
    struct premise_counts *counts = context;
    const struct kvr_span *needle = &row->sample->needles[0];
    uint64_t peak = (needle->start + needle->end) / 2;
    if (row->position >= row->sample->prompt_length || peak < row->first || peak > row->position)
        return;
    if (fabs(row->values[peak] - 0.95) < 0.01)
        counts->owners++;
    else {
        ck_assert(is_uniform(row));
        counts->siblings++;
    }
}

START_TEST(premise_gives_each_group_an_owner)
{
    struct kvr_synth_options options = synth_small_options();
    options.premise = true;
    options.needles = 1;
    options.needle_length = 5;
    options.query_heads = 12;
    options.kv_heads = 3;
    struct premise_counts counts = {0, 0};
    double tolerance = 1e-13; /* equal terms round in the same direction */
    struct kvr_trace *trace = synth_trace(&options);
    synth_each_row(trace, synth_assert_row, &tolerance);
    synth_each_row(trace, look_at_premise, &counts);
    kvr_trace_close(trace);
    ck_assert_uint_gt(counts.owners, 100);
    ck_assert_uint_eq(counts.siblings, 3 * counts.owners); /* r = 4 */
    for (uint32_t layer = 0; layer < options.layers; layer++)
        for (uint32_t group = 0; group < 3; group++) {
            unsigned owners = 0;
            for (uint32_t h = 0; h < 4; h++)
                owners += kvr_synth_head_kind(&options, layer, group * 4 + h) == KVR_KIND_RETRIEVAL;
            ck_assert_uint_eq(owners, 1);
        }
}
END_TEST

START_TEST(premise_needs_one_needle_and_profiles)
{
    struct kvr_synth_options options = synth_small_options();
    struct kvr_error err = KVR_ERROR_NONE;
    options.premise = true;
    ck_assert_int_eq(kvr_synth_write(scratch_path("s.h5"), &options, NULL, &err), KVR_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.message, "expected one needle"));
    options.needles = 1;
    options.ties = true;
    ck_assert_int_eq(kvr_synth_write(scratch_path("s.h5"), &options, NULL, &err), KVR_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.message, "found ties"));
    ck_assert_uint_eq(scratch_entries(), 0);
}
END_TEST

Suite *kvr_suite_synth(void)
{
    Suite *suite = suite_create("synth");
    TCase *tcase = tcase_create("synth");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_loop_test(tcase, rows_are_causal_and_sum_to_one, 0, SYNTH_ELEMENT_TYPES);
    tcase_add_test(tcase, long_rows_of_half_keep_their_sum);
    tcase_add_test(tcase, sink_logits_take_mass_out_of_rows);
    tcase_add_test(tcase, heads_are_of_their_kind);
    tcase_add_test(tcase, decode_rows_copy_the_needles);
    tcase_add_test(tcase, needles_spread_over_depths);
    tcase_add_test(tcase, layers_differ_where_asked);
    tcase_add_test(tcase, some_heads_get_rows_that_are_not_finite);
    tcase_add_test(tcase, ties_are_many_where_asked);
    tcase_add_test(tcase, premise_gives_each_group_an_owner);
    tcase_add_test(tcase, premise_needs_one_needle_and_profiles);
    suite_add_tcase(suite, tcase);
    return suite;
}
