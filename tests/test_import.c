/*
 * Importing: what names say, and that a trace that is exported and imported is the same, bit for
 * bit.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/export.h"
#include "formats/import.h"
#include "formats/npz_writer.h"
#include "formats/trace_writer.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include "tests/synth_fixture.h"

#define SEVENTY "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

START_TEST(test_names)
{
    const struct {
        const char *name;
        enum kvr_import_role role;
        const char *sample; /* NULL: none */
        int layer;          /* -1: none */
        const char *item;
    } cases[] = {
        {"attention", KVR_ROLE_ATTENTION, NULL, -1, ""},
        {"samples/p 1/layers/3/attention", KVR_ROLE_ATTENTION, "p 1", 3, ""},
        {"model.layers.12.self_attn.attn_weights", KVR_ROLE_ATTENTION, NULL, 12, ""},
        {"attn_probs_L7", KVR_ROLE_ATTENTION, NULL, 7, ""},
        {"L3.self_attn.q", KVR_ROLE_QUERY, NULL, 3, ""},
        {"past_key_values.5.key", KVR_ROLE_KEY, NULL, 5, ""},
        {"past_key_values.5.value", KVR_ROLE_VALUE, NULL, 5, ""},
        {"K_2", KVR_ROLE_KEY, NULL, 2, ""},
        {"accumulated_attention_4", KVR_ROLE_ACCUMULATED, NULL, 4, ""},
        {"h2o", KVR_ROLE_ACCUMULATED, NULL, -1, ""},
        {"input_ids", KVR_ROLE_TOKENS, NULL, -1, ""},
        {"query_positions", KVR_ROLE_POSITIONS, NULL, -1, ""},
        {"samples/2/needles", KVR_ROLE_NEEDLES, "2", -1, ""},
        {"attention_mask", KVR_ROLE_NONE, NULL, -1, ""},
        {"logits", KVR_ROLE_NONE, NULL, -1, ""},
        {"layers/9/scores/gate_2", KVR_ROLE_COLUMN, NULL, 9, "gate_2"},
        {"samples/0/prompt_length", KVR_ROLE_ATTRIBUTE, "0", -1, "prompt_length"},
        {"layers/4/kv_heads", KVR_ROLE_ATTRIBUTE, NULL, 4, "kv_heads"},
        {"", KVR_ROLE_NONE, NULL, -1, ""},
        {"layers/4294967296/attention", KVR_ROLE_ATTENTION, NULL, -1, ""},
        {"a_model_with_a_name/that_is_longer/than_most/prefixes_are/layers/12/scores/gate",
         KVR_ROLE_COLUMN, NULL, 12, "gate"},
        {"samples/" SEVENTY "1/layers/2/scores/" SEVENTY "2", KVR_ROLE_COLUMN, SEVENTY "1", 2,
         SEVENTY "2"},
        {"samples//attention", KVR_ROLE_ATTENTION, "", -1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kvr_import_name found = kvr_import_name_parse(cases[i].name);
        ck_assert_msg(found.role == cases[i].role, "%s: role %d", cases[i].name, found.role);
        ck_assert_msg(found.has_sample == (cases[i].sample != NULL), "%s", cases[i].name);
        ck_assert_str_eq(found.sample, cases[i].sample != NULL ? cases[i].sample : "");
        ck_assert_msg(found.has_layer == (cases[i].layer >= 0), "%s: layer", cases[i].name);
        if (cases[i].layer >= 0)
            ck_assert_uint_eq(found.layer, (unsigned)cases[i].layer);
        ck_assert_str_eq(found.item, cases[i].item);
    }
}
END_TEST

START_TEST(test_default_axes)
{
    ck_assert_str_eq(kvr_import_default_axes(KVR_ROLE_ATTENTION, 3, false), "HQT");
    ck_assert_str_eq(kvr_import_default_axes(KVR_ROLE_ATTENTION, 4, false), "LHQT");
    ck_assert_str_eq(kvr_import_default_axes(KVR_ROLE_ATTENTION, 4, true), "BHQT");
    ck_assert_str_eq(kvr_import_default_axes(KVR_ROLE_ATTENTION, 5, false), "LBHQT");
    ck_assert_ptr_null(kvr_import_default_axes(KVR_ROLE_ATTENTION, 5, true));
    ck_assert_str_eq(kvr_import_default_axes(KVR_ROLE_KEY, 4, false), "LHTD");
    ck_assert_str_eq(kvr_import_default_axes(KVR_ROLE_TOKENS, 2, false), "BT");
    ck_assert_ptr_null(kvr_import_default_axes(KVR_ROLE_TOKENS, 3, false));
    ck_assert_ptr_null(kvr_import_default_axes(KVR_ROLE_ATTENTION, 2, false));
}
END_TEST

static struct kvr_trace *open_trace(const char *name)
{
    struct kvr_trace *trace = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_trace_open(scratch_path(name), NULL, &trace, &err) == KVR_OK, "%s",
                  err.message);
    return trace;
}

static enum kvr_status import_file(const char *from, const char *to,
                                   const struct kvr_import_options *options, struct kvr_error *err)
{
    struct kvr_archive *archive = NULL;
    struct kvr_import_plan plan = {0};
    *err = KVR_ERROR_NONE;
    enum kvr_status status = kvr_archive_open(scratch_path(from), &archive, err);
    if (status == KVR_OK)
        status = kvr_import_plan_make(&archive, 1, options, &plan, err);
    if (status == KVR_OK)
        status = kvr_import_write(&plan, scratch_path(to), NULL, err);
    kvr_import_plan_free(&plan);
    kvr_archive_close(archive);
    return status;
}

/* Stored elements of the same dataset in two traces; bfloat16 comes back as float. */
static void assert_same_dataset(struct kvr_trace *first, const struct kvr_dataset *a,
                                struct kvr_trace *second, const struct kvr_dataset *b)
{
    ck_assert_int_eq(a == NULL, b == NULL);
    if (a == NULL)
        return;
    ck_assert_uint_eq(a->rank, b->rank);
    for (unsigned i = 0; i < KVR_DATASET_RANK; i++)
        ck_assert_uint_eq(a->shape[i], b->shape[i]);
    size_t size = (size_t)(a->shape[0] * a->shape[1] * a->shape[2]);
    double *left = synth_read(first, a), *right = synth_read(second, b);
    for (size_t i = 0; i < size; i++) /* an assertion an element would take most of the time */
        if (isnan(left[i]) ? !isnan(right[i]) : memcmp(&left[i], &right[i], sizeof *left) != 0)
            ck_abort_msg("%s: element %zu: %g, %g", a->path, i, left[i], right[i]);
    free(left);
    free(right);
    ck_assert_int_eq(b->type.kind, a->type.kind == KVR_BFLOAT16 ? KVR_FLOAT : a->type.kind);
}

static void assert_same_layer(struct kvr_trace *first, const struct kvr_layer *a,
                              struct kvr_trace *second, const struct kvr_layer *b)
{
    ck_assert_uint_eq(a->number, b->number);
    ck_assert_uint_eq(a->query_heads, b->query_heads);
    ck_assert_uint_eq(a->kv_heads, b->kv_heads);
    ck_assert_uint_eq(a->sliding_window, b->sliding_window);
    ck_assert_int_eq(a->sink_logits, b->sink_logits);
    ck_assert(isnan(a->scale) ? isnan(b->scale) : a->scale == b->scale);
    assert_same_dataset(first, a->attention, second, b->attention);
    assert_same_dataset(first, a->accumulated, second, b->accumulated);
    assert_same_dataset(first, a->query, second, b->query);
    assert_same_dataset(first, a->key, second, b->key);
    assert_same_dataset(first, a->value, second, b->value);
    ck_assert_uint_eq(a->column_count, b->column_count);
    for (size_t i = 0; i < a->column_count; i++) {
        ck_assert_str_eq(a->columns[i].name, b->columns[i].name);
        assert_same_dataset(first, &a->columns[i].data, second, &b->columns[i].data);
    }
}

static void assert_same_trace(struct kvr_trace *first, struct kvr_trace *second)
{
    ck_assert_uint_eq(first->sample_count, second->sample_count);
    for (size_t s = 0; s < first->sample_count; s++) {
        const struct kvr_sample *a = &first->samples[s], *b = &second->samples[s];
        ck_assert_str_eq(a->name, b->name);
        ck_assert_uint_eq(a->context_length, b->context_length);
        ck_assert_uint_eq(a->prompt_length, b->prompt_length);
        ck_assert_uint_eq(a->pad, b->pad);
        ck_assert_uint_eq(a->token_count, b->token_count);
        for (size_t i = 0; i < a->token_count; i++)
            ck_assert_int_eq(a->tokens[i], b->tokens[i]);
        ck_assert_uint_eq(a->query_count, b->query_count);
        for (size_t i = 0; i < a->query_count; i++)
            ck_assert_uint_eq(a->query_positions[i], b->query_positions[i]);
        ck_assert_uint_eq(a->needle_count, b->needle_count);
        for (size_t i = 0; i < a->needle_count; i++)
            ck_assert_uint_eq(a->needles[i].end, b->needles[i].end);
        ck_assert_uint_eq(a->layer_count, b->layer_count);
        for (size_t l = 0; l < a->layer_count; l++)
            assert_same_layer(first, &a->layers[l], second, &b->layers[l]);
    }
}

START_TEST(test_exported_trace_comes_back)
{
    static const struct kvr_import_options no_options;
    struct kvr_synth_options options = synth_small_options();
    options.storage.type = synth_elements[_i].type;
    options.mixed_heads = options.columns = true;
    options.nan_fraction = 0.2;
    options.qkv = _i % 2 == 1;
    struct kvr_trace *trace = synth_trace(&options);
    struct kvr_error err = KVR_ERROR_NONE;
    static const struct kvr_export_filter everything;
    size_t arrays = 0;
    ck_assert_msg(kvr_export_write(trace, &everything, scratch_path("a.npz"), &arrays, &err) ==
                      KVR_OK,
                  "%s", err.message);
    ck_assert_uint_gt(arrays, 20);
    ck_assert_msg(import_file("a.npz", "back.h5", &no_options, &err) == KVR_OK, "%s", err.message);
    struct kvr_trace *back = open_trace("back.h5");
    assert_same_trace(trace, back);
    kvr_trace_close(trace);
    kvr_trace_close(back);
}
END_TEST

/* -------------------------------------------------------------------------- layouts */

/* An .npz of one float array whose element at (i, j, …) is its own row-major number. */
static void write_counting(const char *name, unsigned rank, const uint64_t *shape)
{
    struct kvr_npz_writer *writer = NULL;
    size_t size = 1;
    for (unsigned i = 0; i < rank; i++)
        size *= (size_t)shape[i];
    ck_assert_int_eq(kvr_npz_writer_open(scratch_path("a.npz"), &writer, NULL), KVR_OK);
    ck_assert_int_eq(kvr_npz_writer_array(writer, name, "<f4", rank, shape, NULL), KVR_OK);
    for (size_t i = 0; i < size; i++) {
        float value = (float)i;
        ck_assert_int_eq(kvr_npz_writer_bytes(writer, &value, sizeof value, NULL), KVR_OK);
    }
    ck_assert_int_eq(kvr_npz_writer_commit(writer, NULL), KVR_OK);
}

START_TEST(test_axes_in_any_order)
{
    /* Axes T, B, L, 1, H, Q: the value at a place says where it came from. */
    const uint64_t shape[] = {5, 2, 3, 1, 4, 2};
    struct kvr_import_options options = {.kv_heads = 2};
    struct kvr_error err;
    options.axes[KVR_ROLE_ATTENTION] = "TBL1HQ";
    write_counting("attention", 6, shape);
    ck_assert_msg(import_file("a.npz", "t.h5", &options, &err) == KVR_OK, "%s", err.message);
    struct kvr_trace *trace = open_trace("t.h5");
    ck_assert_uint_eq(trace->sample_count, 2);
    for (uint64_t b = 0; b < 2; b++) {
        const struct kvr_sample *sample = &trace->samples[b];
        ck_assert_uint_eq(sample->layer_count, 3);
        ck_assert_uint_eq(sample->context_length, 5);
        ck_assert_uint_eq(sample->query_positions[0], 3);
        for (uint64_t l = 0; l < 3; l++) {
            double *values = synth_read(trace, sample->layers[l].attention);
            for (uint64_t h = 0, i = 0; h < 4; h++)
                for (uint64_t q = 0; q < 2; q++)
                    for (uint64_t t = 0; t < 5; t++, i++)
                        ck_assert_double_eq(values[i],
                                            (double)((((t * 2 + b) * 3 + l) * 4 + h) * 2 + q));
            free(values);
        }
    }
    kvr_trace_close(trace);
}
END_TEST

START_TEST(test_imports_that_are_refused)
{
    const struct {
        const char *name;
        unsigned rank;
        uint64_t shape[6];
        struct kvr_import_options options;
        const char *why;
    } cases[] = {
        {"attention", 3, {4, 2, 5}, {.kv_heads = 0}, "how many KV heads"},
        {"attention", 3, {4, 2, 5}, {.kv_heads = 3}, "a multiple of 3 KV heads, found 4"},
        {"attention", 2, {4, 5}, {.kv_heads = 2}, "found 2 axes"},
        {"attention", 3, {4, 6, 5}, {.kv_heads = 2}, "at most 5 rows"},
        {"attention", 3, {4, 0, 5}, {.kv_heads = 2}, "axis 1 of HQT is empty"},
        {"attention", 3, {4, 2, 5}, {.kv_heads = 2, .prompt_length = 6}, "found 0 and 6"},
        {"attention", 3, {4, 2, 5}, {.kv_heads = 2, .pad = 5}, "found 5 and 5"},
        {"attention",
         3,
         {4, 2, 5},
         {.kv_heads = 2, .has_first_row = true, .first_row = 4},
         "--first-row: expected at most 3"},
        {"attention",
         3,
         {4, 2, 5},
         {.kv_heads = 2, .axes = {[KVR_ROLE_ATTENTION] = "HQD"}},
         "the letters of HQT"},
        {"attention",
         3,
         {4, 2, 5},
         {.kv_heads = 2, .axes = {[KVR_ROLE_ATTENTION] = "HQQ"}},
         "each once"},
        {"attention",
         3,
         {4, 2, 5},
         {.kv_heads = 2, .axes = {[KVR_ROLE_ATTENTION] = "HQ1"}},
         "expected 1, found 5"},
        {"logits",
         3,
         {4, 2, 5},
         {.kv_heads = 2},
         "expected arrays that bear names of a trace, found"},
        {"tokens", 1, {5}, {.kv_heads = 2}, "expected whole numbers"},
        {"layers/4294967296/attention", 3, {4, 2, 5}, {.kv_heads = 2}, "at most 4294967295"},
        {"samples/./layers/0/attention", 3, {4, 2, 5}, {.kv_heads = 2}, "name of a sample"},
        {"samples//layers/0/attention", 3, {4, 2, 5}, {.kv_heads = 2}, "name of a sample"},
        {"layers/0/scores/a/b", 2, {4, 5}, {.kv_heads = 2}, "found \"a/b\""},
        {"layers/0/scores/", 2, {4, 5}, {.kv_heads = 2}, "name of a column"},
        {"layers/0/scores/" SEVENTY SEVENTY SEVENTY SEVENTY,
         2,
         {4, 5},
         {.kv_heads = 2},
         "at most 255 bytes"},
        {"attention", 3, {65537, 1, 5}, {.kv_heads = 1}, "at most 65536 query heads"},
        {"query", 3, {4, 2, 5}, {.kv_heads = 2}, "query and key, found none"},
        {"value", 3, {2, 5, 8}, {.kv_heads = 2}, "how many query heads"},
        {"layers/1/attention",
         4,
         {2, 4, 2, 5},
         {.kv_heads = 2, .axes = {[KVR_ROLE_ATTENTION] = "LHQT"}},
         "its name says layer 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kvr_error err;
        write_counting(cases[i].name, cases[i].rank, cases[i].shape);
        ck_assert(import_file("a.npz", "t.h5", &cases[i].options, &err) != KVR_OK);
        ck_assert_msg(strstr(err.message, cases[i].why) != NULL, "case %zu: \"%s\" lacks \"%s\"", i,
                      err.message, cases[i].why);
        ck_assert_uint_eq(scratch_entries(), 1);
    }
}
END_TEST

START_TEST(test_map_gives_names_and_layouts)
{
    const uint64_t shape[] = {2, 4, 2, 5};
    struct kvr_import_options options = {.kv_heads = 2, .map = scratch_path("map.json")};
    struct kvr_error err;
    const char map[] = "{\"w\": {\"as\": \"attention\", \"layout\": \"LHQT\"}}";
    write_counting("w", 4, shape);
    scratch_write("map.json", map, strlen(map));
    ck_assert_msg(import_file("a.npz", "t.h5", &options, &err) == KVR_OK, "%s", err.message);
    struct kvr_trace *trace = open_trace("t.h5");
    ck_assert_uint_eq(trace->samples[0].layer_count, 2);
    kvr_trace_close(trace);
    static const char *const refused[][2] = {
        {"[]", "an object"},
        {"{\"v\": \"attention\"}", "v: no array bears this name"},
        {"{\"w\": 5}", "w: expected a name"},
        {"{\"w\": {\"as\": \"attention\", \"axes\": \"LHQT\"}}", "w: expected a name"},
        {"{\"w\": {\"as\": 3}}", "w: expected a name"},
        {"{\"w\": {}}", "w: expected a name"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        scratch_write("map.json", refused[i][0], strlen(refused[i][0]));
        ck_assert(import_file("a.npz", "u.h5", &options, &err) != KVR_OK);
        ck_assert_ptr_nonnull(strstr(err.message, "map.json"));
        ck_assert_msg(strstr(err.message, refused[i][1]) != NULL, "%s", err.message);
    }
    scratch_write("map.json", "{\"w\": \"layers/7/attention\"}", 27);
    ck_assert(import_file("a.npz", "u.h5", &options, &err) == KVR_OK);
    trace = open_trace("u.h5");
    ck_assert_uint_eq(trace->sample_count, 2);
    ck_assert_uint_eq(trace->samples[1].layers[0].number, 7);
    kvr_trace_close(trace);
}
END_TEST

Suite *kvr_suite_import(void)
{
    Suite *suite = suite_create("import");
    TCase *names = tcase_create("names");
    tcase_add_test(names, test_names);
    tcase_add_test(names, test_default_axes);
    suite_add_tcase(suite, names);
    TCase *traces = tcase_create("traces");
    tcase_add_checked_fixture(traces, scratch_setup, scratch_teardown);
    tcase_add_loop_test(traces, test_exported_trace_comes_back, 0, SYNTH_ELEMENT_TYPES);
    tcase_add_test(traces, test_axes_in_any_order);
    tcase_add_test(traces, test_imports_that_are_refused);
    tcase_add_test(traces, test_map_gives_names_and_layouts);
    suite_add_tcase(suite, traces);
    return suite;
}
