/*
 * Writing small traces. It knows the writer, not what a test puts in.
 */
#include "tests/made_trace.h"

#include <check.h>
#include <math.h>

#include "tests/scratch.h"

static void must(enum kvr_status status, const struct kvr_error *err)
{
    ck_assert_msg(status == KVR_OK, "%s", err->message);
}

void made_trace_start(struct made_trace *made, const char *file_name)
{
    struct kvr_error err = KVR_ERROR_NONE;
    made->path = scratch_path(file_name);
    must(kvr_trace_writer_open(made->path, NULL, NULL, &made->writer, &err), &err);
}

void made_trace_sample(struct made_trace *made, const struct kvr_sample *sample)
{
    struct kvr_error err = KVR_ERROR_NONE;
    must(kvr_trace_writer_sample(made->writer, sample, &err), &err);
}

struct kvr_layer made_layer(uint32_t number, const struct kvr_sample *sample)
{
    return (struct kvr_layer){
        .number = number,
        .query_heads = sample->query_heads,
        .kv_heads = sample->kv_heads,
        .scale = NAN,
        .softcap = NAN,
    };
}

void made_trace_layer(struct made_trace *made, const struct kvr_layer *layer)
{
    struct kvr_error err = KVR_ERROR_NONE;
    must(kvr_trace_writer_layer(made->writer, layer, &err), &err);
}

void made_trace_data(struct made_trace *made, const char *name, enum kvr_element kind, uint64_t a,
                     uint64_t b, uint64_t c, const double *values)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_dataset_writer *dataset = NULL;
    struct kvr_storage storage = {.type = {.kind = kind}, .contiguous = true};
    const uint64_t shape[] = {a, b, c > 0 ? c : 1}, start[] = {0, 0, 0};
    must(kvr_trace_writer_dataset(made->writer, name, c > 0 ? 3 : 2, shape, &storage, &dataset,
                                  &err),
         &err);
    must(kvr_dataset_writer_write(dataset, start, shape, values, &err), &err);
    must(kvr_dataset_writer_close(dataset, &err), &err);
}

struct kvr_trace *made_trace_finish(struct made_trace *made)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_trace *trace = NULL;
    must(kvr_trace_writer_commit(made->writer, &err), &err);
    must(kvr_trace_open(made->path, NULL, &trace, &err), &err);
    return trace;
}

struct kvr_cell_key made_key(const struct kvr_trace *trace, size_t sample, size_t layer,
                             uint32_t group)
{
    const struct kvr_layer *chosen = &trace->samples[sample].layers[layer];
    return (struct kvr_cell_key){
        .trace = trace,
        .sample = &trace->samples[sample],
        .layer = chosen,
        .group = group,
        .ratio = chosen->query_heads / chosen->kv_heads,
    };
}

void made_load(const struct kvr_plan *plan, struct kvr_trace *trace, const struct kvr_cell_key *key,
               struct kvr_room *room, struct kvr_cell *cell)
{
    struct kvr_error err = KVR_ERROR_NONE;
    bool wanted[16];
    ck_assert_uint_le(plan->score_count, 16);
    for (size_t i = 0; i < plan->score_count; i++)
        wanted[i] = true;
    must(kvr_cell_load(plan, wanted, trace, key, room, cell, &err), &err);
}
