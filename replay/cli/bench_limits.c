/*
 * Measures memory, mapping and inflating with the least code that does each. No replay here.
 */
#include "replay/cli/bench_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/parallel.h"
#include "formats/chunk_pack.h"
#include "formats/inflate.h"
#include "formats/trace.h"
#include "replay/cli/progress_bar.h"

enum { MEMORY_BYTES = 256 << 20, SLICE = 4 << 20, MOST_CHUNKS = 64 };

/* Bytes that are read in slices. */
struct bytes {
    const unsigned char *start;
    size_t size;
    bool populate;          /* the slice is mapped as it is read */
    _Atomic uint64_t total; /* so that reading cannot be left out */
};

static enum kvr_status read_slice(void *context, size_t index, unsigned thread, void **result,
                                  struct kvr_error *err)
{
    struct bytes *bytes = context;
    size_t begin = index * SLICE, length = bytes->size - begin;
    (void)thread, (void)result, (void)err;
    if (length > SLICE)
        length = SLICE;
#ifdef MADV_POPULATE_READ
    if (bytes->populate)
        madvise((void *)(bytes->start + begin), length, MADV_POPULATE_READ);
#endif
    uint64_t sums[8] = {0};
    for (size_t at = 0; at + sizeof sums <= length; at += sizeof sums) {
        uint64_t words[8];
        memcpy(words, bytes->start + begin + at, sizeof words);
        for (size_t i = 0; i < 8; i++)
            sums[i] += words[i];
    }
    for (size_t i = 0; i < 8; i++)
        bytes->total += sums[i];
    return KVR_OK;
}

static enum kvr_status taken(void *context, size_t index, void *result, struct kvr_error *err)
{
    (void)context, (void)index, (void)result, (void)err;
    return KVR_OK;
}

static void dropped(void *context, void *result)
{
    (void)context, (void)result;
}

/* Reads all of it once; *rate is raised to what was reached. */
static enum kvr_status read_bytes(struct bytes *bytes, unsigned threads, double *rate,
                                  struct kvr_error *err)
{
    const struct kvr_tasks tasks = {(bytes->size + SLICE - 1) / SLICE, bytes, read_slice, taken,
                                    dropped};
    double started = kvr_seconds();
    enum kvr_status status = kvr_run_ordered(threads, &tasks, err);
    double reached = (double)bytes->size / (kvr_seconds() - started);
    if (reached > *rate)
        *rate = reached;
    return status;
}

static enum kvr_status measure_memory(unsigned threads, unsigned rounds, double *rate,
                                      struct kvr_error *err)
{
    unsigned char *memory = kvr_alloc_vector(MEMORY_BYTES, 1, err);
    if (memory == NULL)
        return KVR_NO_MEMORY;
    memset(memory, 1, MEMORY_BYTES);
    struct bytes bytes = {.start = memory, .size = MEMORY_BYTES};
    enum kvr_status status = KVR_OK;
    for (unsigned round = 0; status == KVR_OK && round < rounds; round++)
        status = read_bytes(&bytes, threads, rate, err);
    free(memory);
    return status;
}

static enum kvr_status measure_mapping(const char *path, unsigned threads, unsigned rounds,
                                       double *rate, struct kvr_error *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat facts;
    enum kvr_status status = KVR_OK;
    if (file < 0 || fstat(file, &facts) != 0)
        status = kvr_fail(err, KVR_IO, "\"%s\": %s", path, strerror(errno));
    for (unsigned round = 0; status == KVR_OK && round < rounds; round++) {
        size_t size = (size_t)facts.st_size;
        void *mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
        if (mapped == MAP_FAILED) {
            status = kvr_fail(err, KVR_IO, "\"%s\": %s", path, strerror(errno));
            break;
        }
        struct bytes bytes = {.start = mapped, .size = size, .populate = true};
        status = read_bytes(&bytes, threads, rate, err);
        munmap(mapped, size);
    }
    if (file >= 0)
        close(file);
    return status;
}

/* Chunks that are inflated, each into a place of its own thread. */
struct packed {
    size_t chunk_bytes, count;
    struct {
        unsigned char *bytes;
        size_t length;
    } chunks[MOST_CHUNKS];
    unsigned char **places; /* [threads] */
};

static enum kvr_status inflate_chunk(void *context, size_t index, unsigned thread, void **result,
                                     struct kvr_error *err)
{
    const struct packed *packed = context;
    (void)result;
    if (!kvr_inflate(packed->chunks[index].bytes, packed->chunks[index].length,
                     packed->places[thread], packed->chunk_bytes))
        return kvr_fail(err, KVR_INTERNAL, "a chunk that was just packed does not inflate");
    return KVR_OK;
}

/* Keeps a packed copy of the chunk at `start`, unless deflate does not pay for it. */
static enum kvr_status pack_chunk(struct kvr_trace *trace, const uint64_t *start,
                                  struct kvr_packer *packer, unsigned char *raw,
                                  struct packed *packed, struct kvr_error *err)
{
    const struct kvr_dataset *rows = trace->samples[0].layers[0].attention;
    const void *stored;
    size_t length;
    uint32_t skipped;
    enum kvr_status status = kvr_trace_read_stored(trace, rows, start, rows->chunk, raw, err);
    if (status != KVR_OK)
        return status;
    kvr_packer_pack(packer, raw, &stored, &length, &skipped);
    if (skipped != 0)
        return KVR_OK;
    unsigned char *copy = (unsigned char *)kvr_copy_bytes(stored, length, err);
    if (copy == NULL)
        return KVR_NO_MEMORY;
    packed->chunks[packed->count].bytes = copy;
    packed->chunks[packed->count++].length = length;
    return KVR_OK;
}

/* The whole chunks of the first layer's rows, as many as there is room for. */
static enum kvr_status pack_chunks(struct kvr_trace *trace, struct packed *packed,
                                   struct kvr_error *err)
{
    const struct kvr_dataset *rows = trace->samples[0].layers[0].attention;
    const size_t element = kvr_element_size(rows->type.kind);
    const uint64_t *chunk = rows->chunk, *shape = rows->shape;
    packed->chunk_bytes = (size_t)(chunk[0] * chunk[1] * chunk[2]) * element;
    const struct kvr_packing packing = {packed->chunk_bytes, element, true, false, 1};
    struct kvr_packer *packer = NULL;
    unsigned char *raw = kvr_alloc(packed->chunk_bytes, 1, err);
    enum kvr_status status = raw != NULL ? kvr_packer_new(&packing, &packer, err) : KVR_NO_MEMORY;
    uint64_t start[KVR_DATASET_RANK];
    for (start[0] = 0; start[0] + chunk[0] <= shape[0]; start[0] += chunk[0])
        for (start[1] = 0; start[1] + chunk[1] <= shape[1]; start[1] += chunk[1])
            for (start[2] = 0; start[2] + chunk[2] <= shape[2]; start[2] += chunk[2])
                if (status == KVR_OK && packed->count < MOST_CHUNKS)
                    status = pack_chunk(trace, start, packer, raw, packed, err);
    kvr_packer_free(packer);
    free(raw);
    return status;
}

static enum kvr_status inflate_all(struct packed *packed, unsigned threads, unsigned rounds,
                                   double *rate, struct kvr_error *err)
{
    const struct kvr_tasks tasks = {packed->count, packed, inflate_chunk, taken, dropped};
    packed->places = kvr_alloc(threads, sizeof *packed->places, err);
    enum kvr_status status = packed->places != NULL ? KVR_OK : KVR_NO_MEMORY;
    for (unsigned i = 0; status == KVR_OK && i < threads; i++)
        if ((packed->places[i] = kvr_alloc(packed->chunk_bytes, 1, err)) == NULL)
            status = KVR_NO_MEMORY;
    for (unsigned round = 0; status == KVR_OK && round < rounds && packed->count > 0; round++) {
        double started = kvr_seconds();
        status = kvr_run_ordered(threads, &tasks, err);
        double bytes = (double)packed->count * (double)packed->chunk_bytes;
        double reached = bytes / (kvr_seconds() - started);
        if (reached > *rate)
            *rate = reached;
    }
    for (unsigned i = 0; packed->places != NULL && i < threads; i++)
        free(packed->places[i]);
    free(packed->places);
    return status;
}

static enum kvr_status measure_inflate(const char *path, unsigned threads, unsigned rounds,
                                       double *rate, struct kvr_error *err)
{
    struct packed packed = {0};
    struct kvr_trace *trace = NULL;
    enum kvr_status status = kvr_trace_open(path, NULL, &trace, err);
    if (status == KVR_OK)
        status = pack_chunks(trace, &packed, err);
    kvr_trace_close(trace);
    if (status == KVR_OK)
        status = inflate_all(&packed, threads, rounds, rate, err);
    for (size_t i = 0; i < packed.count; i++)
        free(packed.chunks[i].bytes);
    return status;
}

enum kvr_status kvr_bench_limits_measure(const struct kvr_bench_samples *samples, unsigned threads,
                                         unsigned rounds, struct kvr_bench_limits *limits,
                                         struct kvr_error *err)
{
    *limits = (struct kvr_bench_limits){0};
    enum kvr_status status = measure_memory(threads, rounds, &limits->memory, err);
    if (status == KVR_OK)
        status = measure_mapping(samples->raw, threads, rounds, &limits->mapping, err);
    if (status == KVR_OK)
        status = measure_inflate(samples->half, threads, rounds, &limits->inflate_half, err);
    if (status == KVR_OK)
        status = measure_inflate(samples->real, threads, rounds, &limits->inflate_float, err);
    return status;
}
