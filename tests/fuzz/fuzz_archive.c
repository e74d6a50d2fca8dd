/*
 * Imports damaged dumps: fuzz_archive RUNS [SEED].
 *
 * A sound .npz, .npy and .safetensors file are damaged in a reproducible way, opened, sorted into a
 * trace and written. Either answer is right; a
 * crash, a hang, a failure without a message or with two lines of it is not. No process of its own
 * for a run: no foreign parser is at work here, so the first fault ends it all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/random.h"
#include "formats/import.h"
#include "formats/npy.h"
#include "formats/npz_writer.h"

enum { SECONDS_PER_RUN = 10, MOST_CHANGES = 6, FORMATS = 3, HEADS = 4, ROWS = 3, TOKENS = 8 };

struct bytes {
    unsigned char *data;
    size_t length;
};

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

_Noreturn static void die(const char *what, uint64_t run, const struct kvr_error *err)
{
    fprintf(stderr, "fuzz_archive: run %llu: %s%s%s\n", (unsigned long long)run, what,
            err != NULL ? ": " : "", err != NULL ? err->message : "");
    exit(EXIT_FAILURE);
}

static const uint64_t shape[] = {HEADS, ROWS, TOKENS};

static struct bytes read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct bytes bytes = {malloc(1 << 16), 0};
    if (file == NULL || bytes.data == NULL)
        die("the sound file cannot be read", 0, NULL);
    bytes.length = fread(bytes.data, 1, 1 << 16, file);
    fclose(file);
    return bytes;
}

static struct bytes sound_npz(const char *path)
{
    struct kvr_npz_writer *writer = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    const float rows[HEADS * ROWS * TOKENS] = {1};
    static const char *const names[] = {"layers/0/attention", "attn_1", "q_2"};
    enum kvr_status status = kvr_npz_writer_open(path, &writer, &err);
    for (size_t i = 0; status == KVR_OK && i < 3; i++) {
        status = kvr_npz_writer_array(writer, names[i], "<f4", 3, shape, &err);
        if (status == KVR_OK)
            status = kvr_npz_writer_bytes(writer, rows, sizeof rows, &err);
    }
    if (status != KVR_OK || kvr_npz_writer_commit(writer, &err) != KVR_OK)
        die("the sound file cannot be written", 0, &err);
    return read_file(path);
}

static struct bytes sound_npy(void)
{
    struct kvr_text text = {0};
    static const char zeros[2 * HEADS * ROWS * TOKENS];
    kvr_npy_add_header(&text, "<f2", 3, shape);
    kvr_text_bytes(&text, zeros, sizeof zeros);
    return (struct bytes){(unsigned char *)text.data, text.length};
}

static struct bytes sound_safetensors(void)
{
    static const char header[] =
        "{\"layers.0.attention\":{\"dtype\":\"F16\",\"shape\":[4,3,8],\"data_offsets\":[0,192]},"
        "\"layers.0.key\":{\"dtype\":\"BF16\",\"shape\":[2,8,4],\"data_offsets\":[192,320]}}";
    static const char zeros[320];
    struct kvr_text text = {0};
    const char length[8] = {(char)(sizeof header - 1)};
    kvr_text_bytes(&text, length, sizeof length);
    kvr_text_string(&text, header);
    kvr_text_bytes(&text, zeros, sizeof zeros);
    return (struct bytes){(unsigned char *)text.data, text.length};
}

/* Flips, overwrites, cuts or repeats; small numbers and full words are favoured. */
static struct bytes damage(const struct bytes *sound, struct kvr_random *random)
{
    static const unsigned char likely[] = {0, 1, 0x7f, 0x80, 0xff, '0', '9', ','};
    struct bytes bytes = {malloc(2 * sound->length), sound->length};
    if (bytes.data == NULL)
        die("out of memory", 0, NULL);
    memcpy(bytes.data, sound->data, sound->length);
    uint64_t changes = 1 + kvr_random_below(random, MOST_CHANGES);
    for (uint64_t i = 0; i < changes && bytes.length > 0; i++) {
        size_t at = (size_t)kvr_random_below(random, bytes.length);
        switch (kvr_random_below(random, 8)) {
        case 0:
            bytes.length = at;
            break;
        case 1:
            bytes.data[at] ^= (unsigned char)(1u << kvr_random_below(random, 8));
            break;
        case 2:
            for (size_t b = 0; b < 4 && at + b < bytes.length; b++)
                bytes.data[at + b] = 0xff;
            break;
        default:
            bytes.data[at] = likely[kvr_random_below(random, sizeof likely)];
            break;
        }
    }
    return bytes;
}

static void write_file(const char *path, const struct bytes *bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes->data, 1, bytes->length, file) != bytes->length)
        die("the damaged file cannot be written", 0, NULL);
    fclose(file);
}

/* True if the file was imported. */
static bool import_file(const char *path, const char *trace, uint64_t run)
{
    static const struct kvr_import_options options = {.kv_heads = 2};
    struct kvr_archive *archive = NULL;
    struct kvr_import_plan plan = {0};
    struct kvr_error err = KVR_ERROR_NONE;
    enum kvr_status status = kvr_archive_open(path, &archive, &err);
    if (status == KVR_OK)
        status = kvr_import_plan_make(&archive, 1, &options, &plan, &err);
    if (status == KVR_OK)
        status = kvr_import_write(&plan, trace, NULL, &err);
    kvr_import_plan_free(&plan);
    kvr_archive_close(archive);
    if (status != KVR_OK && (err.message[0] == '\0' || strchr(err.message, '\n') != NULL))
        die("no message, or more than a line", run, &err);
    if (status == KVR_INTERNAL)
        die("a defect", run, &err);
    return status == KVR_OK;
}

int main(int argc, char **argv)
{
    uint64_t runs = 0, seed = 1, imported = 0;
    char folder[] = "/tmp/kvreplay-fuzz-XXXXXX", path[64], trace[64];
    if (argc < 2 || argc > 3 || !kvr_parse_unsigned(argv[1], 1, UINT64_MAX, &runs) ||
        (argc == 3 && !kvr_parse_unsigned(argv[2], 0, UINT64_MAX, &seed))) {
        fprintf(stderr, "usage: fuzz_archive RUNS [SEED]\n");
        return 2;
    }
    if (mkdtemp(folder) == NULL)
        die("no folder", 0, NULL);
    snprintf(path, sizeof path, "%s/attention.safetensors", folder);
    snprintf(trace, sizeof trace, "%s/trace.h5", folder);
    const struct bytes sound[FORMATS] = {sound_npz(path), sound_npy(), sound_safetensors()};
    for (uint64_t run = 0; run < runs; run++) {
        struct kvr_random random = kvr_random_stream(seed, run);
        struct bytes damaged = damage(&sound[run % FORMATS], &random);
        alarm(SECONDS_PER_RUN);
        write_file(path, &damaged);
        imported += import_file(path, trace, run);
        free(damaged.data);
    }
    for (size_t i = 0; i < FORMATS; i++)
        free(sound[i].data);
    unlink(path);
    unlink(trace);
    rmdir(folder);
    printf("fuzz_archive: %llu damaged dumps, %llu of them imported, the others refused\n",
           (unsigned long long)runs, (unsigned long long)imported);
    return 0;
}
