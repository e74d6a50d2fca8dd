/*
 * Files from strangers, damaged files and files in use: each is refused with one clear line.
 */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/attention_fixture.h"
#include "tests/scratch.h"
#include "tests/suites.h"

static const char at_attention[] = "/samples/0/layers/0/attention: ";

/* The file as a whole. */

START_TEST(no_file_folder_or_empty_file)
{
    fixture_refused(scratch_path("none.h5"), KVR_IO, "No such file", "");
    const char *folder = scratch_path("folder.h5"), *pipe = scratch_path("pipe.h5");
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    fixture_refused(folder, KVR_BAD_INPUT, "found a folder", "");
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    fixture_refused(pipe, KVR_BAD_INPUT, "found a pipe", "");
    scratch_write("empty.h5", "", 0);
    fixture_refused(scratch_path("empty.h5"), KVR_BAD_INPUT, "found an empty one", "");
}
END_TEST

START_TEST(other_formats)
{
    scratch_write("text.h5", "0.5 0.25 0.25\n", 14);
    fixture_refused(scratch_path("text.h5"), KVR_BAD_INPUT, "expected an HDF5 file", "");
    scratch_write("a.npy", "\223NUMPY\1\0", 8);
    fixture_refused(scratch_path("a.npy"), KVR_BAD_INPUT, "expected an HDF5 file",
                    "kvreplay import");
    scratch_write("a.npz", "PK\3\4", 4);
    fixture_refused(scratch_path("a.npz"), KVR_BAD_INPUT, "expected an HDF5 file",
                    "kvreplay import");
}
END_TEST

START_TEST(cut_files)
{
    const char *path = scratch_path("t.h5");
    size_t length;
    fixture_plain_trace(path);
    char *bytes = scratch_read("t.h5", &length);
    ck_assert_uint_gt(length, 2000);
    scratch_write("cut.h5", bytes, length - 1000);
    fixture_refused(scratch_path("cut.h5"), KVR_BAD_INPUT, "cut off (truncated file", "again");
    scratch_write("stub.h5", bytes, 96);
    fixture_refused(scratch_path("stub.h5"), KVR_BAD_INPUT, "cut off (truncated file", "again");
    /* At any length there is an error and no crash: HDF5 checks the length first. */
    for (size_t size = length - 1; size > 97; size -= 97) {
        struct kvr_trace *trace = NULL;
        ck_assert_int_eq(truncate(path, (off_t)size), 0);
        ck_assert_int_ne(kvr_trace_open(path, NULL, &trace, NULL), KVR_OK);
    }
    free(bytes);
}
END_TEST

START_TEST(a_newer_superblock)
{
    const char *path = scratch_path("t.h5");
    fixture_plain_trace(path);
    fixture_patch(path, "\211HDF\r\n\032\n\0", "\211HDF\r\n\032\n\11", 9);
    fixture_refused(path, KVR_BAD_INPUT, "bad superblock version", "library bounds");
}
END_TEST

/* HDF5 locks files that it writes; here another process holds the lock. */
START_TEST(a_file_that_is_being_written)
{
    const char *path = scratch_path("t.h5");
    unsetenv("HDF5_USE_FILE_LOCKING");
    fixture_plain_trace(path);
    int ready[2], byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t writer = fork();
    ck_assert_int_ge(writer, 0);
    if (writer == 0) {
        int descriptor = open(path, O_RDWR);
        byte = flock(descriptor, LOCK_EX) == 0 ? 'y' : 'n';
        if (write(ready[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    byte = 0;
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 'y');
    fixture_refused(path, KVR_IO, "another program has it open for writing",
                    "HDF5_USE_FILE_LOCKING");
    ck_assert_int_eq(kill(writer, SIGKILL), 0);
    ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
    kvr_trace_close(fixture_trace(path));
}
END_TEST

START_TEST(a_file_and_folder_that_cannot_be_written)
{
    const char *path = scratch_path("t.h5");
    char folder[512];
    fixture_plain_trace(path);
    ck_assert_uint_lt(strlen(path), sizeof folder);
    strcpy(folder, path);
    *strrchr(folder, '/') = '\0';
    ck_assert_int_eq(chmod(path, 0400), 0);
    ck_assert_int_eq(chmod(folder, 0500), 0);
    struct kvr_trace *first = fixture_trace(path);
    kvr_trace_close(fixture_trace(path)); /* twice at once, too */
    kvr_trace_close(first);
    ck_assert_int_eq(chmod(folder, 0700), 0);
}
END_TEST

/* Members that lead elsewhere, and elements that are not plain numbers. Each case makes the
   attention of an otherwise plain trace. */

static void soft_link(const struct trace_fixture *f)
{
    H5Lcreate_soft("/samples", f->layer, "attention", H5P_DEFAULT, H5P_DEFAULT);
}

static void external_link(const struct trace_fixture *f)
{
    H5Lcreate_external("other.h5", "/a", f->layer, "attention", H5P_DEFAULT, H5P_DEFAULT);
}

static void attention_of_type(const struct trace_fixture *f, hid_t type, hid_t properties)
{
    fixture_dataset(f->layer, "attention", type, 3, fixture_shape, properties, NULL);
}

static void external_storage(const struct trace_fixture *f)
{
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(properties, "/etc/hostname", 0, H5F_UNLIMITED);
    attention_of_type(f, H5T_IEEE_F32LE, properties);
    H5Pclose(properties);
}

static void virtual_dataset(const struct trace_fixture *f)
{
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(3, fixture_shape, NULL);
    H5Pset_virtual(properties, space, "other.h5", "/a", space);
    attention_of_type(f, H5T_IEEE_F32LE, properties);
    H5Sclose(space);
    H5Pclose(properties);
}

static void closed_type(const struct trace_fixture *f, hid_t type)
{
    attention_of_type(f, type, H5P_DEFAULT);
    H5Tclose(type);
}

static void variable_length(const struct trace_fixture *f)
{
    closed_type(f, H5Tvlen_create(H5T_IEEE_F32LE));
}

static void compound(const struct trace_fixture *f)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(type, "row", 0, H5T_IEEE_F32LE);
    H5Tinsert(type, "column", 4, H5T_IEEE_F32LE);
    closed_type(f, type);
}

static void opaque(const struct trace_fixture *f)
{
    hid_t type = H5Tcreate(H5T_OPAQUE, 2);
    H5Tset_tag(type, "bfloat16");
    closed_type(f, type);
}

static void arrays(const struct trace_fixture *f)
{
    const hsize_t four = 4;
    closed_type(f, H5Tarray_create2(H5T_IEEE_F32LE, 1, &four));
}

static void references(const struct trace_fixture *f)
{
    attention_of_type(f, H5T_STD_REF_OBJ, H5P_DEFAULT);
}

static void strings(const struct trace_fixture *f)
{
    attention_of_type(f, H5T_C_S1, H5P_DEFAULT);
}

static void whole_numbers(const struct trace_fixture *f)
{
    attention_of_type(f, H5T_STD_I32LE, H5P_DEFAULT);
}

static void plain_uint16(const struct trace_fixture *f)
{
    attention_of_type(f, H5T_STD_U16LE, H5P_DEFAULT);
}

static void encoded(const struct trace_fixture *f, hid_t type, const char *encoding)
{
    hid_t dataset =
        fixture_open_dataset(f->layer, "attention", type, 3, fixture_shape, H5P_DEFAULT, NULL);
    fixture_text(dataset, "encoding", encoding);
    H5Dclose(dataset);
}

static void other_encoding(const struct trace_fixture *f)
{
    encoded(f, H5T_STD_U16LE, "posit16");
}

static void signed_bfloat16(const struct trace_fixture *f)
{
    encoded(f, H5T_STD_I16LE, "bfloat16");
}

static void other_float(const struct trace_fixture *f)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(type, 15, 9, 6, 0, 9);
    H5Tset_precision(type, 16);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, 31);
    closed_type(f, type);
}

static void other_bias(const struct trace_fixture *f)
{
    hid_t type = fixture_type((struct kvr_element_type){KVR_HALF, false, false});
    H5Tset_ebias(type, 16);
    closed_type(f, type);
}

static void long_double(const struct trace_fixture *f)
{
    attention_of_type(f, H5T_NATIVE_LDOUBLE, H5P_DEFAULT);
}

static void unknown_filter(const struct trace_fixture *f)
{
    const hsize_t chunk[3] = {2, 3, 60};
    hid_t properties = fixture_chunks(3, chunk);
    H5Pset_filter(properties, 32015, H5Z_FLAG_OPTIONAL, 0, NULL);
    attention_of_type(f, H5T_IEEE_F32LE, properties);
    H5Pclose(properties);
}

static void declared_only(const struct trace_fixture *f)
{
    const hsize_t shape[3] = {4, 3, 1 << 30}, chunk[3] = {1, 1, 1 << 20};
    hid_t properties = fixture_chunks(3, chunk);
    fixture_integer(f->sample, "context_length", 1 << 30);
    fixture_dataset(f->layer, "attention", H5T_IEEE_F32LE, 3, shape, properties, NULL);
    H5Pclose(properties);
}

static void declared_tokens(const struct trace_fixture *f)
{
    const hsize_t shape = 1 << 30, chunk = 1 << 20;
    hid_t properties = fixture_chunks(1, &chunk);
    fixture_integer(f->sample, "context_length", 1 << 30);
    fixture_dataset(f->sample, "tokens", H5T_STD_I32LE, 1, &shape, properties, NULL);
    H5Pclose(properties);
}

static const struct {
    void (*spoil)(const struct trace_fixture *fixture);
    const char *message, *hint;
} strange[] = {
    {soft_link, "expected a dataset, found a soft link", "not followed"},
    {external_link, "expected a dataset, found an external link", "not followed"},
    {external_storage, "found external storage", "not followed"},
    {virtual_dataset, "found a virtual dataset", "not followed"},
    {variable_length, "expected numbers, found variable-length elements", ""},
    {compound, "expected numbers, found compound elements of 8 bytes", ""},
    {opaque, "expected numbers, found opaque elements of 2 bytes", ""},
    {arrays, "expected numbers, found arrays of 16 bytes", ""},
    {references, "expected numbers, found references", ""},
    {strings, "expected numbers, found a string", ""},
    {whole_numbers, "expected half, float, double or bfloat16 elements, found int32", ""},
    {plain_uint16, "found uint16", "encoding = \"bfloat16\""},
    {other_encoding, "found uint16 with encoding \"posit16\"", ""},
    {signed_bfloat16, "found int16", ""},
    {other_float, "found a float of 2 bytes with 6 exponent and 9 mantissa bits", ""},
    {other_bias, "found a float of 2 bytes with 5 exponent and 10 mantissa bits", ""},
    {long_double, "found a float of 16 bytes", ""},
    {unknown_filter, "stored with filter 32015, which is not one of HDF5's own", "h5repack"},
    {declared_only, "declares 51539607552 bytes but stores 0", ""},
    {declared_tokens, "/samples/0/tokens: declares 4294967296 bytes but stores 0", ""},
};

START_TEST(strange_datasets_are_refused)
{
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    strange[_i].spoil(&fixture);
    fixture_close(&fixture);
    bool structure = strstr(strange[_i].message, "declares") != NULL;
    fixture_refused(path, structure ? KVR_BAD_INPUT : KVR_UNSUPPORTED, strange[_i].message,
                    strange[_i].hint);
    if (strange[_i].message[0] != '/')
        fixture_refused(path, structure ? KVR_BAD_INPUT : KVR_UNSUPPORTED, at_attention,
                        strange[_i].hint);
}
END_TEST

START_TEST(links_among_groups_are_refused)
{
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    fixture_attention(&fixture);
    H5Lcreate_external("other.h5", "/samples/0", fixture.samples, "1", H5P_DEFAULT, H5P_DEFAULT);
    fixture_close(&fixture);
    fixture_refused(path, KVR_UNSUPPORTED, "/samples/1: expected a group, found an external link",
                    "not followed");
}
END_TEST

/* A filter that only a plugin has is looked for when asked, and told when it is not there. */
START_TEST(a_missing_plugin_is_told)
{
    const char *path = scratch_path("t.h5");
    struct trace_fixture fixture = fixture_create(path);
    unknown_filter(&fixture);
    fixture_close(&fixture);
    struct kvr_trace_options options = {.allow_plugins = true};
    struct kvr_trace *trace = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_int_eq(kvr_trace_open(path, &options, &trace, &err), KVR_UNSUPPORTED);
    ck_assert_msg(strstr(err.message, "filter 32015") != NULL &&
                      strstr(err.message, "lacks here") != NULL,
                  "%s", err.message);
}
END_TEST

/* Bytes of the file's structure that no library would write. */

static void put32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static void put64(unsigned char *at, uint64_t value)
{
    put32(at, (uint32_t)value);
    put32(at + 4, (uint32_t)(value >> 32));
}

enum { DATASPACE_BYTES = 32, LAYOUT_BYTES = 16 };

/* A dataspace message: version 1, rank, flags, 5 unused bytes, then the dimensions. */
static void dataspace(unsigned char *at, unsigned char rank, uint64_t last)
{
    memset(at, 0, DATASPACE_BYTES);
    at[0] = 1;
    at[1] = rank;
    at[2] = 1;
    put64(at + 8, fixture_shape[0]);
    put64(at + 16, fixture_shape[1]);
    put64(at + 24, last);
}

static const struct {
    unsigned char rank;
    uint64_t last;
    const char *message;
} dataspaces[] = {
    {33, FIXTURE_TOKENS, "dimensionality is too large"},
    {255, FIXTURE_TOKENS, "dimensionality is too large"},
    {3, UINT64_C(1) << 60, "expected shape [4][3][60], found [4][3][1152921504606846976]"},
};

START_TEST(impossible_shapes)
{
    const char *path = scratch_path("t.h5");
    unsigned char right[DATASPACE_BYTES], wrong[DATASPACE_BYTES];
    fixture_plain_trace(path);
    dataspace(right, 3, FIXTURE_TOKENS);
    dataspace(wrong, dataspaces[_i].rank, dataspaces[_i].last);
    fixture_patch(path, right, wrong, DATASPACE_BYTES);
    fixture_refused(path, KVR_BAD_INPUT, dataspaces[_i].message,
                    dataspaces[_i].rank == 3 ? "columns" : "");
    fixture_refused(path, KVR_BAD_INPUT, at_attention, dataspaces[_i].rank == 3 ? "columns" : "");
}
END_TEST

static void chunk_layout(unsigned char *at, uint32_t rows, uint32_t tokens, uint32_t size)
{
    put32(at, 2);
    put32(at + 4, rows);
    put32(at + 8, tokens);
    put32(at + 12, size);
}

static const struct {
    uint32_t rows, tokens, size;
    const char *message; /* NULL: found only when it is read, if at all */
} chunk_shapes[] = {
    {0, FIXTURE_TOKENS, 2, "chunk dimension must be positive"},
    {UINT32_MAX, UINT32_MAX, 2, "chunk size must be < 4GB"},
    {3, 1000000000, 2, NULL},
    {3, FIXTURE_TOKENS, 4, NULL},
    {3, FIXTURE_TOKENS, 0, NULL},
    {3, FIXTURE_TOKENS / 2, 2, NULL},
};

/* Whatever is not refused at once must be refused or harmless when it is read. */
START_TEST(impossible_chunks)
{
    enum { SHAPES = sizeof chunk_shapes / sizeof *chunk_shapes };
    static unsigned char stored[ATTENTION_BYTES];
    static double values[ATTENTION_ELEMENTS];
    const struct kvr_element_type half = {KVR_HALF, false, false};
    const hsize_t chunk[3] = {2, 3, FIXTURE_TOKENS};
    const char *path = scratch_path("t.h5");
    const char *filters = _i < SHAPES ? "d" : "";
    const int shape = _i % SHAPES;
    fixture_expect_leaks();
    unsigned char right[LAYOUT_BYTES], wrong[LAYOUT_BYTES];
    attention_elements(half, 1, stored, values);
    attention_write(path, half, attention_properties(filters, chunk), stored);
    chunk_layout(right, 3, FIXTURE_TOKENS, 2);
    chunk_layout(wrong, chunk_shapes[shape].rows, chunk_shapes[shape].tokens,
                 chunk_shapes[shape].size);
    fixture_patch(path, right, wrong, LAYOUT_BYTES);
    if (chunk_shapes[shape].message != NULL) {
        fixture_refused(path, KVR_BAD_INPUT, chunk_shapes[shape].message, "");
        return;
    }
    struct kvr_trace *trace = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    if (kvr_trace_open(path, NULL, &trace, &err) == KVR_OK)
        kvr_trace_read(trace, attention_of(trace), attention_whole.start, attention_whole.count,
                       values, &err);
    kvr_trace_close(trace);
    ck_assert(err.status == KVR_OK || strstr(err.message, at_attention) != NULL);
}
END_TEST

static const struct {
    uint32_t length, index;
    uint64_t moved;
    enum kvr_status status;
    const char *message;
} references_to_text[] = {
    {0xfffffff0, 1, 0, KVR_UNSUPPORTED, "expected at most 65536 bytes, found 4294967280"},
    {50, 1, 0, KVR_BAD_INPUT, "damaged, its string is not in the file's heap"},
    {5, 0x10001, 0, KVR_BAD_INPUT, "damaged, its string is not in the file's heap"},
    {5, 0, 0, KVR_BAD_INPUT, "damaged, its string is not in the file's heap"},
    {5, 1, 8, KVR_BAD_INPUT, "damaged, its string is not in the file's heap"},
    {5, 1, UINT64_C(1) << 40, KVR_BAD_INPUT, "damaged, its string is not in the file's heap"},
    {5, 1, UINT64_MAX >> 1, KVR_BAD_INPUT, "damaged, its string is not in the file's heap"},
};

/* A string of variable length is a reference: its length, where its heap is, and which it is. */
START_TEST(references_to_text_that_is_not_there)
{
    const char *path = scratch_path("t.h5"), *text = "Emma.";
    struct trace_fixture fixture = fixture_create(path);
    fixture_attention(&fixture);
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    fixture_attribute(fixture.file, "model", type, &text);
    H5Tclose(type);
    fixture_close(&fixture);

    size_t length;
    char *bytes = scratch_read("t.h5", &length);
    const char *heap = memmem(bytes, length, "GCOL", 4);
    ck_assert_ptr_nonnull(heap);
    uint64_t address = (uint64_t)(heap - bytes);
    free(bytes);
    unsigned char right[16], wrong[16];
    put32(right, 5);
    put64(right + 4, address);
    put32(right + 12, 1);
    put32(wrong, references_to_text[_i].length);
    put64(wrong + 4, address + references_to_text[_i].moved);
    put32(wrong + 12, references_to_text[_i].index);
    fixture_patch(path, right, wrong, sizeof right);
    fixture_refused(path, references_to_text[_i].status, references_to_text[_i].message, "");
    fixture_refused(path, references_to_text[_i].status, ": /: attribute model: ", "");
}
END_TEST

/* The index says that a chunk is larger than it can be: HDF5 would fetch that much into any buffer.
 */
START_TEST(an_index_that_lies_about_sizes)
{
    static unsigned char stored[ATTENTION_BYTES];
    static double values[ATTENTION_ELEMENTS];
    const struct kvr_element_type half = {KVR_HALF, false, false};
    const hsize_t chunk[3] = {2, 3, FIXTURE_TOKENS}, corner[3] = {2, 0, 0};
    const char *path = scratch_path("t.h5");
    unsigned mask;
    haddr_t address;
    hsize_t size;
    hid_t dataset;
    attention_elements(half, 1, stored, values);
    struct trace_fixture fixture = attention_begin(
        path, half, attention_properties(_i == 0 ? "" : "d", chunk), stored, &dataset);
    ck_assert_int_ge(H5Dflush(dataset), 0);
    ck_assert_int_ge(H5Dget_chunk_info_by_coord(dataset, corner, &mask, &address, &size), 0);
    attention_end(&fixture, dataset);
    /* A key of the index: size, filter mask, corner with a 0 for the element. */
    unsigned char right[40] = {0}, wrong[40];
    put32(right, (uint32_t)size);
    put64(right + 8, 2);
    memcpy(wrong, right, sizeof right);
    put32(wrong, 7000);
    fixture_patch(path, right, wrong, sizeof right);

    struct kvr_trace *trace = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    enum kvr_status status = kvr_trace_open(path, NULL, &trace, &err);
    if (status == KVR_OK)
        status = kvr_trace_read(trace, attention_of(trace), attention_whole.start,
                                attention_whole.count, values, &err);
    kvr_trace_close(trace);
    if (_i == 1) {
        ck_assert_int_eq(status, KVR_BAD_INPUT);
        ck_assert_msg(strstr(err.message, "chunk 1 (heads 2-3, rows 0-2, tokens 0-59): damaged, "
                                          "it stores 7000 bytes") != NULL,
                      "%s", err.message);
    }
}
END_TEST

Suite *kvr_suite_trace_guard(void)
{
    Suite *suite = suite_create("trace_guard");
    TCase *tcase = tcase_create("trace_guard");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_test(tcase, no_file_folder_or_empty_file);
    tcase_add_test(tcase, other_formats);
    tcase_add_test(tcase, cut_files);
    tcase_add_test(tcase, a_newer_superblock);
    tcase_add_test(tcase, a_file_that_is_being_written);
    tcase_add_test(tcase, a_file_and_folder_that_cannot_be_written);
    tcase_add_loop_test(tcase, strange_datasets_are_refused, 0, sizeof strange / sizeof *strange);
    tcase_add_test(tcase, links_among_groups_are_refused);
    tcase_add_test(tcase, a_missing_plugin_is_told);
    tcase_add_loop_test(tcase, impossible_shapes, 0, sizeof dataspaces / sizeof *dataspaces);
    tcase_add_loop_test(tcase, impossible_chunks, 0,
                        2 * sizeof chunk_shapes / sizeof *chunk_shapes);
    tcase_add_loop_test(tcase, references_to_text_that_is_not_there, 0,
                        sizeof references_to_text / sizeof *references_to_text);
    tcase_add_loop_test(tcase, an_index_that_lies_about_sizes, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
