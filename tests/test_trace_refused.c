/*
 * Structures of traces that are wrong: what is said of each, with its place.
 */
#include <check.h>
#include <math.h>

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

static void remove_member(hid_t parent, const char *name)
{
    ck_assert_int_ge(H5Ldelete(parent, name, H5P_DEFAULT), 0);
}

/* Each is the plain trace without attention, then spoiled. */

static void no_format(const struct trace_fixture *f)
{
    H5Adelete(f->file, "format");
}

static void other_format(const struct trace_fixture *f)
{
    fixture_text(f->file, "format", "kvreplay\ntrace");
}

static void other_version(const struct trace_fixture *f)
{
    fixture_integer(f->file, "version", 2);
}

static void version_as_text(const struct trace_fixture *f)
{
    fixture_text(f->file, "version", "1");
}

static void no_samples(const struct trace_fixture *f)
{
    remove_member(f->samples, "0");
}

static void no_context(const struct trace_fixture *f)
{
    H5Adelete(f->sample, "context_length");
}

static void negative_context(const struct trace_fixture *f)
{
    fixture_integer(f->sample, "context_length", -60);
}

static void huge_context(const struct trace_fixture *f)
{
    const uint64_t most = UINT64_MAX;
    fixture_attribute(f->sample, "context_length", H5T_NATIVE_UINT64, &most);
}

static void context_as_float(const struct trace_fixture *f)
{
    const double value = 60;
    fixture_attribute(f->sample, "context_length", H5T_NATIVE_DOUBLE, &value);
}

static void long_prompt(const struct trace_fixture *f)
{
    fixture_integer(f->sample, "prompt_length", 61);
}

static void padded_away(const struct trace_fixture *f)
{
    fixture_integer(f->sample, "prompt_length", 50);
    fixture_integer(f->sample, "pad", 50);
}

static void two_models(const struct trace_fixture *f)
{
    const hsize_t two = 2;
    const int values[2] = {1, 2};
    hid_t space = H5Screate_simple(1, &two, NULL);
    hid_t attribute = H5Acreate2(f->sample, "pad", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_INT, values);
    H5Aclose(attribute);
    H5Sclose(space);
}

static void uneven_heads(const struct trace_fixture *f)
{
    fixture_integer(f->sample, "kv_heads", 3);
}

static void no_heads(const struct trace_fixture *f)
{
    H5Adelete(f->sample, "kv_heads");
}

static void few_tokens(const struct trace_fixture *f)
{
    const int tokens[59] = {0};
    integers(f->sample, "tokens", H5T_NATIVE_INT, 59, tokens);
}

static void wide_token(const struct trace_fixture *f)
{
    const uint64_t tokens[60] = {[7] = UINT64_MAX};
    integers(f->sample, "tokens", H5T_NATIVE_UINT64, 60, tokens);
}

static void float_tokens(const struct trace_fixture *f)
{
    const float tokens[60] = {0};
    integers(f->sample, "tokens", H5T_NATIVE_FLOAT, 60, tokens);
}

static void positions(const struct trace_fixture *f, int a, int b, int c)
{
    const int values[3] = {a, b, c};
    remove_member(f->sample, "query_positions");
    integers(f->sample, "query_positions", H5T_NATIVE_INT, 3, values);
}

static void late_position(const struct trace_fixture *f)
{
    positions(f, 58, 59, 60);
}

static void negative_position(const struct trace_fixture *f)
{
    positions(f, -1, 58, 59);
}

static void falling_positions(const struct trace_fixture *f)
{
    positions(f, 57, 57, 59);
}

static void no_positions(const struct trace_fixture *f)
{
    remove_member(f->sample, "query_positions");
    floats(f->layer, "attention", 3, 4, 3, 60);
}

static void needle(const struct trace_fixture *f, int start, int end)
{
    const hsize_t shape[2] = {2, 2};
    const int values[4] = {1, 2, start, end};
    fixture_dataset(f->sample, "needles", H5T_NATIVE_INT, 2, shape, H5P_DEFAULT, values);
}

static void late_needle(const struct trace_fixture *f)
{
    needle(f, 59, 61);
}

static void negative_needle(const struct trace_fixture *f)
{
    needle(f, -1, 3);
}

static void empty_needle(const struct trace_fixture *f)
{
    needle(f, 5, 5);
}

static void flat_needles(const struct trace_fixture *f)
{
    const int values[4] = {1, 2, 3, 4};
    integers(f->sample, "needles", H5T_NATIVE_INT, 4, values);
}

static void no_layers(const struct trace_fixture *f)
{
    remove_member(f->layers, "0");
}

static void named_layer(const struct trace_fixture *f)
{
    H5Gclose(fixture_group(f->layers, "first"));
}

static void second_name(const struct trace_fixture *f)
{
    H5Gclose(fixture_group(f->layers, "00"));
}

static void empty_layer(const struct trace_fixture *f)
{
    floats(f->layer, "query", 3, 4, 3, 16);
}

static void empty_attention(const struct trace_fixture *f)
{
    floats(f->layer, "attention", 3, 0, 0, 0);
}

static void null_attention(const struct trace_fixture *f)
{
    hid_t space = H5Screate(H5S_NULL);
    H5Dclose(H5Dcreate2(f->layer, "attention", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT,
                        H5P_DEFAULT));
    H5Sclose(space);
}

static void padded_columns(const struct trace_fixture *f)
{
    floats(f->layer, "attention", 3, 4, 3, 128);
}

static void window_columns(const struct trace_fixture *f)
{
    fixture_integer(f->layer, "sliding_window", 32);
    floats(f->layer, "attention", 3, 4, 3, 32);
}

static void kv_head_rows(const struct trace_fixture *f)
{
    floats(f->layer, "attention", 3, 2, 3, 60);
}

static void few_rows(const struct trace_fixture *f)
{
    floats(f->layer, "attention", 3, 4, 2, 60);
}

static void batch_axis(const struct trace_fixture *f)
{
    const hsize_t shape[4] = {1, 4, 3, 60};
    fixture_dataset(f->layer, "attention", H5T_IEEE_F32LE, 4, shape, H5P_DEFAULT, NULL);
}

static void flat_attention(const struct trace_fixture *f)
{
    floats(f->layer, "attention", 2, 12, 60, 0);
}

static void attention_group(const struct trace_fixture *f)
{
    H5Gclose(fixture_group(f->layer, "attention"));
}

static void other_key_size(const struct trace_fixture *f)
{
    floats(f->layer, "query", 3, 4, 3, 16);
    floats(f->layer, "key", 3, 2, 60, 8);
}

static void query_heads_of_key(const struct trace_fixture *f)
{
    floats(f->layer, "key", 3, 4, 60, 16);
}

static void other_column(const struct trace_fixture *f)
{
    hid_t scores = fixture_group(f->layer, "scores");
    floats(scores, "gate", 2, 3, 60, 0);
    H5Gclose(scores);
}

static void negative_window(const struct trace_fixture *f)
{
    fixture_integer(f->layer, "sliding_window", -1);
}

static void two_sinks(const struct trace_fixture *f)
{
    fixture_integer(f->layer, "sink_logits", 2);
}

static void infinite_scale(const struct trace_fixture *f)
{
    const double scale = INFINITY;
    fixture_attribute(f->layer, "scale", H5T_NATIVE_DOUBLE, &scale);
}

static void negative_softcap(const struct trace_fixture *f)
{
    fixture_integer(f->layer, "softcap", -50);
}

static const struct {
    void (*spoil)(const struct trace_fixture *fixture);
    enum kvr_status status;
    const char *message, *hint;
} wrongs[] = {
    {no_format, KVR_BAD_INPUT,
     ": /: expected the attribute format = \"kvreplay-trace\", found none", "not a trace"},
    {other_format, KVR_BAD_INPUT,
     "attribute format: expected \"kvreplay-trace\", found \"kvreplay?", "not a trace"},
    {other_version, KVR_UNSUPPORTED, ": /: attribute version: expected 1, found 2",
     "another version"},
    {version_as_text, KVR_BAD_INPUT, "attribute version: expected an integer, found a string", ""},
    {no_samples, KVR_BAD_INPUT, "/samples: expected at least one sample", ""},
    {no_context, KVR_BAD_INPUT, "/samples/0: expected the attribute context_length, found none",
     ""},
    {negative_context, KVR_BAD_INPUT,
     "/samples/0: attribute context_length: expected an integer from 1 to 2147483647, found -60",
     ""},
    {huge_context, KVR_BAD_INPUT, "found 18446744073709551615", ""},
    {context_as_float, KVR_BAD_INPUT, "attribute context_length: expected an integer, found double",
     ""},
    {long_prompt, KVR_BAD_INPUT,
     "attribute prompt_length: expected an integer from 1 to 60, found 61", ""},
    {padded_away, KVR_BAD_INPUT, "attribute pad: expected an integer from 0 to 49, found 50", ""},
    {two_models, KVR_BAD_INPUT, "attribute pad: expected a single value, found [2]", ""},
    {uneven_heads, KVR_BAD_INPUT,
     "/samples/0/layers/0: expected query_heads to be a multiple of kv_heads, found 4 and 3", ""},
    {no_heads, KVR_BAD_INPUT,
     "/samples/0/layers/0: expected the attribute kv_heads here or in the sample, found none", ""},
    {few_tokens, KVR_BAD_INPUT, "/samples/0/tokens: expected shape [60], found [59]", ""},
    {wide_token, KVR_BAD_INPUT, "/samples/0/tokens: expected 32-bit integers, found", ""},
    {float_tokens, KVR_BAD_INPUT, "/samples/0/tokens: expected int32 elements, found float", ""},
    {late_position, KVR_BAD_INPUT,
     "/samples/0/query_positions: expected positions from 0 to 59, found 60 at [2]", ""},
    {negative_position, KVR_BAD_INPUT, "found -1 at [0]", ""},
    {falling_positions, KVR_BAD_INPUT,
     "query_positions: expected ascending positions, found 57 after 57 at [1]", ""},
    {no_positions, KVR_BAD_INPUT,
     "/samples/0/layers/0/attention: needs the dataset query_positions of the sample, found none",
     ""},
    {late_needle, KVR_BAD_INPUT,
     "/samples/0/needles: expected a span start < end within 0 to 60, found [59, 61) in row 1", ""},
    {negative_needle, KVR_BAD_INPUT, "found [-1, 3) in row 1", ""},
    {empty_needle, KVR_BAD_INPUT, "found [5, 5) in row 1", ""},
    {flat_needles, KVR_BAD_INPUT, "/samples/0/needles: expected shape [0 to 1048576][2], found [4]",
     ""},
    {no_layers, KVR_BAD_INPUT, "/samples/0/layers: expected at least one layer, found none", ""},
    {named_layer, KVR_BAD_INPUT,
     "/samples/0/layers: expected decimal layer numbers as names, found \"first\"", ""},
    {second_name, KVR_BAD_INPUT, "found \"00\"", ""},
    {empty_layer, KVR_BAD_INPUT,
     "/samples/0/layers/0: expected attention, accumulated, scores, or query and key, found none",
     "eager attention"},
    {empty_attention, KVR_BAD_INPUT,
     "/samples/0/layers/0/attention: expected shape [4][3][60], found an empty dataset [0][0][0]",
     "eager attention"},
    {null_attention, KVR_BAD_INPUT, "expected shape [4][3][60], found an empty dataset",
     "eager attention"},
    {padded_columns, KVR_BAD_INPUT,
     "/samples/0/layers/0/attention: expected shape [4][3][60], found [4][3][128]",
     "padded columns"},
    {window_columns, KVR_BAD_INPUT, "expected shape [4][3][60], found [4][3][32]",
     "sliding_window"},
    {kv_head_rows, KVR_BAD_INPUT, "expected shape [4][3][60], found [2][3][60]", "kv_heads"},
    {few_rows, KVR_BAD_INPUT, "expected shape [4][3][60], found [4][2][60]", ""},
    {batch_axis, KVR_BAD_INPUT, "expected shape [4][3][60], found [1][4][3][60]", "batch"},
    {flat_attention, KVR_BAD_INPUT, "expected shape [4][3][60], found [12][60]", ""},
    {attention_group, KVR_BAD_INPUT,
     "/samples/0/layers/0/attention: expected a dataset, found a group", ""},
    {other_key_size, KVR_BAD_INPUT,
     "/samples/0/layers/0/key: expected shape [2][60][16], found [2][60][8]", ""},
    {query_heads_of_key, KVR_BAD_INPUT, "expected shape [2][60][head size], found [4][60][16]",
     "kv_heads"},
    {other_column, KVR_BAD_INPUT,
     "/samples/0/layers/0/scores/gate: expected shape [4 or 2][60], found [3][60]", "kv_heads"},
    {negative_window, KVR_BAD_INPUT, "attribute sliding_window: expected an integer from 0", ""},
    {two_sinks, KVR_BAD_INPUT, "attribute sink_logits: expected an integer from 0 to 1, found 2",
     ""},
    {infinite_scale, KVR_BAD_INPUT, "attribute scale: expected a finite number, found inf", ""},
    {negative_softcap, KVR_BAD_INPUT, "attribute softcap: expected a number above 0, found -50",
     ""},
};

START_TEST(wrong_structures_are_refused_by_place)
{
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    wrongs[_i].spoil(&fixture);
    fixture_close(&fixture);
    fixture_refused(path, wrongs[_i].status, wrongs[_i].message, wrongs[_i].hint);
}
END_TEST

Suite *kvr_suite_trace_refused(void)
{
    Suite *suite = suite_create("trace_refused");
    TCase *tcase = tcase_create("trace_refused");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_loop_test(tcase, wrong_structures_are_refused_by_place, 0,
                        sizeof wrongs / sizeof *wrongs);
    suite_add_tcase(suite, tcase);
    return suite;
}
