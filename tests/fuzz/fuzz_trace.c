/*
 * Opens damaged traces: fuzz_trace RUNS [SEED [TRACE…]].
 *
 * A small trace (or each given one) is damaged in a reproducible way, opened, and read to the end
 * if it opens. Either answer is right; a crash, a hang, a lost error message or a second line in
 * one is not. Each run is a process of its own. HDF5 has parser bugs of its own: runs that end
 * inside it are counted, but only faults in our code fail.
 */
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/random.h"
#include "formats/trace.h"
#include "formats/trace_writer.h"

enum {
    MOST_ELEMENTS = 1 << 20, /* read of one dataset: a damaged shape may be huge */
    SECONDS_PER_RUN = 10,
    MOST_CHANGES = 8,
};

/* How one run ended; the exit status of its process. */
enum outcome { OPENED = 0, REFUSED = 10, BAD_MESSAGE = 11, CRASHED = 12 };

struct bytes {
    unsigned char *data;
    size_t length;
};

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:detect_leaks=0:hard_rss_limit_mb=2048";
}

_Noreturn static void die(const char *what, const struct kvr_error *err)
{
    fprintf(stderr, "fuzz_trace: %s%s%s\n", what, err != NULL ? ": " : "",
            err != NULL ? err->message : "");
    exit(EXIT_FAILURE);
}

/* -------------------------------------------------------------------------- the sound trace */

static void write_dataset(struct kvr_trace_writer *writer, const char *name, unsigned rank,
                          const uint64_t *shape, struct kvr_storage storage, const double *values)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_dataset_writer *dataset;
    uint64_t start[KVR_DATASET_RANK] = {0};
    if (kvr_trace_writer_dataset(writer, name, rank, shape, &storage, &dataset, &err) != KVR_OK ||
        kvr_dataset_writer_write(dataset, start, shape, values, &err) != KVR_OK ||
        kvr_dataset_writer_close(dataset, &err) != KVR_OK)
        die(name, &err);
}

/* Two samples, three layers, every kind of storage that the writer knows. */
static void write_sound_trace(const char *path)
{
    enum { TOKENS = 24, HEADS = 4, GROUPS = 2, ROWS = 3, SIZE = 8 };
    static double values[HEADS * TOKENS * SIZE];
    struct kvr_random random = kvr_random_stream(1, 1);
    for (size_t i = 0; i < HEADS * TOKENS * SIZE; i++)
        values[i] = kvr_random_uniform(&random) / TOKENS;

    int32_t tokens[TOKENS] = {0};
    uint64_t positions[ROWS] = {20, 21, 23};
    struct kvr_span needle = {5, 8};
    char names[2][8] = {"0", "named"};
    struct kvr_sample sample = {.context_length = TOKENS,
                                .prompt_length = TOKENS - 2,
                                .query_heads = HEADS,
                                .kv_heads = GROUPS,
                                .head_dim = SIZE,
                                .task = (char[]){"niah"},
                                .token_count = TOKENS,
                                .tokens = tokens,
                                .query_count = ROWS,
                                .query_positions = positions,
                                .needle_count = 1,
                                .needles = &needle};
    struct kvr_storage half = kvr_storage_default(), plain = half, checked = half;
    plain.contiguous = true;
    plain.shuffle = false;
    plain.deflate_level = 0;
    plain.type.kind = KVR_DOUBLE;
    checked.type.kind = KVR_FLOAT;
    checked.fletcher32 = true;
    uint64_t rows[] = {HEADS, ROWS, TOKENS}, sums[] = {HEADS, TOKENS, 1};
    uint64_t vectors[] = {GROUPS, TOKENS, SIZE}, queries[] = {HEADS, ROWS, SIZE};
    checked.chunk[0] = 2, checked.chunk[1] = 16, checked.chunk[2] = 1;

    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_trace_writer *writer;
    if (kvr_trace_writer_open(path, "model", "fuzz", &writer, &err) != KVR_OK)
        die("the sound trace", &err);
    for (unsigned s = 0; s < 2; s++) {
        sample.name = names[s];
        if (kvr_trace_writer_sample(writer, &sample, &err) != KVR_OK)
            die("the sound trace", &err);
        for (uint32_t l = 0; l < 3; l++) {
            struct kvr_layer layer = {.number = l * 7, .query_heads = HEADS, .kv_heads = GROUPS};
            layer.sliding_window = l == 1 ? 16 : 0;
            layer.scale = layer.softcap = 0.5;
            if (kvr_trace_writer_layer(writer, &layer, &err) != KVR_OK)
                die("the sound trace", &err);
            write_dataset(writer, "attention", 3, rows, l == 2 ? plain : half, values);
            write_dataset(writer, "accumulated", 2, sums, checked, values);
            if (l != 0)
                continue;
            write_dataset(writer, "query", 3, queries, half, values);
            write_dataset(writer, "key", 3, vectors, half, values);
            write_dataset(writer, "value", 3, vectors, plain, values);
            write_dataset(writer, "scores/gate", 2, sums, half, values);
        }
    }
    if (kvr_trace_writer_commit(writer, &err) != KVR_OK)
        die("the sound trace", &err);
}

/* -------------------------------------------------------------------------------- the damage */

static size_t somewhere(struct kvr_random *random, size_t length)
{
    return (size_t)kvr_random_below(random, length);
}

/* Numbers that shapes and offsets stumble over. */
static uint64_t awkward_number(struct kvr_random *random)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       2,
                                       0x7f,
                                       0xff,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       UINT64_C(1) << 32,
                                       UINT64_C(1) << 60,
                                       INT64_MAX,
                                       UINT64_MAX - 1,
                                       UINT64_MAX};
    return numbers[kvr_random_below(random, sizeof numbers / sizeof *numbers)];
}

static void change_once(struct bytes *file, struct kvr_random *random)
{
    size_t at = somewhere(random, file->length), left = file->length - at;
    switch (kvr_random_below(random, 8)) {
    case 0:
    case 1: /* one bit */
        file->data[at] ^= (unsigned char)(1u << kvr_random_below(random, 8));
        break;
    case 2: /* one byte */
        file->data[at] = (unsigned char)kvr_random_bits(random);
        break;
    case 3:
    case 4: { /* a number of 1, 2, 4 or 8 bytes */
        uint64_t number = awkward_number(random);
        size_t size = (size_t)1 << kvr_random_below(random, 4);
        memcpy(file->data + at, &number, size < left ? size : left);
        break;
    }
    case 5: { /* a stretch from elsewhere */
        size_t from = somewhere(random, file->length), length = 1 + somewhere(random, 64);
        length = length < left ? length : left;
        length = length < file->length - from ? length : file->length - from;
        memmove(file->data + at, file->data + from, length);
        break;
    }
    case 6: /* a hole */
        memset(file->data + at, 0, left < 32 ? left : 32);
        break;
    default: /* the end is missing, now and then */
        if (kvr_random_below(random, 4) == 0 && at > 0)
            file->length = at;
        break;
    }
}

static void write_damaged(const char *path, const struct bytes *sound, uint64_t seed, uint64_t run)
{
    struct kvr_random random = kvr_random_stream(seed, run);
    struct bytes file = {malloc(sound->length), sound->length};
    if (file.data == NULL)
        die("out of memory", NULL);
    memcpy(file.data, sound->data, sound->length);
    for (uint64_t changes = 1 + kvr_random_below(&random, MOST_CHANGES); changes > 0; changes--)
        change_once(&file, &random);
    FILE *stream = fopen(path, "wb");
    if (stream == NULL || fwrite(file.data, 1, file.length, stream) != file.length ||
        fclose(stream) != 0)
        die("the damaged trace cannot be written", NULL);
    free(file.data);
}

/* ----------------------------------------------------------------------------------- one run */

static bool message_is_sound(enum kvr_status status, const struct kvr_error *err)
{
    return err->status == status && err->message[0] != '\0' && strchr(err->message, '\n') == NULL;
}

static enum outcome read_dataset(struct kvr_trace *trace, const struct kvr_dataset *dataset)
{
    if (dataset == NULL)
        return OPENED;
    uint64_t start[KVR_DATASET_RANK] = {0}, count[KVR_DATASET_RANK];
    size_t elements = 1;
    for (unsigned d = 0; d < KVR_DATASET_RANK; d++) {
        uint64_t room = MOST_ELEMENTS / elements;
        count[d] = dataset->shape[d] < room ? dataset->shape[d] : room;
        if (count[d] == 0)
            return OPENED;
        elements *= count[d];
    }
    struct kvr_error err = KVR_ERROR_NONE;
    double *values = kvr_alloc(elements, sizeof *values, &err);
    if (values == NULL)
        return REFUSED;
    enum kvr_status status = kvr_trace_read(trace, dataset, start, count, values, &err);
    free(values);
    if (status == KVR_OK)
        return OPENED;
    return message_is_sound(status, &err) ? REFUSED : BAD_MESSAGE;
}

static void keep_worse(enum outcome *outcome, enum outcome other)
{
    if (other > *outcome)
        *outcome = other;
}

static enum outcome read_trace(const char *path)
{
    struct kvr_trace *trace = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    enum kvr_status status = kvr_trace_open(path, NULL, &trace, &err);
    if (status != KVR_OK)
        return message_is_sound(status, &err) && trace == NULL ? REFUSED : BAD_MESSAGE;
    enum outcome outcome = OPENED;
    for (size_t s = 0; s < trace->sample_count; s++) {
        const struct kvr_sample *sample = &trace->samples[s];
        for (size_t l = 0; l < sample->layer_count; l++) {
            const struct kvr_layer *layer = &sample->layers[l];
            const struct kvr_dataset *datasets[] = {layer->attention, layer->accumulated,
                                                    layer->query, layer->key, layer->value};
            for (size_t d = 0; d < sizeof datasets / sizeof *datasets; d++)
                keep_worse(&outcome, read_dataset(trace, datasets[d]));
            for (size_t c = 0; c < layer->column_count; c++)
                keep_worse(&outcome, read_dataset(trace, &layer->columns[c].data));
        }
    }
    kvr_trace_close(trace);
    return outcome;
}

/* Crashes and hangs end with a backtrace, so that the parent can see whose they are. */
static void tell_where(int signal)
{
    void *frames[64];
    int count = backtrace(frames, 64);
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
    _exit(signal == SIGALRM ? CRASHED + 1 : CRASHED);
}

static enum outcome run_once(const char *path, const char *log)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        die("no process could be started", NULL);
    if (child == 0) {
        if (freopen(log, "wb", stderr) == NULL)
            _exit(CRASHED);
        signal(SIGALRM, tell_where);
        alarm(SECONDS_PER_RUN);
        _exit((int)read_trace(path));
    }
    int how = 0;
    if (waitpid(child, &how, 0) != child)
        die("a process was lost", NULL);
    if (!WIFEXITED(how))
        return CRASHED;
    int status = WEXITSTATUS(how);
    return status == OPENED || status == REFUSED || status == BAD_MESSAGE ? (enum outcome)status
                                                                          : CRASHED;
}

/* Whether the innermost frame of the log that belongs to HDF5 or to us is HDF5's. */
static bool crashed_inside_hdf5(const char *log)
{
    FILE *stream = fopen(log, "rb");
    if (stream == NULL)
        return false;
    char line[2048];
    int verdict = -1;
    while (verdict < 0 && fgets(line, sizeof line, stream) != NULL) {
        if (strstr(line, "libhdf5") != NULL)
            verdict = 1;
        else if (strstr(line, " in kvr_") != NULL || strstr(line, "formats/") != NULL)
            verdict = 0;
    }
    fclose(stream);
    return verdict == 1;
}

/* ------------------------------------------------------------------------------------- driver */

static struct bytes read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    struct bytes file = {NULL, 0};
    if (stream == NULL || fseek(stream, 0, SEEK_END) != 0)
        die(path, NULL);
    long length = ftell(stream);
    rewind(stream);
    if (length > 0)
        file.data = malloc((size_t)length);
    if (file.data == NULL || fread(file.data, 1, (size_t)length, stream) != (size_t)length)
        die(path, NULL);
    file.length = (size_t)length;
    fclose(stream);
    return file;
}

static void show_log(const char *log)
{
    FILE *stream = fopen(log, "rb");
    char line[2048];
    for (int i = 0; stream != NULL && i < 40 && fgets(line, sizeof line, stream) != NULL; i++)
        fputs(line, stderr);
    if (stream != NULL)
        fclose(stream);
}

/* Returns the number of faults of ours. */
static uint64_t fuzz_one(const char *folder, const char *path, uint64_t runs, uint64_t seed)
{
    char damaged[600], log[600];
    snprintf(damaged, sizeof damaged, "%s/damaged.h5", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    struct bytes sound = read_file(path);
    if (run_once(path, log) != OPENED) {
        show_log(log);
        die("the sound trace does not open", NULL);
    }
    uint64_t opened = 0, refused = 0, inside_hdf5 = 0, faults = 0;
    for (uint64_t run = 0; run < runs; run++) {
        write_damaged(damaged, &sound, seed, run);
        enum outcome outcome = run_once(damaged, log);
        if (outcome == OPENED) {
            opened++;
        } else if (outcome == REFUSED) {
            refused++;
        } else if (outcome == CRASHED && crashed_inside_hdf5(log)) {
            inside_hdf5++;
        } else {
            faults++;
            fprintf(stderr, "fuzz_trace: run %llu of seed %llu: %s\n", (unsigned long long)run,
                    (unsigned long long)seed,
                    outcome == BAD_MESSAGE ? "failed without a sound message" : "crashed");
            show_log(log);
        }
    }
    free(sound.data);
    unlink(damaged);
    unlink(log);
    printf("fuzz_trace: %llu damaged traces: %llu read, %llu refused, %llu ended inside HDF5, "
           "%llu faults of ours\n",
           (unsigned long long)runs, (unsigned long long)opened, (unsigned long long)refused,
           (unsigned long long)inside_hdf5, (unsigned long long)faults);
    return faults;
}

int main(int argc, char **argv)
{
    uint64_t runs = 0, seed = 0;
    if (argc < 2 || !kvr_parse_unsigned(argv[1], 1, UINT64_MAX, &runs) ||
        (argc > 2 && !kvr_parse_unsigned(argv[2], 0, UINT64_MAX, &seed)))
        die("expected RUNS [SEED [TRACE…]]", NULL);
    const char *parent = getenv("TMPDIR");
    char folder[512];
    snprintf(folder, sizeof folder, "%s/kvreplay-fuzz-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(folder) == NULL)
        die("no scratch folder", NULL);

    uint64_t faults = 0;
    char sound[600];
    snprintf(sound, sizeof sound, "%s/sound.h5", folder);
    if (argc <= 3) {
        write_sound_trace(sound);
        faults = fuzz_one(folder, sound, runs, seed);
        unlink(sound);
    }
    for (int i = 3; i < argc; i++)
        faults += fuzz_one(folder, argv[i], runs, seed);
    rmdir(folder);
    return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
