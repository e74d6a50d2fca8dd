/*
 * Storing attention and comparing blocks of it. It knows the expected values, not how they are
 * read.
 */
#include "tests/attention_fixture.h"

#include <check.h>
#include <string.h>

void attention_elements(struct kvr_element_type type, uint64_t seed, unsigned char *stored,
                        double *values)
{
    struct kvr_random random = kvr_random_stream(seed, 0);
    for (size_t i = 0; i < ATTENTION_ELEMENTS; i++)
        values[i] = kvr_random_normal(&random) / (double)(1 + i % 97);
    kvr_element_encode(type, values, ATTENTION_ELEMENTS, stored);
    kvr_element_decode(type, stored, ATTENTION_ELEMENTS, values);
}

hid_t attention_properties(const char *filters, const hsize_t *chunk)
{
    if (filters == NULL)
        return H5Pcreate(H5P_DATASET_CREATE);
    hid_t properties = fixture_chunks(3, chunk);
    for (; *filters != '\0'; filters++) {
        herr_t added = *filters == 's'   ? H5Pset_shuffle(properties)
                       : *filters == 'd' ? H5Pset_deflate(properties, 6)
                       : *filters == 'f' ? H5Pset_fletcher32(properties)
                       : *filters == 'n' ? H5Pset_nbit(properties)
                                         : H5Pset_szip(properties, H5_SZIP_NN_OPTION_MASK, 4);
        ck_assert_int_ge(added, 0);
    }
    return properties;
}

struct trace_fixture attention_begin(const char *path, struct kvr_element_type type,
                                     hid_t properties, const void *data, hid_t *dataset)
{
    struct trace_fixture fixture = fixture_create(path);
    hid_t stored = fixture_type(type);
    *dataset = fixture_open_dataset(fixture.layer, "attention", stored, 3, fixture_shape,
                                    properties, data);
    if (type.as_uint16)
        fixture_text(*dataset, "encoding", "bfloat16");
    H5Tclose(stored);
    H5Pclose(properties);
    return fixture;
}

void attention_end(struct trace_fixture *fixture, hid_t dataset)
{
    H5Dclose(dataset);
    fixture_close(fixture);
}

void attention_write(const char *path, struct kvr_element_type type, hid_t properties,
                     const void *data)
{
    hid_t dataset;
    struct trace_fixture fixture = attention_begin(path, type, properties, data, &dataset);
    attention_end(&fixture, dataset);
}

const struct kvr_dataset *attention_of(const struct kvr_trace *trace)
{
    return trace->samples[0].layers[0].attention;
}

struct attention_block attention_random_block(struct kvr_random *random)
{
    struct attention_block block;
    for (size_t axis = 0; axis < 3; axis++) {
        block.start[axis] = kvr_random_below(random, fixture_shape[axis]);
        block.count[axis] = 1 + kvr_random_below(random, fixture_shape[axis] - block.start[axis]);
        if (kvr_random_below(random, 3) == 0) {
            block.start[axis] = 0;
            block.count[axis] = fixture_shape[axis];
        }
    }
    return block;
}

const struct attention_block attention_whole = {{0, 0, 0},
                                                {FIXTURE_HEADS, FIXTURE_ROWS, FIXTURE_TOKENS}};

const char *attention_wrong_block(struct kvr_trace *trace, const struct attention_block *block,
                                  const double *expected, struct kvr_error *err)
{
    double values[ATTENTION_ELEMENTS + 1];
    const uint64_t *start = block->start, *count = block->count;
    size_t wanted = (size_t)(count[0] * count[1] * count[2]), at = 0;
    values[wanted] = 0.125;
    if (kvr_trace_read(trace, attention_of(trace), start, count, values, err) != KVR_OK)
        return err->message;
    for (uint64_t i = 0; i < count[0]; i++) {
        for (uint64_t j = 0; j < count[1]; j++) {
            const double *row =
                expected + ((start[0] + i) * FIXTURE_ROWS + start[1] + j) * FIXTURE_TOKENS;
            if (memcmp(values + at, row + start[2], count[2] * sizeof *values) != 0)
                return "a row differs";
            at += (size_t)count[2];
        }
    }
    const double guard = 0.125;
    return values[wanted] >= guard && values[wanted] <= guard ? NULL : "written past the block";
}

void attention_check_block(struct kvr_trace *trace, const struct attention_block *block,
                           const double *expected)
{
    struct kvr_error err = KVR_ERROR_NONE;
    const char *wrong = attention_wrong_block(trace, block, expected, &err);
    ck_assert_msg(wrong == NULL, "%s", wrong);
}

void attention_check_blocks(const char *path, const double *expected, int blocks)
{
    struct kvr_trace *trace = fixture_trace(path);
    struct kvr_random random = kvr_random_stream(17, 0);
    attention_check_block(trace, &attention_whole, expected);
    for (int i = 0; i < blocks; i++) {
        struct attention_block block = attention_random_block(&random);
        attention_check_block(trace, &block, expected);
    }
    kvr_trace_close(trace);
}
