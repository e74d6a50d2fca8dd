/*
 * bench_device [DEVICE [TOKENS]]: how fast each kernel runs on a device (opencl), in GB/s of what
 * it must move or GFLOP/s, beside the device's own rates of copying and of multiplying and adding.
 * Times are the device's, best of some rounds. Without a device it says so and succeeds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"
#include "replay/gpu/gpu_backend.h"
#include "replay/gpu/gpu_lane.h"

enum {
    ROUNDS = 5,
    HEADS = 8,
    ROWS = 32,
    QUOTAS = 5,
    PAGE = 16,
    WIDTH = 128,
    STRIP = 256,
    MOST_UNITS = 256
};

enum { STORED, VECTORS, OUT, SUMS, SETS, CUTS, COUNTS, RESULTS, KEYS, SPANS, LOGITS, BUFFERS };

struct bench {
    struct kvr_device *device;
    const struct kvr_device_host *host;
    struct kvr_queue *queue;
    struct kvr_buffer buffers[BUFFERS];
    double copy_rate, add_rate; /* bytes and operations a second */
    uint64_t tokens;
    uint32_t columns; /* of a strip */
};

/* One kernel: the bytes that it must move, or its operations. */
struct measured {
    const char *kernel;
    double bytes, operations;
    size_t groups;
    size_t argument_count;
    const struct kvr_kernel_argument *arguments;
};
#define MEASURED(name, moved, done, group_count, ...)                                              \
    (struct measured)                                                                              \
    {                                                                                              \
        .kernel = (name), .bytes = (moved), .operations = (done), .groups = (group_count),         \
        .argument_count = sizeof((const struct kvr_kernel_argument[]){__VA_ARGS__}) /              \
                          sizeof(struct kvr_kernel_argument),                                      \
        .arguments = (const struct kvr_kernel_argument[])                                          \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define BUFFER(which) KVR_ARGUMENT(bench->buffers[which].handle)

static size_t groups_of(const struct bench *bench, uint64_t items)
{
    size_t group = bench->device->group;
    return (size_t)(items / group + (items % group != 0));
}

/* The least seconds that the kernel takes, over all rounds but the first. */
static enum kvr_status time_kernel(struct bench *bench, const struct measured *measured,
                                   double *seconds, struct kvr_error *err)
{
    struct kvr_kernel *kernel = NULL;
    struct kvr_mark *from = NULL, *to = NULL;
    enum kvr_status status =
        bench->host->find_kernel(bench->device, measured->kernel, &kernel, err);
    for (int round = 0; status == KVR_OK && round <= ROUNDS; round++) {
        double taken = 0;
        status = bench->host->mark(bench->queue, &from, err);
        if (status == KVR_OK)
            status = bench->host->launch(bench->queue, kernel, measured->groups,
                                         measured->arguments, measured->argument_count, err);
        if (status == KVR_OK)
            status = bench->host->mark(bench->queue, &to, err);
        if (status == KVR_OK)
            status = bench->host->finish(bench->queue, err);
        if (status == KVR_OK)
            status = bench->host->elapsed(from, to, &taken, err);
        if (round <= 1 || taken < *seconds)
            *seconds = taken;
    }
    bench->host->drop_mark(from);
    bench->host->drop_mark(to);
    bench->host->drop_kernel(kernel);
    return status;
}

static enum kvr_status measure(struct bench *bench, struct measured measured, struct kvr_error *err)
{
    double seconds = 0;
    enum kvr_status status = time_kernel(bench, &measured, &seconds, err);
    if (status != KVR_OK)
        return status;
    bool moves = measured.bytes > 0;
    double rate = (moves ? measured.bytes : measured.operations) / seconds;
    double limit = moves ? bench->copy_rate : bench->add_rate;
    printf("  %-14s %10.3f ms %9.2f %-7s", measured.kernel, 1e3 * seconds, 1e-9 * rate,
           moves ? "GB/s" : "GFLOP/s");
    printf(limit > 0 ? " %5.1f %%\n" : "\n", 100 * rate / limit);
    if (moves && bench->copy_rate <= 0)
        bench->copy_rate = rate;
    if (!moves && bench->add_rate <= 0)
        bench->add_rate = rate;
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ kernels */

static enum kvr_status measure_limits(struct bench *bench, struct kvr_error *err)
{
    uint64_t words = bench->buffers[STORED].bytes / sizeof(uint64_t);
    uint32_t steps = 512;
    float factor = 0.5F;
    size_t units =
        bench->device->limits.units < MOST_UNITS ? bench->device->limits.units : MOST_UNITS;
    size_t groups = 64 * units, items = groups * bench->device->group;
    enum kvr_status status =
        measure(bench,
                MEASURED("copy_words", 16 * (double)words, 0, groups_of(bench, words),
                         BUFFER(STORED), KVR_ARGUMENT(words), BUFFER(LOGITS)),
                err);
    return status == KVR_OK
               ? measure(bench,
                         MEASURED("multiply_adds", 0, 16.0 * steps * (double)items, groups,
                                  KVR_ARGUMENT(steps), KVR_ARGUMENT(factor), BUFFER(LOGITS)),
                         err)
               : status;
}

static enum kvr_status measure_rows(struct bench *bench, struct kvr_error *err)
{
    uint32_t kind = KVR_HALF, swapped = 0, begin = 0, end = ROWS, fresh = 1;
    uint64_t count = bench->tokens, at = 0;
    double rows = ROWS, values = (double)count;
    enum kvr_status status =
        measure(bench,
                MEASURED("row_sums", values * (2 * ROWS + 8), 0, groups_of(bench, count),
                         BUFFER(STORED), KVR_ARGUMENT(kind), KVR_ARGUMENT(swapped),
                         KVR_ARGUMENT(count), KVR_ARGUMENT(begin), KVR_ARGUMENT(end),
                         KVR_ARGUMENT(fresh), KVR_ARGUMENT(at), BUFFER(SUMS)),
                err);
    return status == KVR_OK
               ? measure(bench,
                         MEASURED("round_means", values * 12, 0, groups_of(bench, count),
                                  BUFFER(SUMS), KVR_ARGUMENT(at), KVR_ARGUMENT(rows),
                                  KVR_ARGUMENT(count), KVR_ARGUMENT(at), BUFFER(VECTORS)),
                         err)
               : status;
}

static enum kvr_status measure_vectors(struct bench *bench, struct kvr_error *err)
{
    uint64_t count = bench->tokens, sinks = 4, first = 0, size = PAGE;
    uint64_t pages = (count + PAGE - 1) / PAGE, items = HEADS * pages;
    uint32_t heads = HEADS, weighted = 0;
    double divisor = HEADS, values = (double)count * HEADS;
    enum kvr_status status =
        measure(bench,
                MEASURED("statistics", values * 8, 0, HEADS, BUFFER(VECTORS), KVR_ARGUMENT(count),
                         KVR_ARGUMENT(sinks), BUFFER(RESULTS), BUFFER(COUNTS)),
                err);
    if (status == KVR_OK)
        status = measure(bench,
                         MEASURED("pool_sums", values * 4 + 4 * (double)count, 0,
                                  groups_of(bench, count), BUFFER(VECTORS), KVR_ARGUMENT(heads),
                                  KVR_ARGUMENT(count), BUFFER(RESULTS), KVR_ARGUMENT(weighted),
                                  KVR_ARGUMENT(divisor), BUFFER(OUT)),
                         err);
    if (status == KVR_OK)
        status = measure(bench,
                         MEASURED("page_maxima", values * 4, 0, groups_of(bench, items),
                                  BUFFER(VECTORS), KVR_ARGUMENT(count), KVR_ARGUMENT(first),
                                  KVR_ARGUMENT(size), KVR_ARGUMENT(first), KVR_ARGUMENT(pages),
                                  KVR_ARGUMENT(items), BUFFER(OUT)),
                         err);
    return status;
}

static enum kvr_status measure_sets(struct bench *bench, struct kvr_error *err)
{
    uint32_t n = (uint32_t)bench->tokens, quotas = QUOTAS, heads = HEADS;
    uint32_t words = (n + 63) / 64;
    double values = (double)n * HEADS, set_bytes = 8.0 * words * HEADS * QUOTAS;
    /* Three digits and the set: scores are read four times for every quota. */
    enum kvr_status status = measure(bench,
                                     MEASURED("select_top", values * 4 * 4 * QUOTAS + set_bytes, 0,
                                              HEADS * QUOTAS, BUFFER(VECTORS), KVR_ARGUMENT(n),
                                              KVR_ARGUMENT(quotas), BUFFER(CUTS), BUFFER(SETS)),
                                     err);
    if (status == KVR_OK)
        status = measure(bench,
                         MEASURED("count_unions", set_bytes, 0, QUOTAS, BUFFER(SETS),
                                  KVR_ARGUMENT(heads), KVR_ARGUMENT(quotas), KVR_ARGUMENT(words),
                                  BUFFER(COUNTS)),
                         err);
    if (status == KVR_OK)
        status = measure(bench,
                         MEASURED("count_pairs", set_bytes * 2 * HEADS, 0, QUOTAS * HEADS * HEADS,
                                  BUFFER(SETS), KVR_ARGUMENT(heads), KVR_ARGUMENT(quotas),
                                  KVR_ARGUMENT(words), BUFFER(COUNTS)),
                         err);
    return status;
}

static enum kvr_status measure_strips(struct bench *bench, struct kvr_error *err)
{
    uint32_t width = WIDTH, rows = STRIP, first = 0, columns = bench->columns, fresh = 1;
    uint32_t blocks = (columns + 1023) / 1024;
    float scale = 0.1F, cap = 0;
    uint64_t at = 0;
    double values = (double)rows * columns;
    size_t tiles = (size_t)((columns + 63) / 64) * ((rows + 63) / 64);
    enum kvr_status status =
        measure(bench,
                MEASURED("strip_logits", 0, 2 * values * WIDTH, tiles, BUFFER(KEYS), BUFFER(KEYS),
                         KVR_ARGUMENT(width), KVR_ARGUMENT(rows), KVR_ARGUMENT(first),
                         KVR_ARGUMENT(columns), KVR_ARGUMENT(columns), BUFFER(SPANS),
                         KVR_ARGUMENT(scale), KVR_ARGUMENT(cap), KVR_ARGUMENT(cap), BUFFER(LOGITS)),
                err);
    if (status == KVR_OK)
        status =
            measure(bench,
                    MEASURED("strip_weights", values * 12, 0, (size_t)rows * blocks, BUFFER(LOGITS),
                             KVR_ARGUMENT(first), KVR_ARGUMENT(columns), KVR_ARGUMENT(first),
                             KVR_ARGUMENT(blocks), BUFFER(SPANS), BUFFER(OUT), BUFFER(RESULTS)),
                    err);
    if (status == KVR_OK)
        status = measure(bench,
                         MEASURED("strip_columns", values * 4, 0, groups_of(bench, columns),
                                  BUFFER(LOGITS), KVR_ARGUMENT(rows), KVR_ARGUMENT(first),
                                  KVR_ARGUMENT(columns), KVR_ARGUMENT(first), KVR_ARGUMENT(blocks),
                                  BUFFER(SPANS), BUFFER(RESULTS), KVR_ARGUMENT(first),
                                  KVR_ARGUMENT(columns), KVR_ARGUMENT(fresh), KVR_ARGUMENT(at),
                                  BUFFER(SUMS)),
                         err);
    return status;
}

/* ------------------------------------------------------------------------------ setting up */

/* Fills a buffer with `count` elements that `make` gives. */
static enum kvr_status fill(struct bench *bench, int which, size_t count, size_t size,
                            void (*make)(const struct bench *, size_t, void *),
                            struct kvr_error *err)
{
    unsigned char *values = malloc(count * size);
    enum kvr_status status =
        bench->host->allocate(bench->device, count * size, &bench->buffers[which], err);
    if (values == NULL || status != KVR_OK) {
        free(values);
        return KVR_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        make(bench, i, values + i * size);
    status = bench->host->upload(bench->queue, bench->buffers[which], 0, values, count * size, err);
    if (status == KVR_OK)
        status = bench->host->finish(bench->queue, err);
    free(values);
    return status;
}

static void make_half(const struct bench *bench, size_t i, void *at)
{
    (void)bench;
    uint16_t bits = (uint16_t)(i * 2654435761u >> 20 & 0x1fff);
    memcpy(at, &bits, sizeof bits);
}

static void make_float(const struct bench *bench, size_t i, void *at)
{
    (void)bench;
    float value = (float)((uint32_t)i * 2654435761u >> 8) * 0x1p-40F;
    memcpy(at, &value, sizeof value);
}

static void make_zero(const struct bench *bench, size_t i, void *at)
{
    (void)bench;
    (void)i;
    memset(at, 0, sizeof(uint64_t));
}

static void make_cut(const struct bench *bench, size_t i, void *at)
{
    static const double shares[QUOTAS] = {0.02, 0.05, 0.1, 0.2, 0.4};
    const uint32_t cut[3] = {(uint32_t)(shares[i] * (double)bench->tokens), 0,
                             (uint32_t)bench->tokens};
    memcpy(at, cut, sizeof cut);
}

static void make_span(const struct bench *bench, size_t i, void *at)
{
    (void)i;
    const uint32_t span[2] = {0, bench->columns};
    memcpy(at, span, sizeof span);
}

static enum kvr_status fill_all(struct bench *bench, struct kvr_error *err)
{
    size_t tokens = (size_t)bench->tokens, words = (tokens + 63) / 64;
    const struct {
        int which;
        size_t count, size;
        void (*make)(const struct bench *, size_t, void *);
    } wanted[BUFFERS] = {
        {STORED, tokens * ROWS, sizeof(uint16_t), make_half},
        {VECTORS, tokens * HEADS, sizeof(float), make_float},
        {OUT, tokens * HEADS + STRIP * (bench->columns / 1024 + 1), sizeof(uint64_t), make_zero},
        {SUMS, tokens, sizeof(double), make_zero},
        {SETS, words * HEADS * QUOTAS, sizeof(uint64_t), make_zero},
        {CUTS, QUOTAS, 3 * sizeof(uint32_t), make_cut},
        {COUNTS, HEADS * HEADS * QUOTAS, sizeof(uint64_t), make_zero},
        {RESULTS, 5 * STRIP * (bench->columns / 1024 + 1), sizeof(double), make_zero},
        {KEYS, (size_t)bench->columns * WIDTH, sizeof(float), make_float},
        {SPANS, STRIP, 2 * sizeof(uint32_t), make_span},
        {LOGITS, (size_t)STRIP * bench->columns + tokens * ROWS + 64 * MOST_UNITS * KVR_MOST_GROUP,
         sizeof(float), make_float},
    };
    enum kvr_status status = KVR_OK;
    for (int i = 0; status == KVR_OK && i < BUFFERS; i++)
        status = fill(bench, wanted[i].which, wanted[i].count, wanted[i].size, wanted[i].make, err);
    return status;
}

typedef enum kvr_status part_of_bench(struct bench *bench, struct kvr_error *err);

static enum kvr_status run(struct bench *bench, struct kvr_error *err)
{
    static part_of_bench *const parts[] = {
        fill_all, measure_limits, measure_rows, measure_vectors, measure_sets, measure_strips,
    };
    enum kvr_status status = bench->host->open_queue(bench->device, &bench->queue, err);
    for (size_t i = 0; status == KVR_OK && i < sizeof parts / sizeof *parts; i++)
        status = parts[i](bench, err);
    for (int i = 0; i < BUFFERS; i++)
        bench->host->release(bench->device, &bench->buffers[i]);
    bench->host->close_queue(bench->queue);
    return status;
}

int main(int argc, char **argv)
{
    char note[512];
    struct kvr_compute *compute = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    const char *name = argc > 1 ? argv[1] : "opencl";
    if (kvr_gpu_open(name, &compute, note, sizeof note, &err) != KVR_OK || compute == NULL) {
        printf("skipped: kernels of %s: %s\n", name, err.message);
        return EXIT_SUCCESS;
    }
    struct gpu_compute *opened = (struct gpu_compute *)(void *)compute;
    struct bench bench = {.device = opened->device, .host = opened->device->host};
    bench.tokens = argc > 2 ? strtoull(argv[2], NULL, 10) : 131072;
    bench.columns = bench.tokens < 32768 ? (uint32_t)bench.tokens : 32768;
    enum kvr_status status = KVR_BAD_ARGUMENT;
    if (bench.tokens < PAGE || bench.tokens > 1 << 24)
        kvr_fail(&err, status, "tokens must be from %d to %d", PAGE, 1 << 24);
    else {
        printf("kernels on %s, %" PRIu64 " tokens, %d heads, %d rows; share of copying or of "
               "multiplying and adding\n",
               bench.device->limits.name, bench.tokens, HEADS, ROWS);
        status = run(&bench, &err);
    }
    kvr_gpu_close(compute);
    if (status != KVR_OK)
        fprintf(stderr, "bench_device: %s\n", err.message);
    return status == KVR_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
