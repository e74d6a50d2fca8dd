/*
 * What rows from query and key cost: the column sums of all prefill rows of one group of 4 heads,
 * against what the tile loop alone does on keys in the cache. Processor time of one thread; a
 * multiplication and an addition count as two operations, pairs beyond the diagonal as none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/trace.h"
#include "replay/attention.h"
#include "replay/attention_tile.h"
#include "traces/synth.h"

enum { TOKENS = 16384, HEADS = 4, TILE_ROUNDS = 1 << 19 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static enum kvr_status bench_tile(size_t width, struct kvr_error *err)
{
    const struct kvr_attention_tile *tile = kvr_attention_tile();
    float *queries = kvr_alloc_vector(width * KVR_TILE_QUERIES, sizeof *queries, err);
    float *keys = kvr_alloc_vector(width * KVR_TILE_KEYS, sizeof *keys, err);
    float out[KVR_TILE_QUERIES * KVR_TILE_KEYS];
    if (queries != NULL && keys != NULL) {
        double start = seconds();
        for (int i = 0; i < TILE_ROUNDS; i++)
            tile->logits(queries, keys, width, 1, out, KVR_TILE_KEYS);
        double took = seconds() - start;
        double work = 2.0 * (double)width * KVR_TILE_QUERIES * KVR_TILE_KEYS * TILE_ROUNDS;
        printf("D = %3zu: tile %.1f GFLOP/s (%s)", width, work / took * 1e-9, tile->name);
    }
    bool failed = queries == NULL || keys == NULL;
    free(queries);
    free(keys);
    return failed ? KVR_NO_MEMORY : KVR_OK;
}

static enum kvr_status add_rows(struct kvr_trace *trace, struct kvr_error *err)
{
    const struct kvr_sample *sample = &trace->samples[0];
    struct kvr_room room = {0};
    struct kvr_attention attention;
    double start = seconds();
    enum kvr_status status =
        kvr_attention_open(trace, sample, &sample->layers[0], 0, 0, &room, &attention, err);
    double *sums = kvr_room_take_zeroed(&room, TOKENS, sizeof *sums, err);
    if (status == KVR_OK && sums == NULL)
        status = KVR_NO_MEMORY;
    for (uint64_t h = 0; status == KVR_OK && h < HEADS; h++)
        status = kvr_attention_add(&attention, h, 0, TOKENS, 0, TOKENS, sums, err);
    double took = seconds() - start;
    double work = 2.0 * (double)attention.width * HEADS * TOKENS * (TOKENS + 1) / 2;
    if (status == KVR_OK)
        printf(", %d heads of %d rows and tokens %.1f GFLOP/s\n", (int)HEADS, (int)TOKENS,
               work / took * 1e-9);
    kvr_room_free(&room);
    return status;
}

static enum kvr_status bench_rows(const char *path, size_t width, struct kvr_error *err)
{
    struct kvr_synth_options options = kvr_synth_defaults();
    options.layers = options.kv_heads = 1;
    options.query_heads = HEADS;
    options.tokens = options.rows = TOKENS;
    options.decode = 0;
    options.qkv = true;
    options.attention = options.accumulated = false;
    options.head_dim = (uint32_t)width;
    options.storage.contiguous = true;
    options.storage.shuffle = false;
    options.storage.deflate_level = 0;
    struct kvr_trace *trace = NULL;
    enum kvr_status status = kvr_synth_write(path, &options, NULL, err);
    if (status == KVR_OK)
        status = kvr_trace_open(path, NULL, &trace, err);
    if (status == KVR_OK)
        status = add_rows(trace, err);
    kvr_trace_close(trace);
    unlink(path);
    return status;
}

int main(void)
{
    char path[] = "/tmp/kvreplay-bench-XXXXXX";
    struct kvr_error err = KVR_ERROR_NONE;
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    close(file);
    enum kvr_status status = KVR_OK;
    for (size_t width = 64; status == KVR_OK && width <= 256; width *= 2) {
        status = bench_tile(width, &err);
        if (status == KVR_OK)
            status = bench_rows(path, width, &err);
    }
    unlink(path);
    if (status != KVR_OK)
        fprintf(stderr, "bench_attention: %s\n", err.message);
    return status == KVR_OK ? 0 : 1;
}
