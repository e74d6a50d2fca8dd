/*
 * Files of arrays: every format and its faults, from bytes that stand here.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/archive.h"
#include "formats/inflate.h"
#include "formats/npz_writer.h"
#include "tests/scratch.h"
#include "tests/suites.h"

/* Bytes that are put together piece by piece. */
struct bytes {
    unsigned char data[4096];
    size_t length;
};

static void add(struct bytes *bytes, const void *piece, size_t length)
{
    ck_assert_uint_le(bytes->length + length, sizeof bytes->data);
    memcpy(bytes->data + bytes->length, piece, length);
    bytes->length += length;
}

static void add_number(struct bytes *bytes, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) {
        unsigned char byte = (unsigned char)(value >> (8 * i));
        add(bytes, &byte, 1);
    }
}

static void add_text(struct bytes *bytes, const char *text)
{
    add(bytes, text, strlen(text));
}

static struct bytes npy(unsigned version, const char *dict, const void *data, size_t length)
{
    struct bytes bytes = {0};
    add(&bytes, "\x93NUMPY", 6);
    add_number(&bytes, version, 1);
    add_number(&bytes, 0, 1);
    add_number(&bytes, strlen(dict), version == 1 ? 2 : 4);
    add_text(&bytes, dict);
    add(&bytes, data, length);
    return bytes;
}

static struct kvr_archive *open_bytes(const char *name, const struct bytes *bytes)
{
    struct kvr_archive *archive = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    scratch_write(name, bytes->data, bytes->length);
    ck_assert_msg(kvr_archive_open(scratch_path(name), &archive, &err) == KVR_OK, "%s",
                  err.message);
    return archive;
}

static void assert_refused(const char *name, const struct bytes *bytes, const char *why)
{
    struct kvr_archive *archive = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    scratch_write(name, bytes->data, bytes->length);
    ck_assert(kvr_archive_open(scratch_path(name), &archive, &err) != KVR_OK);
    ck_assert_msg(strstr(err.message, why) != NULL, "\"%s\" lacks \"%s\"", err.message, why);
    ck_assert_ptr_nonnull(strstr(err.message, name));
}

/* All values of an array of rank 2, in row-major order. */
static void assert_values(const struct kvr_array *array, const double *expected)
{
    const struct kvr_array_view view = {array, 0, {0, 1, KVR_ARRAY_RANK}};
    const uint64_t start[] = {0, 0, 0}, count[] = {array->shape[0], array->shape[1], 1};
    double values[16];
    ck_assert_uint_le(count[0] * count[1], 16);
    kvr_array_read(&view, start, count, values);
    for (uint64_t i = 0; i < count[0] * count[1]; i++)
        ck_assert_double_eq(values[i], expected[i]);
}

static const float six[] = {1, 2, 3, 4, 5, 6};

START_TEST(test_npy_of_every_order)
{
    static const double rows[] = {1, 2, 3, 4, 5, 6}, columns[] = {1, 3, 5, 2, 4, 6};
    unsigned char swapped[sizeof six];
    for (size_t i = 0; i < sizeof six; i++)
        swapped[i] = ((const unsigned char *)six)[i / 4 * 4 + 3 - i % 4];
    const struct {
        const char *dict;
        const void *data;
        const double *expected;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n", six, rows},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", six, columns},
        {"{\"shape\":(2,3,),'fortran_order':False,'descr':'>f4'}\n", swapped, rows},
    };
    for (unsigned version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct bytes bytes = npy(version, cases[i].dict, cases[i].data, sizeof six);
            struct kvr_archive *archive = open_bytes("rows.npy", &bytes);
            ck_assert_uint_eq(archive->count, 1);
            ck_assert_str_eq(archive->arrays[0].name, "rows");
            assert_values(&archive->arrays[0], cases[i].expected);
            kvr_archive_close(archive);
        }
}
END_TEST

START_TEST(test_npy_that_is_refused)
{
    const struct {
        const char *dict, *why;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }",
         "32 bytes of data, found 24"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }",
         "16 bytes of data, found 24"},
        {"{'descr': '<f4', 'fortran_order': False}", "is missing"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (6,), }", "Python objects"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }", "records"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (6,), }", "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-6,), }", "whole numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'x': 1}", "found \"x\""},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (6,)}", "once each"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), } {", "follows the dict"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)", "does not end"},
        {"{'descr': 'f', 'fortran_order': False, 'shape': (6,), }", "no type of numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6), }", "at most 8"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9000000000000000000, 9), }",
         "more elements"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes bytes = npy(1, cases[i].dict, six, sizeof six);
        assert_refused("a.npy", &bytes, cases[i].why);
    }
}
END_TEST

/* Texts and times may lie beside arrays of numbers: their size is understood, no more. */
START_TEST(test_npy_of_no_numbers)
{
    const struct {
        const char *dict;
        size_t length;
    } cases[] = {
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }", 24},
        {"{'descr': '|S12', 'fortran_order': False, 'shape': (2,), }", 24},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", 24},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes bytes = npy(1, cases[i].dict, six, cases[i].length);
        struct kvr_archive *archive = open_bytes("a.npy", &bytes);
        ck_assert_int_eq(archive->arrays[0].kind, KVR_ARRAY_OTHER);
        kvr_archive_close(archive);
    }
}
END_TEST

START_TEST(test_what_is_no_file)
{
    struct kvr_archive *archive = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(mkfifo(scratch_path("pipe"), 0600), 0); /* and nobody writes to it */
    ck_assert_int_eq(kvr_archive_open(scratch_path("pipe"), &archive, &err), KVR_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "expected a file"));
    ck_assert_int_eq(kvr_archive_open(scratch_path("."), &archive, &err), KVR_BAD_INPUT);
}
END_TEST

START_TEST(test_npy_header_lengths)
{
    struct bytes bytes = {0};
    add(&bytes, "\x93NUMPY\x02\0\xff\xff\xff\xff", 12);
    assert_refused("a.npy", &bytes, "found a length of 4294967295");
    bytes.length = 8;
    assert_refused("a.npy", &bytes, "found 8 bytes");
    bytes = npy(4, "{}", six, 0);
    assert_refused("a.npy", &bytes, "found 4");
    bytes.length = 0;
    assert_refused("a.npy", &bytes, "is empty");
    add_text(&bytes, "plain text, no arrays");
    assert_refused("a.npy", &bytes, "something else");
}
END_TEST

/* -------------------------------------------------------------------------- ZIP */

/* How an entry is written; what contradicts a sound archive is here to be set. */
struct entry {
    const char *name;
    unsigned method, flags;
    uint32_t crc_change;
    bool zip64;
    uint64_t size_change;
};

/* "x = 3 halves", deflated by a stored block: 01 len ~len bytes. */
static struct bytes raw_deflate(const struct bytes *content)
{
    struct bytes out = {0};
    add_number(&out, 1, 1);
    add_number(&out, content->length, 2);
    add_number(&out, ~content->length & 0xffff, 2);
    add(&out, content->data, content->length);
    return out;
}

static void add_sizes(struct bytes *zip, const struct entry *entry, uint32_t crc, uint64_t stored,
                      uint64_t size)
{
    add_number(zip, crc, 4);
    add_number(zip, entry->zip64 ? UINT32_MAX : stored, 4);
    add_number(zip, entry->zip64 ? UINT32_MAX : size, 4);
    add_number(zip, strlen(entry->name), 2);
    add_number(zip, entry->zip64 ? 20 : 0, 2);
}

static void add_extra(struct bytes *zip, const struct entry *entry, uint64_t stored, uint64_t size)
{
    if (!entry->zip64)
        return;
    add_number(zip, 1, 2);
    add_number(zip, 16, 2);
    add_number(zip, size, 8);
    add_number(zip, stored, 8);
}

/* An archive of one .npy. */
static struct bytes zip_of(const struct entry *entry)
{
    struct bytes content =
        npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", six, sizeof six);
    struct bytes data = entry->method == 8 ? raw_deflate(&content) : content;
    uint32_t crc = kvr_crc32(0, content.data, content.length) ^ entry->crc_change;
    uint64_t size = content.length + entry->size_change;
    struct bytes zip = {0};
    add(&zip, "PK\3\4", 4);
    add_number(&zip, 20, 2);
    add_number(&zip, entry->flags, 2);
    add_number(&zip, entry->method, 2);
    add_number(&zip, 0, 4);
    add_sizes(&zip, entry, crc, data.length, size);
    add_text(&zip, entry->name);
    add_extra(&zip, entry, data.length, size);
    add(&zip, data.data, data.length);
    size_t directory = zip.length;
    add(&zip, "PK\1\2", 4);
    add_number(&zip, 20, 2);
    add_number(&zip, 20, 2);
    add_number(&zip, entry->flags, 2);
    add_number(&zip, entry->method, 2);
    add_number(&zip, 0, 4);
    add_sizes(&zip, entry, crc, data.length, size);
    add_number(&zip, 0, 2 + 2 + 2);
    add_number(&zip, 0, 4);
    add_number(&zip, 0, 4);
    add_text(&zip, entry->name);
    add_extra(&zip, entry, data.length, size);
    size_t length = zip.length - directory;
    add(&zip, "PK\5\6", 4);
    add_number(&zip, 0, 4);
    add_number(&zip, 1, 2);
    add_number(&zip, 1, 2);
    add_number(&zip, length, 4);
    add_number(&zip, directory, 4);
    add_number(&zip, 0, 2);
    return zip;
}

START_TEST(test_npz_stored_deflated_and_zip64)
{
    static const double expected[] = {1, 2, 3, 4, 5, 6};
    for (int i = 0; i < 4; i++) {
        const struct entry entry = {
            .name = "attn.npy", .method = i % 2 == 0 ? 0 : 8, .zip64 = i >= 2};
        struct bytes zip = zip_of(&entry);
        struct kvr_archive *archive = open_bytes("a.npz", &zip);
        ck_assert_uint_eq(archive->count, 1);
        ck_assert_str_eq(archive->arrays[0].name, "attn");
        assert_values(&archive->arrays[0], expected);
        kvr_archive_close(archive);
    }
    ck_assert_uint_eq(scratch_entries(), 1);
}
END_TEST

START_TEST(test_npz_that_is_refused)
{
    const struct {
        struct entry entry;
        const char *why;
    } cases[] = {
        {{.name = "a.npy", .crc_change = 1}, "a.npy: damaged: expected the checksum"},
        {{.name = "a.npy", .method = 8, .crc_change = 1}, "a.npy: damaged: expected the checksum"},
        {{.name = "a.npy", .method = 8, .size_change = 1}, "does not inflate"},
        {{.name = "a.npy", .method = 8, .size_change = 1 << 20}, "cannot hold 1048"},
        {{.name = "a.npy", .method = 8, .zip64 = true, .size_change = UINT64_C(1) << 40},
         "cannot hold 1099511627"},
        {{.name = "a.npy", .method = 8, .zip64 = true, .size_change = UINT64_MAX - 500},
         "cannot hold 18446744073709551"},
        {{.name = "a.npy", .size_change = 1}, "two sizes"},
        {{.name = "a.npy", .method = 12}, "found 12"},
        {{.name = "a.npy", .flags = 1}, "encrypted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes zip = zip_of(&cases[i].entry);
        assert_refused("a.npz", &zip, cases[i].why);
    }
}
END_TEST

START_TEST(test_npz_cut_anywhere)
{
    const struct entry entry = {.name = "a.npy", .method = 8, .zip64 = true};
    struct bytes zip = zip_of(&entry);
    for (size_t length = 0; length < zip.length; length++) {
        struct kvr_archive *archive = NULL;
        struct kvr_error err = KVR_ERROR_NONE;
        scratch_write("a.npz", zip.data, length);
        ck_assert_msg(kvr_archive_open(scratch_path("a.npz"), &archive, &err) != KVR_OK,
                      "%zu bytes of %zu are enough", length, zip.length);
        ck_assert_ptr_null(strchr(err.message, '\n'));
    }
}
END_TEST

START_TEST(test_npz_writer)
{
    struct kvr_npz_writer *writer = NULL;
    struct kvr_archive *archive = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    static const double expected[] = {1, 2, 3, 4, 5, 6};
    const uint64_t shape[] = {2, 3};
    ck_assert_int_eq(kvr_npz_writer_open(scratch_path("a.npz"), &writer, &err), KVR_OK);
    ck_assert_int_eq(kvr_npz_writer_array(writer, "x/one", "<f4", 2, shape, &err), KVR_OK);
    ck_assert_int_eq(kvr_npz_writer_bytes(writer, six, 8, &err), KVR_OK);
    ck_assert_int_eq(kvr_npz_writer_bytes(writer, six + 2, 16, &err), KVR_OK);
    ck_assert_int_eq(kvr_npz_writer_array(writer, "n", "<i8", 0, NULL, &err), KVR_OK);
    ck_assert_int_eq(kvr_npz_writer_bytes(writer, "\xfe\xff\xff\xff\xff\xff\xff\xff", 8, &err),
                     KVR_OK);
    ck_assert(!scratch_exists("a.npz"));
    ck_assert_int_eq(kvr_npz_writer_commit(writer, &err), KVR_OK);
    ck_assert_msg(kvr_archive_open(scratch_path("a.npz"), &archive, &err) == KVR_OK, "%s",
                  err.message);
    ck_assert_uint_eq(archive->count, 2);
    ck_assert_str_eq(archive->arrays[0].name, "x/one");
    assert_values(&archive->arrays[0], expected);
    int64_t number = 0;
    ck_assert_uint_eq(archive->arrays[1].rank, 0);
    ck_assert(kvr_array_integer(&archive->arrays[1], 0, &number));
    ck_assert_int_eq(number, -2);
    kvr_archive_close(archive);
}
END_TEST

/* -------------------------------------------------------------------------- safetensors */

static struct bytes tensors(const char *header, size_t length)
{
    struct bytes bytes = {0};
    static const unsigned char zeros[64];
    add_number(&bytes, strlen(header), 8);
    add_text(&bytes, header);
    add(&bytes, zeros, length);
    return bytes;
}

START_TEST(test_safetensors)
{
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"b\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[12,20]},"
        "\"a\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12]}}";
    static const double expected[] = {0, 1, -2, 0.5, 0, 0};
    static const unsigned char values[] = {0, 0, 0x80, 0x3f, 0, 0xc0, 0, 0x3f, 0, 0, 0, 0, 7};
    struct bytes bytes = tensors(header, 20);
    memcpy(bytes.data + bytes.length - 20, values, sizeof values);
    struct kvr_archive *archive = open_bytes("a.safetensors", &bytes);
    int64_t number = 0;
    ck_assert_uint_eq(archive->count, 2);
    ck_assert_str_eq(archive->arrays[1].name, "a");
    ck_assert_int_eq(archive->arrays[1].kind, KVR_ARRAY_FLOATING);
    assert_values(&archive->arrays[1], expected);
    ck_assert(kvr_array_integer(&archive->arrays[0], 0, &number));
    ck_assert_int_eq(number, 7);
    kvr_archive_close(archive);
}
END_TEST

START_TEST(test_safetensors_that_are_refused)
{
    const struct {
        const char *header;
        size_t length;
        const char *why;
    } cases[] = {
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,8]},"
         "\"b\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[6,14]}}",
         14, "b: data_offsets: expected to start at 8, found 6: tensors overlap"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[2,10]}}", 10, "there is a gap"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,8]}}", 9,
         "expected 8 bytes of data, found 9"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,8]}}", 7,
         "expected a range within 7 bytes"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[8,0]}}", 8, "a range within"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[5],\"data_offsets\":[0,8]}}", 8,
         "a: expected 10 bytes of data, found 8"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[-4],\"data_offsets\":[0,8]}}", 8, "whole numbers"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":4,\"data_offsets\":[0,8]}}", 8, "expected a shape"},
        {"{\"a\":{\"dtype\":\"FP9\",\"shape\":[4],\"data_offsets\":[0,8]}}", 8, "\"FP9\""},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[4]}}", 8, "two whole numbers"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[1099511627776,1099511627776],"
         "\"data_offsets\":[0,8]}}",
         8, "more elements"},
        {"{\"__metadata__\":{\"format\":\"pt\"}}", 0, "holds no arrays"},
        {"{\"a\":", 0, "header: line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes bytes = tensors(cases[i].header, cases[i].length);
        assert_refused("a.safetensors", &bytes, cases[i].why);
    }
    struct bytes huge = {0};
    add_number(&huge, UINT64_C(1) << 40, 8);
    add_text(&huge, "{           ");
    assert_refused("a.safetensors", &huge, "found a length of 1099511627776");
}
END_TEST

START_TEST(test_integers_of_every_width)
{
    static const unsigned char bytes[] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    int64_t value = 0;
    for (size_t width = 1; width <= 8; width *= 2) {
        struct kvr_array array = {
            .kind = KVR_ARRAY_INTEGER, .is_signed = true, .element_size = width, .bytes = bytes};
        ck_assert(kvr_array_integer(&array, 0, &value));
        ck_assert_int_eq(value, -2);
        array.is_signed = false;
        bool fits = kvr_array_integer(&array, 0, &value);
        ck_assert_int_eq(fits, width < 8);
        if (fits)
            ck_assert_int_eq(value, (INT64_C(1) << (8 * width)) - 2);
        array.big_endian = array.is_signed = true;
        ck_assert(kvr_array_integer(&array, 0, &value));
        ck_assert_int_eq(value & 0xff, width == 1 ? 0xfe : 0xff);
    }
}
END_TEST

Suite *kvr_suite_archive(void)
{
    Suite *suite = suite_create("archive");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, scratch_setup, scratch_teardown);
    tcase_add_test(files, test_npy_of_every_order);
    tcase_add_test(files, test_npy_that_is_refused);
    tcase_add_test(files, test_npy_header_lengths);
    tcase_add_test(files, test_npy_of_no_numbers);
    tcase_add_test(files, test_what_is_no_file);
    tcase_add_test(files, test_npz_stored_deflated_and_zip64);
    tcase_add_test(files, test_npz_that_is_refused);
    tcase_add_test(files, test_npz_cut_anywhere);
    tcase_add_test(files, test_npz_writer);
    tcase_add_test(files, test_safetensors);
    tcase_add_test(files, test_safetensors_that_are_refused);
    tcase_add_test(files, test_integers_of_every_width);
    suite_add_tcase(suite, files);
    return suite;
}
