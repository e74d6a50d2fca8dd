/*
 * Opening traces: what is read of their structure.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/scratch.h"
#include "tests/suites.h"
#include "tests/trace_fixture.h"

static void integers(hid_t parent, const char *name, hid_t type, hsize_t length, const void *data)
{
    fixture_dataset(parent, name, type, 1, &length, H5P_DEFAULT, data);
}

static void floats(hid_t parent, const char *name, unsigned rank, hsize_t a, hsize_t b, hsize_t c)
{
    const hsize_t shape[3] = {a, b, c};
    fixture_dataset(parent, name, H5T_IEEE_F32LE, rank, shape, H5P_DEFAULT, NULL);
}

START_TEST(the_plain_trace)
{
    const char *path = scratch_path("plain.h5");
    fixture_plain_trace(path);
    struct kvr_trace *trace = fixture_trace(path);
    ck_assert_str_eq(trace->path, path);
    ck_assert_str_eq(trace->name, "plain.h5");
    ck_assert_uint_gt(trace->file_bytes, 2000);
    ck_assert_ptr_null(trace->model);
    ck_assert_ptr_null(trace->producer);
    ck_assert_uint_eq(trace->sample_count, 1);

    const struct kvr_sample *sample = &trace->samples[0];
    ck_assert_str_eq(sample->name, "0");
    ck_assert_uint_eq(sample->context_length, 60);
    ck_assert_uint_eq(sample->prompt_length, 60);
    ck_assert_uint_eq(sample->pad, 0);
    ck_assert_uint_eq(sample->query_heads, 4);
    ck_assert_uint_eq(sample->kv_heads, 2);
    ck_assert_uint_eq(sample->head_dim, 0);
    ck_assert_ptr_null(sample->task);
    ck_assert_ptr_null(sample->tokens);
    ck_assert_uint_eq(sample->query_count, 3);
    ck_assert_uint_eq(sample->query_positions[2], 59);
    ck_assert_uint_eq(kvr_sample_decode_start(sample), 3);
    ck_assert_uint_eq(sample->needle_count, 0);

    ck_assert_uint_eq(sample->layer_count, 1);
    const struct kvr_layer *layer = &sample->layers[0];
    ck_assert_uint_eq(layer->number, 0);
    ck_assert_uint_eq(layer->query_heads, 4);
    ck_assert_uint_eq(layer->kv_heads, 2);
    ck_assert_uint_eq(layer->sliding_window, 0);
    ck_assert(!layer->sink_logits && isnan(layer->scale) && isnan(layer->softcap));
    ck_assert_ptr_null(layer->accumulated);
    ck_assert_uint_eq(layer->column_count, 0);

    const struct kvr_dataset *attention = layer->attention;
    ck_assert_str_eq(attention->path, "/samples/0/layers/0/attention");
    ck_assert_uint_eq(attention->rank, 3);
    ck_assert_uint_eq(attention->shape[1], 3);
    ck_assert_uint_eq(attention->chunk[2], 60);
    ck_assert(!attention->chunked && !attention->deflate);
    ck_assert_uint_eq(attention->stored_bytes, 4 * 3 * 60 * 4);
    kvr_trace_close(trace);
}
END_TEST

START_TEST(everything_that_a_trace_may_hold)
{
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    hid_t sample = fixture.sample, layer = fixture.layer;
    fixture_integer(sample, "prompt_length", 58);
    fixture_integer(sample, "pad", 57);
    fixture_integer(sample, "head_dim", 16);
    fixture_text(sample, "task", "niah");
    fixture_text(sample, "subset", "deep");
    fixture_text(sample, "generated", "73915.");
    int64_t tokens[60] = {[0] = -1, [59] = 49151};
    integers(sample, "tokens", H5T_NATIVE_INT64, 60, tokens);
    const hsize_t two[2] = {2, 2};
    const short needles[4] = {10, 12, 59, 60};
    fixture_dataset(sample, "needles", H5T_NATIVE_SHORT, 2, two, H5P_DEFAULT, needles);

    fixture_integer(layer, "query_heads", 6);
    fixture_integer(layer, "kv_heads", 3);
    fixture_integer(layer, "sliding_window", 512);
    fixture_integer(layer, "sink_logits", 1);
    const float scale = 0.125F;
    fixture_attribute(layer, "scale", H5T_NATIVE_FLOAT, &scale);
    fixture_integer(layer, "softcap", 50);
    floats(layer, "attention", 3, 6, 3, 60);
    floats(layer, "accumulated", 2, 6, 60, 0);
    floats(layer, "query", 3, 6, 3, 16);
    floats(layer, "key", 3, 3, 60, 16);
    floats(layer, "value", 3, 3, 60, 8);
    hid_t scores = fixture_group(layer, "scores");
    floats(scores, "gate", 2, 3, 60, 0);
    floats(scores, "a", 2, 6, 60, 0);
    H5Gclose(scores);
    fixture_close(&fixture);

    struct kvr_trace *trace = fixture_trace(path);
    const struct kvr_sample *found = &trace->samples[0];
    const struct kvr_layer *found_layer = &found->layers[0];
    ck_assert_uint_eq(found->prompt_length, 58);
    ck_assert_uint_eq(found->pad, 57);
    ck_assert_uint_eq(found->head_dim, 16);
    ck_assert_str_eq(found->generated, "73915.");
    ck_assert_uint_eq(found->token_count, 60);
    ck_assert_int_eq(found->tokens[0], -1);
    ck_assert_int_eq(found->tokens[59], 49151);
    ck_assert_uint_eq(found->needle_count, 2);
    ck_assert_uint_eq(found->needles[1].start, 59);
    ck_assert_uint_eq(found->needles[1].end, 60);
    ck_assert_uint_eq(kvr_sample_decode_start(found), 1);
    ck_assert_uint_eq(found_layer->query_heads, 6);
    ck_assert_uint_eq(found_layer->kv_heads, 3);
    ck_assert_uint_eq(found_layer->sliding_window, 512);
    ck_assert(found_layer->sink_logits);
    ck_assert_double_eq(found_layer->scale, 0.125);
    ck_assert_double_eq(found_layer->softcap, 50);
    ck_assert_uint_eq(found_layer->value->shape[2], 8);
    ck_assert_uint_eq(found_layer->column_count, 2);
    ck_assert_str_eq(found_layer->columns[0].name, "a");
    ck_assert(!found_layer->columns[0].per_kv_head);
    ck_assert_str_eq(found_layer->columns[1].name, "gate");
    ck_assert(found_layer->columns[1].per_kv_head);
    ck_assert_str_eq(found_layer->columns[1].data.path, "/samples/0/layers/0/scores/gate");
    kvr_trace_close(trace);
}
END_TEST

START_TEST(samples_and_layers_come_in_order)
{
    static const char *const names[] = {"b", "10", "9", "a10", "010", "100000000000000000000000"};
    static const char *const order[] = {"0",   "9", "010", "10", "100000000000000000000000",
                                        "a10", "b"};
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    fixture_attention(&fixture);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_int_ge(
            H5Ocopy(fixture.samples, "0", fixture.samples, names[i], H5P_DEFAULT, H5P_DEFAULT), 0);
    static const char *const layers[] = {"10", "2", "4294967295"};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        ck_assert_int_ge(H5Lcreate_hard(fixture.layers, "0", fixture.layers, layers[i], H5P_DEFAULT,
                                        H5P_DEFAULT),
                         0);
    fixture_close(&fixture);
    struct kvr_trace *trace = fixture_trace(path);
    ck_assert_uint_eq(trace->sample_count, sizeof order / sizeof *order);
    for (size_t i = 0; i < trace->sample_count; i++)
        ck_assert_str_eq(trace->samples[i].name, order[i]);
    static const uint32_t numbers[] = {0, 2, 10, 4294967295u};
    ck_assert_uint_eq(trace->samples[0].layer_count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(trace->samples[0].layers[i].number, numbers[i]);
    kvr_trace_close(trace);
}
END_TEST

/* Bit 0: variable length; bit 1: UTF-8; bit 2: padded with blanks, else with zeros. */
START_TEST(names_in_every_string_encoding)
{
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    fixture_attention(&fixture);
    const bool variable = _i & 1, blanks = _i & 4;
    hid_t type = H5Tcopy(H5T_C_S1);
    const char *text = "Sm\xc3\xb6l \xff\x01";
    char padded[16];
    memset(padded, blanks ? ' ' : 0, sizeof padded);
    memcpy(padded, text, strlen(text));
    H5Tset_size(type, variable ? H5T_VARIABLE : sizeof padded);
    H5Tset_cset(type, _i & 2 ? H5T_CSET_UTF8 : H5T_CSET_ASCII);
    H5Tset_strpad(type, blanks ? H5T_STR_SPACEPAD : H5T_STR_NULLPAD);
    if (variable)
        fixture_attribute(fixture.file, "model", type, &text);
    else
        fixture_attribute(fixture.file, "model", type, padded);
    H5Tclose(type);
    fixture_close(&fixture);
    struct kvr_trace *trace = fixture_trace(path);
    ck_assert_str_eq(trace->model, text);
    kvr_trace_close(trace);
}
END_TEST

/* Several strings of variable length, one longer than a page of the heap, behind a user block. */
START_TEST(long_texts)
{
    enum { LONG = 20000 };
    const char *path = scratch_path("t.h5");
    static char text[LONG + 1];
    const char *texts[] = {"", "short", text};
    static const char *const names[] = {"task", "subset", "generated"};
    memset(text, 'x', LONG);
    hid_t creation = H5Pcreate(H5P_FILE_CREATE), type = H5Tcopy(H5T_C_S1);
    ck_assert_int_ge(H5Pset_userblock(creation, 1024), 0);
    H5Tset_size(type, H5T_VARIABLE);
    struct trace_fixture fixture = fixture_create_with(path, creation, H5P_DEFAULT);
    fixture_attention(&fixture);
    for (size_t i = 0; i < 3; i++)
        fixture_attribute(fixture.sample, names[i], type, &texts[i]);
    H5Tclose(type);
    H5Pclose(creation);
    fixture_close(&fixture);
    struct kvr_trace *trace = fixture_trace(path);
    ck_assert_str_eq(trace->samples[0].task, "");
    ck_assert_str_eq(trace->samples[0].subset, "short");
    ck_assert_str_eq(trace->samples[0].generated, text);
    kvr_trace_close(trace);
}
END_TEST

START_TEST(integers_of_every_width)
{
    const hid_t types[] = {H5T_STD_I8LE,  H5T_STD_U8BE,  H5T_STD_I16BE, H5T_STD_U16LE,
                           H5T_STD_I32BE, H5T_STD_U32LE, H5T_STD_I64BE, H5T_STD_U64BE};
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    fixture_attention(&fixture);
    unsigned char value[8] = {0};
    value[H5Tget_order(types[_i]) == H5T_ORDER_BE ? H5Tget_size(types[_i]) - 1 : 0] = 57;
    fixture_attribute(fixture.sample, "prompt_length", types[_i], value);
    fixture_close(&fixture);
    struct kvr_trace *trace = fixture_trace(path);
    ck_assert_uint_eq(trace->samples[0].prompt_length, 57);
    kvr_trace_close(trace);
}
END_TEST

/* One element in an array, and a truth value as h5py stores it: an enumeration. */
START_TEST(values_as_python_writes_them)
{
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    fixture_attention(&fixture);
    const hsize_t one = 1;
    const int pad = 7;
    hid_t space = H5Screate_simple(1, &one, NULL);
    hid_t attribute =
        H5Acreate2(fixture.sample, "pad", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert_int_ge(H5Awrite(attribute, H5T_NATIVE_INT, &pad), 0);
    H5Aclose(attribute);
    H5Sclose(space);
    hid_t truth = H5Tenum_create(H5T_NATIVE_INT8);
    const signed char no = 0, yes = 1;
    H5Tenum_insert(truth, "FALSE", &no);
    H5Tenum_insert(truth, "TRUE", &yes);
    fixture_attribute(fixture.layer, "sink_logits", truth, &yes);
    H5Tclose(truth);
    fixture_close(&fixture);
    struct kvr_trace *trace = fixture_trace(path);
    ck_assert_uint_eq(trace->samples[0].pad, 7);
    ck_assert(trace->samples[0].layers[0].sink_logits);
    kvr_trace_close(trace);
}
END_TEST

START_TEST(heads_that_every_layer_names_for_itself)
{
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    fixture_attention(&fixture);
    H5Adelete(fixture.sample, "query_heads");
    H5Adelete(fixture.sample, "kv_heads");
    fixture_integer(fixture.layer, "query_heads", 4);
    fixture_integer(fixture.layer, "kv_heads", 1);
    fixture_close(&fixture);
    struct kvr_trace *trace = fixture_trace(path);
    ck_assert_uint_eq(trace->samples[0].query_heads, 0);
    ck_assert_uint_eq(trace->samples[0].layers[0].query_heads, 4);
    ck_assert_uint_eq(trace->samples[0].layers[0].kv_heads, 1);
    kvr_trace_close(trace);
}
END_TEST

Suite *kvr_suite_trace_open(void)
{
    Suite *suite = suite_create("trace_open");
    TCase *tcase = tcase_create("trace_open");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_test(tcase, the_plain_trace);
    tcase_add_test(tcase, everything_that_a_trace_may_hold);
    tcase_add_test(tcase, samples_and_layers_come_in_order);
    tcase_add_loop_test(tcase, names_in_every_string_encoding, 0, 8);
    tcase_add_test(tcase, long_texts);
    tcase_add_loop_test(tcase, integers_of_every_width, 0, 8);
    tcase_add_test(tcase, values_as_python_writes_them);
    tcase_add_test(tcase, heads_that_every_layer_names_for_itself);
    suite_add_tcase(suite, tcase);
    return suite;
}
