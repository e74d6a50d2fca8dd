/*
 * Checksums of files: FNV-1a over words, written out here; what a sampled one sees and what not.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/checksum.h"
#include "formats/base/random.h"
#include "tests/scratch.h"
#include "tests/suites.h"

static const uint64_t offset_basis = UINT64_C(14695981039346656037);
static const uint64_t fnv_prime = UINT64_C(1099511628211);
static const size_t mebi = (size_t)1 << 20;

static uint64_t word_at(const unsigned char *bytes, size_t length)
{
    uint64_t word = 0;
    for (size_t i = 0; i < 8 && i < length; i++)
        word += (uint64_t)bytes[i] << 8 * i;
    return word;
}

static uint64_t fnv(uint64_t hash, const unsigned char *bytes, size_t length)
{
    for (size_t at = 0; at < length; at += 8)
        hash = (hash ^ word_at(bytes + at, length - at)) * fnv_prime;
    return hash;
}

static struct kvr_checksum checksum_of(const char *name)
{
    struct kvr_checksum found;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_checksum_file(scratch_path(name), &found, &err) == KVR_OK, "%s", err.message);
    return found;
}

static unsigned char *random_bytes(size_t length)
{
    struct kvr_random random = kvr_random_stream(82, length);
    unsigned char *bytes = malloc(length + 8);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = kvr_random_bits(&random);
        memcpy(bytes + i, &word, 8);
    }
    return bytes;
}

START_TEST(test_small_files)
{
    static const size_t lengths[] = {0, 1, 7, 8, 9, 15, 16, 1000, 1048575, 1048576, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        unsigned char *bytes = random_bytes(lengths[i]);
        scratch_write("f", bytes, lengths[i]);
        struct kvr_checksum found = checksum_of("f");
        ck_assert_uint_eq(found.fnv, fnv(offset_basis, bytes, lengths[i]));
        ck_assert_uint_eq(found.size, lengths[i]);
        ck_assert(!found.sampled);
        free(bytes);
    }
}
END_TEST

START_TEST(test_known_values)
{
    scratch_write("empty", "", 0);
    ck_assert_uint_eq(checksum_of("empty").fnv, UINT64_C(0xcbf29ce484222325));
    /* A word with one byte is what FNV-1a says of that byte. */
    scratch_write("a", "a", 1);
    ck_assert_uint_eq(checksum_of("a").fnv, UINT64_C(0xaf63dc4c8601ec8c));
}
END_TEST

START_TEST(test_largest_file_that_is_read_whole)
{
    size_t length = 16 * mebi;
    unsigned char *bytes = random_bytes(length);
    scratch_write("f", bytes, length);
    struct kvr_checksum found = checksum_of("f");
    ck_assert(!found.sampled);
    ck_assert_uint_eq(found.fnv, fnv(offset_basis, bytes, length));
    free(bytes);
}
END_TEST

/* The first MiB, 62 blocks of 64 KiB evenly between, the last MiB. */
START_TEST(test_sampled_file)
{
    size_t length = 16 * mebi + 12345;
    unsigned char *bytes = random_bytes(length);
    scratch_write("f", bytes, length);
    uint64_t expected = fnv(offset_basis, bytes, mebi);
    size_t step = (length - 2 * mebi) / 62;
    for (size_t i = 0; i < 62; i++)
        expected = fnv(expected, bytes + mebi + i * step, 65536);
    expected = fnv(expected, bytes + length - mebi, mebi);
    struct kvr_checksum found = checksum_of("f");
    ck_assert(found.sampled);
    ck_assert_uint_eq(found.size, length);
    ck_assert_uint_eq(found.fnv, expected);
    free(bytes);
}
END_TEST

static void flip(const char *name, size_t at)
{
    int file = open(scratch_path(name), O_RDWR);
    unsigned char byte;
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq((int)pread(file, &byte, 1, (off_t)at), 1);
    byte ^= 1;
    ck_assert_int_eq((int)pwrite(file, &byte, 1, (off_t)at), 1);
    close(file);
}

START_TEST(test_what_a_sampled_checksum_sees)
{
    const size_t length = 64 * mebi, step = 62 * mebi / 62;
    scratch_write("f", "", 0);
    ck_assert_int_eq(truncate(scratch_path("f"), (off_t)length), 0);
    const struct {
        size_t at;
        bool seen;
    } cases[] = {
        {0, true},
        {mebi - 1, true},
        {mebi + 30 * step, true},
        {mebi + 30 * step + 65535, true},
        {mebi + 30 * step + 65536, false},
        {length - mebi - 1, false},
        {length - mebi, true},
        {length - 1, true},
    };
    uint64_t before = checksum_of("f").fnv;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        flip("f", cases[i].at);
        ck_assert_msg((checksum_of("f").fnv != before) == cases[i].seen, "byte %zu", cases[i].at);
        flip("f", cases[i].at);
    }
    ck_assert_uint_eq(checksum_of("f").fnv, before);
}
END_TEST

START_TEST(test_files_that_cannot_be_read)
{
    struct kvr_checksum found;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_checksum_file(scratch_path("none"), &found, &err), KVR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "none\": cannot be read: No such file"));
}
END_TEST

Suite *kvr_suite_checksum(void)
{
    Suite *suite = suite_create("checksum");
    TCase *all = tcase_create("checksum");
    tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
    tcase_add_test(all, test_small_files);
    tcase_add_test(all, test_known_values);
    tcase_add_test(all, test_largest_file_that_is_read_whole);
    tcase_add_test(all, test_sampled_file);
    tcase_add_test(all, test_what_a_sampled_checksum_sees);
    tcase_add_test(all, test_files_that_cannot_be_read);
    suite_add_tcase(suite, all);
    return suite;
}
